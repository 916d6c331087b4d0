"""The rows about dozens of tests say what they measured; how good first actions are is worked out, not claimed."""

from __future__ import annotations

import pytest

from rhoplan_bench.many import LITTLE, _certified_row, _command, first_worth, known_value, quality_rows, random_model


def test_a_row_tells_the_worst_the_median_and_how_many_were_certified() -> None:
    row = _certified_row(5, 1.0, 2)
    assert (row["limit"], row["seconds"] > 0) == (1.0, True)
    assert "worst of 2" in row["detail"]
    assert "certified 2" in row["detail"]


def test_the_best_first_action_is_worth_the_optimum() -> None:
    problem = random_model(5, 3)
    start = problem.belief()
    worth = {action.name: first_worth(problem, action.name) for action in problem.menu(start.observable)}
    assert max(worth.values()) == pytest.approx(known_value(problem, start), abs=LITTLE)
    assert min(worth.values()) < max(worth.values()) - 1


def test_plans_are_judged_beside_one_step_ahead() -> None:
    deep, shallow = quality_rows(3, tests=5)
    assert "first action a best one in 3, loss 0.00% above the least" in deep["detail"]
    assert "first action a best one in" in shallow["detail"]


def test_a_command_tells_its_time_and_memory() -> None:
    seconds, memory = _command("list")
    assert seconds > 0
    assert not memory <= 1e6
