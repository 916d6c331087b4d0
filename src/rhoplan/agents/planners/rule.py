"""A rule of the problem's own that names an action without looking ahead: the paper's Greedy, Heuristic and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rhoplan.agents.planners.planner import Chooser, GraphPlanner, Seed
from rhoplan.graph.graph import Graph
from rhoplan.model.pomdp import Ids, Rule
from rhoplan.planning.objective import Objective


class Follower(Chooser):
    """A rule on a graph; what it does is explained with the values of exact look-ahead."""

    def __init__(self, graph: Graph, objective: Objective, depth: int, rule: Rule) -> None:
        super().__init__(graph, objective, depth)
        self.rule = rule

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids]:
        slots, ending = np.full(len(nodes), -1), np.full(len(nodes), -1)
        for place, node in enumerate(nodes.tolist()):
            name = self.rule(self.graph.problem, self.graph.situation(node), self.objective.weight_per_nat)
            menu = self.graph.menus[self.graph.visible[node]]
            going = [action.name for action in menu.going]
            if name in going:
                slots[place] = going.index(name)
            else:
                ending[place] = [action.name for action in menu.ending].index(name)
        taken = slots[:, None] == np.arange(self.graph.known.shape[1])
        self.graph.expand(nodes, taken)  # what it does not do may lead to far more than what it does
        return slots, ending


@dataclass(frozen=True)
class FollowRule(GraphPlanner):
    """Does what `rule` says. Not covered: anything the rule does not say; it has no values of its own."""

    name: ClassVar[str] = "rule"
    plans: ClassVar[bool] = False

    horizon: int = 1
    rule: Rule = field(kw_only=True)

    def on(self, graph: Graph, objective: Objective) -> Chooser:
        return Follower(graph, objective, self.horizon, self.rule)

    @property
    def takes(self) -> tuple[str, ...]:
        return ()

    @property
    def told(self) -> str:
        return ""
