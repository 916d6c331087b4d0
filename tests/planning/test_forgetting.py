"""Points that are forgotten: those that nothing leads to any more, and those that others say as much as, which stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.mixing import mixture
from rhoplan.planning.certified.pointbased.below import raise_lower
from rhoplan.planning.certified.pointbased.graph import (
    ALIVE,
    BEGIN,
    BEST,
    CLOUD_BLOCK,
    ENTRY,
    FIRST_VECTOR,
    LAST_VECTOR,
    NEXT,
    NODES,
    OWN,
    PRUNED,
    UPPER,
    VECTOR_AT,
    VECTOR_PAIR,
    WORTH,
)
from rhoplan.planning.certified.pointbased.prune import prune
from rhoplan.planning.certified.pointbased.solve import Search
from rhoplan.planning.certified.pointbased.vectors import link_vector, make_vector
from test_bounds_everywhere import FEW, MANY, beliefs_of, copied, searched, small_of


def searched_anew(seed: int, copies: int, weight: float, prunes: float = np.inf) -> Search:
    """A search of its own, to be changed, that has forgotten nothing yet, or has after so many backups."""
    return searched.__wrapped__(seed, copies, weight, prunes)


def sawtooth(beliefs: Array, points: Array, falls: Array) -> Array:
    """How far below the corners the lowest of the points lies at each belief, mixed with corners."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(points > 0, beliefs[:, None] / points, np.inf).min(axis=2)
    result: Array = np.minimum((falls * np.minimum(ratio, 1.0)).min(axis=1), 0.0)
    return result


def pruned(search: Search, tolerance: float) -> tuple[Ids, Ids]:
    """The points there were, of those that can still be come to, and those that are left after forgetting."""
    graph = search.graph
    nodes = int(graph.used[NODES])
    before, useful = graph.node[:nodes, ENTRY] >= 0, np.empty(2 * nodes, dtype=np.int64)
    prune(search.model, graph, search.kept, useful, tolerance, search.settings)
    left = graph.node[:nodes, ENTRY] >= 0
    assert not left[useful[:nodes] == 0].any()
    return np.flatnonzero(before & (useful[:nodes] == 1)), np.flatnonzero(left)


@pytest.mark.parametrize(("tolerance", "prunes"), [(1e-3, np.inf), (0.05, np.inf), (0.05, 30)])
def test_a_point_is_forgotten_where_another_says_as_much_and_only_there(tolerance: float, prunes: float) -> None:
    """Whether it was there at the last pruning, or has come since."""
    search = searched_anew(3, MANY, 0.0, prunes)
    graph, beliefs = search.graph, beliefs_of(search)
    falls = graph.bound[: len(beliefs), OWN] - beliefs @ graph.corner
    entries, last = graph.node[: len(beliefs), ENTRY].copy(), int(graph.used[PRUNED])
    before, left = pruned(search, tolerance)
    said = sawtooth(beliefs[before], beliefs[left], falls[left])
    assert 0 < len(left) < len(before)
    assert (said <= falls[before] + 5 * tolerance).all()
    new = left[entries[left] >= last]
    assert len(new) > 3
    assert (last > 0) == np.isfinite(prunes)
    for node in new.tolist():
        others = left[left != node]
        assert falls[node] + tolerance < sawtooth(beliefs[[node]], beliefs[others], falls[others])[0] + 1e-12


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_point_is_forgotten_where_a_mixture_of_others_says_as_much_and_only_there(weight: float) -> None:
    search, tolerance = searched_anew(4, FEW, weight), 1e-3
    graph, beliefs = search.graph, beliefs_of(search)
    bounds = graph.bound[: len(beliefs), UPPER].copy()
    before, left = pruned(search, tolerance)
    prices = np.full(2, search.settings.penalty)

    def hull(node: int, points: Ids) -> float:
        return mixture(beliefs[points], graph.bound[points, OWN], graph.corner, beliefs[node], prices)

    assert 0 < len(left) < len(before)
    assert (graph.bound[: len(beliefs), UPPER] <= bounds).all()
    for node in before.tolist():
        others = left[left != node]
        if node in left:
            assert hull(node, others) > graph.bound[node, OWN] + 0.9 * tolerance
        else:
            assert hull(node, others) <= graph.bound[node, OWN] + 2 * tolerance
    begin = int(graph.chain[0, CLOUD_BLOCK + BEGIN])
    cloud = graph.cloud[WORTH, begin : begin + len(left)]
    assert sorted(cloud.tolist()) == sorted(graph.bound[left, OWN].tolist())


@pytest.mark.parametrize("copies", [FEW, MANY])
def test_what_comes_after_a_forgotten_vector_is_read_although_that_was_the_last(copies: int) -> None:
    search = searched_anew(3, copies, 1.0)
    assert search.make_room()
    graph, model, settings = search.graph, search.model, search.settings
    useless = make_vector(model, graph, 0, int(graph.vector[graph.node[0, BEST], VECTOR_PAIR]), settings)
    at = int(graph.vector[useless, VECTOR_AT])
    graph.alpha[at : at + 2 * copies] -= 1e6
    link_vector(model, graph, useless)
    raise_lower(model, graph, 0, settings.potential)
    pruned(search, 1e-3)
    assert graph.vector[useless, ALIVE] == 0
    best = make_vector(model, graph, 0, int(graph.vector[graph.node[0, BEST], VECTOR_PAIR]), settings)
    at = int(graph.vector[best, VECTOR_AT])
    graph.alpha[at : at + 2 * copies] += 1e6
    link_vector(model, graph, best)
    chain, vector = [], int(graph.chain[0, FIRST_VECTOR])
    while vector >= 0:
        chain.append(vector)
        vector = int(graph.vector[vector, NEXT])
    assert chain[-1] == int(graph.chain[0, LAST_VECTOR]) == best
    assert all(graph.vector[vector, ALIVE] == 1 or vector == useless for vector in chain)
    for node in range(0, int(graph.used[NODES]), 5):
        raise_lower(model, graph, node, settings.potential)
        assert graph.node[node, BEST] == best


@pytest.mark.parametrize("copies", [FEW, MANY])
def test_first_policies_are_worth_what_they_say_and_nothing_for_entropy(copies: int) -> None:
    problem = copied(small_of(3), copies, 1.0)
    start = np.full(2 * copies, 0.5 / copies)
    search = Search(replace(problem, start=start).compiled, weight=1.0, discount=0.9, gap=1e-3, seconds=9, memory=1e9)
    assert search.settings.potential > 0
    assert search.bounds[0] == pytest.approx(max(float(vector @ start) for vector in search.first.vectors))
