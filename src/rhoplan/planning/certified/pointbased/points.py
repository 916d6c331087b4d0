"""The points of the upper bound as a Markov decision problem, solved at once.

Each child of a point is a mixture of points and corners. With the mixtures as they are, the best actions are those of a
Markov decision problem whose states are points and corners: policy iteration finds its value x, each round one linear
system. Nothing of this needs to be exact. Let N be numbers of the points of which each row, which is one action of one
point q, makes less than N(q) (see `lasting`), and y = x + m N with T y <= y for one sweep T (all actions, mixtures as
they are): then y lies above the optimum. For let d N be the most by which the optimum lies above y, d > 0; as it is
convex, it is at most the mixture of points, plus d times that of N: it lies less than d N above T y, and so above y.

Sweeps come to the same, but need 1 / (1 - g) of them. An action that was not worked out counts for what the first
bounds say; where that is the best, it is worked out. Corners of small classes take part, whether one can come to know
the state for sure or not: near them nothing else holds the hull down.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.pointbased.above import fall_anew, put_in_cloud
from rhoplan.planning.certified.pointbased.below import raise_lower
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.decisions import Rows, empty_rows, weights_of
from rhoplan.planning.certified.pointbased.graph import (
    ABOVE,
    CHANGES,
    COUNT,
    ENTROPY,
    ENTRY,
    GAP,
    HOME,
    HULL_READ,
    INDEX,
    LOWER,
    NODES,
    OWN,
    PAID,
    REST,
    ROOT,
    SLOT,
    UPPER,
    Graph,
    Settings,
    weigh,
)
from rhoplan.planning.certified.pointbased.hull import lower_by_hull
from rhoplan.planning.certified.pointbased.machine import compiled
from rhoplan.planning.certified.pointbased.trials import backup_above, backup_below, expand, has_room, look_at_all

MOST_FOLLOWED = 4000
"""Beliefs that one comes to, nearest first, from which others are looked for."""

NEARER = 0.8
"""A belief that was backed up beside trials is so again once the bounds of the start are so much nearer each other:
before that it mostly comes to nothing, and there are others."""


FROM_ABOVE, BY_BEST, BY_ALL = range(3)
"""How beliefs are backed up: their upper bounds alone; the lower ones too, by what was best so far; or by all
actions."""


@compiled
def list_points(graph: Graph, members: Ids) -> int:
    """The opened nodes that have a point, or know the state for sure, in order; how many."""
    count = 0
    for node in range(graph.used[NODES]):
        row = graph.node[node]
        if row[SLOT] >= 0 and (row[ENTRY] >= 0 or row[COUNT] == 1):
            members[count] = node
            count += 1
    return count


@compiled
def slot_of(model: Model, graph: Graph, node: int) -> int:
    """The slot of the state that `node` knows for sure."""
    row = graph.node[node]
    return int(model.class_state[row[HOME]] + (graph.where[row[INDEX]] if row[INDEX] >= 0 else 0))


@compiled
def set_places(model: Model, graph: Graph, members: Ids, place: Ids, corner: Ids, values: Array) -> None:
    """Note where each member stands (place: per node, corner: per slot, both -1 before) and what it is worth so far."""
    for i in range(len(members)):
        node = members[i]
        if graph.node[node, COUNT] == 1:
            corner[slot_of(model, graph, node)] = i
            values[i] = graph.corner[slot_of(model, graph, node)]
        else:
            place[node] = i
            values[i] = graph.bound[node, OWN]


@compiled
def spread_child(
    model: Model, graph: Graph, child: int, place: Ids, corner: Ids, much: float, potential: float, rows: Rows, at: int
) -> tuple[float, int]:
    """Write `much` of the mixture that `child` is into `rows`, from `at` on; what is known of its worth (of V), and
    where to go on."""
    row, bound = graph.node[child], graph.bound[child]
    base = model.class_state[row[HOME]]
    if row[COUNT] == 1:
        slot = slot_of(model, graph, child)
        if corner[slot] >= 0:
            rows.member[at], rows.share[at] = corner[slot], much
            return 0.0, at + 1
        return float(much * min(graph.corner[slot], bound[UPPER])), at
    if place[child] >= 0:
        rows.member[at], rows.share[at] = place[child], much
        return float(much * potential * bound[ENTROPY]), at + 1
    if row[HULL_READ] == -2:
        return float(much * bound[UPPER]), at
    known = bound[REST] + potential * bound[ENTROPY]
    for i in range(row[COUNT]):
        level, other = graph.level[child, i], graph.mixture[child, i]
        if level > 0.0:
            member = place[other] if other >= 0 else corner[base - 1 - other]
            if member >= 0:
                rows.member[at], rows.share[at] = member, much * level
                at += 1
            else:
                known += level * (graph.bound[other, OWN] if other >= 0 else graph.corner[base - 1 - other])
    return float(much * known), at


@compiled
def mix_anew(model: Model, graph: Graph, settings: Settings, members: Ids, slack: float) -> None:
    """Work out the best mixture of each child of the members, by all actions worked out."""
    for i in range(len(members)):
        node = members[i]
        home = graph.node[node, HOME]
        for pair in range(model.class_pair[home], model.class_pair[home + 1]):
            slot = graph.node[node, SLOT] + pair - model.class_pair[home]
            first = graph.slot_child[slot]
            if first >= 0 and graph.slot[slot, ABOVE] >= graph.bound[node, LOWER]:
                for branch in range(first, first + model.pair_branch[pair + 1] - model.pair_branch[pair]):
                    if graph.child[branch] >= 0:
                        lower_by_hull(model, graph, graph.child[branch], settings, slack)


@compiled
def work_out(model: Model, graph: Graph, settings: Settings, nodes: Ids, pairs: Ids, begin: int) -> int:
    """Work the pairs out at the nodes beside them, from place `begin` on; the place where there was no room."""
    for place in range(begin, len(nodes)):
        node = nodes[place]
        if not has_room(graph, settings):
            return place
        if graph.slot_child[graph.node[node, SLOT] + pairs[place] - model.class_pair[graph.node[node, HOME]]] < 0:
            expand(model, graph, node, pairs[place], settings)
    return len(nodes)


def children_of(model: Model, graph: Graph, nodes: Ids, pairs: Ids) -> Ids:
    """The beliefs that the pairs, which are worked out, lead to from the nodes beside them: a row each, -1 where there
    is none."""
    branches = np.arange(int(np.diff(model.pair_branch).max()))
    first = graph.slot_child[graph.node[nodes, SLOT] + pairs - model.class_pair[graph.node[nodes, HOME]]]
    there = branches < np.diff(model.pair_branch)[pairs][:, None]
    return np.where(there, graph.child[first[:, None] + branches * there], -1)


@compiled
def write_rows(
    model: Model, graph: Graph, settings: Settings, members: Ids, place: Ids, corner: Ids, rows: Rows, pairs: Ids
) -> None:
    """Each action of each member as one of `rows`, of W, if x is what members are worth; an action that is ruled out is
    worth what it was at most.

    pairs: the pair of each row, -1 - pair where it was not worked out.
    """
    row, at, potential = 0, 0, settings.potential
    rows.begin[0] = 0
    for i in range(len(members)):
        node = members[i]
        home, less = graph.node[node, HOME], potential * graph.bound[node, ENTROPY]
        for pair in range(model.class_pair[home], model.class_pair[home + 1]):
            slot = graph.node[node, SLOT] + pair - model.class_pair[home]
            first = graph.slot_child[slot]
            pairs[row] = pair if first >= 0 else -1 - pair
            rows.known[row] = rows.most[row] = graph.slot[slot, ABOVE] - less
            if first >= 0 and graph.slot[slot, ABOVE] >= graph.bound[node, LOWER]:
                rows.known[row] = graph.slot[slot, PAID] - less
                for branch in range(first, first + model.pair_branch[pair + 1] - model.pair_branch[pair]):
                    child = graph.child[branch]
                    if child >= 0:
                        much = settings.discount * graph.chance[branch]
                        worth, at = spread_child(model, graph, child, place, corner, much, potential, rows, at)
                        rows.known[row] += worth
            row += 1
            rows.begin[row] = at


@compiled
def average(model: Model, graph: Graph, nodes: Ids, numbers: Array, out: Array) -> None:
    """What `numbers` of states (N,) are at the beliefs of `nodes`, in the mean."""
    for i in range(len(nodes)):
        out[i] = weigh(graph, numbers, model.class_state[graph.node[nodes[i], HOME]], nodes[i])


def rows_of(model: Model, graph: Graph, settings: Settings, members: Ids) -> tuple[Array, Rows, Ids]:
    """What the members are worth so far, their actions as rows, and the pair of each row; see `write_rows`."""
    homes = graph.node[members, HOME]
    first = np.concatenate([[0], np.cumsum(np.diff(model.class_pair)[homes])])
    branches = int(np.diff(model.pair_branch[model.class_pair])[homes].sum())
    rows, pairs = empty_rows(first, branches * graph.level.shape[1]), np.empty(int(first[-1]), dtype=np.int64)
    place, corner = np.full(2 * len(graph.node) + 1, -1), np.full(int(model.class_state[-1]), -1)
    values = np.empty(len(members))
    set_places(model, graph, members, place, corner, values)
    write_rows(model, graph, settings, members, place, corner, rows, pairs)
    return values, rows, pairs


@compiled
def lower_points(model: Model, graph: Graph, settings: Settings, members: Ids, values: Array) -> float:
    """Let the members be worth no more than `values`; by how much one fell at most."""
    fall = 0.0
    for i in range(len(members)):
        node = members[i]
        row, bound = graph.node[node], graph.bound[node]
        if row[COUNT] == 1:
            slot = slot_of(model, graph, node)
            fall = max(fall, graph.corner[slot] - values[i])
            graph.corner[slot] = min(graph.corner[slot], values[i])
            bound[UPPER] = min(bound[UPPER], values[i])
            bound[OWN] = bound[UPPER]
        elif values[i] < bound[OWN]:
            fall = max(fall, bound[OWN] - values[i])
            bound[OWN] = values[i]
            bound[UPPER] = min(bound[UPPER], values[i] + settings.potential * bound[ENTROPY])
            if model.class_state[row[HOME] + 1] - model.class_state[row[HOME]] <= graph.level.shape[1]:
                put_in_cloud(graph, node, graph.chain[row[HOME], CHANGES] + 1)
    for home in range(len(graph.chain)):
        fall_anew(model, graph, home)
    return fall


@compiled
def follow_best(
    model: Model, graph: Graph, settings: Settings, place: Ids, members: Ids, taken: Ids, rows: Rows
) -> int:
    """List the opened nodes that one comes to by actions of the largest upper bound, nearest first, while there is
    room, with those actions (-1: not worked out) and, as `rows`, with what follows; how many.

    place (all nodes): where each stands among `members`, -1 before.
    """
    count, done, at = 1, 0, 0
    members[0], place[ROOT], rows.begin[0] = ROOT, 0, 0
    while done < count:
        node = members[done]
        home = graph.node[node, HOME]
        best, slot = model.class_pair[home], graph.node[node, SLOT] - model.class_pair[home]
        for pair in range(best + 1, model.class_pair[home + 1]):
            if graph.slot[slot + pair, ABOVE] > graph.slot[slot + best, ABOVE]:
                best = pair
        first = graph.slot_child[slot + best]
        taken[done] = best if first >= 0 else -1
        branches = model.pair_branch[best + 1] - model.pair_branch[best] if first >= 0 else 0
        for branch in range(first, first + branches):
            child = graph.child[branch]
            if child >= 0 and graph.node[child, SLOT] >= 0:
                if place[child] < 0 and count < len(members):
                    members[count], place[child] = child, count
                    count += 1
                if place[child] >= 0:
                    rows.member[at], rows.share[at] = place[child], settings.discount * graph.chance[branch]
                    at += 1
        done += 1
        rows.begin[done] = at
    return count


@compiled
def times_apart(model: Model, graph: Graph, settings: Settings, matter: Array) -> None:
    """Multiply what is above 0 by how far apart the bounds of the node are."""
    for node in range(len(matter)):
        if matter[node] > 0.0:
            raise_lower(model, graph, node, settings.potential)
            matter[node] *= graph.bound[node, UPPER] - graph.bound[node, LOWER]


@compiled
def weigh_children(
    model: Model, graph: Graph, settings: Settings, members: Ids, taken: Ids, weights: Array, matter: Array
) -> None:
    """matter[node] = how much a node without a point counts for the start, as a child of `members` by the pairs `taken`
    (below 0: none), times how far apart its bounds are. weights: what the members count. matter: zeros."""
    for i in range(len(members)):
        node, pair = members[i], taken[i]
        slot = graph.node[node, SLOT] + pair - model.class_pair[graph.node[node, HOME]]
        if pair < 0 or graph.slot_child[slot] < 0:
            continue
        first = graph.slot_child[slot]
        for branch in range(first, first + model.pair_branch[pair + 1] - model.pair_branch[pair]):
            child = graph.child[branch]
            if child >= 0 and graph.node[child, ENTRY] < 0 and graph.node[child, COUNT] > 1:
                matter[child] += settings.discount * graph.chance[branch] * weights[i]
    times_apart(model, graph, settings, matter)


@compiled
def back_up_all(model: Model, graph: Graph, settings: Settings, nodes: Ids, begin: int, how: int) -> int:
    """Back up the bounds at these nodes from place `begin` on, as FROM_ABOVE to BY_ALL say; the place where there was
    no room."""
    for place in range(begin, len(nodes)):
        node = nodes[place]
        if not has_room(graph, settings):
            return place
        pair = backup_above(model, graph, node, settings)
        if how == FROM_ABOVE:
            continue
        if node != ROOT:
            graph.bound[node, GAP] = graph.bound[ROOT, UPPER] - graph.bound[ROOT, LOWER]
        if how == BY_ALL:
            pair = look_at_all(model, graph, node, pair, settings)
        backup_below(model, graph, node, pair, settings)
    return len(nodes)


def weightiest(
    model: Model, graph: Graph, settings: Settings, members: Ids, taken: Ids, weights: Array, most: int
) -> Ids:
    """Up to `most` beliefs without a point that matter most for the start, of the children that the points mix."""
    matter = np.zeros(int(graph.used[NODES]))
    weigh_children(model, graph, settings, members, taken, weights, matter)
    return foremost(matter, most)


def foremost(matter: Array, most: int) -> Ids:
    """Up to `most` places of the largest numbers above 0."""
    order = np.argsort(-matter)[:most]
    return order[matter[order] > 0]


def farther(model: Model, graph: Graph, settings: Settings, most: int) -> Ids:
    """Up to `most` beliefs without a point that matter most for the start: not opened yet, or left without one when
    bounds were farther apart."""
    opened = graph.node[: graph.used[NODES], SLOT] >= 0
    size = min(int(np.count_nonzero(opened)), MOST_FOLLOWED)
    place, matter = np.full(len(opened), -1), np.zeros(len(opened))
    members, taken = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    rows = empty_rows(np.arange(size + 1), size * int(np.diff(model.pair_branch).max()))
    count = follow_best(model, graph, settings, place, members, taken, rows)
    weights = weights_of(rows, np.arange(count), 0)
    weigh_children(model, graph, settings, members[:count], taken, weights, matter)
    apart = graph.bound[ROOT, UPPER] - graph.bound[ROOT, LOWER]
    matter[opened & (apart > NEARER * graph.bound[: len(opened), GAP])] = 0
    return foremost(matter, most)
