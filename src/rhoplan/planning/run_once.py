"""A policy that searches at each belief: branch and bound over evidence, for dozens of tests that run once."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.model.pomdp import POMDP, Array, Ids
from rhoplan.planning.lookahead import LookaheadOnGraph, LookaheadPolicy
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import LOWER_BOUND, ActionValues, BeliefLike

if TYPE_CHECKING:
    from rhoplan.planning.many import ManySolution
    from rhoplan.planning.many.search import Search

USUAL_WORK = 250_000
"""Beliefs that a decision without a time limit visits: some tenths of a second, and the same on every machine."""


class RunOnceOnGraph(LookaheadOnGraph):
    """Look-ahead of one action, continued by a search from each node, whose result is kept.

    The plan of one search would be poor at nodes that it rarely reaches. seconds: of a search; None is `USUAL_WORK`.
    memory: bytes that one search may take.
    """

    def __init__(self, graph: BeliefGraph, objective: Objective, *, seconds: float | None, memory: float) -> None:
        super().__init__(graph, objective, 1)
        self.seconds, self.memory = seconds, memory
        self._found: dict[tuple[int, bool], ManySolution] = {}
        self._latest: tuple[int, Search] | None = None

    def solution(self, node: int, *, until_proven: bool = False) -> ManySolution:
        """The result of a search at `node`. until_proven: end when the first action is proven.

        Without it that search is continued: better bounds, and a better plan.
        """
        if not until_proven:
            found = self.solution(node, until_proven=True)
            if found.stopped_by != "proven":
                return found
        if (node, until_proven) not in self._found:
            self._found[node, until_proven] = self._run(node, until_proven=until_proven)
        return self._found[node, until_proven]

    def terms(self, node: int) -> ActionValues:
        """Lower bounds: there is a plan that reaches them."""
        bounds, immediate = self.solution(node).actions, super().terms(node)
        rows = [
            row if self._is_terminal(node, row.action)
            else replace(row, continuation=bounds[row.action][0] - row.reward - row.weighted_information)
            for row in immediate.rows
        ]  # fmt: skip
        return ActionValues(tuple(rows), LOWER_BOUND, immediate.rounding)

    def value(self, nodes: Ids) -> Array:
        return np.array([self.solution(node).lower for node in nodes.tolist()])

    def _decide(self, nodes: Ids) -> Ids:
        places = []
        for node in nodes.tolist():
            first = self.solution(node, until_proven=True).first
            is_terminal = self._is_terminal(node, first)
            places.append(self.graph.stop_place[node] if is_terminal else self._place(node, first))
        return np.array(places, dtype=np.int64)

    def _place(self, node: int, name: str) -> int:
        return self.graph.table.names(int(self.graph.observable[node])).index(name)

    def _is_terminal(self, node: int, name: str) -> bool:
        return self.graph.action(node, self._place(node, name)).ends_episode

    def _run(self, node: int, *, until_proven: bool) -> ManySolution:
        if self._latest is None or self._latest[0] != node:
            self._latest = node, self._begin(node)
        found, gap = self._latest[1], RELATIVE_TOLERANCE * self.graph.problem.reward_scale
        found.begin = time.monotonic()
        seconds, work = (math.inf, USUAL_WORK) if self.seconds is None else (self.seconds, math.inf)
        ended = found.run(gap, seconds=seconds, work=work, until_proven=until_proven, progress=None)
        if ended == "interrupted":
            self._latest = None
            raise KeyboardInterrupt
        return found.solution(gap, ended)

    def _begin(self, node: int) -> Search:
        from rhoplan.planning.many.search import Search

        self._latest = None  # one at a time: they are large
        return Search(
            self.graph.problem, self.graph.situation(node), weight=self.objective.weight_per_nat,
            discount=self.objective.discount_factor, memory=self.memory,
        )  # fmt: skip


class RunOncePolicy(LookaheadPolicy):
    """The first action of the best plan that a search at each belief finds; see `RunOnceOnGraph`."""

    def __init__(self, problem: POMDP, objective: Objective, *, seconds: float | None, memory: float) -> None:
        super().__init__(problem, objective, 1, value_kind=LOWER_BOUND)
        self.seconds, self.memory = seconds, memory

    def plan_on(self, graph: BeliefGraph) -> RunOnceOnGraph:
        return RunOnceOnGraph(graph, self.objective, seconds=self.seconds, memory=self.memory)

    def action_bounds(self, belief: BeliefLike) -> dict[str, tuple[float, float]]:
        return self._solution(belief).actions

    def proven(self, belief: BeliefLike) -> str | None:
        return self._solution(belief).proven

    def _solution(self, belief: BeliefLike) -> ManySolution:
        plan, node = self.plan_at(belief)
        assert isinstance(plan, RunOnceOnGraph)
        return plan.solution(node)
