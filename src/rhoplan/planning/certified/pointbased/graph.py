"""The belief graph that the search grows, as arrays, and the two bounds that carry over from belief to belief.

A node is a class and a belief over its states. From below, vectors: V(b) >= alpha . b + c p H(b), with c = 0 or 1. From
above, on W = V - p H, which is convex (see `potential`): the sawtooth between the corners of a class and the nodes that
have a point,

    W(b) <= u . b + min over points q of (W_q - u . q) min over q(s) > 0 of b(s) / q(s).

Vectors and points of a class stand in chains in the order of their making, and a node remembers how far it has read
each chain: to bring a node up to date costs only what is new. What was dropped or replaced is skipped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rhoplan.model.problem import Array, Ids
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.machine import compiled, dot, entropy, sparse_dot

HOME, AT, COUNT, INDEX, SLOT, BEST, VECTOR_READ, POINT_READ, ENTRY, SAME_HASH = range(10)
CORNERS, HULL_READ, CLOUD, WALKED = range(10, 14)
"""Columns of Graph.node: class, first place in `value` and how many, first place in `where` (-1: the belief is dense),
first slot (-1: not opened), best vector, last vector and last entry read (-1: none), own entry (-1: no point), next
node in the same place of the table, how often the corners had moved when the upper bound was last worked out, how often
points had changed when the hull was (-2: never), own place in `cloud` (-1: none), and the last trial that went through
it (counted from 1)."""

LOWER, UPPER, ENTROPY, BASE, OWN, GAP, REST = range(7)
"""Columns of Graph.bound: the bounds on V, the entropy, the corners' bound on W, W of the node's own point, (of the
root) how far the bounds were apart when the last trial began, and what the hull pays for rounding."""

ABOVE, BELOW, PAID = range(3)
"""Columns of Graph.slot: bounds on the value of the action here, when last looked at, and reward plus information."""

NODES, VALUES, INDICES, SLOTS, CHILDREN, VECTORS, NUMBERS, FOLLOWERS, ENTRIES, CLOUDS, TRIALS, WORK, BACKUPS = range(13)
PRUNED = BACKUPS + 1
"""Places in Graph.used: how much of each array is filled, trials, work done since the last return, backups, and the
entries there were at the last pruning."""

DENSE_SHARE = 3
"""A belief is stored dense where more than one state in three is possible."""

SAME = 1e-14
"""Beliefs whose probabilities all differ by no more than this share are one node; outward rounding pays for it."""

PROBES = 4
"""How many states of a point are looked at before the point itself."""

BEFORE = 2 + PROBES
"""Column of Graph.entry: the entry before, in the chain."""

GRID = 1e9
"""Probabilities are rounded to this many steps for the table: neighbours across a border are two nodes, no harm."""


class Graph(NamedTuple):
    """All that the search writes; see the columns above.

    slot_child: first child per slot (-1: not expanded). child, chance: node (-1: ended or impossible) and probability
    per branch. alpha: the numbers of vectors, share: c, follower: the vector followed after each branch. entry: (next,
    node, likeliest states, before) and fall: W_q - u . q, inverse: one over the probabilities of those states. chain:
    per class. corner, action: the bounds of `First`. price, mixture, level: per node, see `hull`; as wide as the
    largest class with one. cloud (rows, points): of each point of such a class W_q (infinite where it does not count)
    and q, to be read side by side; cloud_node: whose they are. recent: per class how many nodes have had their hull
    worked out, and the last of them. Scratch: dense, after, spread, path and what follows."""

    node: Ids
    bound: Array
    value: Array
    where: Ids
    slot: Array
    slot_child: Ids
    child: Ids
    chance: Array
    vector: Ids
    share: Array
    alpha: Array
    follower: Ids
    entry: Ids
    fall: Array
    inverse: Array
    chain: Ids
    corner: Array
    action: Array
    table: Ids
    used: Ids
    dense: Array
    after: Array
    spread: Array
    path: Ids
    aims: Array
    price: Array
    mixture: Ids
    level: Array
    square: Array
    line: Array
    support: Ids
    cloud: Array
    cloud_node: Ids
    prices: Array
    recent: Ids


class Settings(NamedTuple):
    """potential: the p for which V - p H is convex. gap: where to stop. outward: rounding of each backup, a share
    (rounding) of the largest value and what logarithms add (logs). span: how far apart values are. penalty, lost: what
    is left of a belief costs, or where its state is likely: `hull`. coarse to planned: `growing`. most_*: of a step."""

    weight: float
    potential: float
    discount: float
    gap: float
    outward: float
    rounding: float
    logs: float
    penalty: float
    span: float
    lost: float
    coarse: float
    fine: float
    mix: float
    work: int
    planned: int
    most_children: int
    most_numbers: int
    symbols: int


FIRST_VECTOR, LAST_VECTOR, FIRST_ENTRY, LAST_ENTRY, MOVES, CHANGES = range(6)
"""Columns of Graph.chain: ends of both chains, how often corners moved, and how often corners or points changed."""

NEXT, VECTOR_HOME, VECTOR_PAIR, VECTOR_AT, ALIVE, FOLLOW, ORIGIN = range(7)
"""Columns of Graph.vector: next in the chain, class, pair taken, first place in `alpha`, whether it still counts,
first place in `follower`, and the node it was made at. NEXT is also the first column of Graph.entry; the node is the
second."""

NODE_COLUMNS, BOUND_COLUMNS, SLOT_COLUMNS, VECTOR_COLUMNS = WALKED + 1, REST + 1, PAID + 1, ORIGIN + 1


@compiled
def weigh(graph: Graph, numbers: Array, at: int, node: int) -> float:
    """The vector at numbers[at] times the belief of `node`."""
    row = graph.node[node]
    graph.used[WORK] += row[COUNT]
    if row[INDEX] < 0:
        return dot(numbers, at, graph.value, row[AT], row[COUNT])
    return sparse_dot(numbers, at, graph.where, row[INDEX], graph.value, row[AT], row[COUNT])


@compiled
def unfold(graph: Graph, node: int, dense: Array, size: int) -> None:
    """Write the belief of `node` out into dense[0...size]."""
    row = graph.node[node]
    if row[INDEX] < 0:
        for s in range(size):
            dense[s] = graph.value[row[AT] + s]
        return
    for s in range(size):
        dense[s] = 0.0
    for place in range(row[COUNT]):
        dense[graph.where[row[INDEX] + place]] = graph.value[row[AT] + place]


@compiled
def place_of(home: int, belief: Array, size: int, places: int) -> int:
    """Where in a table of so many places (a power of two) this dense belief belongs."""
    mixed = np.uint64(home + 1)
    for s in range(size):
        if belief[s] > 0.0:
            mixed ^= np.uint64(np.int64(belief[s] * GRID + 0.5)) + np.uint64(s) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return int(np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(places - 1)))


@compiled
def rehash(model: Model, graph: Graph) -> None:
    """Fill the table, which is empty, with all nodes."""
    for node in range(graph.used[NODES]):
        home = graph.node[node, HOME]
        size = model.class_state[home + 1] - model.class_state[home]
        unfold(graph, node, graph.dense, size)
        place = place_of(home, graph.dense, size, len(graph.table))
        graph.node[node, SAME_HASH] = graph.table[place]
        graph.table[place] = node


@compiled
def find_node(model: Model, graph: Graph, home: int, belief: Array, potential: float) -> int:
    """The node of class `home` with this dense belief, made if there is none. There must be room."""
    size, count = model.class_state[home + 1] - model.class_state[home], 0
    for s in range(size):
        count += belief[s] > 0.0
    place = place_of(home, belief, size, len(graph.table))
    node = graph.table[place]
    while node >= 0:
        if graph.node[node, HOME] == home and is_same(graph, node, belief, size, count):
            return int(node)
        node = graph.node[node, SAME_HASH]
    node = graph.used[NODES]
    graph.used[NODES] += 1
    row, bound, at = graph.node[node], graph.bound[node], graph.used[VALUES]
    row[HOME], row[AT], row[SAME_HASH], row[SLOT], row[BEST] = home, at, graph.table[place], -1, -1
    row[VECTOR_READ], row[POINT_READ], row[ENTRY], row[CORNERS] = -1, -1, -1, graph.chain[home, MOVES]
    row[HULL_READ], row[CLOUD], row[WALKED] = -2, -1, 0
    graph.table[place] = node
    if count * DENSE_SHARE > size and (count > 1 or size == 1):
        row[COUNT], row[INDEX] = size, -1
        for s in range(size):
            graph.value[at + s] = belief[s]
    else:
        first = graph.used[INDICES]
        row[COUNT], row[INDEX], count = count, first, 0
        for s in range(size):
            if belief[s] > 0.0:
                graph.value[at + count], graph.where[first + count] = belief[s], s
                count += 1
        graph.used[INDICES] += count
    graph.used[VALUES] += row[COUNT]
    bound[ENTROPY] = entropy(graph.value, at, row[COUNT]) if potential > 0.0 else 0.0
    bound[BASE] = weigh(graph, graph.corner, model.class_state[home], node)
    bound[LOWER], bound[UPPER], bound[OWN] = -np.inf, bound[BASE] + potential * bound[ENTROPY], np.inf
    return int(node)


@compiled
def is_same(graph: Graph, node: int, belief: Array, size: int, count: int) -> bool:
    """Whether the belief of `node` is this one, which has `count` states that are possible."""
    row = graph.node[node]
    if row[INDEX] < 0:
        for s in range(size):  # noqa: SIM110, as compiled code has no generators
            if abs(graph.value[row[AT] + s] - belief[s]) > SAME * belief[s]:
                return False
        return True
    if row[COUNT] != count:
        return False
    for place in range(count):
        held = belief[graph.where[row[INDEX] + place]]
        if abs(graph.value[row[AT] + place] - held) > SAME * held:
            return False
    return True


@compiled
def raise_lower(model: Model, graph: Graph, node: int, potential: float) -> None:
    """Bring the lower bound of `node` up to date with the vectors of its class."""
    row, bound = graph.node[node], graph.bound[node]
    home = row[HOME]
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
def lower_upper(model: Model, graph: Graph, node: int, potential: float) -> None:
    """Bring the upper bound of `node` up to date with the corners of its class, and, where hulls do not, its points."""
    row, bound = graph.node[node], graph.bound[node]
    home = row[HOME]
    if row[CORNERS] != graph.chain[home, MOVES]:
        row[CORNERS] = graph.chain[home, MOVES]
        bound[BASE] = weigh(graph, graph.corner, model.class_state[home], node)
        bound[UPPER] = min(bound[UPPER], bound[BASE] + potential * bound[ENTROPY])
    entry = graph.chain[home, FIRST_ENTRY] if row[POINT_READ] < 0 else graph.entry[row[POINT_READ], NEXT]
    size = model.class_state[home + 1] - model.class_state[home]
    if entry < 0 or row[COUNT] == 1 or size <= graph.level.shape[1]:
        return
    unfold(graph, node, graph.dense, size)
    best = min(bound[UPPER] - potential * bound[ENTROPY] - bound[BASE], 0.0)
    while entry >= 0:
        other = graph.entry[entry, 1]
        if graph.fall[entry] < best and passes(graph, entry, best) and graph.node[other, ENTRY] == entry:
            ratio = share_of(graph, other, graph.dense, best / graph.fall[entry])
            best = min(best, graph.fall[entry] * ratio)
        row[POINT_READ] = entry
        entry = graph.entry[entry, NEXT]
    bound[UPPER] = min(bound[UPPER], bound[BASE] + best + potential * bound[ENTROPY])


@compiled
def passes(graph: Graph, entry: int, best: float) -> bool:
    """Whether the likeliest states of a point leave a chance that it beats `best` at the belief in graph.dense."""
    for probe in range(PROBES):
        if graph.fall[entry] * graph.dense[graph.entry[entry, 2 + probe]] * graph.inverse[entry, probe] >= best:
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
    for place in range(row[COUNT]):
        here, other = dense[graph.where[row[INDEX] + place]], graph.value[row[AT] + place]
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
        entry = graph.entry[entry, NEXT]


@compiled
def into_cloud(graph: Graph, node: int, size: int) -> None:
    """Let the point of `node`, of a class of so many states, count for hulls."""
    row = graph.node[node]
    graph.chain[row[HOME], CHANGES] += 1
    if row[CLOUD] < 0:
        row[CLOUD] = graph.used[CLOUDS]
        graph.used[CLOUDS] += 1
        graph.cloud_node[row[CLOUD]] = node
        unfold(graph, node, graph.dense, size)
        for s in range(graph.cloud.shape[0] - 1):
            graph.cloud[1 + s, row[CLOUD]] = graph.dense[s] if s < size else 0.0
    graph.cloud[0, row[CLOUD]] = graph.bound[node, OWN]


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
    graph.entry[entry, NEXT], graph.entry[entry, 1], graph.fall[entry] = -1, node, bound[OWN] - bound[BASE]
    graph.entry[entry, BEFORE] = last
    set_probes(graph, node, entry)
    row[ENTRY] = entry
    if last >= 0:
        graph.entry[last, NEXT] = entry
    else:
        graph.chain[home, FIRST_ENTRY] = entry
    graph.chain[home, LAST_ENTRY] = entry
    if old >= 0:  # out of the chain; who has read up to it goes on from there
        before, after = graph.entry[old, BEFORE], graph.entry[old, NEXT]
        graph.entry[after, BEFORE] = before
        if before >= 0:
            graph.entry[before, NEXT] = after
        else:
            graph.chain[home, FIRST_ENTRY] = after
