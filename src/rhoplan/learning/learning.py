"""`learn`: a table and a plan in, a model with its bill out.

    Table, Plan -> Cases -> folds (choose inside, score outside) -> Bill
                         -> choose on all cases -> problem to use

The model that comes out is made of all cases; the bill is that of the same way of learning on cases left out of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rhoplan.errors import TableError
from rhoplan.io.learned import LEARNED
from rhoplan.io.tree import shown
from rhoplan.learning.baselines import need_sklearn
from rhoplan.learning.bill import Bill, make_bill
from rhoplan.learning.build import Learned, build
from rhoplan.learning.cases import Cases, coded_results, match
from rhoplan.learning.choices import Choice, Grid
from rhoplan.learning.findings import findings
from rhoplan.learning.folds import POLICY, Fold, Splitting
from rhoplan.learning.jobs import score_all
from rhoplan.learning.looks import looks
from rhoplan.learning.plan import Plan
from rhoplan.learning.stopped import second_opinion as second_opinion_of
from rhoplan.learning.table import Table
from rhoplan.model.pomdp import POMDP

MANY_CASES = 2_000
"""Cases from which on one round of folds tells enough."""

DEFAULT_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Result:
    """What was learned. choice: how the model was made, and how its policy looks ahead. opinion: a second one, of all
    cases, where it was asked for."""

    cases: Cases
    learned: Learned
    choice: Choice
    bill: Bill
    folds: tuple[Fold, ...]
    splitting: Splitting
    seed: int
    opinion: dict[str, Any] | None = None

    @property
    def problem(self) -> POMDP:
        """The model; `learned` of its details is what a file carries: the record, and the counts it was made of."""
        problem, cases, given = self.learned.problem, self.cases, self.learned.problem.details.get("info", {})
        one, best = self.bill.heldout, self.bill.baselines[self.bill.over]
        note = (
            f"Learned from {cases.size:,} cases: {one.mean:,.4g} {problem.unit} a case on cases not seen (95%: "
            f"{one.low:,.4g} to {one.high:,.4g}), {self.bill.over} {best.mean:,.4g}; {self.bill.verdict}. SHA-256 of "
            f"the table: {cases.table.digest}."
        )
        info = {**given, "note": " ".join([str(given["note"]), note]) if given.get("note") else note}
        told = {**self.record, "warnings": list(cases.warnings[len(cases.table.warnings) :])}
        if self.opinion is not None:
            told["second_opinion"] = {**told["second_opinion"], "model": self.opinion}
        details = {**problem.details, "info": info, LEARNED: {**told, **self._counts}}
        return replace(problem, price=self.choice.weight or None, details=details)

    @cached_property
    def record(self) -> dict[str, Any]:
        """Bill, choice, findings and where it all comes from, as JSON holds it; no case is in it."""
        cases, plan = self.cases, self.cases.plan
        counts = np.bincount(cases.diagnosis, minlength=len(plan.states)).tolist()
        parameters = sum(test.likelihood.size - len(test.likelihood) for test in self.learned.problem.flat.tests)
        return {
            **self.bill.record,
            "unit": plan.unit,
            "choice": self.choice.record,
            "folds": [
                {
                    "cost": float(np.average(fold.held[POLICY].cost, weights=cases.weight[fold.test])),
                    "planned": fold.planned, "cases": len(fold.test), "choice": fold.choice.record,
                }
                for fold in self.folds
            ],
            "diagnoses": dict(zip(plan.states, counts, strict=True)),
            "events_per_parameter": min(counts) / max(parameters, 1),
            "table": {"cases": cases.size, "sha256": cases.table.digest},
            "seed": self.seed,
            "split": self.splitting.record,
            "warnings": list(cases.warnings),
            **findings(cases, self.folds, group=self.splitting.group),
            **looks(cases, self.learned),
        }  # fmt: skip

    @property
    def _counts(self) -> dict[str, Any]:
        """What `update` goes on from: how columns become outcomes, and how many cases had each."""
        learned, states = self.learned, self.learned.problem.states
        cuts = {cut.column: {"at": cut.cuts, "places": cut.places} for cut in learned.cuts}
        return {
            "target": self.cases.plan.target,
            "prior_given": self.cases.plan.prior is not None,
            "cuts": {
                name: {word: values.tolist() for word, values in cut.items() if values is not None}
                for name, cut in cuts.items()
            },
            "counts": {
                cut.column: dict(zip(states, counts.tolist(), strict=True))
                for cut, counts in zip(learned.cuts, learned.counts, strict=True)
            },
            "state_cases": dict(zip(states, learned.cases.tolist(), strict=True)),
        }


def learn(
    table: Table,
    plan: Plan,
    *,
    folds: int = DEFAULT_FOLDS,
    repeats: int | None = None,
    group: str | None = None,
    time: str | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    keep: Path | None = None,
    second_opinion: bool = False,
    seed: int = 0,
    grid: Grid = Grid(),  # noqa: B008  a frozen record
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Result:
    """A model of `plan` from the cases of `table`, and its bill. The same seed gives the same result.

    folds, repeats: of the outer cross-validation; repeats are 2, or 1 from 2,000 cases on. group: a column no value of
    which is on both sides of a split. time: a column by which the past is learned from and the future scored. grid:
    what is tried. second_opinion: whether gradient boosting judges what the policy has acquired, too. jobs: processes;
    cluster: the address of a Dask scheduler to use instead, to which the table is sent. keep: a
    folder that keeps what is done, split by split, so that a run that was stopped goes on; what it holds of cases is
    what policies did in them. `tell` is told how many parts of the work are done, of how many.
    """
    need_sklearn()
    cases = match(table, plan)
    splitting = split_by(cases, folds=folds, repeats=repeats, group=group, time=time)
    scored, choice = score_all(
        cases, splitting, seed=seed, grid=grid, second=second_opinion, jobs=jobs, cluster=cluster, keep=keep, tell=tell
    )
    learned = build(cases.table, cases.plan, cases.diagnosis, np.arange(cases.size), choice, seed=seed)
    cases = replace(cases, warnings=(*cases.warnings, *coded_results(learned.problem)))
    bill = make_bill(cases, scored, group=splitting.group)
    everybody = np.arange(cases.size)
    opinion = second_opinion_of(cases, everybody, learned, choice, seed=seed) if second_opinion else None
    return Result(cases, learned, choice, bill, tuple(scored), splitting, seed, opinion)


def split_by(cases: Cases, *, folds: int, repeats: int | None, group: str | None, time: str | None) -> Splitting:
    """How to split `cases`; TableError where a column does not serve."""
    table = cases.table
    if group is not None and time is not None:
        raise TableError("cases are split by group or by time, not by both", file=table.file, column=group)
    least = int(np.bincount(cases.diagnosis, minlength=len(cases.plan.states)).min())
    if not 2 <= folds <= least:
        raise TableError(
            f"folds must be from 2 to the cases of the rarest diagnosis, {least}; they are {folds}", file=table.file
        )
    repeats = (1 if cases.size >= MANY_CASES else 2) if repeats is None else repeats
    for name in filter(None, (group, time)):
        column = table.column(name, "to split by")
        if column.blank.any():
            case = int(np.flatnonzero(column.blank)[0])
            raise table.fault(f"a column to split by must have no blanks; '{shown(name)}' has one", name, case)
    if group is not None:
        codes = table.columns[group].coded[1]
        if len(np.unique(codes)) < folds:
            raise table.fault(
                f"there must be as many groups as folds ({folds}); there are {len(np.unique(codes))}", group
            )
        return Splitting(folds, repeats, group=codes, column=group)
    if time is not None:
        days = table.columns[time].numbers
        if days is None:
            raise table.fault("a column of times must hold numbers, or days written in one way (2024-05-31)", time, 0)
        return Splitting(folds, 1, time=days, column=time)
    return Splitting(folds, repeats)
