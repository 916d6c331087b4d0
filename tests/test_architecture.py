"""Imports go one way, modules stay small, and what is public is documented."""

from __future__ import annotations

import ast
import doctest
import inspect
from pathlib import Path

import pytest

import rhoplan

ROOT = Path(rhoplan.__file__).parent
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))

# Each layer may import from itself and from those before it. Names are modules or packages of rhoplan.
LAYERS = [
    ["errors", "version"],
    ["menu"],
    ["check", "problem"],
    ["information", "draws"],
    ["situation"],
    ["planning.merging", "planning.ties"],
    ["planning.table"],
    ["planning.graph", "planning.symmetry"],
    ["utility"],
    ["planning"],
    ["agent", "search"],
    ["policy"],
    ["scoring"],
    ["walk", "pushing"],
    ["episodes"],
    ["io", "problems", "report"],
    ["gym", "advice", "records"],
    ["serve"],
    ["cli"],
    ["__init__", "__main__"],
]


def layer_of(module: str) -> int:
    for length in range(len(module.split(".")), 0, -1):
        name = ".".join(module.split(".")[:length])
        for place, names in enumerate(LAYERS):
            if name in names:
                return place
    raise AssertionError(f"{module} has no layer: give it one in LAYERS")


def imports(path: Path) -> set[str]:
    """The modules of rhoplan that the file imports at its top level, type checking and function bodies left out."""
    found = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rhoplan."):
            found.add(node.module.removeprefix("rhoplan."))
    return found


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_go_one_way(path: Path) -> None:
    name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    for imported in imports(path):
        assert layer_of(imported) <= layer_of(name), f"{name} must not import {imported}"


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_module_says_what_it_is_and_stays_small(path: Path) -> None:
    text = (ROOT / path).read_text()
    assert path.name == "version.py" or ast.get_docstring(ast.parse(text))
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
