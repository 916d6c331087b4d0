"""The report on what was learned: the bill first, everything told, nothing of a case in it, nothing from elsewhere."""

from __future__ import annotations

import copy
import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from drawn import PLAN, plan_of, signal_table
from rhoplan.app.cli import _guarded
from rhoplan.errors import ModelFileError
from rhoplan.io.model_file import parse_model, write_model
from rhoplan.learning.choices import Grid
from rhoplan.learning.learning import Result, learn
from rhoplan.learning.table import table_of
from rhoplan.present.page import learned_page as learned_page_module
from rhoplan.present.page.learned_page import learned_page
from rhoplan.present.page.tripod import ITEMS

pytest.importorskip("sklearn", reason="learning comes with the extra rhoplan[learn]")

FEW = Grid((5,), (0.5,), (2,), (0.1,), (1,), (1.0,))


@pytest.fixture(scope="module")
def result() -> Result:
    table = signal_table(120, strength=4.0)
    return learn(table, plan_of(PLAN.replace("cost: 1", "cost: 4")), folds=3, repeats=1, grid=FEW, second_opinion=True)


@pytest.fixture(scope="module")
def model(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("learned") / "model.yaml"
    path.write_text(write_model(result.problem))
    return path


def test_the_file_carries_the_record_and_no_case(result: Result, model: Path) -> None:
    text = model.read_text()
    kept = parse_model(text).details["learned"]
    assert kept == result.problem.details["learned"]
    for key in ("heldout", "planned", "baselines", "gain", "verdict", "choice", "folds", "calibration", "use", "table"):
        assert kept[key] == result.record[key]
    assert sum(kept["state_cases"].values()) == pytest.approx(120)
    for name, column in result.cases.table.columns.items():
        assert sum(sum(row) for row in kept["counts"].get(name, {}).values()) in (0, pytest.approx(120))
        cuts = {f"{cut:g}" for cut in kept["cuts"].get(name, {}).get("at", [])}
        shown = [cell for cell in set(column.cells) if len(cell) > 4 and f" {cell}," in text]
        assert set(shown) <= cuts, f"of '{name}' only cut points may stand in the file"


def test_the_page_begins_with_the_verdict_and_needs_nothing_else(result: Result) -> None:
    page = learned_page(result.problem)
    first = re.search(r"class='do'>(.*?)</p>", page)
    assert first is not None
    assert first.group(1).startswith("The data carry the model: its policy costs")
    for words in ("all tests + boosting", "no test", "Calibration where the policy stops", "Decision curve for ill",
                  "Cost against the budget", "Second opinion", "No column settles",
                  "Subtypes", "run <span class='test'>"):  # fmt: skip
        assert words in page, words
    assert not re.search(r"(src|href)=['\"]?https?:", page)
    assert "<script" not in page
    numbers = [number for _, items in ITEMS for number, _, _ in items]
    assert numbers == list(range(1, 28))
    assert page.count("To be filled in by you") >= 8


def test_a_report_on_the_file_prints_the_bill_in_its_first_box(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert _guarded(["report", str(model), "-o", str(out)]) == 0
    page = out.read_text()
    assert page.index("The data carry the model") == page.index("class='do'>") + len("class='do'>")
    assert "What follows is another" not in page, "by default the report is on the policy that was scored"
    assert _guarded(["report", str(model), "-o", str(out), "--agent", "efe", "--weight", "30"]) == 0
    assert "What follows is another" in out.read_text()


def test_advice_is_that_of_the_policy_that_was_scored(
    model: Path,
    result: Result,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = tmp_path / "log.jsonl"
    assert _guarded(["decide", str(model)]) == 0
    capsys.readouterr()
    assert _guarded(["advise", str(model), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["parts"][0]["content"]
    assert (first["horizon"], first["weight"]) == (result.choice.horizon, result.choice.weight)
    assert _guarded(["evaluate", str(model)]) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\nstop\n"))
    assert _guarded(["advise", str(model), "--log", str(log)]) == 0
    assert _guarded(["replay", str(log)]) == 0
    assert json.loads(log.read_text().splitlines()[0])["agent"]["weight"] == result.choice.weight


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("verdict",), None, "must have the field 'verdict'"),
        (("surprise",), 1, "has no field 'surprise'"),
        (("choice", "horizon"), "soon", "learned.choice.horizon must be a finite number"),
        (("choice", "weight"), -1.0, "learned.choice.weight must not be negative"),
        (("gain", "over"), "nothing", "names the policy 'nothing'"),
        (("calibration", "points"), [], "learned.calibration.points must be a list"),
        (("heldout",), 3.0, "learned.heldout must be a map"),
    ],
)
def test_a_damaged_record_is_one_line_that_names_the_field(
    result: Result, place: tuple[str, ...], value: object, told: str
) -> None:
    record = copy.deepcopy(result.problem.details["learned"])
    inside = record
    for name in place[:-1]:
        inside = inside[name]
    inside.pop(place[-1], None)
    inside |= {} if value is None else {place[-1]: value}
    text = write_model(replace(result.problem, details={**result.problem.details, "learned": record}))
    with pytest.raises(ModelFileError, match=told):
        parse_model(text)


def test_names_cannot_break_the_page() -> None:
    table = signal_table(60)
    text = PLAN.replace("noise:", '"<b>noise":').replace("unit: points", 'unit: "<i>"')
    columns = {
        ("<b>noise" if name == "noise" else name): column.cells.tolist() for name, column in table.columns.items()
    }
    result = learn(table_of(list(columns), columns.values()), plan_of(text), folds=2, repeats=1, grid=FEW)
    page = learned_page(result.problem)
    assert "<b>noise" not in page
    assert "<i>," not in page
    assert np.isfinite(result.bill.heldout.mean)


def test_a_pathway_that_is_too_large_says_how_it_begins(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned_page_module, "nodes_within", lambda problem, size: 2)
    page = learned_page(result.problem)
    assert "It begins with good; rhoplan advise goes on from there" in page
    assert "TRIPOD" in page
