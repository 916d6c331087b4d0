"""The upper bound between points: the convex hull of corners and points, by a small linear program per belief.

    W(b) <= min sum_i x_i W_i   over x >= 0 with   sum_i x_i q_i = b

The sawtooth mixes one point with corners; in classes of few states the best mixture of many is much lower and costs
little. Simplex, most negative price first, from the mixture found the last time. A node keeps that mixture and its
prices, a plane that no point lay below: while none does, nothing has to be done. Every basis on the
way is a mixture that makes up the belief, so every one gives a bound; what rounding leaves of the belief is paid for at
the highest price there is. Of a state of probability b(s) it costs less: the best plan is worth at least what a blind
one is, so in s it cannot lose more than the span between the bounds, over b(s); and what is missing, what s is worth.

To look through all points takes most of the time, so a few are listed and tried first: where a mixture is brought up to
date, points that have fallen below its plane; where there is none yet, the points of the plane that is highest here, of
those of the nodes looked at last; then those that were farthest below when all were looked through.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.graph import (
    AT,
    BEGIN,
    CHANGED,
    CHANGES,
    CLOUD,
    CLOUD_BLOCK,
    COUNT,
    ENTROPY,
    FILLED,
    HOME,
    HULL_READ,
    INDEX,
    OWN,
    REST,
    STATES,
    UPPER,
    WORK,
    WORTH,
    Graph,
    Settings,
    unfold,
    weigh,
)
from rhoplan.planning.certified.pointbased.machine import compiled, dot, least_of_eight, lowest_place, most_of_eight

OUTSIDE = -1e200
"""Price of a state that the belief rules out: no point that needs it is ever taken."""

ALIKE = 1e-15
"""A point this share of the span below a hull is on it: prices are no more exact."""

SMALLEST_PIVOT = 1e-13
"""Directions below this are taken for zero; what that leaves of the belief is paid for."""

MOST_TRIED, NEARLY, MANY = 16, 0.3, 4
"""So many points are listed at most, if they lie as far below the plane as this share of the farthest. Where more than
one in so many has changed, the plane is made anew before any is listed."""

EXACT, MOST_STARTS = 1e-9, 2
"""Where a mixture leaves more than this of the belief, its inverse is made anew, so many times in all."""


@compiled
def lower_by_hull(model: Model, graph: Graph, node: int, settings: Settings, tolerance: float) -> None:
    """Lower the upper bound of `node` to the hull of its class, if the class is small and has new points.

    A point that lies below the others by less than `tolerance` may be left out.
    """
    row = graph.node[node]
    home = row[HOME]
    first = model.class_state[home]
    size = model.class_state[home + 1] - first
    if size > graph.level.shape[1] or row[COUNT] < 2:
        return
    changes, tolerance = graph.chain[home, CHANGES], max(tolerance, ALIKE * settings.span)
    if row[HULL_READ] == changes:
        return
    fresh = row[HULL_READ] == -2
    if fresh:
        tried = borrowed(graph, node, home, size)
    else:
        tried = fallen(graph, graph.price[node], home, first, size, row[HULL_READ], tolerance)
        if tried < 0:
            row[HULL_READ] = changes
            mixed(model, graph, node, settings.potential)
            return
    left = 1.0
    for _ in range(MOST_STARTS):
        if left > EXACT:
            count = restart(graph, node, size)
            row[HULL_READ] = changes
            improve(graph, node, first, size, count, tolerance, tried, fresh or tried == 0)
            left = leaves(graph, node, size, settings)
    graph.recent[home, 1 + graph.recent[home, 0] % (graph.recent.shape[1] - 1)] = node
    graph.recent[home, 0] += 1
    mixed(model, graph, node, settings.potential)


@compiled
def borrowed(graph: Graph, node: int, home: int, size: int) -> int:
    """List in graph.tried the points mixed by the one whose plane is highest at `node`, of the nodes of class `home`
    looked at last; how many."""
    unfold(graph, node, graph.dense, size)
    best, top, count = -1, 1e-100 * OUTSIDE, 0
    for place in range(1, min(graph.recent[home, 0] + 1, graph.recent.shape[1])):
        other = graph.recent[home, place]
        height = dot(graph.dense, 0, graph.price[other], 0, size)
        if height > top:
            best, top = other, height
    if best >= 0:
        for i in range(size):
            other = graph.mixture[best, i]
            if graph.level[best, i] > 0.0 and other >= 0 and other != node and graph.node[other, CLOUD] >= 0:
                graph.tried[count] = other
                count += 1
    return count


@compiled
def fallen(graph: Graph, prices: Array, home: int, first: int, size: int, since: int, tolerance: float) -> int:
    """List in graph.tried points of class `home` that have changed after `since` and now lie below the plane of
    `prices` by more than `tolerance`, some of them; how many, -1 where there are none and no corner does either.

    Where many have changed, so has the plane: none is listed, for a new plane has to be made in any case."""
    none = -1
    for s in range(size):
        if graph.corner[first + s] - prices[s] < -tolerance:
            none = 0
    begin, filled = graph.chain[home, CLOUD_BLOCK + BEGIN], graph.chain[home, CLOUD_BLOCK + FILLED]
    changed, many = graph.cloud[CHANGED, begin : begin + filled], 0
    for place in range(filled):
        many += changed[place] > since
    graph.used[WORK] += filled
    if MANY * many > filled:
        return 0
    count, at = 0, 0
    while at < filled and count < MOST_TRIED and many > 0:
        if at + 8 > filled or most_of_eight(changed, at) > since:
            for place in range(at, min(at + 8, filled)):
                if changed[place] > since and count < MOST_TRIED:
                    many -= 1
                    above = graph.cloud[WORTH, begin + place]
                    for s in range(size):
                        above -= prices[s] * graph.cloud[STATES + s, begin + place]
                    if above < -tolerance:
                        graph.tried[count] = graph.cloud_node[begin + place]
                        count += 1
        at += 8
    return count if count > 0 else none


@compiled
def leaves(graph: Graph, node: int, size: int, settings: Settings) -> float:
    """How much of the belief of `node` its mixture does not make up; what that costs is kept with the node."""
    row, bound = graph.node[node], graph.bound[node]
    unfold(graph, node, graph.dense, size)
    for i in range(size):
        much, one = graph.level[node, i], graph.mixture[node, i]
        if much > 0.0 and one < 0:
            graph.dense[-1 - one] -= much
        elif much > 0.0:
            other = graph.node[one]
            for place in range(other[COUNT]):
                s = graph.where[other[INDEX] + place] if other[INDEX] >= 0 else place
                graph.dense[s] -= much * graph.value[other[AT] + place]
    left = bound[REST] = 0.0
    for place in range(row[COUNT]):
        s = graph.where[row[INDEX] + place] if row[INDEX] >= 0 else place
        price = min(settings.penalty, settings.lost / max(graph.value[row[AT] + place], 1e-300))
        bound[REST] += price * abs(graph.dense[s])
        left += abs(graph.dense[s])
        graph.dense[s] = 0.0
    for s in range(size):
        bound[REST] += settings.penalty * abs(graph.dense[s])
        left += abs(graph.dense[s])
    return float(left)


@compiled
def lowest(graph: Graph, prices: Array, home: int, size: int, tolerance: float) -> int:
    """List in graph.tried the points of class `home` farthest below the plane of `prices`; how many are below it by
    more than `tolerance`, as far as they are listed."""
    begin, count = graph.chain[home, CLOUD_BLOCK + BEGIN], graph.chain[home, CLOUD_BLOCK + FILLED]
    above, end, lead = graph.prices, begin + count, 2 - size % 2  # two states at once; first one, if they are odd
    worth = graph.cloud[WORTH, begin:end]
    one, other = graph.cloud[STATES, begin:end], graph.cloud[STATES + lead - 1, begin:end]
    price, second = prices[0], prices[1] if lead == 2 else 0.0
    for place in range(count):
        above[place] = worth[place] - price * one[place] - second * other[place]
    for s in range(lead, size, 2):
        one, other = graph.cloud[STATES + s, begin:end], graph.cloud[STATES + s + 1, begin:end]
        price, second = prices[s], prices[s + 1]
        for place in range(count):
            above[place] -= price * one[place] + second * other[place]
    graph.used[WORK] += count
    farthest = lowest_place(above, count, -tolerance)
    if farthest < 0:
        return 0
    graph.tried[0], listed = graph.cloud_node[begin + farthest], 1
    bar, at = min(NEARLY * above[farthest], -tolerance), 0
    while at < count and listed < MOST_TRIED:
        if at + 8 > count or least_of_eight(above, at) < bar:
            for place in range(at, min(at + 8, count)):
                if above[place] < bar and place != farthest and listed < MOST_TRIED:
                    graph.tried[listed] = graph.cloud_node[begin + place]
                    listed += 1
        at += 8
    return listed


@compiled
def mixed(model: Model, graph: Graph, node: int, potential: float) -> float:
    """The upper bound of `node`, brought up to date with the points of the mixture that it keeps."""
    row, bound = graph.node[node], graph.bound[node]
    graph.used[WORK] += row[COUNT] + 2
    if row[COUNT] == 1:
        state = graph.where[row[INDEX]] if row[INDEX] >= 0 else 0
        bound[UPPER] = min(bound[UPPER], graph.corner[model.class_state[row[HOME]] + state])
    elif row[HULL_READ] > -2:
        total, base = bound[REST], model.class_state[row[HOME]]
        for i in range(row[COUNT]):
            if graph.level[node, i] > 0.0:
                other = graph.mixture[node, i]
                worth = graph.bound[other, OWN] if other >= 0 else graph.corner[base - 1 - other]
                total += graph.level[node, i] * worth
        bound[UPPER] = min(bound[UPPER], total + potential * bound[ENTROPY])
    return float(bound[UPPER])


@compiled
def restart(graph: Graph, node: int, size: int) -> int:
    """Take the mixture of `node` up again, or begin with corners; how many states are possible.

    Leaves those states in graph.support, the mixture's inverse in graph.square, and its shares in graph.level.
    """
    states, level, basis, order = graph.support[0], graph.level[node], graph.mixture[node], graph.support[1]
    unfold(graph, node, graph.dense, size)
    count = 0
    for s in range(size):
        if graph.dense[s] > 0.0:
            states[count] = s
            count += 1
    for i in range(count, size):
        level[i] = 0.0
    fits = graph.node[node, HULL_READ] > -2
    for attempt in range(2):
        for i in range(count):
            order[i] = -1 - states[i] if attempt == 1 or not fits else basis[i]
            basis[i] = 0
            for j in range(count):
                graph.square[i, j] = 1.0 if i == j else 0.0
        free, least = count, 0.0
        for i in range(count):
            direct(graph, order[i], count, size)
            place, most = -1, SMALLEST_PIVOT
            for j in range(free):
                row = graph.support[2, j] if i > 0 else j
                if abs(graph.line[0, row]) > most:
                    most, place = abs(graph.line[0, row]), j
            if i == 0:
                for j in range(count):
                    graph.support[2, j] = j
            if place < 0:
                least = -1.0
                break
            row = graph.support[2, place]
            free -= 1
            graph.support[2, place] = graph.support[2, free]
            basis[row] = order[i]
            pivot(graph, row, count)
        packed(graph.dense, states, graph.line[2], count)
        for i in range(count):
            level[i] = dot(graph.square[i], 0, graph.line[2], 0, count)
            least = min(least, level[i])
            level[i] = max(level[i], 0.0)
        if least > -1e-9:
            break
    return count


@compiled
def direct(graph: Graph, column: int, count: int, size: int) -> None:
    """graph.line[0] = the shares of the mixture that make up a corner (-1 - state) or the belief of a node."""
    states, direction, square = graph.support[0], graph.line[0], graph.square
    if column < 0:
        for j in range(count):
            if states[j] == -1 - column:
                for i in range(count):
                    direction[i] = square[i, j]
        return
    unfold(graph, column, graph.line[1], size)
    packed(graph.line[1], states, graph.line[2], count)
    for i in range(count):
        direction[i] = dot(square[i], 0, graph.line[2], 0, count)


@compiled
def packed(dense: Array, states: Ids, line: Array, count: int) -> None:
    """line = the numbers of the first `count` states, side by side."""
    for j in range(count):
        line[j] = dense[states[j]]


@compiled
def pivot(graph: Graph, place: int, count: int) -> None:
    """Let the column whose direction is in graph.line[0] take its `place` in the mixture: the inverse brought up."""
    inverse, direction, own = graph.square, graph.line[0], graph.square[place]
    for j in range(count):
        own[j] /= direction[place]
    for i in range(count):
        if i != place and direction[i] != 0.0:
            row, much = inverse[i], direction[i]
            for j in range(count):
                row[j] -= much * own[j]


@compiled
def improve(
    graph: Graph, node: int, first: int, size: int, count: int, tolerance: float, tried: int, thorough: bool
) -> None:
    """Simplex from the mixture at hand, until nothing lies below its plane; the prices stay with the node.

    tried: so many points in graph.tried come first; once none of them lies below, all are looked through for more, if
    it is to be thorough.
    """
    home, last = graph.node[node, HOME], False
    states, level, direction = graph.support[0], graph.level[node], graph.line[0]
    basis, prices, square = graph.mixture[node], graph.price[node], graph.square
    price, corner = graph.line[3], graph.line[4]  # of the possible states, side by side
    packed(graph.corner[first : first + size], states, corner, count)
    for j in range(count):
        price[j] = 0.0
    for i in range(count):
        cost = graph.bound[basis[i], OWN] if basis[i] >= 0 else graph.corner[first - 1 - basis[i]]
        for j in range(count):
            price[j] += cost * square[i, j]
    for s in range(len(prices)):
        prices[s] = OUTSIDE
    for j in range(count):
        prices[states[j]] = price[j]
    for _ in range(10 * count + 8):
        entering, least = -1 - states[0], -tolerance
        for j in range(count):
            if corner[j] - price[j] < least:
                entering, least = -1 - states[j], corner[j] - price[j]
        for i in range(tried):
            above = graph.bound[graph.tried[i], OWN] - weigh(graph, prices, 0, graph.tried[i])
            if above < least:
                entering, least = graph.tried[i], above
        if least >= -tolerance:
            tried = 0 if last or not thorough else lowest(graph, prices, home, size, tolerance)
            if tried == 0:
                return
            last = True
            continue
        last = False
        direct(graph, entering, count, len(prices))
        place, most = -1, np.inf
        for i in range(count):
            if direction[i] > SMALLEST_PIVOT and level[i] < most * direction[i]:
                most, place = level[i] / direction[i], i
        if place < 0:
            return
        for i in range(count):
            level[i] = max(level[i] - most * direction[i], 0.0)
        level[place], basis[place] = most, entering
        pivot(graph, place, count)
        for j in range(count):
            price[j] += least * square[place, j]
            prices[states[j]] = price[j]
