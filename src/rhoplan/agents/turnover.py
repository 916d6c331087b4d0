"""How much money changes hands when a decision is followed: losses and gains, each counted as positive.

The measure for whether a difference between two actions matters. In a model of losses it is the expected loss, tests
included; where gains and losses cancel, so that the value is near 0, it is not. Information is no money and not in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rhoplan.graph.merging import distinct
from rhoplan.model.problem import Array, Ids

if TYPE_CHECKING:
    from rhoplan.agents.policy import ActionValue, Policy


def turnover(policy: Policy, node: int, chosen: ActionValue) -> float:
    """Expected losses and gains of `chosen` at `node` and of the plan afterwards, as far as it looks ahead.

    Later ones are discounted as the plan does. Where the plan has a leaf of its own, the size of that is counted; where
    there is none to walk along (planners that sample, are timed or follow a rule), the size of the continuation.
    """
    planner, plan, graph = policy.agent.planner, policy.plan, policy.graph
    if not planner.plans or not planner.is_fixed:
        return abs(chosen.reward) + (abs(chosen.continuation) if np.isfinite(chosen.continuation) else 0.0)
    menu = graph.menus[int(graph.visible[node])]
    names = [action.name for action in menu.going]
    nodes: Ids = np.array([node])
    mass: Array = np.ones(1)
    total = 0.0
    slots, ending = np.array([names.index(chosen.name) if chosen.name in names else -1]), None
    if slots[0] < 0:
        ending = np.array([[action.name for action in menu.ending].index(chosen.name)])
    for level in range(policy.chooser.depth, 0, -1):
        stops = np.flatnonzero(slots < 0)
        total += float(mass[stops] @ _ending(policy, nodes[stops], ending))
        goes = np.flatnonzero(slots >= 0)
        nodes, mass, slots = nodes[goes], mass[goes], slots[goes]
        if not goes.size:
            return total
        rows = np.arange(len(nodes))
        total += float(mass @ (2 * graph.going_gains(nodes) - graph.reward[nodes])[rows, slots])
        arcs, chances = graph.next[nodes, slots], graph.probability[nodes, slots] * mass[:, None]
        there = arcs >= 0
        nodes, ending = distinct(arcs[there], graph.size), None
        mass = np.zeros(len(nodes))
        np.add.at(mass, np.searchsorted(nodes, arcs[there]), plan.discount * chances[there])
        slots = plan.choices(nodes, level - 1) if level > 1 else np.full(len(nodes), -1)
    leaf = _ending(policy, nodes, None) if plan.leaf is None else np.abs(plan.values(nodes, 0))
    return total + float(mass @ leaf)


def _ending(policy: Policy, nodes: Ids, ending: Ids | None) -> Array:
    """Losses and gains (n,) of ending at `nodes`, by `ending` (n,) or as the plan does; 0 where nothing ends."""
    plan, graph = policy.plan, policy.graph
    result = np.zeros(len(nodes))
    if not nodes.size or not plan.commits_count:
        return result
    taken = plan.best_ending(nodes)[1] if ending is None else ending
    for visible, places in graph.by_endings(nodes):
        if graph.menus[visible].ending:
            here = nodes[places]
            sizes = 2 * graph.ending_gains(here, visible) - graph.ending_rewards(here, visible)
            result[places] = sizes[np.arange(len(here)), taken[places]]
    return result
