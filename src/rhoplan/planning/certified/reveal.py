"""Bounds on an observe-then-commit problem: tests leave the hidden state alone, and a commit ends it all.

`bounds` holds both bounds on a growing graph: the cut-off moves out round by round until they meet, or until time or
memory runs out.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from rhoplan.errors import LimitError
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning import clock
from rhoplan.planning.certified.bounds import Bounds
from rhoplan.planning.certified.follow import score_plan
from rhoplan.planning.certified.solution import Progress, SolveResult

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


def solve_by_revealing(
    problem: POMDP,
    *,
    weight: float,
    discount: float,
    gap: float,
    seconds: float,
    memory: float = 4e9,
    progress: Progress | None = None,
) -> SolveResult:
    """Bounds within `gap` of each other, and the plan behind the lower one; `solve` says what the others are."""
    begin = clock.now()
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
    work = bounds.size, len(bounds.symmetries), rounds, clock.now() - begin
    return SolveResult(lower, upper, gap, ended, *scored, *work)


def errand_bounds(errand: POMDP, belief: Array, *, weight: float, gap: float, seconds: float) -> tuple[float, float]:
    """Bounds on what a flat problem is worth with another belief, without a discount."""
    known = replace(errand, factors=(replace(errand.factors[0], prior=belief),))
    found = solve_by_revealing(known, weight=weight, discount=1.0, gap=gap, seconds=seconds)
    return found.lower, found.upper
