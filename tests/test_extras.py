"""Packages that only some uses need: their absence is one line with the command that installs them."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path

import pytest

import rhoplan
from bridge import EXTRAS, NEED_EXTRAS, _guarded, path_of
from rhoplan import MissingExtra

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"

DISTRIBUTIONS = {"ruamel": "ruamel.yaml", "sklearn": "scikit-learn", "yaml": "PyYAML"}
"""Distributions that are not called as the package that they bring."""


@contextmanager
def hiding(monkeypatch: pytest.MonkeyPatch):
    """Makes the import of a package fail, also for modules that had imported it; afterwards all is as it was."""
    before = {name: module for name, module in sys.modules.items() if name.startswith(NEED_EXTRAS)}

    def hide(package: str) -> None:
        for name in [name for name in sys.modules if name.startswith(NEED_EXTRAS)]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)

    yield hide
    for name in [name for name in sys.modules if name.startswith(NEED_EXTRAS)]:
        del sys.modules[name]
    sys.modules.update(before)
    for name, module in before.items():  # a folder knows its modules, too, and would go on showing the others
        folder, _, inside = name.rpartition(".")
        setattr(sys.modules[folder], inside, module)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch):
    with hiding(monkeypatch) as hide:
        yield hide


def test_afterwards_all_is_as_it_was(monkeypatch, capsys):
    module = importlib.import_module(path_of("anytime_module"))
    with hiding(monkeypatch) as hide:
        hide("numba")
        assert _guarded(["decide", "rocksample", "--planner", "anytime"]) == 2
    assert sys.modules[module.__name__] is module is attrgetter(module.__name__.partition(".")[2])(rhoplan)


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("numba", ["decide", "tiger", "--planner", "mcts"]),
        ("numba", ["decide", "tiger", "--planner", "pomcp"]),
        ("numba", ["decide", "tiger", "--planner", "many"]),
        ("numba", ["decide", "rocksample", "--planner", "anytime"]),
        ("numba", ["solve", "drilling"]),
        ("matplotlib", ["solve", "tiger", "--plot", "value.png"]),
        ("uvicorn", ["serve", "tiger"]),
    ],
)
def test_what_needs_an_extra_says_how_to_get_it(package, arguments, without, capsys):
    without(package)
    assert _guarded(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.endswith(f"needs {package}: pip install 'rhoplan[{EXTRAS[package]}]'\n")


def test_a_sweep_without_matplotlib_keeps_its_table(without, capsys, tmp_path):
    without("matplotlib")
    assert _guarded(["sweep", "testbed", "--over", "weight=1,2", "--out", str(tmp_path / "found")]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["found.csv"]
    assert "found.png is not drawn: a figure needs matplotlib: pip install 'rhoplan[plots]'" in capsys.readouterr().err


def test_evaluating_places_without_numba_leaves_the_ceiling_out(without, capsys):
    without("numba")
    assert _guarded(["evaluate", "rocksample:n=5,k=3", "--agent", "greedy"]) == 0
    told = capsys.readouterr()
    assert "greedy" in told.out
    assert "pip install 'rhoplan[fast]'" in told.err


def test_environments_without_gymnasium_are_an_import_error(without):
    without("gymnasium")
    with pytest.raises(ImportError, match=r"rhoplan.gym needs gymnasium: pip install 'rhoplan\[gym\]'"):
        importlib.import_module("rhoplan.gym")


def test_every_extra_brings_the_packages_it_is_named_for():
    listed = tomllib.loads(PROJECT.read_text())["project"]
    for package, extra in EXTRAS.items():
        assert any(line.startswith(package) for line in listed["optional-dependencies"][extra]), package
        assert not any(line.startswith(package) for line in listed["dependencies"]), package


@pytest.mark.parametrize(
    ("folder", "extras"),
    [
        ("evaluation", {"learn"}),
        ("planning", {"fast", "learn"}),
        ("learning", {"learn"}),
        ("app/serve", {"serve"}),
        ("", None),
    ],
)
def test_every_package_that_is_imported_is_declared(folder: str, extras: set[str] | None) -> None:
    """A package that only another one brings is missing as soon as that one does without it."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    asked = [
        *project["dependencies"],
        *(line for extra in (optional if extras is None else extras) for line in optional[extra]),
    ]
    declared = {re.split(r"[\[<>=;]", line)[0].strip() for line in asked}
    imported = {
        DISTRIBUTIONS.get(name, name): path.name
        for path in (Path(rhoplan.__file__).parent / folder).rglob("*.py")
        for name in imports_of(path)
    }
    assert imported
    assert {name: path for name, path in imported.items() if name not in declared} == {}


def imports_of(path: Path) -> set[str]:
    """The packages of others that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - {*sys.stdlib_module_names, "rhoplan"}


def test_a_missing_extra_is_both_kinds_of_error():
    assert isinstance(MissingExtra("serve", "uvicorn"), ImportError)
