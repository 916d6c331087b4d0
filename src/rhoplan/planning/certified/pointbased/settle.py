"""Settling: what is known already is carried as far as it goes, without a new belief.

From below, the vectors that count are a plan: each takes an action at the node it was made at, and goes on with the
vector that is best after each outcome. The nodes that this plan comes to are another, which goes on with the node it
comes to, so that it can go round in circles and lose nothing. The value of a plan is the fixed point of the vectors'
own equations, which sweeps come near to (or one linear system gives); what a last sweep finds missing is taken off, so
every claim is at most its own backup. From above, the points
are a Markov decision problem: each child is a fixed mixture of points. Sweeps over it only lower bounds that hold.

Without this, each trial moves the bounds by one step along one path, and a discount near 1 needs many.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.pointbased.above import fall_anew, put_in_cloud, taken_again
from rhoplan.planning.certified.pointbased.below import raise_lower
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.decisions import Rows
from rhoplan.planning.certified.pointbased.graph import (
    ABOVE,
    ALIVE,
    BELOW,
    CHANGES,
    COUNT,
    ENTROPY,
    ENTRY,
    FOLLOW,
    HOME,
    INDEX,
    LOWER,
    NODES,
    NUMBERS,
    ORIGIN,
    OWN,
    PAID,
    ROOT,
    SLOT,
    UPPER,
    VECTOR_AT,
    VECTOR_HOME,
    VECTOR_PAIR,
    VECTORS,
    WORK,
    Graph,
    Settings,
)
from rhoplan.planning.certified.pointbased.hull import mixed
from rhoplan.planning.certified.pointbased.machine import compiled
from rhoplan.planning.certified.pointbased.trials import look_down
from rhoplan.planning.certified.pointbased.vectors import carry, link_vector, make_vector, pay


@compiled
def plan_by_vectors(model: Model, graph: Graph, kept: int, settings: Settings, copies: Ids, members: Ids) -> int:
    """Make each vector anew that counts, by what is best now at the node it was made at; how many there are.

    kept: the first vectors, which stay as they are. copies (room for all vectors): the new one of each, or -1.
    members: the old ones. There must be room.
    """
    vectors, count = graph.used[VECTORS], 0
    for vector in range(vectors):
        copies[vector] = -1
        if vector >= kept and graph.vector[vector, ALIVE] == 1:
            copies[vector], members[count] = 0, vector
            count += 1
    for place in range(count):
        node = graph.vector[members[place], ORIGIN]
        home, first = graph.node[node, HOME], graph.node[node, SLOT]
        best = -1
        for pair in range(model.class_pair[home], model.class_pair[home + 1]):
            slot = first + pair - model.class_pair[home]
            if graph.slot_child[slot] >= 0 and (best < 0 or graph.slot[slot, ABOVE] >= graph.bound[node, LOWER]):
                look_down(model, graph, pair, slot, settings)
                if best < 0 or graph.slot[slot, BELOW] > graph.slot[first + best - model.class_pair[home], BELOW]:
                    best = pair
        copies[members[place]] = make_vector(model, graph, node, best, settings)
    for place in range(count):
        vector = copies[members[place]]
        pair, begin = graph.vector[vector, VECTOR_PAIR], graph.vector[vector, FOLLOW]
        for follower in range(begin, begin + model.pair_branch[pair + 1] - model.pair_branch[pair]):
            old = graph.follower[follower]
            if old >= 0 and copies[old] >= 0:
                graph.follower[follower] = copies[old]
    return count


@compiled
def plan_nodes(model: Model, graph: Graph, settings: Settings, taken: Ids, members: Ids) -> tuple[int, bool]:
    """List the nodes that the plan of the lower bound comes to, nearest first, while there is room; how many, and
    whether it comes to any twice.

    taken (room for all nodes): the pair that is best there, -1 where none worked out is as good as the vectors say, or
    where the plan does not come to. members: the nodes.
    """
    for node in range(graph.used[NODES]):
        taken[node] = -1
    count, place, again = 1, 0, False
    members[0], taken[ROOT] = ROOT, -2
    while place < count:
        node = members[place]
        place += 1
        home, first = graph.node[node, HOME], graph.node[node, SLOT]
        raise_lower(model, graph, node, settings.potential)
        best, most, taken[node] = -1, graph.bound[node, LOWER] - 2 * settings.outward, -1
        for pair in range(model.class_pair[home], model.class_pair[home + 1]):
            slot = first + pair - model.class_pair[home]
            if graph.slot_child[slot] < 0 or graph.slot[slot, ABOVE] <= most:
                continue
            if look_down(model, graph, pair, slot, settings) > most:
                best, most = pair, graph.slot[slot, BELOW]
        if best < 0:
            continue
        taken[node] = best
        children = graph.slot_child[first + best - model.class_pair[home]]
        for branch in range(children, children + model.pair_branch[best + 1] - model.pair_branch[best]):
            child = graph.child[branch]
            if child < 0 or graph.node[child, SLOT] < 0:
                continue
            again = again or taken[child] != -1
            if taken[child] == -1 and count < len(members):
                members[count], taken[child] = child, -2
                count += 1
    return count, again


@compiled
def plan_by_nodes(
    model: Model, graph: Graph, settings: Settings, taken: Ids, copies: Ids, members: Ids, count: int
) -> None:
    """Make a vector at each of the first `count` of `members` for the pair `taken`, which goes on with the others.

    copies (room for all nodes): the vector of each, -1 where there is none. There must be room.
    """
    for node in range(graph.used[NODES]):
        copies[node] = -1
    for place in range(count):
        node = members[place]
        if taken[node] >= 0:
            copies[node] = make_vector(model, graph, node, taken[node], settings)
    for place in range(count):
        node = members[place]
        if copies[node] < 0:
            continue
        slot = graph.node[node, SLOT] + taken[node] - model.class_pair[graph.node[node, HOME]]
        begin = graph.vector[copies[node], FOLLOW]
        for branch in range(model.pair_branch[taken[node] + 1] - model.pair_branch[taken[node]]):
            child = graph.child[graph.slot_child[slot] + branch]
            if child >= 0 and copies[child] >= 0:
                graph.follower[begin + branch] = copies[child]


@compiled
def pay_plan(model: Model, graph: Graph, first: int, settings: Settings, paid: Array) -> None:
    """What the first step of each vector from `first` on gives, into `paid`, which has room for their numbers."""
    begin = graph.vector[first, VECTOR_AT]
    for vector in range(first, graph.used[VECTORS]):
        pay(model, graph, vector, paid, graph.vector[vector, VECTOR_AT] - begin, settings)


@compiled
def equations(model: Model, graph: Graph, first: int, settings: Settings, rows: Rows) -> None:
    """The value of the plan that the vectors from `first` on are, as `rows`, one for each number.

    rows.known: what each step pays, to which is added what vectors before `first` are worth.
    """
    begin, line, at = graph.vector[first, VECTOR_AT], 0, 0
    rows.begin[0] = 0
    for vector in range(first, graph.used[VECTORS]):
        home, pair = graph.vector[vector, VECTOR_HOME], graph.vector[vector, VECTOR_PAIR]
        for s in range(model.class_state[home + 1] - model.class_state[home]):
            for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
                follower = graph.follower[graph.vector[vector, FOLLOW] + branch - model.pair_branch[pair]]
                if follower < 0:
                    continue
                row, to = model.branch_row[branch] + s, graph.vector[follower, VECTOR_AT]
                for place in range(model.row[row], model.row[row + 1]):
                    share = settings.discount * model.chance[place]
                    if follower >= first:
                        rows.member[at], rows.share[at] = to - begin + model.column[place], share
                        at += 1
                    else:
                        rows.known[line] += share * graph.alpha[to + model.column[place]]
            line += 1
            rows.begin[line] = at


@compiled
def settle_below(
    model: Model,
    graph: Graph,
    first: int,
    settings: Settings,
    paid: Array,
    lasting: Array,
    work: int,
    change: float,
) -> None:
    """Bring the vectors from `first` on near the value of the plan that they are, and let them count.

    paid: what their first steps give, from `pay_plan`. lasting: as `lasting` gives it.
    """
    begin, last = graph.vector[first, VECTOR_AT], graph.used[VECTORS]
    end = graph.used[NUMBERS]
    graph.used[WORK] = 0
    while graph.used[WORK] < work:
        most = 0.0
        for vector in range(first, last):
            most = max(most, renew(model, graph, vector, settings, paid, begin, True))
        if most <= change:
            break
    fall, largest = 0.0, 0.0
    for vector in range(first, last):
        fall = max(fall, renew(model, graph, vector, settings, paid, begin, False))
        largest = max(largest, largest_followed(model, graph, vector))
    for place in range(end - begin):
        largest = max(largest, abs(paid[place]))
    fall += settings.rounding * 2.0 * largest
    for vector in range(first, last):
        home, at = graph.vector[vector, VECTOR_HOME], graph.vector[vector, VECTOR_AT]
        for slot in range(model.class_state[home], model.class_state[home + 1]):
            graph.alpha[at + slot - model.class_state[home]] -= fall * lasting[slot]
        link_vector(model, graph, vector)


@compiled
def largest_followed(model: Model, graph: Graph, vector: int) -> float:
    """The largest number, whatever its sign, of the vectors that `vector` goes on with."""
    pair, largest = graph.vector[vector, VECTOR_PAIR], 0.0
    for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
        follower = graph.follower[graph.vector[vector, FOLLOW] + branch - model.pair_branch[pair]]
        if follower >= 0:
            home, at = graph.vector[follower, VECTOR_HOME], graph.vector[follower, VECTOR_AT]
            for s in range(model.class_state[home + 1] - model.class_state[home]):
                largest = max(largest, abs(graph.alpha[at + s]))
    return largest


@compiled
def renew(model: Model, graph: Graph, vector: int, settings: Settings, paid: Array, begin: int, moves: bool) -> float:
    """By how much one step at most changes the numbers of `vector`, which it does where `moves`; else by how much they
    are at most above it."""
    at = graph.vector[vector, VECTOR_AT]
    home = graph.vector[vector, VECTOR_HOME]
    size = model.class_state[home + 1] - model.class_state[home]
    for s in range(size):
        graph.spread[s] = paid[at - begin + s]
    carry(model, graph, vector, settings.discount, graph.spread, 0)
    most = 0.0
    for s in range(size):
        if moves:
            most = max(most, abs(graph.spread[s] - graph.alpha[at + s]))
            graph.alpha[at + s] = graph.spread[s]
        else:
            most = max(most, graph.alpha[at + s] - graph.spread[s])
    return most


@compiled
def settle_above(
    model: Model, graph: Graph, settings: Settings, nodes: Ids, count: int, work: int, change: float
) -> None:
    """Sweeps of backups at the points and known states among the first `count` of `nodes`, mixtures as they are."""
    graph.used[WORK], sweep = 0, 0
    while graph.used[WORK] < work:
        most = 0.0
        for place in range(count):
            node = nodes[count - 1 - place] if sweep % 2 == 0 else nodes[place]
            most = max(most, lower_point(model, graph, settings, node))
        sweep += 1
        if most <= change:
            break
    for home in range(len(graph.chain)):
        fall_anew(model, graph, home)


@compiled
def lower_point(model: Model, graph: Graph, settings: Settings, node: int) -> float:
    """Back up the upper bound of a point or known state, and let it count at once; by how much it fell."""
    row, bound = graph.node[node], graph.bound[node]
    home, best = row[HOME], -np.inf
    for pair in range(model.class_pair[home], model.class_pair[home + 1]):
        slot = row[SLOT] + pair - model.class_pair[home]
        first = graph.slot_child[slot]
        if first >= 0:
            total, stays = graph.slot[slot, PAID] + settings.outward, 0.0
            for place in range(first, first + model.pair_branch[pair + 1] - model.pair_branch[pair]):
                child, much = graph.child[place], settings.discount * graph.chance[place]
                if child == node:
                    stays += much
                elif child >= 0:
                    total += much * mixed(model, graph, child, settings.potential)
            total = taken_again(total, stays, bound[UPPER], settings.rounding)
            graph.slot[slot, ABOVE] = min(graph.slot[slot, ABOVE], total)
        best = max(best, graph.slot[slot, ABOVE])
    fall = bound[UPPER] - best
    if fall <= 0.0:
        return 0.0
    bound[UPPER] = best
    if row[ENTRY] >= 0:
        bound[OWN] = best - settings.potential * bound[ENTROPY]
        if model.class_state[home + 1] - model.class_state[home] <= graph.level.shape[1]:
            put_in_cloud(graph, node, graph.chain[home, CHANGES] + 1)
    elif row[COUNT] == 1:
        bound[OWN] = best
        state = graph.where[row[INDEX]] if row[INDEX] >= 0 else 0
        graph.corner[model.class_state[home] + state] = min(graph.corner[model.class_state[home] + state], best)
    return float(fall)
