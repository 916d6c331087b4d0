"""The upper bound between points: the convex hull of corners and points, by a small linear program per belief.

    W(b) <= min sum_i x_i W_i   over x >= 0 with   sum_i x_i q_i = b

The sawtooth mixes one point with corners; in classes of few states the best mixture of many is much lower and costs
little. Simplex from the corners, most negative price first. Every basis on the way is a mixture that makes up the belief,
so every one gives a bound; what rounding leaves of the belief is paid for at the highest price there is.
"""

from __future__ import annotations

import numpy as np

from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.graph import (
    AT,
    COUNT,
    ENTROPY,
    ENTRY,
    FIRST_ENTRY,
    HOME,
    HULL_READ,
    HULL_STATES,
    INDEX,
    LAST_ENTRY,
    NEXT,
    OWN,
    UPPER,
    Graph,
    unfold,
    weigh,
)
from rhoplan.planning.certified.pointbased.machine import compiled

OUTSIDE = -1e200
"""Price of a state that the belief rules out: no point that needs it is ever taken."""

SMALLEST_PIVOT = 1e-9
"""Directions below this are taken for zero."""


@compiled
def lower_by_hull(model: Model, graph: Graph, node: int, weight: float, penalty: float) -> None:
    """Lower the upper bound of `node` to the hull of its class, if the class is small and has new points."""
    row, bound = graph.node[node], graph.bound[node]
    home = row[HOME]
    first = model.class_state[home]
    size = model.class_state[home + 1] - first
    if size > HULL_STATES or row[COUNT] < 2 or row[HULL_READ] == graph.chain[home, LAST_ENTRY]:
        return
    row[HULL_READ] = graph.chain[home, LAST_ENTRY]
    inverse, prices, level, direction, mixed = graph.square, graph.line[0], graph.line[1], graph.line[2], graph.line[3]
    states, basis = graph.basis[0], graph.basis[1]
    unfold(graph, node, graph.dense, size)
    count = 0
    for s in range(size):
        prices[s] = OUTSIDE
        if graph.dense[s] > 0.0:
            states[count], basis[count], level[count] = s, -1 - s, graph.dense[s]
            prices[s] = graph.corner[first + s]
            count += 1
    for i in range(count):
        for j in range(count):
            inverse[i, j] = 1.0 if i == j else 0.0
    for _ in range(4 * count + 4):
        least, entering = -1e-12 * (1.0 + abs(bound[UPPER])), -1
        entry = graph.chain[home, FIRST_ENTRY]
        while entry >= 0:
            other = graph.entry[entry, 1]
            if graph.node[other, ENTRY] == entry:
                price = graph.bound[other, OWN] - weigh(graph, prices, 0, other)
                if price < least:
                    least, entering = price, other
            entry = graph.entry[entry, NEXT]
        if entering < 0:
            break
        unfold(graph, entering, mixed, size)
        leaving, most = -1, np.inf
        for i in range(count):
            total = 0.0
            for j in range(count):
                total += inverse[i, j] * mixed[states[j]]
            direction[i] = total
            if total > SMALLEST_PIVOT and level[i] < most * total:
                most, leaving = level[i] / total, i
        if leaving < 0:
            break
        pivot = direction[leaving]
        for j in range(count):
            inverse[leaving, j] /= pivot
        for i in range(count):
            if i != leaving:
                level[i] = max(level[i] - most * direction[i], 0.0)
                for j in range(count):
                    inverse[i, j] -= direction[i] * inverse[leaving, j]
        level[leaving], basis[leaving] = most, entering
        for j in range(count):
            prices[states[j]] += least * inverse[leaving, j]
    total = 0.0
    for i in range(count):
        if level[i] <= 0.0:
            continue
        if basis[i] < 0:
            total += level[i] * graph.corner[first - 1 - basis[i]]
            graph.dense[-1 - basis[i]] -= level[i]
            continue
        other = graph.node[basis[i]]
        total += level[i] * graph.bound[basis[i], OWN]
        for place in range(other[COUNT]):
            s = graph.index[other[INDEX] + place] if other[INDEX] >= 0 else place
            graph.dense[s] -= level[i] * graph.value[other[AT] + place]
    for s in range(size):
        total += penalty * abs(graph.dense[s])
    bound[UPPER] = min(bound[UPPER], total + weight * bound[ENTROPY])
