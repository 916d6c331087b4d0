"""The quick golden results: recorded answers of commands and API, and what the comparison itself notices."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from contract.golden import SETS, Recorded, Runner, compared, differences, load, summary

pytest.importorskip("fastapi", reason="requests need the extra rhoplan[serve]")

GROUPS = 12
PATIENCE = 20.0
"""Searches that reached their gap have this many times their seconds: here no result depends on the machine's speed."""


@pytest.mark.parametrize("group", range(GROUPS))
def test_answers_are_those_recorded(group: int) -> None:
    files, rows = load(SETS["quick"])
    its = [row for place, row in enumerate(rows) if (-1 if row.case.command[0] == "POST" else place) % GROUPS == group]
    assert its
    with Runner(files) as runner:
        found = [one for row in its for one in compared(runner, row, PATIENCE) if one.kind != "speed"]
    assert not found, "\n".join(["(python3 run.py record records answers that changed on purpose)", *summary(found)])


def row(start: str) -> Recorded:
    """The first recorded case whose name starts so."""
    return next(row for row in load(SETS["quick"])[1] if row.case.name.startswith(start))


def changed(old: Recorded, **values: Any) -> Recorded:
    answer = copy.deepcopy(old.answer)
    answer["out"] |= values
    return replace(old, answer=answer)


def kinds(old: Recorded, new: Recorded) -> set[str]:
    return {one.kind for one in differences(old, new)}


def test_numbers_may_differ_by_rounding_only() -> None:
    score = row("decide tiger --agent efe")
    margin = score.answer["out"]["margin"]
    assert not kinds(score, changed(score, margin=margin * (1 + 1e-10), version="9"))
    assert kinds(score, changed(score, margin=margin * (1 + 1e-8))) == {"number"}


def test_a_change_that_a_search_encloses_may_differ_within_overlapping_brackets() -> None:
    old = row("decide tiger --agent efe")
    one = changed(old, edge={"value": 1.0, "before": 0.9, "beyond": 1.1, "distance": 0.5, "then": "wait"})
    near = {"value": 1.05, "before": 1.0, "beyond": 1.1, "distance": 0.55, "then": "wait"}
    assert not kinds(one, changed(old, edge=near))
    assert kinds(one, changed(old, edge=near | {"before": 1.11, "beyond": 1.2})) == {"number"}
    assert kinds(one, changed(old, edge=near | {"then": "listen"})) == {"text"}


def test_the_weights_of_a_frontier_may_differ_by_its_resolution() -> None:
    old = row("decide tiger --agent efe")
    one = changed(old, frontier={"high": 100.0, "points": [{"lower": 0.0, "upper": 40.0, "reward": 5.0}]})
    near = {"lower": 0.0, "upper": 40.0 + 1e-7, "reward": 5.0}
    assert not kinds(one, changed(old, frontier={"high": 100.0, "points": [near]}))
    assert kinds(one, changed(old, frontier={"high": 100.0, "points": [near | {"upper": 40.001}]})) == {"number"}
    assert kinds(one, changed(old, frontier={"high": 100.0, "points": [near | {"reward": 5.001}]})) == {"number"}


def test_a_choice_may_differ_only_at_a_tie() -> None:
    old = row("decide tiger --agent efe")
    assert kinds(old, changed(old, choice="open-left")) == {"choice"}
    tied = changed(old, margin=0.0)
    assert kinds(tied, changed(tied, choice="open-left")) == {"tie"}


def test_bounds_must_overlap_hold_the_exact_value_and_be_as_narrow() -> None:
    old = row("solve run-once-1.yaml")
    lower, upper = old.answer["out"]["lower"], old.answer["out"]["upper"]
    assert old.case.limits is not None
    assert not kinds(old, changed(old, lower=lower - 5e-4, nodes=1, seconds=9.0))
    for wrong in ({"lower": lower + 0.1, "upper": upper + 0.1}, {"lower": lower - 0.1}, {"stopped_by": "time"}):
        assert kinds(old, changed(old, **wrong)) == {"bounds"}
    timed = changed(old, stopped_by="time")
    assert kinds(timed, changed(timed, lower=lower - 0.1)) == {"speed"}


def test_a_missing_key_is_noticed_and_a_sentence_is_not_compared() -> None:
    old = row("decide tiger --agent efe")
    new = changed(old, beside="another sentence")
    assert not kinds(old, new)
    del new.answer["out"]["margin"]
    assert kinds(old, new) == {"missing"}
    assert kinds(new, old) == {"added"}
