"""Values of a model file's tree as numbers, names and text; every complaint names the file, the line and the field.

`reader` says which fields a model has; here is what a value may look like, whatever the field.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Sequence

import numpy as np

from rhoplan.errors import ModelFileError
from rhoplan.io.tree import Tree, shown
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.model.problem import ROW_SUM_TOLERANCE, Array


class Fields:
    """Reads the values of one file; `where` is what a complaint calls the field."""

    def __init__(self, file: str) -> None:
        self.file = file

    def fault(self, message: str, tree: Tree) -> ModelFileError:
        """The error to raise about `tree`."""
        return ModelFileError(message, file=self.file, line=tree.line)

    def check_fields(self, where: str, tree: Tree, known: Collection[str], required: Sequence[str] = ()) -> None:
        """Complain unless `tree` is a map with fields from `known` only and all of the `required` ones."""
        if tree.kind != "map":
            raise self.fault(f"{where} must be a map of fields; it is {described(tree)}", tree)
        for name, value in tree.items.items():
            if name not in known:
                raise self.fault(
                    f"{where} has no field '{shown(name)}'; it may have {listed(sorted(known), 20)}", value
                )
        for name in required:
            if name not in tree.items:
                raise self.fault(f"{where} must have the field '{name}'", tree)

    def named_maps(self, where: str, tree: Tree, *, empty_allowed: bool = False) -> dict[str, Tree]:
        """A map from names to whatever they name."""
        if tree.kind == "nothing" and empty_allowed:
            return {}
        if tree.kind != "map" or (not tree.items and not empty_allowed):
            raise self.fault(f"{where} must be a map from names to their fields; it is {described(tree)}", tree)
        for name, value in tree.items.items():
            if not name.strip():
                raise self.fault(f"{where} must have names; one is empty", value)
            self.check_printable(where, name, value)
        return tree.items

    def names(self, where: str, tree: Tree) -> tuple[str, ...]:
        """A list of different names."""
        if tree.kind != "list" or not tree.list:
            raise self.fault(f"{where} must be a list of names; it is {described(tree)}", tree)
        found: list[str] = []
        for position, value in enumerate(tree.list, 1):
            if value.kind in ("map", "list", "nothing") or not value.text.strip():
                raise self.fault(f"{where} must be a list of names; number {position} is {described(value)}", value)
            self.check_printable(where, value.text, value)
            if value.text in found:
                raise self.fault(f"{where} must have different names; '{shown(value.text)}' stands there twice", value)
            found.append(value.text)
        return tuple(found)

    def one_of(self, where: str, tree: Tree, names: Sequence[str], of: str) -> str:
        """One of `names`."""
        name = self.text(where, tree)
        if name not in names:
            raise self.fault(f"{where} names the {of} '{shown(name)}', which is not one of {listed(names)}", tree)
        return name

    def text(self, where: str, tree: Tree) -> str:
        """Text of one line."""
        if tree.kind in ("map", "list", "nothing") or not tree.text.strip():
            raise self.fault(f"{where} must be text; it is {described(tree)}", tree)
        self.check_printable(where, tree.text, tree)
        return tree.text

    def paragraph(self, where: str, tree: Tree) -> str:
        """Text whose line breaks count as spaces."""
        return self.text(where, Tree(tree.kind, tree.line, " ".join(tree.text.split())))

    def truth(self, where: str, tree: Tree) -> bool:
        if tree.kind != "truth":
            raise self.fault(f"{where} must be true or false; it is {described(tree)}", tree)
        return tree.text.lower() == "true"

    def number(self, where: str, tree: Tree) -> float:
        """A finite number of a size that can be reckoned with."""
        try:
            value = float(tree.text) if tree.kind == "number" else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            text = "the text " if tree.kind == "text" else ""
            raise self.fault(f"{where} must be a finite number; it is {text}{described(tree)}", tree)
        if abs(value) > LARGEST_REWARD:
            raise self.fault(f"{where} must be at most {LARGEST_REWARD:g} large; it is {described(tree)}", tree)
        return value

    def amount(self, where: str, tree: Tree) -> float:
        """A number that is not negative."""
        value = self.number(where, tree)
        if value < 0:
            raise self.fault(f"{where} must not be negative; it is {value:g}", tree)
        return abs(value)

    def whole(self, where: str, tree: Tree, least: int, most: int) -> int:
        """A whole number within limits."""
        value = self.number(where, tree)
        if not least <= value <= most or value != int(value):
            raise self.fault(f"{where} must be a whole number from {least} to {most}; it is {value:g}", tree)
        return int(value)

    def probability(self, where: str, tree: Tree) -> float:
        """A probability, written 0.95 or 95%."""
        percent = re.fullmatch(r"\s*([^%]*?)\s*%\s*", tree.text) if tree.kind == "text" else None
        value = self.number(where, Tree("number", tree.line, percent.group(1)) if percent else tree)
        value = value / 100 if percent else value
        if not 0 <= value <= 1:
            raise self.fault(f"{where} must be a probability between 0 and 1; it is {described(tree)}", tree)
        return abs(value)

    def distribution(self, where: str, tree: Tree, names: tuple[str, ...], row: str | None = None) -> Array:
        """A probability for each of `names`; together 1."""
        label = where if row is None else f"{where}.{row}"
        values = self.per_name(label, tree, names, "a probability", "state" if row is None else "outcome")
        total = math.fsum(values)
        if abs(total - 1) > ROW_SUM_TOLERANCE:
            rule = (
                f"{where} must sum to 1; it sums"
                if row is None
                else f"{where} must have rows that sum to 1; row '{row}' sums"
            )
            raise self.fault(f"{rule} to {total:.10g}", tree)
        return values

    def per_name(self, where: str, tree: Tree, names: tuple[str, ...], what: str, of: str) -> Array:
        """One number for each of `names`, from a list in their order or a map; `what` says of which kind."""
        read = {"a probability": self.probability, "a loss": self.amount}.get(what, self.number)
        if tree.kind == "list":
            if len(tree.list) != len(names):
                raise self.fault(
                    f"{where} must have {what} for each of {len(names)} {of}s; it has {len(tree.list)}", tree
                )
            return np.array([read(f"{where}[{i + 1}]", value) for i, value in enumerate(tree.list)])
        self.check_names(where, tree, names, of, what)
        return np.array([read(f"{where}.{name}", tree.items[name]) for name in names])

    def check_names(self, where: str, tree: Tree, names: tuple[str, ...], of: str, what: str = "a row") -> None:
        """Complain unless `tree` is a map with exactly these names."""
        if tree.kind != "map":
            raise self.fault(f"{where} must give {what} for each {of}; it is {described(tree)}", tree)
        for name, value in tree.items.items():
            if name not in names:
                raise self.fault(f"{where} names the {of} '{shown(name)}', which is not one of {listed(names)}", value)
        for name in names:
            if name not in tree.items:
                raise self.fault(f"{where} must give {what} for each {of}; '{name}' is missing", tree)

    def check_printable(self, where: str, text: str, tree: Tree) -> None:
        """No control characters and line breaks, which act on a terminal, and no halves of characters."""
        if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
            raise self.fault(f"{where} must be printable text; it is {text[:40]!r}", tree)


def described(tree: Tree) -> str:
    """What stands there, in a few words."""
    if tree.kind in ("map", "list"):
        return f"an empty {tree.kind}" if not (tree.items or tree.list) else f"a {tree.kind}"
    return "nothing" if tree.kind == "nothing" or not tree.text.strip() else f"'{shown(tree.text)}'"


def listed(names: Sequence[str], most: int = 8) -> str:
    """The first of `names`."""
    return ", ".join(names[:most]) + (f", ... ({len(names)} in all)" if len(names) > most else "")
