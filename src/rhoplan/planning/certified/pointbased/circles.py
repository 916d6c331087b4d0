"""Circles of beliefs, without a discount: the upper bound where one can go round for ever and gain nothing.

A step that gains nothing and leads back to where one was says V <= V there, and no backup lowers a bound that is too
high all around. But who never leaves such a circle gains nothing, and who leaves it, or ends, gains what the step out
of it is worth: so no belief of it is worth more than 0 and the best step out, which is what the bounds are lowered to.
Steps that cost may be part of a circle or count as ways out of smaller ones: both hold, and either may say more.
Trials stop in such a circle, all of whose steps look the same: the way out is walked from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.components import Flags, circles_of
from rhoplan.planning.certified.pointbased.above import add_point
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.graph import (
    ABOVE,
    CHILDREN,
    GAP,
    HOME,
    NODES,
    PAID,
    ROOT,
    SLOT,
    SLOTS,
    UPPER,
    Graph,
    Settings,
)
from rhoplan.planning.certified.pointbased.machine import compiled
from rhoplan.planning.certified.pointbased.trials import has_room

MOST_EXITS = 20
"""Circles, oldest first, whose way out is walked at a time."""


class WayOut(NamedTuple):
    """The best step out of a circle: the node it is taken at, its pair, and which nodes lie in the circle."""

    node: int
    pair: int
    inside: Flags


def lower_circles(model: Model, graph: Graph, settings: Settings, least: float) -> list[WayOut]:
    """Lower the upper bounds of all beliefs that lie on a circle of steps which pay `least` or more, and nothing at the
    most; the best ways out of the oldest circles."""
    count, steps = int(graph.used[NODES]), int(graph.used[CHILDREN])
    source, row, target = (np.empty(steps, dtype=np.int64) for _ in range(3))
    free = np.zeros(int(graph.used[SLOTS]), dtype=bool)
    steps = free_steps(model, graph, least, source, row, target, free)
    circle, staying = circles_of(source[:steps], row[:steps], target[:steps], free, count)
    best, ways = np.zeros(count), np.full((2, count), -1)
    lower_all(model, graph, settings, circle, staying, best, ways)
    _, oldest = np.unique(circle[circle >= 0], return_index=True)
    numbers = circle[circle >= 0][np.sort(oldest)][:MOST_EXITS]
    left = [number for number in numbers if ways[0, number] >= 0]
    nodes, slots = ways[:, left]
    pairs = model.class_pair[graph.node[nodes, HOME]] + slots - graph.node[nodes, SLOT]
    return [WayOut(node, pair, circle == one) for node, pair, one in zip(nodes, pairs, left, strict=True)]


@compiled
def free_steps(model: Model, graph: Graph, least: float, source: Ids, row: Ids, target: Ids, free: Flags) -> int:
    """List the steps that pay from `least` to nothing: the node each leads from and to, and its slot; how many. free:
    those slots."""
    count = 0
    for node in range(graph.used[NODES]):
        home, first = graph.node[node, HOME], graph.node[node, SLOT]
        if first < 0:
            continue
        for pair in range(model.class_pair[home], model.class_pair[home + 1]):
            slot = first + pair - model.class_pair[home]
            begin = graph.slot_child[slot]
            if begin < 0 or not least <= graph.slot[slot, PAID] <= 0.0:
                continue
            free[slot] = True
            for place in range(begin, begin + model.pair_branch[pair + 1] - model.pair_branch[pair]):
                if graph.child[place] >= 0:
                    source[count], row[count], target[count] = node, slot, graph.child[place]
                    count += 1
    return count


@compiled
def lower_all(
    model: Model, graph: Graph, settings: Settings, circle: Ids, staying: Flags, best: Array, ways: Ids
) -> None:
    """Lower each node on a circle to the best step out of it, or 0. staying: slots that stay inside.

    best: zeros, which become what each circle is worth at most. ways (2, nodes): -1, which become the node and the slot
    of the best step out of each circle that is worth anything.
    """
    for node in range(len(circle)):
        number = circle[node]
        if number >= 0:
            home, first = graph.node[node, HOME], graph.node[node, SLOT]
            for slot in range(first, first + model.class_pair[home + 1] - model.class_pair[home]):
                if not staying[slot] and graph.slot[slot, ABOVE] > best[number]:
                    best[number], ways[0, number], ways[1, number] = graph.slot[slot, ABOVE], node, slot
    for node in range(len(circle)):
        if circle[node] < 0:
            continue
        home, first, most = graph.node[node, HOME], graph.node[node, SLOT], best[circle[node]] + settings.outward
        for slot in range(first, first + model.class_pair[home + 1] - model.class_pair[home]):
            if staying[slot]:
                graph.slot[slot, ABOVE] = min(graph.slot[slot, ABOVE], most)
        fall = graph.bound[node, UPPER] - most
        if fall > 0.0:
            graph.bound[node, UPPER] = most
            if fall > settings.coarse * graph.bound[ROOT, GAP] and has_room(graph, settings):
                add_point(model, graph, node, settings.potential)
