"""The plan behind the lower bound: which nodes it comes to, what it does there, and how it scores."""

from __future__ import annotations

from typing import NamedTuple

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.many.bounds import NONE, Standing, price_now, read_key
from rhoplan.planning.many.ceilings import Ceilings
from rhoplan.planning.many.graph import (
    BELOW,
    COUNT,
    FIRST,
    ROOT,
    STOP,
    Graph,
    Settings,
    follow,
    refresh_arm,
    refresh_node,
)
from rhoplan.planning.many.machine import Model, compiled, wide
from rhoplan.planning.many.trials import has_room

REWARD, TESTS, SUCCESS, TRUNCATED = range(4)
"""Columns of Followed.score."""


class Followed(NamedTuple):
    """The nodes of a plan, from the root on, all of one number of tests before those of the next.

    order, arm, depth (n,): nodes, the arms taken there (-1 to stop), and tests run before. place (N,): where a node
    stands in `order`, -1 where the plan does not come. price (n,): what the test taken costs.
    score (n, 4): expectations from
    there on. reached (1,): n.
    """

    order: Ids
    arm: Ids
    depth: Ids
    place: Ids
    price: Array
    score: Array
    reached: Ids


@compiled
def leading_arm(graph: Graph, node: int, hair: float) -> int:
    """The arm of `node` with the largest lower bound; -1 where stopping is as good."""
    best, found = graph.bound[node, STOP], NONE
    first = graph.arms[node, FIRST]
    for arm in range(first, first + graph.arms[node, COUNT]):
        if graph.worth[arm, BELOW] > best + hair:
            best, found = graph.worth[arm, BELOW], arm
    return found


@compiled
def follow_plan(
    model: Model,
    ceilings: Ceilings,
    standing: Standing,
    graph: Graph,
    settings: Settings,
    followed: Followed,
) -> bool:
    """Follow the plan from the root to all its ends; whether there was room for that."""
    followed.order[0], followed.depth[0], followed.place[ROOT] = ROOT, 0, 0
    count, at = 1, 0
    while at < count:
        node = followed.order[at]
        arm = leading_arm(graph, node, settings.hair)
        followed.arm[at] = arm
        if arm >= 0:
            read_key(model, ceilings, graph.key[node], standing)
            followed.price[at] = price_now(model, standing, wide(graph.kind[arm]))
            if graph.child[arm] < 0:
                if not has_room(graph, settings):
                    return False
                follow(model, ceilings, standing, graph, settings, node, arm)
            first = graph.child[arm]
            for place in range(first, first + model.first[graph.kind[arm] + 1] - model.first[graph.kind[arm]]):
                other = graph.node[place]
                if other >= 0 and followed.place[other] < 0:
                    followed.order[count], followed.place[other] = other, count
                    followed.depth[count] = followed.depth[at] + 1
                    count += 1
        at += 1
    followed.reached[0] = count
    return True


@compiled
def score_plan(
    model: Model, graph: Graph, settings: Settings, followed: Followed, ends: Array, most_tests: int
) -> None:
    """Back up the lower bounds along the plan, and its score, from the ends to the root.

    ends (n, 2): reward and success of the best commit at each node. most_tests: after so many it is cut off.
    """
    for at in range(followed.reached[0] - 1, -1, -1):
        node, arm = followed.order[at], followed.arm[at]
        for column in range(4):
            followed.score[at, column] = 0.0
        if arm < 0:
            followed.score[at, REWARD], followed.score[at, SUCCESS] = ends[at, 0], ends[at, 1]
            continue
        refresh_arm(model, graph, arm)
        refresh_node(graph, node)
        if followed.depth[at] >= most_tests:
            followed.score[at, TRUNCATED] = 1.0
            continue
        followed.score[at, TESTS], followed.score[at, REWARD] = 1.0, -followed.price[at]
        first = graph.child[arm]
        for place in range(first, first + model.first[graph.kind[arm] + 1] - model.first[graph.kind[arm]]):
            if graph.node[place] >= 0:
                other, chance = followed.place[graph.node[place]], graph.chance[place] / settings.discount
                for column in range(4):
                    followed.score[at, column] += chance * followed.score[other, column]
