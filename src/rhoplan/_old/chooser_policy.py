"""Planners that still decide on the old graph, as policies: tree searches and the planner that deepens with time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy as OldGraphPolicy
from rhoplan._old.policy import action_values, preferred
from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planners import BuiltInPlanner
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.problem import Array, Ids, Problem
from rhoplan.planning.graph_policy import LOOKAHEAD
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import ActionValues, BeliefLike, Policy, PolicyOnGraph, Seed, ValueTerms

MOST_NODES = 400_000


class ChooserPolicy(Policy):
    """What a planner chooses on the old graph, belief by belief."""

    def __init__(self, problem: Problem, objective: Objective, planner: BuiltInPlanner, seed: int = 0) -> None:
        self.problem, self.objective, self.planner, self.seed = problem, objective, planner, seed
        self.samples, self.is_timed = planner.samples, planner.is_timed
        self.value_kind = None if planner.samples else LOOKAHEAD

    def action(self, belief: BeliefLike) -> str:
        policy, node = self.at(belief)
        if policy.is_deterministic:
            return policy.action(node).name
        return preferred(policy, node, action_values(policy, node, self.seed)).name

    def probabilities(self, belief: BeliefLike) -> dict[str, float]:
        policy, node = self.at(belief)
        menu = policy.graph.menus[policy.graph.visible[node]]
        _, ending, going = policy.opened(node, self.seed)
        names = [action.name for action in (*menu.going, *menu.ending)]
        return dict(zip(names, [*going[: len(menu.going)].tolist(), *ending.tolist()], strict=True))

    def action_values(self, belief: BeliefLike) -> ActionValues:
        policy, node = self.at(belief)
        rows = [
            ValueTerms(one.name, one.reward, one.information, one.weighted_information, one.continuation)
            for one in action_values(policy, node, self.seed)
        ]
        scale = float(policy.plan.utility.scale(policy.graph, np.array([node]))[0])
        return ActionValues(tuple(rows), "estimated" if self.samples else LOOKAHEAD, scale)

    def value(self, belief: BeliefLike) -> float:
        if self.samples:
            return super().value(belief)
        return max(row.value for row in self.action_values(belief).rows)

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        return ChooserOnGraph(self, graph)

    def at(self, belief: BeliefLike) -> tuple[OldGraphPolicy, int]:
        situation = self.belief(belief).situation
        if self._policy.graph.size > MOST_NODES:
            del self._policy
        return self._policy, self._policy.graph.node(situation)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_policy"}

    @cached_property
    def _policy(self) -> OldGraphPolicy:
        return OldGraphPolicy(Graph(self.problem), BoundAgent("", objective=self.objective, planner=self.planner))


class ChooserOnGraph:
    """The same at the nodes of a new graph."""

    def __init__(self, policy: ChooserPolicy, graph: BeliefGraph) -> None:
        self.graph, self.policy = graph, policy

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        places = []
        for number, node in enumerate(nodes.tolist()):
            held = self.graph.situation(node)
            policy = self.policy._policy
            there = np.array([policy.graph.node(held)])
            slots, endings = policy.chooser.choose(there, [seeds[number]] if len(seeds) else [(self.policy.seed,)])
            menu = policy.graph.menus[policy.graph.visible[there[0]]]
            name = (menu.going[slots[0]] if slots[0] >= 0 else menu.ending[endings[0]]).name
            places.append(self.graph.table.names(int(self.graph.observable[node])).index(name))
        return np.arange(len(nodes)), np.array(places, dtype=np.int64), np.ones(len(nodes))
