"""The weights of information at which a receding-horizon policy changes, and its exact score in between.

As the weight grows, the policy changes at single weights and is constant in between, and so is its score. The weights
are breakpoints of piecewise linear values (`planning.parametric`): no change between the points of a grid is missed.

A policy is what is done at the beliefs at which the exact score makes a decision. Two policies that differ there are
two steps even if their scores agree: because of a symmetry, or because they differ at beliefs of small probability.
Where two actions are worth nearly the same over a long stretch of weights, the tie rule decides between them, and
rounding can move the change by more than the resolution.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rhoplan.budget import Budget
from rhoplan.errors import AgentError, ProblemError
from rhoplan.evaluation.exact import MEMORY, score
from rhoplan.evaluation.score import Score
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning.parametric import ParametricLookahead, PolicyAtWeight

RESOLUTION = 1e-6
"""Distance in weight within which changes count as one: those of symmetric beliefs differ by rounding errors."""

ATTEMPTS = 3
"""How often the search goes from change to change within the resolution before it skips to the end of it."""


@dataclass(frozen=True)
class Step:
    """An interval of weights, in reward units per `unit` of information, and the exact score of the policy inside it.

    The policy changes between the `upper` of one step and the `lower` of the next, which are equal or closer than the
    resolution. beliefs: number of beliefs at which the policy decides. changed: at how many of them the previous step
    decides too, and otherwise; 0 for the first step.
    """

    lower: float
    upper: float
    unit: str
    score: Score
    beliefs: int
    changed: int


def policy_steps(
    problem: POMDP,
    *,
    horizon: int,
    low: float = 0.0,
    high: float = 200.0,
    unit: str = "nats",
    resolution: float = RESOLUTION,
    limit: int = 1000,
    seconds: float = math.inf,
    budget: Budget | None = None,
) -> tuple[Step, ...]:
    """The first `limit` steps of planning `horizon` actions ahead, for weights from `low` to `high` per `unit`.

    For problems where one observes, then commits. No step is looked for after `seconds`. If there are more steps, a
    search from the `upper` of the last one goes on. budget: of the belief graph, MEMORY bytes by default.

    The first step holds at `low` itself, however narrow it is (a free test may be taken at every weight but 0); at any
    other end of a step rounding decides. A change that is undone within the resolution is not reported. A wider
    `resolution` gives fewer steps, with brackets of at most that width between them.
    """
    if not problem.observes_then_commits or problem.leaf is not None:
        raise ProblemError(f"'{problem.name}' is not an observe-then-commit problem: its steps cannot be found")
    if not 0 <= low < high < np.inf:
        rule = "weights must go up from a number of at least 0"
        raise AgentError(f"{rule}; they go from {low:g} to {high:g}", field=("weight",))
    if not resolution > 0:
        raise AgentError(f"resolution must be above 0; it is {resolution:g}", field=("resolution",))
    if horizon < 1:
        raise AgentError(f"horizon must be at least 1; it is {horizon}", field=("horizon",))
    graph = BeliefGraph(problem, budget=budget or Budget(memory=MEMORY))
    lookahead = ParametricLookahead(graph, horizon, low=float(low), high=float(high), unit=unit)
    found, end = list[Step](), time.monotonic() + seconds
    for step in _steps(lookahead, resolution):
        found.append(step)
        if len(found) >= limit or time.monotonic() > end:
            break
    return tuple(found)


def _steps(lookahead: ParametricLookahead, width: float) -> Iterator[Step]:
    """The steps one after the other; width: the resolution."""
    lower, now = lookahead.low, _follow(lookahead, lookahead.low)
    before: _Followed | None = None
    step: Step | None = None
    while True:
        upper = float(now.changes[0]) if now.changes.size else lookahead.high
        if step is not None and before is not None and now.places == before.places:
            step = replace(step, upper=upper)
        else:
            if step is not None:
                yield step
            step = Step(lower, upper, lookahead.unit, now.score, len(now.places), now.differences(before))
        if upper + width >= lookahead.high:
            yield step
            return
        before = now
        lower, now = _past(lookahead, now, upper + width)


@dataclass(frozen=True, eq=False)
class _Followed:
    """A policy that was followed: its place at each node where it decides, its score, and the weights above its own at
    which one of its decisions changes."""

    places: dict[int, int]
    score: Score
    changes: Array

    def differences(self, other: _Followed | None) -> int:
        """At how many nodes both decide, and differently."""
        places = {} if other is None else other.places
        return sum(places[node] != place for node, place in self.places.items() if node in places)


def _follow(lookahead: ParametricLookahead, weight: float) -> _Followed:
    """The policy just above `weight`."""
    policy = PolicyAtWeight(lookahead, weight)
    found = score(policy, steps=lookahead.graph.problem.cap)
    places = dict(zip(policy.nodes.tolist(), policy.places(policy.nodes).tolist(), strict=True))
    return _Followed(places, found, policy.changes)


def _past(lookahead: ParametricLookahead, now: _Followed, window: float) -> tuple[float, _Followed]:
    """A weight past all changes up to `window`, and the policy just above it.

    Beliefs that are reached only after a change may change within the window too, hence more than one attempt.
    """
    for _ in range(ATTEMPTS):
        weight = float(now.changes[now.changes <= window][-1])
        now = _follow(lookahead, weight)
        if not np.any(now.changes <= window):
            return weight, now
    return window, _follow(lookahead, window)
