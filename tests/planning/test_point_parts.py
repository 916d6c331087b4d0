"""Parts of the search by points, each by numbers known beforehand or by the law it must keep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

from rhoplan.planning.certified.pointbased.centred import (
    best_somewhere,
    first_moved,
    graph_moved,
    had_everywhere,
    middle,
    wants_centre,
    without,
)
from rhoplan.planning.certified.pointbased.compiled import Compiled, dense_joint, flat, sorted_by
from rhoplan.planning.certified.pointbased.first import First
from rhoplan.planning.certified.pointbased.graph import (
    ABOVE,
    ALIVE,
    BEGIN,
    BELOW,
    CLOUD,
    CLOUD_BLOCK,
    COUNT,
    ENTROPY,
    ENTRY,
    FOLLOW,
    HOME,
    HULL_READ,
    INDEX,
    LOWER,
    NODES,
    OWN,
    PAID,
    REST,
    SAME,
    SLOT,
    SLOTS,
    UPPER,
    VECTOR_AT,
    VECTORS,
    WORTH,
    find_node,
    is_same,
    unfold,
)
from rhoplan.planning.certified.pointbased.growing import STEEPEST, nearer, penalty_of, spans_of
from rhoplan.planning.certified.pointbased.hull import leaves, mixed
from rhoplan.planning.certified.pointbased.potential import least_share
from rhoplan.planning.certified.pointbased.solve import Search
from rhoplan.planning.certified.pointbased.trials import look_down, open_node, run_trials
from rhoplan.planning.certified.pointbased.vectors import make_vector
from small import draw, entropy, step
from test_bounds_everywhere import FEW, MANY, beliefs_of, searched


def ends(
    *,
    pays: tuple[float, float] = (0.0, 0.0),
    leaves_by: int | None = None,
    shows: tuple[float, float] = (0.5, 0.5),
    other: tuple[float, float] = (0.5, 0.5),
) -> Compiled:
    """State 0 leads to 1 or 2, which one sees; there nothing ever happens but for what is asked for."""
    transition = np.zeros((2, 3, 3))
    transition[:, 0, 1:] = 0.5
    transition[:, 1, 1] = transition[:, 2, 2] = 1.0
    if leaves_by is not None:
        transition[leaves_by, 1] = [1.0, 0.0, 0.0]
    likelihood = np.zeros((2, 3, 3))
    likelihood[:, 0, 0] = 1.0
    likelihood[:, 1, 1:], likelihood[:, 2, 1:] = shows, other
    reward = np.array([[-1.0, pays[0], 0.0], [-2.0, pays[1], 0.0]])
    return flat(dense_joint(transition, likelihood), reward, np.array([1.0, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("given", "over"),
    [
        ({}, True),
        ({"pays": (1.0, 1.0)}, False),
        ({"pays": (0.0, 1.0)}, False),
        ({"leaves_by": 1}, False),
        ({"other": (0.25, 0.75)}, False),
        ({"shows": (0.25, 0.75), "other": (0.25, 0.75)}, True),
    ],
)
def test_an_episode_is_over_where_nothing_is_paid_left_or_told_whatever_is_done(given: dict, over: bool) -> None:
    problem = ends(**given)
    assert problem.ended.any() == over
    assert problem.ended.sum() <= 1


def test_a_state_that_one_action_leads_out_of_is_no_end_though_nothing_is_paid_there() -> None:
    apart = {"shows": (1.0, 0.0), "other": (0.0, 1.0)}
    assert ends(**apart).ended.sum() == 2
    assert ends(**apart, leaves_by=1).ended.sum() == 1
    assert ends(**apart, leaves_by=0).ended.sum() == 1


def test_a_start_beyond_what_can_be_come_to_is_a_class_of_its_own_and_sums_to_one() -> None:
    """One begins in state 0, to which nothing leads, or in state 1."""
    transition = np.array([[[0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]])
    start = np.array([0.6, 0.6, 0.0])
    problem = flat(dense_joint(transition, np.ones((1, 3, 1))), np.ones((1, 3)), start)
    begin = problem.model.class_state[problem.start_class]
    assert problem.state[begin : begin + len(problem.start)].tolist() == [0, 1]
    assert problem.start.tolist() == [0.5, 0.5]
    assert sorted(problem.sizes.tolist()) == [2, 2]


@pytest.mark.parametrize("large", [1, 2**45])
def test_numbers_are_sorted_by_key_then_by_column_whatever_their_size(large: int) -> None:
    rng = np.random.default_rng(0)
    key, column = rng.integers(0, 5, 60) * large, rng.integers(0, 7, 60) * large
    order = sorted_by(key, column, 7 * large)
    rows = list(zip(key[order].tolist(), column[order].tolist(), strict=True))
    assert rows == sorted(zip(key.tolist(), column.tolist(), strict=True))
    ready = np.arange(6)
    assert isinstance(sorted_by(ready // 2, ready % 2, 2), slice)
    assert not isinstance(sorted_by(np.array([0, 1, 0]), np.array([0, 0, 1]), 2), slice)


@pytest.mark.parametrize(
    ("corner", "least", "weight", "span", "far"),
    [
        ([3.0, 5.0], -2.0, 0.0, 14.0, 5.0),
        ([-3.0, -4.0], -10.0, 0.0, 14.0, 10.0),
        ([3.0, 5.0], 4.0, 2.0, 2.0 + 2 * STEEPEST, 5.0),
        ([-1.0], -1.0, 0.0, 0.0, 1.0),
    ],
)
def test_values_lie_between_what_can_be_had_anywhere_and_the_best_corner(
    corner: list[float], least: float, weight: float, span: float, far: float
) -> None:
    assert spans_of(np.array(corner), least, weight) == (span, far)


@pytest.mark.parametrize(
    ("size", "weight", "discount", "price"),
    [(10.0, 0.0, 0.5, 20.0), (1.0, 0.0, 0.5, 8.0), (1.0, 0.0, 1.0, 2.0), (10.0, 3.0, 0.5, 20.0 + 3 * STEEPEST)],
)
def test_what_is_left_of_a_belief_costs_more_than_any_two_values_are_apart(
    size: float, weight: float, discount: float, price: float
) -> None:
    assert penalty_of(ends(), size, weight, discount) == pytest.approx(price)


def test_settings_know_how_far_apart_values_are_and_round_by_what_they_are() -> None:
    settings = searched(3, FEW, 1.0).settings
    closer = nearer(settings._replace(span=1e6, rounding=1e-3, logs=2.0, weight=0.0), np.array([5.0, 1.0]), -3.0)
    assert (closer.span, closer.lost) == (16.0, 21.0)
    assert closer.outward == pytest.approx(1e-3 * (5.0 + 2.0) + SAME * 16.0, rel=1e-12)
    assert nearer(settings._replace(span=2.0, weight=0.0), np.array([5.0, 1.0]), -3.0).lost == 7.0


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_settings_of_a_search_pay_for_rounding_and_for_what_is_left_of_beliefs(weight: float) -> None:
    search = Search(draw(3, 2).compiled, weight=weight, discount=0.9, gap=1e-3, seconds=600, memory=1e9)
    settings, first = search.settings, search.first
    had = max(float(vector.min()) for vector in first.vectors)
    span, far = spans_of(first.corner, had, weight)
    largest = max(float(np.abs(values).max()) for values in (first.corner, *first.vectors))
    assert (settings.span, settings.lost) == (span, span + far)
    assert settings.penalty == penalty_of(search.problem, largest, weight, 0.9)
    assert settings.rounding >= 4 * (2 + 2) * 2.0**-53  # two states, two outcomes: more operations than that
    assert settings.outward >= settings.rounding * far + SAME * span
    assert (settings.logs > 10 * weight) == (weight > 0)
    assert settings.outward >= settings.rounding * (far + settings.logs)
    assert settings.potential == weight * least_share(search.problem, 0.9)
    assert (0.0 < settings.potential < weight) == (weight > 0)


def first_of(corner: list[float], *vectors: list[float]) -> First:
    taken = [np.array([number]) for number in range(len(vectors))]
    return First(np.array(corner), np.array(corner) + 1, [np.array(vector) for vector in vectors], taken)


def test_values_are_centred_only_where_rounding_would_be_noticed_and_nothing_ends() -> None:
    endless, ending = draw(3, 2).compiled, ends()
    assert wants_centre(endless, 1e9, 0.999999, 1e-6)
    assert wants_centre(endless, -1e9, 0.999999, 1e-6)
    assert not wants_centre(endless, 1e9, 1.0, 1e-6)
    assert not wants_centre(ending, 1e9, 0.999999, 1e-6)
    assert not wants_centre(endless, 1.0, 0.9, 1e-6)


def test_the_middle_lies_between_the_informed_bound_and_the_best_policy() -> None:
    problem = draw(3, 2).compiled
    first = first_of([4.0, 8.0], [0.0, -9.0], [1.0, 3.0], [2.0, 2.0])
    one, other = problem.start
    below = max(-9 * other, one + 3 * other, 2.0)
    assert middle(problem, first) == pytest.approx(0.5 * (4 * one + 8 * other + below))
    assert [vector.tolist() for vector in best_somewhere(first).vectors] == [[1.0, 3.0], [2.0, 2.0]]
    assert [taken.tolist() for taken in best_somewhere(first).taken] == [[1], [2]]


def test_less_reward_at_every_step_makes_all_values_less_by_the_same() -> None:
    problem = draw(3, 2).compiled
    moved, error = without(problem, 50.0, 0.9)
    assert moved.model.reward == pytest.approx(problem.model.reward - 5.0)
    assert 50.0 * 1e-16 < error < 1e-11


def test_what_is_moved_is_rounded_outward_on_either_side() -> None:
    first = first_moved(first_of([4.0, 8.0], [1.0, 3.0]), 10.0, 0.25)
    assert first.corner.tolist() == [14.25, 18.25]
    assert first.action.tolist() == [15.25, 19.25]
    assert first.vectors[0].tolist() == [10.75, 12.75]

    search = searched(3, FEW, 1.0)
    graph, nodes = search.graph, int(search.graph.used[NODES])
    moved = graph_moved(graph, 10.0, 0.25, 0.9, 40.0)
    for name, column, by in (
        *((("bound", column, 10.25)) for column in (UPPER, OWN)),
        ("bound", LOWER, 9.75),
        ("slot", ABOVE, 10.25),
        ("slot", BELOW, 9.75),
        ("slot", PAID, 1.0),
    ):
        filled = int(graph.used[SLOTS if name == "slot" else NODES])
        before, after = getattr(graph, name)[:filled, column], getattr(moved, name)[:filled, column]
        finite = np.isfinite(before) & ((name != "slot") | (graph.slot_child[:filled] >= 0))
        assert after[finite] - before[finite] == pytest.approx(by, abs=1e-9)
    assert (moved.corner - graph.corner).tolist() == pytest.approx([10.25] * 2)
    assert (moved.action - graph.action).tolist() == pytest.approx([10.25] * len(graph.action))
    at = graph.vector[: graph.used[VECTORS], VECTOR_AT]
    assert moved.alpha[at] - graph.alpha[at] == pytest.approx(9.75)
    points = np.flatnonzero(graph.node[:nodes, ENTRY] >= 0)
    places = int(graph.chain[0, CLOUD_BLOCK + BEGIN]) + graph.node[points, CLOUD]
    assert moved.cloud[WORTH, places] - graph.cloud[WORTH, places] == pytest.approx(10.25)
    assert moved.fan[1:, :2] - graph.fan[1:, :2] == pytest.approx(9.75)
    mixing = points[graph.node[points, HULL_READ] >= 0]
    assert len(mixing) > 3
    assert moved.bound[mixing, REST].tolist() == (graph.bound[mixing, REST] * 1.25).tolist()
    assert moved.price[mixing] - graph.price[mixing] == pytest.approx(10.25)


def test_what_can_be_had_everywhere_is_the_worst_of_the_best_plan() -> None:
    search = searched(3, FEW, 1.0)
    graph = search.graph
    alive = np.flatnonzero(graph.vector[: graph.used[VECTORS], ALIVE] == 1)
    worst = [graph.alpha[at : at + 2].min() for at in graph.vector[alive, VECTOR_AT].tolist()]
    assert had_everywhere(search.problem, graph) == max(worst)
    assert min(worst) < max(worst)


def test_bounds_of_a_start_say_what_was_taken_off_and_what_that_may_have_lost() -> None:
    search = Search(draw(3, 2).compiled, weight=0.0, discount=0.9, gap=1e-3, seconds=600, memory=1e9)
    lower, upper = search.bounds
    search.taken_off, search.error = 10.0, 0.25
    assert search.bounds == pytest.approx((lower + 9.75, upper + 10.25), abs=1e-12)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_what_a_mixture_leaves_of_a_belief_is_paid_for_by_its_state(weight: float) -> None:
    """Too much of a point, and too little: by how much each state is off, at what it may cost."""
    search = searched.__wrapped__(3, FEW, weight)  # one of its own, as it is changed
    graph, settings, beliefs = search.graph, search.settings, beliefs_of(search)
    settings = settings._replace(penalty=7.0, lost=2.0)
    nodes = np.flatnonzero((graph.node[: len(beliefs), HULL_READ] >= 0) & (graph.node[: len(beliefs), COUNT] == 2))
    for node in nodes[:6].tolist():
        graph.level[node, :2] = [0.3, 0.5]
        columns = [beliefs[one] if one >= 0 else np.eye(2)[-1 - one] for one in graph.mixture[node, :2].tolist()]
        off = beliefs[node] - 0.3 * columns[0] - 0.5 * columns[1]
        prices = np.minimum(7.0, 2.0 / beliefs[node])
        assert leaves(graph, node, 2, settings) == pytest.approx(np.abs(off).sum())
        assert graph.bound[node, REST] == pytest.approx(prices @ np.abs(off))
        own = [
            graph.bound[one, OWN] if one >= 0 else graph.corner[-1 - one] for one in graph.mixture[node, :2].tolist()
        ]
        graph.bound[node, UPPER] = np.inf
        worth = graph.bound[node, REST] + 0.3 * own[0] + 0.5 * own[1] + settings.potential * graph.bound[node, ENTROPY]
        assert mixed(search.model, graph, node, settings.potential) == pytest.approx(worth)
    sure, point = find_node(search.model, graph, 0, np.array([1.0, 0.0]), settings.potential), int(nodes[0])
    graph.level[sure, :2], graph.mixture[sure, :2] = [1.0, 0.0], [point, -1]
    other = float(beliefs[point, 1])
    assert leaves(graph, sure, 2, settings) == pytest.approx(2 * other)
    assert graph.bound[sure, REST] == pytest.approx((2.0 + 7.0) * other)  # a state that the belief rules out is dear
    assert len(nodes) > 3


def searched_anew(seed: int, copies: int, weight: float) -> Search:
    """A search of its own, to be changed, that has forgotten nothing yet."""
    return searched.__wrapped__(seed, copies, weight, np.inf)


def young(weight: float) -> Search:
    """A search that has hardly begun: children still go on with the first policies, which know nothing of entropy."""
    search = Search(draw(3, 2).compiled, weight=weight, discount=0.9, gap=1e-7, seconds=np.inf, memory=1e9)
    search.settings = search.settings._replace(work=200)
    search.next_prune = np.inf
    search.make_room()
    run_trials(search.model, search.graph, search.settings)
    return search


@pytest.mark.parametrize(
    ("search", "weight"),
    [(lambda: searched_anew(3, FEW, 0.0), 0.0), (lambda: searched_anew(3, FEW, 1.0), 1.0),
     (lambda: searched_anew(3, MANY, 1.0), 1.0), (lambda: young(1.0), 1.0)],
    ids=["no weight", "few states", "many states", "hardly begun"],
)  # fmt: skip
def test_a_vector_claims_where_it_is_made_what_its_plan_is_worth_there(
    search: Callable[[], Search], weight: float, request: pytest.FixtureRequest
) -> None:
    """It is a tangent: at its own belief nothing is lost, but for what is mixed in and rounded."""
    made, looked, shares = search(), 0, set()
    size, beliefs = int(made.problem.sizes[0]), beliefs_of(made)
    for node in np.flatnonzero(made.graph.node[: len(beliefs), SLOT] >= 0)[:12].tolist():
        assert made.make_room()
        graph = made.graph
        for pair in (0, 1):
            slot = int(graph.node[node, SLOT]) + pair
            if graph.slot_child[slot] < 0:
                continue
            worth = look_down(made.model, graph, pair, slot, made.settings)
            vector = make_vector(made.model, graph, node, pair, made.settings)
            begin = int(graph.vector[vector, FOLLOW])
            shares |= set(graph.share[graph.follower[begin : begin + 2]].tolist())
            at = int(graph.vector[vector, VECTOR_AT])
            assert graph.share[vector] == (weight > 0)
            doubt = float(graph.share[vector]) * made.settings.potential * float(graph.bound[node, ENTROPY])
            assert float(graph.alpha[at : at + size] @ beliefs[node]) + doubt == pytest.approx(worth, abs=1e-4)
            looked += 1
    assert looked > 0
    assert (0.0 in shares) == (weight == 0 or request.node.callspec.id == "hardly begun")


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_step_that_may_end_it_all_pays_its_reward_and_all_it_tells(weight: float) -> None:
    """That it has ended is told, and what is known then counts as it does elsewhere."""
    problem, looked = draw(2, 2, ends=True), 0
    search = Search(problem.compiled, weight=weight, discount=1.0, gap=1e-3, seconds=np.inf, memory=1e9)
    search.run()
    graph, model = search.graph, search.model
    assert search.problem.ended.sum() == 1
    for node in np.flatnonzero(graph.node[: graph.used[NODES], SLOT] >= 0).tolist():
        home, belief = int(graph.node[node, HOME]), np.zeros(3)
        states = search.problem.state[model.class_state[home] : model.class_state[home + 1]]
        held = np.zeros(len(states))
        unfold(graph, node, held, len(states))
        belief[states] = held
        for pair in range(model.class_pair[home], model.class_pair[home + 1]):
            slot, action = int(graph.node[node, SLOT]) + pair - model.class_pair[home], search.problem.pair_action[pair]
            if graph.slot_child[slot] >= 0:
                information = float(step(problem, belief[None], int(action))[2][0])
                paid = float(problem.reward[action] @ belief) + weight * information
                assert graph.slot[slot, PAID] == pytest.approx(paid, abs=1e-9)
                looked += 1
    assert looked > 5


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_an_action_not_worked_out_is_worth_what_the_informed_bound_says(weight: float) -> None:
    search = searched_anew(3, FEW, weight)
    graph, beliefs = search.graph, beliefs_of(search)
    closed = np.flatnonzero(graph.node[: len(beliefs), SLOT] < 0)[:5].tolist()
    assert search.make_room()
    for node in closed:
        graph = search.graph
        open_node(search.model, graph, node, search.settings.potential)
        slot, doubt = int(graph.node[node, SLOT]), search.settings.potential * float(entropy(beliefs[node]))
        for pair in (0, 1):
            informed = float(graph.action[2 * pair : 2 * pair + 2] @ beliefs[node])
            assert graph.slot[slot + pair, ABOVE] == pytest.approx(informed + doubt)
            assert graph.slot[slot + pair, BELOW] == -np.inf
    assert closed


@pytest.mark.parametrize("belief", [(0.5, 0.25, 0.25, 0.0, 0.0, 0.0, 0.0), (0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0)])
def test_beliefs_are_one_where_every_probability_is_the_same_to_the_last_digits(belief: tuple[float, ...]) -> None:
    """Stored whole or by the states that are possible."""
    held, count = np.array(belief), np.count_nonzero(belief)
    search = Search(draw(3, 7).compiled, weight=0.0, discount=0.9, gap=1e-3, seconds=np.inf, memory=1e9)
    node = find_node(search.model, search.graph, 0, held, 0.5)
    above = float(search.graph.corner @ held) + 0.5 * float(entropy(held))
    assert search.graph.bound[node, [LOWER, UPPER]] == pytest.approx([-np.inf, above])
    assert (search.graph.node[node, INDEX] < 0) == (count == 3)
    for share, same in ((0.0, True), (5e-15, True), (1e-13, False), (1e-9, False)):
        near = held * (1 + np.array([share, -share, *[0.0] * 5]))
        assert is_same(search.graph, node, near, 7, count) == same
    other = held + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1e-300])
    assert not is_same(search.graph, node, other, 7, count + 1)
    assert find_node(search.model, search.graph, 0, held, 0.0) == node
    assert find_node(search.model, search.graph, 0, held[::-1].copy(), 0.0) == node + 1
