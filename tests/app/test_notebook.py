"""The verbs of a notebook say what the command line says, show themselves safely, and become frames."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rhoplan
from rhoplan.app.cli import _guarded
from rhoplan.errors import MissingExtra
from rhoplan.io.model_file import parse_model
from rhoplan.problems.registry import WORKED_MODELS

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")


@pytest.mark.parametrize("name", sorted(WORKED_MODELS))
def test_advice_is_that_of_the_command_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = rhoplan.advise(name)
    assert _guarded(["advise", name, "--json"]) == 0
    first, ahead, _ = (part["content"] for part in json.loads(capsys.readouterr().out)["parts"])
    told = json.loads(json.dumps(found.record))
    assert {key: told[key] for key in first} == first
    assert {key: ahead[key] for key in told["ahead"]} == told["ahead"]
    assert found.do in repr(found)
    assert found.to_frame().shape[0] == len(found.advice.options)


def test_a_case_goes_on_from_its_advice() -> None:
    first = rhoplan.advise("screening-cascade", weight=5.0)
    later = first.then("strip", "positive")
    assert later.record == rhoplan.advise("screening-cascade", {"strip": "positive"}, weight=5.0).record
    assert later.agent.weight == 5.0


def test_leaves_of_a_pathway_add_up_to_it() -> None:
    found = rhoplan.pathway("four-diseases", weight=0.0)
    leaves = found.to_frame()
    assert leaves.share.sum() == pytest.approx(1.0)
    assert (leaves.share * leaves.tests).sum() == pytest.approx(found.pathway.ahead.tests)
    assert found.record["root"]["action"] in repr(found)


def test_what_if_changes_only_what_it_says() -> None:
    same = rhoplan.what_if("screening-cascade", budget=0.5)
    assert not same.is_other
    assert same.own.record == same.changed.record
    dear = rhoplan.what_if("screening-cascade", costs={"strip": 1000})
    assert dear.is_other
    assert dear.changed.do == "leave"
    row = dear.to_frame().set_index("id").loc["cost.strip"]
    assert row["value"] == 1000
    assert row["down_then"] == "strip"
    assert row["down_value"] == pytest.approx(94.014299, abs=1e-4)  # what the strip is worth to the decision


def test_comparisons_and_sweeps_have_rows_and_pictures(tmp_path: Path) -> None:
    found = rhoplan.compare("tiger-doors", agent="planning-ig", seconds=2.0)
    assert "certified optimum" in set(found.to_frame().label)
    assert found.plot().save(tmp_path / "frontier.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no frontier"):
        rhoplan.compare("tiger-doors", utility="negative-entropy", seconds=2.0).plot()
    swept = rhoplan.sweep("tiger", "horizon", [1, 2], agents=["efe", "planning"])
    assert list(swept.to_frame().setting) == [1, 1, 2, 2]
    assert swept.plot().png.startswith(b"\x89PNG")
    assert "success" in swept._repr_html_()


def test_a_sweep_tells_only_what_there_is(tmp_path: Path) -> None:
    file = tmp_path / "stay.pomdp"
    file.write_text(
        "discount: 0.9\nstates: a b\nactions: stay\nobservations: x\nT: * identity\nO: * uniform\nR: * : a : * : * 1\n"
    )
    swept = rhoplan.sweep(str(file), "horizon", [1, 2], agents=["planning"])
    for told in (repr(swept), swept._repr_html_()):
        assert "discounted" in told
        assert "success" not in told
        assert "nan" not in told


def test_a_report_stands_in_a_frame_without_scripts(tmp_path: Path) -> None:
    found = rhoplan.report("screening-cascade", tmp_path / "report.html", budget=0.5)
    assert (tmp_path / "report.html").read_text() == found.page
    assert "sandbox=''" in found._repr_html_()
    assert found.to_frame().key.iloc[0] == "commit-now"


def test_names_of_a_model_cannot_become_markup() -> None:
    bad = "<script>alert(1)</script>"
    problem = parse_model(
        json.dumps({
            "name": bad, "unit": bad, "states": ["well", bad], "prior": [0.5, 0.5],
            "tests": {bad: {"cost": 1, "outcomes": ["no", bad], "likelihood": {"well": [0.9, 0.1], bad: [0.1, 0.9]}}},
            "losses": {"leave": {"well": 0, bad: 100}, "treat": {"well": 100, bad: 0}},
        }),
        language="json",
    )  # fmt: skip
    shown = [rhoplan.advise(problem), rhoplan.pathway(problem), rhoplan.compare(problem), rhoplan.report(problem)]
    shown.append(rhoplan.what_if(problem, budget=0.2))
    for one in shown:
        assert bad not in one._repr_html_()


def test_packages_that_are_verbs_stay_packages() -> None:
    from rhoplan.learning.plan import Plan
    from rhoplan.present.content import Report

    assert callable(rhoplan.learn)
    assert rhoplan.learning.plan.Plan is Plan  # type: ignore[attr-defined]
    assert rhoplan.present.content.Report is Report  # type: ignore[attr-defined]


def test_frames_without_pandas_are_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rhoplan.advise("screening-cascade")
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"pandas: pip install 'rhoplan\[learn\]'"):
        found.to_frame()
