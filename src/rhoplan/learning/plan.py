"""plan.yaml: a model file with the numbers left out that a table of cases gives.

unit: CAD
target: disease                        # the column that says what it turned out to be
tests:                                 # columns that are tests; others are none
  age: {cost: 1}
  chol: {cost: 5.17, group: blood}
  pain: {cost: 1, outcomes: [none, mild, strong]}     # the order of texts, where they have one
groups: {blood: {first: 2.10}}
losses:
  call-healthy: {healthy: 0, disease: 200}
  call-disease: {healthy: 200, disease: 0}
prevalence: {disease: 5%}              # optional: the share in life, where the table has another

Also as in a model file: name, states (their order), positive, prior, commits, cap, info, and after, info of a test.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rhoplan.errors import ModelFileError
from rhoplan.io.fields import listed
from rhoplan.io.foreign import read_data
from rhoplan.io.model_file import LANGUAGES
from rhoplan.io.reader import MODEL_FIELDS, TEST_FIELDS, ModelReader
from rhoplan.io.stakes import read_commits
from rhoplan.io.subtypes import read_subtypes
from rhoplan.io.tree import LARGEST_FILE, Tree, parse_tree, shown
from rhoplan.learning.table import Column, Table
from rhoplan.model.diagnostic import Decision, FlatMenu, Test
from rhoplan.model.pomdp import Array
from rhoplan.model.records import Factor

NOT_PLANNED = ("horizon", "subtypes", "learned", "information", "panels", "uncertain")
"""Fields of a model file that a plan cannot have: the first three are found, the others not covered."""
PLAN_FIELDS = ("target", *(name for name in MODEL_FIELDS if name not in NOT_PLANNED))
PLANNED = ("cost", "outcomes", "group", "after", "info")
"""Fields of a test in a plan; the table gives the others."""

MOST_DIAGNOSES = 20

NO_TARGET = ("date", "free text", "id")
"""Kinds of columns that cannot be the target."""

TEST_KINDS = ("number", "text")
"""Kinds of columns that a draft takes for tests."""

TO_FILL_IN = "# TO BE FILLED IN"


@dataclass(frozen=True, eq=False)
class Plan:
    """What the table does not give. tests: without likelihood; their outcomes are those whose order the plan gives.

    states: the diagnoses, in order. prior (D,): None where the table's shares count.
    """

    file: str
    name: str
    unit: str
    target: str
    states: tuple[str, ...]
    tests: tuple[Test, ...]
    commits: tuple[Decision, ...]
    prior: Array | None = None
    first_prices: dict[str, float] = field(default_factory=dict)
    most_tests: int | None = None
    budget: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that it names."""
        return (self.target, *(test.name for test in self.tests))

    @property
    def menu(self) -> FlatMenu:
        """What may be run when, and for what; its tests have no likelihood."""
        return FlatMenu(self.tests, self.commits, self.first_prices, self.most_tests, self.budget)

    @property
    def losses(self) -> Array:
        """What each commit (row) costs in each diagnosis (column)."""
        return -np.stack([commit.reward for commit in self.commits])


def read_plan(path: Path | str) -> Plan:
    """The plan in the file at `path`."""
    file, language = str(path), LANGUAGES.get(Path(path).suffix.lower())
    if language is None:
        raise ModelFileError(f"a plan must end in {', '.join(LANGUAGES)}", file=file)
    data = read_data(path, what="a plan", largest=LARGEST_FILE)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ModelFileError("a plan must be UTF-8 text; this is not", file=file, line=line) from None
    return parse_plan(text, file=file, language=language)


def parse_plan(text: str, *, file: str = "plan", language: str = "yaml") -> Plan:
    """The plan that `text` describes; `file` is what errors call it."""
    return PlanReader(file).plan(parse_tree(text, file=file, language=language))


class PlanReader(ModelReader):
    """Reads one plan's tree, with the rules of model files."""

    takes_ranges = False

    def plan(self, tree: Tree) -> Plan:
        """The plan that the tree describes."""
        self.check_fields(tree, PLAN_FIELDS, required=("target", "tests"))
        items = tree.items
        states = self.names(items["states"]) if "states" in items else self.diagnoses(tree)
        diagnoses = read_subtypes(self, None, states)
        tests, _ = self.tests(tree, diagnoses.grouped, "")
        if not tests:
            raise self.fault("a plan must have at least one test; it has none", items["tests"])
        target = self.text(items["target"])
        if target in {test.name for test in tests}:
            raise self.fault(f"'{shown(target)}' is the target: it cannot be a test too", items["tests"].items[target])
        positive = self.positive(tree, states)
        most_tests, budget = self.cap(items["cap"]) if "cap" in items else (None, None)
        return Plan(
            file=self.file,
            name=self.text(items["name"]) if "name" in items else Path(self.file).stem,
            unit=self.text(items["unit"]) if "unit" in items else "points",
            target=target,
            states=states,
            tests=tests,
            commits=read_commits(self, tree, diagnoses.grouped, positive, taken={test.name for test in tests}),
            prior=self.prior(tree, diagnoses, positive) if {"prior", "prevalence"} & items.keys() else None,
            first_prices=self.first_prices(tree, used={test.group for test in tests}),
            most_tests=most_tests,
            budget=budget,
            details=self.details(tree, positive),
        )

    def diagnoses(self, tree: Tree) -> tuple[str, ...]:
        """The names that losses are given for, in the order of the first commit."""
        given = tree.items.get("losses", tree.items.get("commits"))
        rows = self.named_maps(given) if given is not None else {}
        first = next(iter(rows.values()), None)
        if first is None or first.kind != "map":
            raise self.fault("a plan must have losses for each diagnosis by name, or the field states", given or tree)
        return tuple(first.items)

    def test(self, name: str, tree: Tree, hidden: Factor, positive: str | None, groups: Collection[str]) -> Test:
        for given in tree.items if tree.kind == "map" else ():
            if given in TEST_FIELDS and given not in PLANNED:
                raise self.fault(
                    f"{tree.label}.{given} must be left out: the table gives it (a plan has {listed(PLANNED)})",
                    tree.items[given],
                )
        self.check_fields(tree, PLANNED, required=("cost",))
        items = tree.items
        if "group" in items and not groups:
            raise self.fault(
                f"{tree.label}.group needs the field groups in the plan, which says its first price", items["group"]
            )
        outcomes = self.names(items["outcomes"]) if "outcomes" in items else ()
        group = self.one_of(items["group"], groups, "group") if "group" in items else ""
        after = self.after(items["after"]) if "after" in items else ()
        blank = np.empty((len(hidden.states), len(outcomes)))
        return Test(name, self.amount(items["cost"]), outcomes, blank, False, group, after)


def draft_plan(table: Table, target: str) -> str:
    """A plan for `table` as YAML: every column that can be a test at cost 1, every wrong call at loss 1."""
    column = table.column(target, "the target")
    found = diagnoses_of(table, column)
    lines = [
        f"# Drafted from the header of {Path(table.file).name}. Every cost and loss is 1: fill in your own.",
        f"unit: points  {TO_FILL_IN}",
        f"target: {_quoted(target)}",
        f"tests:  {TO_FILL_IN}: take out what is known only after the diagnosis",
    ]
    for name, other in table.columns.items():
        if name == target:
            continue
        usable = other.kind in TEST_KINDS
        lines.append(f"  {_quoted(name)}: {{cost: 1}}" if usable else f"  # {_quoted(name)}: no test, {other.kind}")
    if not any(line.endswith("{cost: 1}") for line in lines):
        raise table.fault("no column can be a test: there must be a column of numbers or of a few texts", target)
    lines.append(f"losses:  {TO_FILL_IN}: what each call costs in each diagnosis")
    for call in found:
        row = ", ".join(f"{_quoted(diagnosis)}: {int(diagnosis != call)}" for diagnosis in found)
        lines.append(f"  {_quoted('call-' + call)}: {{{row}}}")
    return "\n".join(lines) + "\n"


def may_be_target(column: Column) -> bool:
    """Whether a column has few enough values, and enough, to be what it turned out to be."""
    return column.kind not in NO_TARGET and 2 <= len(column.values) <= MOST_DIAGNOSES


def diagnoses_of(table: Table, column: Column) -> tuple[str, ...]:
    """What stands in the target column, the most frequent first; TableError unless that is a few names."""
    values = column.values
    if column.kind in NO_TARGET or len(values) > MOST_DIAGNOSES:
        raise table.fault(
            f"the target must be one of a few diagnoses; '{shown(column.name)}' has {len(values):,} different values "
            f"and looks like a column of kind {column.kind}", column.name,
        )  # fmt: skip
    if len(values) < 2:
        what = f"only '{shown(next(iter(values)))}'" if values else "nothing"
        raise table.fault(
            f"the target must have two diagnoses at least; '{shown(column.name)}' has {what}", column.name
        )
    return tuple(name for name, _ in values.most_common())


def _quoted(name: str) -> str:
    """`name` as YAML text."""
    import json

    plain = name.replace("-", "").replace("_", "").replace(" ", "")
    safe = plain.isascii() and plain.isalnum() and not plain[0].isdigit() and name.strip() == name
    reserved = name.lower() in ("yes", "no", "true", "false", "on", "off", "null", "y", "n")
    return name if safe and not reserved and name[0] != "-" else json.dumps(name, ensure_ascii=False)
