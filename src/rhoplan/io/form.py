"""What the form of the page holds: a model with every number as it was typed, and what is still to be filled in.

The form shows states, prevalence, tests, decisions and sources. What else a file may say (groups, caps, the order of
tests, ...) stands in `more`, as text. `form_text` reads a form from a file's text and writes it back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from rhoplan.errors import ProblemError
from rhoplan.io.shorthands import COUNTS, PREDICTIVE, RATES, RATIOS
from rhoplan.io.stakes import THRESHOLD
from rhoplan.io.typed import Where, check_typed

Way = Literal["rates", "ratios", "counts", "predictive", "groups", "table"]
Stakes = Literal["losses", "commits", "threshold", "utilities"]
NUMBERS: dict[str, tuple[str, ...]] = {"rates": RATES, "ratios": RATIOS, "counts": COUNTS, "predictive": PREDICTIVE}
"""The numbers of a test by the way it is given; groups and tables have rows instead."""
AMOUNTS = ("ratios", "counts")
"""The ways whose numbers are no probabilities."""


@dataclass(frozen=True)
class FormTest:
    """A test. outcomes: also the names of groups. shares: of people in each group.

    rows: of each state, for each outcome its probability, or for each group the chance of the state (of two states only
    that of the positive one).
    """

    name: str = ""
    cost: str = ""
    way: Way = "rates"
    numbers: dict[str, str] = dataclasses.field(default_factory=dict)
    outcomes: list[str] = dataclasses.field(default_factory=list)
    shares: list[str] = dataclasses.field(default_factory=list)
    rows: list[list[str]] = dataclasses.field(default_factory=list)
    sources: dict[str, str] = dataclasses.field(default_factory=dict)
    note: str = ""
    more: str = ""


@dataclass(frozen=True)
class FormDecision:
    """A decision, and what it comes to in each state."""

    name: str = ""
    amounts: list[str] = dataclasses.field(default_factory=list)


@dataclass(frozen=True)
class Form:
    """A model. field: whose words are used. sources: by the number they are for. more: further fields, as YAML."""

    name: str = ""
    about: str = ""
    unit: str = ""
    field: str = ""
    states: list[str] = dataclasses.field(default_factory=list)
    positive: str = ""
    prevalence: str = ""
    prior: list[str] = dataclasses.field(default_factory=list)
    tests: list[FormTest] = dataclasses.field(default_factory=list)
    stakes: Stakes = "losses"
    decisions: list[FormDecision] = dataclasses.field(default_factory=list)
    threshold: dict[str, str] = dataclasses.field(default_factory=dict)
    worth: str = ""
    sources: dict[str, str] = dataclasses.field(default_factory=dict)
    more: str = ""

    @classmethod
    def of(cls, record: dict[str, Any]) -> Form:
        """The form that `record`, maps and lists, holds."""
        tests = [FormTest(**one) for one in record.get("tests", ())]
        return cls(
            **{**record, "tests": tests, "decisions": [FormDecision(**one) for one in record.get("decisions", ())]}
        )


def first_gap(form: Form) -> ProblemError | None:
    """What is not filled in and must be: the first such field, in the order of the form."""
    two = len(form.states) == 2
    if len(form.states) < 2:
        return _gap("two states at least", ("states",))
    if two and not form.positive and (form.prevalence or any(test.way != "table" for test in form.tests)):
        return _gap("which state is looked for", ("positive",))
    if not form.prevalence.strip() and (any(form.prior) or (two and form.positive)):
        blank = next((state for i, state in enumerate(form.states) if not at(form.prior, i)), None)
        if blank is not None:
            of = form.positive if two else blank
            return _gap(f"how frequent {of} is", ("prevalence",) if two else ("prior", of))
    for test in form.tests:
        found = _test_gap(test, form)
        if found is not None:
            return found
    if form.stakes == "threshold":
        for name in THRESHOLD[:3]:
            if not form.threshold.get(name, "").strip():
                return _gap(f"the {name} of the threshold", ("threshold", name))
    elif len(form.decisions) < 2:
        return _gap("two decisions at least", (form.stakes,))
    for one in form.decisions if form.stakes != "threshold" else ():
        for place, state in enumerate(form.states):
            if not at(one.amounts, place):
                return _gap(f"what {one.name} comes to in {state}", (form.stakes, one.name, state))
    return None


def _test_gap(test: FormTest, form: Form) -> ProblemError | None:
    place = ("tests", test.name)
    if not test.cost.strip():
        return _gap(f"the price of {test.name}", (*place, "cost"))
    for name in NUMBERS.get(test.way, ()):
        if not test.numbers.get(name, "").strip():
            return _gap(f"the {name.replace('_', ' ')} of {test.name}", (*place, name))
    if test.way not in ("groups", "table"):
        return None
    groups = test.way == "groups"
    if len(test.outcomes) < 2 or not all(name.strip() for name in test.outcomes):
        return _gap(f"two results of {test.name} at least", (*place, "shares" if groups else "outcomes"))
    two = len(form.states) == 2
    for number, outcome in enumerate(test.outcomes):
        if groups and not at(test.shares, number):
            return _gap(f"the share of {outcome}", (*place, "shares", outcome))
        for row, state in enumerate(form.states):
            if groups and two and state != form.positive:
                continue
            if not at(row_at(test.rows, row), number):
                cell = ("chances", outcome, *(() if two else (state,))) if groups else ("likelihood", state, number)
                return _gap(
                    f"the chance of {state if groups else outcome} in {outcome if groups else state}", (*place, *cell)
                )
    return None


def _gap(what: str, place: tuple[str | int, ...]) -> ProblemError:
    return ProblemError(f"fill in {what}", field=place, code="missing-field")


def first_doubt(form: Form) -> ProblemError | None:
    """The first number that can be read in two ways, or that cannot be what was meant: see `typed`."""
    for place, text, where in _numbers(form):
        try:
            check_typed(text, where)
        except ValueError as error:
            return ProblemError(str(error), field=place)
    return None


def _numbers(form: Form) -> Iterator[tuple[tuple[str | int, ...], str, Where]]:
    """Every number of the form: where it stands in the model file, its text and what is expected there."""
    yield ("prevalence",) if len(form.states) == 2 else ("prior",), form.prevalence, "probability"
    for state, text in zip(form.states, form.prior, strict=False):
        yield ("prior", state), text, "probability"
    for test in form.tests:
        yield from _test_numbers(test, form)
    if form.stakes == "threshold":
        for name in THRESHOLD[2:]:
            yield ("threshold", name), form.threshold.get(name, ""), "probability" if name == "at" else "number"
        return
    for one in form.decisions:
        for state, text in zip(form.states, one.amounts, strict=False):
            yield (form.stakes, one.name, state), text, "number"
    yield ("worth",), form.worth, "number"


def _test_numbers(test: FormTest, form: Form) -> Iterator[tuple[tuple[str | int, ...], str, Where]]:
    place = ("tests", test.name)
    yield (*place, "cost"), test.cost, "number"
    for name in NUMBERS.get(test.way, ()):
        yield (*place, name), test.numbers.get(name, ""), "number" if test.way in AMOUNTS else "probability"
    if test.way in NUMBERS:
        return
    groups = test.way == "groups"
    for number, outcome in enumerate(test.outcomes):
        if groups:
            yield (*place, "shares", outcome), at(test.shares, number), "probability"
        for row, state in enumerate(form.states):
            cell = ("chances", outcome, *(() if len(form.states) == 2 else (state,)))
            where = cell if groups else ("likelihood", state, number)
            yield (*place, *where), at(row_at(test.rows, row), number), "probability"


def check_names(form: Form) -> None:
    """Names are keys of the file: each must be there, and there once."""
    lists: dict[str, list[str]] = {
        "states": form.states,
        "tests": [one.name for one in form.tests],
        "decisions": [one.name for one in form.decisions] if form.stakes != "threshold" else [],
    }
    for where, names in lists.items():
        for place, name in enumerate(names):
            one = where.removesuffix("s")
            if not name.strip():
                raise ProblemError(
                    f"fill in the name of {one} {place + 1}", field=("form", where, place), code="missing-field"
                )
            if name in names[:place]:
                raise ProblemError(
                    f"two {where} are called '{name}'; names must differ",
                    field=("form", where, place),
                    code="duplicate-name",
                )


def at(values: list[str], place: int) -> str:
    return values[place].strip() if place < len(values) else ""


def row_at(rows: list[list[str]], place: int) -> list[str]:
    return rows[place] if place < len(rows) else []
