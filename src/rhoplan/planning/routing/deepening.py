"""Iterative deepening of exact look-ahead, over a leaf value that is derived from the problem."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rhoplan.budget import Budget
from rhoplan.errors import LimitError
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP, Array, Ids, Leaf
from rhoplan.planning.graph_policy import GraphPolicy
from rhoplan.planning.lookahead import LookaheadOnGraph
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import ActionValues, Seed
from rhoplan.planning.routing.full_information import full_information_leaf
from rhoplan.planning.routing.tour_value import TourValue


@dataclass(frozen=True)
class DeepeningSettings:
    """nodes: size of the belief graph of one decision. depth: of the deepest look-ahead. growth: how many times longer
    the next depth takes, at least: it is not begun if that is more than the time left."""

    nodes: int = 300_000
    depth: int = 200
    growth: float = 4.0


def derived_leaf(problem: POMDP, *, weight: float, discount: float) -> Leaf | None:
    """A leaf value for `problem`: that of the best tour; in a problem with one factor that has none, the expected value
    with full information; None if neither exists, or if observations are followed by one terminal action."""
    if problem.observes_then_commits:
        return None
    with suppress(LimitError):
        tour = TourValue(problem, weight=weight, discount=discount)
        tour.around(problem.start)
        return tour
    with suppress(LimitError):
        return full_information_leaf(problem, discount=discount)
    return None


def deepen(
    problem: POMDP,
    situation: Belief,
    *,
    objective: Objective,
    leaf: Leaf | None,
    seconds: float,
    settings: DeepeningSettings | None = None,
) -> tuple[LookaheadOnGraph, int]:
    """A look-ahead at `situation` as deep as time and nodes allow (one action at least), and its node there."""
    limits = settings or DeepeningSettings()
    deadline = time.perf_counter() + seconds
    graph = BeliefGraph(problem, budget=Budget(nodes=limits.nodes))
    nodes = graph.nodes([situation.observable], tuple(belief[None, :] for belief in situation.beliefs))
    found, before = LookaheadOnGraph(graph, objective, 0, leaf=leaf), 0
    for depth in range(1, limits.depth + 1):
        begin = time.perf_counter()
        try:
            found.layers.arcs(nodes, depth)
        except LimitError:
            break
        now = time.perf_counter()
        found.horizon, is_complete = depth, before == graph.size
        before = graph.size
        if (now - begin) * limits.growth > deadline - now or (is_complete and depth > 2):
            break
    if not found.horizon:
        raise LimitError(f"'{problem.name}' needs more than {limits.nodes:,} nodes for one action ahead")
    return found, int(nodes[0])


class DeepeningPolicy(GraphPolicy):
    """Look-ahead that goes as deep at each belief as `seconds` allow."""

    is_timed = True

    def __init__(self, problem: POMDP, objective: Objective, *, leaf: Leaf | None, seconds: float) -> None:
        super().__init__(problem, objective)
        self.leaf, self.seconds = leaf, seconds

    def plan_on(self, graph: BeliefGraph) -> DeepeningOnGraph:
        return DeepeningOnGraph(self, graph)


class DeepeningOnGraph:
    """`policy` at the nodes of `graph`: a look-ahead of its own for each node."""

    def __init__(self, policy: DeepeningPolicy, graph: BeliefGraph) -> None:
        self.graph, self._policy = graph, policy

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        return np.arange(len(nodes)), self.places(nodes), np.ones(len(nodes))

    def places(self, nodes: Ids) -> Ids:
        found = map(self._deepened, nodes.tolist())
        return np.array([int(plan.places(np.array([root]))[0]) for plan, root in found], dtype=np.int64)

    def terms(self, node: int) -> ActionValues:
        plan, root = self._deepened(node)
        return plan.terms(root)

    def node_value(self, node: int) -> float:
        plan, root = self._deepened(node)
        return plan.node_value(root)

    def _deepened(self, node: int) -> tuple[LookaheadOnGraph, int]:
        policy = self._policy
        return deepen(
            self.graph.problem, self.graph.situation(node), objective=policy.objective, leaf=policy.leaf,
            seconds=policy.seconds,
        )  # fmt: skip
