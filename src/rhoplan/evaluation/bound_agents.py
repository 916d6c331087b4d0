"""Agents of the old engine as policies on a belief graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planned import AgentPolicy
from rhoplan.agents.planners.external import ExternalPlanner, FollowPolicy
from rhoplan.agents.planners.many import Many
from rhoplan.evaluation.exact import policy_of
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import Array, Ids, Problem
from rhoplan.planning.policy import Policy, PolicyOnGraph, Seed


class BoundAgentPolicy(AgentPolicy):
    """What `agent` does in `problem`, at many nodes at once."""

    @property
    def samples(self) -> bool:  # type: ignore[override]
        """Whether actions depend on random numbers, or on time."""
        return not self.agent.planner.is_fixed

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        planner = self.agent.planner
        if isinstance(planner, ExternalPlanner):
            return planner.planner.solve(graph.problem, self.agent.objective).on(graph)
        if isinstance(planner, FollowPolicy):
            return planner.rule.policy.on(graph)
        if planner.samples or planner.is_timed or isinstance(planner, Many):
            return ChooserOnGraph(graph, self.agent)
        return policy_of(self.agent, graph)


class ChooserOnGraph:
    """A planner of the old engine, asked on a graph of its own."""

    def __init__(self, graph: BeliefGraph, agent: BoundAgent) -> None:
        self.graph, self._agent = graph, agent
        self._own = Graph(graph.problem)
        self._chooser = agent.planner.on(self._own, agent.objective)
        self._kept: dict[int, int] = {}

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        if self._agent.planner.samples:
            places = self._places(nodes, seeds)
        else:
            fresh = np.array([node for node in np.unique(nodes).tolist() if node not in self._kept], dtype=np.int64)
            self._kept |= dict(zip(fresh.tolist(), self._places(fresh, ()).tolist(), strict=True))
            places = np.array([self._kept[node] for node in nodes.tolist()], dtype=np.int64)
        return np.arange(len(nodes)), places, np.ones(len(nodes))

    def _places(self, nodes: Ids, seeds: Sequence[Seed]) -> Ids:
        if not nodes.size:
            return nodes
        there = np.array([self._own.node(self.graph.situation(node)) for node in nodes.tolist()])
        slots, endings = self._chooser.choose(there, seeds)
        places = np.empty(len(nodes), dtype=np.int64)
        for row, (node, own) in enumerate(zip(nodes.tolist(), there.tolist(), strict=True)):
            menu = self._own.menus[self._own.visible[own]]
            action = menu.going[slots[row]] if slots[row] >= 0 else menu.ending[endings[row]]
            places[row] = self.graph.table.names(int(self.graph.observable[node])).index(action.name)
        return places


def as_policy(problem: Problem, policy: Policy | BoundAgent) -> Policy:
    """The policy that an agent is in `problem`; a policy itself."""
    return BoundAgentPolicy(problem, policy) if isinstance(policy, BoundAgent) else policy
