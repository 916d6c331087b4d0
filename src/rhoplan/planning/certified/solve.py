"""The optimal plan, with no horizon limit or within one, between a lower and an upper bound, both certified.

There are four ways. Where tests leave the hidden state alone and a commit ends it all, `bounds` holds both bounds on a
growing graph: the cut-off moves out round by round until they meet, or until time or memory runs out; where many of
these tests run only once, `planning.many` searches over evidence. Where there are several hidden factors, `lattice`
works them out on a grid of beliefs for each. In all others, and where grids do not bring the bounds together,
`pointbased` carries bounds over from belief to belief; so it does where the number of actions is limited, in the
problem that ends after the last one (`model.limited`). The bounds reached are the answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from rhoplan.belief.situation import initial
from rhoplan.errors import AgentError, LimitError
from rhoplan.model.limited import with_horizon
from rhoplan.model.problem import Problem
from rhoplan.planning.asked import check_about_states, check_asked
from rhoplan.planning.certified.bounds import Bounds
from rhoplan.planning.certified.follow import score_plan

if TYPE_CHECKING:
    from rhoplan.planning.certified.lattice.policy import GridPolicy
    from rhoplan.planning.certified.pointbased.check import Certificate
    from rhoplan.planning.certified.solved import SolvedPolicy
    from rhoplan.planning.many import ManyPolicy

METHODS = REVEAL, EVIDENCE, GRIDS, POINTS = "reveal", "many", "grids", "points"

MANY = 10
"""Tests that run once from which on evidence is searched: with fewer, the graph of beliefs is small."""

GRIDS_FIRST = 0.5
"""Share of the time for grids, where points are to follow if the bounds have not met."""

Progress = Callable[[float, float, int], None]

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
    tests, success, truncated: its exact score where the method gives it, else NaN. method: one of METHODS, or
    `grids and points` where the bounds come from both.
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
    policy: SolvedPolicy | GridPolicy | ManyPolicy | None = field(default=None, repr=False, compare=False)
    certificate: Certificate | None = None

    @property
    def converged(self) -> bool:
        return self.upper - self.lower <= self.gap


def solve(
    problem: Problem,
    *,
    weight: float = 0.0,
    discount: float | None = None,
    horizon: int | None = None,
    gap: float = 1e-3,
    seconds: float = 600.0,
    memory: float = 4e9,
    progress: Progress | None = None,
    method: str | None = None,
    check: bool = False,
) -> Solution:
    """Bounds within `gap` of each other on the best plan for reward + weight * information (weight per nat).

    Stops early, with the bounds it has, after `seconds`, when it would take more than `memory` bytes, or when it is
    interrupted from the keyboard. `progress` is told lower, upper and number of nodes as it goes on. discount: the
    problem's own by default. horizon: the most actions before an ending one must be taken or, where there is none, all
    is over; no limit by default. The policy is then one of `with_horizon(problem, horizon)`.
    method: `reveal` or `many` (observe-then-commit problems without a horizon only), `grids` (for several hidden
    factors) or `points` (for all). By default `many` where ten tests or more run once, else `reveal` where it can be
    used, else `grids` where there are several factors and, if the bounds have not met in half the time, `points`. All
    but `reveal` give a policy, and need numba.
    check: whether other code looks at both bounds afterwards (`grids` and `points`); what it finds is `certificate`.
    Not covered: weights below 0; with discount 1, problems that one can go on with for ever without a loss; `reveal`
    with a discount below 1 and only losses to commit to: putting off the loss for ever can be optimal; no cut-off
    reaches that, and the bounds then stay apart.
    """
    discount = problem.discount if discount is None else discount
    if horizon is not None:
        if method in (REVEAL, EVIDENCE):
            raise AgentError(f"horizon is for methods grids and points; method is {method}", field=("horizon",))
        problem = with_horizon(problem, horizon)
    chosen = method or usual_method(problem)
    if chosen not in METHODS:
        raise AgentError(f"method must be one of {', '.join(METHODS)}; it is '{chosen}'", field=("method",))
    check_asked(weight, discount, gap)
    if chosen in (GRIDS, POINTS):
        check_about_states(problem, weight, f"method {chosen}")
        how = General(problem, weight, discount, gap, time.monotonic() + seconds, memory, progress, check)
        return how.by_points() if chosen == POINTS else how.on_grids(alone=method is not None)
    if check:
        raise AgentError(f"check is for methods grids and points; method is {chosen}", field=("check",))
    problem.flat  # noqa: B018  (says so where the problem is of another kind)
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
    if problem.listed is None:
        return GRIDS if len(problem.factors) > 1 else POINTS
    once = sum(not test.repeatable for test in problem.listed.tests)
    panels = any(test.parts for test in problem.listed.tests)
    return EVIDENCE if once >= MANY and not panels and find_spec("numba") else REVEAL


def _solve_by_evidence(
    problem: Problem,
    weight: float,
    discount: float,
    gap: float,
    seconds: float,
    memory: float,
    progress: Progress | None,
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


@dataclass(frozen=True)
class General:
    """What is asked for of any problem, until `deadline`."""

    problem: Problem
    weight: float
    discount: float
    gap: float
    deadline: float
    memory: float
    progress: Progress | None
    check: bool
    begin: float = field(default_factory=time.monotonic)

    def by_points(self) -> Solution:
        from rhoplan.planning.certified.pointbased.check import check_plan
        from rhoplan.planning.certified.pointbased.records import compile_problem
        from rhoplan.planning.certified.pointbased.solve import solve_general
        from rhoplan.planning.certified.solved import policy_of

        compiled = compile_problem(self.problem, memory=self.memory)
        found = solve_general(
            compiled,
            weight=self.weight,
            discount=self.discount,
            gap=self.gap,
            seconds=max(self.deadline - time.monotonic(), 0.0),
            memory=self.memory,
            progress=self.progress,
        )
        return replace(
            self._solution(found.lower, found.upper, found.stopped_by, found.first),
            nodes=found.nodes,
            rounds=found.trials,
            method=POINTS,
            policy=policy_of(self.problem, compiled, found.plan),
            certificate=check_plan(found.plan, np.random.default_rng(0)) if self.check else None,
        )

    def on_grids(self, *, alone: bool) -> Solution:
        """Bounds on grids and, unless `alone`, points afterwards where the bounds have not met and there is room."""
        from rhoplan.planning.certified.lattice.check import check_grids
        from rhoplan.planning.certified.lattice.solve import LatticeSearch

        pause = self.deadline if alone else self.begin + GRIDS_FIRST * (self.deadline - self.begin)
        search = LatticeSearch(
            self.problem,
            weight=self.weight,
            discount=self.discount,
            gap=self.gap,
            deadline=pause,
            memory=self.memory,
        )
        other = None
        try:
            stopped_by = search.run(self.progress)
        except LimitError:
            if alone:
                raise
            return self.by_points()
        if not alone and stopped_by not in ("gap", "interrupted"):
            try:
                other = self.by_points()
            except LimitError:
                search.deadline = self.deadline
                stopped_by = search.run(self.progress)
        policy = search.policy()
        first = policy.action(initial(self.problem))
        found = replace(
            self._solution(*search.bounds, stopped_by, first),
            nodes=search.size,
            rounds=search.levels,
            method=GRIDS,
            policy=policy,
            certificate=check_grids(policy, np.random.default_rng(0)) if self.check else None,
        )
        return found if other is None else self._both(found, other)

    def _both(self, grids: Solution, points: Solution) -> Solution:
        """The closer of both bounds, and the policy of the better lower one."""
        better = grids if grids.lower >= points.lower else points
        seen = [found.certificate for found in (grids, points) if found.certificate]
        return replace(
            self._solution(better.lower, min(grids.upper, points.upper), points.stopped_by, better.first),
            nodes=grids.nodes + points.nodes,
            rounds=grids.rounds + points.rounds,
            method="grids and points",
            policy=better.policy,
            certificate=seen[0].and_also(seen[1]) if seen else None,
        )

    def _solution(self, lower: float, upper: float, stopped_by: str, first: str) -> Solution:
        return Solution(
            lower=lower,
            upper=upper,
            gap=self.gap,
            stopped_by="gap" if upper - lower <= self.gap else stopped_by,
            reward=math.nan,
            tests=math.nan,
            success=math.nan,
            truncated=math.nan,
            first=first,
            nodes=0,
            symmetries=1,
            rounds=0,
            seconds=time.monotonic() - self.begin,
        )
