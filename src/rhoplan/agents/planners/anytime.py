"""Exact look-ahead over a leaf derived from the problem (`planning.routing`), deeper while there is time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rhoplan.agents.planners.planner import Chooser, GraphPlanner, Seed
from rhoplan.errors import AgentError
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import Array, Ids, Leaf, Problem
from rhoplan.planning.lookahead import LookaheadOnGraph
from rhoplan.planning.objective import Objective
from rhoplan.planning.routing.deepening import deepen, derived_leaf

SHORT_HORIZON = 2
"""Look-ahead on factored problems when nobody asks for another: the leaf sees the rest."""


class Deepening(Chooser):
    """Look-ahead that goes deeper at each node as long as its time lasts."""

    def __init__(self, graph: Graph, objective: Objective, depth: int, leaf: Leaf | None, seconds: float) -> None:
        super().__init__(graph, objective, depth, leaf)
        self.seconds = seconds

    def deepened(self, node: int) -> tuple[LookaheadOnGraph, int]:
        """A plan for `node` as deep as time allows, and its node there."""
        return deepen(
            self.graph.problem,
            self.graph.situation(node),
            objective=self.objective,
            leaf=self.leaf,
            seconds=self.seconds,
        )

    def _slot_and_ending(self, plan: LookaheadOnGraph, root: int) -> tuple[int, int]:
        terminal = int(plan.graph.table.terminal_count[plan.graph.observable[root]])
        place, ending = int(plan.places(np.array([root]))[0]), int(plan.graph.stop_place[root])
        return (place - terminal, ending) if place >= terminal else (-1, place)

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids]:
        self.graph.expand(nodes)
        found = np.array([self._slot_and_ending(*self.deepened(node)) for node in nodes.tolist()])
        return found[:, 0], found[:, 1]

    def explain(self, node: int, seed: Seed) -> tuple[Array, int, int]:
        plan, root = self.deepened(node)
        arcs, values = plan.action_values(np.array([root]))
        return values.continuation[~arcs.is_terminal], *self._slot_and_ending(plan, root)


@dataclass(frozen=True)
class AnytimePlanner(GraphPlanner):
    """Exact look-ahead over `horizon` actions, or as many as `seconds` allow, then what errands and walks are worth.

    Not covered: utilities other than information on problems whose leaf is derived; `on` refuses them.
    """

    name: ClassVar[str] = "anytime"

    seconds: float | None = None

    def check(self, objective: Objective) -> None:
        if self.is_timed and math.isfinite(objective.inverse_temperature):
            raise AgentError(
                "time and precision do not go together: a plan that deepens takes the best action",
                field=("precision",),
                code="setting-conflict",
            )

    def on(self, graph: Graph, objective: Objective) -> Chooser:
        problem = graph.problem
        leaf = derived_leaf(problem, weight=objective.weight_per_nat, discount=objective.discount_factor)
        if leaf is not None and not objective.is_information:
            raise AgentError(
                f"planner anytime derives what '{problem.name}' is worth beyond the horizon from reward and weighted "
                f"information; utility {objective.belief_utility.name} does not count there: use planner exact",
                field=("utility",),
                code="planner-unsupported",
            )
        if self.seconds is None:
            return Chooser(graph, objective, self.horizon, leaf)
        return Deepening(graph, objective, self.horizon, leaf, self.seconds)

    @classmethod
    def for_problem(cls, problem: Problem, **settings: Any) -> GraphPlanner:
        usual = {} if problem.observes_then_commits else {"horizon": SHORT_HORIZON}
        return super().for_problem(problem, **usual | settings)
