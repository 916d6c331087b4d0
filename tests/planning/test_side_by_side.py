"""Points and vectors that stand side by side say what they say one by one, wherever they have moved to."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

from halfway import halfway
from rhoplan.planning.certified.pointbased.below import fan_out, raise_lower
from rhoplan.planning.certified.pointbased.blocks import LEAST_BLOCK, next_place
from rhoplan.planning.certified.pointbased.compiled import Compiled, dense_joint, flat
from rhoplan.planning.certified.pointbased.decisions import Rows, weights_of
from rhoplan.planning.certified.pointbased.graph import (
    ABOVE,
    ALIVE,
    BEGIN,
    BEST,
    CHANGED,
    CHANGES,
    CLOUD,
    CLOUD_BLOCK,
    CLOUDS,
    COUNT,
    ENTROPY,
    ENTRY,
    FAN_BLOCK,
    FANS,
    FILLED,
    FIRST_VECTOR,
    HOME,
    HULL_READ,
    LOWER,
    NEXT,
    NODES,
    OWN,
    SLOT,
    STATES,
    UPPER,
    VECTOR_AT,
    WIDE,
    WIDEST,
    WORTH,
    Graph,
    unfold,
    weigh,
)
from rhoplan.planning.certified.pointbased.growing import ROOM, enlarged, size_in_bytes, with_room
from rhoplan.planning.certified.pointbased.hull import fallen, lower_by_hull
from rhoplan.planning.certified.pointbased.machine import dot, sparse_dot
from rhoplan.planning.certified.pointbased.points import weightiest
from rhoplan.planning.certified.pointbased.solve import Search


def seen(seed: int, states: int = 4, places: int = 2) -> Compiled:
    """A problem with `places` that are always known, each a class of `states`, and tests that err."""
    rng = np.random.default_rng(seed)
    size, outcomes = states * places, places * 2
    transition = rng.dirichlet(np.full(size, 0.3), (3, size))
    sees = np.zeros((3, size, outcomes))
    for state in range(size):
        told = rng.uniform(0.1, 0.9, 3)
        sees[:, state, 2 * (state // states)] = told
        sees[:, state, 2 * (state // states) + 1] = 1 - told
    start = np.zeros(size)
    start[:states] = 1 / states
    return flat(dense_joint(transition, sees), -rng.uniform(0, 10, (3, size)), start)


def searched(weight: float, *, seed: int = 3, trials: int = 6) -> Search:
    """A search with some trials and a settling behind it."""
    search = Search(seen(seed), weight=weight, discount=0.9, gap=1e-6, seconds=np.inf, memory=1e9)
    return halfway(search, trials)


def belief_of(search: Search, node: int) -> np.ndarray:
    model, home = search.model, search.graph.node[node, HOME]
    belief = np.zeros(int(model.class_state[home + 1] - model.class_state[home]))
    unfold(search.graph, node, belief, len(belief))
    return belief


def chain_of(graph: Graph, home: int) -> list[int]:
    """The vectors of a class that count, in their order."""
    found, vector = [], int(graph.chain[home, FIRST_VECTOR])
    while vector >= 0:
        if graph.vector[vector, ALIVE] == 1:
            found.append(vector)
        vector = int(graph.vector[vector, NEXT])
    return found


@pytest.mark.parametrize("count", range(12))
def test_sums_are_those_of_all_numbers_and_no_others(count: int) -> None:
    rng = np.random.default_rng(count)
    left, right, index = rng.normal(size=40), rng.normal(size=40), rng.permutation(20)
    assert dot(left, 7, right, 3, count) == pytest.approx(left[7 : 7 + count] @ right[3 : 3 + count], abs=1e-12)
    expected = left[5 + index[4 : 4 + count]] @ right[9 : 9 + count]
    assert sparse_dot(left, 5, index, 4, right, 9, count) == pytest.approx(expected, abs=1e-12)


def test_a_block_that_is_full_moves_with_all_that_is_in_it() -> None:
    search = Search(seen(0), weight=0.0, discount=0.9, gap=1e-6, seconds=np.inf, memory=1e9)
    graph, expected = search.graph, {0: [], 1: []}
    rng = np.random.default_rng(0)
    for number in range(70):
        home = number % 2 if number < 20 else 0
        bigger = enlarged(graph, search.settings, np.inf)
        assert bigger is not None
        graph = bigger
        place = next_place(graph, home, CLOUD_BLOCK, CLOUDS, graph.cloud, graph.cloud_node)
        assert place == len(expected[home])
        place += graph.chain[home, CLOUD_BLOCK + BEGIN]
        graph.cloud[:, place], graph.cloud_node[place] = (written := rng.normal(size=len(graph.cloud))), number
        expected[home].append((number, written))
    for home, held in expected.items():
        begin, count, wide = graph.chain[home, CLOUD_BLOCK : CLOUD_BLOCK + 3]
        assert count == len(held) <= wide <= max(2 * count, LEAST_BLOCK)
        assert graph.cloud_node[begin : begin + count].tolist() == [number for number, _ in held]
        assert np.array_equal(graph.cloud[:, begin : begin + count].T, [written for _, written in held])
    assert graph.used[WIDEST] == max(graph.chain[:, CLOUD_BLOCK + WIDE].max(), graph.chain[:, FAN_BLOCK + WIDE].max())


def test_room_made_for_the_vectors_of_a_plan_is_enough_however_often_blocks_move() -> None:
    search = searched(0.0)
    homes = np.repeat([0, 1], [300, 40])
    assert search.has_room_for(homes, 0.0)
    graph = search.graph
    room, wide = len(graph.fan_vector), graph.chain[:, FAN_BLOCK + WIDE].copy()
    for home in homes:
        next_place(graph, int(home), FAN_BLOCK, FANS, graph.fan, graph.fan_vector)
    assert graph.used[FANS] <= room
    assert graph.chain[0, FAN_BLOCK + WIDE] > 2 * wide[0]


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_a_fan_holds_the_vectors_of_its_chain(weight: float) -> None:
    search = searched(weight)
    for again in range(2):
        graph, longest = search.graph, 0
        for home in range(len(graph.chain)):
            begin, count = graph.chain[home, FAN_BLOCK : FAN_BLOCK + FILLED + 1]
            vectors = graph.fan_vector[begin : begin + count]
            assert vectors.tolist() == chain_of(graph, home)
            assert np.array_equal(graph.fan[0, begin : begin + count], graph.share[vectors])
            size = int(search.model.class_state[home + 1] - search.model.class_state[home])
            numbers = graph.alpha[graph.vector[vectors, VECTOR_AT][:, None] + np.arange(size)]
            assert np.array_equal(graph.fan[1 : 1 + size, begin : begin + count], numbers.T)
            longest = max(longest, count)
        assert longest > 5
        search.forget() if again == 0 else fan_out(search.model, search.graph)


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_the_lower_bound_of_a_node_is_the_best_vector_of_its_class(weight: float) -> None:
    search = searched(weight)
    graph, potential = search.graph, search.settings.potential
    for node in range(int(graph.used[NODES])):
        raise_lower(search.model, graph, node, potential)
        more = potential * graph.bound[node, ENTROPY]
        worth = {
            vector: weigh(graph, graph.alpha, graph.vector[vector, VECTOR_AT], node) + graph.share[vector] * more
            for vector in chain_of(graph, int(graph.node[node, HOME]))
        }
        assert graph.bound[node, LOWER] == pytest.approx(max(worth.values()), abs=1e-9)
        assert worth[int(graph.node[node, BEST])] == pytest.approx(max(worth.values()), abs=1e-9)


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_the_cloud_holds_the_points_of_each_class_and_nothing_else(weight: float) -> None:
    search = searched(weight)
    graph, held = search.graph, 0
    for home in range(len(graph.chain)):
        begin, count = graph.chain[home, CLOUD_BLOCK : CLOUD_BLOCK + FILLED + 1]
        for place in range(int(count)):
            node = int(graph.cloud_node[begin + place])
            assert graph.node[node, HOME] == home
            assert graph.node[node, CLOUD] == place
            assert graph.cloud[WORTH, begin + place] == graph.bound[node, OWN]
            assert graph.cloud[CHANGED, begin + place] <= graph.chain[home, CHANGES]
            belief = belief_of(search, node)
            assert np.array_equal(graph.cloud[STATES : STATES + len(belief), begin + place], belief)
            held += 1
    points = (graph.node[: graph.used[NODES], ENTRY] >= 0) & (graph.node[: graph.used[NODES], CLOUD] >= 0)
    assert held == np.count_nonzero(points) > 5


def test_a_point_that_falls_below_a_plane_is_noticed_and_others_are_not() -> None:
    search = searched(0.0)
    graph, model = search.graph, search.model
    nodes = graph.node[: graph.used[NODES]]
    node = int(np.flatnonzero((nodes[:, HULL_READ] > -2) & (nodes[:, COUNT] > 1))[-1])
    nodes[node, HULL_READ] = -2
    lower_by_hull(model, graph, node, search.settings, 0.0)
    home = int(graph.node[node, HOME])
    first, since = int(model.class_state[home]), int(graph.chain[home, CHANGES])
    belief = belief_of(search, node)
    begin, count = graph.chain[home, CLOUD_BLOCK : CLOUD_BLOCK + FILLED + 1]
    arguments = (graph, graph.price[node], home, first, len(belief), since, 1e-9)
    assert fallen(*arguments) == -1
    other = int(begin + count - 1)
    plane = float(graph.price[node, : len(belief)] @ graph.cloud[STATES : STATES + len(belief), other])
    graph.cloud[WORTH, other] = plane - 1.0
    assert fallen(*arguments) == -1, "it is not said to have changed"
    graph.cloud[CHANGED, other] = since + 1
    assert fallen(*arguments) == 1
    assert graph.tried[0] == graph.cloud_node[other]
    graph.cloud[WORTH, other] = plane + 1.0
    assert fallen(*arguments) == -1, "it has changed, and lies above"
    graph.corner[first] = graph.price[node, 0] - 1.0
    assert fallen(*arguments) == 0


@pytest.mark.parametrize("discount", [0.5, 0.999])
def test_weights_are_what_one_more_of_a_member_brings_the_other(discount: float) -> None:
    """Members have several rows each, of which one is taken; one more of what it pays raises what all others are."""
    rng = np.random.default_rng(4)
    members, each, shares = 12, 3, 4
    rows = members * each
    first, begin = np.arange(0, rows + 1, each), np.arange(0, rows * shares + 1, shares)
    member = rng.integers(0, members, rows * shares)
    share = discount * rng.dirichlet(np.ones(shares), rows).ravel()
    given = Rows(first, begin, member, share, rng.normal(size=rows), np.full(rows, np.inf))
    chosen = first[:-1] + rng.integers(0, each, members)
    matrix = np.zeros((members, members))
    for one in range(members):
        for place in range(begin[chosen[one]], begin[chosen[one] + 1]):
            matrix[one, member[place]] += share[place]
    raised = np.linalg.inv(np.eye(members) - matrix)
    for one in (0, 7):
        assert weights_of(given, chosen, one) == pytest.approx(raised[one], rel=1e-3, abs=1e-3 / (1 - discount) ** 0.5)
        assert weights_of(given, chosen, one).sum() == pytest.approx(1 / (1 - discount), rel=1e-3)


def test_the_beliefs_that_matter_most_are_children_without_a_point() -> None:
    search = searched(0.3)
    graph, model, settings = search.graph, search.model, search.settings
    row = graph.node[: graph.used[NODES]]
    members = np.flatnonzero((row[:, SLOT] >= 0) & (row[:, ENTRY] >= 0))
    weights, expected = np.random.default_rng(0).uniform(size=len(members)), np.zeros(len(row))
    taken = np.empty(len(members), dtype=np.int64)
    for place, node in enumerate(members):
        home = row[node, HOME]
        pairs = np.arange(model.class_pair[home], model.class_pair[home + 1])
        slots = row[node, SLOT] + pairs - pairs[0]
        best = int(np.argmax(graph.slot[slots, ABOVE]))
        taken[place] = pairs[best] if place % 3 else -1 - pairs[best]
        begin = graph.slot_child[slots[best]]
        if taken[place] < 0 or begin < 0:
            continue
        for branch in range(begin, begin + int(np.diff(model.pair_branch)[pairs[best]])):
            child = graph.child[branch]
            if child >= 0 and row[child, ENTRY] < 0 and row[child, COUNT] > 1:
                expected[child] += settings.discount * graph.chance[branch] * weights[place]
    for node in np.flatnonzero(expected):
        raise_lower(model, graph, int(node), settings.potential)
        expected[node] *= graph.bound[node, UPPER] - graph.bound[node, LOWER]
    found = weightiest(model, graph, settings, members, taken, weights, 7)
    assert found.tolist() == np.argsort(-expected)[:7].tolist()
    assert expected[found].min() > 0
    every = weightiest(model, graph, settings, members, taken, weights, len(row))
    assert sorted(every) == np.flatnonzero(expected > 0).tolist()


def test_points_are_added_where_they_count_only_while_bounds_close(monkeypatch: pytest.MonkeyPatch) -> None:
    search = searched(0.3)
    asked: list[int] = []
    monkeypatch.setattr(search, "refine", lambda members, *_: asked.append(len(members)) or 0)
    search.value_points(1e-9, stuck=False, closing=False)
    assert asked == []
    search.value_points(1e-9, stuck=False, closing=True)
    assert len(asked) == 1
    lower, upper = search.bounds
    for apart, times in ((upper - lower, 1), (3 * (upper - lower), 2)):
        search.apart, search.nodes = apart, 0
        search.settle()
        assert len(asked) == times


def test_arrays_grow_within_the_memory_allowed_and_keep_what_they_hold() -> None:
    graph = Search(seen(0), weight=0.0, discount=0.9, gap=1e-6, seconds=np.inf, memory=1e9).graph
    now, full = size_in_bytes(graph), dict.fromkeys(ROOM, 0)
    room = {counted: len(getattr(graph, names[0])) for counted, names in ROOM.items()}
    assert with_room(graph, full, now) is graph
    for counted, names in ROOM.items():
        need = room[counted] - int(graph.used[counted])
        held = sum(getattr(graph, name).nbytes for name in names)
        doubled, tight = (with_room(graph, {**full, counted: need}, now + more) for more in (2 * held + 8 * need, held))
        assert doubled is not None
        assert tight is not None
        assert len(getattr(doubled, names[0])) > len(getattr(tight, names[0])) == 2 * room[counted] > room[counted]
        assert size_in_bytes(tight) <= now + held
        assert with_room(graph, {**full, counted: need}, now + 0.9 * held) is None  # old and new would be there at once
        assert with_room(graph, {**full, counted: need + room[counted]}, now + held) is None
        for name in names:
            before = getattr(graph, name)
            kept = getattr(tight, name)[tuple(slice(size) for size in before.shape)]
            assert kept.tobytes() == before.tobytes()


def test_a_search_never_takes_more_than_its_share_of_the_memory() -> None:
    problem, memory = seen(1, states=6, places=3), 4e6
    search = Search(problem, weight=0.5, discount=0.95, gap=1e-9, seconds=np.inf, memory=memory)
    sizes = []
    assert search.run(lambda lower, upper, nodes: sizes.append(size_in_bytes(search.graph))) == "memory"
    assert 0.4 * memory < max(sizes) <= memory
