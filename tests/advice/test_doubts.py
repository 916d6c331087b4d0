"""Doubts about the numbers of a model: tests the wrong way round, tests nobody would run, decisions that are beaten."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rhoplan
from rhoplan.advice.cautions import cautions
from rhoplan.advice.doubts import doubts
from rhoplan.agents.agent import make_adviser
from rhoplan.io.model_file import parse_model
from rhoplan.problems.registry import WORKED_MODELS

MODEL = """\
states: [well, ill]
prevalence: {ill: 20%}
tests:
  swab: {cost: 5, sensitivity: 90%, specificity: 80%}
  scan: {cost: 30, sensitivity: 95%, specificity: 97%, inconclusive: 10%}
losses:
  treat: {well: 100, ill: 20}
  leave: {well: 0, ill: 900}
"""


def kinds(text: str) -> list[tuple[str, str]]:
    return [(one.kind, one.about) for one in doubts(parse_model(text))]


@pytest.mark.parametrize("name", WORKED_MODELS)
def test_shipped_models_raise_no_doubt(name: str) -> None:
    assert doubts(rhoplan.make(name)) == ()


@pytest.mark.parametrize(
    ("old", "new", "kind", "about"),
    [
        ("sensitivity: 90%, specificity: 80%", "sensitivity: 10%, specificity: 80%", "reversed test", "swab"),
        ("sensitivity: 95%, specificity: 97%", "tp: 3, fn: 97, fp: 5, tn: 95", "reversed test", "scan"),
        ("sensitivity: 90%, specificity: 80%", "sensitivity: 30%, specificity: 70%", "silent test", "swab"),
        ("cost: 30", "cost: 100", "dear test", "scan"),
        ("leave: {well: 0", "wait: {well: 0, ill: 901}\n  leave: {well: 0", "beaten decision", "wait"),
        ("leave: {well: 0", "cure: {well: 100, ill: 20}\n  leave: {well: 0", "beaten decision", "cure"),
    ],
)
def test_what_looks_wrong_is_told(old: str, new: str, kind: str, about: str) -> None:
    assert kinds(MODEL) == []
    assert kinds(MODEL.replace(old, new)) == [(kind, about)]


def test_rates_that_just_do_not_mislead_are_fine() -> None:
    assert kinds(MODEL.replace("sensitivity: 90%, specificity: 80%", "sensitivity: 20.1%, specificity: 80%")) == []


def test_a_test_that_others_wait_for_may_tell_nothing() -> None:
    text = MODEL.replace("sensitivity: 90%, specificity: 80%", "sensitivity: 50%, specificity: 50%")
    assert kinds(text.replace("cost: 30,", "cost: 30, after: swab,")) == []


def test_a_price_on_information_makes_dear_tests_worth_a_thought() -> None:
    assert kinds("information: {price: 500}\n" + MODEL.replace("cost: 30", "cost: 100")) == []


def test_a_dear_test_is_never_run_by_a_plan_that_counts_costs() -> None:
    """Of random models: no belief at all makes a test worthwhile that costs what knowing everything could save."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        rewards = -rng.integers(0, 20, size=(int(rng.integers(2, 4)), 3)).astype(float)
        most = float((rewards.max(axis=0) - rewards).max(axis=1).min())
        for belief in rng.dirichlet(np.ones(3), size=20):
            assert float(belief @ rewards.max(axis=0)) - float((rewards @ belief).max()) <= most + 1e-9


def test_a_report_tells_doubts_once() -> None:
    problem = parse_model(MODEL.replace("cost: 30", "cost: 100"))
    told = [one for one in cautions(problem, make_adviser(problem)) if one.about == "scan"]
    assert [one.kind for one in told] == ["dear test"]
    assert re.search(r"costs 100 points, and knowing everything could not save more than 100 points", told[0].text)
