"""EFE beside Planning at the same horizon: what many of the paper's claims are about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rhoplan_paper.context import UNITS, Context, Result, ask, rival_jobs
from rhoplan_paper.jobs import Job
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
        difference = float(self.efe[unit][column]) - float(self.planning[column])
        return difference if abs(difference) > SAME else 0.0

    @property
    def label(self) -> str:
        return self.problem if self.horizon is None else f"{self.problem} H={self.horizon}"


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
