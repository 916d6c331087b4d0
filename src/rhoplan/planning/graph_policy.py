"""Policies that plan on a belief graph: on a graph that the caller hands over, or on one of their own.

Shapes: n nodes of a batch.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

import numpy as np

from rhoplan.budget import Budget
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.pomdp import POMDP, Ids
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import ActionValues, AskedOnGraph, BeliefLike, Policy, PolicyOnGraph
from rhoplan.planning.policy_file import is_same

LOOKAHEAD, LOWER_BOUND = "lookahead", "lower bound"
"""Kinds of values: of a plan of H steps; a lower bound on the value of following the policy."""

MOST_NODES = 400_000
"""Size at which the policy's own graph is replaced by a new one: a policy that is called often keeps its memory."""

MEMORY = 2e9
"""Bytes that the policy's own graph may take."""


class PlanOnGraph(PolicyOnGraph, Protocol):
    """A plan at the nodes of a belief graph, with values."""

    def places(self, nodes: Ids) -> Ids:
        """The place (n,) of the action taken at each of `nodes`; of a randomised policy the most probable one."""

    def terms(self, node: int) -> ActionValues:
        """The value of each action at `node` in its terms: non-terminal actions first, otherwise in order."""

    def node_value(self, node: int) -> float:
        """The value at `node`; `Policy.value_kind` says of what."""


class GraphPolicy(Policy):
    """A policy that plans at each belief for `objective`. value_kind: of what `value` returns."""

    objective: Objective

    def __init__(self, problem: POMDP, objective: Objective, *, value_kind: str = LOOKAHEAD) -> None:
        self.problem, self.objective, self.value_kind = problem, objective, value_kind
        self._plan: PlanOnGraph | None = None

    @abstractmethod
    def plan_on(self, graph: BeliefGraph) -> PlanOnGraph:
        """The plan on `graph`, which is one of the policy's problem."""

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        return self.plan_on(graph) if is_same(graph.problem, self.problem) else AskedOnGraph(self, graph)

    def action(self, belief: BeliefLike) -> str:
        plan, node = self._at(belief)
        return plan.graph.action(node, int(plan.places(np.array([node]))[0])).name

    def probabilities(self, belief: BeliefLike) -> dict[str, float]:
        """Of the softmax over action values; with infinite inverse temperature 1 for the action taken."""
        plan, node = self._at(belief)
        _, places, chances = plan.choose(np.array([node]))
        names = plan.graph.table.names(int(plan.graph.observable[node]))
        taken = {names[place]: chance for place, chance in zip(places.tolist(), chances.tolist(), strict=True)}
        return dict.fromkeys(names, 0.0) | taken

    def action_values(self, belief: BeliefLike) -> ActionValues:
        plan, node = self._at(belief)
        return plan.terms(node)

    def value(self, belief: BeliefLike) -> float:
        plan, node = self._at(belief)
        return plan.node_value(node)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_plan": None}

    def _at(self, belief: BeliefLike) -> tuple[PlanOnGraph, int]:
        """The plan on the policy's own graph, and the node of `belief` there."""
        held = self.belief(belief)
        if self._plan is None or self._plan.graph.size > MOST_NODES:
            self._plan = self.plan_on(BeliefGraph(self.problem, budget=Budget(memory=MEMORY)))
        node = self._plan.graph.nodes([held.observable], tuple(one[None, :] for one in held.beliefs))
        return self._plan, int(node[0])
