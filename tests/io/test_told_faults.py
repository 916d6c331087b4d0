"""Refusals that say what is wrong, where it stands, and what can be done about it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

import rhoplan
from rhoplan.errors import ModelFileError, ProblemError
from rhoplan.io import foreign
from rhoplan.io.pomdp import parse_pomdp

HEAD = "discount: 0.9\nvalues: reward\nstates: a b\nactions: x y\nobservations: p q\n"


def fault(text: str) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        parse_pomdp(text, file="some.pomdp")
    return caught.value


def dense(states: int, seen: int) -> str:
    """Every number is written out."""
    head = f"discount: 0.9\nstates: {states}\nactions: 2\nobservations: {seen}\n"
    moves = "\n".join(" ".join([repr(1 / states)] * states) for _ in range(states))
    shows = "\n".join(" ".join([repr(1 / seen)] * seen) for _ in range(states))
    return head + "".join(f"T: {action}\n{moves}\nO: {action}\n{shows}\n" for action in range(2))


def test_products_are_counted_and_told_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "PER_CHARACTER", 1)
    text = dense(64, 64)
    monkeypatch.setattr(foreign.Budget.__init__, "__defaults__", (200_000,))
    tracemalloc.start()
    found = fault(text)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert f"makes {2 * 64**3:,} products" in found.message
    assert "write 0 for changes and observations that hardly ever happen" in found.message
    assert "about all of them" not in found.message
    assert most < 8 * 64**3 + 100 * len(text) / 10


def test_only_changes_and_observations_above_0_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single state shows all observations: by that one alone the products would be too many."""
    monkeypatch.setattr(foreign.Budget.__init__, "__defaults__", (100_000,))
    rows = "\n".join(f"O: * : {state} : 0 1" for state in range(1, 40))
    text = (
        f"discount: 0.9\nstates: 40\nactions: 2\nobservations: 500\nT: * uniform\nO: * : 0 uniform\n{rows}\n"
        "R: * : * : * : * 1"
    )
    problem = parse_pomdp(text)
    assert 100_000 + foreign.PER_CHARACTER * len(text) < 2 * 40 * 40 * 500
    assert len(problem.menu(problem.start)[0].outcomes) == 500


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ("R: x : a : * : * 1e308\nR: x : b : * : * -1e308", 8),
        ("R: * : * : * : * 1\nR: y : a : b\n1 2\nR: y : a\n1 2\n-1e200 1e200", 11),
    ],
)
def test_a_reward_that_is_too_large_is_told_with_its_line(lines: str, line: int) -> None:
    found = fault(f"{HEAD}T: * uniform\nO: * uniform\n{lines}")
    assert "at most 1e+100 large" in found.message
    assert found.line == line


def test_a_reward_that_is_never_paid_may_be_as_large_as_it_likes() -> None:
    problem = parse_pomdp(f"{HEAD}T: * identity\nO: * uniform\nR: x : a : b : * 1e200\n")
    assert [action.reward.tolist() for action in problem.menu(problem.start)] == [[0, 0], [0, 0]]


@pytest.mark.parametrize("rest", ["", "O: * uniform\n", "R: * : * : * : * 1\n"])
def test_that_there_are_no_transitions_is_said_first(rest: str) -> None:
    assert fault(HEAD + rest).message == "the file must say 'T:', where actions lead; it does not"


@pytest.mark.parametrize("name", ["a.txt", "noend", "tiger.pomdp.gz"])
def test_of_a_file_with_another_ending_those_that_are_read_are_told(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(HEAD)
    with pytest.raises(ProblemError, match=r"\.pomdpx, \.drn") as caught:
        rhoplan.make(path)
    assert caught.value.code == "unknown-file-type"


@pytest.mark.parametrize("name", ["nothing.txt", "nothing", "x\0y", "x" * 5000])
def test_what_is_no_file_is_no_problem(name: str, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="there is no problem"):
        rhoplan.make(f"{tmp_path}/{name}")


def test_a_folder_is_told_from_a_problem_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"is a folder: name a file in it, which ends in one of .*\.drn") as caught:
        rhoplan.make(tmp_path)
    assert "rocksample" not in str(caught.value)
