"""The fields of a model file: a tree as a checked observe-then-commit problem.

What a problem's numbers do not hold stands in its `details`: `info` and `test_info` (notes that reports print),
`positive` (the state that shorthands and prevalence are about), `losses` (the file counts losses, not rewards),
`targets` (what a pathway is to keep), `learned` (what learning from past cases found) and `uncertain` (how far numbers
may be off).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np

from rhoplan.belief_math.information import per_nat
from rhoplan.errors import Field, ModelFileError, ProblemError
from rhoplan.io.fields import Fields, listed
from rhoplan.io.learned import read_learned
from rhoplan.io.links import is_link, is_picture
from rhoplan.io.shorthands import (
    AS_IN,
    INCONCLUSIVE,
    SHORTHANDS,
    has_shorthand,
    named_positive,
    prior_as_in,
    short_test,
)
from rhoplan.io.stakes import STAKES, read_commits
from rhoplan.io.subtypes import Subtypes, read_prior, read_rows, read_subtypes
from rhoplan.io.targets import read_file_targets
from rhoplan.io.tree import Tree, shown
from rhoplan.io.uncertain import UNCERTAIN, Ranges, check_uncertain, read_uncertain
from rhoplan.model.diagnostic import DiagnosticProblem, Panel, Test
from rhoplan.model.limits import LARGEST_HORIZON, MOST_ACTIONS
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.model.records import Factor

DEFAULT_HORIZON = 3

MOST_JOINT = 50_000
"""Joint outcomes of all panels together."""

MODEL_FIELDS = (
    "name", "unit", "states", "subtypes", "information", "positive", "prior", "prevalence", "groups", "tests", "panels",
    *STAKES, "worth", "cap", "horizon", "targets", "field", "info", "learned", "uncertain",
)  # fmt: skip
TEST_FIELDS = ("cost", "outcomes", "likelihood", *SHORTHANDS, INCONCLUSIVE, "repeat", "group", "after", "info")
TRADES = ("medicine", "service", "inspection")
"""Fields of work whose own words people are told things in."""
INFO_FIELDS = ("about", "source", "note", "illustrative")
"""What a note may say: what it is in one line, where its numbers come from, anything else, whether they are made up."""

MODEL_INFO = (*INFO_FIELDS, "author")
TEST_INFO = (*INFO_FIELDS, "link", "picture")
"""Also: who answers for a model; where to read on about a test, and what it looks like."""


class ModelReader(Fields):
    """Reads one file's tree. takes_ranges: whether a number may have its interval beside it."""

    takes_ranges = True

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.ranges = Ranges(self)

    def point(self, tree: Tree) -> Tree:
        return self.ranges.point(tree) if self.takes_ranges else tree

    def problem(self, tree: Tree) -> POMDP:
        """The problem that the tree describes."""
        self.check_fields(tree, MODEL_FIELDS, required=("states",))
        items = tree.items
        states = self.names(items["states"])
        positive = self.positive(tree, states)
        subtypes = read_subtypes(self, items.get("subtypes"), states)
        hidden, prior = subtypes.grouped, self.prior(tree, subtypes, positive)
        tests, panels = self.tests(tree, hidden, positive)
        named: tuple[Test | Panel, ...] = (*tests, *panels)
        first_prices = self.first_prices(tree, used={one.group for one in named})
        commits = read_commits(self, tree, hidden, positive, taken={one.name for one in named})
        most_tests, budget = self.cap(items["cap"]) if "cap" in items else (None, None)
        horizon = self.whole(items["horizon"], 1, LARGEST_HORIZON) if "horizon" in items else DEFAULT_HORIZON
        price, about_diagnosis = self.information(items["information"]) if "information" in items else (None, False)
        details = self.details(tree, positive)
        if uncertain := read_uncertain(self, self.ranges, tree, hidden, positive):
            details[UNCERTAIN] = uncertain
        try:
            problem = DiagnosticProblem(
                name=self.text(items["name"]) if "name" in items else Path(self.file).stem,
                states=states,
                prior=prior,
                partition=hidden.subtypes,
                about_diagnosis=about_diagnosis,
                price=price,
                unit=self.text(items["unit"]) if "unit" in items else "points",
                tests=tests,
                panels=panels,
                decisions=commits,
                horizon=horizon,
                spec=self.file,
                details=details,
                groups=first_prices,
                max_tests=most_tests,
                budget=budget,
            )
        except ModelFileError:
            raise
        except ProblemError as error:
            raise self.fault(error.message, self.place(tree, error.field or ()), code=error.code) from None
        check_uncertain(self, problem, tree, uncertain or {})
        return problem

    def place(self, tree: Tree, field: Field) -> Tree:
        """Where the field of a problem stands in the file: a prior may be a prevalence, a reward a loss."""
        names = {"prior": ("prevalence",), "commits": STAKES}
        if field and field[0] not in tree.items:
            there = [name for name in names.get(str(field[0]), ()) if name in tree.items]
            field = (*there[:1], *field[1:]) if there else field
        return tree.at(field)

    def positive(self, tree: Tree, states: tuple[str, ...]) -> str | None:
        """The state that shorthands and prevalence are about, where the file names it: by itself or in prevalence."""
        given, share = tree.items.get("positive"), tree.items.get("prevalence")
        named = self.diseased(share, states) if share is not None and share.kind == "map" else None
        if given is None:
            return named
        if len(states) != 2:
            raise self.fault(f"positive needs two states; {tree.label} has {len(states)}", given)
        positive = self.one_of(given, states, "state")
        if share is not None and named not in (None, positive):
            raise self.fault(
                f"{share.label} is about '{shown(str(named))}', but positive is '{shown(positive)}'; they must agree",
                share,
            )
        return positive

    def diseased(self, tree: Tree, states: tuple[str, ...]) -> str:
        """The one state that a prevalence names."""
        if len(tree.items) != 1:
            raise self.fault(
                f"{tree.label} must name one state, such as {{{states[-1]}: 15%}}; for more write prior", tree
            )
        ((name, share),) = tree.items.items()
        if name not in states:
            raise self.fault(
                f"{tree.label} names the state '{shown(name)}', which is not one of {listed(states)}", share
            )
        return name

    def prior(self, tree: Tree, subtypes: Subtypes, positive: str | None) -> Array:
        """The belief before any evidence; where the file leaves it out, all diagnoses have the same chance."""
        items, states = tree.items, subtypes.grouped.diagnoses
        named = items.get("prevalence", items.get("prior"))
        if named is not None and named.kind == "map" and len(named.items) == 1 and "prevalence" in items:
            (named,) = named.items.values()
        as_in = named is not None and named.kind == "text" and named.text.startswith(AS_IN)
        if "prevalence" not in items:
            if named is not None and as_in:
                return subtypes.unfolded(prior_as_in(self, named, items.get("tests"), states, positive))
            if "prior" in items:
                return read_prior(self, items["prior"], subtypes)
            equal: Array = subtypes.shares / len(states)
            return equal
        given = items["prevalence"]
        if "prior" in items:
            raise self.fault(
                f"{tree.label} must give either prior or prevalence, not both", given, code="conflicting-fields"
            )
        if len(states) != 2:
            raise self.fault(
                f"prevalence needs two states; {tree.label} has {len(states)}", given, code="two-states-needed"
            )
        about = named_positive(self, given, states, positive)
        if named is not None and as_in:
            return subtypes.unfolded(prior_as_in(self, named, items.get("tests"), states, positive))
        share = self.probability(given.items[about] if given.kind == "map" else given)
        chances = np.array([share if state == about else 1 - share for state in states])
        return subtypes.unfolded(chances)

    def information(self, tree: Tree) -> tuple[float | None, bool]:
        """What a nat of information is worth, where the file says so, and whether it is about the diagnosis."""
        self.check_fields(tree, ("price", "per", "about"))
        items = tree.items
        if "price" not in items:
            self.check_fields(tree, ("about",), required=("about",))  # `per` without a price
        about = self.one_of(items["about"], ("state", "diagnosis"), "kind") if "about" in items else "state"
        unit = self.one_of(items["per"], ("nat", "bit"), "unit") if "per" in items else "nat"
        price = per_nat(self.amount(items["price"]), f"{unit}s") if "price" in items else None
        return price, about == "diagnosis"

    def first_prices(self, tree: Tree, used: set[str]) -> dict[str, float]:
        """What the first test of each group adds to its cost, for groups that have such a price."""
        prices = {}
        for name, group in tree.items["groups"].items.items() if "groups" in tree.items else ():
            self.check_fields(group, ("first",))
            if name not in used:
                raise self.fault(
                    f"{group.label} has no test; give tests of it the field group: {name}", group, code="empty-group"
                )
            if "first" in group.items:
                prices[name] = self.amount(group.items["first"])
        return prices

    def cap(self, tree: Tree) -> tuple[int | None, float | None]:
        """The most tests and the most they may cost together."""
        self.check_fields(tree, ("tests", "spend"))
        items = tree.items
        if not items:
            raise self.fault("cap must give tests, spend or both; it is empty", tree, code="missing-field")
        most = self.whole(items["tests"], 0, LARGEST_HORIZON) if "tests" in items else None
        return most, self.amount(items["spend"]) if "spend" in items else None

    def tests(self, tree: Tree, hidden: Factor, positive: str | None) -> tuple[tuple[Test, ...], tuple[Panel, ...]]:
        """All tests and panels; groups and orders that they name exist."""
        items = tree.items
        groups = self.named_maps(items["groups"]) if "groups" in items else {}
        trees = self.named_maps(items["tests"], empty_allowed=True, most=MOST_ACTIONS) if "tests" in items else {}
        found = tuple(self.test(name, test, hidden, positive, groups) for name, test in trees.items())
        panels = self.panels(items["panels"], found, groups) if "panels" in items else ()
        inside = {name for panel in panels for name in panel.tests}
        for test in found:
            if "cost" not in trees[test.name].items and test.name not in inside:
                one = trees[test.name]
                raise self.fault(f"{one.label} must have the field 'cost', or be in a panel", one, code="missing-field")
        self.check_order(found, trees, [panel.name for panel in panels])
        return found, panels

    def panels(self, tree: Tree, tests: tuple[Test, ...], groups: Collection[str]) -> tuple[Panel, ...]:
        """Tests that are run together, for one price."""
        known, found, joint = {test.name: test for test in tests}, list[Panel](), 0
        for name, one in self.named_maps(tree, most=MOST_ACTIONS).items():
            self.check_fields(one, ("cost", "tests", "group"), required=("cost", "tests"))
            if name in known:
                raise self.fault(f"'{name}' is both a test and a panel; names must differ", one, code="duplicate-name")
            names = self.names(one.items["tests"])
            for place in one.items["tests"].list:
                self.one_of(place, known, "test")
            group = self.one_of(one.items["group"], groups, "group") if "group" in one.items else ""
            found.append(Panel(name, self.amount(one.items["cost"]), names, group))
            try:
                joint += len(found[-1].joint_test(known).outcomes)
            except ProblemError as error:
                raise self.fault(error.message, one.items["tests"], code=error.code) from None
            if joint > MOST_JOINT:
                raise self.fault(
                    f"{tree.label} may have {MOST_JOINT:,} joint outcomes in all; they have more",
                    one,
                    code="panel-size",
                )
        return tuple(found)

    def test(self, name: str, tree: Tree, hidden: Factor, positive: str | None, groups: Collection[str]) -> Test:
        """One test with its cost, its likelihood and its rules."""
        self.check_fields(tree, TEST_FIELDS)
        items = tree.items
        cost = self.amount(items["cost"]) if "cost" in items else 0.0
        repeat = self.text(items["repeat"]) if "repeat" in items else "once"
        if repeat not in ("independent", "once"):
            raise self.fault(
                f"{tree.label}.repeat must be independent or once; it is '{shown(repeat)}'",
                items["repeat"],
                code="unknown-name",
            )
        if "group" in items and not groups:
            raise self.fault(
                f"{tree.label}.group needs the field groups in the model, which says its first price",
                items["group"],
                code="missing-field",
            )
        group = self.one_of(items["group"], groups, "group") if "group" in items else ""
        after = self.after(items["after"]) if "after" in items else ()
        if has_shorthand(tree):
            outcomes, likelihood = short_test(self, tree, hidden=hidden, positive=positive)
        else:
            outcomes, likelihood = self.likelihood(tree, hidden)
        once = repeat == "once"
        return Test(name, cost, outcomes, likelihood, not once, group, after, only_in_panels="cost" not in items)

    def likelihood(self, tree: Tree, hidden: Factor) -> tuple[tuple[str, ...], Array]:
        """Outcomes and likelihood (S, O) of a test that gives them in full."""
        items = tree.items
        self.check_fields(tree, items.keys(), required=("outcomes", "likelihood"))
        if INCONCLUSIVE in items:
            raise self.fault(
                f"{tree.label}.{INCONCLUSIVE} goes with a shorthand; where there is a likelihood, make it an outcome",
                items[INCONCLUSIVE],
                code="conflicting-fields",
            )
        outcomes = self.names(items["outcomes"])
        return outcomes, read_rows(self, items["likelihood"], hidden, outcomes)

    def after(self, tree: Tree) -> tuple[str, ...]:
        """The tests to run before: a name or a list of names."""
        return self.names(tree) if tree.kind == "list" else (self.text(tree),)

    def check_order(self, tests: tuple[Test, ...], trees: Mapping[str, Tree], panels: list[str]) -> None:
        """Complain about tests that wait for what is no test, or in the end for themselves."""
        waits: dict[str, tuple[str, ...]] = {test.name: test.after for test in tests}
        known = {*waits, *panels}
        for name in (name for name, others in waits.items() if not known.issuperset(others)):
            after = trees[name].items["after"]
            other = next(other for other in waits[name] if other not in known)
            all_of_them = listed([*waits, *panels])
            raise self.fault(
                f"{after.label} names the test '{shown(other)}', which is not one of {all_of_them}",
                after,
                code="unknown-test",
            )
        if circle := _cycle(waits):
            after = trees[circle[0]].items["after"]
            raise self.fault(
                f"{after.label}: the test waits for itself, so it can never run ({listed(sorted(circle))})",
                after,
                code="test-order-cycle",
            )

    def details(self, tree: Tree, positive: str | None) -> dict[str, Any]:
        """What the file says beyond the numbers of the problem."""
        tests = tree.items["tests"].items if "tests" in tree.items else {}
        found: dict[str, Any] = {}
        if positive is not None:
            found["positive"] = positive
        if "commits" not in tree.items:
            found["losses"] = True
        if "field" in tree.items:
            found["field"] = self.one_of(tree.items["field"], TRADES, "field")
        if "info" in tree.items:
            found["info"] = self.info(tree.items["info"], MODEL_INFO)
        if "targets" in tree.items:
            found["targets"] = read_file_targets(
                self, tree.items["targets"], self.names(tree.items["states"]), positive
            )
        if "learned" in tree.items:
            found["learned"] = read_learned(self, tree.items["learned"])
        notes = {name: test.items["info"] for name, test in tests.items() if "info" in test.items}
        if notes:
            found["test_info"] = {name: self.info(note, TEST_INFO) for name, note in notes.items()}
        return found

    def info(self, tree: Tree, known: tuple[str, ...] = INFO_FIELDS) -> dict[str, str | bool]:
        """Notes for people: text, and whether the numbers are made up to illustrate; links lead nowhere unsafe."""
        self.check_fields(tree, known)
        if not tree.items:
            raise self.fault(
                f"{tree.label} must have a field of {listed(known)}; it is empty", tree, code="missing-field"
            )
        found: dict[str, str | bool] = {
            name: self.truth(value)
            if name == "illustrative"
            else "; ".join(f"{what}: {self.paragraph(one)}" for what, one in self.named_maps(value).items())
            if name == "source" and value.kind == "map"
            else self.paragraph(value)
            for name, value in tree.items.items()
        }
        for name, fits in (("link", is_link), ("picture", is_picture)):
            if name in found and not fits(str(found[name])):
                own = ", or data:image/..." if name == "picture" else ""
                raise self.fault(
                    f"{tree.items[name].label} must be an https:// address or a path beside the file{own}; it is "
                    f"'{shown(str(found[name]))}'",
                    tree.items[name],
                    code="invalid-link",
                )
        return found


def _cycle(waits: Mapping[str, Sequence[str]]) -> list[str]:
    """Names that wait for one another in a cycle, in the order of `waits`; empty if there is none."""
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        members = set(error.args[1])
        return [name for name in waits if name in members]
    return []
