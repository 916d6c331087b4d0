"""The plan of errands as a policy: what to do in any situation, with bounds, saved and loaded."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rhoplan.belief.information import information
from rhoplan.belief.situation import Situation, branch
from rhoplan.errors import EvidenceError, LimitError
from rhoplan.model.problem import END, Problem
from rhoplan.planning.asked import Asked, BoundedPolicy
from rhoplan.planning.certified.errands import ErrandPlan, Unfit
from rhoplan.planning.errands.apart import numbers_of

FORMAT = "rhoplan-errand-policy-1"


@dataclass(frozen=True, eq=False)
class ErrandPolicy(BoundedPolicy):
    """Follows `plan`; in each situation the plan is made anew, which never makes it worse.

    above: a policy whose upper bounds hold too, where there is one.
    """

    origin: Problem
    settings: Asked
    plan: ErrandPlan
    above: BoundedPolicy | None = None

    def action(self, situation: Situation) -> str:
        """The name of what to do in `situation`."""
        if situation.visible is END:
            raise EvidenceError(f"the episode of '{self.origin.name}' has ended: there is nothing left to do")
        try:
            return self.plan.action(situation)
        except (Unfit, LimitError):
            raise EvidenceError(f"'{self.origin.name}' has no plan of errands in this situation") from None

    def value(self, situation: Situation) -> tuple[float, float]:
        """Lower and upper bound on the best value from `situation` on."""
        bounds = self.actions(situation).values()
        low = max(self.plan.lower(situation), max(low for low, _ in bounds))
        return low, max(low, max(high for _, high in bounds))

    def actions(self, situation: Situation) -> dict[str, tuple[float, float]]:
        """Lower and upper bound on what each action is worth in `situation`, the best plan followed afterwards."""
        highs = self.above.actions(situation) if self.above is not None else {}
        found = {}
        for action in self.origin.menu(situation.visible):
            belief = situation.beliefs[action.factor]
            low = float(action.reward @ belief)
            if self.settings.weight > 0:
                low += self.settings.weight * float(information(belief[None, :], action)[0])
            for each in branch(self.origin, situation, action):
                if each.situation.visible is not END:
                    low += self.settings.discount * each.probability * self.plan.lower(each.situation)
            found[action.name] = low, max(low, highs.get(action.name, (low, math.inf))[1])
        return found

    def save(self, path: Path | str) -> None:
        """Write it to a file; `load_policy` reads it for the same problem. The plan follows from the problem."""
        told = self.heading(FORMAT, digest_of(self.plan))
        self.write(path, told)


def digest_of(plan: ErrandPlan) -> str:
    """What tells two problems apart by the surroundings of their starts."""
    found = hashlib.sha256(repr(sorted(map(repr, plan.survey.place))).encode())
    for visible in plan.survey.place:
        for action in plan.problem.menu(visible):
            found.update(repr((numbers_of(action), action.leads_to)).encode())
    for factor in plan.problem.factors:
        found.update(factor.prior.tobytes())
    return found.hexdigest()


def errand_policy(problem: Problem, told: dict[str, Any]) -> ErrandPolicy | None:
    """The policy that `ErrandPolicy.save` wrote; None where it was made for another problem."""
    try:
        plan = ErrandPlan(problem, weight=told["weight"], discount=told["discount"])
    except LimitError:
        return None
    if digest_of(plan) != told["digest"]:
        return None
    return ErrandPolicy(problem, Asked(told["weight"], told["discount"]), plan)
