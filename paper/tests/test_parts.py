"""Claims that say several things: what they come to when some of it holds."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rhoplan_paper.report.output import write_verdicts
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, IN_PART, ONLY_BITS, ONLY_NATS, Finding, Outcome
from rhoplan_paper.verdicts import by_parts

BITS, NATS = {"bits": True, "nats": False}, {"bits": False, "nats": True}


@pytest.mark.parametrize(
    ("first", "second", "core", "verdict", "unit"),
    [
        (True, True, (), CONFIRMED, ""),
        (True, False, (), IN_PART, ""),
        (False, False, (), CONTRADICTED, ""),
        (True, False, ("first",), IN_PART, ""),
        (True, False, ("second",), CONTRADICTED, ""),
        (True, BITS, (), ONLY_BITS, "bits"),
        (NATS, True, ("first",), ONLY_NATS, "nats"),
        (False, BITS, (), IN_PART, "bits"),
        (BITS, NATS, (), IN_PART, "either"),
        (BITS, NATS, ("first",), IN_PART, "bits"),
        (False, BITS, ("first",), CONTRADICTED, "either"),
    ],
)
def test_verdict_of_two_parts(first, second, core, verdict, unit) -> None:
    got = by_parts({"first": first, "second": second}, core=core)
    assert (got.word, got.unit) == (verdict, unit)
    assert [part.core for part in got.parts] == ["first" in core, "second" in core]


def test_parts_say_where_they_hold() -> None:
    parts = by_parts({"always": True, "never": False, "per bit": BITS, "per nat": NATS}).parts
    assert [part.holds for part in parts] == ["yes", "no", "in bits", "in nats"]


def test_parts_stand_in_the_list_of_verdicts(tmp_path: Path) -> None:
    verdict = by_parts({"this": True, "that": False}, core=["this"])
    finding = Finding("id", "", "", "", "", "", verdict.unit, verdict.word, "so", verdict.parts)
    write_verdicts(tmp_path, {"claims": Outcome(findings=(finding,))})
    with (tmp_path / "verdicts.csv").open(encoding="utf-8", newline="") as handle:
        (row,) = csv.DictReader(handle)
    assert row["verdict"] == "holds in part"
    assert row["parts"] == "this: yes (the core); that: no"
