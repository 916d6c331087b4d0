"""What solving gives back: certified bounds, what stopped it, and the plan behind the lower bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rhoplan.planning.certified.errand_policy import ErrandPolicy
    from rhoplan.planning.certified.lattice.policy import GridPolicy
    from rhoplan.planning.certified.pointbased.check import Certificate
    from rhoplan.planning.certified.solved import SolvedPolicy
    from rhoplan.planning.many import ManyPolicy

    AnyPolicy: TypeAlias = SolvedPolicy | GridPolicy | ErrandPolicy | ManyPolicy

METHODS = REVEAL, EVIDENCE, ERRANDS, GRIDS, POINTS = "reveal", "many", "errands", "grids", "points"

RANGE = "range"
"""The method of last resort: the range of rewards (`crude`)."""

Progress = Callable[[float, float, int], None]


@dataclass(frozen=True)
class SolveResult:
    """Certified bounds on the optimal value, and the plan that reaches the lower one.

    lower, upper: bounds on the best expected reward + weight * information. stopped_by: `gap` where they are within
    the gap asked for, else what ran out (`time`, `memory`, or the `precision` of floats), `interrupted`, or `method`
    where errands, or grids alone, go no further. first: the first action of the plan behind `lower`; reward, tests,
    success, truncated: its exact score where the method gives it, else NaN. method: one of METHODS, or several joined
    by `and` where the bounds come from them all; RANGE where the time ended before any of them had one.
    policy: what to do in any situation, where the method gives it; own: its own lower bound, below `lower` where
    that is of a method without a policy. shares: the rounds of each method, where there are several.
    compiling: seconds in which machine code was made or loaded; they are not among `seconds`.
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
    policy: AnyPolicy | None = field(default=None, repr=False, compare=False)
    certificate: Certificate | None = None
    compiling: float = 0.0
    shares: tuple[int, ...] = ()
    own: float = math.nan

    @property
    def converged(self) -> bool:
        return self.upper - self.lower <= self.gap
