"""Faults are put where they can be, and told where no test notices: shown on a library of one function."""

from __future__ import annotations

from pathlib import Path

import pytest

from rhoplan_bench.mutants import Mutant, drawn, mutants_of
from rhoplan_bench.trying import Calls, Score, explained, score, trace, tried

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
import subprocess, sys
from rhoplan.model.largest import largest


def test_fails():
    assert largest([])


def test_the_largest():
    assert largest([1, 5]) == 5


def test_the_limit_in_another_process():
    largest([1])
    told = subprocess.check_output([sys.executable, "-c", "from rhoplan.model.largest import LIMIT; print(LIMIT)"])
    assert told == b"3\\n"
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    room = tmp_path / "src" / "rhoplan" / "model"
    room.mkdir(parents=True)
    (tmp_path / "src" / "rhoplan" / "__init__.py").touch()
    (room / "__init__.py").touch()
    (room / "largest.py").write_text(LIBRARY)
    (tmp_path / "test_largest.py").write_text(TESTS)
    return tmp_path


def after(mutants: list[Mutant]) -> set[str]:
    return {mutant.after for mutant in mutants}


def test_faults_are_put_where_something_is_done(tree: Path) -> None:
    found = list(mutants_of(tree, "src/rhoplan/model/largest.py"))
    assert after(found) == {
        "LIMIT = 4", "def largest(values, at_least=1):", "best = min(values)", "if (best <= at_least):",
        "if (best >= at_least):",
    }  # fmt: skip
    assert {mutant.function for mutant in found} == {"", "largest"}
    assert drawn(tree, ["core"], 2, 7) == drawn(tree, ["core"], 2, 7) != drawn(tree, ["core"], 2, 8)


def test_what_no_test_notices_is_told(tree: Path) -> None:
    """A test that fails anyway notices nothing."""
    trace(tree, tree / "traced.json", ["test_largest.py"])
    faults = [m for m in mutants_of(tree, "src/rhoplan/model/largest.py") if m.after != "if (best >= at_least):"]
    verdicts = list(tried(tree, faults, Calls(tree / "traced.json")))
    assert {verdict.mutant.after: verdict.noticed for verdict in verdicts} == {
        "best = min(values)": "test_largest.py::test_the_largest",
        "LIMIT = 4": "test_largest.py::test_the_limit_in_another_process",
        "def largest(values, at_least=1):": None,
        "if (best <= at_least):": None,
    }
    assert score(verdicts)["core"] == score(verdicts)["all"] == Score(4, 2, 0)
    assert (Score(4, 2, 0).share, Score(4, 2, 1).share, Score(3, 0, 3).share) == (1 / 2, 2 / 3, 1)
    assert (tree / "src/rhoplan/model/largest.py").read_text() == LIBRARY


def test_every_fault_that_is_explained_can_still_be_put_in() -> None:
    root = Path(__file__).resolve().parents[2]
    known = explained()
    possible = {one.id for file in {file for file, *_ in known} for one in mutants_of(root, file)}
    assert known.keys() <= possible
    assert all(why and not why.endswith(".") for why in known.values())
