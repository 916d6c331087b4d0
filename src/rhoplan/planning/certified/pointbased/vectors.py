"""A vector: what a plan that takes one action and then goes on with other vectors is worth, from every state.

    alpha(s) = r(s) + p ln q(s) - w sum_s' T(s' | s) ln (Tq)(s')
               + sum_{o, s'} P(s', o | s) [(w - g c_o p) ln q_o(s') + g alpha_o(s')]

q is the belief of the node where the vector is made, with a little of all states mixed in; alpha_o and c_o belong to
the vector that is best after outcome o. The first line and the logarithms do not depend on what follows: `pay`. The
rest is `carry`. What the plan is worth, less p H, is convex (see `potential`), and alpha is its tangent at q: so
alpha . b + p H(b) is a lower bound at every belief b.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array
from rhoplan.planning.certified.pointbased.below import into_fan
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.graph import (
    ALIVE,
    BEST,
    FIRST_VECTOR,
    FOLLOW,
    FOLLOWERS,
    LAST_VECTOR,
    NEXT,
    NUMBERS,
    ORIGIN,
    SLOT,
    VECTOR_AT,
    VECTOR_HOME,
    VECTOR_PAIR,
    VECTORS,
    WORK,
    Graph,
    Settings,
    unfold,
)
from rhoplan.planning.certified.pointbased.machine import compiled, sparse_dot


@compiled
def make_vector(model: Model, graph: Graph, node: int, pair: int, settings: Settings) -> int:
    """The vector of taking `pair` at `node` and then what is best at each child; it is in no chain yet."""
    home = model.pair_class[pair]
    vector = new_vector(model, graph, home, pair, 1.0 if settings.weight > 0.0 else 0.0)
    graph.vector[vector, ORIGIN] = node
    slot = graph.node[node, SLOT] + pair - model.class_pair[home]
    for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
        target, place = model.branch_target[branch], branch - model.pair_branch[pair]
        follower = -1
        if model.class_pair[target] < model.class_pair[target + 1]:
            child = graph.child[graph.slot_child[slot] + place]
            follower = graph.node[child, BEST] if child >= 0 else graph.chain[target, FIRST_VECTOR]
        graph.follower[graph.vector[vector, FOLLOW] + place] = follower
    at = graph.vector[vector, VECTOR_AT]
    pay(model, graph, vector, graph.alpha, at, settings)
    carry(model, graph, vector, settings.discount, graph.alpha, at)
    for s in range(at, graph.used[NUMBERS]):  # where penalties make it far larger than any value
        graph.alpha[s] -= settings.rounding * abs(graph.alpha[s])
    return vector


@compiled
def pay(model: Model, graph: Graph, vector: int, out: Array, at: int, settings: Settings) -> None:
    """out[at...] = what the first step of `vector` gives from each state: reward, and information at its origin."""
    home, pair = graph.vector[vector, VECTOR_HOME], graph.vector[vector, VECTOR_PAIR]
    size = model.class_state[home + 1] - model.class_state[home]
    weight, begin = settings.weight, model.pair_reward[pair]
    for s in range(size):
        out[at + s] = model.reward[begin + s] - settings.outward
    if weight == 0.0:
        return
    predicted = settings.most_numbers
    unfold(graph, graph.vector[vector, ORIGIN], graph.spread, size)
    for s in range(size):
        graph.spread[s] = (1.0 - settings.mix) * graph.spread[s] + settings.mix / size
        out[at + s] += settings.potential * np.log(graph.spread[s])
    for symbol in range(settings.symbols):
        graph.after[predicted + symbol] = 0.0
    for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
        base, end = branch_states(model, branch)
        project(model, graph, branch, graph.spread, size, graph.after)
        for s in range(end - base):
            graph.after[predicted + model.symbol[base + s]] += graph.after[s]
    for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
        base, end = branch_states(model, branch)
        follower = graph.follower[graph.vector[vector, FOLLOW] + branch - model.pair_branch[pair]]
        total = project(model, graph, branch, graph.spread, size, graph.after)
        left = weight if follower < 0 else weight - settings.discount * settings.potential * graph.share[follower]
        for s in range(end - base):
            graph.dense[s] = 0.0
            if graph.after[s] > 0.0:
                known = left * np.log(graph.after[s] / total)
                graph.dense[s] = known - weight * np.log(graph.after[predicted + model.symbol[base + s]])
        add_back(model, graph, branch, 1.0, graph.dense, 0, size, out, at)


@compiled
def carry(model: Model, graph: Graph, vector: int, discount: float, out: Array, at: int) -> None:
    """Add to out[at...] what the vectors that `vector` goes on with are worth one step later."""
    home, pair = graph.vector[vector, VECTOR_HOME], graph.vector[vector, VECTOR_PAIR]
    size = model.class_state[home + 1] - model.class_state[home]
    for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
        follower = graph.follower[graph.vector[vector, FOLLOW] + branch - model.pair_branch[pair]]
        if follower >= 0:
            add_back(model, graph, branch, discount, graph.alpha, graph.vector[follower, VECTOR_AT], size, out, at)


@compiled
def branch_states(model: Model, branch: int) -> tuple[int, int]:
    """First slot of the branch's target class, and the first after it."""
    target = model.branch_target[branch]
    return model.class_state[target], model.class_state[target + 1]


@compiled
def add_back(
    model: Model, graph: Graph, branch: int, discount: float, numbers: Array, begin: int, size: int, out: Array, at: int
) -> None:
    """out[at + s] += discount * sum over s' of P(s', o | s) numbers[begin + s'], o being the branch's outcome."""
    row = model.branch_row[branch]
    for s in range(size):
        first = model.row[row + s]
        count = model.row[row + s + 1] - first
        out[at + s] += discount * sparse_dot(numbers, begin, model.column, first, model.chance, first, count)
    graph.used[WORK] += size + model.row[row + size] - model.row[row]


@compiled
def project(model: Model, graph: Graph, branch: int, belief: Array, size: int, out: Array) -> float:
    """out[s'] = P(s', o | belief), and its sum; `belief` is dense over the branch's class."""
    target, begin = model.branch_target[branch], model.branch_row[branch]
    wide = model.class_state[target + 1] - model.class_state[target]
    for s in range(wide):
        out[s] = 0.0
    for s in range(size):
        if belief[s] > 0.0:
            for place in range(np.uint64(model.row[begin + s]), np.uint64(model.row[begin + s + 1])):
                out[np.uint64(model.column[place])] += belief[s] * model.chance[place]
    total = 0.0
    for s in range(wide):
        total += out[s]
    graph.used[WORK] += size + wide + model.row[begin + size] - model.row[begin]
    return total


@compiled
def new_vector(model: Model, graph: Graph, home: int, pair: int, share: float) -> int:
    """Room for one more vector of class `home`; its numbers are still to be written, and it is in no chain."""
    vector, size = graph.used[VECTORS], model.class_state[home + 1] - model.class_state[home]
    graph.used[VECTORS] += 1
    row = graph.vector[vector]
    row[NEXT], row[VECTOR_HOME], row[VECTOR_PAIR], row[VECTOR_AT], row[ALIVE] = -1, home, pair, graph.used[NUMBERS], 1
    row[FOLLOW] = graph.used[FOLLOWERS]
    graph.used[NUMBERS] += size
    graph.used[FOLLOWERS] += model.pair_branch[pair + 1] - model.pair_branch[pair]
    graph.share[vector] = share
    return int(vector)


@compiled
def link_vector(model: Model, graph: Graph, vector: int) -> None:
    """Let a vector count: it goes to the end of its chain. From then on its numbers may not change."""
    home = graph.vector[vector, VECTOR_HOME]
    if graph.chain[home, LAST_VECTOR] >= 0:
        graph.vector[graph.chain[home, LAST_VECTOR], NEXT] = vector
    else:
        graph.chain[home, FIRST_VECTOR] = vector
    graph.chain[home, LAST_VECTOR] = vector
    into_fan(model, graph, vector)
