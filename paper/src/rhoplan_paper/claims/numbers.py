"""Our numbers that many claims read: EFE beside Planning, scores by weight, and rows of the paper's tables.

One sweep per nat serves both units of the weight: 1 per bit is 1.44 per nat. Sweeps and rows are made by the same jobs
as the Pareto figure and the tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from rhoplan.belief_math.information import per_nat
from rhoplan_paper.compare import Number
from rhoplan_paper.context import UNITS, Context, Result, ask, efe_jobs, rival_jobs
from rhoplan_paper.figures.weights import curve_job
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import Row, published
from rhoplan_paper.tables.rows import Line, measured, plan_row
from rhoplan_paper.verdicts import SAME


@dataclass(frozen=True)
class Lead:
    """EFE beside Planning at the same horizon: exact scores, EFE's by unit."""

    problem: str
    horizon: int | None
    planning: Result
    efe: Mapping[str, Result]

    def gap(self, unit: str, column: str = "reward") -> float:
        """EFE minus Planning; 0 where the difference is only the arithmetic of floats."""
        return gap(self.efe[unit], self.planning, column)

    @property
    def label(self) -> str:
        return self.problem if self.horizon is None else f"{self.problem} H={self.horizon}"


def gap(one: Result, other: Result, column: str = "reward") -> float:
    """How much more the first score has; 0 where the difference is only the arithmetic of floats."""
    difference = float(one[column]) - float(other[column])
    return difference if abs(difference) > SAME else 0.0


def lead_jobs(places: Iterable[tuple[str, int | None]]) -> dict[tuple[str, int | None, str], Job]:
    """Jobs behind `leads`, to be asked for together with others."""
    return {(p, horizon, name): one for p, horizon in places for name, one in rival_jobs(p, horizon).items()}


def leads(context: Context, places: Iterable[tuple[str, int | None]]) -> list[Lead]:
    """EFE beside Planning on each problem and horizon (None: the problem's own)."""
    chosen = list(places)
    results = ask(context, lead_jobs(chosen))
    return [
        Lead(problem, horizon, results[problem, horizon, "planning"], {u: results[problem, horizon, u] for u in UNITS})
        for problem, horizon in chosen
    ]


OBSERVING: tuple[tuple[str, int], ...] = (
    ("tiger", 6), ("testbed", 4), ("diagnosis", 3), ("bandit", 2), ("tileworld:n=6", 2), ("tileworld:n=8", 2),
)  # fmt: skip
"""The paper's observe-then-commit problems, and their horizons."""

SWEPT = OBSERVING[:5]
"""Those of its sweep over weights."""

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


Key = TypeVar("Key")

CLEAR = 3.0
"""Standard errors from which a simulated difference is taken for a real one: chance exceeds it in 1 of 370."""


@dataclass(frozen=True)
class Ours:
    """Our numbers for one printed row: exact where there are any, else simulated."""

    line: Line
    results: Mapping[Job, Mapping[str, Any]]

    def number(self, column: str, unit: str = "nats") -> Number:
        """Mean, spread and error of a printed column, with the weight in `unit` where the row has one."""
        chosen = self.line.exact.get(unit) or self.line.exact.get("nats") or self.line.simulated
        return measured(self.results[chosen], column, self.line.problem)

    def mean(self, column: str, unit: str = "nats") -> float:
        return self.number(column, unit).mean

    def simulated(self, column: str) -> Number:
        """The number from episodes; only where `rows` was asked for them."""
        return measured(self.results[self.line.simulated], column, self.line.problem)


def rows(
    context: Context, wanted: Mapping[Key, tuple[str, Mapping[str, Any]]], *, simulated: bool = False
) -> dict[Key, Ours]:
    """Our numbers for printed rows, asked for together. wanted: for each key a table and what names one of its rows."""
    lines = {
        key: plan_row(published().tables[table], _row(table, named), context) for key, (table, named) in wanted.items()
    }
    jobs: dict[Job, None] = {}
    for line in lines.values():
        jobs.update(dict.fromkeys(line.exact.values()))
        if simulated or not line.exact:
            jobs[line.simulated] = None
    results = dict(zip(jobs, context.results(jobs), strict=True))
    return {key: Ours(line, results) for key, line in lines.items()}


def apart(one: Number, other: Number) -> float:
    """How many standard errors `one` lies above `other`; infinite where neither has an error."""
    error = math.hypot(one.se, other.se)
    difference = one.mean - other.mean
    if error > 0:
        return difference / error
    return math.copysign(math.inf, difference) if difference else 0.0


def with_error(value: Number, digits: int = 2) -> str:
    return f"{value.mean:+.{digits}f}" + (f" ± {value.se:.{digits}f}" if value.se else "")


def _row(table: str, named: Mapping[str, Any]) -> Row:
    fitting = [cell.row for cell in published().tables[table].cells if named.items() <= cell.row.items()]
    distinct = {tuple(sorted(row.items())): row for row in fitting}
    if len(distinct) != 1:
        raise LookupError(f"table '{table}' has {len(distinct)} rows with {dict(named)}; name exactly one")
    return next(iter(distinct.values()))
