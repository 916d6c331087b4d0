"""All that a search by points has written down holds, at every belief it has come to: nodes, actions, vectors, points.

Two kinds of states are solved on a fine grid. Copies of them, which nothing tells apart, are worth the same: so are
beliefs about many states, where other code is at work.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

from bridge import (
    ABOVE,
    ALIVE,
    BELOW,
    CHILDREN,
    ENTROPY,
    ENTRY,
    HULL_READ,
    LOWER,
    NODES,
    OWN,
    PAID,
    SLOT,
    UPPER,
    VECTOR_AT,
    VECTORS,
    Array,
    Search,
    check_plan,
    list_points,
    mix_anew,
    mixture,
    rows_of,
    unfold,
)
from halfway import halfway
from small import Small, draw, entropy, step

DISCOUNT = 0.9

FEW, MANY = 1, 40
"""Copies of each of two states: one class with a hull, and one that is too large for it."""

SHARP = -1
"""In place of a seed: one outcome rules a state out, so that it is impossible elsewhere; and all rewards are losses."""

CASES = [(seed, copies, weight) for seed in (3, 4, SHARP) for copies in (FEW, MANY) for weight in (0.0, 1.0)]


class Truth(NamedTuple):
    """What two states are worth at each of many beliefs, and by how much that may be too much."""

    curve: Array
    error: float

    def at(self, beliefs: Array, weight: float) -> Array:
        """The value (n,) at beliefs (n, 2): W of neighbours on the grid, mixed, lies above it."""
        cells = len(self.curve) - 1
        position = np.clip(beliefs[:, 1] * cells, 0, cells)
        low = np.minimum(position.astype(int), cells - 1)
        share = position - low
        result: Array = self.curve[low] * (1 - share) + self.curve[low + 1] * share + weight * entropy(beliefs)
        return result


def small_of(seed: int) -> Small:
    if seed != SHARP:
        return draw(seed, 2)
    transition = np.array([[[0.9, 0.1], [0.05, 0.95]], [[0.18, 0.82], [0.7, 0.3]]])
    likelihood = np.array([[[1.0, 0.0], [0.36, 0.64]], [[0.64, 0.36], [0.3, 0.7]]])
    return Small(transition, likelihood, np.array([[-14.9, -8.2], [-6.8, -13.8]]), np.array([0.5, 0.5]), False)


def on_grid(problem: Small, weight: float, cells: int) -> Array:
    """W = V - w H on a grid, by value iteration."""
    place = np.linspace(0, 1, cells + 1)
    beliefs = np.stack([1 - place, place], axis=1)
    steps = [(beliefs @ problem.reward[a], *step(problem, beliefs, a)) for a in range(len(problem.reward))]
    curve = np.zeros(cells + 1)
    for _ in range(400):
        truth, options = Truth(curve, 0.0), []
        for paid, chance, after, information in steps:
            later = truth.at(after.reshape(-1, 2), weight).reshape(chance.shape)
            options.append(paid + weight * information + DISCOUNT * (chance * later).sum(axis=1))
        before, curve = curve, np.max(options, axis=0) - weight * entropy(beliefs)
        if np.abs(curve - before).max() < 1e-11:
            break
    return curve


@cache
def truth_of(seed: int, weight: float) -> Truth:
    coarse, fine = (on_grid(small_of(seed), weight, cells) for cells in (250, 1000))
    return Truth(fine, 4 * float(np.abs(coarse - fine[::4]).max()) + 1e-7)


def copied(problem: Small, copies: int, weight: float) -> Small:
    """Each of two states so many times. Which copy one comes to is drawn: as likely each where information counts, so
    that no outcome tells of it, and else one of three, other ones from each state."""
    rng, states = np.random.default_rng(1), 2 * copies
    origin = np.repeat([0, 1], copies)
    share = np.full((2, states, states), 1 / copies)
    if not weight and copies > 1:
        share[:] = 0.0
        for row in share.reshape(-1, states):
            for kind in (0, 1):
                row[copies * kind + rng.choice(copies, 3, replace=False)] = rng.dirichlet(np.ones(3))
    start = np.zeros(states)
    start[0], start[copies] = problem.start
    transition = problem.transition[:, origin][:, :, origin] * share
    return Small(transition, problem.likelihood[:, origin], problem.reward[:, origin], start, False)


@cache
def searched(seed: int, copies: int, weight: float, prunes: float = 30) -> Search:
    """A search on its way, which has settled and forgotten after so many backups."""
    problem = copied(small_of(seed), copies, weight).compiled
    search = Search(problem, weight=weight, discount=DISCOUNT, gap=1e-7, seconds=np.inf, memory=1e9)
    search.settings = search.settings._replace(work=20_000)
    search.next_prune = prunes
    return halfway(search, 6 if copies == FEW else 30)


def beliefs_of(search: Search) -> Array:
    """The belief of each node over all states of the one class there is."""
    size = int(search.problem.sizes[0])
    found = np.zeros((int(search.graph.used[NODES]), size))
    for node in range(len(found)):
        unfold(search.graph, node, found[node], size)
    return found


def kinds_of(beliefs: Array) -> Array:
    """What beliefs about all copies are about two states."""
    return beliefs.reshape(len(beliefs), 2, -1).sum(axis=2)


def slack(search: Search, truth: Truth) -> float:
    return truth.error + 1e-9 * float(np.abs(search.graph.corner).max())


@pytest.mark.parametrize(("seed", "copies", "weight"), CASES)
def test_every_belief_that_a_search_has_come_to_lies_between_its_bounds(seed: int, copies: int, weight: float) -> None:
    search, truth = searched(seed, copies, weight), truth_of(seed, weight)
    beliefs = beliefs_of(search)
    bound, value = search.graph.bound[: len(beliefs)], truth.at(kinds_of(beliefs), weight)

    assert len(beliefs) > 40
    assert (bound[:, LOWER] <= value + slack(search, truth)).all()
    assert (bound[:, UPPER] >= value - slack(search, truth)).all()
    if search.settings.potential:
        assert bound[:, ENTROPY] == pytest.approx(entropy(beliefs), abs=1e-12)


@pytest.mark.parametrize(("seed", "copies", "weight"), CASES)
def test_every_action_worked_out_pays_what_it_does_and_leads_to_what_bayes_says(
    seed: int, copies: int, weight: float
) -> None:
    search, truth, looked = searched(seed, copies, weight), truth_of(seed, weight), 0
    graph, model, beliefs = search.graph, search.model, beliefs_of(search)
    problem = copied(small_of(seed), copies, weight)
    above, below = [], []
    for node in np.flatnonzero(graph.node[: len(beliefs), SLOT] >= 0).tolist():
        for pair in range(2):
            slot = int(graph.node[node, SLOT]) + pair
            first = int(graph.slot_child[slot])
            chance, after, information = step(problem, beliefs[[node]], int(search.problem.pair_action[pair]))
            paid = float(problem.reward[pair] @ beliefs[node]) + weight * float(information[0])
            worth = paid + DISCOUNT * float(chance[0] @ truth.at(kinds_of(after[0]), weight))
            above.append(graph.slot[slot, ABOVE] - worth)
            below.append(worth - graph.slot[slot, BELOW])
            if first < 0:
                continue
            assert graph.slot[slot, PAID] == pytest.approx(paid, abs=1e-9)
            for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
                outcome, place = search.problem.branch_outcome[branch], first + branch - model.pair_branch[pair]
                assert graph.chance[place] == pytest.approx(chance[0, outcome], abs=1e-12)
                if graph.child[place] >= 0:
                    assert beliefs[graph.child[place]] == pytest.approx(after[0, outcome], abs=1e-9)
            looked += 1
    assert looked > 20
    assert min(above) >= -slack(search, truth)
    assert min(below) >= -slack(search, truth)


@pytest.mark.parametrize(("seed", "copies", "weight"), CASES)
def test_no_vector_claims_more_than_a_belief_is_worth(seed: int, copies: int, weight: float) -> None:
    search, truth = searched(seed, copies, weight), truth_of(seed, weight)
    graph, size, rng = search.graph, 2 * copies, np.random.default_rng(abs(seed))
    drawn = rng.dirichlet(np.full(size, 0.2), 200)
    beliefs = np.concatenate([np.eye(size), np.where(drawn < 1e-6, 0.0, drawn), beliefs_of(search)[::3]])
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    vectors = np.flatnonzero(graph.vector[: graph.used[VECTORS], ALIVE] == 1)
    numbers = graph.alpha[graph.vector[vectors, VECTOR_AT][:, None] + np.arange(size)]
    own = search.settings.potential * np.multiply.outer(entropy(beliefs), graph.share[vectors])

    assert len(vectors) > 5
    claimed = (beliefs @ numbers.T + own).max(axis=1)
    assert (claimed <= truth.at(kinds_of(beliefs), weight) + slack(search, truth)).all()


@pytest.mark.parametrize(("seed", "copies", "weight"), CASES)
def test_points_and_corners_lie_above_what_they_are_worth(seed: int, copies: int, weight: float) -> None:
    search, truth = searched(seed, copies, weight), truth_of(seed, weight)
    graph, beliefs = search.graph, beliefs_of(search)
    points = np.flatnonzero(graph.node[: len(beliefs), ENTRY] >= 0)
    worth = truth.at(kinds_of(beliefs), weight) - search.settings.potential * entropy(beliefs)

    assert len(points) > 5
    assert (graph.bound[points, OWN] >= worth[points] - slack(search, truth)).all()
    corners = np.eye(2 * copies)
    assert (graph.corner >= truth.at(kinds_of(corners), weight) - slack(search, truth)).all()


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("seed", [3, 4])
def test_actions_as_rows_of_points_are_worth_at_least_what_they_are(seed: int, weight: float) -> None:
    """With what points are really worth in place of what they claim: mixtures of convex values lie above them."""
    search, truth = searched(seed, FEW, weight), truth_of(seed, weight)
    graph, beliefs, problem = search.graph, beliefs_of(search), small_of(seed)
    members = np.empty(len(beliefs), dtype=np.int64)
    members = members[: list_points(graph, members)]
    values, rows, pairs = rows_of(search.model, graph, search.settings, members)
    less = search.settings.potential * entropy(beliefs[members])
    worth = truth.at(beliefs[members], weight) - less

    assert (values >= worth - slack(search, truth)).all()
    for row, pair in enumerate(pairs.tolist()):
        member, action = row // 2, pair if pair >= 0 else -1 - pair
        assert action == row % 2
        entries = slice(int(rows.begin[row]), int(rows.begin[row + 1]))
        told = rows.known[row] + float(rows.share[entries] @ worth[rows.member[entries]])
        chance, after, information = step(problem, beliefs[members[[member]]], action)
        paid = float(problem.reward[action] @ beliefs[members[member]]) + weight * float(information[0])
        real = paid + DISCOUNT * float(chance[0] @ truth.at(after[0], weight)) - less[member]
        assert told >= real - slack(search, truth)


def claimed(search: Search, members: Array) -> dict[tuple[int, int], float]:
    """What each action worked out at each member is worth, as rows say it of what members claim."""
    values, rows, pairs = rows_of(search.model, search.graph, search.settings, members)
    found = {}
    for row, pair in enumerate(pairs.tolist()):
        entries, node = slice(int(rows.begin[row]), int(rows.begin[row + 1])), int(members[row // 2])
        slot = int(search.graph.node[node, SLOT]) + row % 2
        if pair >= 0 and search.graph.slot[slot, ABOVE] >= search.graph.bound[node, LOWER]:
            found[node, pair] = float(rows.known[row] + rows.share[entries] @ values[rows.member[entries]])
        else:
            assert rows.begin[row] == rows.begin[row + 1]
            less = search.settings.potential * search.graph.bound[node, ENTROPY]
            assert rows.known[row] == rows.most[row] == search.graph.slot[slot, ABOVE] - less
    return found


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("seed", [3, 4])
def test_rows_mix_children_from_the_lowest_points_there_are(seed: int, weight: float) -> None:
    """A child that is no point counts for the cheapest mixture of points and corners, or, without one, for its bound.
    Points that are left out of the rows count for what they claim, or what others say: no row changes."""
    search = searched.__wrapped__(seed, FEW, weight)  # one of its own, as it is changed
    graph, settings, beliefs = search.graph, search.settings, beliefs_of(search)
    members = np.empty(len(beliefs), dtype=np.int64)
    members = members[: list_points(graph, members)]
    points = np.flatnonzero(graph.node[: len(beliefs), ENTRY] >= 0)

    def worth(child: int) -> float:
        belief, own = beliefs[child], settings.potential * float(graph.bound[child, ENTROPY])
        if belief.max() == 1:
            return float(graph.corner[belief.argmax()])
        if child in points:
            return float(graph.bound[child, OWN]) + own
        if graph.node[child, HULL_READ] == -2:
            return float(graph.bound[child, UPPER])
        prices = np.full(2, settings.penalty)
        return mixture(beliefs[points], graph.bound[points, OWN], graph.corner, belief, prices) + own

    def expected(node: int, pair: int) -> float:
        slot, branches = int(graph.node[node, SLOT]) + pair, range(*search.model.pair_branch[pair : pair + 2])
        places = [int(graph.slot_child[slot]) + branch - branches[0] for branch in branches]
        later = sum(graph.chance[place] * worth(int(graph.child[place])) for place in places if graph.child[place] >= 0)
        less = settings.potential * float(graph.bound[node, ENTROPY])
        return float(graph.slot[slot, PAID]) - less + DISCOUNT * later

    mix_anew(search.model, graph, settings, members, 0.0)
    found = claimed(search, members)
    size = float(np.abs(graph.corner).max())
    assert len(found) > 10
    assert found == pytest.approx({key: expected(*key) for key in found}, abs=1e-6 * size)
    some = members[::2]
    assert claimed(search, some) == pytest.approx({key: found[key] for key in found if key[0] in some}, abs=1e-5 * size)
    fresh = [int(c) for c in graph.child[: graph.used[CHILDREN]] if c >= 0 and c not in members][::2]
    kept = graph.node[fresh, HULL_READ].copy()
    graph.node[fresh, HULL_READ] = -2
    again = claimed(search, members)
    assert again == pytest.approx({key: expected(*key) for key in again}, abs=1e-6 * size)
    graph.node[fresh, HULL_READ] = kept


@pytest.mark.parametrize(("copies", "weight"), [(FEW, 1.0), (MANY, 0.0), (MANY, 1.0)])
def test_the_second_opinion_finds_nothing_wrong_with_many_states(copies: int, weight: float) -> None:
    plan = searched(3, copies, weight).solution("interrupted").plan
    assert check_plan(plan, np.random.default_rng(0), most=30).holds
