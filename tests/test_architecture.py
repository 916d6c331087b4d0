"""Imports go one way, modules stay small, and what is public is documented."""

from __future__ import annotations

import ast
import doctest
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import rhoplan

ROOT = Path(rhoplan.__file__).parent
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))

# Each layer may import from itself and from those before it.
LAYERS = (
    ("errors", "version", "files", "work", "budget"),
    ("model",),
    ("belief",),
    ("graph",),
    ("following",),
    ("planning",),
    ("agents",),
    ("scoring", "evaluation"),
    ("io", "problems", "gym", "learning"),
    ("advice",),
    ("present",),
    ("app",),
    ("__init__", "__main__"),
)
PLACES = {name: place for place, names in enumerate(LAYERS) for name in names}


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All that stands in `body`, inside functions too; not what only a type checker reads."""
    for node in body:
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, part, []))


@cache
def imports(path: Path) -> frozenset[str]:
    """The modules of rhoplan that the file imports."""
    found = set()
    for node in statements(tree_of(path).body):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rhoplan."):
            found.add(node.module.removeprefix("rhoplan."))
        if isinstance(node, ast.Import):
            found |= {name.name.removeprefix("rhoplan.") for name in node.names if name.name.startswith("rhoplan.")}
    return frozenset(found)


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_go_one_way(path: Path) -> None:
    name = module_name(path)
    for imported in imports(path):
        mine, theirs = PLACES[name.split(".")[0]], PLACES[imported.split(".")[0]]
        assert theirs <= mine, f"{name} must not import {imported}"


def test_there_is_no_circle() -> None:
    arrows = {module_name(path): imports(path) for path in MODULES}
    left = {name: {other for other in found if other in arrows} - {name} for name, found in arrows.items()}
    while free := [name for name, found in left.items() if not found]:
        left = {name: found - set(free) for name, found in left.items() if name not in free}
    assert not left, f"these import each other: {sorted(left)}"


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_module_says_what_it_is_and_stays_small(path: Path) -> None:
    text = (ROOT / path).read_text()
    assert path.name == "version.py" or ast.get_docstring(tree_of(path))
    assert len(text.splitlines()) <= 400


def test_public_names_exist_and_are_documented() -> None:
    for name in rhoplan.__all__:
        thing = getattr(rhoplan, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name


def test_examples_in_docstrings_run() -> None:
    failures, tried = doctest.testmod(rhoplan)
    assert tried >= 4
    assert failures == 0
