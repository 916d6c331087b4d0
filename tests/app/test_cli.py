"""The command line as people and programs meet it."""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from bridge import (
    AGENTS,
    COMMANDS,
    ELSEWHERE,
    FURTHER,
    NAMES,
    PROBLEMS,
    _guarded,
    declared,
    further_commands,
    path_of,
)

Result = tuple[int, str, str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> Result:
        code = _guarded(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def run_json(run: Any) -> Any:
    def call(*arguments: str) -> Any:
        code, out, err = run(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return call


def test_every_command_has_help(run: Any) -> None:
    for command in COMMANDS:
        code, out, _ = run(command, "--help")
        assert code == 0
        assert out.startswith(f"Usage: rhoplan {command}")
        assert command in run("--help")[1]


def test_list_names_every_problem_and_agent(run: Any, run_json: Any) -> None:
    _, out, _ = run("list")
    record = run_json("list")
    assert [row["name"] for row in record["problems"]] == list(PROBLEMS)
    assert [row["name"] for row in record["agents"]] == list(AGENTS)
    assert all(row["name"] in out for row in [*record["problems"], *record["agents"]])


def test_evaluate_json_has_the_promised_keys(run_json: Any) -> None:
    record = run_json("evaluate", "tiger", "--agent", "efe", "--horizon", "6", "--unit", "bits")
    keys = "problem agent horizon weight unit discount kind reward tests success truncated tests_distribution"
    assert set(keys.split()) <= set(record)
    assert (record["kind"], record["agent"], record["horizon"], record["unit"]) == ("exact", "efe", 6, "bits")
    assert record["reward"] == pytest.approx(5.159919, abs=1e-6)
    assert math.fsum(record["tests_distribution"]) == pytest.approx(1, abs=1e-12)


def test_evaluate_all_agents_gives_a_list(run: Any, run_json: Any) -> None:
    records = run_json("evaluate", "testbed", "--agent", "all")
    assert [record["agent"] for record in records] == list(AGENTS)
    _, out, _ = run("evaluate", "testbed", "--agent", "all")
    assert all(name in out for name in AGENTS)


def test_decide_json_parts_add_up(run_json: Any) -> None:
    record = run_json("decide", "diagnosis", "--given", "test-0=1,test-1=0", "--weight", "2", "--agent", "planning-ig")
    assert record["belief"]["condition-1"] == pytest.approx(0.64)
    assert record["entropy"] == pytest.approx(1.000805, abs=1e-6)
    for action in record["actions"]:
        parts = action["reward"] + action["weighted_information"] + action["continuation"]
        assert parts == pytest.approx(action["value"], abs=1e-9)
        assert action["weighted_information"] == pytest.approx(2 * action["information"], abs=1e-12)
    values = sorted((action["value"] for action in record["actions"]), reverse=True)
    assert record["margin"] == pytest.approx(values[0] - values[1], abs=1e-12)
    assert {action["kind"] for action in record["actions"]} == {"test", "commit"}


def flat_file(states: int, actions: int, outcomes: int) -> str:
    """A problem whose every action moves the state one on, half the time, and shows nothing of use."""
    move = "\n".join(
        f"T: * : {state} : {state} 0.5\nT: * : {state} : {(state + 1) % states} 0.5" for state in range(states)
    )
    head = f"discount: 0.9\nstates: {states}\nactions: {actions}\nobservations: {outcomes}\nstart: 0\n"
    return f"{head}{move}\nO: * uniform\nR: 0 : * : * : * 1\n"


def test_decide_folds_what_there_is_a_lot_of(run: Any, run_json: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.pomdp"
    path.write_text(flat_file(states=40, actions=25, outcomes=300))
    evidence = ",".join(["1=7"] * 20)
    _, out, _ = run("decide", str(path), "--horizon", "1", "--given", evidence)
    record = run_json("decide", str(path), "--horizon", "1", "--given", evidence)
    _, at_start, _ = run("decide", str(path), "--horizon", "1")
    _, _, error = run("decide", str(path), "--given", "1=no")

    likeliest = sorted(record["belief"].values(), reverse=True)
    assert len(likeliest) == 40
    assert f"(30 more states)         {'#' * round(30 * sum(likeliest[10:]))}" in out.replace("█", "#")
    assert f"{100 * sum(likeliest[10:]):.2f}%" in out
    assert "(39 more states)" in at_start
    assert at_start.count(" 0.00%") == 1
    assert " ".join(out.split()).count("can change what") == 1
    assert "and 22 more can change what they measure" in " ".join(out.split())
    assert len(record["actions"]) == 25
    assert "and 280 more" in error


def test_decide_folds_factors_that_are_well_known(run: Any, run_json: Any) -> None:
    spec = "inspection:n=16"
    _, out, _ = run("decide", spec, "--horizon", "1")
    record = run_json("decide", spec, "--horizon", "1")
    assert len(record["beliefs"]) == 16
    assert "(6 more factors, each at least)" in out
    assert "70.00%" in out


def test_decide_for_people_says_what_to_do(run: Any) -> None:
    _, out, _ = run("decide", "tiger", "--given", "listen=hear-left,listen=hear-left,listen=hear-left")
    assert "Do next: open-right" in out
    assert "99.45%" in out


def test_evidence_in_any_order_gives_the_same_decision(run_json: Any) -> None:
    one = run_json("decide", "bandit", "--given", "inspect-0=yes,inspect-1=no")
    other = run_json("decide", "bandit", "--given", "inspect-1=no,inspect-0=yes")
    assert one["belief"] == pytest.approx(other["belief"], abs=1e-15)
    assert one["choice"] == other["choice"]


def test_solve_json_has_the_promised_keys(run_json: Any) -> None:
    record = run_json("solve", "diagnosis", "--gap", "1e-4")
    assert {"kind", "lower", "upper", "reward", "tests", "success", "nodes"} <= set(record)
    assert record["kind"] == "bounded"
    assert record["converged"]
    assert record["lower"] <= record["reward"] + 1e-12
    assert record["upper"] - record["lower"] <= 1e-4


def test_simulate_json_has_the_promised_keys(run_json: Any) -> None:
    record = run_json("simulate", "tiger", "--seeds", "42,123", "--episodes", "50")
    assert {"kind", "reward", "reward_se", "tests", "success", "episodes", "seeds"} <= set(record)
    assert (record["kind"], record["episodes"], record["seeds"]) == ("estimated", 100, [42, 123])
    assert record["reward_se"] > 0


def test_a_world_other_than_the_model(run_json: Any) -> None:
    record = run_json("evaluate", "tiger:accuracy=0.95", "--world", "tiger", "--agent", "planning", "--horizon", "4")
    assert record["world"] == "tiger"
    own = run_json("evaluate", "tiger:accuracy=0.95", "--agent", "planning", "--horizon", "4")
    assert own["success"] > record["success"] + 0.01


@pytest.mark.parametrize("spec", ["rocksample:n=3,k=2", "drilling", "inspection:n=2"])
def test_show_yaml_writes_factored_problems_too(run: Any, tmp_path: Path, spec: str) -> None:
    code, text, _ = run("show", spec, "--yaml")
    assert code == 0
    file = tmp_path / "again.yaml"
    file.write_text(text)
    code, again, _ = run("show", str(file), "--yaml")
    assert code == 0
    without_comments = [line for line in text.splitlines() if not line.startswith("#")]
    assert again.splitlines() == without_comments


def test_show_yaml_reads_back(run: Any, tmp_path: Path, run_json: Any) -> None:
    _, text, _ = run("show", "diagnosis:n=8", "--yaml")
    file = tmp_path / "diagnosis.yaml"
    file.write_text(text)
    assert run("show", str(file), "--yaml")[1] == text
    mine, theirs = run_json("evaluate", str(file)), run_json("evaluate", "diagnosis:n=8")
    assert (mine["reward"], mine["horizon"]) == (theirs["reward"], theirs["horizon"])


def test_sweep_writes_a_table_and_a_plot(run: Any, run_json: Any, tmp_path: Path) -> None:
    target = str(tmp_path / "weights")
    record = run_json("sweep", "diagnosis", "--over", "weight=0,1,100", "--unit", "bits", "--out", target)
    assert [row["setting"] for row in record["rows"]] == [0, 1, 100]
    with open(target + ".csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["reward"]) for row in rows] == [row["reward"] for row in record["rows"]]
    assert Path(target + ".png").read_bytes().startswith(b"\x89PNG")
    assert {p.name for p in tmp_path.iterdir()} == {"weights.csv", "weights.png"}


@pytest.mark.parametrize(("over", "agent"), [("weight=0,5", "planning-ig"), ("horizon=1,2", "efe")])
def test_a_sweep_of_the_weight_takes_an_agent_that_has_one(
    run_json: Any, tmp_path: Path, over: str, agent: str
) -> None:
    record = run_json("sweep", "tiger", "--over", over, "--out", str(tmp_path / "x"))
    assert {row["agent"] for row in record["rows"]} == {agent}


@pytest.mark.parametrize("over", ["horizon=1:3", "discount=0.9,1", "accuracy=0.7:0.9:0.1", "wrong=-100,-10"])
def test_sweep_over_anything(run_json: Any, tmp_path: Path, over: str) -> None:
    record = run_json("sweep", "tiger", "--over", over, "--agent", "planning,efe", "--out", str(tmp_path / "x"))
    assert len(record["rows"]) == 2 * len({row["setting"] for row in record["rows"]}) >= 4


FADING = """discount: 0.9
states: a b
actions: stay swap
observations: x
T: stay identity
T: swap
0 1
1 0
O: * uniform
R: stay : a : * : * 1
"""


@pytest.mark.parametrize("over", ["weight=0,1", "discount=0.5,0.9"])
def test_a_sweep_tells_what_the_problem_has(run: Any, tmp_path: Path, over: str) -> None:
    """Discounted rewards where it has a discount; no success where nothing can succeed."""
    (tmp_path / "fading.pomdp").write_text(FADING)
    table, target = str(tmp_path / "fading.pomdp"), str(tmp_path / "x")
    _, out, _ = run("sweep", table, "--over", over, "--agent", "planning", "--horizon", "1", "--out", target)
    assert "discounted" in out
    assert "success" not in out
    assert "nan" not in out
    _, out, _ = run("sweep", "tiger", "--over", over, "--agent", "planning", "--out", target)
    assert "discounted" not in out
    assert "success" in out


def test_settings_that_an_agent_fixes_are_noted_and_not_used(run: Any) -> None:
    code, out, err = run("evaluate", "tiger", "--agent", "myopic", "--horizon", "3", "--json")
    assert code == 0
    assert json.loads(out)["horizon"] == 1
    assert err.startswith("note: myopic")
    assert "weight 1 by definition" in run("evaluate", "tiger", "--agent", "efe", "--weight", "5")[2]


BAD = [
    ["evaluate", "nope"],
    ["evaluate", "tiger:acc=1"],
    ["evaluate", "tiger:accuracy=2"],
    ["evaluate", "tiger:accuracy"],
    ["evaluate", "diagnosis:n=4,n=8"],
    ["evaluate", "missing.yaml"],
    ["evaluate", "tiger", "--agent", "clever"],
    ["evaluate", "tiger", "--horizon", "0"],
    ["evaluate", "tiger", "--horizon", "x"],
    ["evaluate", "tiger", "--agent", "planning-ig", "--weight", "-1"],
    ["evaluate", "tiger", "--agent", "planning-ig", "--weight", "nan"],
    ["evaluate", "tiger", "--discount", "0"],
    ["evaluate", "tiger", "--discount", "1.5"],
    ["evaluate", "tiger", "--unit", "bananas"],
    ["evaluate", "tiger", "--precision", "0"],
    ["evaluate", "tiger", "--world", "diagnosis"],
    ["evaluate"],
    ["evaluate", "tiger", "--no-such-option"],
    ["decide", "tiger", "--given", "listen"],
    ["decide", "tiger", "--given", "listen=purr"],
    ["decide", "tiger", "--given", "open-left=done"],
    ["decide", "tiger:accuracy=1", "--given", "listen=hear-left,listen=hear-right"],
    ["decide", "tiger", "--agent", "all"],
    ["simulate", "tiger", "--episodes", "0"],
    ["simulate", "tiger", "--seeds", "1,x"],
    ["simulate", "tiger", "--seeds", "1,1"],
    ["simulate", "tiger", "--seeds", "-1"],
    ["simulate", "tiger", "--jobs", "0"],
    ["solve", "tiger", "--gap", "0"],
    ["solve", "tiger", "--discount", "0"],
    ["solve", "tiger", "--weight", "-2"],
    ["sweep", "tiger", "--over", "weight"],
    ["sweep", "tiger", "--over", "weight=x"],
    ["sweep", "tiger", "--over", "colour=1"],
    ["sweep", "tiger", "--over", "weight=1:0:1"],
    ["sweep", "tiger", "--over", "weight=0:1:0"],
    ["no-such-command"],
    ["show", "tileworld:seed=-1,partition=random"],
    ["simulate", "tiger", "--seeds", "99999999999999999999999"],
    ["simulate", "tiger", "--seeds", "42,43", "--episodes", "20000"],
    ["solve", "tiger", "--memory", "inf"],
    ["evaluate", "tiger", "--horizon", "100000000"],
    ["evaluate", "tiger:right=1e308"],
]


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input_is_one_line_and_exit_2(run: Any, arguments: list[str]) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("rhoplan: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_repeated_evidence_is_all_used(run_json: Any) -> None:
    record = run_json("decide", "tiger", "--given", "listen=hear-left", "--given", "listen=hear-right")
    assert record["belief"]["tiger-left"] == pytest.approx(0.5)
    assert len(record["given"]) == 2


@pytest.mark.parametrize("command", ["show", "decide", "evaluate", "solve", "simulate"])
def test_names_are_shown_as_they_are(run: Any, tmp_path: Path, command: str) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(
        """name: "[red]n[/red]"
unit: "[/x]"
states: ["[healthy]", "[bold]ill"]
positive: "[bold]ill"
tests: {"[t]": {cost: 1, sensitivity: 0.9, specificity: 0.9}}
commits: {"[/]": [1, -5], "[c]": [-5, 1]}
"""
    )
    code, out, err = run(command, str(file), *(["--episodes", "20"] if command == "simulate" else []))
    assert code == 0, err
    assert command not in ("show", "decide") or "[healthy]" in out


def test_output_survives_a_terminal_without_unicode() -> None:
    for arguments in (["decide", "tiger"], ["evaluate", "tiger"]):
        done = subprocess.run(
            [sys.executable, "-m", "rhoplan", *arguments],
            capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )  # fmt: skip
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr
        assert b"#" in done.stdout


def test_numbers_are_never_cut_in_a_narrow_window(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge import console as narrow

    def console() -> Any:
        out = narrow()
        out.width = 60
        return out

    monkeypatch.setattr(path_of("console"), console)
    _, out, _ = run("evaluate", "tiger", "--agent", "all")
    assert "…" not in out


def test_failure_without_a_name_is_still_one_line(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("boom")

    monkeypatch.setitem(PROBLEMS, "tiger", broken)
    code, _, err = run("evaluate", "tiger")
    assert code == 1
    assert err.count("\n") == 1
    assert "boom" in err


def test_a_score_that_needs_too_much_memory_is_estimated(run: Any) -> None:
    code, out, err = run("evaluate", "bandit", "--horizon", "3", "--planner", "exact", "--memory", "1e-5", "--json")
    assert code == 0
    assert "estimated from 5,000 episodes" in err
    record = json.loads(out)
    assert record["kind"] == "estimated"
    assert record["reward_se"] > 0


def test_traceback_shows_where() -> None:
    command = [sys.executable, "-m", "rhoplan", "--traceback", "evaluate", "nope"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ProblemError" in done.stderr


def test_output_is_plain_when_piped() -> None:
    command = [sys.executable, "-m", "rhoplan", "evaluate", "tiger"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout
    assert "+5.1599" in done.stdout


@pytest.fixture
def adds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Installs a distribution with these entry points, and lets no other be seen."""

    def give(**values: str) -> None:
        home = tmp_path / "zoo-1.0.dist-info"
        home.mkdir()
        lines = [f"{name} = {value}" for name, value in values.items()]
        (home / "entry_points.txt").write_text(
            "\n".join(["[console_scripts]", "zoo = zoo:main", f"[{FURTHER}]", *lines])
        )
        monkeypatch.setattr(path_of("cli_declared"), lambda group, _: declared(group, [str(tmp_path)]))
        further_commands.cache_clear()

    yield give
    further_commands.cache_clear()


@pytest.mark.parametrize("group", [FURTHER, "console_scripts", "pytest11", "nobody.declares.this"])
def test_entry_points_are_what_the_standard_library_says(group: str) -> None:
    known = {(entry.name, entry.value.partition("[")[0].strip()) for entry in entry_points(group=group)}
    found = declared(group, sys.path)
    assert set(found) == {name for name, _ in known}
    assert set(found.items()) <= known


def test_distributions_add_commands(run: Any, adds: Any) -> None:
    adds(zebra=NAMES["list_command"], bench=NAMES["show_command"])
    shown = [line.split()[0] for line in run("--help")[1].partition("Commands:\n")[2].splitlines()]
    assert shown == [*COMMANDS, "bench", "zebra"]
    assert run("zebra", "--json")[1] == run("list", "--json")[1]


@pytest.mark.parametrize("command", ELSEWHERE)
def test_command_of_an_absent_distribution_says_how_to_install_it(run: Any, adds: Any, command: str) -> None:
    adds()
    assert command not in run("--help")[1]
    code, _, error = run(command, "--list")
    assert code == 2
    assert error.count("\n") == 1
    assert f"pip install {ELSEWHERE[command]}" in error
    assert "run.py" in error


def test_added_command_that_cannot_be_loaded_hurts_no_other(run: Any, adds: Any) -> None:
    adds(broken="rhoplan.nowhere:command", decide="rhoplan.nowhere:command")
    assert run("--help")[0] == 0
    assert run("decide", "tiger")[0] == 0
    code, _, error = run("broken")
    assert code == 2
    assert "rhoplan.nowhere:command cannot be loaded" in error


def test_all_agents_leave_out_what_a_planner_cannot_be(run_json: Any) -> None:
    rows = run_json(
        "simulate", "testbed", "--agent", "all", "--planner", "mcts", "--simulations", "50", "--episodes", "2"
    )
    assert [row["agent"] for row in rows] == ["myopic", "planning", "info-gain", "planning-ig", "efe"]


def test_techniques_must_differ(run: Any) -> None:
    code, _, error = run("show", "inspection:techniques=a:0.6:1/a:0.7:2")
    assert code == 2
    assert "different names" in error


def test_a_file_is_not_json(run):
    for arguments in (("--yaml",), ("--format", "pomdp")):
        code, out, err = run("show", "tiger", "--json", *arguments)
        assert (code, out) == (2, "")
        assert "take one of them" in err


def test_nobody_need_listen(tmp_path):
    command = [sys.executable, "-m", "rhoplan", "solve", "tiger", "--gap", "0.1"]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "packages"), [(["--help"], ("numpy", "rich", "scipy")), (["decide", "tiger"], ("numba", "scipy"))]
)
def test_short_commands_do_not_import_what_they_do_not_need(arguments: list[str], packages: tuple[str, ...]) -> None:
    code = (
        "import runpy, sys\ntry:\n    runpy.run_module('rhoplan', run_name='__main__')\nfinally:\n"
        f"    print('imported:', *[name for name in {packages} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("imported:\n")
