"""How much money changes hands when a decision is followed: losses and gains, each counted as positive.

The measure for whether a difference between two actions matters. In a model of losses it is the expected loss, tests
included; where gains and losses cancel, so that the value is near 0, it is not. Information is no money and not in it.

Kept for advice; their rebuild deletes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rhoplan._old.flow import Chosen, Flow
from rhoplan.model.pomdp import Array, Ids

if TYPE_CHECKING:
    from rhoplan._old.policy import GraphPolicy
    from rhoplan.planning.recommendation import ActionValue


def turnover(policy: GraphPolicy, node: int, chosen: ActionValue) -> float:
    """Expected losses and gains of `chosen` at `node` and of the plan afterwards, as far as it looks ahead.

    Later ones are discounted as the plan does. Where the plan has a leaf of its own, the size of that is counted; where
    there is none to walk along (planners that sample, are timed or follow a rule), the size of the continuation.
    """
    planner, plan, graph = policy.agent.planner, policy.plan, policy.graph
    if not planner.plans or planner.samples or planner.is_timed:
        return abs(chosen.reward) + (abs(chosen.continuation) if np.isfinite(chosen.continuation) else 0.0)
    total, begun = 0.0, float(plan.fades(np.array([node]))[0, 0])
    for layer in Flow(_Ahead(policy, node, chosen.name), nodes=[node], cap=policy.chooser.depth, least=0.0):
        acts, fade = layer.acts, begun * plan.discount ** (layer.step - 1) if layer.step else 1.0
        if layer.is_cut:
            leaf = np.abs(plan.values(layer.node, 0))
            if plan.leaf is None:
                leaf = _ending(policy, layer.node, plan.best_ending(layer.node)[1])
            return total + fade * float(layer.mass @ leaf)
        goes, stops = (layer.node[acts.row[part]] for part in (acts.going, acts.stops))
        sizes = (2 * graph.going_gains(goes) - graph.reward[goes])[np.arange(len(goes)), acts.slot[acts.going]]
        ends = _ending(policy, stops, acts.ending[acts.stops])
        total += fade * float(acts.mass[acts.going] @ sizes + acts.mass[acts.stops] @ ends)
    return total


class _Ahead(Chosen):
    """The action called `first` at `node`, then the plan, with one action less ahead in each layer."""

    def __init__(self, policy: GraphPolicy, node: int, first: str) -> None:
        graph, self.plan, self.left = policy.graph, policy.plan, policy.chooser.depth
        menu = graph.menus[int(graph.observable[node])]
        going, ending = ([action.name for action in part] for part in (menu.going, menu.ending))
        slot, end = (going.index(first), -1) if first in going else (-1, ending.index(first))
        super().__init__(graph, np.full(graph.size, slot), np.full(graph.size, end))
        self._begun = False

    def settle(self, nodes: Ids) -> None:
        if self._begun:
            self.left -= 1
            slots, ends = self.plan.choices(nodes, self.left), self.plan.best_ending(nodes)[1]
            self.choice, self.ending = (np.empty(self.graph.size, dtype=np.int64) for _ in range(2))
            self.choice[nodes], self.ending[nodes] = slots, ends
        self._begun = True


def _ending(policy: GraphPolicy, nodes: Ids, taken: Ids) -> Array:
    """Losses and gains (n,) of ending at `nodes` by `taken` (n,); 0 where nothing ends."""
    plan, graph = policy.plan, policy.graph
    result = np.zeros(len(nodes))
    if not nodes.size or not plan.commits_count:
        return result
    for observable, places in graph.by_endings(nodes):
        if graph.menus[observable].ending:
            here = nodes[places]
            sizes = 2 * graph.ending_gains(here, observable) - graph.ending_rewards(here, observable)
            result[places] = sizes[np.arange(len(here)), taken[places]]
    return result
