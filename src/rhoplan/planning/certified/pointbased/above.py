"""The upper bound of a node by the sawtooth of corners and points, and points that are added to it."""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array
from rhoplan.planning.certified.pointbased.blocks import next_place
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.graph import (
    AT,
    BASE,
    BEFORE,
    BEGIN,
    CHANGED,
    CHANGES,
    CLOUD,
    CLOUD_BLOCK,
    CLOUDS,
    CORNERS,
    COUNT,
    ENTRIES,
    ENTROPY,
    ENTRY,
    FIRST_ENTRY,
    HOME,
    INDEX,
    LAST_ENTRY,
    MOVES,
    OWN,
    POINT_READ,
    PROBES,
    STATES,
    UPPER,
    WORK,
    WORTH,
    Graph,
    support,
    unfold,
    weigh,
)
from rhoplan.planning.certified.pointbased.machine import compiled


@compiled
def lower_upper(model: Model, graph: Graph, node: int, potential: float) -> None:
    """Bring the upper bound of `node` up to date with the corners of its class, and, where hulls do not, its points."""
    row, bound = graph.node[node], graph.bound[node]
    home = row[HOME]
    if row[CORNERS] != graph.chain[home, MOVES]:
        row[CORNERS] = graph.chain[home, MOVES]
        bound[BASE] = weigh(graph, graph.corner, model.class_state[home], node)
        bound[UPPER] = min(bound[UPPER], bound[BASE] + potential * bound[ENTROPY])
    entry = graph.chain[home, FIRST_ENTRY] if row[POINT_READ] < 0 else graph.following[row[POINT_READ]]
    size = model.class_state[home + 1] - model.class_state[home]
    if entry < 0 or row[COUNT] == 1 or size <= graph.level.shape[1]:
        return
    unfold(graph, node, graph.dense, size)
    outside = ~support(graph, node, size)
    best, read = min(bound[UPPER] - potential * bound[ENTROPY] - bound[BASE], 0.0), entry
    while entry >= 0:
        if passes(graph, entry, best, outside) and graph.node[graph.entry[entry, 1], ENTRY] == entry:
            ratio = share_of(graph, graph.entry[entry, 1], graph.dense, best / graph.fall[entry])
            best = min(best, graph.fall[entry] * ratio)
        read = entry
        entry = graph.following[entry]
    row[POINT_READ] = read
    bound[UPPER] = min(bound[UPPER], bound[BASE] + best + potential * bound[ENTROPY])


@compiled
def passes(graph: Graph, entry: int, best: float, outside: int) -> bool:
    """Whether the likeliest states of a point leave a chance that it beats `best` at the belief in graph.dense, which
    has no state that is possible in the parts `outside`."""
    at = np.uint64(entry)
    if graph.possible[at] & outside != 0 or graph.fall[at] >= best:
        return False
    for probe in range(PROBES):
        if graph.fall[at] * graph.dense[np.uint64(graph.entry[at, 2 + probe])] * graph.inverse[at, probe] >= best:
            return False
    return True


@compiled
def set_probes(graph: Graph, node: int, entry: int) -> None:
    """Note the likeliest states of the belief of `node`, and one over their probabilities, beside its entry."""
    row = graph.node[node]
    limit = np.inf
    last = -1
    for probe in range(PROBES):
        best, chosen = 0.0, last
        for place in range(row[COUNT]):
            value = graph.value[row[AT] + place]
            if value > best and (value < limit or (value == limit and place > last)):
                best, chosen = value, place
        if best > 0.0:
            limit, last = best, chosen
        graph.entry[entry, 2 + probe] = graph.where[row[INDEX] + last] if row[INDEX] >= 0 else last
        graph.inverse[entry, probe] = 1.0 / limit


@compiled
def share_of(graph: Graph, point: int, dense: Array, least: float) -> float:
    """The largest multiple of the belief of `point` that fits under `dense`; 0 where it is at most `least`."""
    row = graph.node[point]
    ratio = 1.0
    graph.used[WORK] += 4
    if row[INDEX] < 0:
        for s in range(row[COUNT]):
            other = graph.value[row[AT] + s]
            if dense[s] < ratio * other:
                ratio = dense[s] / other
                if ratio <= least:
                    return 0.0
        graph.used[WORK] += row[COUNT]
        return ratio
    first, second = np.uint64(row[INDEX]), np.uint64(row[AT])
    for place in range(np.uint64(row[COUNT])):
        here, other = dense[np.uint64(graph.where[first + place])], graph.value[second + place]
        if here < ratio * other:
            ratio = here / other
            if ratio <= least:
                return 0.0
    graph.used[WORK] += row[COUNT]
    return ratio


@compiled
def fall_anew(model: Model, graph: Graph, home: int) -> None:
    """Work out once more how far the points of class `home` lie below its corners, which have moved."""
    graph.chain[home, MOVES] += 1
    graph.chain[home, CHANGES] += 1
    entry = graph.chain[home, FIRST_ENTRY]
    while entry >= 0:
        other = graph.entry[entry, 1]
        if graph.node[other, ENTRY] == entry:
            base = weigh(graph, graph.corner, model.class_state[home], other)
            graph.fall[entry] = min(graph.bound[other, OWN] - base, 0.0)
        entry = graph.following[entry]


@compiled
def into_cloud(graph: Graph, node: int, size: int) -> None:
    """Let the point of `node`, of a class of so many states, count for hulls."""
    row = graph.node[node]
    graph.chain[row[HOME], CHANGES] += 1
    if row[CLOUD] < 0:
        row[CLOUD] = next_place(graph, row[HOME], CLOUD_BLOCK, CLOUDS, graph.cloud, graph.cloud_node)
        place = graph.chain[row[HOME], CLOUD_BLOCK + BEGIN] + row[CLOUD]
        graph.cloud_node[place] = node
        unfold(graph, node, graph.dense, size)
        for s in range(size):
            graph.cloud[STATES + s, place] = graph.dense[s]
    put_in_cloud(graph, node, graph.chain[row[HOME], CHANGES])


@compiled
def put_in_cloud(graph: Graph, node: int, change: int) -> None:
    """Let the point of `node`, which has a place in the cloud, be worth there what it is. change: the count of it."""
    place = graph.chain[graph.node[node, HOME], CLOUD_BLOCK + BEGIN] + graph.node[node, CLOUD]
    graph.cloud[WORTH, place], graph.cloud[CHANGED, place] = graph.bound[node, OWN], change


@compiled
def add_point(model: Model, graph: Graph, node: int, potential: float) -> None:
    """Let the upper bound of `node` count for others: as a point, or as a corner where the state is known."""
    row, bound = graph.node[node], graph.bound[node]
    home = row[HOME]
    bound[OWN] = bound[UPPER] - potential * bound[ENTROPY]
    if row[COUNT] == 1 and (row[INDEX] >= 0 or graph.value[row[AT]] == 1.0):
        state = graph.where[row[INDEX]] if row[INDEX] >= 0 else 0
        graph.corner[model.class_state[home] + state] = bound[OWN]
        fall_anew(model, graph, home)
        return
    entry = graph.used[ENTRIES]
    graph.used[ENTRIES] += 1
    size = model.class_state[home + 1] - model.class_state[home]
    if size <= graph.level.shape[1]:
        into_cloud(graph, node, size)
    last, old = graph.chain[home, LAST_ENTRY], row[ENTRY]
    graph.following[entry], graph.entry[entry, 1], graph.fall[entry] = -1, node, bound[OWN] - bound[BASE]
    graph.entry[entry, BEFORE] = last
    set_probes(graph, node, entry)
    graph.possible[entry] = support(graph, node, size)
    row[ENTRY] = entry
    if last >= 0:
        graph.following[last] = entry
    else:
        graph.chain[home, FIRST_ENTRY] = entry
    graph.chain[home, LAST_ENTRY] = entry
    if old >= 0:  # out of the chain; who has read up to it goes on from there
        before, after = graph.entry[old, BEFORE], graph.following[old]
        graph.entry[after, BEFORE] = before
        if before >= 0:
            graph.following[before] = after
        else:
            graph.chain[home, FIRST_ENTRY] = after


LEAST_LEFT = 1e-9
"""What is left of a circle of one step, at the least, where what it is worth is divided by that: less would be mostly
rounding. What gains is not divided then; what loses is, by this."""


@compiled
def taken_again(rest: float, stays: float, upper: float, rounding: float) -> float:
    """The most that a belief of bound `upper` is worth by an action that leads back to it, of a discounted probability
    that is known to such a `rounding`, and is worth `rest` otherwise: if it is the best, it is taken again."""
    once = rest + stays * upper
    left = 1.0 - stays - rounding if rest > 0.0 else max(1.0 - stays + rounding, LEAST_LEFT)
    if stays == 0.0 or left < LEAST_LEFT:
        return once
    return min(once, rest / left)
