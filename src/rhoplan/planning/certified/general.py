"""Bounds on any finite problem, by one way after the other until the time is over.

Where there are several hidden factors, `errands` gives a plan that is followed exactly, and where nothing but the walk
connects the factors the optimum; then `lattice` works on a grid of beliefs for each factor. In all others, and where
grids do not bring the bounds together, `pointbased` carries bounds over from belief to belief; so it does where the
number of actions is limited, in the problem that ends after the last one (`model.limited`). Bounds found in one way
hold whatever the others find. Where the time ends before any has found one, at the first ctrl-C, and where the numbers
of the problem do not fit into the memory allowed, `crude` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np

from rhoplan.errors import LimitError
from rhoplan.model.horizon import horizon_of
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning import clock
from rhoplan.planning.asked import Asked, BoundedPolicy
from rhoplan.planning.certified.crude import crude_bounds
from rhoplan.planning.certified.reveal import errand_bounds
from rhoplan.planning.certified.solution import ERRANDS, GRIDS, POINTS, RANGE, Progress, SolveResult

if TYPE_CHECKING:
    from rhoplan.planning.certified.lattice.solve import LatticeSearch
    from rhoplan.planning.certified.pointbased.check import Certificate
    from rhoplan.planning.certified.solution import AnyPolicy

HALF, LAST = 0.5, 0.8
"""Share of the time left for errands at most, and then for grids, where other ways follow if the bounds do not meet;
and for one more level of grids where none does."""

FEW, AT_FIRST, MORE, AT_FIRST_SHARE = 20_000, 2.0, 4, 0.05
"""Where so many numbers at most say what the actions pay, grids and then points are tried for so many seconds each,
then for so many times as long, up to such a share of the time, before grids have half of it: small problems are often
at hand for one of them at once."""

GRACE = 0.5
"""Seconds for the bounds of last resort after the time is over or somebody has pressed ctrl-C."""

BEGUN = 10
"""Rounds of work before which the bounds of last resort may be the better ones."""

CHECKING = 10.0
"""Seconds for a check after the time is over, or a tenth of the time there was, if that is less; one at least."""


@dataclass(frozen=True)
class General:
    """What is asked for of any problem, until `deadline`."""

    problem: POMDP
    weight: float
    discount: float
    gap: float
    deadline: float
    memory: float
    progress: Progress | None
    check: bool
    begin: float = field(default_factory=clock.now)
    compiled: float = field(default_factory=lambda: clock.COMPILING.seconds)

    def run(self, chosen: str, *, alone: bool) -> SolveResult:
        """The bounds reached; with `alone` by no other method than the one chosen."""
        found: list[SolveResult] = []
        stopped_by = "time"
        try:
            if chosen == ERRANDS or (chosen == GRIDS and not alone and horizon_of(self.problem) is None):
                self._by_errands(found, alone=alone)
            if chosen == GRIDS and not _met(found):
                self._on_grids(found, alone=alone)
            elif chosen == POINTS:
                found.append(self._by_points(progress=self.progress))
        except TimeoutError:
            pass
        except KeyboardInterrupt:
            stopped_by = "interrupted"
        except LimitError as limit:
            if not found:
                if alone and chosen != POINTS:
                    raise
                found.append(self._crude("memory"))
                if not all(map(math.isfinite, _closest(found))):
                    raise limit
            stopped_by = "memory"
        if chosen == ERRANDS and stopped_by == "time" and clock.now() < self.deadline:
            stopped_by = "method"
            found = [replace(one, stopped_by="gap" if one.stopped_by == "gap" else stopped_by) for one in found]
        if not found or not all(map(math.isfinite, _closest(found))):
            found.append(self._crude(stopped_by))
        elif sum(solution.rounds for solution in found) < BEGUN and not _met(found):
            crude = self._crude(found[-1].stopped_by, soon=True)
            if crude.lower > _closest(found)[0] or crude.upper < _closest(found)[1]:
                found.append(crude)
        return self._together([self._checked(solution) for solution in found])

    def _checked(self, solution: SolveResult) -> SolveResult:
        """`solution`, with a check of the bounds of errands; those of others are checked where they are found."""
        if not self.check or solution.method != ERRANDS:
            return solution
        with clock.loading():
            from rhoplan.planning.certified.errand_check import check_errands
            from rhoplan.planning.certified.errand_policy import ErrandPolicy

        if not isinstance(solution.policy, ErrandPolicy):
            return solution
        rng = np.random.default_rng(0)
        policy = solution.policy
        check = partial(check_errands, policy, rng, seconds=self._checking)
        return replace(solution, certificate=_unless_interrupted(check))

    def _by_errands(self, found: list[SolveResult], *, alone: bool) -> None:
        clock.check(self.deadline)  # before seconds are spent on loading what will not be used
        with clock.loading():
            from rhoplan.planning.certified.errand_policy import ErrandPolicy
            from rhoplan.planning.certified.errands import ErrandPlan

        alone_will_do = alone or getattr(self.problem.menu, "factors_apart", False)
        pause = self.deadline if alone_will_do else self._half()
        try:
            plan = ErrandPlan(self.problem, weight=self.weight, discount=self.discount)
            if not plan.comes_apart(deadline=pause):
                raise LimitError(
                    f"'{self.problem.name}' must come apart into errands, one for each hidden factor, and stay so; it "
                    "does not: take another method"
                )
        except (LimitError, TimeoutError):
            if alone:
                raise
            return
        start = self.problem.belief()

        def best(errand: POMDP, belief: Array) -> tuple[float, float]:
            left = max(self.deadline - clock.now(), 0.0)
            return errand_bounds(errand, belief, weight=self.weight, gap=0.1 * self.gap, seconds=left)

        lower = upper = -math.inf
        try:
            lower, upper = plan.lower(start, deadline=pause), math.inf
            upper = plan.upper(start, best, deadline=pause)
        except TimeoutError:
            upper = math.inf
        if math.isfinite(lower):
            policy = ErrandPolicy(self.problem, Asked(self.weight, self.discount), plan, most=upper)
            done = self._solution(lower, upper, "time", plan.action(start))
            found.append(replace(done, method=ERRANDS, rounds=1, nodes=len(plan.survey.place), policy=policy))
            self._tell(found)

    def _on_grids(self, found: list[SolveResult], *, alone: bool) -> None:
        clock.check(self.deadline)
        with clock.loading():
            from rhoplan.planning.certified.lattice.solve import LatticeSearch

        search = LatticeSearch(
            self.problem,
            weight=self.weight,
            discount=self.discount,
            gap=self.gap,
            deadline=self.deadline,
            memory=self.memory,
            known=_closest(found)[0],
        )
        points: list[SolveResult] = []
        stopped_by = "time"
        try:
            joint = math.prod(len(factor.states) for factor in self.problem.factors)
            if not alone and len(search.structure.kind) * joint <= FEW:
                stopped_by = self._at_first_sight(search, found, points)
                if stopped_by != "time":
                    return
            search.deadline = self.deadline if alone else self._half()
            with suppress(TimeoutError) if not alone else nullcontext():
                stopped_by = search.run(self._teller(found))
            if not alone and stopped_by not in ("gap", "interrupted") and not self._meets(found, search.bounds):
                try:
                    tell = self._teller(found, search.bounds)
                    points.append(self._by_points(progress=tell, held=8 * search.size))
                except (LimitError, TimeoutError):  # not in the memory, or the time, that there is
                    search.deadline, search.share = self.deadline, LAST
                    stopped_by = search.run(self._teller(found))
        except LimitError:
            if alone or points:
                raise
            points.append(self._by_points(progress=self._teller(found)))
        finally:
            if search.levels:
                found.append(self._from_grids(search, stopped_by))
            found += points

    def _at_first_sight(self, search: LatticeSearch, found: list[SolveResult], points: list[SolveResult]) -> str:
        """What ends the work after a short time for grids and as much for points, which then are in `points`, or after
        some more; `time` where it was too short."""
        longest = AT_FIRST_SHARE * (self.deadline - clock.now())
        moment = min(AT_FIRST, longest)
        while 0 < moment <= longest:
            search.deadline = clock.now() + moment
            with suppress(TimeoutError):
                stopped_by = search.run(self._teller(found))
                if stopped_by == "interrupted" or self._meets(found, search.bounds):
                    return stopped_by if stopped_by == "interrupted" else "gap"
            with suppress(TimeoutError, LimitError):
                looked = self._by_points(clock.now() + moment, found, self._teller(found, search.bounds))
                if looked.stopped_by == "interrupted" or self._meets(found, (looked.lower, looked.upper)):
                    points.append(looked)
                    return looked.stopped_by
            moment *= MORE
        return "time"

    def _from_grids(self, search: LatticeSearch, stopped_by: str) -> SolveResult:
        with clock.loading():
            from rhoplan.planning.certified.lattice.check import check_grids

        policy, (lower, upper) = search.policy(), search.bounds
        done = self._solution(lower, upper, stopped_by, policy.action(self.problem.belief()))
        check = partial(check_grids, policy, np.random.default_rng(0), seconds=self._checking)
        return replace(
            done,
            nodes=search.size,
            rounds=search.levels,
            method=GRIDS,
            policy=policy,
            certificate=_unless_interrupted(check) if self.check else None,
        )

    def _by_points(
        self,
        deadline: float | None = None,
        found_before: list[SolveResult] | None = None,
        progress: Progress | None = None,
        held: float = 0.0,
    ) -> SolveResult:
        """What points find until `deadline`, all the time there is where none is given, beside so many bytes `held`.
        Before a deadline only what meets, with what was found before, is worth a check."""
        whole, deadline = deadline is None, self.deadline if deadline is None else deadline
        memory = self.memory - held
        clock.check(deadline)
        with clock.loading():
            from rhoplan.planning.certified.pointbased.check import check_plan
            from rhoplan.planning.certified.pointbased.given import given
            from rhoplan.planning.certified.pointbased.turns import solve_in_turns
            from rhoplan.planning.certified.solved import policy_of

        asked = {"weight": self.weight, "discount": self.discount}
        found = solve_in_turns(
            given(self.problem, **asked, memory=memory, deadline=deadline),
            **asked,
            gap=self.gap,
            deadline=deadline,
            memory=memory,
            progress=progress,
        )
        best, upper = max(found, key=lambda one: one.lower), min(one.upper for one in found)
        interrupted = any(one.stopped_by == "interrupted" for one in found)
        checks = self.check and (whole or interrupted or self._meets(found_before or [], (best.lower, upper)))
        rng, seconds = np.random.default_rng(0), self._checking / len(found)

        def check() -> Certificate:
            return _all_of([check_plan(one.plan, rng, claims=(one.lower, one.upper), seconds=seconds) for one in found])

        policy = policy_of(self.problem, best.plan)
        return replace(
            self._solution(
                best.lower, upper, "interrupted" if interrupted else best.stopped_by, best.first and policy.first
            ),
            nodes=sum(one.nodes for one in found),
            rounds=sum(one.trials for one in found),
            method=POINTS,
            policy=policy,
            certificate=_unless_interrupted(check) if checks else None,
        )

    def _crude(self, stopped_by: str, *, soon: bool = False) -> SolveResult:
        deadline = clock.now() + GRACE
        if not soon and stopped_by != "interrupted":
            deadline = max(self.deadline, deadline)
        found = crude_bounds(self.problem, weight=self.weight, discount=self.discount, deadline=deadline)
        return replace(self._solution(found.lower, found.upper, stopped_by, found.first), method=RANGE)

    def _together(self, found: list[SolveResult]) -> SolveResult:
        """The closest of all bounds, and the policy of the best lower one; where that is of the range of rewards, which
        has none, that of the next."""
        if len(found) == 1:
            return found[0]
        best = max(found, key=lambda solution: solution.lower)
        lower, upper = _closest(found)
        followed = max(found, key=lambda solution: (solution.policy is not None, solution.lower))
        seen = [solution.certificate for solution in found if solution.certificate]
        return replace(
            self._solution(lower, upper, found[-1].stopped_by, best.first),
            nodes=sum(solution.nodes for solution in found),
            rounds=sum(solution.rounds for solution in found),
            shares=tuple(solution.rounds for solution in found),
            method=" and ".join(solution.method for solution in found),
            policy=self._policy(followed, found),
            own=followed.lower,
            certificate=_all_of(seen) if seen else None,
        )

    @staticmethod
    def _policy(best: SolveResult, found: list[SolveResult]) -> AnyPolicy | None:
        """The policy of `best`; that of errands with the upper bounds of all others."""
        with clock.loading():
            from rhoplan.planning.certified.errand_policy import ErrandPolicy

        policy: AnyPolicy | None = best.policy
        if not isinstance(policy, ErrandPolicy):
            return policy
        others = [s.policy for s in found if isinstance(s.policy, BoundedPolicy) and s.policy is not policy]
        return replace(policy, above=tuple(others), most=_closest(found)[1])

    def _solution(self, lower: float, upper: float, stopped_by: str, first: str) -> SolveResult:
        return SolveResult(
            lower=lower,
            upper=upper,
            own=lower,
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
            seconds=clock.now() - self.begin,
            compiling=clock.COMPILING.seconds - self.compiled,
        )

    @property
    def _checking(self) -> float:
        return checking(self.deadline - self.begin)

    def _half(self) -> float:
        return clock.now() + HALF * (self.deadline - clock.now())

    def _meets(self, found: list[SolveResult], bounds: tuple[float, float]) -> bool:
        lower, upper = _closest(found)
        return min(upper, bounds[1]) - max(lower, bounds[0]) <= self.gap

    def _tell(self, found: list[SolveResult]) -> None:
        if self.progress:
            self.progress(*_closest(found), found[-1].nodes)

    def _teller(self, found: list[SolveResult], beside: tuple[float, float] = (-math.inf, math.inf)) -> Progress | None:
        """Progress of a search beside what has been found already."""
        tell, (lower, upper) = self.progress, _closest(found)
        if tell is None:
            return None
        lower, upper = max(lower, beside[0]), min(upper, beside[1])
        return lambda low, high, nodes: tell(max(low, lower), min(high, upper), nodes)


def checking(seconds: float) -> float:
    """Seconds for a check where there were so many for the work."""
    return max(min(CHECKING, 0.1 * seconds), 1.0)


def _unless_interrupted(check: Callable[[], Certificate]) -> Certificate | None:
    """What a check says; None where somebody has not waited for it: the bounds stand."""
    try:
        return check()
    except KeyboardInterrupt:
        return None


def _all_of(seen: list[Certificate]) -> Certificate:
    return reduce(lambda one, other: one.and_also(other), seen)


def _closest(found: list[SolveResult]) -> tuple[float, float]:
    lower = max((solution.lower for solution in found), default=-math.inf)
    return lower, min((solution.upper for solution in found), default=math.inf)


def _met(found: list[SolveResult]) -> bool:
    lower, upper = _closest(found)
    return bool(found) and upper - lower <= found[0].gap
