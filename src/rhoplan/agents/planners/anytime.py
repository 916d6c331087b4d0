"""Exact look-ahead over a leaf derived from the problem (`planning.errands`), deeper while there is time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rhoplan.agents.planners.planner import Chooser, GraphPlanner, Seed
from rhoplan.errors import AgentError
from rhoplan.graph.graph import Graph
from rhoplan.model.pomdp import Array, Ids, Leaf, Problem
from rhoplan.planning.errands.anytime import deepen, derived_leaf
from rhoplan.planning.exact import Plan
from rhoplan.planning.objective import Objective

SHORT_HORIZON = 2
"""Look-ahead on factored problems when nobody asks for another: the leaf sees the rest."""


class Deepening(Chooser):
    """Look-ahead that goes deeper at each node as long as its time lasts."""

    def __init__(self, graph: Graph, objective: Objective, depth: int, leaf: Leaf | None, seconds: float) -> None:
        super().__init__(graph, objective, depth, leaf)
        self.seconds = seconds

    def deepened(self, node: int) -> tuple[Plan, int, int]:
        """A plan for `node` as deep as time allows, its node there, and its depth."""
        return deepen(
            self.graph.problem,
            self.graph.situation(node),
            self.objective.rho,
            discount=self.objective.discount_factor,
            commits_count=self.objective.terminal_rewards,
            leaf=self.leaf,
            seconds=self.seconds,
        )

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids]:
        self.graph.expand(nodes)
        slots = np.empty(len(nodes), dtype=np.int64)
        for place, node in enumerate(nodes.tolist()):
            plan, root, depth = self.deepened(node)
            slots[place] = plan.choices(np.array([root]), depth)[0]
        return slots, self.plan.best_ending(nodes)[1]

    def explain(self, node: int, seed: Seed) -> tuple[Array, int, int]:
        plan, root, depth = self.deepened(node)
        there = np.array([root])
        later = plan.action_values(there, depth)[2][0]
        return later, int(plan.choices(there, depth)[0]), int(plan.best_ending(there)[1][0])


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
