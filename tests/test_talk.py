"""Cases: the conversation in the terminal, the file that keeps a case, the log and its replay."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rhoplan
from rhoplan.advice.journal import Case, load_case, replay
from rhoplan.errors import EvidenceError, ModelFileError, ProblemError

COMMAND = [sys.executable, "-m", "rhoplan"]


def talk(*arguments: str, typed: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, "advise", *arguments], input=typed, capture_output=True, text=True, check=False)


def tiger_case() -> Case:
    problem = rhoplan.make("tiger")
    return Case(problem, rhoplan.make_agent("efe", problem))


def test_a_conversation_to_its_end(tmp_path: Path) -> None:
    log = tmp_path / "cases.jsonl"
    done = talk("tiger", "--log", str(log), typed="1\n1\nwhy\nwhat if listen=hear-right\n1\nstop\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("DO NEXT: listen") == 3
    assert "COMMIT: open-right" in done.stdout
    assert "Committed: open-right, after 3 tests for 3.0000 points" in done.stdout
    assert "after listen=hear-right: tiger-left 85.0%" in done.stdout
    assert replay(log) == (1, None)
    assert subprocess.run([*COMMAND, "replay", str(log)], capture_output=True, check=False).returncode == 0


def test_faults_are_told_and_the_conversation_goes_on() -> None:
    done = talk("tiger", typed="nonsense\nlisten=maybe\nundo\nskip door\n\nstop nowhere\n2\nopen-left\n")
    assert done.returncode == 0
    for part in (
        "no outcome 'nonsense'",
        "no outcome 'maybe'",
        "nothing to take back",
        "no test 'door'",
        "no commit 'nowhere'",
    ):
        assert part in done.stdout
    assert "TEST=OUTCOME" in done.stdout, "an empty line shows the help"
    assert "Committed: open-left, after 1 tests" in done.stdout


def test_a_case_is_kept_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    talk("diagnosis", "--case", str(path), typed="test-0=1\nquit\n")
    done = talk("diagnosis", "--case", str(path), typed="test-1=0\nquit\n")
    assert "The case is kept" in done.stdout
    problem = rhoplan.make("diagnosis")
    case = load_case(path, problem, rhoplan.make_agent("efe", problem))
    assert case.given == [("test-0", "1"), ("test-1", "0")]
    tiger = rhoplan.make("tiger")
    with pytest.raises(ProblemError, match="another model"):
        load_case(path, tiger, rhoplan.make_agent("efe", tiger))
    path.write_text("{}")
    with pytest.raises(ModelFileError, match="no case"):
        load_case(path, problem, case.agent)


def test_what_cannot_be_had_is_not_advised() -> None:
    problem = rhoplan.make("diagnosis")
    case = Case(problem, rhoplan.make_agent("efe", problem))
    first = case.advice().do
    case.skip(first)
    assert case.advice().do != first
    assert first not in [option.test for option in case.advice().options]
    with pytest.raises(EvidenceError, match="not to be available"):
        case.enter(first, "1")
    case.undo()
    assert case.advice().do == first


def test_overriding_is_kept_with_its_reason(tmp_path: Path) -> None:
    case = tiger_case()
    case.enter("listen", "hear-left")
    case.stop("open-left", why="the keeper said so")
    assert [entry["followed"] for entry in case.entries] == [True, False]
    with pytest.raises(EvidenceError, match="has ended"):
        case.enter("listen", "hear-left")
    case.append_to(tmp_path / "log")
    kept = json.loads((tmp_path / "log").read_text())
    assert kept["entries"][1]["why"] == "the keeper said so"


@pytest.mark.parametrize("field", ["do", "reason", "options", "stop", "belief"])
def test_replay_finds_a_changed_piece_of_advice(tmp_path: Path, field: str) -> None:
    case = tiger_case()
    case.enter("listen", "hear-left")
    case.enter("listen", "hear-left")
    case.stop()
    record = case.as_dict()
    kept = record["entries"][1]["advised"]
    changed = {"do": "open-left", "reason": "because", "options": [], "stop": {**kept["stop"], "value": 1.0},
               "belief": {**kept["belief"], "tiger-left": kept["belief"]["tiger-left"] + 1e-6}}  # fmt: skip
    record = json.loads(json.dumps(record))
    record["entries"][1]["advised"][field] = changed[field]
    path = tmp_path / "log"
    path.write_text(json.dumps(case.as_dict()) + "\n" + json.dumps(record) + "\n")
    cases, difference = replay(path)
    assert cases == 2
    assert difference is not None
    assert (difference["case"], difference["step"]) == (2, 2)


def test_a_damaged_log_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("{not json\n")
    done = subprocess.run([*COMMAND, "replay", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") == 0
    assert "no case that rhoplan kept" in done.stderr


@pytest.mark.parametrize(
    "entry",
    [
        {"advised": {}},
        {"advised": {}, "test": 5, "outcome": 7},
        {"advised": {}, "unavailable": ["listen"]},
        {"advised": {}, "outcome": "hear-left"},
        {"advised": {}, "test": "listen", "outcome": "hear-left", "commit": "open-left"},
        {"test": "listen", "outcome": "hear-left"},
        7,
    ],
)
def test_entries_that_make_no_sense_are_refused(tmp_path: Path, entry: object) -> None:
    path = tmp_path / "log"
    path.write_text(json.dumps({**tiger_case().as_dict(), "entries": [entry]}))
    with pytest.raises(ModelFileError, match="no case that rhoplan kept"):
        replay(path)


def test_settings_and_bytes_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    path, record = tmp_path / "log", tiger_case().as_dict()
    for agent in ({}, {**record["agent"], "horizon": "six"}, {**record["agent"], "weight": None}, []):
        path.write_text(json.dumps({**record, "agent": agent}))
        with pytest.raises(ModelFileError, match="no case that rhoplan kept"):
            replay(path)
    path.write_bytes(b"\xc9\x00\xff")
    with pytest.raises(ModelFileError, match="no case that rhoplan kept"):
        replay(path)


def test_a_case_that_cannot_be_kept_goes_on(tmp_path: Path) -> None:
    done = talk("tiger", typed=f"1\nsave\nsave {tmp_path}\nsave /proc/nowhere/case\n1\n1\nstop\n")
    assert done.returncode == 0
    for part in (
        "needs the name of a file",
        "is a folder",
        "could not be kept",
        "Committed: open-right, after 3 tests",
    ):
        assert part in done.stdout
