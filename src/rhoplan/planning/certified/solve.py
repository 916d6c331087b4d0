"""The optimal plan with no horizon limit, between a lower and an upper bound that are both certified.

There are three ways. Where tests leave the hidden state alone and a commit ends it all, `bounds` holds both bounds on a
growing graph: the cut-off moves out round by round until they meet, or until time or memory runs out; and where many of
these tests run only once, `planning.many` searches over evidence. In all others `pointbased` carries bounds over from
belief to belief. Either way the bounds reached are the answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from rhoplan.errors import AgentError, LimitError
from rhoplan.model.problem import Problem
from rhoplan.planning.certified.bounds import Bounds
from rhoplan.planning.certified.follow import score_plan

if TYPE_CHECKING:
    from rhoplan.planning.certified.pointbased.check import Certificate
    from rhoplan.planning.certified.solved import SolvedPolicy
    from rhoplan.planning.many import ManyPolicy

METHODS = REVEAL, POINTS, EVIDENCE = "reveal", "points", "many"

MANY = 10
"""Tests that run once from which on evidence is searched: with fewer, the graph of beliefs is small."""

FIRST_DOUBT, FIRST_REACH = 0.2, 0.02
"""Where the first cut-off lies: tests are TRUE at nodes that some plan reaches with this probability, as long as the
most probable likelihood row leaves this much doubt."""

FIRST_PLAN_REACH, WIDE_ROUND, WIDE_GROWTH = 0.1, 4, 1.5
"""Where bounds carry over from belief to belief, most rounds follow the optimistic plan alone, as far as it goes with
this probability; every fourth moves the cut-off out along all tests, while the graph grows by half at most."""

SMALLEST_DOUBT = 1e-12
"""A cut-off finer than this tells rounding errors apart, not beliefs."""

DOUBT_STEP, REACH_STEP = 2.0, 3.0
"""By how much the cut-off moves out each round. On Tileworld one more item of net evidence divides doubt by four."""


@dataclass(frozen=True)
class Solution:
    """Certified bounds on the optimal value, and the plan that reaches the lower one.

    lower, upper: bounds on the best expected reward + weight * information. stopped_by: `gap` where they are within
    the gap asked for, else what ran out, or `interrupted`. first: the first action of the plan behind `lower`; reward,
    tests, success, truncated: its exact score where the method gives it, else NaN. method: one of METHODS.
    policy: what to do in any situation, where the method gives it.
    """

    lower: float
    upper: float
    gap: float
    stopped_by: str
    reward: float
    tests: float
    success: float
    truncated: float
    first: str
    nodes: int
    symmetries: int
    rounds: int
    seconds: float
    method: str = "reveal"
    policy: SolvedPolicy | ManyPolicy | None = field(default=None, repr=False, compare=False)
    certificate: Certificate | None = None

    @property
    def converged(self) -> bool:
        return self.upper - self.lower <= self.gap


def solve(
    problem: Problem,
    *,
    weight: float = 0.0,
    discount: float | None = None,
    gap: float = 1e-3,
    seconds: float = 600.0,
    memory: float = 4e9,
    progress: Callable[[float, float, int], None] | None = None,
    method: str | None = None,
    check: bool = False,
) -> Solution:
    """Bounds within `gap` of each other on the best plan for reward + weight * information (weight per nat).

    Stops early, with the bounds it has, after `seconds`, when it would take more than `memory` bytes, or when it is
    interrupted from the keyboard. `progress` is told lower, upper and number of nodes as it goes on. discount: the
    problem's own by default. method: `many` or `reveal` (observe-then-commit problems only) or `points`; by default
    `many` where ten tests or more run once, else `reveal` where it can be used. `points` and `many` give a policy, and
    need numba.
    check: whether other code looks at both bounds afterwards (`points` only); what it finds is `certificate`.
    Not covered: weights below 0; with discount 1, problems that one can go on with for ever without a loss; `reveal`
    with a discount below 1 and only losses to commit to: putting off the loss for ever can be optimal; no cut-off
    reaches that, and the bounds then stay apart.
    """
    discount = problem.discount if discount is None else discount
    chosen = method or usual_method(problem)
    if chosen not in METHODS:
        raise AgentError(f"method must be one of {', '.join(METHODS)}; it is '{chosen}'", field=("method",))
    if chosen == POINTS:
        return _solve_by_points(problem, weight, discount, gap, seconds, memory, progress, check)
    if check:
        raise AgentError(f"check is for method points; method is {chosen}", field=("check",))
    problem.flat  # noqa: B018  (says so where the problem is of another kind)
    if not weight >= 0 or not np.isfinite(weight):
        raise AgentError(f"weight must be a number of at least 0; it is {weight:g}", field=("weight",))
    if not 0 < discount <= 1:
        raise AgentError(f"discount must be above 0 and at most 1; it is {discount:g}", field=("discount",))
    if not gap > 0:
        raise AgentError(f"gap must be above 0; it is {gap:g}", field=("gap",))
    if chosen == EVIDENCE:
        return _solve_by_evidence(problem, weight, discount, gap, seconds, memory, progress)
    begin = time.monotonic()
    deadline, negligible, stopped_by = begin + seconds, gap * 0.5, "gap"
    bounds = Bounds(problem, weight=weight, discount=discount, memory=memory)
    doubt, reach, plan_reach, rounds = FIRST_DOUBT, FIRST_REACH, FIRST_PLAN_REACH, 0
    try:
        while not bounds.within(gap):
            rounds += 1
            if bounds.follows_plan and rounds % WIDE_ROUND:
                if not bounds.grow_along(plan_reach, negligible=negligible, deadline=deadline):
                    plan_reach /= REACH_STEP
            else:
                most = WIDE_GROWTH * bounds.size + 2000 if bounds.follows_plan else np.inf
                if bounds.grow(doubt, reach, negligible=negligible, deadline=deadline, most=most):
                    doubt, reach = doubt / DOUBT_STEP, reach / REACH_STEP
            bounds.settle(gap, deadline=deadline)
            if bounds.carries_over:
                bounds.carry_over(gap)
                bounds.settle(gap, deadline=deadline)
            if progress:
                progress(*bounds.at_root, bounds.size)
            if doubt < SMALLEST_DOUBT:
                stopped_by = "precision"
                break
    except (LimitError, MemoryError):
        stopped_by = "memory"
        with suppress(TimeoutError):
            bounds.settle(gap, deadline=deadline)
    except TimeoutError:
        stopped_by = "time"
    except KeyboardInterrupt:
        stopped_by = "interrupted"
    lower, upper = bounds.at_root
    scored = score_plan(bounds, problem.cap)
    reward, truncated = scored[0], scored[3]
    if weight == 0 and discount == 1 and truncated == 0 and stopped_by != "gap":
        lower = max(lower, min(reward, upper))  # the plan's own value, where sweeps were cut short of backing it up
    ended = "gap" if bounds.within(gap) else stopped_by
    work = bounds.size, len(bounds.symmetries), rounds, time.monotonic() - begin
    return Solution(lower, upper, gap, ended, *scored, *work)


def usual_method(problem: Problem) -> str:
    """The method for `problem` where nobody asks for one."""
    if not problem.is_flat:
        return POINTS
    once = sum(not test.repeatable for test in problem.flat.tests)
    return EVIDENCE if once >= MANY and find_spec("numba") else REVEAL


def _solve_by_evidence(
    problem: Problem,
    weight: float,
    discount: float,
    gap: float,
    seconds: float,
    memory: float,
    progress: Callable[[float, float, int], None] | None,
) -> Solution:
    from rhoplan.planning.many import search

    found = search(
        problem, weight=weight, discount=discount, gap=gap, seconds=seconds, memory=memory, progress=progress
    )
    return Solution(
        lower=found.lower,
        upper=found.upper,
        gap=gap,
        stopped_by=found.stopped_by,
        reward=found.reward,
        tests=found.tests,
        success=found.success,
        truncated=found.truncated,
        first=found.first,
        nodes=found.nodes,
        symmetries=1,
        rounds=found.trials,
        seconds=found.seconds,
        method=EVIDENCE,
        policy=found.policy,
    )


def _solve_by_points(
    problem: Problem,
    weight: float,
    discount: float,
    gap: float,
    seconds: float,
    memory: float,
    progress: Callable[[float, float, int], None] | None,
    check: bool,
) -> Solution:
    from rhoplan.planning.certified.pointbased.check import check_plan
    from rhoplan.planning.certified.pointbased.records import compile_problem
    from rhoplan.planning.certified.pointbased.solve import check_settings, solve_general
    from rhoplan.planning.certified.solved import policy_of

    check_settings(weight, discount, gap)
    begin = time.monotonic()
    compiled = compile_problem(problem, memory=memory)
    left = max(seconds - (time.monotonic() - begin), 0.0)
    found = solve_general(
        compiled, weight=weight, discount=discount, gap=gap, seconds=left, memory=memory, progress=progress
    )
    return Solution(
        lower=found.lower,
        upper=found.upper,
        gap=gap,
        stopped_by="gap" if found.converged else found.stopped_by,
        reward=math.nan,
        tests=math.nan,
        success=math.nan,
        truncated=math.nan,
        first=found.first,
        nodes=found.nodes,
        symmetries=1,
        rounds=found.trials,
        seconds=time.monotonic() - begin,
        method="points",
        policy=policy_of(problem, compiled, found.plan),
        certificate=check_plan(found.plan, np.random.default_rng(0)) if check else None,
    )
