"""How scores depend on the weight: the exact steps of a policy, or a grid of weights where there are too many steps.

One sweep per nat serves both units: weight 1 per bit is 1.44 per nat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rhoplan.information import per_nat
from rhoplan.reproduction.claims import SAME, UNITS, Result, ask, efe_jobs, exact_job
from rhoplan.reproduction.context import Context
from rhoplan.reproduction.jobs import Job, job

SWEPT: tuple[tuple[str, int], ...] = (
    ("tiger", 6),
    ("testbed", 4),
    ("diagnosis", 3),
    ("bandit", 2),
    ("tileworld:n=6", 2),
)
"""The problems of the paper's sweep over weights, and their horizons."""

TRIED = (0.01, 0.1, 0.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
"""The weights that the paper sweeps, besides 1: tried per nat where the steps of a policy are too many to find."""

TRIED_QUICKLY = (5.0, 20.0, 100.0)

ON_A_GRID = ("tileworld:n=6",)
"""Problems whose beliefs are too many to find every weight at which the policy changes."""

CLOSE = 2.0
"""The factor within which weights are near each other: the paper calls weights from 1/2 to 2 equally good."""


@dataclass(frozen=True)
class Sweep:
    """Exact scores by weight per nat: steps from lower to upper weight, on a grid of weights where these are equal."""

    problem: str
    horizon: int
    steps: tuple[Result, ...]
    at_one: Mapping[str, Result]
    """The score at weight 1, by unit."""

    def top(self, column: str) -> float:
        return max(float(step[column]) for step in self.steps)

    def best(self, column: str) -> tuple[float, float]:
        """The smallest and the largest weight per nat with the highest score in `column`."""
        level = self.top(column) - SAME
        found = [step for step in self.steps if float(step[column]) >= level]
        return float(found[0]["lower"]), float(found[-1]["upper"])

    def factor(self, unit: str) -> float:
        """By what factor weight 1 must change to earn the most; 1 if it earns the most itself."""
        one, (lower, upper) = per_nat(1.0, unit), self.best("reward")
        return max(lower / one, one / upper if upper else math.inf, 1.0)

    def loss(self, unit: str) -> float:
        """How much reward weight 1 leaves on the table."""
        return max(self.top("reward") - float(self.at_one[unit]["reward"]), 0.0)

    def near_optimal(self, unit: str) -> bool:
        """By the paper's own margin: 5% of the best reward, or 0.5 if that is more."""
        return self.loss(unit) <= near_margin(self.top("reward"))

    @property
    def label(self) -> str:
        return f"{self.problem} H={self.horizon}"


def near_margin(best: float) -> float:
    """What the paper allows a near-optimal reward to lack."""
    return max(0.05 * abs(best), 0.5)


def sweep_jobs(context: Context, problem: str, horizon: int) -> dict[str, Job]:
    """Jobs behind `sweep`."""
    jobs = efe_jobs(problem, horizon)
    if problem not in ON_A_GRID:
        return {**jobs, "steps": job("steps", problem=problem, horizon=horizon)}
    jobs["0"] = exact_job(problem, "planning", horizon=horizon)
    for weight in TRIED if context.full else TRIED_QUICKLY:
        jobs[f"{weight:g}"] = exact_job(problem, "planning-ig", horizon=horizon, weight=weight)
    return jobs


def sweeps(context: Context, places: Iterable[tuple[str, int]] = SWEPT) -> list[Sweep]:
    """How each problem's score depends on the weight, at its horizon."""
    chosen = list(places)
    wanted = {(place, name): one for place in chosen for name, one in sweep_jobs(context, *place).items()}
    results = ask(context, wanted)
    return [_sweep(place, {name: results[at, name] for at, name in wanted if at == place}) for place in chosen]


def _sweep(place: tuple[str, int], results: Mapping[str, Result]) -> Sweep:
    at_one = {unit: results[unit] for unit in UNITS}
    if "steps" in results:
        return Sweep(*place, tuple(results["steps"]["steps"]), at_one)
    points = {per_nat(1.0, name) if name in UNITS else float(name): result for name, result in results.items()}
    steps = tuple({**points[weight], "lower": weight, "upper": weight} for weight in sorted(points))
    return Sweep(*place, steps, at_one)
