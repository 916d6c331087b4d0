"""Rows of the paper's tables for claims that rest on them: our numbers, by the same jobs that the tables use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from rhoplan_paper.compare import Number
from rhoplan_paper.context import Context
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import Row, published
from rhoplan_paper.tables.rows import Line, measured, plan_row

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
