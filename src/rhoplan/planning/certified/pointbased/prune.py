"""Forgetting what no longer helps, so that the time of a trial does not grow without limit.

A node counts while it can be reached from the root, or from another belief that trials have begun at, by actions that
the bounds have not ruled out. Of the vectors those stay that are the best at such a node which has been opened, of the
points those at such a node which lie below what the others say. A bound is a number at a node and stays what it was;
dropped vectors keep their numbers, for plans that follow them.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Ids
from rhoplan.planning.certified.pointbased.above import passes, put_in_cloud, share_of
from rhoplan.planning.certified.pointbased.below import fan_out, raise_lower
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.graph import (
    ABOVE,
    ALIVE,
    BEFORE,
    BEGIN,
    BEGUN,
    BEST,
    CHANGES,
    CLOUD,
    CLOUD_BLOCK,
    ENTRIES,
    ENTROPY,
    ENTRY,
    FILLED,
    FIRST_ENTRY,
    FIRST_VECTOR,
    FOLLOW,
    HOME,
    HULL_READ,
    LAST_ENTRY,
    LOWER,
    NEXT,
    NODES,
    OWN,
    POINT_READ,
    PRUNED,
    SLOT,
    UPPER,
    VECTOR_PAIR,
    VECTOR_READ,
    VECTORS,
    WORTH,
    Graph,
    Settings,
    support,
    unfold,
)
from rhoplan.planning.certified.pointbased.hull import lower_by_hull
from rhoplan.planning.certified.pointbased.machine import compiled


@compiled
def prune(model: Model, graph: Graph, kept: int, useful: Ids, tolerance: float, settings: Settings) -> int:
    """Drop what no longer helps; how many vectors are left. kept: vectors that stay. useful: room for the nodes."""
    nodes = graph.used[NODES]
    for node in range(nodes):
        useful[node] = 0
    count = reach(model, graph, useful, nodes)
    for place in range(count):
        if graph.node[useful[nodes + place], SLOT] >= 0:
            raise_lower(model, graph, useful[nodes + place], settings.potential)
    for vector in range(kept, graph.used[VECTORS]):
        graph.vector[vector, ALIVE] = 0
    for place in range(count):
        node = useful[nodes + place]
        if graph.node[node, SLOT] >= 0 and graph.node[node, BEST] >= 0:
            graph.vector[graph.node[node, BEST], ALIVE] = 1
    for node in range(nodes):
        best = graph.node[node, BEST]
        if best >= 0 and graph.vector[best, ALIVE] == 0:
            graph.node[node, BEST], graph.node[node, VECTOR_READ], graph.bound[node, LOWER] = -1, -1, -np.inf
    left = relink_vectors(graph)
    fan_out(model, graph)
    drop_points(model, graph, useful, tolerance, settings)
    graph.used[PRUNED] = graph.used[ENTRIES]
    close_up(graph)
    return left


@compiled
def reach(model: Model, graph: Graph, useful: Ids, nodes: int) -> int:
    """Mark the nodes that actions not ruled out lead to, from the root and wherever else trials have begun, and list
    them from useful[nodes] on; how many."""
    useful[0], useful[nodes], count, place = 1, 0, 1, 0
    for node in range(1, nodes):
        if graph.node[node, BEGUN] == 1:
            useful[node], useful[nodes + count] = 1, node
            count += 1
    while place < count:
        node = useful[nodes + place]
        place += 1
        if graph.node[node, SLOT] < 0:
            continue
        home = graph.node[node, HOME]
        for pair in range(model.class_pair[home], model.class_pair[home + 1]):
            slot = graph.node[node, SLOT] + pair - model.class_pair[home]
            first = graph.slot_child[slot]
            if first < 0 or graph.slot[slot, ABOVE] < graph.bound[node, LOWER]:
                continue
            for child in range(first, first + model.pair_branch[pair + 1] - model.pair_branch[pair]):
                other = graph.child[child]
                if other >= 0 and useful[other] == 0:
                    useful[other], useful[nodes + count] = 1, other
                    count += 1
    return count


@compiled
def relink_vectors(graph: Graph) -> int:
    """Take dropped vectors out of their chains; how many are left. Their numbers stay: plans may still follow them.

    The last of a chain stays in it, alive or not: nodes that have read it go on from there.
    """
    left = 0
    for home in range(len(graph.chain)):
        before, vector = -1, graph.chain[home, FIRST_VECTOR]
        while vector >= 0:
            after = graph.vector[vector, NEXT]
            if graph.vector[vector, ALIVE] == 1 or after < 0:
                if before >= 0:
                    graph.vector[before, NEXT] = vector
                else:
                    graph.chain[home, FIRST_VECTOR] = vector
                before = vector
            vector = after
    for vector in range(graph.used[VECTORS]):
        left += graph.vector[vector, ALIVE]
    return left


@compiled
def mark_followed(model: Model, graph: Graph, first: int, marked: Ids, stack: Ids) -> None:
    """Mark all vectors from `first` on that marked ones go on with, one after the other. stack: room for all."""
    count = 0
    for vector in range(len(marked)):
        if marked[vector] == 1:
            stack[count] = vector
            count += 1
    while count > 0:
        count -= 1
        vector = stack[count]
        if vector < first:
            continue
        pair, begin = graph.vector[vector, VECTOR_PAIR], graph.vector[vector, FOLLOW]
        for place in range(begin, begin + model.pair_branch[pair + 1] - model.pair_branch[pair]):
            other = graph.follower[place]
            if other >= 0 and marked[other] == 0:
                marked[other], stack[count] = 1, other
                count += 1


@compiled
def drop_points(model: Model, graph: Graph, useful: Ids, tolerance: float, settings: Settings) -> None:
    """Take out of each chain of points what was replaced, what cannot be reached, and what the others imply: those that
    stay, so what cannot be reached goes first."""
    for node in range(graph.used[NODES]):
        if useful[node] == 0 and graph.node[node, ENTRY] >= 0:
            graph.node[node, ENTRY] = -1
            out_of_cloud(graph, node)
    for home in range(len(graph.chain)):
        size = model.class_state[home + 1] - model.class_state[home]
        before, entry = -1, graph.chain[home, FIRST_ENTRY]
        while entry >= 0:
            after, node = graph.following[entry], graph.entry[entry, 1]
            if graph.node[node, ENTRY] == entry:
                if size <= graph.level.shape[1]:
                    drop_if_mixed(model, graph, node, entry, tolerance, settings)
                else:
                    unfold(graph, node, graph.dense, size)
                    fall = graph.fall[entry] + tolerance
                    if fall >= 0.0 or implied(graph, home, entry, fall, ~support(graph, node, size)):
                        graph.node[node, ENTRY] = -1
            if graph.node[node, ENTRY] == entry or after < 0:
                if before >= 0:
                    graph.following[before] = entry
                else:
                    graph.chain[home, FIRST_ENTRY] = entry
                graph.entry[entry, BEFORE] = before
                before = entry
            entry = after


@compiled
def out_of_cloud(graph: Graph, node: int) -> None:
    """The point of `node` counts for hulls no more."""
    if graph.node[node, CLOUD] >= 0:
        hide(graph, node)
        graph.node[node, CLOUD] = -1


@compiled
def hide(graph: Graph, node: int) -> None:
    """Let hulls not see the point of `node`, which has a place in the cloud."""
    graph.cloud[WORTH, graph.chain[graph.node[node, HOME], CLOUD_BLOCK + BEGIN] + graph.node[node, CLOUD]] = np.inf


@compiled
def close_up(graph: Graph) -> None:
    """Leave no gaps in the cloud where points were dropped."""
    for home in range(len(graph.chain)):
        begin, count = graph.chain[home, CLOUD_BLOCK + BEGIN], 0
        for place in range(graph.chain[home, CLOUD_BLOCK + FILLED]):
            node = graph.cloud_node[begin + place]
            if graph.node[node, CLOUD] == place:
                graph.node[node, CLOUD], graph.cloud_node[begin + count] = count, node
                for s in range(graph.cloud.shape[0]):
                    graph.cloud[s, begin + count] = graph.cloud[s, begin + place]
                count += 1
        graph.chain[home, CLOUD_BLOCK + FILLED] = count


@compiled
def drop_if_mixed(model: Model, graph: Graph, node: int, entry: int, tolerance: float, settings: Settings) -> None:
    """Take the point of `node` out if a mixture of the others says nearly as much."""
    bound = graph.bound[node]
    upper = bound[UPPER]
    graph.node[node, ENTRY], graph.node[node, HULL_READ], bound[UPPER] = -1, -2, np.inf
    hide(graph, node)
    lower_by_hull(model, graph, node, settings, 0.1 * tolerance)
    if bound[UPPER] - settings.potential * bound[ENTROPY] > bound[OWN] + tolerance:
        graph.node[node, ENTRY] = entry
        put_in_cloud(graph, node, graph.chain[graph.node[node, HOME], CHANGES])
    else:
        out_of_cloud(graph, node)
    bound[UPPER] = min(upper, bound[UPPER])


@compiled
def implied(graph: Graph, home: int, own: int, fall: float, outside: int) -> bool:
    """Whether some point of the class other than `own` lies `fall` below the corners at the belief in graph.dense,
    which has no state that is possible in the parts `outside`.

    The last ones first; a point that was there at the last pruning stood up to all others then.
    """
    entry, oldest = graph.chain[home, LAST_ENTRY], graph.used[PRUNED] if own < graph.used[PRUNED] else 0
    while entry >= oldest:
        other = graph.entry[entry, 1]
        counts = entry != own and passes(graph, entry, fall, outside)
        if counts and graph.node[other, ENTRY] == entry:
            ratio = share_of(graph, other, graph.dense, fall / graph.fall[entry])
            if graph.fall[entry] * ratio <= fall:
                return True
        entry = graph.entry[entry, BEFORE]
    return False


def line_up(graph: Graph) -> None:
    """Let the points of each class stand side by side, in the order of their chain, along which searches walk all the
    time: Tag took three quarters of the time. What is in no chain any more goes."""
    entries = int(graph.used[ENTRIES])
    order, moved = np.empty(entries, dtype=np.int64), np.full(entries, -1)
    count = renumber(graph, order, moved)
    for kept in (graph.entry, graph.possible, graph.fall, graph.inverse):
        kept[:count] = kept[order[:count]]
    firsts, lasts = (graph.chain[graph.chain[:, end] >= 0, end] for end in (FIRST_ENTRY, LAST_ENTRY))
    graph.following[:count], graph.entry[:count, BEFORE] = np.arange(1, count + 1), np.arange(-1, count - 1)
    graph.following[lasts] = graph.entry[firsts, BEFORE] = -1
    graph.used[ENTRIES] = graph.used[PRUNED] = count


@compiled
def renumber(graph: Graph, order: Ids, moved: Ids) -> int:
    """List the entries of all chains, one chain after the other, and call them by their places there; how many.

    moved: the new number of each, -1 before. Entries themselves stay where they are.
    """
    count = 0
    for home in range(len(graph.chain)):
        entry, first = graph.chain[home, FIRST_ENTRY], count
        while entry >= 0:
            order[count], moved[entry] = entry, count
            count += 1
            entry = graph.following[entry]
        if count > first:
            graph.chain[home, FIRST_ENTRY], graph.chain[home, LAST_ENTRY] = first, count - 1
    for node in range(graph.used[NODES]):
        row = graph.node[node]
        if row[ENTRY] >= 0:
            row[ENTRY] = moved[row[ENTRY]]
        read = row[POINT_READ]
        if read >= 0 and moved[read] < 0:  # out of its chain: up to the one before those that came after it
            while moved[read] < 0:
                read = graph.following[read]
            begins = moved[read] == graph.chain[row[HOME], FIRST_ENTRY]
            row[POINT_READ] = -1 if begins else moved[read] - 1
        elif read >= 0:
            row[POINT_READ] = moved[read]
    return count
