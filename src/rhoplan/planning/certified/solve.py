"""The optimal plan, with no horizon limit or within one, between a lower and an upper bound, both certified.

There are five ways. Where tests leave the hidden state alone and a commit ends it all, `reveal` moves the cut-off of a
growing graph out; where there are many of these tests, `planning.many` searches over evidence. All others are solved in
`general`. The bounds reached are the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from rhoplan.errors import AgentError, expect
from rhoplan.model.horizon import with_horizon
from rhoplan.model.limits import FEW_STATES
from rhoplan.model.pomdp import POMDP
from rhoplan.planning import clock
from rhoplan.planning.asked import check_about_states, check_asked
from rhoplan.planning.certified.bounds import Bounds
from rhoplan.planning.certified.general import General, checking
from rhoplan.planning.certified.reveal import solve_by_revealing
from rhoplan.planning.certified.solution import EVIDENCE, GRIDS, METHODS, POINTS, REVEAL, Progress, SolveResult
from rhoplan.planning.first_look import without_delay

__all__ = ["Bounds", "SolveResult", "solve", "usual_method"]

Pair = tuple[float, float]

MANY = 10
"""Tests from which on evidence is searched: with fewer, the graph of beliefs is small. Those that can be repeated count
only where states are few: with more, beliefs meet often and symmetries help."""

CROSSED = 1e-9
"""By what share of them rounding may make bounds cross."""


def solve(
    problem: POMDP,
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
) -> SolveResult:
    """Bounds within `gap` of each other on the best plan for reward + weight * information (weight per nat).

    Stops early, with the bounds it has, after `seconds`, when it would take more than `memory` bytes, or when it is
    interrupted from the keyboard. `progress` is told lower, upper and number of nodes as it goes on. discount: the
    problem's own by default. horizon: the most actions before an ending one must be taken or, where there is none, all
    is over; no limit by default. The policy is then one of `with_horizon(problem, horizon)`.
    method: `reveal` or `many` (observe-then-commit problems without a horizon only), `errands` (factors that are dealt
    with one by one, in places), `grids` (for several hidden factors) or `points` (for all). By default `many` where
    there are ten tests or more (of those that can be repeated, with few states only), else `reveal` where it can be
    used, else `points`; where there are several factors, first `errands` and, if the bounds have not met, `grids` for
    half the time. All but `reveal` give a policy, and need numba. Time in which machine code is made or loaded does not
    count. Where the time ends before there is any other bound, the range of the rewards gives one (method RANGE), and
    there is no policy.
    check: whether other code looks at both bounds afterwards (all but `reveal`); what it finds is `certificate`, None
    where there is no bound but the range of the rewards.
    Not covered: weights below 0; with discount 1, problems that one can go on with for ever without a loss; `reveal`
    with a discount below 1 and only losses to commit to: putting off the loss for ever can be optimal; no cut-off
    reaches that, and the bounds then stay apart.
    """
    expect(problem, POMDP, "make")
    discount = problem.discount if discount is None else discount
    if horizon is not None:
        if method not in (None, GRIDS, POINTS):
            raise AgentError(f"horizon is for methods grids and points; method is {method}", field=("horizon",))
        problem = with_horizon(problem, horizon)
    chosen = method or usual_method(problem)
    if chosen not in METHODS:
        raise AgentError(f"method must be one of {', '.join(METHODS)}; it is '{chosen}'", field=("method",))
    check_asked(weight, discount, gap)
    if check and chosen == REVEAL:
        raise AgentError("check is not for method reveal: take another", field=("check",))
    if chosen not in (REVEAL, EVIDENCE):
        check_about_states(problem, weight, f"method {chosen}")
        if problem.looks_first and chosen != POINTS:
            raise AgentError(
                f"method {chosen} is not for problems that look first; '{problem.name}' does: use method points",
                field=("method",),
            )
        told = _without_delay(problem, weight, discount)
        inner = gap * discount if problem.looks_first else gap
        tell = progress and (lambda low, high, nodes: progress(*told((low, high)), nodes))
        asked = General(problem, weight, discount, inner, clock.now() + seconds, memory, tell, check)
        found = asked.run(chosen, alone=method is not None)
        lower, upper = told((found.lower, found.upper))
        own, _ = told((found.own, found.upper))
        return _in_order(replace(found, lower=lower, upper=upper, own=own, gap=gap))
    problem.flat  # noqa: B018  (says so where the problem is of another kind)
    if chosen == EVIDENCE:
        return _in_order(_solve_by_evidence(problem, weight, discount, gap, seconds, memory, progress, check))
    found = solve_by_revealing(
        problem, weight=weight, discount=discount, gap=gap, seconds=seconds, memory=memory, progress=progress
    )
    return _in_order(found)


def _in_order(found: SolveResult) -> SolveResult:
    """`found`, unless its bounds cross by more than the gap asked for: then one of them is wrong, and none is told."""
    lower, upper = found.lower, found.upper
    if lower > upper + found.gap + CROSSED * max(abs(lower), abs(upper)):
        raise ArithmeticError(f"the bounds cross, at least {lower:.10g} and at most {upper:.10g}: please report this")
    return found


def _without_delay(problem: POMDP, weight: float, discount: float) -> Callable[[Pair], Pair]:
    """What bounds are where a first look takes no time; where there is none, what they were."""
    if not problem.looks_first:
        return lambda bounds: bounds
    start = problem.belief()
    return lambda bounds: without_delay(problem, start, bounds, weight=weight, discount=discount)


def usual_method(problem: POMDP) -> str:
    """The method for `problem` where nobody asks for one."""
    if problem.listed is None:
        return GRIDS if len(problem.factors) > 1 and not problem.looks_first else POINTS
    tests, states = problem.listed.tests, len(problem.states)
    counted = [test for test in tests if not test.repeatable or states <= FEW_STATES]
    return EVIDENCE if len(counted) >= MANY and find_spec("numba") else REVEAL


def _solve_by_evidence(
    problem: POMDP,
    weight: float,
    discount: float,
    gap: float,
    seconds: float,
    memory: float,
    progress: Progress | None,
    check: bool,
) -> SolveResult:
    compiled = clock.COMPILING.seconds
    with clock.loading():
        from rhoplan.planning.many.check import check_search
        from rhoplan.planning.many.search import Search

    search = Search(problem, problem.belief(), weight=weight, discount=discount, memory=memory)
    stopped_by = search.run(gap, seconds=seconds, work=np.inf, until_proven=False, progress=progress)
    found, rng = search.solution(gap, stopped_by), np.random.default_rng(0)
    return SolveResult(
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
        compiling=clock.COMPILING.seconds - compiled,
        method=EVIDENCE,
        policy=found.policy,
        certificate=check_search(search, found.policy, rng, seconds=checking(seconds)) if check else None,
    )
