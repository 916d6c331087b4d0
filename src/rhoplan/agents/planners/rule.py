"""A rule of the problem's own that names an action without looking ahead: the paper's Greedy, Heuristic and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rhoplan.agents.planners.planner import Chooser, GraphPlanner
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import Array, Ids, Problem, Rule
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import BeliefLike, Policy, PolicyOnGraph, Seed, checked_action


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


class RulePolicy(Policy):
    """Follows a rule of the problem, which gets the price of information of `objective`."""

    name = "rule"

    def __init__(self, problem: Problem, rule: Rule, objective: Objective) -> None:
        self.problem, self.rule, self.objective = problem, rule, objective

    def action(self, belief: BeliefLike) -> str:
        held = self.belief(belief)
        return checked_action(held, self.rule(self.problem, held.situation, self.objective.weight_per_nat), self.name)

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        return RuleOnGraph(graph, self.rule, self.objective.weight_per_nat)


class RuleOnGraph:
    """A rule at the nodes of a belief graph; what it does at a node is kept."""

    def __init__(self, graph: BeliefGraph, rule: Rule, weight: float) -> None:
        self.graph, self._rule, self._weight = graph, rule, weight
        self._kept: dict[int, int] = {}

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        graph = self.graph
        for node in nodes.tolist():
            if node not in self._kept:
                graph.budget.check(graph.size, graph.nbytes)
                name = self._rule(graph.problem, graph.situation(node), self._weight)
                self._kept[node] = graph.table.names(int(graph.observable[node])).index(name)
        places = np.array([self._kept[node] for node in nodes.tolist()], dtype=np.int64)
        return np.arange(len(nodes)), places, np.ones(len(nodes))


@dataclass(frozen=True)
class FollowRule(GraphPlanner):
    """Does what `rule` says. Not covered: anything the rule does not say; it has no values of its own."""

    name: ClassVar[str] = "rule"
    plans: ClassVar[bool] = False

    horizon: int = 1
    rule: Rule = field(kw_only=True)

    def policy(self, problem: Problem, objective: Objective, *, seed: int = 0) -> Policy:
        return RulePolicy(problem, self.rule, objective)

    def on(self, graph: Graph, objective: Objective) -> Chooser:
        return Follower(graph, objective, self.horizon, self.rule)

    @property
    def takes(self) -> tuple[str, ...]:
        return ()

    @property
    def told(self) -> str:
        return ""
