"""Table and plan put together: cases with a known diagnosis, tests that can be learned, and what to warn of.

What the plan names must be in the table and be a test that numbers or a few texts can tell; what is wrong is refused in
one line with column and row. What can be worked with is a warning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from rhoplan.errors import ModelFileError
from rhoplan.io.fields import listed
from rhoplan.io.tree import shown
from rhoplan.learning.outcomes import OTHER, cut_column
from rhoplan.learning.plan import Plan, diagnoses_of
from rhoplan.learning.table import FEWEST_IDS, Column, Table
from rhoplan.model.pomdp import POMDP, Array, Ids

FEWEST_CASES = 10
"""Cases of each diagnosis below which nothing can be said about cases that were not seen."""

GIVES_AWAY = 0.95
"""Share of the doubt about the diagnosis that one column must settle to be suspected of being recorded after it."""

_CODE = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?")

SURPRISING = 0.001
"""Chance, shared among all columns, below which blanks are said to go together with the diagnosis."""


@dataclass(frozen=True, eq=False)
class Cases:
    """table: only cases whose diagnosis is known. plan: only tests that tell cases apart. diagnosis (n,): by number of
    the plan's states. weight (n,): how much a case counts, where the share in life is not the table's; mean 1."""

    table: Table
    plan: Plan
    diagnosis: Ids
    weight: Array
    warnings: tuple[str, ...]

    @property
    def size(self) -> int:
        return self.table.size

    @property
    def prices(self) -> Array:
        """What each test costs by itself (T,), without first prices."""
        return np.array([test.cost for test in self.plan.tests])


def match(table: Table, plan: Plan) -> Cases:
    """The cases of `table` that `plan` is about; TableError or ModelFileError where the two do not fit."""
    target = table.column(plan.target, "the target of the plan")
    warnings = list(table.warnings)
    found = diagnoses_of(table, target)
    for name in found:
        if name not in plan.states:
            case = int(np.flatnonzero(target.cells == name)[0])
            raise table.fault(
                f"the plan must give losses for every diagnosis; '{shown(name)}' has none (it names "
                f"{', '.join(plan.states)})",
                plan.target, case,
            )  # fmt: skip
    known = np.flatnonzero(~target.blank)
    if len(known) < table.size:
        first = int(table.row[np.flatnonzero(target.blank)[0]])
        warnings.append(
            f"{table.size - len(known):,} rows without '{shown(plan.target)}' are left out; the first is row {first}"
        )
        table = _only(table, known)
    diagnosis = np.array([plan.states.index(cell) for cell in table.columns[plan.target].cells], dtype=np.int64)
    for number, name in enumerate(plan.states):
        count = int(np.count_nonzero(diagnosis == number))
        if count < FEWEST_CASES:
            raise table.fault(
                f"there must be at least {FEWEST_CASES} cases of each diagnosis; '{shown(name)}' has {count}",
                plan.target,
            )
    plan = _usable(table, plan, warnings)
    warnings += _suspects(table, plan, diagnosis) + _telling_blanks(table, plan, diagnosis)
    return Cases(table, plan, diagnosis, _weights(plan, diagnosis), tuple(warnings))


def _only(table: Table, chosen: Ids) -> Table:
    columns = {
        name: replace(
            column,
            cells=column.cells[chosen],
            blank=column.blank[chosen],
            numbers=None if column.numbers is None else column.numbers[chosen],
        )
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns, row=table.row[chosen])


def _usable(table: Table, plan: Plan, warnings: list[str]) -> Plan:
    """`plan` without tests that are the same in all cases; a fault for columns that can be no tests."""
    kept = []
    for test in plan.tests:
        column = table.columns.get(test.name)
        if column is None:
            known = ", ".join(list(table.columns)[:20]) + (", ..." if len(table.columns) > 20 else "")
            raise ModelFileError(
                f"tests.{shown(test.name)} must be a column of the table; {table.file} has {known}", file=plan.file,
                field=("tests", test.name),
            )  # fmt: skip
        if column.kind in ("date", "id", "free text") and not test.outcomes:
            case = int(np.flatnonzero(~column.blank)[0])
            raise table.fault(
                f"a test must be a column of numbers or of a few texts; '{shown(test.name)}' is a column of kind "
                f"{column.kind}: take it out of the plan's tests",
                test.name, case,
            )  # fmt: skip
        if column.kind == "constant":
            warnings.append(f"test '{shown(test.name)}' is the same in all cases that have it: it is left out")
            continue
        kept.append(test)
        if _numbers_cases(column):
            warnings.append(
                f"column '{shown(test.name)}' holds whole numbers that all differ: if they are numbers of cases, take "
                "it out of the plan"
            )
    if not kept:
        raise ModelFileError("no test of the plan tells cases apart: every column is constant", file=plan.file)
    names = {test.name for test in kept}
    kept = [replace(test, after=tuple(name for name in test.after if name in names)) for test in kept]
    groups = {test.group for test in kept}
    prices = {group: price for group, price in plan.first_prices.items() if group in groups}
    return replace(plan, tests=tuple(kept), first_prices=prices)


def _numbers_cases(column: Column) -> bool:
    """Whether a column of numbers may number the cases: whole, and different in all of many."""
    numbers = column.numbers
    if numbers is None or column.decimals or len(numbers) < FEWEST_IDS:
        return False
    return len(np.unique(numbers[~column.blank])) == len(numbers)


def coded_results(problem: POMDP) -> list[str]:
    """A warning for each test all of whose results are numbers, which may be codes."""
    found = []
    for test in problem.flat.tests:
        codes = [name for name in test.outcomes if name != OTHER]
        if not all(map(_CODE.fullmatch, codes)):
            continue
        names = "no for 0 and yes for 1" if codes == ["0", "1"] else f"'{shown(test.name)} {codes[0]}' for {codes[0]}"
        found.append(
            f"column '{shown(test.name)}' has numbers as results ({listed(codes)}): if they are codes, write names in "
            f"their place in the table, such as {names}, and learn again; a plan cannot rename results"
        )
    return found


def _weights(plan: Plan, diagnosis: Ids) -> Array:
    if plan.prior is None:
        return np.ones(len(diagnosis))
    share = np.bincount(diagnosis, minlength=len(plan.states)) / len(diagnosis)
    weights: Array = (plan.prior / share)[diagnosis]
    return weights


def _suspects(table: Table, plan: Plan, diagnosis: Ids) -> list[str]:
    """Columns that settle nearly all doubt by themselves."""
    return [
        f"column '{shown(name)}' alone settles {settled:.0%} of the doubt about '{shown(plan.target)}': was it "
        "recorded after the diagnosis? Then take it out of the plan"
        for name, settled in settled_alone(table, plan, diagnosis).items()
        if settled >= GIVES_AWAY
    ]


def settled_alone(table: Table, plan: Plan, diagnosis: Ids) -> dict[str, float]:
    """The share of the doubt about the diagnosis that each test settles by itself."""
    found, everybody = {}, np.arange(len(diagnosis))
    for test in plan.tests:
        column = table.columns[test.name]
        cut = cut_column(column, everybody, 8, test.outcomes)
        if cut is not None:
            found[test.name] = _settled(cut(column, everybody), diagnosis, len(plan.states))
    return found


def _settled(outcome: Ids, diagnosis: Ids, states: int) -> float:
    """The share of the entropy of the diagnosis that the outcome takes away."""
    seen = outcome >= 0
    table = np.zeros((outcome.max(initial=0) + 1, states))
    np.add.at(table, (outcome[seen], diagnosis[seen]), 1.0)
    joint = table / max(table.sum(), 1.0)

    def doubt(shares: Array) -> float:
        there = shares[shares > 0]
        return float(-(there * np.log(there)).sum())

    before = doubt(joint.sum(axis=0))
    return (before + doubt(joint.sum(axis=1)) - doubt(joint.ravel())) / before if before > 0 else 0.0


def _telling_blanks(table: Table, plan: Plan, diagnosis: Ids) -> list[str]:
    """Columns whose blanks go together with the diagnosis."""
    found = []
    for name, (counts, chance) in blanks_by_diagnosis(table, plan, diagnosis).items():
        if chance < SURPRISING / len(plan.tests):
            shares = counts[1] / counts.sum(axis=0)
            told = ", ".join(f"{state} {share:.0%}" for state, share in zip(plan.states, shares, strict=True))
            found.append(
                f"blanks of '{shown(name)}' go together with the diagnosis ({told} blank): who was tested tells "
                "something that the model does not use"
            )
    return found


def blanks_by_diagnosis(table: Table, plan: Plan, diagnosis: Ids) -> dict[str, tuple[Array, float]]:
    """Of each test how many cases of each diagnosis have it and lack it (2, D), and how likely that is by chance."""
    from scipy.stats import chi2_contingency

    found = {}
    for test in plan.tests:
        column: Column = table.columns[test.name]
        counts = np.stack(
            [np.bincount(diagnosis[column.blank == b], minlength=len(plan.states)) for b in (False, True)]
        ).astype(float)
        empty = counts.sum(axis=1).min() == 0 or counts.sum(axis=0).min() == 0
        found[test.name] = counts, 1.0 if empty else float(chi2_contingency(counts).pvalue)
    return found
