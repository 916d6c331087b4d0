"""Tiny problems: every weight of every small file has its row, and those that were not solved at once are told."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

pytest.importorskip("numba", reason="the point-based solver is an extra")

from rhoplan_bench.command import bench_command
from rhoplan_bench.tiny import AT_ONCE, WEIGHTS, Pair, farthest

LAMP = """discount: 0.5
values: reward
states: on off
actions: look press
observations: light dark
start: 0.5 0.5
T: look identity
T: press
0 1
1 0
O: *
0.9 0.1
0.1 0.9
R: look : on : * : * 1
R: press : * : * : * -0.2
"""

LONG = "discount: 0.5\nvalues: reward\nstates: 21\nactions: 1\nobservations: 1\nT: 0 identity\nO: 0 uniform\n"


def test_rows_are_the_weights_of_small_files_only(tmp_path) -> None:
    (tmp_path / "lamp.pomdp").write_text(LAMP)
    (tmp_path / "long.pomdp").write_text(LONG)
    (tmp_path / "broken.pomdp").write_text("discount: two\n")
    result = CliRunner().invoke(bench_command, ["--tiny", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [(row["file"], row["weight"]) for row in told["rows"]] == [("lamp.pomdp", weight) for weight in WEIGHTS]
    assert all(row["gap"] <= told["gap"] for row in told["rows"])
    assert told["pairs"] == len(WEIGHTS)


def test_a_folder_without_small_files_is_refused(tmp_path) -> None:
    (tmp_path / "long.pomdp").write_text(LONG)
    result = CliRunner().invoke(bench_command, ["--tiny", str(tmp_path)])
    assert result.exit_code == 2
    assert "must have files of 20 states at most" in result.output


def test_what_never_met_stands_before_what_was_late() -> None:
    done = Pair("a", 2, 0.0, 1.0, 1.0, AT_ONCE / 2)
    late = Pair("b", 2, 0.0, 1.0, 1.0, 2 * AT_ONCE)
    apart = Pair("c", 2, 0.0, 1.0, 1.5, 3 * AT_ONCE)
    far = Pair("d", 2, 0.0, 1.0, 9.0, 3 * AT_ONCE)
    assert farthest([done, late, apart, far]) == [far, apart, late]
