"""Evidence as it is typed, where outcomes have commas in their names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pump import PUMP
from rhoplan.app.cli import _guarded
from rhoplan.app.cli.plan import parse_evidence
from rhoplan.errors import EvidenceError
from rhoplan.learning.estimator import _outcome
from rhoplan.learning.outcomes import Cut

SCAN = """states: [ill, well]
prior: [0.3, 0.7]
tests:
  scan: {cost: 1, outcomes: ["dark, round", clear], likelihood: {ill: [0.8, 0.2], well: [0.1, 0.9]}}
commits:
  treat: {ill: 0, well: -10}
  leave: {ill: -50, well: 0}
"""


@pytest.fixture
def pump(tmp_path: Path) -> str:
    path = tmp_path / "pump.yaml"
    path.write_text(PUMP)
    return str(path)


@pytest.fixture
def scan(tmp_path: Path) -> str:
    path = tmp_path / "scan.yaml"
    path.write_text(SCAN)
    return str(path)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("go=ok, hi", [("go", "ok, hi")]),
        ("go=ok, hi,go=odd, lo", [("go", "ok, hi"), ("go", "odd, lo")]),
        (" a = x , b=y,, c=z, ", [("a", "x"), ("b", "y"), ("c", "z")]),
        ("a=x=y", [("a", "x=y")]),
        (" , ", []),
    ],
)
def test_commas_that_no_test_follows_belong_to_the_outcome(text: str, pairs: list[tuple[str, str]]) -> None:
    assert parse_evidence(text) == pairs


def test_decide_goes_on_after_an_outcome_of_two_parts(pump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _guarded(["decide", pump, "--given", "go=ok, hi,go=odd, lo", "--horizon", "2", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["given"] == [["go", "ok, hi"], ["go", "odd, lo"]]


def test_names_with_commas_are_listed_in_quotes(pump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _guarded(["decide", pump, "--given", "go=ok, high"]) == 2
    told = capsys.readouterr().err
    assert "test 'go' has no outcome 'ok, high'; it has 'ok, hi', 'ok, lo', 'odd, hi', 'odd, lo'" in told
    assert _guarded(["decide", pump, "--given", "hi,go=ok, hi"]) == 2
    assert "evidence must read test=outcome; it reads 'hi'" in capsys.readouterr().err


@pytest.mark.parametrize("wish", ["--given", "--known"])
def test_advice_reads_evidence_as_decide_does(scan: str, capsys: pytest.CaptureFixture[str], wish: str) -> None:
    assert _guarded(["advise", scan, wish, "scan=dark, round", "--json"]) == 0
    assert "treat" in json.loads(capsys.readouterr().out)["parts"][0]["content"]["do"]
    assert _guarded(["advise", scan, wish, "scan=dark"]) == 2
    assert "test 'scan' has no outcome 'dark'; it has 'dark, round', clear" in capsys.readouterr().err


def test_uncertainty_reads_evidence_as_decide_does(scan: str, capsys: pytest.CaptureFixture[str]) -> None:
    wish = ["--spread", "0.1", "--samples", "20", "--json"]
    assert _guarded(["uncertainty", scan, "--given", "scan=dark, round", *wish]) == 0
    assert json.loads(capsys.readouterr().out)["first"] == "treat"


def test_learned_outcomes_with_commas_are_listed_in_quotes() -> None:
    cut = Cut("colour", ("dark, round", "clear"), None, None)
    with pytest.raises(EvidenceError, match="it has 'dark, round', clear"):
        _outcome({"colour": cut}, "colour", "")
