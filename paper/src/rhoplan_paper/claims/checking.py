"""The paper's claims in words: each has a small function that returns its finding, registered with `@claim("id")`.

One study is made of them all. A claim function asks for all its jobs at once (`ask`), works out from the
numbers whether the claim holds, by unit of information where a weight matters (`by_unit`), and puts it into words with
`found`. The functions are in the other modules of this folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from rhoplan_paper.context import Context, Pending, score_job
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import Cell, Claim, published, select
from rhoplan_paper.registry import add_study, claims
from rhoplan_paper.study import (
    CONFIRMED,
    CONTRADICTED,
    IN_PART,
    NO_DIFFERENCE,
    ONLY_BITS,
    ONLY_NATS,
    Finding,
    Headline,
    Outcome,
    Part,
    Sheet,
    Study,
)

Result = Mapping[str, Any]
Key = TypeVar("Key")

UNITS = ("bits", "nats")

SAME = 1e-9
"""Exact scores closer than this are the same score: what is left is the arithmetic of floats."""


def build_claims(context: Context) -> Outcome:
    """A finding for every registered claim; Pending with the jobs that all of them miss together."""
    findings: list[Finding] = []
    missing: dict[Job, None] = {}
    for check in claims().values():
        try:
            findings.append(check(context))
        except Pending as pending:
            missing.update(dict.fromkeys(pending.jobs))
    if missing:
        raise Pending(missing)
    rows = tuple((f.place, f.claim, f.published, f.exact or f.simulated, f.verdict, f.reason) for f in findings)
    return Outcome(Sheet(("place", "claim", "published", "ours", "verdict", "reason"), rows), tuple(findings))


def found(
    id: str,
    verdict: str,
    reason: str,
    *,
    published: str = "",
    simulated: str = "",
    exact: str = "",
    unit: str = "",
    parts: tuple[Part, ...] = (),
    headline: tuple[str, str] | None = None,
) -> Finding:
    """The finding on claim `id`; its place and its words are the paper's data. headline: a number and a sentence."""
    about = _about(id)
    return Finding(
        id,
        about.place,
        about.gist,
        published,
        simulated,
        exact,
        unit,
        verdict,
        reason,
        parts,
        Headline(*headline) if headline else None,
    )


def ask(context: Context, jobs: Mapping[Key, Job]) -> dict[Key, dict[str, Any]]:
    """The results of `jobs` under the same keys, asked for together."""
    return dict(zip(jobs, context.results(jobs.values()), strict=True))


def exact_job(
    problem: str,
    agent: str,
    *,
    horizon: int | None = None,
    weight: float | None = None,
    unit: str = "nats",
    **more: Any,
) -> Job:
    """The exact score of an agent, with the same settings as in the tables, so that one job serves both.

    horizon None: the problem's own. The weight of efe is 1, that of planning and myopic is none.
    """
    if agent == "efe":
        weight = 1.0
    return score_job(
        problem, agent, horizon=horizon, weight=None if weight is None else float(weight), unit=unit, **more
    )


def exact(context: Context, problem: str, agent: str, **settings: Any) -> dict[str, Any]:
    """The exact score of one agent; where several are needed, `ask` for their jobs at once."""
    return context.result(exact_job(problem, agent, **settings))


def efe_jobs(problem: str, horizon: int | None = None, **more: Any) -> dict[str, Job]:
    """The exact score of EFE by unit: in bits and in nats."""
    return {unit: exact_job(problem, "efe", horizon=horizon, unit=unit, **more) for unit in UNITS}


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
    jobs: dict[tuple[str, int | None, str], Job] = {}
    for problem, horizon in places:
        jobs[problem, horizon, "planning"] = exact_job(problem, "planning", horizon=horizon)
        jobs |= {(problem, horizon, unit): one for unit, one in efe_jobs(problem, horizon).items()}
    return jobs


def leads(context: Context, places: Iterable[tuple[str, int | None]]) -> list[Lead]:
    """EFE beside Planning on each problem and horizon (None: the problem's own)."""
    chosen = list(places)
    results = ask(context, lead_jobs(chosen))
    return [
        Lead(problem, horizon, results[problem, horizon, "planning"], {u: results[problem, horizon, u] for u in UNITS})
        for problem, horizon in chosen
    ]


def by_unit(holds: Mapping[str, bool]) -> tuple[str, str]:
    """Verdict and unit of a claim that holds or not in bits and in nats, or (one entry) without a unit."""
    units = [unit for unit, true in holds.items() if true]
    if len(holds) > 1 and len(units) == 1:
        return (ONLY_BITS if units[0] == "bits" else ONLY_NATS), units[0]
    unit = "either" if len(holds) > 1 else next(iter(holds))
    return (CONFIRMED if units else CONTRADICTED), unit


def by_parts(
    parts: Mapping[str, Mapping[str, bool] | bool], core: Iterable[str] = ()
) -> tuple[str, str, tuple[Part, ...]]:
    """Verdict, unit and parts of a claim that says several things, each of which holds or not, maybe by unit.

    All of them together are a claim like any other. Where they do not all hold, the claim holds in part if something of
    it does and its core, the parts without which the rest says nothing, is among that.
    """
    central = set(core)
    units = UNITS if any(isinstance(one, Mapping) for one in parts.values()) else ("",)
    holds = {words: one if isinstance(one, Mapping) else dict.fromkeys(units, one) for words, one in parts.items()}
    told = tuple(Part(words, _where(each), words in central) for words, each in holds.items())
    verdict, unit = by_unit({u: all(each[u] for each in holds.values()) for u in units})
    if verdict == CONTRADICTED:
        stands = {u: any(e[u] for e in holds.values()) and all(holds[words][u] for words in central) for u in units}
        if any(stands.values()):
            return IN_PART, by_unit(stands)[1], told
    return verdict, unit, told


def _where(holds: Mapping[str, bool]) -> str:
    units = [unit for unit, true in holds.items() if true]
    return "no" if not units else "yes" if len(units) == len(holds) else f"in {units[0]}"


def by_unit_more(gaps: Mapping[str, Iterable[float]]) -> tuple[str, str]:
    """Verdict and unit of a claimed lead, from exact gaps by unit, zero where two policies score the same.

    Positive everywhere is a lead. Zero everywhere in each unit that has none means that the claimed difference is not
    there; anything else contradicts it.
    """
    found = {unit: list(values) for unit, values in gaps.items()}
    leading = {unit: all(gap > 0 for gap in values) for unit, values in found.items()}
    if not any(leading.values()) and all(gap == 0 for values in found.values() for gap in values):
        return NO_DIFFERENCE, "either" if len(found) > 1 else next(iter(found))
    return by_unit(leading)


def same(one: Result, other: Result, columns: Iterable[str] = ("reward", "tests", "success")) -> bool:
    """Whether two exact scores are the same to the last digit."""
    return all(abs(float(one[name]) - float(other[name])) <= SAME for name in columns if one.get(name) is not None)


def signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}"


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def points(share: float, digits: int = 1) -> str:
    """A difference of shares in percentage points."""
    return f"{100 * share:+.{digits}f} pp"


def printed(*references: str) -> str:
    """What the paper prints at these references, each number after what tells it from the others."""
    cells = [cell for reference in references for cell in select(reference)]
    return listed(f"{_row(cell)} {cell.text}".strip() for cell in cells)


def listed(texts: Iterable[str]) -> str:
    return "; ".join(texts)


def _row(cell: Cell) -> str:
    return " ".join(str(cell.row[name]) for name in ("problem", "agent", "partition") if name in cell.row)


def _about(id: str) -> Claim:
    return published().claims[id]


add_study(
    Study("claims", "claims", "What the paper says in words", "", "throughout", build_claims, None, (60.0, 120.0))
)
