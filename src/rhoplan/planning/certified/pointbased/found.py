"""What a search by points comes back with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rhoplan.planning.certified.pointbased.plan import Plan

Progress = Callable[[float, float, int], None]


@dataclass(frozen=True, eq=False)
class GeneralSolution:
    """Certified bounds on the best value, and the plan that reaches the lower one.

    stopped_by: `gap` where they are within the gap asked for, else `time`, `memory` or `interrupted`. first: the name
    of the plan's first action. nodes, vectors, points: what there is at the end.
    """

    lower: float
    upper: float
    gap: float
    stopped_by: str
    first: str
    seconds: float
    trials: int
    nodes: int
    vectors: int
    points: int
    plan: Plan = field(repr=False)

    @property
    def converged(self) -> bool:
        return self.upper - self.lower <= self.gap
