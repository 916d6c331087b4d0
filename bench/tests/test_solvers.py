"""rhoplan beside other solvers: SARSOP's words are understood, Storm is told the same problem, rows tell what is so."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("numba", reason="the point-based solver is an extra")

from rhoplan.io.drn import parse_drn
from rhoplan.io.pomdp import parse_pomdp
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.solve import solve
from rhoplan_bench.command import bench_command
from rhoplan_bench.sarsop import Reached, reached, run_sarsop, table_of
from rhoplan_bench.solvers import Row, median_ratio
from rhoplan_bench.storm import drn_lines

SEARCH = """discount: 0.9
values: reward
states: left right
actions: look take-left take-right
observations: hear-left hear-right
start: 0.3 0.7
T: look identity
T: take-left uniform
T: take-right uniform
O: look
0.8 0.2
0.3 0.7
O: take-left uniform
O: take-right uniform
R: look : * : * : * -1
R: take-left : left : * : * 5
R: take-left : right : * : * -8
R: take-right : left : * : * -8
R: take-right : right : * : * 5
"""

DOOR = """@type: POMDP
@parameters

@reward_models
cost
@nr_states
2
@model
state 0 {0} [0] init
\taction push [-1]
\t\t0 : 0.5
\t\t1 : 0.5
state 1 {1} [0] out
\taction stay [0]
\t\t1 : 1
"""

PRINTED = """
Loading the model ...
  input file   : some.pomdp
  loading time : 0.02s

-------------------------------------------------------------------------------
 Time   |#Trial |#Backup |LBound    |UBound    |Precision  |#Alphas |#Beliefs
-------------------------------------------------------------------------------
 0.01    0       0        -200       1.5e+02    350         5        1
 0.5     2       51       -6.25      -1         5.25        50       26
 1       4       103      -4.5       -2.25      2.25        101      50
 1.5     8       150      -4.5       -2.25      2.25        144      67
 2       9       180      -4.5       -2.2"""


def test_whole_lines_of_the_table_are_read_and_nothing_else():
    assert table_of(PRINTED) == [
        (0.01, -200, 150, 350),
        (0.5, -6.25, -1, 5.25),
        (1, -4.5, -2.25, 2.25),
        (1.5, -4.5, -2.25, 2.25),
    ]
    assert table_of(" 0  1  2  -inf  nan  inf  3  4\n")[0][1] == -math.inf


def test_time_after_the_last_gap_was_reached_is_not_held_against_it():
    found = reached(PRINTED, 1.7, 0)
    assert (found.lower, found.upper, found.gap) == (-4.5, -2.25, 2.25)
    assert found.seconds == pytest.approx(1.2)


def test_a_solver_without_bounds_says_why():
    found = reached("\nSARSOP initializing ...\n\nfailed to reach desired eps\n", 3.0, 1)
    assert math.isnan(found.lower)
    assert found.said == "no bounds (exit code 1); its last words: failed to reach desired eps"


def test_a_program_is_run_on_the_file_and_its_cpu_seconds_counted(tmp_path):
    program = tmp_path / "pomdpsol"
    program.write_text(f"#!{sys.executable}\nimport sys\nprint(open(sys.argv[-1]).read())\nsum(range(10**6))\n")
    program.chmod(0o755)
    printed = tmp_path / "printed"
    printed.write_text(PRINTED.partition(" 1.5  ")[0])
    found = run_sarsop(str(program), printed, 5.0)
    assert (found.lower, found.upper) == (-4.5, -2.25)
    assert found.seconds > 0


def test_storm_is_told_the_same_problem():
    """Read back, the discount is a chance to end: the value is the same, one step at the start being free."""
    problem = parse_pomdp(SEARCH)
    written = parse_drn("\n".join(drn_lines(compile_problem(problem), problem.discount)))
    assert written.discount == 1
    before, after = (solve(one, gap=0.05, seconds=600) for one in (problem, written))
    assert after.lower <= before.upper
    assert before.lower <= after.upper
    assert before.converged
    assert after.converged


def test_every_row_of_storms_file_sums_to_one():
    chances: list[list[float]] = []
    for line in drn_lines(compile_problem(parse_pomdp(SEARCH)), 0.9):
        if line.startswith("\taction"):
            chances.append([])
        elif line.startswith("\t\t"):
            chances[-1].append(float(line.partition(":")[2]))
    assert np.array([sum(row) for row in chances]) == pytest.approx(1)


def row(seconds: float, ours: Reached, *, within: bool = True) -> Row:
    return Row("some.pomdp", 2, Reached(1.0, 2.0, seconds), Reached(said="not installed"), ours, within)


def test_the_median_is_of_the_ratios_there_are():
    rows = [row(seconds, Reached(1.0, 2.0, 2.0)) for seconds in (1.0, 4.0, 10.0)]
    rows.append(Row("other.drn", 2, Reached(said="needs a discount below 1"), Reached(), Reached(0, 1, 1), True))
    assert [one.ratio for one in rows[:3]] == [0.5, 2, 5]
    assert median_ratio(rows) == 2
    assert median_ratio(rows[3:]) is None


def test_bounds_that_exclude_each_other_are_told():
    assert row(1.0, Reached(1.5, 1.6, 1.0)).contradicts == ()
    assert row(1.0, Reached(2.5, 2.6, 1.0)).contradicts == ("sarsop",)
    assert row(1.0, Reached(0.5, 0.9, 1.0)).contradicts == ("sarsop",)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    (tmp_path / "search.pomdp").write_text(SEARCH)
    (tmp_path / "door.drn").write_text(DOOR)
    (tmp_path / "notes.txt").write_text("no problem")
    return tmp_path


def test_without_other_solvers_the_table_says_so(folder):
    result = CliRunner().invoke(bench_command, ["--solvers", str(folder), "--seconds", "30"])
    assert result.exit_code == 0, result.output
    assert "search.pomdp" in result.output
    assert "door.drn" in result.output
    assert "notes.txt" not in result.output
    assert "search.pomdp: SARSOP: not installed" in result.output
    assert "median" not in result.output


def test_rows_as_json_hold_certified_bounds(folder):
    result = CliRunner().invoke(bench_command, ["--solvers", str(folder), "--seconds", "30", "--json"])
    told = json.loads(result.stdout)
    door, search = told["rows"]
    assert [door["file"], search["file"]] == ["door.drn", "search.pomdp"]
    assert door["rhoplan"]["lower"] <= -2 <= door["rhoplan"]["upper"]
    assert door["rhoplan"]["gap"] <= 1e-4
    assert door["within"]
    assert search["sarsop"]["said"] == "not installed"
    assert search["ratio"] is None
    assert told["median_ratio"] is None


def test_a_folder_without_problems_is_refused(tmp_path):
    result = CliRunner().invoke(bench_command, ["--solvers", str(tmp_path)])
    assert result.exit_code == 2
    assert "must have .pomdp, .pomdpx or .drn files in it" in result.output
