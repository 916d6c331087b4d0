"""Shortcuts of results: no shortcut is the name of another result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coded import CODED
from rhoplan.advice.case import advise
from rhoplan.advice.shortcuts import result_shortcuts, shortcuts
from rhoplan.agents.agent import make_adviser
from rhoplan.io.model_file import parse_model

ROWS = json.loads((Path(__file__).parents[1] / "shortcuts.json").read_text(encoding="utf-8"))
"""Outcomes, other names and shortcuts. The page is tested with the same rows."""


@pytest.mark.parametrize(("outcomes", "others", "expected"), ROWS)
def test_letters_where_a_name_is_a_number(outcomes: list[str], others: list[str], expected: list[str]) -> None:
    assert shortcuts(outcomes, others) == expected


def test_a_result_that_cannot_come_counts_too() -> None:
    never = CODED.replace('"0", "1"', '"1", low, high').replace("[0.8,", "[0, 0.8,").replace("[0.2,", "[0, 0.2,")
    problem = parse_model(never, file="coded")
    advice = advise(problem, make_adviser(problem))
    assert [result.outcome for result in advice.results] == ["low", "high"]
    assert result_shortcuts(problem, advice) == ["a", "b"]
