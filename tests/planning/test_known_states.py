"""Known states and what follows from them are backed up beside trials: once, if they fit, while there is time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

from rhoplan.planning.certified.pointbased import settling
from rhoplan.planning.certified.pointbased.graph import CHILDREN, COUNT, HOME, NODES, SLOT, find_node
from rhoplan.planning.certified.pointbased.points import children_of
from rhoplan.planning.certified.pointbased.solve import Search
from small import draw


@pytest.fixture
def search() -> Search:
    """A search that has not begun, of three states and an end."""
    return Search(draw(1, 3, ends=True).compiled, weight=0.0, discount=0.9, gap=1e-3, seconds=np.inf, memory=1e9)


def asked(search: Search, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The nodes that `search` will be asked to back up; it does not."""
    nodes: list[int] = []
    monkeypatch.setattr(search, "back_up", lambda some, *_: nodes.extend(some.tolist()))
    return nodes


def known(search: Search) -> np.ndarray:
    """Nodes that know the state for sure, which are opened."""
    row = search.graph.node[: search.graph.used[NODES]]
    return np.flatnonzero((row[:, COUNT] == 1) & (row[:, SLOT] >= 0))


def followers(search: Search, nodes: np.ndarray) -> set[int]:
    """What follows from these nodes in one step, by actions that are worked out; -1 where it is all over."""
    result: set[int] = set()
    for node in nodes.tolist():
        pairs = np.arange(*search.model.class_pair[(home := int(search.graph.node[node, HOME])) : home + 2])
        result |= set(children_of(search.model, search.graph, np.full(len(pairs), node), pairs).ravel().tolist())
    return result


def test_every_state_in_which_it_goes_on_is_backed_up_once(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = asked(search, monkeypatch)
    search.open_corners()
    homes = search.graph.node[nodes, HOME]
    going = ~search.problem.ended
    assert np.bincount(homes, minlength=len(going)).tolist() == (search.problem.sizes * going).tolist()
    assert not going.all()
    assert len(set(nodes)) == len(nodes)
    assert (search.graph.node[nodes, COUNT] == 1).all()
    search.open_corners()
    assert len(nodes) == search.problem.sizes[going].sum()


def test_what_follows_is_backed_up_for_states_that_were_and_for_no_others(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    search.open_corners()
    corners = known(search)
    search.graph.node[-1, SLOT] = -1  # of a node that there is not yet: nobody may take it for one
    nodes = asked(search, monkeypatch)
    search.spread = 1
    search.spread_corners()
    assert set(nodes) == {node for node in followers(search, corners[1:]) if search.graph.node[node, SLOT] < 0} - {-1}
    assert -1 in followers(search, corners[1:])
    assert len(set(nodes)) == len(nodes) > 0
    assert search.spread == len(corners) == 3
    before = int(search.graph.used[CHILDREN])
    search.spread_corners()
    assert search.graph.used[CHILDREN] == before


@pytest.mark.parametrize(("more", "fits"), [(0, True), (-1, False)])
def test_what_follows_is_left_where_it_is_too_much(
    search: Search, monkeypatch: pytest.MonkeyPatch, more: int, fits: bool
) -> None:
    search.open_corners()
    monkeypatch.setattr(settling, "MOST_CHILDREN", 3 * search.settings.most_children + more)
    search.spread_corners()
    assert (search.spread == 3) == fits


def test_after_the_deadline_nothing_is_backed_up(search: Search) -> None:
    search.deadline = -np.inf
    search.open_corners()
    search.back_up(np.array([0]))
    assert (search.graph.node[: search.graph.used[NODES], SLOT] < 0).all()
    search.spread_corners()
    assert search.graph.used[CHILDREN] == 0  # what was never opened leads nowhere


def test_without_memory_nothing_is_worked_out(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    search.open_corners()
    corners, children = known(search), int(search.graph.used[CHILDREN])
    nodes = asked(search, monkeypatch)
    monkeypatch.setattr(search, "make_room", lambda: False)
    search.graph.child[children:] = 10**9  # what was never written may be anything
    assert not search.work_out(corners, search.model.class_pair[search.graph.node[corners, HOME]])
    search.spread_corners()
    assert nodes == []
    assert search.graph.used[CHILDREN] == children


def test_without_memory_no_known_state_is_found_until_there_is_some(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(search, "make_room", lambda: False)
        search.open_corners()
        assert (search.corners, len(known(search))) == (0, 0)
    search.open_corners()
    assert search.corners == search.problem.slots
    assert len(known(search)) > 0


def test_a_belief_has_one_node_however_it_is_asked_for(search: Search) -> None:
    belief, home = np.array([0.5, 0.3, 0.2]), search.problem.start_class
    whole: Any = np.zeros(int(search.problem.sizes.max()))
    whole[:3] = belief
    node = search.node_at(home, belief)
    assert node == find_node(search.model, search.graph, home, whole, search.settings.potential)
    assert search.node_at(home, belief[::-1].copy()) == node + 1
