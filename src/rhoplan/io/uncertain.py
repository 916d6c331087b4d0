"""Uncertain numbers of a model file: an interval beside a number, counts, or the field `uncertain`.

    sensitivity: 0.83 [0.76, 0.89]      the number and its 95% interval; also 83% (76-89) as papers print it
    cost: 60 to 90                      an expert's range: the middle, 75, with 60 to 90 as its 95% interval
    tp: 91, fn: 19, fp: 8, tn: 202      counts: sensitivity is known from tp + fn cases, specificity from tn + fp

What is planned with stays the number itself; how far it may be off goes to the problem's details, in the shape of the
field `uncertain`, which `rhoplan show` writes and which may be written by hand:

    uncertain:
      prior: {cases: 500}
      tests: {smear: {cost: {sd: 1}, likelihood: {ill: {cases: 110}}}}
      groups: {blood: {sd: 0.5}}
      losses: {leave: {ill: {sd: 200}}}

cases: a row of chances is known as well as from so many; `fixed` outcomes of it are certain. sd: of an amount. What the
distributions are says `model.spread`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rhoplan.errors import Field
from rhoplan.io.accuracy import cases_of, sd_of
from rhoplan.io.fields import Fields, described
from rhoplan.io.shorthands import COUNTS, INCONCLUSIVE, counted_cases
from rhoplan.io.tree import Tree
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.model.records import Factor

UNCERTAIN = "uncertain"
"""Of the details of a problem, and of a model file."""

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_INTERVAL = re.compile(
    rf"\s*({_NUMBER})\s*(%?)\s*[\[(]\s*({_NUMBER})\s*(%?)\s*(?:,|;|to|-|–)\s*({_NUMBER})\s*(%?)\s*[\])]\s*(%?)\s*"
)
_RANGE = re.compile(rf"\s*({_NUMBER})\s*(%?)\s*to\s*({_NUMBER})\s*(%?)\s*")

WHERE = "prevalence, prior, sensitivity, specificity, likelihood, cost, first prices, losses and commits"


@dataclass(frozen=True)
class Range:
    """What a file says of an uncertain number: the point, and the ends of its 95% interval."""

    point: float
    low: float
    high: float
    tree: Tree


class Ranges:
    """The intervals met while one file is read, by field."""

    def __init__(self, fields: Fields) -> None:
        self.fields, self.found = fields, dict[Field, Range]()

    def point(self, tree: Tree) -> Tree:
        """`tree`, or the number alone where it is one with an interval, which is kept."""
        match = (_INTERVAL.fullmatch(tree.text) or _RANGE.fullmatch(tree.text)) if tree.kind == "text" else None
        if match is None:
            return tree
        parts = match.groups()
        if len(parts) == 4:
            low, high = float(parts[0]), float(parts[2])
            middle, percent = (low + high) / 2, bool(parts[1] or parts[3])
        else:
            middle, low, high = (float(parts[place]) for place in (0, 2, 4))
            percent = any(parts[place] for place in (1, 3, 5, 6))
        scale = 100 if percent else 1
        self._check(tree, middle, low, high)
        self.found[tree.field] = Range(middle / scale, low / scale, high / scale, tree)
        return replace(tree, kind="text" if percent else "number", text=f"{middle!r}{'%' if percent else ''}")

    def _check(self, tree: Tree, point: float, low: float, high: float) -> None:
        if low > high:
            raise self.fields.fault(
                f"{tree.label} must have an interval from low to high; it reads {described(tree)}",
                tree,
                code="interval-range",
            )
        if not low <= point <= high:
            raise self.fields.fault(
                f"{tree.label} must lie within its interval; it reads {described(tree)}", tree, code="interval-range"
            )

    def cases(self, one: Range) -> float | None:
        """As from how many cases a chance is known; None where the interval has no width."""
        if one.low == one.high:
            return None
        tree, label = one.tree, one.tree.label
        if one.low < 0 or one.high > 1:
            raise self.fields.fault(
                f"{label} must have an interval between 0 and 1; it reads {described(tree)}",
                tree,
                code="interval-range",
            )
        if not 0 < one.point < 1:
            raise self.fields.fault(
                f"{label} must lie above 0 and below 1 to have an interval; it reads {described(tree)}: give the "
                "middle of the interval",
                tree,
                code="interval-range",
            )
        cases = cases_of(one.point, one.low, one.high)
        if cases <= 0:
            raise self.fields.fault(
                f"{label} must have an interval that a chance with this mean can have; {described(tree)} is too wide: "
                "give a point nearer to its middle",
                tree,
                code="interval-range",
            )
        return cases

    def sd(self, one: Range) -> float | None:
        """The standard deviation of an amount; None where the interval has no width."""
        if one.low == one.high:
            return None
        if one.low * one.high < 0 or one.point == 0:
            raise self.fields.fault(
                f"{one.tree.label} must have an interval on one side of 0; it reads {described(one.tree)}",
                one.tree,
                code="interval-range",
            )
        return sd_of(one.low, one.high)


def read_uncertain(
    fields: Fields, ranges: Ranges, tree: Tree, hidden: Factor, positive: str | None
) -> dict[str, Any] | None:
    """How far the numbers of the model may be off, in the shape of the field `uncertain`; None where none is."""
    record: dict[str, Any] = {}
    for place, spread, source in (*_beside(fields, ranges, tree, hidden, positive), *_counts(tree, hidden, positive)):
        inside = record
        for name in place[:-1]:
            inside = inside.setdefault(name, {})
        known = inside.get(place[-1])
        if known is not None and "cases" not in known:
            raise fields.fault(f"{source.label} has two intervals; it must have one", source, code="duplicate-interval")
        # Of a row with several intervals the least certain number decides.
        inside[place[-1]] = spread if known is None or spread["cases"] < known["cases"] else known
    if UNCERTAIN in tree.items:
        given = tree.items[UNCERTAIN]
        _add(fields, record, _read(fields, given, tree, hidden), given)
    return record or None


def _add(fields: Fields, record: dict[str, Any], more: Mapping[str, Any], tree: Tree) -> None:
    """Add what the field `uncertain` says to what stands beside numbers; nothing may be said twice."""
    for name, spread in more.items():
        if name not in record:
            record[name] = spread
        elif {"cases", "sd"} & {*spread, *record[name]}:
            place = tree.at((name,))
            raise fields.fault(
                f"{place.label} is said twice: in {UNCERTAIN}, and by an interval or counts",
                place,
                code="duplicate-interval",
            )
        else:
            _add(fields, record[name], spread, tree.at((name,)))


def _beside(
    fields: Fields, ranges: Ranges, tree: Tree, hidden: Factor, positive: str | None
) -> Iterator[tuple[tuple[str, ...], dict[str, Any], Tree]]:
    """Intervals that stand beside numbers: where they belong in the record, what they say, and where they stand."""
    other = next((name for name in hidden.diagnoses if name != positive), None)
    for field, one in ranges.found.items():
        place: tuple[Any, ...] | None = None
        chances, fixed = True, False
        match field:
            case ("prevalence",) | ("prevalence", _) | ("prior", _):
                place = ("prior",)
            case ("tests", str(test), ("sensitivity" | "specificity") as rate, *subtype):
                place = ("tests", test, "likelihood", positive if rate == "sensitivity" else other, *subtype)
                fixed = INCONCLUSIVE in tree.items["tests"].items[test].items
            case ("tests", str(test), "likelihood", str(diagnosis), *inside, _) if len(inside) <= 1:
                place = ("tests", test, "likelihood", diagnosis, *inside)
            case (("tests" | "panels"), str(test), "cost"):
                place, chances = ("tests", test, "cost"), False
            case ("groups", str(group), "first"):
                place, chances = ("groups", group), False
            case (("losses" | "commits") as stakes, str(commit), state):
                name = hidden.diagnoses[state] if isinstance(state, int) else state
                place, chances = (stakes, commit, name), False
        if place is None or not all(isinstance(name, str) for name in place):
            raise fields.fault(
                f"{one.tree.label} must be one number; intervals may stand at {WHERE}",
                one.tree,
                code="interval-not-allowed",
            )
        value = ranges.cases(one) if chances else ranges.sd(one)
        if value is not None:
            last = _inconclusive(tree.items["tests"].items[place[1]]) if fixed else {}
            yield place, {"cases" if chances else "sd": value, **last}, one.tree


def _inconclusive(test: Tree) -> dict[str, Any]:
    """The outcome whose chance is certain, of a test with `inconclusive`."""
    names = [one.text for one in test.items["outcomes"].list] if "outcomes" in test.items else [INCONCLUSIVE]
    return {"fixed": [names[-1]]}


def _counts(tree: Tree, hidden: Factor, positive: str | None) -> Iterator[tuple[tuple[str, ...], dict[str, Any], Tree]]:
    """What counts of a study say; a rate of 0% or 100% is taken as certain."""
    tests = tree.items["tests"].items if "tests" in tree.items else {}
    for name, test in tests.items():
        if not all(count in test.items for count in COUNTS):
            continue
        fixed = _inconclusive(test) if INCONCLUSIVE in test.items else {}
        for diagnosis in hidden.diagnoses:
            cases, sure = counted_cases(test, is_positive=diagnosis == positive)
            if not sure:
                yield ("tests", name, "likelihood", diagnosis), {"cases": float(cases), **fixed}, test


def _read(fields: Fields, given: Tree, tree: Tree, hidden: Factor) -> dict[str, Any]:
    """The field `uncertain` as it was written; it names what the model has."""
    stakes = "losses" if "losses" in tree.items else "commits"
    fields.check_fields(given, ("prior", "tests", "groups", stakes))
    named = {
        name: fields.named_maps(tree.items[name], empty_allowed=True) if name in tree.items else {}
        for name in ("tests", "panels", "groups", stakes)
    }
    record: dict[str, Any] = {}
    for part, one in given.items.items():
        if part == "prior":
            record[part] = _cases(fields, one)
            continue
        known = [*named[part], *(named["panels"] if part == "tests" else ())]
        fields.named_maps(one)
        for name, inside in one.items.items():
            _check_known(fields, inside, name, known, part.removesuffix("s") if part != "losses" else "decision")
            if part == "tests":
                record.setdefault(part, {})[name] = _test(fields, inside, hidden, panel=name in named["panels"])
            elif part == "groups":
                record.setdefault(part, {})[name] = _sd(fields, inside)
            else:
                fields.named_maps(inside)
                for state, amount in inside.items.items():
                    _check_known(fields, amount, state, hidden.diagnoses, "state")
                    record.setdefault(part, {}).setdefault(name, {})[state] = _sd(fields, amount)
    return record


def _test(fields: Fields, tree: Tree, hidden: Factor, *, panel: bool) -> dict[str, Any]:
    fields.check_fields(tree, ("cost",) if panel else ("cost", "likelihood"))
    record: dict[str, Any] = {"cost": _sd(fields, tree.items["cost"])} if "cost" in tree.items else {}
    if "likelihood" in tree.items:
        rows = fields.named_maps(tree.items["likelihood"])
        record["likelihood"] = {}
        for name, row in rows.items():
            _check_known(fields, row, name, hidden.diagnoses, "state")
            subtypes = hidden.subtypes.get(name, ())
            if subtypes and not {"cases", "fixed"} & set(row.items):
                for one, inside in fields.named_maps(row).items():
                    _check_known(fields, inside, one, subtypes, "subtype")
                record["likelihood"][name] = {one: _cases(fields, inside) for one, inside in row.items.items()}
            else:
                record["likelihood"][name] = _cases(fields, row)
    return record


def _check_known(fields: Fields, tree: Tree, name: str, known: Any, of: str) -> None:
    if name not in known:
        raise fields.fault(
            f"{tree.label} names the {of} '{name[:40]}', which the model does not have", tree, code="unknown-name"
        )


def _cases(fields: Fields, tree: Tree) -> dict[str, Any]:
    fields.check_fields(tree, ("cases", "fixed"), required=("cases",))
    found: dict[str, Any] = {"cases": _above_zero(fields, tree.items["cases"])}
    if "fixed" in tree.items:
        found["fixed"] = list(fields.names(tree.items["fixed"]))
    return found


def _sd(fields: Fields, tree: Tree) -> dict[str, Any]:
    fields.check_fields(tree, ("sd",), required=("sd",))
    return {"sd": _above_zero(fields, tree.items["sd"])}


def _above_zero(fields: Fields, tree: Tree) -> float:
    value = fields.amount(tree)
    if value == 0:
        raise fields.fault(f"{tree.label} must be above 0; leave out what is certain", tree, code="number-range")
    return value


def check_uncertain(fields: Fields, problem: POMDP, tree: Tree, record: Mapping[str, Any]) -> None:
    """Complain about spread around what has no room for it: an amount of 0, or outcomes that a test does not have."""
    hidden, menu = problem.factors[0], problem.flat
    tests = {test.name: test for test in (*menu.tests, *menu.parts)}
    amounts: list[tuple[Field, float | Array]] = [
        *(
            (("tests", name, "cost"), tests[name].cost)
            for name, one in record.get("tests", {}).items()
            if "cost" in one
        ),
        *((("groups", name), menu.first_prices.get(name, 0.0)) for name in record.get("groups", {})),
    ]
    for stakes in ("losses", "commits"):
        for name, row in record.get(stakes, {}).items():
            reward = next(commit.reward for commit in menu.commits if commit.name == name)
            amounts += [((stakes, name, state), reward[hidden.places[state]][0]) for state in row]
    for field, amount in amounts:
        if amount == 0:
            place = tree.at((UNCERTAIN, *field)) if UNCERTAIN in tree.items else tree.at(field)
            raise fields.fault(
                f"{place.label} is spread around 0; an amount of 0 is certain", place, code="interval-range"
            )
    for name, one in record.get("tests", {}).items():
        for state, row in one.get("likelihood", {}).items():
            for outcome in row.get("fixed", ()):
                if outcome not in tests[name].outcomes:
                    place = tree.at((UNCERTAIN, "tests", name, "likelihood", state, "fixed"))
                    raise fields.fault(
                        f"{place.label} names the outcome '{outcome}', which {name} does not have",
                        place,
                        code="unknown-outcome",
                    )
