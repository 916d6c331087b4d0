"""Iterative deepening of exact look-ahead, over a leaf value that is derived from the problem."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rhoplan.budget import Budget
from rhoplan.errors import LimitError
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP, Leaf
from rhoplan.planning.lookahead import LookaheadOnGraph, LookaheadPolicy
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import BeliefLike, Policy
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
    start: Belief,
    *,
    objective: Objective,
    leaf: Leaf | None,
    seconds: float,
    settings: DeepeningSettings | None = None,
) -> tuple[LookaheadOnGraph, int]:
    """A look-ahead at `start` as deep as time and nodes allow (one action at least), and its node there."""
    limits = settings or DeepeningSettings()
    deadline = time.perf_counter() + seconds
    graph = BeliefGraph(problem, budget=Budget(nodes=limits.nodes))
    found, before = LookaheadOnGraph(graph, objective, 0, leaf=leaf), 0
    node = found.node(start)
    for depth in range(1, limits.depth + 1):
        begin = time.perf_counter()
        try:
            found.layers.arcs(np.array([node]), depth)
        except LimitError:
            break
        now = time.perf_counter()
        found.horizon, is_complete = depth, before == graph.size
        before = graph.size
        if (now - begin) * limits.growth > deadline - now or (is_complete and depth > 2):
            break
    if not found.horizon:
        raise LimitError(f"'{problem.name}' needs more than {limits.nodes:,} nodes for one action ahead")
    return found, node


class DeepeningPolicy(LookaheadPolicy):
    """Look-ahead that goes as deep at each belief as `seconds` allow. The objective must take the best action."""

    is_timed = True
    on = Policy.on

    def __init__(self, problem: POMDP, objective: Objective, *, leaf: Leaf | None, seconds: float) -> None:
        super().__init__(problem, objective, 1, leaf=leaf)
        self.seconds = seconds

    def plan_at(self, belief: BeliefLike) -> tuple[LookaheadOnGraph, int]:
        """A look-ahead of its own for each belief."""
        start = self.belief(belief)
        return deepen(self.problem, start, objective=self.objective, leaf=self.leaf, seconds=self.seconds)
