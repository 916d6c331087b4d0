"""The belief graph that the search grows, as arrays.

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

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.machine import compiled, dot, entropy, sparse_dot
from rhoplan.planning.machine import handed

HOME, AT, COUNT, INDEX, SLOT, BEST, VECTOR_READ, POINT_READ, ENTRY, SAME_HASH = range(10)
CORNERS, HULL_READ, CLOUD, WALKED, BEGUN = range(10, 15)
"""Columns of Graph.node: class, first place in `value` and how many, first place in `where` (-1: the belief is dense),
first slot (-1: not opened), best vector, last vector and last entry read (-1: none), own entry (-1: no point), next
node in the same place of the table, how often the corners had moved when the upper bound was last worked out, how often
points had changed when the hull was (-2: never), own place in the block of points (-1: none), the last trial that went
through it (counted from 1), and whether one began there though it is not the root (see `lean`)."""

LOWER, UPPER, ENTROPY, BASE, OWN, GAP, REST = range(7)
"""Columns of Graph.bound: the bounds on V, the entropy, the corners' bound on W, W of the node's own point, how
far apart the bounds of the root were when the node was last backed up beside trials (infinite: never; of the root: when
the last trial began), and what the hull pays for rounding."""

ABOVE, BELOW, PAID = range(3)
"""Columns of Graph.slot: bounds on the value of the action here, when last looked at (the upper one if it is the best
there is), and reward plus information."""

NODES, VALUES, INDICES, SLOTS, CHILDREN, VECTORS, NUMBERS, FOLLOWERS, ENTRIES, CLOUDS, FANS = range(11)
TRIALS, WORK, BACKUPS, PRUNED, WIDEST, START, PAUSE, PAUSES = range(11, 19)
"""Places in Graph.used: how much of each array is filled, trials, work done since the last return, backups, the entries
there were at the last pruning, the room of the largest block (see `blocks`), where the next trial begins, and how many
begin at the root before others may, now and the last time (see `lean`)."""

ROOT = 0
"""The first node is the root."""

DENSE_SHARE = 3
"""A belief is stored dense where more than one state in three is possible."""

SAME = 1e-14
"""Beliefs whose probabilities all differ by no more than this share are one node; outward rounding pays for it."""

PROBES = 4
"""How many states of a point are looked at before the point itself."""

BEFORE = 0
"""The first column of Graph.entry: the entry before, in the chain. Then the node, and where its belief is likeliest."""

PARTS = 62
"""So many parts of a class are told apart where it is asked whether a point rules a belief out."""

GRID = 1e9
"""Probabilities are rounded to this many steps for the table: neighbours across a border are two nodes, no harm."""


@handed
class Graph(NamedTuple):
    """All that the search writes; see the columns above.

    slot_child: first child per slot (-1: not expanded). child, chance: node (-1: ended or impossible) and probability
    per branch. alpha: the numbers of vectors, share: c, follower: the vector followed after each branch. entry:
    (before, node, likeliest states), inverse: one over the probabilities of those; by themselves, as they are read most
    often: following: the next entry, possible: where the point has possible states, see `support`, fall: W_q - u . q.
    chain: per class. corner, action: the bounds of `First`. price, mixture, level: per node, see `hull`; as wide as the
    largest class with one. cloud (rows, points): of each point of such a class W_q (infinite where it does not count)
    and q, to be read side by side, in blocks of one class; cloud_node: whose they are. fan (rows, vectors), fan_vector:
    in the same way share and numbers of the vectors that count. recent: per class how many nodes have had their hull
    worked out, and the last of them. Scratch: dense, after, spread, path, square to support, prices, depths, tried."""

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
    following: Ids
    possible: Ids
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
    fan: Array
    fan_vector: Ids
    depths: Array
    tried: Ids
    recent: Ids


@handed
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
    longest: int
    planned: int
    most_children: int
    most_numbers: int
    symbols: int


FIRST_VECTOR, LAST_VECTOR, FIRST_ENTRY, LAST_ENTRY, MOVES, CHANGES, CLOUD_BLOCK, FAN_BLOCK = 0, 1, 2, 3, 4, 5, 6, 9
"""Columns of Graph.chain: ends of both chains, how often corners moved, how often corners or points changed, and two
blocks of three columns each: the points in `cloud` and the vectors in `fan`."""

BEGIN, FILLED, WIDE = range(3)
"""Columns of a block: where it begins, how many places are filled, how many there are."""

WORTH, CHANGED, STATES = range(3)
"""Rows of Graph.cloud: W of the point, the count of changes at its last one, and from there on its belief."""

NEXT, VECTOR_HOME, VECTOR_PAIR, VECTOR_AT, ALIVE, FOLLOW, ORIGIN = range(7)
"""Columns of Graph.vector: next in the chain, class, pair taken, first place in `alpha`, whether it still counts,
first place in `follower`, and the node it was made at."""

NODE_COLUMNS, BOUND_COLUMNS, SLOT_COLUMNS, VECTOR_COLUMNS = BEGUN + 1, REST + 1, PAID + 1, ORIGIN + 1
CHAIN_COLUMNS = FAN_BLOCK + WIDE + 1


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
def support(graph: Graph, node: int, size: int) -> int:
    """The parts of a class of so many states in which the belief of `node` has one that is possible, a bit for each."""
    row, bits = graph.node[node], 0
    for place in range(row[COUNT]):
        if graph.value[row[AT] + place] > 0.0:
            state = graph.where[row[INDEX] + place] if row[INDEX] >= 0 else place
            bits |= 1 << (state * PARTS // size)
    return int(bits)


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
    row[HULL_READ], row[CLOUD], row[WALKED], row[BEGUN] = -2, -1, 0, 0
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
    bound[LOWER], bound[UPPER] = -np.inf, bound[BASE] + potential * bound[ENTROPY]
    bound[OWN] = bound[GAP] = np.inf
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
