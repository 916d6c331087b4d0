"""Cases: the conversation in the terminal, the file that keeps a case, the log and its replay."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import rhoplan
from coded import CODED
from rhoplan.advice.journal import Case, digest_of, load_case
from rhoplan.advice.replay import replay
from rhoplan.agents.agent import make_agent
from rhoplan.app.cli import main
from rhoplan.errors import EvidenceError, ModelFileError, ProblemError
from rhoplan.io.model_file import write_model
from weak import weak_tests

COMMAND = [sys.executable, "-m", "rhoplan"]


def run(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """What a command says to what is typed, in this process: the first test starts one of its own."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
    assert isinstance(end.value.code, int)
    return subprocess.CompletedProcess(arguments, end.value.code, out.getvalue(), err.getvalue())


def talk(*arguments: str, typed: str) -> subprocess.CompletedProcess[str]:
    return run("advise", *arguments, typed=typed)


def tiger_case() -> Case:
    problem = rhoplan.make("tiger")
    return Case(problem, make_agent("efe", problem))


def test_a_conversation_to_its_end(tmp_path: Path) -> None:
    log = tmp_path / "cases.jsonl"
    typed = "1\n1\nwhy\nwhat if listen=hear-right\n1\nstop\n"
    command = [*COMMAND, "advise", "tiger", "--log", str(log)]
    done = subprocess.run(command, input=typed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("DO NEXT: listen") == 3
    assert "COMMIT: open-right" in done.stdout
    assert "Committed: open-right, after 3 tests for 3 points" in done.stdout
    assert "after listen=hear-right: tiger-left 85.0%" in done.stdout
    assert replay(log) == (1, None)
    assert subprocess.run([*COMMAND, "replay", str(log)], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(("typed", "outcome"), [("0", "0"), ("1", "1"), ("a", "0"), ("B", "1"), ("sex=1", "1")])
def test_results_that_are_numbers_have_letters(typed: str, outcome: str, tmp_path: Path) -> None:
    model, kept = tmp_path / "coded.yaml", tmp_path / "case.json"
    model.write_text(CODED)
    done = talk(str(model), "--case", str(kept), typed=f"{typed}\nquit\n")
    assert "Type a result's letter or name;" in done.stdout
    rows = [line.split()[:2] for line in done.stdout.splitlines() if "  then " in line]
    assert rows == [["a", "0"], ["b", "1"]]
    assert json.loads(kept.read_text())["entries"][0]["outcome"] == outcome


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
    assert "Committed: open-left, after 1 test for" in done.stdout


def test_a_case_is_kept_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    talk("diagnosis", "--case", str(path), typed="test-0=1\nquit\n")
    done = talk("diagnosis", "--case", str(path), typed="test-1=0\nquit\n")
    assert "The case is kept" in done.stdout
    problem = rhoplan.make("diagnosis")
    case = load_case(path, problem, make_agent("efe", problem))
    assert case.given == [("test-0", "1"), ("test-1", "0")]
    tiger = rhoplan.make("tiger")
    with pytest.raises(ProblemError, match="another model"):
        load_case(path, tiger, make_agent("efe", tiger))
    path.write_text("{}")
    with pytest.raises(ModelFileError, match="no case"):
        load_case(path, problem, case.agent)


def test_a_case_file_can_be_replayed_and_is_a_log_of_one_line(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    talk("diagnosis", "--case", str(path), typed="test-0=1\nskip test-1\nquit\n")
    assert path.read_text().count("\n") == 1
    assert replay(path) == (1, None)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))  # somebody made it readable
    assert replay(path) == (1, None)
    two = tmp_path / "two"
    two.write_text(path.read_text() * 2)
    assert replay(two) == (2, None)
    problem = rhoplan.make("diagnosis")
    with pytest.raises(ModelFileError, match="holds 2"):
        load_case(two, problem)


def test_a_case_goes_on_with_its_agent_and_replays_after_another_one_took_over(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    talk("tiger", "--case", str(path), "--agent", "planning-ig", "--weight", "7", typed="1\nquit\n")
    talk("tiger", "--case", str(path), typed="1\nquit\n")
    record = json.loads(path.read_text())
    assert record["agent"]["weight"] == 7
    assert all("agent" not in entry for entry in record["entries"])
    talk("tiger", "--case", str(path), "--agent", "planning-ig", "--weight", "90", "--horizon", "2", typed="1\nquit\n")
    record = json.loads(path.read_text())
    assert record["agent"]["weight"] == 90
    assert [entry.get("agent", {}).get("weight") for entry in record["entries"]] == [7, 7, None]
    assert replay(path) == (1, None)


def test_a_finished_case_is_logged_once(tmp_path: Path) -> None:
    path, log = tmp_path / "case.json", tmp_path / "log"
    for _ in range(2):
        done = talk("tiger", "--case", str(path), "--log", str(log), typed="open-left\n")
        assert "Committed: open-left" in done.stdout
    assert log.read_text().count("\n") == 1


@pytest.mark.parametrize("planner", ["mcts", "pomcp"])
def test_advice_that_is_sampled_is_refused_since_it_cannot_be_replayed(planner: str) -> None:
    done = talk("tiger", "--planner", planner, typed="1\n")
    assert done.returncode == 2
    assert "advice needs an agent that always does the same" in done.stderr


def test_what_cannot_be_had_is_not_advised() -> None:
    problem = rhoplan.make("diagnosis")
    case = Case(problem, make_agent("efe", problem))
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


def test_the_reason_can_be_typed_with_the_entry_or_after_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    typed = ["because of nothing", "sex=male because it was done last week", "vessels=one", "because I could",
             "skip age because broken", "stop because time is up"]  # fmt: skip
    done = talk("chest-pain", "--log", str(log), typed="\n".join(typed) + "\n")
    assert "nothing yet to give a reason for" in done.stdout
    assert "because REASON says why you did otherwise" in done.stdout
    entries = json.loads(log.read_text())["entries"]
    assert [entry["why"] for entry in entries] == ["it was done last week", "I could", "broken", "time is up"]
    assert [entry["followed"] for entry in entries][:3] == [False, False, True]
    assert replay(log) == (1, None)


def test_a_log_can_be_replayed_with_another_model(tmp_path: Path) -> None:
    log, model = tmp_path / "log", tmp_path / "my.yaml"
    talk("chest-pain", "--log", str(log), typed="1\nstop\n")
    text = run("show", "chest-pain", "--yaml").stdout
    model.write_text(text)
    assert run("replay", str(log), "--model", str(model)).returncode == 0
    model.write_text(text.replace("102.9", "0.5"))
    done = run("replay", str(log), "--model", str(model))
    assert done.returncode == 1
    assert "case 1, step 1: the advice differs" in done.stdout
    for wrong, said in ((str(tmp_path / "none.yaml"), "cannot be read"), ("tiger", "step 1: the advice differs")):
        done = run("replay", str(log), "--model", wrong)
        assert done.returncode in (1, 2)
        assert said in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_replay_finds_what_could_not_be_done_and_a_changed_claim(tmp_path: Path) -> None:
    case = tiger_case()
    case.enter("listen", "hear-left")
    case.stop()
    for change, what in (
        ({"outcome": "hear-nothing"}, "cannot be entered"),
        ({"test": "smell"}, "cannot be entered"),
        ({"followed": False}, "was followed"),
    ):
        record = json.loads(json.dumps(case.as_dict()))
        record["entries"][0].update(change)
        (tmp_path / "log").write_text(json.dumps(record))
        _, difference = replay(tmp_path / "log")
        assert difference is not None
        assert (difference["case"], difference["step"]) == (1, 1)
        assert what in difference["what"]
    record = case.as_dict()
    (tmp_path / "log").write_text(json.dumps({**record, "model": record["model"].replace("0.85", "0.86")}))
    _, difference = replay(tmp_path / "log")
    assert difference is not None
    assert difference["step"] == 0
    broken = {"model": "states: [a\n", "digest": digest_of("states: [a\n")}
    (tmp_path / "log").write_text(json.dumps({**record, **broken}))
    with pytest.raises(ModelFileError, match=r"the model kept with the case is not sound.*line 1"):
        replay(tmp_path / "log")


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
    done = run("replay", str(path))
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
    for agent in ({}, {**record["agent"], "horizon": "six"}, {**record["agent"], "weight": None}, [],
                  {**record["agent"], "weight": 10**400}, {**record["agent"], "planner": 3},
                  {**record["agent"], "discount": float("nan")}):  # fmt: skip
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


@pytest.mark.parametrize(("outcomes", "typed"), [("'3', '2'", "2"), ("stop, treat", "treat"), ("undo, stop", "stop")])
def test_what_is_asked_for_comes_before_numbers_and_commands(tmp_path: Path, outcomes: str, typed: str) -> None:
    model, kept = tmp_path / "odd.yaml", tmp_path / "case.json"
    model.write_text(
        "states: [a, b]\nprior: [0.5, 0.5]\ntests:\n"
        f"  look: {{cost: 1, outcomes: [{outcomes}], likelihood: {{a: [0.9, 0.1], b: [0.1, 0.9]}}}}\n"
        "losses: {stay: [0, 90], treat: [90, 0]}\n"
    )
    done = talk(str(model), "--case", str(kept), typed=f"\u00b2\n{typed}\nnonsense\nquit\n")
    assert done.returncode == 0
    entries = json.loads(kept.read_text())["entries"]
    assert [(entry["test"], entry["outcome"]) for entry in entries] == [("look", typed)]
    assert "'nonsense' is not understood" in done.stdout


def test_a_log_without_a_case_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    done = run("replay", str(empty))
    assert done.returncode == 2
    assert "holds no case" in done.stderr


def dozens_of_tests(folder: Path) -> str:
    """A model file with forty weak tests."""
    path = folder / "dozens.yaml"
    path.write_text(write_model(weak_tests(40)))
    return str(path)


def test_dozens_of_tests_are_advised_on_and_bounds_are_told(tmp_path: Path) -> None:
    done = talk(dozens_of_tests(tmp_path), typed="1\nwhy\nstop\n")
    assert done.returncode == 0, done.stderr
    assert "exactly needs" in done.stderr
    assert done.stdout.count("DO NEXT") == 2
    assert "by branch and bound: numbers of a plan that was found" in done.stdout
    assert "still to come by this plan" in done.stdout
    assert "net at most" in done.stdout
    assert "Committed" in done.stdout


def test_advice_as_json_has_every_part_with_its_kind(tmp_path: Path) -> None:
    found = talk("chest-pain", "--json", "--given", "age=from-55", "--also", "pathway", typed="")
    refused = talk("chest-pain", "--json", "--given", "age=nonsense", typed="")
    assert (refused.returncode, refused.stdout) == (2, "")
    told = json.loads(found.stdout)["parts"]
    assert [(part["part"], part["kind"]) for part in told] == [
        (name, "exact") for name in ("first", "ahead", "cost-only", "pathway")
    ]
    assert told[0]["content"]["given"] == [["age", "from-55"]]
    large = json.loads(talk(dozens_of_tests(tmp_path), "--json", typed="").stdout)["parts"]
    assert [part["kind"] for part in large[:2]] == ["bounded", "bounded"]
    lower, upper = large[1]["content"]["value_bounds"]
    assert lower < upper
    assert large[0]["content"]["value_bounds"] == [lower, upper]


def test_a_log_that_was_forged_or_damaged_is_told_and_the_rest_is_replayed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for outcome in ("hear-left", "hear-right", "hear-left"):
        case = tiger_case()
        case.enter("listen", outcome)
        case.stop()
        case.append_to(log, by="A. Reader")
    assert replay(log) == (3, None)
    first, second, third = log.read_text().splitlines(keepends=True)
    log.write_text(first + second.replace('"why": ""', '"why": "none"', 1) + third)  # no number, no advice
    count, difference = replay(log)
    assert count == 3
    assert difference is not None
    assert (difference["case"], difference["line"]) == (2, 2)
    assert "it was changed" in difference["what"]
    log.write_text(first + second[:40] + "\n" + third)
    found = run("replay", str(log))
    assert found.returncode == 1
    assert "case 2, line 2: it is damaged; it is left out" in found.stdout
    assert "2 cases: the advice is the same throughout" in found.stdout
    log.write_text(first)
    found = run("replay", str(log), "--json")
    told = json.loads(found.stdout)
    assert (found.returncode, told["cases"], told["sealed"]) == (1, 1, True)
    assert "2 of 3 lines that the seal counts are missing" in told["faults"][0]["what"]
