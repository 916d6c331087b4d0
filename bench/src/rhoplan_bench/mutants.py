"""Mutation testing: small faults are put into the library one at a time, and the tests must notice.

A fault is a comparison turned round, a sign or an operator changed, a number moved, a condition negated, a call left
out. Faults are drawn by seed among all places where one can be put. One run of the tests beforehand (`traced`) tells
which tests call which function; a fault is tried with the tests that call its function, the quickest first, in a copy
of the tree. What no test notices is told, with its line before and after.
"""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

ROOMS = ("belief", "graph", "following", "model", "planning", "agents", "scoring", "io", "advice", "app/serve")
"""Folders of the library that are mutated."""

MOST_TESTS = 150
"""Tests that a fault is tried with, the quickest of those that call its function."""

PATIENCE = 900.0
"""Seconds after which a run of tests counts as having noticed: the fault made it go on for ever."""


@dataclass(frozen=True)
class Mutant:
    """A fault: in which file, function and line, and what the line was and becomes."""

    file: str
    function: str
    line: int
    before: str
    after: str
    text: str

    @property
    def room(self) -> str:
        return next(room for room in ROOMS if self.file.startswith(f"src/rhoplan/{room}/"))


# --- Where faults can be put

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Mult,
}  # fmt: skip
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "argmax": "argmin", "argmin": "argmax"}


def changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """The faults that can be put at `node`: a field, and what it becomes."""
    match node:
        case ast.Compare(ops=operators):
            for place, operator in enumerate(operators):
                if other := COMPARED.get(type(operator)):
                    yield "ops", [*operators[:place], other(), *operators[place + 1 :]]
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator):
            if found := COMPUTED.get(type(operator)):
                yield "op", found()
        case ast.BoolOp(op=joined):
            yield "op", ast.Or() if isinstance(joined, ast.And) else ast.And()
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "test", ast.UnaryOp(ast.Not(), test)
        case ast.UnaryOp(op=ast.USub()):
            yield "op", ast.UAdd()
        case ast.Constant(value=bool(value)):
            yield "value", not value
        case ast.Constant(value=int(value) | float(value)):
            yield "value", value + 1
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            yield "func", ast.Name(CALLED[name])
        case ast.Call(func=ast.Attribute(value=whose, attr=name)) if name in CALLED:
            yield "func", ast.Attribute(whose, CALLED[name])
        case ast.Expr(value=ast.Call()):
            yield "value", ast.Constant(None)


def mutants_of(root: Path, file: str) -> Iterator[Mutant]:
    """Every fault that can be put into a file; types, docstrings and texts of errors are left alone."""
    source = (root / file).read_text(encoding="utf-8")
    lines, tree = source.splitlines(keepends=True), ast.parse(source)
    for function, node in _inside(tree, ""):
        if not isinstance(node, ast.expr | ast.stmt) or node.lineno != node.end_lineno:
            continue
        line = lines[node.lineno - 1]
        before = line.encode()[node.col_offset : node.end_col_offset].decode()
        for field, value in changes(node):
            copy = deepcopy(node)
            setattr(copy, field, value)
            after = ast.unparse(ast.fix_missing_locations(copy))
            after = f"({after})" if isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp) else after
            put = line.encode()[: node.col_offset].decode() + after + line.encode()[node.end_col_offset :].decode()
            text = "".join([*lines[: node.lineno - 1], put, *lines[node.lineno :]])
            if before.strip() and _parses(text):
                yield Mutant(file, function, node.lineno, line.strip(), put.strip(), text)


def _inside(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """Nodes that do something, with the function they stand in (empty: the module)."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.JoinedStr | ast.Assert):
                continue
            if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":  # zip's own check of what is so anyway
                continue
            inner = (
                f"{function}.{child.name}".lstrip(".")
                if isinstance(child, ast.FunctionDef | ast.ClassDef)
                else function
            )
            yield inner, child
            yield from _inside(child, inner)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def drawn(root: Path, rooms: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """So many faults, as many from each room as its share of all, by seed."""
    everywhere: list[Mutant] = []
    for room in rooms:
        for path in sorted((root / "src" / "rhoplan" / room).rglob("*.py")):
            everywhere += mutants_of(root, path.relative_to(root).as_posix())
    return random.Random(seed).sample(everywhere, min(count, len(everywhere)))


# --- Whether tests notice


@dataclass(frozen=True)
class Verdict:
    """What became of a fault. noticed: by which test, or how; None where no test noticed."""

    mutant: Mutant
    noticed: str | None
    tests: int
    seconds: float


class Calls:
    """Which tests call which function, and how long they take: what the plugin `traced` wrote."""

    def __init__(self, path: Path) -> None:
        kept = json.loads(path.read_text(encoding="utf-8"))
        self.seconds: dict[str, float] = kept["seconds"]
        self._by: dict[str, list[str]] = kept["calls"]

    def of(self, mutant: Mutant) -> list[str]:
        """The tests to try, the quickest first: those that call the function, else the file, else its folder."""
        file = mutant.file.removeprefix("src/")
        folder = file.rpartition("/")[0]
        for whole, part in ((f"{file}:{mutant.function}", None), (None, f"{file}:"), (None, f"{folder}/")):
            found = {
                test
                for key, tests in self._by.items()
                if key == whole or (part is not None and key.startswith(part))
                for test in tests
            }
            if found:
                return sorted(found, key=lambda test: self.seconds.get(test, 0.0))[:MOST_TESTS]
        return []


def trace(root: Path, out: Path, tests: Sequence[str] = ()) -> None:
    """Run the tests once, and write down what each calls."""
    environment = {**os.environ, "RHOPLAN_TRACED": str(out), "PYTHONPATH": _paths(root)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "rhoplan_bench.traced", *tests]
    subprocess.run(command, cwd=root, env=environment, check=False)


def tried(root: Path, mutants: Sequence[Mutant], calls: Calls, *, jobs: int, folder: Path) -> Iterator[Verdict]:
    """What becomes of each fault, as it is known; each job has a copy of the tree under `folder`."""
    copies: Queue[Path] = Queue()
    for number in range(jobs):
        copy = folder / f"copy-{number}"
        shutil.copytree(
            root, copy, ignore=shutil.ignore_patterns(".git", ".venv", "_build", "*.egg-info"), dirs_exist_ok=True
        )
        copies.put(copy)

    def one(mutant: Mutant) -> Verdict:
        copy = copies.get()
        try:
            return _try(copy, mutant, calls.of(mutant))
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, mutants)


def _try(copy: Path, mutant: Mutant, tests: Sequence[str]) -> Verdict:
    path = copy / mutant.file
    whole, begin = path.read_text(encoding="utf-8"), time.monotonic()
    path.write_text(mutant.text, encoding="utf-8")
    try:
        noticed = _noticed(copy, tests) if tests else None
    finally:
        path.write_text(whole, encoding="utf-8")
    return Verdict(mutant, noticed, len(tests), time.monotonic() - begin)


def _noticed(copy: Path, tests: Sequence[str]) -> str | None:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(
            command, cwd=copy, env={**os.environ, "PYTHONPATH": _paths(copy)}, capture_output=True, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "it does not end"
    if run.returncode == 0:
        return None
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed else f"pytest ended with {run.returncode}"


def _paths(root: Path) -> str:
    return os.pathsep.join(str(root / place) for place in ("src", "paper/src", "bench/src", "tests"))


def score(verdicts: Iterable[Verdict]) -> dict[str, tuple[int, int]]:
    """Of each room, how many faults were noticed, of how many."""
    found: dict[str, tuple[int, int]] = {}
    for verdict in verdicts:
        noticed, of = found.get(verdict.mutant.room, (0, 0))
        found[verdict.mutant.room] = noticed + (verdict.noticed is not None), of + 1
    return found
