"""How scores depend on the weight: every policy between weight 0 and 200, from the same jobs as the Pareto figure.

One sweep per nat serves both units: weight 1 per bit is 1.44 per nat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rhoplan.belief.information import per_nat
from rhoplan_paper.context import UNITS, Context, Result, ask, efe_jobs
from rhoplan_paper.figures.weights import curve_job
from rhoplan_paper.jobs import Job
from rhoplan_paper.verdicts import SAME

SWEPT: tuple[tuple[str, int], ...] = (
    ("tiger", 6), ("testbed", 4), ("diagnosis", 3), ("bandit", 2), ("tileworld:n=6", 2),
)  # fmt: skip
"""The problems of the paper's sweep over weights, and their horizons."""

CLOSE = 2.0
"""The factor within which weights are near each other: the paper calls weights from 1/2 to 2 equally good."""


@dataclass(frozen=True)
class Sweep:
    """Exact scores by weight per nat. steps: from lower to upper weight; at_one: the score at weight 1, by unit."""

    problem: str
    horizon: int
    steps: tuple[Result, ...]
    at_one: Mapping[str, Result]

    def top(self, column: str, high: float = math.inf) -> float:
        """The highest score in `column` of weights below `high` per nat."""
        return max(float(step[column]) for step in self.steps if step["lower"] < high)

    def best(self, column: str, high: float = math.inf) -> tuple[float, float]:
        """The smallest and the largest weight per nat below `high` that have it."""
        level = self.top(column, high) - SAME
        found = [step for step in self.steps if step["lower"] < high and float(step[column]) >= level]
        return float(found[0]["lower"]), min(float(found[-1]["upper"]), high)

    def factor(self, unit: str) -> float:
        """By what factor weight 1 must change to earn the most; 1 if it earns the most itself."""
        one, (lower, upper) = per_nat(1.0, unit), self.best("reward")
        return max(lower / one, one / upper if upper else math.inf, 1.0)

    def loss(self, unit: str) -> float:
        """How much reward weight 1 leaves on the table; 0 where that is only the arithmetic of floats."""
        loss = self.top("reward") - float(self.at_one[unit]["reward"])
        return loss if loss > SAME else 0.0

    def near_optimal(self, unit: str) -> bool:
        """By the paper's own margin."""
        return self.loss(unit) <= near_margin(self.top("reward"))

    @property
    def label(self) -> str:
        return f"{self.problem} H={self.horizon}"


def near_margin(best: float) -> float:
    """What the paper allows a near-optimal reward to lack: 5% of the best one, or 0.5 if that is more."""
    return max(0.05 * abs(best), 0.5)


def sweep_jobs(problem: str, horizon: int) -> dict[str, Job]:
    """Jobs behind one of `sweeps`."""
    return {**efe_jobs(problem, horizon), "steps": curve_job(problem, horizon)}


def sweeps(context: Context, places: Iterable[tuple[str, int]] = SWEPT) -> list[Sweep]:
    """How each problem's score depends on the weight, at its horizon."""
    chosen = list(places)
    results = ask(context, {(p, h, name): one for p, h in chosen for name, one in sweep_jobs(p, h).items()})
    return [
        Sweep(p, h, tuple(results[p, h, "steps"]["steps"]), {unit: results[p, h, unit] for unit in UNITS})
        for p, h in chosen
    ]
