"""Promises of learning are measured: rows say what was found beside what is promised."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("sklearn", reason="learning comes with the extra rhoplan[learn]")

from rhoplan.learning.cases import match
from rhoplan.learning.choices import Choice, Grid
from rhoplan.learning.cube import draw_cube, draw_cube_nm
from rhoplan_bench import learning
from rhoplan_bench.command import bench_command


def test_noise_and_coverage_are_counted():
    result = CliRunner().invoke(bench_command, ["--learn", "noise", "--learn", "coverage", "--drawn", "1", "--json"])
    noise, coverage = json.loads(result.output)["rows"]
    assert noise["found"] in ("0 of 1", "1 of 1")
    assert "of 120 cases" in coverage["what"]
    assert coverage["promised"] == "92% to 98%"


def test_subtypes_find_the_contexts_that_naive_bayes_misses():
    cases, fresh = (match(*learning.cube_cases(draw_cube_nm, count, seed=(0, count), cap=7)) for count in (600, 300))
    found = {
        subtypes: learning.accuracies(cases, fresh, Choice(subtypes=subtypes, weight=400.0, about="state"), (7,))[0]
        for subtypes in (1, 5)
    }
    assert found[1] < 0.3 < 0.6 < found[5]


def test_a_cap_is_a_number_of_features():
    cases, fresh = (match(*learning.cube_cases(draw_cube, count, seed=(0, count), cap=5)) for count in (600, 300))
    one, three, five = learning.accuracies(cases, fresh, Choice(subtypes=1, weight=400.0), (1, 3, 5))
    assert one < three < five


def test_tables_of_a_folder_have_their_bills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    table = learning.drawn_cases(80, seed=(0,), strength=2.0)
    cells = np.stack([column.cells for column in table.columns.values()], axis=1)
    lines = [",".join(table.columns), *(",".join(row) for row in cells.tolist())]
    (tmp_path / "drawn.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "drawn.yaml").write_text(
        "target: turned-out\ntests: {a: {cost: 1}, c: {cost: 2}}\n"
        "losses: {call-well: {well: 0, ill: 30}, call-ill: {well: 20, ill: 0}}\n"
    )
    few = Grid((4,), (0.5,), (1,), (0.1,), (1,), (1.0,))
    defaults = {**learning.learn.__kwdefaults__, "grid": few}
    monkeypatch.setattr(learning.learn, "__kwdefaults__", defaults)
    plain, heavy = (
        next(iter(learning.table_rows(tmp_path, losses=factor, folds=2, repeats=1))) for factor in (1.0, 4.0)
    )
    assert "no test" in plain.found
    assert "losses x 4" in heavy.what
    assert float(heavy.found.split()[0]) > float(plain.found.split()[0])
