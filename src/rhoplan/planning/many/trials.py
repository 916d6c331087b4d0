"""Walks down the graph of evidence to where the bounds are furthest apart, and backups on the way back.

At each node the arm is the one of the largest upper bound, the outcome the one whose node leaves most open, weighed by
its probability. A walk ends where the gap is no more than what the root can bear: a share of its own gap.
"""

from __future__ import annotations

import numpy as np

from rhoplan.planning.many.bounds import NONE, Standing
from rhoplan.planning.many.ceilings import Ceilings
from rhoplan.planning.many.graph import (
    ABOVE,
    ARMS,
    BACKED_UP,
    BELOW,
    CHILDREN,
    COUNT,
    FIRST,
    LOWER,
    NODES,
    ROOT,
    STOP,
    TRIALS,
    UPPER,
    WORK,
    Graph,
    Settings,
    expand,
    follow,
    refresh_arm,
    refresh_node,
)
from rhoplan.planning.many.machine import Model, compiled, wide

FAINT = 0.01
"""A walk that has come to something new goes on while what is open there, weighed by the chance of coming there, is
more than this share of what the root can bear: tests that can be repeated have no end."""

GROWTH, LITTLE = 1.3, 1000
"""All nodes are backed up whenever there are so many times as many, and some more."""

DONE, PROVEN, PAUSED, FULL = range(4)
"""What a call came to: the gap is reached, the first action is proven, the work allowed is done, an array is full."""


@compiled
def has_room(graph: Graph, settings: Settings) -> bool:
    """Whether one more node can be expanded and followed."""
    fits: bool = (
        graph.used[NODES] + settings.most_children < len(graph.key)
        and graph.used[ARMS] + settings.most_arms < len(graph.kind)
        and graph.used[CHILDREN] + settings.most_children < len(graph.node)
    )
    return fits


@compiled
def best_arm(model: Model, graph: Graph, node: int, other_than: int) -> int:
    """The arm of `node` with the largest upper bound, brought up to date; -1 where it has none."""
    while True:
        best, found = -np.inf, NONE
        first = graph.arms[node, FIRST]
        for arm in range(first, first + graph.arms[node, COUNT]):
            if arm != other_than and graph.worth[arm, ABOVE] > best:
                best, found = graph.worth[arm, ABOVE], arm
        if found < 0 or graph.child[found] < 0:
            return found
        refresh_arm(model, graph, found)
        if graph.worth[found, ABOVE] >= best:
            return found


@compiled
def first_arm(model: Model, graph: Graph, hair: float) -> int:
    """The arm of the root that no other action can beat; -1 if it is to stop, -2 where that is not proven."""
    stop, best, found = graph.bound[ROOT, STOP], graph.bound[ROOT, STOP], -1
    first = graph.arms[ROOT, FIRST]
    last = first + graph.arms[ROOT, COUNT]
    for arm in range(first, last):
        if graph.worth[arm, BELOW] > best + hair:
            best, found = graph.worth[arm, BELOW], arm
    if found >= 0 and stop > best:
        return -2
    for arm in range(first, last):
        if arm != found and graph.worth[arm, ABOVE] > best + 4 * hair:
            return -2
    return found


@compiled
def walk(
    model: Model,
    ceilings: Ceilings,
    standing: Standing,
    graph: Graph,
    settings: Settings,
    share: float,
    rival: bool,
) -> bool:
    """One walk, and the backups; whether there was room for it.

    share: of the gap at the root, what may stay open. rival: whether to begin with the best rival of the first action.
    """
    node, depth, room = ROOT, 0, True
    reach, is_new = 1.0, False
    bears = share * (graph.bound[ROOT, UPPER] - graph.bound[ROOT, LOWER])
    while depth < len(graph.path):
        if not has_room(graph, settings):
            room = False
            break
        if graph.arms[node, FIRST] < 0:
            expand(model, ceilings, standing, graph, settings, node)
            refresh_node(graph, node)
            is_new = True
        open_here = graph.bound[node, UPPER] - graph.bound[node, LOWER]
        if depth > 0 and (open_here <= bears or (is_new and reach * open_here <= FAINT * bears)):
            break
        leader = NONE
        if depth == 0 and rival:
            best = graph.bound[ROOT, STOP]
            for arm in range(graph.arms[ROOT, FIRST], graph.arms[ROOT, FIRST] + graph.arms[ROOT, COUNT]):
                if graph.worth[arm, BELOW] > best:
                    best, leader = graph.worth[arm, BELOW], arm
        arm = best_arm(model, graph, node, leader)
        if arm < 0:
            arm = leader
        if arm < 0:
            break
        if graph.child[arm] < 0:
            follow(model, ceilings, standing, graph, settings, node, arm)
            refresh_arm(model, graph, arm)
        graph.path[depth, 0], graph.path[depth, 1] = node, arm
        depth += 1
        bears /= settings.discount
        best, found, chance = 0.0, -1, 0.0
        at = graph.child[arm]
        for place in range(at, at + model.first[graph.kind[arm] + 1] - model.first[graph.kind[arm]]):
            other = graph.node[place]
            if other >= 0:
                opens = graph.chance[place] * (graph.bound[other, UPPER] - graph.bound[other, LOWER] - bears)
                if opens > best:
                    best, found, chance = opens, other, graph.chance[place]
        if found < 0:
            break
        node = wide(found)
        reach *= chance
    refresh_node(graph, node)
    for step in range(depth - 1, -1, -1):
        refresh_arm(model, graph, graph.path[step, 1])
        refresh_node(graph, graph.path[step, 0])
    graph.used[TRIALS] += 1
    return room


@compiled
def back_up_all(model: Model, graph: Graph) -> None:
    """Back up every node, the latest first: walks bring one way to a node up to date, and others lead there too."""
    for node in range(graph.used[NODES] - 1, -1, -1):
        first = graph.arms[node, FIRST]
        if first >= 0:
            for arm in range(first, first + graph.arms[node, COUNT]):
                if graph.child[arm] >= 0:
                    refresh_arm(model, graph, arm)
            refresh_node(graph, node)
    graph.used[BACKED_UP] = graph.used[NODES]


@compiled
def run_trials(
    model: Model,
    ceilings: Ceilings,
    standing: Standing,
    graph: Graph,
    settings: Settings,
    gap: float,
    until_proven: bool,
    work: int,
) -> int:
    """Walks until the gap at the root is reached, or `work` beliefs are worked out; what it came to."""
    most = graph.used[WORK] + work
    while True:
        if graph.bound[ROOT, UPPER] - graph.bound[ROOT, LOWER] <= gap and graph.arms[ROOT, FIRST] >= 0:
            return DONE
        if until_proven and graph.arms[ROOT, FIRST] >= 0 and first_arm(model, graph, settings.hair) >= -1:
            return PROVEN
        if graph.used[NODES] > GROWTH * graph.used[BACKED_UP] + LITTLE:
            back_up_all(model, graph)
            continue
        if graph.used[WORK] > most:
            return PAUSED
        turn = graph.used[TRIALS] % 4
        share = 0.9 if turn % 2 == 0 else 0.3
        if not walk(model, ceilings, standing, graph, settings, share, until_proven and turn >= 2):
            return FULL
        graph.used[WORK] += 1
