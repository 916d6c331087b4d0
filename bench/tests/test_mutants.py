"""Faults are put where they can be, and told where no test notices: shown on a library of one function."""

from __future__ import annotations

from pathlib import Path

import pytest

from rhoplan_bench.mutants import Calls, Mutant, drawn, mutants_of, score, trace, tried

LIBRARY = """\
'''A library.'''
LIMIT = 3


def largest(values, at_least=0):
    '''The largest, if it is large enough.'''
    best = max(values)
    if best < at_least:
        raise ValueError(f"{best + 1}")
    return best
"""
TESTS = """\
from rhoplan.belief.largest import largest


def test_the_largest():
    assert largest([1, 5]) == 5
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    room = tmp_path / "src" / "rhoplan" / "belief"
    room.mkdir(parents=True)
    (tmp_path / "src" / "rhoplan" / "__init__.py").touch()
    (room / "__init__.py").touch()
    (room / "largest.py").write_text(LIBRARY)
    (tmp_path / "test_largest.py").write_text(TESTS)
    return tmp_path


def after(mutants: list[Mutant]) -> set[str]:
    return {mutant.after for mutant in mutants}


def test_faults_are_put_where_something_is_done(tree: Path) -> None:
    found = list(mutants_of(tree, "src/rhoplan/belief/largest.py"))
    assert after(found) == {
        "LIMIT = 4", "def largest(values, at_least=1):", "best = min(values)", "if (best <= at_least):",
    }  # fmt: skip
    assert {mutant.function for mutant in found} == {"", "largest"}
    assert drawn(tree, ["belief"], 2, 7) == drawn(tree, ["belief"], 2, 7)


def test_what_no_test_notices_is_told(tree: Path, tmp_path: Path) -> None:
    trace(tree, tree / "traced.json", ["test_largest.py"])
    calls = Calls(tree / "traced.json")
    faults = [
        m for m in mutants_of(tree, "src/rhoplan/belief/largest.py") if m.after in ("best = min(values)", "LIMIT = 4")
    ]
    verdicts = list(tried(tree, faults, calls, jobs=1, folder=tmp_path.parent / "copies"))
    assert {verdict.mutant.after for verdict in verdicts if verdict.noticed is None} == {"LIMIT = 4"}
    assert score(verdicts) == {"belief": (1, 2)}
    assert (tree / "src/rhoplan/belief/largest.py").read_text() == LIBRARY
