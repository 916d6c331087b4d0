"""The steps of an agent: the weights between which its policy is one and the same, and its exact score there.

As the weight w of information grows, an agent that plans H actions ahead does not drift from reward to information: its
policy changes at single weights and is constant in between, and so is its score. `policy_steps` finds these weights
from the lines that values are made of (`planning.breakpoints`): no step is missed between the points of a grid.

A policy is what the agent does at the beliefs that the exact score decides at: those reached within the cap with a
probability that is not negligible (`scoring.NEGLIGIBLE`). Two policies that differ there are two steps, even where
their scores agree: because of a symmetry, or because they differ at beliefs that hardly ever come up. Where two
actions are worth nearly the same over a whole stretch of weights (slopes that differ by 1e-9, say, as far out in
Bandit), the tie rule decides between them, and rounding moves the place where it does by more than the resolution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planners.planner import Chooser, GraphPlanner
from rhoplan.agents.policy import UNDECIDED, GraphPolicy
from rhoplan.belief.information import per_nat
from rhoplan.errors import AgentError, ProblemError
from rhoplan.following.worlds import World
from rhoplan.graph.graph import Graph, shared_graph
from rhoplan.model.pomdp import Array, Ids, Problem
from rhoplan.planning.objective import Objective
from rhoplan.planning.weights import Chart, ChartedPlan
from rhoplan.scoring.evaluate import ExactScore, score_policy

RESOLUTION = 1e-6
"""Distance in weight within which changes count as one: mirror images change together up to rounding."""

ATTEMPTS = 3
"""How often a bracket is kept tight by stepping from change to change before it is taken to be as wide as allowed."""


@dataclass(frozen=True)
class Step:
    """An interval of weights, in reward units per `unit` of information, and the exact score of the policy inside it.

    The policy changes between the `upper` of one step and the `lower` of the next, which are equal or closer than the
    resolution. beliefs: how many beliefs the policy decides at. changed: at how many of them the step before decides
    too, and otherwise; 0 for the first step.
    """

    lower: float
    upper: float
    unit: str
    score: ExactScore
    beliefs: int
    changed: int


def policy_steps(
    problem: Problem,
    *,
    horizon: int,
    low: float = 0.0,
    high: float = 200.0,
    unit: str = "nats",
    resolution: float = RESOLUTION,
    limit: int = 1000,
    graph: Graph | None = None,
) -> tuple[Step, ...]:
    """All steps of planning `horizon` actions ahead, for weights from `low` to `high` per `unit`.

    For problems where one observes, then commits.

    The first step holds at `low` itself, however narrow it is (a free test may be taken at every weight but 0); at any
    other end of a step rounding decides. A change that is undone within the resolution is not reported. A wider
    `resolution` gives fewer steps, with brackets of at most that width between them. After `limit` steps the search
    ends; the last step then ends below `high`, and a search from there goes on.
    graph: of the problem, to use again; the shared one by default.
    Time grows with the number of beliefs that are reached, times the number of steps.
    Not covered: discounts below 1, finite precision, other problems, leaves of their own, horizons of several hundred.
    """
    if not problem.observes_then_commits or problem.leaf is not None:
        raise ProblemError(f"'{problem.name}' is not an observe-then-commit problem: its steps cannot be found")
    if not 0 <= low < high < np.inf:
        raise AgentError(
            f"weights must go up from a number of at least 0; they go from {low:g} to {high:g}", field=("weight",)
        )
    if not resolution > 0:
        raise AgentError(f"resolution must be above 0; it is {resolution:g}", field=("resolution",))
    nat = per_nat(1.0, unit)
    chart, width = Chart(graph or shared_graph(problem), horizon, high * nat), resolution * nat
    given = {low * nat: low, chart.high: high}  # these two come back as they were given, without rounding
    steps: list[Step] = []
    lower, before, now = low * nat, None, _follow(chart, low * nat)
    while True:
        upper = float(now.changes[0]) if now.changes.size else chart.high
        if before is not None and now.is_same(before):
            steps[-1] = replace(steps[-1], upper=given.get(upper, upper / nat))
        else:
            changed = 0 if before is None else now.differences(before)
            start, end = given.get(lower, lower / nat), given.get(upper, upper / nat)
            steps.append(Step(start, end, unit, now.score, len(now.nodes), changed))
        window = upper + width
        if window >= chart.high or len(steps) >= limit:
            return tuple(steps)
        before = now
        lower, now = _past(chart, now, window)


@dataclass(frozen=True, eq=False)
class _Followed:
    """A policy followed to the end: the nodes it decides at, in order, its choices, its score, and the weights above
    its own at which one of these choices changes."""

    nodes: Ids
    choices: Ids
    score: ExactScore
    changes: Array

    def is_same(self, other: _Followed) -> bool:
        return np.array_equal(self.nodes, other.nodes) and np.array_equal(self.choices, other.choices)

    def differences(self, other: _Followed) -> int:
        """At how many nodes both decide, and differently."""
        _, mine, theirs = np.intersect1d(self.nodes, other.nodes, assume_unique=True, return_indices=True)
        return int(np.count_nonzero(self.choices[mine] != other.choices[theirs]))


@dataclass(frozen=True)
class Charted(GraphPlanner):
    """Exact look-ahead just above the objective's weight, from the lines of `chart`."""

    name: ClassVar[str] = "charted"

    chart: Chart

    def on(self, graph: Graph, objective: Objective) -> Chooser:
        chooser = Chooser(graph, objective, self.horizon)
        chooser.plan = ChartedPlan(self.chart, objective.weight_per_nat)
        return chooser


def _follow(chart: Chart, weight: float) -> _Followed:
    """The policy just above `weight`, per nat."""
    graph = chart.graph
    policy = GraphPolicy(graph, BoundAgent("planning-ig", weight=weight, planner=Charted(chart.horizon, chart)))
    score = score_policy(policy, World(graph), cap=graph.problem.cap)
    nodes = np.flatnonzero(policy.choice != UNDECIDED)
    return _Followed(nodes, policy.choice[nodes], score, chart.changes(nodes, weight))


def _past(chart: Chart, now: _Followed, window: float) -> tuple[float, _Followed]:
    """A weight past all changes up to `window`, and the policy just above it.

    Beliefs that are reached only after a change may change within the window too, hence more than one attempt.
    """
    for _ in range(ATTEMPTS):
        weight = float(now.changes[now.changes <= window][-1])
        now = _follow(chart, weight)
        if not np.any(now.changes <= window):
            return weight, now
    return window, _follow(chart, window)
