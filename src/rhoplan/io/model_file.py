"""Model files: an observe-then-commit problem as YAML, JSON or TOML, read with errors that name file, line and field.

name: tiger
unit: points
states: [tiger-left, tiger-right]
prior: [0.5, 0.5]                       # or {tiger-left: 50%, ...}; uniform if left out
tests:
  listen:
    cost: 1
    outcomes: [hear-left, hear-right]
    likelihood: {tiger-left: [0.85, 0.15], tiger-right: [0.15, 0.85]}
    repeat: independent                 # or once, the default
  # two states only:  pcr: {cost: 5, sensitivity: 0.9, specificity: 0.95}
commits:
  open-left: {tiger-left: -100, tiger-right: 10}
  open-right: {tiger-left: 10, tiger-right: -100}
horizon: 6                              # optional: the look-ahead used when nobody asks for another
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rhoplan.errors import ModelFileError, ProblemError
from rhoplan.io.tree import Tree, parse_tree
from rhoplan.problem import LARGEST_HORIZON, ROW_SUM_TOLERANCE, Array, Commit, Problem, Test, observe_then_commit

LARGEST_FILE = 2_000_000
"""Bytes a model file may have; a 16 x 16 Tileworld, with 256 states, takes 0.83 million."""

LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}

DEFAULT_HORIZON = 3


def read_model(path: Path | str) -> Problem:
    """The problem that the model file at `path` describes."""
    file, path = str(path), Path(path)
    language = LANGUAGES.get(path.suffix.lower())
    if language is None:
        raise ModelFileError(f"a model file must end in {', '.join(LANGUAGES)}", file=file)
    try:
        if path.exists() and not path.is_file():
            raise ModelFileError("a model file must be a regular file; this is not", file=file)
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise ModelFileError(
                f"a model file may have {LARGEST_FILE:,} bytes at most; this one has {size / 1e6:.1f} MB", file=file
            )
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ModelFileError("a model file must be UTF-8 text; this is not", file=file, line=line) from None
    except OSError as error:
        raise ModelFileError(f"the file cannot be read: {error.strerror or error}", file=file) from None
    return parse_model(text, file=file, language=language)


def parse_model(text: str, *, file: str = "model", language: str = "yaml") -> Problem:
    """The problem that `text` describes; `file` is what errors call it, `language` yaml, json or toml."""
    if language not in LANGUAGES.values():
        raise ValueError(f"language must be yaml, json or toml, not '{language}'")
    return _Reader(file).problem(parse_tree(text, file=file, language=language))


def write_model(problem: Problem) -> str:
    """A flat `problem` as a YAML model file; reading it gives the same problem."""
    menu, states = problem.flat, problem.states
    lines = [
        f"name: {_word(problem.name)}",
        f"unit: {_word(problem.unit)}",
        f"states: [{', '.join(map(_word, states))}]",
        f"prior: {_numbers(problem.prior)}",
        f"horizon: {problem.horizon}",
        "tests:" if menu.tests else "tests: {}",
    ]
    for test in menu.tests:
        lines += [
            f"  {_word(test.name)}:",
            f"    cost: {_number(test.cost)}",
            f"    outcomes: [{', '.join(map(_word, test.outcomes))}]",
            "    likelihood:",
            *(f"      {_word(s)}: {_numbers(row)}" for s, row in zip(states, test.likelihood, strict=True)),
            f"    repeat: {'independent' if test.repeatable else 'once'}",
        ]
    lines.append("commits:")
    for commit in menu.commits:
        rewards = ", ".join(f"{_word(s)}: {_number(r)}" for s, r in zip(states, commit.reward, strict=True))
        lines.append(f"  {_word(commit.name)}: {{{rewards}}}")
    return "\n".join(lines) + "\n"


class _Reader:
    """Reads one file's tree; every complaint carries the file and the line of the field it is about."""

    def __init__(self, file: str) -> None:
        self.file = file

    def problem(self, tree: Tree) -> Problem:
        fields = {"name", "unit", "states", "prior", "tests", "commits", "horizon"}
        self.check_fields("the model", tree, fields, required=("states", "commits"))
        items = tree.items
        states = self.names("states", items["states"])
        tests = self.named_maps("tests", items["tests"], empty_allowed=True) if "tests" in items else {}
        commits = self.named_maps("commits", items["commits"])
        for name in commits:
            if name in tests:
                raise self.fault(f"'{name}' is both a test and a commit; names must differ", commits[name])
        prior = self.distribution("prior", items["prior"], states) if "prior" in items else None
        try:
            return observe_then_commit(
                self.text("name", items["name"]) if "name" in items else Path(self.file).stem,
                states,
                prior=prior,
                unit=self.text("unit", items["unit"]) if "unit" in items else "points",
                tests=tuple(self.test(name, test, states) for name, test in tests.items()),
                commits=tuple(
                    Commit(name, self.per_name(f"commits.{name}", commit, states, "a reward", "state"))
                    for name, commit in commits.items()
                ),
                horizon=self.horizon(items["horizon"]) if "horizon" in items else DEFAULT_HORIZON,
                spec=self.file,
            )
        except ProblemError as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(str(error), file=self.file) from None

    def test(self, name: str, tree: Tree, states: tuple[str, ...]) -> Test:
        where = f"tests.{name}"
        shorthand = {"sensitivity", "specificity"}
        self.check_fields(where, tree, {"cost", "outcomes", "likelihood", "repeat"} | shorthand, required=("cost",))
        items = tree.items
        cost = self.number(f"{where}.cost", items["cost"])
        if cost < 0:
            raise self.fault(f"{where}.cost must not be negative; it is {cost:g}", items["cost"])
        repeat = self.text(f"{where}.repeat", items["repeat"]) if "repeat" in items else "once"
        if repeat not in ("independent", "once"):
            raise self.fault(f"{where}.repeat must be independent or once; it is '{repeat}'", items["repeat"])
        if shorthand & set(items):
            outcomes, likelihood = self.two_state_test(where, tree, states)
        else:
            self.check_fields(where, tree, set(items), required=("outcomes", "likelihood"))
            outcomes = self.names(f"{where}.outcomes", items["outcomes"])
            rows = items["likelihood"]
            self.check_names(f"{where}.likelihood", rows, states, "state")
            likelihood = np.stack(
                [self.distribution(f"{where}.likelihood", rows.items[state], outcomes, row=state) for state in states]
            )
        return Test(name, cost, outcomes, likelihood, repeat == "independent")

    def two_state_test(self, where: str, tree: Tree, states: tuple[str, ...]) -> tuple[tuple[str, ...], Array]:
        """The shorthand: the positive state is the last one, outcomes are negative and positive."""
        items = tree.items
        if "likelihood" in items:
            raise self.fault(f"{where} must give either likelihood or sensitivity and specificity, not both", tree)
        self.check_fields(where, tree, set(items), required=("sensitivity", "specificity"))
        if len(states) != 2:
            raise self.fault(f"{where}: sensitivity and specificity need two states; the model has {len(states)}", tree)
        sensitivity = self.probability(f"{where}.sensitivity", items["sensitivity"])
        specificity = self.probability(f"{where}.specificity", items["specificity"])
        outcomes = (
            self.names(f"{where}.outcomes", items["outcomes"]) if "outcomes" in items else ("negative", "positive")
        )
        if len(outcomes) != 2:
            raise self.fault(f"{where}.outcomes must be two: the negative, then the positive one", items["outcomes"])
        return outcomes, np.array([[specificity, 1 - specificity], [1 - sensitivity, sensitivity]])

    def distribution(self, where: str, tree: Tree, names: tuple[str, ...], row: str | None = None) -> Array:
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
        """One number for each of `names`, from a list in their order or a map."""
        read = self.probability if what == "a probability" else self.number
        if tree.kind == "list":
            if len(tree.list) != len(names):
                raise self.fault(
                    f"{where} must have {what} for each of {len(names)} {of}s; it has {len(tree.list)}", tree
                )
            return np.array([read(f"{where}[{i + 1}]", value) for i, value in enumerate(tree.list)])
        self.check_names(where, tree, names, of, what)
        return np.array([read(f"{where}.{name}", tree.items[name]) for name in names])

    def check_names(self, where: str, tree: Tree, names: tuple[str, ...], of: str, what: str = "a row") -> None:
        if tree.kind != "map":
            raise self.fault(f"{where} must give {what} for each {of}; it is {_described(tree)}", tree)
        for name, value in tree.items.items():
            if name not in names:
                raise self.fault(f"{where} names the {of} '{name}', which is not one of {_listed(names)}", value)
        for name in names:
            if name not in tree.items:
                raise self.fault(f"{where} must give {what} for each {of}; '{name}' is missing", tree)

    def check_fields(self, where: str, tree: Tree, known: set[str], required: Sequence[str]) -> None:
        if tree.kind != "map":
            raise self.fault(f"{where} must be a map of fields; it is {_described(tree)}", tree)
        for name, value in tree.items.items():
            if name not in known:
                raise self.fault(f"{where} has no field '{name}'; it may have {_listed(sorted(known))}", value)
        for name in required:
            if name not in tree.items:
                raise self.fault(f"{where} must have the field '{name}'", tree)

    def named_maps(self, where: str, tree: Tree, *, empty_allowed: bool = False) -> dict[str, Tree]:
        if tree.kind == "nothing" and empty_allowed:
            return {}
        if tree.kind != "map" or (not tree.items and not empty_allowed):
            raise self.fault(f"{where} must be a map from names to their fields; it is {_described(tree)}", tree)
        for name, value in tree.items.items():
            if not name.strip():
                raise self.fault(f"{where} must have names; one is empty", value)
            self.check_printable(where, name, value)
        return tree.items

    def names(self, where: str, tree: Tree) -> tuple[str, ...]:
        if tree.kind != "list" or not tree.list:
            raise self.fault(f"{where} must be a list of names; it is {_described(tree)}", tree)
        found: list[str] = []
        for position, value in enumerate(tree.list, 1):
            if value.kind in ("map", "list", "nothing") or not value.text.strip():
                raise self.fault(f"{where} must be a list of names; number {position} is {_described(value)}", value)
            self.check_printable(where, value.text, value)
            if value.text in found:
                raise self.fault(f"{where} must have different names; '{value.text}' stands there twice", value)
            found.append(value.text)
        return tuple(found)

    def check_printable(self, where: str, text: str, tree: Tree) -> None:
        """No control characters, which act on a terminal, and no halves of characters, which cannot be written."""
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
            raise self.fault(f"{where} must be printable text; it is {text!r}", tree)

    def horizon(self, tree: Tree) -> int:
        value = self.number("horizon", tree)
        if not 1 <= value <= LARGEST_HORIZON or value != int(value):
            raise self.fault(f"horizon must be a whole number from 1 to {LARGEST_HORIZON}; it is {value:g}", tree)
        return int(value)

    def text(self, where: str, tree: Tree) -> str:
        if tree.kind in ("map", "list", "nothing") or not tree.text.strip():
            raise self.fault(f"{where} must be text; it is {_described(tree)}", tree)
        self.check_printable(where, tree.text, tree)
        return tree.text

    def probability(self, where: str, tree: Tree) -> float:
        percent = re.fullmatch(r"\s*([^%]*?)\s*%\s*", tree.text) if tree.kind == "text" else None
        value = self.number(where, Tree("number", tree.line, percent.group(1)) if percent else tree)
        value = value / 100 if percent else value
        if not 0 <= value <= 1:
            raise self.fault(f"{where} must be a probability between 0 and 1; it is {tree.text}", tree)
        return value

    def number(self, where: str, tree: Tree) -> float:
        try:
            value = float(tree.text) if tree.kind == "number" else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            text = "the text " if tree.kind == "text" else ""
            raise self.fault(f"{where} must be a finite number; it is {text}{_described(tree)}", tree)
        return value

    def fault(self, message: str, tree: Tree) -> ModelFileError:
        return ModelFileError(message, file=self.file, line=tree.line)


def _described(tree: Tree) -> str:
    if tree.kind in ("map", "list"):
        return f"an empty {tree.kind}" if not (tree.items or tree.list) else f"a {tree.kind}"
    short = tree.text if len(tree.text) <= 40 else tree.text[:37] + "..."
    return "nothing" if tree.kind == "nothing" or not short.strip() else f"'{' '.join(short.split())}'"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


def _word(text: str) -> str:
    """A name as YAML: bare where that is safe, quoted otherwise."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", text) and text.lower() not in ("null", "true", "false", "yes", "no")
    return text if plain else json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _numbers(values: Array) -> str:
    return f"[{', '.join(_number(value) for value in values)}]"
