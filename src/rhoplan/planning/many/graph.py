"""The graph of evidence: a node for each set of results, with both bounds, and an arm for each test worth a thought.

A node is found by its key, compared word by word. It is expanded once: every test that may be run then becomes an arm
with bounds from where its outcomes lead, unless stopping is proven better already. The nodes that an arm leads to are
made when the arm is followed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.many.bounds import (
    Standing,
    add_up,
    allow,
    ceiling,
    choose_pairs,
    may_run,
    price_now,
    read_key,
)
from rhoplan.planning.many.ceilings import Ceilings
from rhoplan.planning.many.machine import Model, best_commit, compiled, entropy_of_groups, wide

UPPER, LOWER, STOP = range(3)
"""Columns of Graph.bound: bounds on the value of a node, and the reward of its best commit."""

ABOVE, BELOW, PAY = range(3)
"""Columns of Graph.worth: bounds on the value of an arm, and what it pays at once."""

FIRST, COUNT = range(2)
"""Columns of Graph.arms: the first arm of a node (-1 until it is expanded), and how many it has."""

NODES, ARMS, CHILDREN, WORK, TRIALS, BACKED_UP = range(6)
"""Places in Graph.used: how much of the arrays is filled, beliefs worked out, walks so far, and how many nodes there
were when all were backed up."""

ROOT = wide(0)
"""The first node is the root."""


class Graph(NamedTuple):
    """Nodes: key (N, W), belief (N, S), bound (N, 3), arms (N, 2). Arms: kind (A,), worth (A, 3), child (A,): where its
    children begin in `node` and `chance`, -1 until it is followed. node, chance (K,): the node that an outcome leads
    to, -1 for none, and its discounted probability. table: places of nodes by key. path (D, 2): nodes and arms of a
    walk. after (S,), fresh (W,): scratch.
    """

    key: Ids
    belief: Array
    bound: Array
    arms: NDArray[np.int32]
    kind: NDArray[np.int32]
    worth: Array
    child: NDArray[np.int32]
    node: NDArray[np.int32]
    chance: Array
    table: NDArray[np.int32]
    used: Ids
    path: Ids
    after: Array
    fresh: Ids


class Settings(NamedTuple):
    """What is searched for, and how. hair: differences that are rounding. most_arms, most_children: of one node."""

    weight: float
    discount: float
    hair: float
    most_arms: int
    most_children: int


@compiled
def place_of(table: NDArray[np.int32], keys: Ids, key: Ids) -> int:
    """Where the node with `key` stands in the table, or the empty place where it would."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for word in range(len(key)):
        mixed = (mixed ^ np.uint64(key[word])) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    mixed = mixed * np.uint64(0x94D049BB133111EB)
    last = len(table) - 1
    place = int(mixed >> np.uint64(20)) & last
    while table[place] >= 0:
        same = True
        for word in range(len(key)):
            if keys[table[place], word] != key[word]:
                same = False
                break
        if same:
            return place
        place = (place + 1) & last
    return place


@compiled
def fill_table(graph: Graph) -> None:
    """Enter all nodes into an empty table."""
    for node in range(graph.used[NODES]):
        graph.table[place_of(graph.table, graph.key, graph.key[node])] = node


@compiled
def add_node(graph: Graph, key: Ids, belief: Array, upper: float, stop: float) -> int:
    """The node with `key`; a new one gets these bounds."""
    place = place_of(graph.table, graph.key, key)
    if graph.table[place] >= 0:
        return wide(graph.table[place])
    node = wide(graph.used[NODES])
    graph.used[NODES] += 1
    graph.table[place] = node
    for word in range(len(key)):
        graph.key[node, word] = key[word]
    for s in range(len(belief)):
        graph.belief[node, s] = belief[s]
    graph.bound[node, UPPER], graph.bound[node, LOWER], graph.bound[node, STOP] = max(upper, stop), stop, stop
    graph.arms[node, FIRST], graph.arms[node, COUNT] = -1, 0
    return node


@compiled
def posterior(model: Model, belief: Array, q: int, after: Array) -> float:
    """The probability of outcome q; the belief after it is written to `after`."""
    chance = 0.0
    for s in range(len(belief)):
        after[s] = belief[s] * model.likelihood[q, s]
        chance += after[s]
    if chance > 0.0:
        for s in range(len(belief)):
            after[s] /= chance
    return chance


@compiled
def stand_at(model: Model, ceilings: Ceilings, standing: Standing, graph: Graph, node: int) -> None:
    """Make `standing` that of `node`."""
    read_key(model, ceilings, graph.key[node], standing)
    add_up(model, ceilings, standing)
    choose_pairs(model, ceilings, standing, graph.belief[node])


@compiled
def expand(model: Model, ceilings: Ceilings, standing: Standing, graph: Graph, settings: Settings, node: int) -> None:
    """Give `node` its arms. The root keeps all; elsewhere what another arm or stopping beats for sure is left out."""
    stand_at(model, ceilings, standing, graph, node)
    first, belief = graph.used[ARMS], graph.belief[node]
    before = settings.weight * entropy_of_groups(belief, model.asked) if settings.weight > 0.0 else 0.0
    arm, least = first, graph.bound[node, LOWER]
    for kind in range(len(model.price)):
        if not may_run(model, standing, kind):
            continue
        allow(model, ceilings, standing, kind)
        pay = before - price_now(model, standing, kind)
        above, below = 0.0, 0.0
        for q in range(model.first[kind], model.first[kind + 1]):
            chance = posterior(model, belief, q, graph.after)
            if chance <= 0.0:
                continue
            doubt = settings.weight * entropy_of_groups(graph.after, model.asked) if settings.weight > 0.0 else 0.0
            stop = best_commit(model.payoff, graph.after)
            upper = max(ceiling(model, ceilings, standing, kind, graph.after) + doubt + settings.hair, stop)
            pay -= chance * doubt
            above += chance * upper
            below += chance * stop
            graph.used[WORK] += 1
        above, below = pay + settings.discount * above, pay + settings.discount * below
        if node != ROOT and above <= least:
            continue
        least = max(least, below)
        graph.kind[arm], graph.child[arm] = kind, -1
        graph.worth[arm, ABOVE], graph.worth[arm, BELOW], graph.worth[arm, PAY] = above, below, pay
        arm += 1
    graph.arms[node, FIRST], graph.arms[node, COUNT] = first, arm - first
    graph.used[ARMS] = arm


@compiled
def follow(
    model: Model, ceilings: Ceilings, standing: Standing, graph: Graph, settings: Settings, node: int, arm: int
) -> None:
    """Make the nodes that `arm` of `node` leads to."""
    stand_at(model, ceilings, standing, graph, node)
    kind, at, belief = wide(graph.kind[arm]), graph.used[CHILDREN], graph.belief[node]
    allow(model, ceilings, standing, kind)
    graph.child[arm] = at
    for q in range(model.first[kind], model.first[kind + 1]):
        chance = posterior(model, belief, q, graph.after)
        graph.chance[at], graph.node[at] = settings.discount * chance, -1
        if chance > 0.0:
            for word in range(len(graph.fresh)):
                graph.fresh[word] = graph.key[node, word]
            graph.fresh[model.word[q]] += 1 << model.shift[q]
            doubt = settings.weight * entropy_of_groups(graph.after, model.asked) if settings.weight > 0.0 else 0.0
            upper = ceiling(model, ceilings, standing, kind, graph.after) + doubt + settings.hair
            graph.node[at] = add_node(graph, graph.fresh, graph.after, upper, best_commit(model.payoff, graph.after))
        at += 1
    graph.used[CHILDREN] = at


@compiled
def refresh_arm(model: Model, graph: Graph, arm: int) -> None:
    """Back up the bounds of `arm` from the nodes that it leads to."""
    above, below, at = graph.worth[arm, PAY], graph.worth[arm, PAY], graph.child[arm]
    kind = graph.kind[arm]
    for place in range(at, at + model.first[kind + 1] - model.first[kind]):
        node = graph.node[place]
        if node >= 0:
            above += graph.chance[place] * graph.bound[node, UPPER]
            below += graph.chance[place] * graph.bound[node, LOWER]
    graph.worth[arm, ABOVE] = min(graph.worth[arm, ABOVE], above)
    graph.worth[arm, BELOW] = max(graph.worth[arm, BELOW], below)


@compiled
def refresh_node(graph: Graph, node: int) -> None:
    """Back up the bounds of `node` from its arms."""
    upper, lower = graph.bound[node, STOP], graph.bound[node, LOWER]
    first = graph.arms[node, FIRST]
    for arm in range(first, first + graph.arms[node, COUNT]):
        upper = max(upper, graph.worth[arm, ABOVE])
        lower = max(lower, graph.worth[arm, BELOW])
    graph.bound[node, UPPER] = max(min(graph.bound[node, UPPER], upper), lower)
    graph.bound[node, LOWER] = lower
