"""What a first look is worth: solvers discount what follows every action, and a first look takes no time."""

from __future__ import annotations

import math

from rhoplan.belief_math.information import information
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.pomdp import POMDP

ROUNDING = 4 * 2.0**-52
"""More than the sum below can be off, as a share of what it is made of."""


def looks(problem: POMDP, situation: Situation) -> bool:
    """Whether all that one can do in `situation` is to look, in no time."""
    return problem.looks_first and situation.observable == problem.start


def without_delay(
    problem: POMDP, situation: Situation, bounds: tuple[float, float], *, weight: float, discount: float
) -> tuple[float, float]:
    """`bounds` on the value of a first look in `situation` that was discounted like other actions, as they are."""
    (look,) = problem.menu(problem.start)
    belief = situation.beliefs[look.factor]
    told = weight * float(information(belief[None, :], look, problem.factors[look.factor])[0])
    lower, upper = (told + (bound - told) / discount for bound in bounds)
    error = ROUNDING * (told + max((abs(bound) for bound in bounds if math.isfinite(bound)), default=0.0)) / discount
    return lower - error, upper + error
