"""The sawtooth where information counts and corners move: every node reads what is there now, and no more."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

from rhoplan.model.pomdp import Array
from rhoplan.planning.certified.pointbased.above import fall_anew, lower_upper
from rhoplan.planning.certified.pointbased.graph import (
    BASE,
    BEFORE,
    CORNERS,
    COUNT,
    ENTRY,
    FIRST_ENTRY,
    LAST_ENTRY,
    OWN,
    POINT_READ,
    UPPER,
)
from rhoplan.planning.certified.pointbased.solve import Search
from small import entropy
from test_bounds_everywhere import MANY, beliefs_of
from test_forgetting import sawtooth, searched_anew


def claims(search: Search) -> tuple[Array, Array]:
    """What corners and points say of each node, and what the corners alone do, by other code."""
    graph, beliefs = search.graph, beliefs_of(search)
    points = np.flatnonzero((graph.node[: len(beliefs), ENTRY] >= 0) & (graph.node[: len(beliefs), COUNT] > 1))
    base, doubt = beliefs @ graph.corner, search.settings.potential * entropy(beliefs)
    falls = np.minimum(graph.bound[points, OWN] - base[points], 0.0)
    return base + sawtooth(beliefs, beliefs[points], falls) + doubt, base + doubt


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_when_corners_move_all_points_are_weighed_anew_and_all_nodes_read_them(weight: float) -> None:
    search = searched_anew(3, MANY, weight)
    graph, potential = search.graph, search.settings.potential
    nodes = np.flatnonzero(graph.node[: len(beliefs_of(search)), COUNT] > 1)
    for moved in (np.zeros(2 * MANY), -0.1 - 0.01 * np.arange(2 * MANY)):
        graph.corner[:] += moved
        fall_anew(search.model, graph, 0)
        both, corners = claims(search)
        points = np.flatnonzero(graph.node[: len(both), ENTRY] >= 0)
        own = graph.bound[points, OWN] - beliefs_of(search)[points] @ graph.corner
        assert graph.fall[graph.node[points, ENTRY]] == pytest.approx(np.minimum(own, 0.0), abs=1e-9)
        graph.node[nodes, POINT_READ], graph.bound[nodes, UPPER], graph.bound[nodes, BASE] = -1, np.inf, np.inf
        for node in nodes.tolist():
            lower_upper(search.model, graph, node, potential)
        assert graph.bound[nodes, UPPER] == pytest.approx(both[nodes], abs=1e-9)
        assert (both[nodes] < corners[nodes] - 1e-6).any()
        graph.node[nodes, POINT_READ], graph.node[nodes, CORNERS] = graph.chain[0, LAST_ENTRY], -1
        graph.bound[nodes, UPPER] = np.inf
        for node in nodes.tolist():
            lower_upper(search.model, graph, node, potential)
        assert graph.bound[nodes, UPPER] == pytest.approx(corners[nodes], abs=1e-9)  # all points were read
        before = graph.bound[nodes, UPPER].copy()
        for node in nodes.tolist():
            lower_upper(search.model, graph, node, potential)
        assert graph.bound[nodes, UPPER].tolist() == before.tolist()


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_chain_of_points_is_the_same_from_both_ends(weight: float) -> None:
    """Although points have been replaced in it."""
    graph = searched_anew(3, MANY, weight).graph
    forward, entry = [], int(graph.chain[0, FIRST_ENTRY])
    while entry >= 0:
        forward.append(entry)
        entry = int(graph.following[entry])
    backward, entry = [], int(graph.chain[0, LAST_ENTRY])
    while entry >= 0:
        backward.append(entry)
        entry = int(graph.entry[entry, BEFORE])
    assert forward == backward[::-1]
    assert len(forward) > 10
    assert all(graph.node[graph.entry[entry, 1], ENTRY] == entry for entry in forward)
    assert len(forward) < int(max(forward)) + 1
