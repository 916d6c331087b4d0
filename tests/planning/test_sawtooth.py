"""The sawtooth of many points: none that counts is passed over, however they are told apart, and in whatever order."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

from halfway import halfway
from rhoplan.planning.certified.pointbased.above import lower_upper
from rhoplan.planning.certified.pointbased.compiled import dense_joint, flat
from rhoplan.planning.certified.pointbased.graph import (
    BASE,
    BEFORE,
    CORNERS,
    COUNT,
    ENTRY,
    FIRST_ENTRY,
    HOME,
    LAST_ENTRY,
    NODES,
    OWN,
    PARTS,
    POINT_READ,
    UPPER,
    support,
    unfold,
)
from rhoplan.planning.certified.pointbased.prune import line_up, prune
from rhoplan.planning.certified.pointbased.solve import Search


def searched(states: int, seed: int = 1, pruned: bool = True) -> Search:
    """A search under way on a problem of one class, in which each step leads to three states."""
    rng = np.random.default_rng(seed)
    transition = np.zeros((3, states, states))
    for action in range(3):
        for state in range(states):
            transition[action, state, rng.choice(states, 3, replace=False)] = rng.dirichlet(np.ones(3))
    sees = np.eye(4)[rng.integers(0, 4, (3, states))] * 0.9 + 0.025
    sees[rng.uniform(size=(3, states)) < 0.5] = np.eye(4)[0]
    start = np.zeros(states)
    start[:4] = 0.25
    problem = flat(dense_joint(transition, sees), rng.uniform(-1, 1, (3, states)), start)
    search = Search(problem, weight=0.0, discount=0.9, gap=1e-6, seconds=np.inf, memory=1e9)
    if not pruned:
        search.next_prune = np.inf
    return halfway(search, 60)


def beliefs(search: Search) -> np.ndarray:
    """The belief of each node, all states of its class."""
    states = int(np.diff(search.model.class_state)[0])
    found = np.zeros((int(search.graph.used[NODES]), states))
    for node in range(len(found)):
        unfold(search.graph, node, found[node], states)
    return found


def chain(search: Search, home: int = 0) -> list[int]:
    """The entries of a class in their order."""
    found, entry = [], int(search.graph.chain[home, FIRST_ENTRY])
    while entry >= 0:
        found.append(entry)
        entry = int(search.graph.following[entry])
    return found


def unread(search: Search, node: int) -> list[int]:
    """The points that a node has not read yet, in their order."""
    graph = search.graph
    read = int(graph.node[node, POINT_READ])
    entry = int(graph.chain[0, FIRST_ENTRY] if read < 0 else graph.following[read])
    points = []
    while entry >= 0:
        if graph.node[graph.entry[entry, 1], ENTRY] == entry:
            points.append(int(graph.entry[entry, 1]))
        entry = int(graph.following[entry])
    return points


@pytest.mark.parametrize("states", [PARTS + 3, 3 * PARTS])
def test_every_node_is_lowered_by_the_best_of_all_points(states: int) -> None:
    search = searched(states)
    graph, all_beliefs = search.graph, beliefs(search)
    points = np.flatnonzero((graph.node[: len(all_beliefs), ENTRY] >= 0) & (graph.node[: len(all_beliefs), COUNT] > 1))
    assert len(points) > 50
    base = all_beliefs @ graph.corner[:states]
    fall = np.minimum(graph.bound[points, OWN] - base[points], 0.0)
    lowered = 0
    for node in range(0, len(all_beliefs), 7):
        if graph.node[node, COUNT] == 1:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(all_beliefs[points] > 0, all_beliefs[node] / all_beliefs[points], np.inf).min(axis=1)
        best = base[node] + min(float((fall * np.minimum(ratio, 1.0)).min()), 0.0)
        graph.node[node, [POINT_READ, CORNERS]], graph.bound[node, [UPPER, BASE]] = -1, np.inf
        lower_upper(search.model, graph, node, 0.0)
        assert graph.bound[node, UPPER] == pytest.approx(best, abs=1e-12)
        lowered += best < base[node] - 1e-9
    assert lowered > 50


def test_support_tells_parts_apart_in_which_a_state_is_possible() -> None:
    search = searched(3 * PARTS)
    for node, belief in enumerate(beliefs(search)):
        parts = {s * PARTS // len(belief) for s in np.flatnonzero(belief)}
        assert support(search.graph, node, len(belief)) == sum(1 << part for part in parts)


def test_lining_up_leaves_every_node_as_much_to_read_and_drops_what_is_in_no_chain() -> None:
    search = searched(PARTS + 3, pruned=False)
    graph = search.graph
    before_pruning = chain(search)
    useful = np.empty(2 * int(graph.used[NODES]), dtype=np.int64)
    prune(search.model, graph, search.kept, useful, 1e-3, search.settings)
    entries = chain(search)
    assert len(entries) < len(before_pruning)
    points = [int(graph.entry[entry, 1]) for entry in entries]
    falls, left = graph.fall[entries].copy(), [unread(search, node) for node in range(int(graph.used[NODES]))]
    out = [node for node in range(len(left)) if graph.node[node, POINT_READ] not in {-1, *entries}]
    assert out  # some have last read one that was dropped
    line_up(graph)
    lined = chain(search)
    assert lined == list(range(len(entries)))
    assert [int(entry) for entry in graph.entry[lined, BEFORE]] == [*range(-1, len(lined) - 1)]
    assert int(graph.chain[0, LAST_ENTRY]) == lined[-1]
    assert [int(graph.entry[entry, 1]) for entry in lined] == points
    assert graph.fall[lined].tolist() == falls.tolist()
    assert [unread(search, node) for node in range(len(left))] == left
    held = np.flatnonzero(graph.node[: len(left), ENTRY] >= 0)
    assert (graph.entry[graph.node[held, ENTRY], 1] == held).all()
    assert (graph.node[held, HOME] == 0).all()
