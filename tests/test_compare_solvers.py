"""The comparison of solvers: its runs, its tables, and what it says of two versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import compare_solvers
from contract.drawn_files import pomdp

SLACK = 1e-9


def row(name: str, lower: float | None, upper: float | None, **other: Any) -> compare_solvers.Row:
    status = "refused" if lower is None else "gap"
    return {"name": name, "status": status, "lower": lower, "upper": upper, "seconds": 1.0, "megabytes": 10.0} | other


def answer(out: Any, **other: Any) -> compare_solvers.Row:
    return {"name": "decide x", "exit": 0, "seconds": 1.0, "megabytes": 10.0, "out": out, "message": ""} | other


def test_random_problems_are_solved_around_their_exact_values(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    assert compare_solvers.main(["--random", "4", "--out", str(out)]) == 0
    rows = json.loads(out.read_text())["new"]
    exact = 0
    for seed, (found, discount) in enumerate(zip(rows, compare_solvers.DISCOUNTS, strict=True)):
        assert found["status"] == "gap"
        assert found["upper"] - found["lower"] <= 1e-3 + SLACK
        assert found["seconds"] >= 0
        assert found["megabytes"] > 0
        value = pomdp(seed, weight=0.0, discount=discount).value
        if value is not None:
            assert found["lower"] - SLACK * abs(value[1]) <= value[1]
            assert found["upper"] + SLACK * abs(value[0]) >= value[0]
            exact += value[0] == value[1]
    assert exact == 1
    assert compare_solvers.main(["--random", "4", "--against", str(out)]) == 0


def test_a_file_that_cannot_be_solved_is_refused_with_its_message(tmp_path: Path) -> None:
    endless = pomdp(0, weight=0.0, discount=1.0).text
    (tmp_path / "endless.pomdp").write_text(endless)
    (tmp_path / "notes.txt").write_text("no problem file")
    out = tmp_path / "rows.json"
    assert compare_solvers.main([str(tmp_path), "--random", "0", "--out", str(out)]) == 0
    (found,) = json.loads(out.read_text())["new"]
    assert (found["name"], found["status"], found["lower"]) == ("endless.pomdp", "refused", None)
    assert "discount" in found["message"]


def test_random_problems_combine_families_weights_and_discounts_evenly(tmp_path: Path) -> None:
    tasks = list(compare_solvers.random_tasks(range(96), tmp_path))
    pairs = [(seed % 6, *task.name.split()[1:]) for seed, task in enumerate(tasks)]
    assert len(set(pairs)) == 6 * len(compare_solvers.WEIGHTS) * len(compare_solvers.DISCOUNTS)


def test_ratios_are_new_to_old_with_the_worst_problem() -> None:
    old = [row("a", 0, 1), row("b", 0, 1, status="time"), row("c", 0, 1, seconds=0.0001), row("gone", 0, 1)]
    new = [
        row("a", 0, 1, seconds=2.0, megabytes=40.0), row("b", 0.5, 1, status="time", seconds=8.0),
        row("c", 0, 1, seconds=0.0), row("added", 0, 1),
    ]  # fmt: skip
    lines, is_fine = compare_solvers.compare_solved(old, new)
    table = [line.split() for line in lines[1:4]]
    assert [cells[-4:] for cells in table] == [
        ["3", "2.000", "8.000", "b"], ["3", "1.000", "4.000", "a"], ["1", "0.500", "0.500", "b"]
    ]  # fmt: skip
    assert is_fine


@pytest.mark.parametrize(
    ("old", "new", "is_fine"),
    [
        ((0.0, 1.0), (0.9, 2.0), True),
        ((0.0, 1.0), (1.0 + 1e-12, 2.0), True),
        ((0.0, 1.0), (1.01, 2.0), False),
        ((5.0, 6.0), (3.0, 4.0), False),
        ((5.0, 6.0), (None, None), True),
        ((None, None), (5.0, 4.0), False),
    ],
)
def test_intervals_without_a_common_point_are_found(
    old: tuple[float | None, ...], new: tuple[float | None, ...], is_fine: bool
) -> None:
    lines, found = compare_solvers.compare_solved([row("a", *old)], [row("a", *new)])
    assert found == is_fine
    assert any(line.startswith("a: [") for line in lines) != is_fine


def test_numbers_that_differ_are_named_and_times_are_not_compared() -> None:
    old = answer({"value": 1.0, "actions": [{"cost": 2.0}, {"cost": 3}], "seconds": 1.0, "gone": 1, "is_final": True})
    new = answer({"value": 1.0 + 1e-12, "actions": [{"cost": 2.0}, {"cost": 3.1}], "seconds": 9.0, "is_final": False})
    lines, is_fine = compare_solvers.compare_commands([old], [new])
    assert [line.split(":")[0].strip() for line in lines[2:]] == ["actions[1].cost", "gone"]
    assert not is_fine
    assert compare_solvers.compare_commands([old], [old])[1]
    assert not compare_solvers.compare_commands([old], [answer(old["out"], exit=1)])[1]


def test_options_have_the_names_of_each_version() -> None:
    table = {"--time-limit": "--seconds"}
    words = ["solve", "tiger", "--time-limit=5", "--time-limit", "5"]
    new = compare_solvers.renamed(words, table, "new")
    assert new == ["solve", "tiger", "--seconds=5", "--seconds", "5"]
    assert compare_solvers.renamed(new, table, "old") == words
    assert compare_solvers.renamed(words, table, "old") == words


def test_commands_are_run_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands, out = tmp_path / "commands.txt", tmp_path / "rows.json"
    commands.write_text(
        "# two commands\nrhoplan --version\n\nrhoplan decide tiger --horizon 1 --json  # the next action\n"
    )
    asked = ["--commands", str(commands), "--repeat", "1"]
    assert compare_solvers.main([*asked, "--out", str(out)]) == 0
    version, decision = json.loads(out.read_text())["new"]
    assert (version["exit"], version["out"], decision["exit"]) == (0, None, 0)
    assert decision["out"]["problem"] == "tiger"
    capsys.readouterr()
    assert compare_solvers.main([*asked, "--against", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[1:][-1].endswith("rhoplan decide tiger --horizon 1 --json")


def test_the_commands_of_daily_use_can_be_read() -> None:
    tasks = list(compare_solvers.command_tasks(Path(compare_solvers.__file__).with_name("commands.txt")))
    assert len(tasks) >= 20
    assert len({task.name for task in tasks}) == len(tasks)
