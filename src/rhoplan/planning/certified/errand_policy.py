"""The plan of errands as a policy: what to do in any situation, with bounds, saved and loaded."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rhoplan.belief_math.information import information
from rhoplan.errors import EvidenceError, LimitError
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.pomdp import END, POMDP, Action, Array
from rhoplan.planning.asked import Asked, BoundedPolicy, spelt
from rhoplan.planning.certified.errands import ErrandPlan, Unfit
from rhoplan.planning.certified.reveal import errand_bounds
from rhoplan.planning.routing.decomposition import numbers_of

FORMAT = "rhoplan-errand-policy-1"

GAP, SECONDS = 1e-4, 1.0
"""How close the bounds on one errand come where a policy is asked for an upper bound, and the time for them at most."""

Bounds = tuple[float, float]


@dataclass(frozen=True, eq=False)
class ErrandPolicy(BoundedPolicy):
    """Follows `plan`; in each situation the plan is made anew, which does not make it worse where the problem comes
    apart for good.

    above: policies whose upper bounds hold too. most: what the start is known to be worth at most.
    """

    origin: POMDP
    settings: Asked
    plan: ErrandPlan
    above: tuple[BoundedPolicy, ...] = ()
    most: float = math.inf

    def action(self, situation: Situation) -> str:
        """The name of what to do in `situation`."""
        if situation.observable is END:
            raise EvidenceError(f"the episode of '{self.origin.name}' has ended: there is nothing left to do")
        try:
            return self.plan.action(situation)
        except (Unfit, LimitError):
            raise EvidenceError(f"'{self.origin.name}' has no plan of errands in this situation") from None

    def value(self, situation: Situation) -> Bounds:
        """Lower and upper bound on the best value from `situation` on; above infinite where none is known."""
        bounds = self.actions(situation).values()
        low = max(self.plan.lower(situation), max(low for low, _ in bounds))
        return low, max(low, max(high for _, high in bounds))

    def actions(self, situation: Situation) -> dict[str, Bounds]:
        """Lower and upper bound on what each action is worth in `situation`, the best plan followed afterwards."""
        most, others = self._most(situation), [policy.actions(situation) for policy in self.above]
        found = {}
        for action in self.origin.menu(situation.observable):
            low, high = self._ahead(action, situation)
            high = min([most, high, *(bounds[action.name][1] for bounds in others if action.name in bounds)])
            found[action.name] = low, max(low, high)
        return found

    def save(self, path: Path | str) -> None:
        """Write it to a file; `load_policy` reads it for the same problem. The plan follows from the problem."""
        told = self.heading(FORMAT, digest_of(self.plan)) | {"most": self.most if math.isfinite(self.most) else None}
        self.write(path, told, **{f"above-{place}": file_of(policy) for place, policy in enumerate(self.above)})

    def _ahead(self, action: Action, situation: Situation) -> Bounds:
        """Bounds on taking `action`, by both bounds of the plan on what comes after."""
        belief = situation.beliefs[action.factor]
        paid = float(action.reward @ belief)
        if self.settings.weight > 0:
            paid += self.settings.weight * float(information(belief[None, :], action)[0])
        low = high = paid
        for each in situation.branches(action):
            if each.belief.observable is not END:
                share = self.settings.discount * each.probability
                low += share * self.plan.lower(each.belief)
                high += share * self.own_upper(each.belief)
        return low, high

    def _most(self, situation: Situation) -> float:
        """What `situation` is known to be worth at most, without a look ahead."""
        known = [self.own_upper(situation), *(policy.value(situation)[1] for policy in self.above)]
        return min([self.most, *known] if self._is_start(situation) else known)

    def own_upper(self, situation: Situation, *, least: bool = False) -> float:
        """The plan's own upper bound; infinite where it has none, and everywhere where it has none at the start.

        least: what it would be if each errand were worth what its lower bound says.
        """
        if math.isinf(self._own):
            return math.inf
        try:
            return self.plan.upper(situation, self._at_least if least else self._errand)
        except LimitError:
            return math.inf

    @cached_property
    def _own(self) -> float:
        return self.plan.upper(self.origin.belief(), self._errand)

    def _errand(self, errand: POMDP, belief: Array) -> Bounds:
        key = id(errand), belief.tobytes()
        if key not in self._errands:
            bounds = errand_bounds(errand, belief, weight=self.settings.weight, gap=GAP, seconds=SECONDS)
            self._errands[key] = errand, bounds
        return self._errands[key][1]

    def _at_least(self, errand: POMDP, belief: Array) -> Bounds:
        lower, _ = self._errand(errand, belief)
        return lower, lower

    @cached_property
    def _errands(self) -> dict[tuple[int, bytes], tuple[POMDP, Bounds]]:
        """Bounds on errands by their number, which stays theirs as long as they are kept here, and belief."""
        return {}

    def _is_start(self, situation: Situation) -> bool:
        start = self.origin.belief()
        return situation.observable == start.observable and all(map(np.array_equal, situation.beliefs, start.beliefs))


def file_of(policy: BoundedPolicy) -> Any:
    """The bytes of the file that `policy` is saved to."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        policy.save(path)
        return np.frombuffer(path.read_bytes(), dtype=np.uint8)


def digest_of(plan: ErrandPlan) -> str:
    """What tells two problems apart by the surroundings of their starts."""
    found = hashlib.sha256(repr(sorted(map(spelt, plan.survey.place))).encode())
    for observable in plan.survey.place:
        for action in plan.problem.menu(observable):
            found.update(f"({numbers_of(action)!r}, {spelt(action.leads_to)})".encode())
    for factor in plan.problem.factors:
        found.update(factor.prior.tobytes())
    return found.hexdigest()


def errand_policy(problem: POMDP, told: dict[str, Any]) -> ErrandPolicy | None:
    """The policy that `ErrandPolicy.save` wrote; None where it was made for another problem."""
    try:
        plan = ErrandPlan(problem, weight=told["weight"], discount=told["discount"])
    except LimitError:
        return None
    if digest_of(plan) != told["digest"] or not plan.comes_apart():
        return None
    most = told.get("most")  # files of versions before there was one
    settings = Asked(told["weight"], told["discount"])
    return ErrandPolicy(problem, settings, plan, most=math.inf if most is None else most)
