"""What commands say beside their numbers is true of what was asked."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rhoplan
from rhoplan.app.cli import _guarded
from rhoplan.app.cli.solution import print_score
from rhoplan.errors import ProblemError
from rhoplan.evaluation.score import Score
from rhoplan.planning.certified.solve import solve

MACHINE = """discount: 0.9
values: reward
states: good worn
actions: run repair
observations: fine faulty
start: 0.8 0.2
T: run
0.9 0.1
0.0 1.0
T: repair
1.0 0.0
0.9 0.1
O: *
0.9 0.1
0.2 0.8
R: run : good : * : * {pays}
R: run : worn : * : * -1
R: repair : * : * : * -2
"""


@pytest.fixture
def machine(tmp_path: Path) -> str:
    """A problem without an end."""
    path = tmp_path / "machine.pomdp"
    path.write_text(MACHINE.format(pays=5), encoding="utf-8")
    return str(path)


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command prints, in one line, or what it says against what was asked."""

    def call(*arguments: str, code: int = 0) -> str:
        assert _guarded(list(arguments)) == code, capsys.readouterr()
        captured = capsys.readouterr()
        return " ".join((captured.out if code == 0 else captured.err).split())

    return call


def test_what_nobody_can_beat_is_that_of_the_world(told: Any, machine: str, tmp_path: Path) -> None:
    rich = tmp_path / "rich.pomdp"
    rich.write_text(MACHINE.format(pays=50), encoding="utf-8")
    asked = "--agent", "planning", "--horizon", "1", "--cap", "8"
    there = str(rich)
    found = json.loads(told("evaluate", machine, "--world", there, *asked, "--json"))
    own = json.loads(told("evaluate", there, *asked, "--json"))
    assert found["ceiling"] == own["ceiling"]
    assert found["discounted"] <= found["ceiling"]["clairvoyant"]
    last = told("evaluate", machine, "--world", there, *asked).split("with nothing hidden")[1]
    assert last == told("evaluate", there, *asked).split("with nothing hidden")[1]


def test_what_cannot_be_drawn_within_a_horizon_is_refused_before_it_is_solved(
    told: Any, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, picture, policy = tmp_path / "known.pomdp", tmp_path / "p.png", tmp_path / "p.policy"
    known.write_text(MACHINE.format(pays=5).replace("start: 0.8 0.2", "start: good"), encoding="utf-8")
    monkeypatch.setattr("rhoplan.planning.certified.solve.solve", lambda *_, **__: pytest.fail("it was solved"))
    asked = "--horizon", "4", "--plot", str(picture), "--save", str(policy)
    said = told("solve", str(known), *asked, code=2)
    assert "'known' starts in one that is known: leave the horizon out" in said
    assert not policy.exists()


@pytest.mark.parametrize("as_json", [False, True])
def test_bounds_are_told_where_the_drawing_fails(
    machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    def fails(*_: object) -> None:
        raise ProblemError("no drawing today")

    monkeypatch.setattr("rhoplan.present.policy_plot.plot_policy", fails)
    asked = "--horizon", "2", "--plot", str(tmp_path / "p.png"), *(["--json"] if as_json else [])
    assert _guarded(["solve", machine, *asked]) == 2
    captured = capsys.readouterr()
    assert "no drawing today" in captured.err
    assert json.loads(captured.out)["upper"] > 0 if as_json else "value    between" in captured.out


def test_loading_the_program_is_not_told_as_reading_the_file(machine: str) -> None:
    """All that reads a file is loaded before the clock of reading runs."""
    script = f"""
import sys
from rhoplan.app.cli import solve, _guarded

modules, read, load = [], [], solve.load_problem

def loading(spec):
    modules.append(set(sys.modules))
    found = load(spec)
    read.append(set(sys.modules))
    return found

solve.load_problem = loading
assert _guarded(["solve", {machine!r}, "--horizon", "2", "--json"]) == 0
print("late:", *sorted(name for name in read[0] - modules[0] if name.startswith("rhoplan")))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1].strip() == "late:"


@pytest.mark.parametrize("command", [("evaluate", "--cap", "8"), ("simulate", "--episodes", "3", "--seeds", "1")])
def test_the_discount_of_a_column_is_named_where_another_was_planned_with(
    told: Any, machine: str, command: tuple[str, ...]
) -> None:
    asked = command[0], machine, *command[1:], "--agent", "planning", "--horizon", "1"
    line = "discounted: by the problem's own discount, 0.9; planned was planning with 0.5"
    assert line in told(*asked, "--discount", "0.5")
    for same in ((), ("--discount", "0.9")):
        assert "discounted: by" not in told(*asked, *same)
    assert "discounted: by" not in told(command[0], "tiger", *command[1:], "--discount", "0.5")  # has no such column


def test_evidence_that_uses_up_the_horizon_is_told_as_that(told: Any, machine: str, tmp_path: Path) -> None:
    policy, other = str(tmp_path / "two"), str(tmp_path / "one")
    told("solve", machine, "--horizon", "2", "--save", policy)
    asked = "decide", machine, "--agent", f"solved:{policy}", "--given"
    assert "Do next" in told(*asked, "run=fine")
    used_up = "the horizon of 2 actions is used up with 'run': after it nothing is left to decide"
    assert used_up in told(*asked, "run=fine,run=fine", code=2)

    told("solve", "tiger", "--horizon", "1", "--save", other)
    asked = "decide", "tiger", "--agent", f"solved:{other}", "--given"
    assert "Do next" in told(*asked, "listen=hear-left")
    used_up = "the horizon of 1 action is used up before 'listen': left are open-left, open-right"
    assert used_up in told(*asked, "listen=hear-left,listen=hear-left", code=2)
    assert "'open-left' is a terminal action, not a test" in told(*asked, "open-left=done", code=2)


def test_a_cap_within_a_horizon_misses_no_end_that_there_is_not(told: Any, machine: str, tmp_path: Path) -> None:
    policy = str(tmp_path / "three")
    told("solve", machine, "--horizon", "3", "--save", policy)
    cut = told("evaluate", machine, "--agent", f"solved:{policy}", "--cap", "2")
    assert "are cut off at 2 steps, before all 3 of the horizon are taken; what comes later could change the " in cut
    assert f"discounted mean by {0.9**2 * 5:.2g} at most" in cut  # one step is left, and pays 5 at most
    assert "final reward" not in cut


def test_what_is_no_weight_is_told_by_its_own_fault(told: Any) -> None:
    odd = told("solve", "tiger", "--weight", "nan", code=2)
    assert odd == "rhoplan: weight must be a number of at least 0; it is nan"
    below = told("solve", "tiger", "--weight", "-1", code=2)
    assert below.endswith("it is -1: with a price on knowing, no bound is certain")


def test_one_episode_has_no_standard_error(told: Any, machine: str) -> None:
    one = "--episodes", "1", "--seeds", "1"
    alone = told("simulate", machine, *one, "--agent", "planning", "--horizon", "1")
    assert "1 episode, seed 1;" in alone
    assert "one episode has no standard error" in alone
    assert alone.count("±") == 1  # of the title
    spread = told("simulate", "tiger", *one)
    assert "standard errors come from the exact spread, one episode has none for the rest" in spread
    assert "nan" not in alone + spread
    several = told("simulate", machine, "--episodes", "2", "--seeds", "1", "--agent", "planning", "--horizon", "1")
    assert "standard errors come from the episodes" in several
    assert several.count("±") > 3


@pytest.mark.parametrize(("earned", "too_little"), [(8.0, True), (8.99998, True), (8.999999, False), (math.nan, False)])
def test_a_plan_that_earns_less_than_its_bound_is_told(
    earned: float, too_little: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    found, gridded = (solve(rhoplan.make("rocksample:n=3,k=1"), method=way) for way in ("points", "grids"))
    score = Score(
        "exact", reward=earned, reward_sd=0.0, discounted=earned, tests=0.0, steps=3.0, success=math.nan, truncated=0.0,
        log_score=math.nan, information=0.0, discounted_tail=0.0, tests_distribution=(1.0,), value=earned,
        value_tail=0.0,
    )  # fmt: skip
    print_score(score, replace(found, lower=8.99999, own=8.99999), weight=0.0, discount=1.0, cap=100)
    assert ("less than the lower bound: PLEASE REPORT THIS" in capsys.readouterr().out) == too_little
    print_score(score, replace(gridded, lower=8.99999, own=8.99999), weight=0.0, discount=1.0, cap=100)
    assert ("a policy on grids aims at it" in capsys.readouterr().out) == too_little
    print_score(
        replace(score, discounted=0.0), replace(found, lower=8.99999, own=8.99999), weight=1.0, discount=1.0, cap=100
    )
    assert ("less than" in capsys.readouterr().out) == too_little
