"""Scouting: before walks refine, a plan that asks for the most information per price, where most cases come.

Where tests are many and each tells little, a plan of few tests is worth hardly more than stopping, and walks, which go
where the upper bound is highest, spread over all of them. A scout goes one way, deep: at each node it follows the test
that tells most for its price, at the root a few of them. What it comes to are nodes like any others, and are backed
up like any others: the lower bound is what a plan is worth that stops wherever that is better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.many.bounds import Standing, price_now
from rhoplan.planning.many.ceilings import Ceilings
from rhoplan.planning.many.graph import (
    COUNT,
    FIRST,
    ROOT,
    STOP,
    WORK,
    Graph,
    Settings,
    expand,
    follow,
    posterior,
    stand_at,
)
from rhoplan.planning.many.machine import Model, compiled, entropy_of_groups, wide
from rhoplan.planning.many.trials import has_room

AT_ROOT = 3
"""Tests that are followed at the root."""

HELD, SEEN = range(2)
"""Places in Frontier.used: how many nodes it holds, and how many of them have been looked at."""


class Frontier(NamedTuple):
    """Nodes (n,) that scouts go on from, the share (n,) of cases that come there; rate (A,): scratch. used: see above.

    There is room for the nodes that one more node leads to as long as `fits` says so.
    """

    node: Ids
    reach: Array
    rate: Array
    used: Ids


def make_frontier(room: int, arms: int) -> Frontier:
    """The root alone, and room for others."""
    frontier = Frontier(
        np.zeros(room, dtype=np.int64), np.zeros(room), np.zeros(arms), np.array([1, 0], dtype=np.int64)
    )
    frontier.node[0], frontier.reach[0] = ROOT, 1.0
    return frontier


@compiled
def at_stake(model: Model, graph: Graph, node: int) -> float:
    """What knowing the state for nothing would be worth at `node`, beyond stopping."""
    total = -graph.bound[node, STOP]
    for s in range(graph.belief.shape[1]):
        total += graph.belief[node, s] * model.best[s]
    return float(total)


@compiled
def rate_arms(model: Model, standing: Standing, graph: Graph, node: int, rate: Array) -> None:
    """Fill `rate` with the nats per price of each arm of `node`, whose `standing` is; -1 beyond the last arm."""
    first, belief = graph.arms[node, FIRST], graph.belief[node]
    before = entropy_of_groups(belief, model.asked)
    for place in range(len(rate)):
        rate[place] = -1.0
    for place in range(graph.arms[node, COUNT]):
        kind, told = wide(graph.kind[first + place]), before
        for q in range(model.first[kind], model.first[kind + 1]):
            chance = posterior(model, belief, q, graph.after)
            if chance > 0.0:
                told -= chance * entropy_of_groups(graph.after, model.asked)
        price = price_now(model, standing, kind)
        rate[place] = max(told, 0.0) / price if price > 0.0 else np.inf


@compiled
def fits(graph: Graph, settings: Settings, frontier: Frontier) -> bool:
    """Whether there is room for one more node to be followed, at the root too."""
    return has_room(graph, settings) and frontier.used[HELD] + AT_ROOT * settings.most_children < len(frontier.node)


@compiled
def scout(
    model: Model,
    ceilings: Ceilings,
    standing: Standing,
    graph: Graph,
    settings: Settings,
    frontier: Frontier,
    least: float,
    work: int,
) -> bool:
    """Go on from nodes where more than `least` is at stake, until all work is done; whether there was room for that.

    Nodes where less is at stake stay on the frontier for another call.
    """
    most, kept, room = graph.used[WORK] + work, 0, True
    while frontier.used[SEEN] < frontier.used[HELD]:
        at = frontier.used[SEEN]
        node, reach = frontier.node[at], frontier.reach[at]
        frontier.used[SEEN] += 1
        room = room and fits(graph, settings, frontier)
        if not room or graph.used[WORK] >= most or reach * at_stake(model, graph, node) <= least:
            frontier.node[kept], frontier.reach[kept] = node, reach
            kept += 1
            continue
        if graph.arms[node, FIRST] < 0:
            expand(model, ceilings, standing, graph, settings, node)
        else:
            stand_at(model, ceilings, standing, graph, node)
        rate_arms(model, standing, graph, node, frontier.rate)
        for _ in range(AT_ROOT if node == ROOT else 1):
            place = int(np.argmax(frontier.rate))
            if frontier.rate[place] <= 0.0 or not has_room(graph, settings):
                break
            frontier.rate[place] = -1.0
            arm = wide(graph.arms[node, FIRST] + place)
            if graph.child[arm] < 0:
                follow(model, ceilings, standing, graph, settings, node, arm)
            first, kind = graph.child[arm], graph.kind[arm]
            for q in range(first, first + model.first[kind + 1] - model.first[kind]):
                if graph.node[q] >= 0:
                    held = frontier.used[HELD]
                    frontier.node[held], frontier.reach[held] = (
                        graph.node[q],
                        reach * graph.chance[q] / settings.discount,
                    )
                    frontier.used[HELD] += 1
    frontier.used[HELD], frontier.used[SEEN] = kept, 0
    return room
