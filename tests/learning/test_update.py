"""New cases for a learned model: exact where it can be, and honest about what changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from drawn import PLAN, plan_of, signal_table
from rhoplan.app.cli import _guarded
from rhoplan.errors import ProblemError, TableError
from rhoplan.io.model_file import parse_model, write_model
from rhoplan.learning.build import build, fit_all
from rhoplan.learning.cases import match
from rhoplan.learning.choices import Choice, Grid
from rhoplan.learning.learning import learn
from rhoplan.learning.table import Table, read_table, table_of
from rhoplan.learning.update import update
from rhoplan.model.pomdp import POMDP

pytest.importorskip("sklearn", reason="learning comes with the extra rhoplan[learn]")


def joined(one: Table, other: Table) -> Table:
    columns = {name: [*one.columns[name].cells, *other.columns[name].cells] for name in one.columns}
    return table_of(list(columns), columns.values())


def learned_from(table: Table, subtypes: int = 1) -> POMDP:
    grid = Grid((4,), (0.5,), (subtypes,), (0.1,), (1,), (0.9,))
    return parse_model(write_model(learn(table, plan_of(), folds=2, repeats=1, grid=grid).problem))


def saved(folder: Path, table: Table, name: str = "new.csv") -> Path:
    cells = zip(*(column.cells.tolist() for column in table.columns.values()), strict=True)
    path = folder / name
    path.write_text("\n".join(",".join(row) for row in [tuple(table.columns), *cells]) + "\n")
    return path


@pytest.fixture(scope="module")
def model() -> POMDP:
    return learned_from(signal_table(80, seed=1))


def test_without_subtypes_it_is_what_learning_from_all_cases_gives(model: POMDP) -> None:
    old, new = signal_table(80, seed=1), signal_table(60, seed=2)
    found = update(model, new)
    cases = match(joined(old, new), plan_of())
    cuts = build(old, plan_of(), match(old, plan_of()).diagnosis, np.arange(80), Choice(outcomes=4)).cuts
    choice = Choice(outcomes=4, shrinkage=0.5, tempering=0.9)
    given = cases.table, cases.plan, cases.diagnosis, np.arange(140), choice
    both = build(*given, made=(cuts, fit_all(*given, cuts, seed=0))).problem
    assert found.problem.prior == pytest.approx(both.prior, abs=1e-12)
    for one, other in zip(found.problem.flat.tests, both.flat.tests, strict=True):
        assert one.likelihood == pytest.approx(other.likelihood, abs=1e-9)
    assert (found.cases, found.soft) == (60, False)


def test_in_two_steps_or_in_one(model: POMDP) -> None:
    parts = signal_table(30, seed=3), signal_table(30, seed=4)
    twice = update(update(model, parts[0]).problem, parts[1]).problem
    once = update(model, joined(*parts)).problem
    for one, other in zip(twice.flat.tests, once.flat.tests, strict=True):
        assert one.likelihood == pytest.approx(other.likelihood, abs=1e-9)
    assert len(twice.details["learned"]["updates"]) == 2


def test_with_subtypes_every_case_is_shared_out_whole() -> None:
    model = learned_from(signal_table(90, seed=1), subtypes=2)
    found = update(model, signal_table(50, seed=2))
    assert found.soft
    before, after = model.details["learned"], found.problem.details["learned"]
    assert sum(after["state_cases"].values()) - sum(before["state_cases"].values()) == pytest.approx(50)
    assert parse_model(write_model(found.problem)).details["learned"] == after


def test_the_new_cases_tell_how_the_old_policy_does(model: POMDP) -> None:
    found = update(model, signal_table(200, seed=5))
    assert found.low < found.cost < found.high
    assert found.first == ("good", "good")
    assert found.planned[1] != found.planned[0]
    assert 0 <= found.changed < 0.5


def test_other_cases_change_the_advice(model: POMDP) -> None:
    """Where `good` tells nothing any more and `noise` everything, enough cases turn the first action over."""
    table = signal_table(2_000, seed=6, strength=0.0)
    columns = {name: column.cells.tolist() for name, column in table.columns.items()}
    columns["noise"] = ["2" if who == "ill" else "-2" for who in columns["outcome"]]
    found = update(model, table_of(list(columns), columns.values()))
    assert found.first == ("good", "noise")
    assert found.changed > 0.5


def test_the_same_table_twice_is_refused_unless_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, signal_table(80, seed=1), "old.csv")
    model = tmp_path / "model.yaml"
    model.write_text(write_model(learned_from(read_table(path))))
    out = tmp_path / "new.yaml"
    assert _guarded(["update", str(model), str(path), "-o", str(out)]) == 2
    error = capsys.readouterr().err
    assert "learned from this very file before" in error
    assert error.count("\n") == 1
    assert not out.exists()
    assert _guarded(["update", str(model), str(path), "--again"]) == 0
    printed = capsys.readouterr()
    assert "count once more" in printed.err
    assert "nothing was written" in printed.out
    fresh = saved(tmp_path, signal_table(30, seed=9))
    assert _guarded(["update", str(model), str(fresh), "-o", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["cases"] == 30
    assert set(record["first"]) == {"before", "after"}
    assert _guarded(["update", str(out), str(fresh)]) == 2, "what an update added counts as learned from"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda c: {k: v for k, v in c.items() if k not in ("good", "noise")}, "it lacks good, noise"),
        (lambda c: {k: v for k, v in c.items() if k != "outcome"}, "it lacks outcome"),
        (lambda c: {**c, "good": ["high", "low"] * 10}, "'good' must hold numbers"),
        (lambda c: {**c, "outcome": ["dead", *c["outcome"][1:]]}, "one is 'dead'"),
        (lambda c: {**c, "outcome": [""] * 20}, "it has none"),
    ],
)
def test_tables_that_do_not_fit_are_refused(model: POMDP, change, told: str) -> None:
    columns = change({name: column.cells.tolist() for name, column in signal_table(20, seed=7).columns.items()})
    with pytest.raises(TableError, match=told):
        update(model, table_of(list(columns), columns.values()))


def test_a_model_that_was_edited_is_not_overwritten(model: POMDP) -> None:
    first, *others = model.flat.tests
    edited = replace(first, likelihood=np.full_like(first.likelihood, 1 / first.likelihood.shape[1]))
    with pytest.raises(ProblemError, match="edited after learning"):
        update(replace(model, menu=replace(model.flat, tests=(edited, *others))), signal_table(20))
    plain = replace(model, details={})
    with pytest.raises(ProblemError, match="was not learned from cases"):
        update(plain, signal_table(20))


def test_columns_that_are_called_by_numbers_are_learned_from_and_added_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = {"good": "1", "fair": "2", "noise": "3"}
    for name, seed in (("old.csv", 1), ("new.csv", 2)):
        table = signal_table(60, seed=seed)
        columns = {numbers.get(old, old): column for old, column in table.columns.items()}
        saved(tmp_path, replace(table, columns=columns), name)
    plan = PLAN
    for name, number in numbers.items():
        plan = plan.replace(f"{name}:", f"{number}:")
    (tmp_path / "plan.yaml").write_text(plan)
    old, new, made = (str(tmp_path / name) for name in ("old.csv", "new.csv", "made.yaml"))
    _guarded(["learn", old, str(tmp_path / "plan.yaml"), "-o", made, "--folds", "2", "--repeats", "1"])
    _guarded(["update", made, new])
    assert "60 cases added" in capsys.readouterr().out
