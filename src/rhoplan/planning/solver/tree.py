"""The graph of beliefs that a search grows: nodes, their actions, and what follows after each observation.

A node is an observability class and a belief over its states, kept sparse. Equal beliefs are one node, up to SAME.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.solver.blocks import LANES, Blocks, lengthened, make_blocks, with_room
from rhoplan.planning.solver.jit import entry_point, kernel
from rhoplan.planning.solver.settings import Parameters
from rhoplan.planning.solver.tabular import Tabular

ROOT = 0
CANDIDATES = 16
"""Points that the simplex method chooses from between two passes over all of them."""

SAME = 1e-14
"""Beliefs whose probabilities all differ by no more than this share are one node; the outward rounding pays for it."""

GRID = 1e9
"""Probabilities are rounded to this many steps for the hash table; neighbours across a border are two nodes."""

NODE = np.dtype([
    ("class_", "i8"), ("first", "i8"), ("size", "i8"), ("first_action", "i8"), ("best_vector", "i8"),
    ("vector_block", "i8"), ("vectors_read", "i8"), ("point_block", "i8"), ("points_read", "i8"),
    ("vertices_read", "i8"), ("point", "i8"), ("hull", "i8"), ("next_same_hash", "i8"), ("trial", "i8"),
    ("is_start", "i8"), ("lower", "f8"), ("upper", "f8"), ("entropy", "f8"), ("vertex_value", "f8"),
    ("point_value", "f8"), ("residual", "f8"),
])  # fmt: skip
"""first, size: the belief in Tree.state and Tree.mass. first_action: in Tree.actions; -1 until the node is opened.
vector_block, vectors_read, point_block, points_read, vertices_read: how far the bounds are up to date. point: place of
its own point among the points, or -1. hull: first place of its interpolation, or -1. trial: the last that went through.
is_start: whether trials have begun here. vertex_value: bound on W by the vertices. point_value: W of its own point.
residual: what the interpolation pays for rounding."""

ACTION_NODE = np.dtype([("upper", "f8"), ("lower", "f8"), ("reward", "f8"), ("first_child", "i8")])
"""Bounds on the value of an action; its reward with the price of information; its first child, -1: not expanded."""

VECTOR = np.dtype([("class_", "i8"), ("action", "i8"), ("place", "i8"), ("first_follower", "i8"), ("origin", "i8"),
                   ("is_alive", "i8"), ("has_entropy", "f8")])  # fmt: skip
"""place: of its numbers in the blocks. origin: the node where it was made. has_entropy: e, 0 or 1, in
alpha . b + e c w H(b)."""

FIELDS = (
    "nodes",
    "beliefs",
    "actions",
    "children",
    "vectors",
    "followers",
    "hulls",
    "trials",
    "backups",
    "work",
    "start",
    "pause",
    "pauses",
)
COUNTS = np.dtype([(name, "i8") for name in FIELDS])


class Tree(NamedTuple):
    """Everything that a search writes.

    state, mass: the beliefs of nodes. child, probability: node (-1: the end, or impossible) and probability after each
    observation of an expanded action. follower: the vector that a vector continues with after each observation. vertex:
    upper bound on W at each state, moved: per class how often one was lowered. action_bound: upper bound on W of each
    action, linear in the belief. basis, price, weight: the interpolation of nodes in small classes. table: first node
    of each hash value. path: the nodes of a trial. counts: rows used.

    The others are scratch space. dense, after, predicted: a belief, its successor after one observation, and the
    predicted hidden state. lanes: numbers for each vector of a block. line: a new vector, a belief, and the direction
    of the simplex method; square: the inverse of its basis; candidate, wanted, free: its columns and rows.
    """

    nodes: NDArray[np.void]
    state: NDArray[np.int32]
    mass: Array
    actions: NDArray[np.void]
    child: Ids
    probability: Array
    vectors: NDArray[np.void]
    follower: Ids
    alpha: Blocks
    points: Blocks
    vertex: Array
    moved: Ids
    action_bound: Array
    basis: Ids
    price: Array
    weight: Array
    table: Ids
    path: Ids
    counts: NDArray[np.void]
    dense: Array
    after: Array
    predicted: Array
    lanes: Array
    square: Array
    line: Array
    candidate: Ids
    wanted: Ids
    free: Ids


GROWING = {
    ("nodes",): "nodes",
    ("state", "mass"): "beliefs",
    ("actions",): "actions",
    ("child", "probability"): "children",
    ("vectors",): "vectors",
    ("follower",): "followers",
    ("basis", "price", "weight"): "hulls",
}
"""Arrays that grow, by the field of COUNTS that says how many of their rows are in use."""


def make_tree(problem_sizes: Ids, labels: int, vertex: Array, action_bound: Array, hull_states: int) -> Tree:
    """A tree without nodes and vectors."""
    largest, classes, rows = int(problem_sizes.max()), len(problem_sizes), 1024
    hull = int(problem_sizes[problem_sizes <= hull_states].max(initial=1))

    def ints(*shape: int) -> Ids:
        return np.zeros(shape, dtype=np.int64)

    return Tree(
        nodes=np.zeros(rows, NODE),
        state=np.zeros(rows, np.int32),
        mass=np.zeros(rows),
        actions=np.zeros(rows, ACTION_NODE),
        child=ints(rows),
        probability=np.zeros(rows),
        vectors=np.zeros(rows, VECTOR),
        follower=ints(rows),
        alpha=make_blocks(classes),
        points=make_blocks(classes),
        vertex=vertex.copy(),
        moved=ints(classes),
        action_bound=action_bound,
        basis=ints(rows),
        price=np.zeros(rows),
        weight=np.zeros(rows),
        table=np.full(1 << 12, -1),
        path=ints(1000),
        counts=np.zeros(1, COUNTS),
        dense=np.zeros(largest),
        after=np.zeros(largest),
        predicted=np.zeros(labels),
        lanes=np.zeros((2, LANES)),
        square=np.zeros((hull, hull)),
        line=np.zeros((3, largest)),
        candidate=ints(CANDIDATES),
        wanted=ints(hull),
        free=ints(hull),
    )


def grown(tree: Tree, needs: dict[str, int], memory: float) -> Tree | None:
    """`tree` with room for `needs` more rows by field of COUNTS, more blocks and numbers of vectors and points; None if
    that takes more than `memory` bytes."""
    bigger: dict[str, Any] = {}
    for names, field in GROWING.items():
        used, room = int(tree.counts[0][field]) + needs.get(field, 0), len(getattr(tree, names[0]))
        if used >= room:
            bigger |= {name: lengthened(getattr(tree, name), 2 * room + needs.get(field, 0)) for name in names}
    for name in ("alpha", "points"):
        bigger[name] = with_room(getattr(tree, name), needs.get(f"{name}_blocks", 0), needs.get(name, 0))
    result = tree._replace(**bigger)
    return result if sum(array.nbytes for array in arrays_of(result)) <= memory else None


def arrays_of(record: tuple[Any, ...]) -> Iterator[Array]:
    """All arrays of a record and of records in it."""
    for value in record:
        if isinstance(value, tuple):
            yield from arrays_of(value)
        else:
            yield value


@kernel
def entropy(values: Array, first: int, count: int) -> float:
    """Entropy, in nats, of `count` probabilities; one above a half counts by what it lacks of 1."""
    total, largest, rest = 0.0, 0.0, 0.0
    for place in range(first, first + count):
        largest = max(largest, values[place])
    seen = False
    for place in range(first, first + count):
        value = values[place]
        if value == largest and not seen:
            seen = True
        elif value > 0.0:
            total -= value * np.log(value)
            rest += value
    if largest > 0.5:
        return float(total - largest * np.log1p(-rest))
    return float(total - largest * np.log(largest)) if largest > 0.0 else 0.0


@kernel
def weigh(tree: Tree, numbers: Array, first: int, node: int) -> float:
    """Inner product of numbers[first...], one per state of its class, with the belief of `node`."""
    total = 0.0
    begin = tree.nodes[node].first
    for place in range(begin, begin + tree.nodes[node].size):
        total += numbers[first + tree.state[place]] * tree.mass[place]
    tree.counts[0].work += tree.nodes[node].size
    return total


@kernel
def unfold(tree: Tree, node: int, size: int, dense: Array) -> None:
    """Write the belief of `node`, of a class of `size` states, into `dense`."""
    dense[:size] = 0.0
    begin = tree.nodes[node].first
    for place in range(begin, begin + tree.nodes[node].size):
        dense[tree.state[place]] = tree.mass[place]


@kernel
def class_size(tabular: Tabular, class_: int) -> int:
    return int(tabular.classes[class_ + 1].first_state - tabular.classes[class_].first_state)


@kernel
def is_end(tabular: Tabular, class_: int) -> bool:
    """Whether the episode is over in `class_`."""
    return bool(tabular.classes[class_ + 1].first_action == tabular.classes[class_].first_action)


@kernel
def hash_place(class_: int, belief: Array, size: int, places: int) -> int:
    """The place of a belief in a table of `places`, a power of two."""
    mixed = np.uint64(class_ + 1)
    for s in range(size):
        if belief[s] > 0.0:
            mixed ^= np.uint64(np.int64(belief[s] * GRID + 0.5)) + np.uint64(s) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return int(np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(places - 1)))


@kernel
def find_node(tabular: Tabular, tree: Tree, class_: int, belief: Array, convexity: float) -> int:
    """The node with this belief (dense over the class), added if it is new. There must be room."""
    size, count = class_size(tabular, class_), 0
    for s in range(size):
        count += belief[s] > 0.0
    place = hash_place(class_, belief, size, len(tree.table))
    found = tree.table[place]
    while found >= 0:
        node = tree.nodes[found]
        if node.class_ == class_ and node.size == count:
            same = True
            for at in range(node.first, node.first + count):
                held = belief[tree.state[at]]
                if abs(tree.mass[at] - held) > SAME * held:
                    same = False
                    break
            if same:
                return int(found)
        found = node.next_same_hash
    counts = tree.counts[0]
    index, first = counts.nodes, counts.beliefs
    counts.nodes += 1
    counts.beliefs += count
    at = first
    for s in range(size):
        if belief[s] > 0.0:
            tree.state[at], tree.mass[at] = s, belief[s]
            at += 1
    node = tree.nodes[index]
    node.class_, node.first, node.size, node.next_same_hash = class_, first, count, tree.table[place]
    tree.table[place] = index
    node.first_action = node.best_vector = node.vector_block = node.point_block = node.point = node.hull = -1
    node.vectors_read = node.points_read = node.trial = node.is_start = 0
    node.vertices_read = tree.moved[class_]
    node.entropy = entropy(tree.mass, first, count) if convexity > 0.0 else 0.0
    node.vertex_value = weigh(tree, tree.vertex, tabular.classes[class_].first_state, index)
    node.lower, node.upper = -np.inf, node.vertex_value + convexity * node.entropy
    node.point_value, node.residual = np.inf, 0.0
    return int(index)


@kernel
def project(tabular: Tabular, tree: Tree, branch: int, belief: Array, size: int, out: Array) -> float:
    """out = P(s', o | belief), for the observation of `branch`; its sum. belief: dense, of `size` states."""
    wide, begin = class_size(tabular, tabular.branches[branch].target), tabular.branches[branch].first_row
    out[:wide] = 0.0
    for s in range(size):
        if belief[s] > 0.0:
            for place in range(tabular.row[begin + s], tabular.row[begin + s + 1]):
                out[tabular.column[place]] += belief[s] * tabular.probability[place]
    tree.counts[0].work += size + wide + tabular.row[begin + size] - tabular.row[begin]
    total = 0.0
    for s in range(wide):
        total += out[s]
    return total


@kernel
def open_node(tabular: Tabular, tree: Tree, index: int, convexity: float) -> None:
    """Give `index` its actions, with their first bounds."""
    node, counts = tree.nodes[index], tree.counts[0]
    node.first_action = counts.actions
    for action in range(tabular.classes[node.class_].first_action, tabular.classes[node.class_ + 1].first_action):
        own = tree.actions[counts.actions]
        counts.actions += 1
        own.upper = weigh(tree, tree.action_bound, tabular.actions[action].first_reward, index)
        own.upper += convexity * node.entropy
        own.lower, own.reward, own.first_child = -np.inf, 0.0, -1


@kernel
def expand(tabular: Tabular, tree: Tree, index: int, action: int, parameters: Parameters) -> None:
    """Add the children of `index` after `action`, and what the action pays."""
    class_, counts, weight = tree.nodes[index].class_, tree.counts[0], parameters.weight
    size = class_size(tabular, class_)
    own = tree.nodes[index].first_action + action - tabular.classes[class_].first_action
    place = counts.children
    tree.actions[own].first_child = place
    paid = weigh(tree, tabular.reward, tabular.actions[action].first_reward, index)
    unfold(tree, index, size, tree.dense)
    if weight > 0.0:
        tree.predicted[:] = 0.0
    later, only, is_informative = 0.0, -2, False
    for branch in range(tabular.actions[action].first_branch, tabular.actions[action + 1].first_branch):
        target = tabular.branches[branch].target
        tree.child[place], tree.probability[place] = -1, 0.0
        if weight > 0.0 or not is_end(tabular, target):
            total = project(tabular, tree, branch, tree.dense, size, tree.after)
            if total > 0.0:
                wide, base, child = class_size(tabular, target), tabular.classes[target].first_state, -1
                for s in range(wide):
                    if weight > 0.0:
                        tree.predicted[tabular.label[base + s]] += tree.after[s]
                    tree.after[s] /= total
                tree.probability[place] = total
                if is_end(tabular, target):
                    later += total * entropy(tree.after, 0, wide)
                else:
                    child = find_node(tabular, tree, target, tree.after, parameters.convexity)
                    later += total * tree.nodes[child].entropy
                tree.child[place] = child
                is_informative = is_informative or only == -1 or (only >= 0 and child != only)
                only = child
        place += 1
    counts.children = place
    if weight > 0.0 and is_informative:  # an action that always leads to the same belief pays exactly nothing
        paid += weight * max(entropy(tree.predicted, 0, len(tree.predicted)) - later, 0.0)
    tree.actions[own].reward = paid


@entry_point
def rehash(tabular: Tabular, tree: Tree) -> None:
    """Fill the hash table, which is empty, with all nodes."""
    for index in range(tree.counts[0].nodes):
        size = class_size(tabular, tree.nodes[index].class_)
        unfold(tree, index, size, tree.dense)
        place = hash_place(tree.nodes[index].class_, tree.dense, size, len(tree.table))
        tree.nodes[index].next_same_hash = tree.table[place]
        tree.table[place] = index
