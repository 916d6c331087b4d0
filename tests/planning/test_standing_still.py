"""Where trials go round in circles, other beliefs are looked for, and the bounds come nearer all the same."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

from halfway import halfway
from rhoplan.planning.certified.pointbased.below import raise_lower
from rhoplan.planning.certified.pointbased.compiled import Compiled, dense_joint, flat
from rhoplan.planning.certified.pointbased.graph import (
    ABOVE,
    COUNT,
    ENTRY,
    GAP,
    HOME,
    LOWER,
    NODES,
    ROOT,
    SLOT,
    UPPER,
)
from rhoplan.planning.certified.pointbased.points import BY_ALL, NEARER, farther
from rhoplan.planning.certified.pointbased.solve import Search


def drawn(seed: int, states: int, outcomes: int) -> Compiled:
    """A problem drawn at random, with three actions and losses up to 100."""
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.full(states, 0.3), (3, states))
    sees = rng.dirichlet(np.full(outcomes, 0.3), (3, states))
    return flat(dense_joint(transition, sees), -rng.uniform(0, 100, (3, states)), np.full(states, 1 / states))


def stopped(discount: float, trials: int) -> Search:
    """A search on a problem of three states, stopped after so many looks at the clock."""
    search = Search(drawn(10, 3, 2), weight=1.0, discount=discount, gap=1e-6, seconds=np.inf, memory=1e9)
    return halfway(search, trials)


def matters(search: Search) -> np.ndarray:
    """How much each node without a point counts for the start, by a dense inverse over all nodes that are opened."""
    graph, model, settings = search.graph, search.model, search.settings
    row = graph.node[: graph.used[NODES]]
    follows = np.zeros((len(row), len(row)))
    for node in np.flatnonzero(row[:, SLOT] >= 0):
        home = row[node, HOME]
        pairs = np.arange(model.class_pair[home], model.class_pair[home + 1])
        slots = row[node, SLOT] + pairs - pairs[0]
        best = int(np.argmax(graph.slot[slots, ABOVE]))
        begin = graph.slot_child[slots[best]]
        if begin >= 0:
            for branch in range(begin, begin + int(np.diff(model.pair_branch)[pairs[best]])):
                if graph.child[branch] >= 0:
                    follows[node, graph.child[branch]] += settings.discount * graph.chance[branch]
    often = np.linalg.solve((np.eye(len(row)) - follows).T, np.eye(len(row))[ROOT]) - np.eye(len(row))[ROOT]
    often[(row[:, ENTRY] >= 0) | (row[:, COUNT] == 1)] = 0
    for node in np.flatnonzero(often):
        raise_lower(model, graph, int(node), settings.potential)
    return often * (graph.bound[: len(row), UPPER] - graph.bound[: len(row), LOWER])


@pytest.mark.parametrize("discount", [0.9, 0.9999])
def test_beliefs_are_looked_for_where_they_count_most_for_the_start(discount: float) -> None:
    search = stopped(discount, 4)
    search.graph.bound[ROOT + 1 : search.graph.used[NODES], GAP] = np.inf
    expected = matters(search)
    found = farther(search.model, search.graph, search.settings, 5)
    assert len(found) == 5
    assert expected[found] == pytest.approx(np.sort(expected)[::-1][:5], rel=1e-3)
    every = farther(search.model, search.graph, search.settings, len(expected))
    assert expected[every].sum() == pytest.approx(expected.sum(), rel=1e-3)


def test_a_belief_that_was_backed_up_waits_until_bounds_are_nearer() -> None:
    search = stopped(0.9999, 4)
    graph = search.graph
    graph.bound[ROOT + 1 : graph.used[NODES], GAP] = np.inf
    opened = graph.node[: graph.used[NODES], SLOT] >= 0
    apart = graph.bound[ROOT, UPPER] - graph.bound[ROOT, LOWER]
    every = farther(search.model, graph, search.settings, len(opened))
    assert opened[every].any()
    assert not opened[every].all()
    graph.bound[ROOT + 1 : graph.used[NODES], GAP] = apart / NEARER * (1 - 1e-9)
    assert sorted(farther(search.model, graph, search.settings, len(opened))) == sorted(every[~opened[every]])
    graph.bound[ROOT + 1 : graph.used[NODES], GAP] = apart / NEARER * (1 + 1e-9)
    assert sorted(farther(search.model, graph, search.settings, len(opened))) == sorted(every)


def test_beliefs_may_be_backed_up_again_once_all_have_been(monkeypatch: pytest.MonkeyPatch) -> None:
    search = stopped(0.9999, 4)
    done = search.grow(20)
    lately = search.graph.bound[: search.graph.used[NODES], GAP]
    assert np.isfinite(lately[ROOT + 1 :]).sum() >= done > 0
    module = "rhoplan.planning.certified.pointbased.settling"
    monkeypatch.setattr(f"{module}.farther", lambda *_: np.empty(0, dtype=np.int64))
    before = search.graph.bound[ROOT, GAP]
    assert search.grow(20) == 0
    assert np.isinf(search.graph.bound[ROOT + 1 : search.graph.used[NODES], GAP]).all()
    assert search.graph.bound[ROOT, GAP] == before


def test_beliefs_are_backed_up_where_bounds_stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    search = stopped(0.9999, 4)
    asked: list[int] = []
    monkeypatch.setattr(search, "value_points", lambda *_, **__: None)
    monkeypatch.setattr(search, "back_up", lambda nodes, how: asked.extend(nodes.tolist() if how == BY_ALL else []))
    lower, upper = search.bounds
    row = search.graph.node[: search.graph.used[NODES]]
    opened = np.flatnonzero(row[:, SLOT] >= 0).tolist()
    for nodes, apart, expected in (
        (len(row), upper - lower, opened),
        (len(row), 2 * (upper - lower), []),
        (0, upper - lower, []),
    ):
        search.nodes, search.apart = nodes, apart
        asked.clear()
        search.settle()
        assert asked == expected


@pytest.mark.parametrize(("seed", "states", "outcomes", "discount"), [(21, 2, 3, 0.999), (18, 2, 2, 0.9999)])
def test_bounds_meet_where_trials_go_round_in_circles(seed: int, states: int, outcomes: int, discount: float) -> None:
    """Both were left with a gap that stayed, or took tens of thousands of vectors of which a dozen counted."""
    problem = drawn(seed, states, outcomes)
    search = Search(problem, weight=5.0, discount=discount, gap=1e-2, seconds=60, memory=1e9)
    assert search.run() == "gap"
    assert search.graph.used[NODES] < 10_000
