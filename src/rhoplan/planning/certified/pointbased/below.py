"""The lower bound of a node: the best of the vectors of its class there.

In small classes the vectors that count also stand side by side in a block, a fan: so many of them at once are weighed
that it takes a tenth of the time.
"""

from __future__ import annotations

from rhoplan.planning.certified.pointbased.blocks import next_place
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.graph import (
    ALIVE,
    AT,
    BEGIN,
    BEST,
    COUNT,
    ENTROPY,
    FAN_BLOCK,
    FANS,
    FILLED,
    FIRST_VECTOR,
    HOME,
    INDEX,
    LOWER,
    NEXT,
    VECTOR_AT,
    VECTOR_HOME,
    VECTOR_READ,
    WORK,
    Graph,
    weigh,
)
from rhoplan.planning.certified.pointbased.machine import compiled, lowest_place


@compiled
def raise_lower(model: Model, graph: Graph, node: int, potential: float) -> None:
    """Bring the lower bound of `node` up to date with the vectors of its class."""
    row, bound = graph.node[node], graph.bound[node]
    home = row[HOME]
    if model.class_state[home + 1] - model.class_state[home] <= graph.level.shape[1]:
        read_fan(graph, node, home, potential)
        return
    vector = graph.chain[home, FIRST_VECTOR] if row[VECTOR_READ] < 0 else graph.vector[row[VECTOR_READ], NEXT]
    while vector >= 0:
        if graph.vector[vector, ALIVE] == 1:
            worth = weigh(graph, graph.alpha, graph.vector[vector, VECTOR_AT], node)
            worth += graph.share[vector] * potential * bound[ENTROPY]
            if worth > bound[LOWER]:
                bound[LOWER], row[BEST] = worth, vector
        row[VECTOR_READ] = vector
        vector = graph.vector[vector, NEXT]


@compiled
def read_fan(graph: Graph, node: int, home: int, potential: float) -> None:
    """The same where the class has a fan, in which vectors stand in the order of their making."""
    row, bound, begin = graph.node[node], graph.bound[node], graph.chain[home, FAN_BLOCK + BEGIN]
    end = begin + graph.chain[home, FAN_BLOCK + FILLED]
    first = end
    while first > begin and graph.fan_vector[first - 1] > row[VECTOR_READ]:
        first -= 1
    if first == end:
        return
    count, much = end - first, potential * bound[ENTROPY]
    depths, column = graph.depths, graph.fan[0, first:end]
    for place in range(count):
        depths[place] = -much * column[place]
    for i in range(row[COUNT]):
        state = graph.where[row[INDEX] + i] if row[INDEX] >= 0 else i
        much, column = graph.value[row[AT] + i], graph.fan[1 + state, first:end]
        for place in range(count):
            depths[place] -= much * column[place]
    best = lowest_place(depths, count, -bound[LOWER])
    if best >= 0:
        bound[LOWER], row[BEST] = -depths[best], graph.fan_vector[first + best]
    row[VECTOR_READ] = graph.fan_vector[end - 1]
    graph.used[WORK] += count * row[COUNT]


@compiled
def into_fan(model: Model, graph: Graph, vector: int) -> None:
    """Let a vector, which is in its chain, stand in the fan of its class as well, if that is small."""
    home, at = graph.vector[vector, VECTOR_HOME], graph.vector[vector, VECTOR_AT]
    size = model.class_state[home + 1] - model.class_state[home]
    if size > graph.level.shape[1]:
        return
    place = next_place(graph, home, FAN_BLOCK, FANS, graph.fan, graph.fan_vector)
    place += graph.chain[home, FAN_BLOCK + BEGIN]
    graph.fan_vector[place], graph.fan[0, place] = vector, graph.share[vector]
    for s in range(size):
        graph.fan[1 + s, place] = graph.alpha[at + s]


@compiled
def fan_out(model: Model, graph: Graph) -> None:
    """Fill all fans anew with the vectors of their chains that count."""
    for home in range(len(graph.chain)):
        graph.chain[home, FAN_BLOCK + FILLED] = 0
        vector = graph.chain[home, FIRST_VECTOR]
        while vector >= 0:
            if graph.vector[vector, ALIVE] == 1:
                into_fan(model, graph, vector)
            vector = graph.vector[vector, NEXT]
