"""Values of a model file's tree as numbers, names and text; every complaint names the file, the line and the field.

`reader` says which fields a model has; here is what a value may look like, whatever the field.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice

import numpy as np

from rhoplan.errors import ModelFileError
from rhoplan.io.tree import LARGEST_FILE, Tree, label, not_printable, shown
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.model.pomdp import ROW_SUM_TOLERANCE, Array

FEW = 8
"""Names up to which looking through all of them is quicker than making a set."""

LONGEST_NAME = 40
"""Letters of an unknown field that are compared with the names of fields."""

FREQUENCY = re.compile(r"\s*(\d[\d,]*(?:\.\d+)?)\s*(?:of|in|out of|/)\s*(\d[\d,]*(?:\.\d+)?)\s*")
"""A part of a whole, as people count: 9 of 10, 1 in 1,000."""


class Fields:
    """Reads the values of one file."""

    def __init__(self, file: str) -> None:
        self.file = file

    def fault(self, message: str, tree: Tree, *, code: str | None = None) -> ModelFileError:
        """The error to raise about `tree`."""
        return ModelFileError(message, file=self.file, line=tree.line, field=tree.field or None, code=code)

    def check_fields(self, tree: Tree, known: Collection[str], required: Sequence[str] = ()) -> None:
        """Complain unless `tree` is a map with fields from `known` only and all of the `required` ones."""
        if tree.kind != "map":
            raise self.fault(
                f"{tree.label} must be a map of fields; it is {described(tree)}", tree, code="map-expected"
            )
        for name, value in tree.items.items():
            if name not in known:
                near = get_close_matches(name[:LONGEST_NAME], known, 1, cutoff=0.8)
                meant = f": is it '{near[0]}'?" if near else f"; it may have {listed(sorted(known), 20)}"
                raise self.fault(f"{tree.label} has no field '{shown(name)}'{meant}", value, code="unknown-field")
        for name in required:
            if name not in tree.items:
                raise self.fault(f"{tree.label} must have the field '{name}'", tree, code="missing-field")

    def named_maps(self, tree: Tree, *, empty_allowed: bool = False, most: int = LARGEST_FILE) -> Mapping[str, Tree]:
        """A map from names, `most` of them, to whatever they name."""
        if tree.kind == "nothing" and empty_allowed:
            return {}
        if tree.kind != "map" or (not tree.items and not empty_allowed):
            raise self.fault(
                f"{tree.label} must be a map from names to their fields; it is {described(tree)}",
                tree,
                code="map-expected",
            )
        for name, value in tree.items.items():
            if not name.strip():
                raise self.fault(f"{tree.label} must have names; one is empty", value, code="empty-name")
            self.check_printable(name, value)
        if len(tree.items) > most:
            raise self.fault(
                f"{tree.label} may have {most:,} names at most; it has {len(tree.items):,}", tree, code="too-many-names"
            )
        return tree.items

    def names(self, tree: Tree) -> tuple[str, ...]:
        """A list of different names."""
        if tree.kind != "list" or not tree.list:
            raise self.fault(
                f"{tree.label} must be a list of names; it is {described(tree)}", tree, code="list-expected"
            )
        found: dict[str, None] = {}  # in order, and quick to look up
        for position, value in enumerate(tree.list, 1):
            if value.kind in ("map", "list", "nothing") or not value.text.strip():
                raise self.fault(
                    f"{tree.label} must be a list of names; number {position} is {described(value)}",
                    value,
                    code="list-expected",
                )
            self.check_printable(value.text, value)
            if value.text in found:
                raise self.fault(
                    f"{tree.label} must have different names; '{shown(value.text)}' stands there twice",
                    value,
                    code="duplicate-name",
                )
            found[value.text] = None
        return tuple(found)

    def one_of(self, tree: Tree, names: Collection[str], of: str) -> str:
        """One of `names`; where there are many and this is asked often, a set or a map of them."""
        name = self.text(tree)
        if name not in names:
            raise self.fault(
                f"{tree.label} names the {of} '{shown(name)}', which is not one of {listed(names)}",
                tree,
                code="unknown-name",
            )
        return name

    def text(self, tree: Tree) -> str:
        """Text of one line."""
        if tree.kind in ("map", "list", "nothing") or not tree.text.strip():
            raise self.fault(f"{tree.label} must be text; it is {described(tree)}", tree, code="text-expected")
        self.check_printable(tree.text, tree)
        return tree.text

    def paragraph(self, tree: Tree) -> str:
        """Text whose line breaks count as spaces."""
        return self.text(replace(tree, text=" ".join(tree.text.split())))

    def truth(self, tree: Tree) -> bool:
        if tree.kind != "truth":
            raise self.fault(
                f"{tree.label} must be true or false; it is {described(tree)}", tree, code="boolean-expected"
            )
        return tree.text.lower() == "true"

    def point(self, tree: Tree) -> Tree:
        """`tree`, or the number alone where numbers may have intervals beside them."""
        return tree

    def number(self, tree: Tree) -> float:
        """A finite number of a size that can be reckoned with."""
        tree = self.point(tree)
        try:
            value = float(tree.text) if tree.kind == "number" else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            text = "the text " if tree.kind == "text" else ""
            raise self.fault(
                f"{tree.label} must be a finite number; it is {text}{described(tree)}", tree, code="number-expected"
            )
        if abs(value) > LARGEST_REWARD:
            raise self.fault(
                f"{tree.label} must be at most {LARGEST_REWARD:g} large; it is {described(tree)}",
                tree,
                code="number-range",
            )
        return value

    def amount(self, tree: Tree) -> float:
        """A number that is not negative."""
        value = self.number(tree)
        if value < 0:
            raise self.fault(f"{tree.label} must not be negative; it is {value:g}", tree, code="negative-number")
        return abs(value)

    def whole(self, tree: Tree, least: int, most: int) -> int:
        """A whole number within limits."""
        value = self.number(tree)
        if not least <= value <= most or value != int(value):
            raise self.fault(
                f"{tree.label} must be a whole number from {least} to {most}; it is {value:g}",
                tree,
                code="whole-number-expected",
            )
        return int(value)

    def probability(self, tree: Tree) -> float:
        """A probability, written 0.95, 95% or as a natural frequency: 19 of 20, 1 in 1,000."""
        tree = self.point(tree)
        percent = False
        if tree.kind == "text":
            if counted := FREQUENCY.fullmatch(tree.text):
                return self._frequency(tree, *(float(number.replace(",", "")) for number in counted.groups()))
            written = tree.text.strip()
            percent = written.endswith("%") and written.count("%") == 1
        value = self.number(replace(tree, kind="number", text=written[:-1].strip()) if percent else tree)
        value = value / 100 if percent else value
        if not 0 <= value <= 1:
            raise self.fault(
                f"{tree.label} must be a probability between 0 and 1; it is {described(tree)}",
                tree,
                code="probability-range",
            )
        return abs(value)

    def _frequency(self, tree: Tree, some: float, all_: float) -> float:
        if not 0 < all_ <= LARGEST_REWARD or some > all_:
            rule = "must be a part of a whole, such as 9 of 10"
            raise self.fault(f"{tree.label} {rule}; it is {described(tree)}", tree, code="frequency-range")
        return some / all_

    def distribution(self, tree: Tree, names: tuple[str, ...]) -> Array:
        """A probability for each of `names`, the states; together 1."""
        return self._summing(tree, names, "state", lambda: f"{tree.label} must sum to 1; it", sum_code="prior-sum")

    def row(self, tree: Tree, names: tuple[str, ...]) -> Array:
        """A row of a likelihood: a probability for each of `names`, the outcomes; together 1."""
        *table, state = tree.field
        return self._summing(
            tree,
            names,
            "outcome",
            lambda: f"{label(tuple(table))} must have rows that sum to 1; row '{state}'",
            sum_code="likelihood-row-sum",
        )

    def _summing(self, tree: Tree, names: tuple[str, ...], of: str, rule: Callable[[], str], *, sum_code: str) -> Array:
        values = self.per_name(tree, names, "a probability", of)
        total = math.fsum(values)
        if abs(total - 1) > ROW_SUM_TOLERANCE:
            raise self.fault(f"{rule()} sums to {total:.10g}", tree, code=sum_code)
        return values

    def per_name(self, tree: Tree, names: Collection[str], what: str, of: str) -> Array:
        """One number for each of `names`, from a list in their order or a map; `what` says of which kind."""
        read = {"a probability": self.probability, "a loss": self.amount}.get(what, self.number)
        if tree.kind == "list":
            if len(tree.list) != len(names):
                raise self.fault(
                    f"{tree.label} must have {what} for each of {len(names)} {of}s; it has {len(tree.list)}",
                    tree,
                    code="wrong-length",
                )
            return np.array([read(value) for value in tree.list])
        self.check_names(tree, names, of, what)
        return np.array([read(tree.items[name]) for name in names])

    def check_names(self, tree: Tree, names: Collection[str], of: str, what: str = "a row") -> None:
        """Complain unless `tree` is a map with exactly these names."""
        if tree.kind != "map":
            raise self.fault(
                f"{tree.label} must give {what} for each {of}; it is {described(tree)}", tree, code="map-expected"
            )
        known = set(names) if len(tree.items) > FEW else names
        for name, value in tree.items.items():
            if name not in known:
                raise self.fault(
                    f"{tree.label} names the {of} '{shown(name)}', which is not one of {listed(names)}",
                    value,
                    code="unknown-name",
                )
        for name in names:
            if name not in tree.items:
                raise self.fault(
                    f"{tree.label} must give {what} for each {of}; '{name}' is missing", tree, code="missing-entry"
                )

    def check_printable(self, text: str, tree: Tree) -> None:
        if wrong := not_printable(tree.label, text):
            raise self.fault(wrong, tree, code="not-printable")


def described(tree: Tree) -> str:
    """What stands there, in a few words."""
    if tree.kind in ("map", "list"):
        return f"an empty {tree.kind}" if not (tree.items or tree.list) else f"a {tree.kind}"
    return "nothing" if tree.kind == "nothing" or not tree.text.strip() else f"'{shown(tree.text)}'"


def listed(names: Collection[str], most: int = 8) -> str:
    """The first of `names`."""
    return ", ".join(islice(names, most)) + (f", ... ({len(names)} in all)" if len(names) > most else "")
