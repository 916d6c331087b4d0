"""Subtypes in model files: what is given for a diagnosis holds for all of them, and every fault has its line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rhoplan
from bridge import parse_model, partitioned, write_model
from rhoplan import ModelFileError
from test_model_file import assert_same

HEART = """\
states: [healthy, disease]
subtypes:
  disease: {typical: 70%, silent: 30%}
prevalence: {disease: 10%}
tests:
  ecg: {cost: 5, sensitivity: {typical: 90%, silent: 40%}, specificity: 85%}
  scan: {cost: 30, sensitivity: 92%, specificity: 95%, inconclusive: 10%}
  ratio: {cost: 1, lr_positive: 4, lr_negative: 0.5}
  marker:
    cost: 8
    outcomes: [low, high]
    likelihood:
      healthy: [0.8, 0.2]
      disease: {typical: {low: 0.5, high: 0.5}, silent: [0.1, 0.9]}
  blunt: {cost: 8, outcomes: [low, high], likelihood: {healthy: [0.5, 0.5], disease: {low: 0.4, high: 0.6}}}
losses:
  treat: {healthy: 100, disease: 20}
  wait: {healthy: 0, disease: 1000}
"""


def test_what_holds_for_the_diagnosis_holds_for_its_subtypes() -> None:
    problem = parse_model(HEART)
    tests = {test.name: test.likelihood for test in problem.flat.tests}
    assert problem.states == ("healthy", "disease (typical)", "disease (silent)")
    assert problem.prior == pytest.approx([0.9, 0.07, 0.03])
    assert tests["ecg"] == pytest.approx(np.array([[0.85, 0.15], [0.1, 0.9], [0.6, 0.4]]))
    assert tests["scan"][1] == pytest.approx([0.9 * 0.08, 0.9 * 0.92, 0.1])
    assert tests["scan"][2].tolist() == tests["scan"][1].tolist()
    assert tests["ratio"][1].tolist() == tests["ratio"][2].tolist()
    assert tests["ratio"][:2, 1] == pytest.approx([1 / 7, 4 / 7])
    assert tests["marker"].tolist() == [[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]]
    assert tests["blunt"].tolist() == [[0.5, 0.5], [0.4, 0.6], [0.4, 0.6]]
    assert problem.flat.payoff.tolist() == [[-100, -20, -20], [0, -1000, -1000]]
    assert problem.details["positive"] == "disease"


def test_specificity_can_be_that_of_subtypes_too() -> None:
    text = HEART.replace("disease: {typical: 70%", "healthy: {young: 50%, old: 50%}\n  disease: {typical: 70%").replace(
        "specificity: 85%", "specificity: {young: 99%, old: 80%}"
    )
    problem = parse_model(text)
    assert problem.flat.tests[0].likelihood[:, 0] == pytest.approx([0.99, 0.8, 0.1, 0.6])
    assert problem.prior == pytest.approx([0.45, 0.45, 0.07, 0.03])


def test_the_positive_diagnosis_may_stand_first() -> None:
    text = HEART.replace("[healthy, disease]", "[disease, healthy]\npositive: disease")
    problem = parse_model(text)
    assert problem.flat.tests[0].likelihood[:, 1] == pytest.approx([0.9, 0.4, 0.15])
    assert problem.prior == pytest.approx([0.07, 0.03, 0.9])


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        ("prior: [0.9, 0.1]", [0.9, 0.05, 0.05]),
        ("prior: {healthy: 0.9, disease: 0.1}", [0.9, 0.05, 0.05]),
        ("prior: {healthy: 0.9, disease: {typical: 0.07, silent: 0.03}}", [0.9, 0.07, 0.03]),
        ("horizon: 3", [0.5, 0.25, 0.25]),
    ],
)
def test_subtypes_without_shares_take_them_from_the_prior(prior: str, expected: list[float]) -> None:
    text = HEART.replace("{typical: 70%, silent: 30%}", "[typical, silent]")
    text = text.replace("prevalence: {disease: 10%}", f"positive: disease\n{prior}")
    assert parse_model(text).prior == pytest.approx(expected)


def test_a_written_model_reads_as_it_was() -> None:
    problem = parse_model(HEART)
    again = parse_model(write_model(problem))
    assert_same(again, problem)
    assert again.diagnoses == problem.diagnoses
    assert write_model(again) == write_model(problem)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_model_with_subtypes_survives_the_round_trip(seed: int) -> None:
    rng = np.random.default_rng(seed)
    diagnoses = tuple(f"d{i}" for i in range(rng.integers(1, 4)))
    counts = {name: int(rng.integers(0, 4)) for name in diagnoses}
    grouped = partitioned(diagnoses, {name: tuple(f"s{k}" for k in range(n)) for name, n in counts.items() if n})
    size = len(grouped.states)
    rows = rng.dirichlet(np.ones(2), size)
    shared = grouped.unfold(rng.dirichlet(np.ones(3), len(diagnoses)))
    prior = rng.dirichlet(np.ones(size)) * (rng.random(size) < 0.8)
    problem = rhoplan.DiagnosticProblem(
        name="drawn",
        states=diagnoses,
        partition=grouped.subtypes,
        prior=prior / prior.sum() if prior.sum() else None,
        tests=(rhoplan.Test("own", 1.0, ("a", "b"), rows), rhoplan.Test("all", 1.0, ("a", "b", "c"), shared, False)),
        decisions=tuple(rhoplan.Decision(f"c{i}", grouped.unfold(rng.normal(size=len(diagnoses)))) for i in range(2)),
    )
    again = parse_model(write_model(problem))
    assert_same(again, problem)
    assert again.factors[0].diagnosis_of == problem.factors[0].diagnosis_of


FAULTS = {
    "a diagnosis that is no state": ("  disease: {typical", "  flu: {typical", 3, "'flu', which is not one of"),
    "shares that do not sum to 1": ("30%}", "20%}", 3, "must sum to 1"),
    "no subtypes": ("{typical: 70%, silent: 30%}", "[]", 3, "must be a list of names"),
    "subtypes that are no map": ("\n  disease: {typical: 70%, silent: 30%}", " 3", 2, "must be a map"),
    "a row for an unknown subtype": ("silent: [0.1", "loud: [0.1", 14, "names the subtype 'loud'"),
    "a row for a missing subtype": (", silent: [0.1, 0.9]", "", 14, "'silent' is missing"),
    "a row that does not sum to 1": ("silent: [0.1, 0.9]", "silent: [0.1, 0.8]", 14, "row 'silent' sums to 0.9"),
    "a rate for a missing subtype": ("{typical: 90%, silent: 40%}", "{typical: 90%}", 6, "'silent' is missing"),
    "a rate by subtypes that are none": ("specificity: 85%", "specificity: {young: 85%}", 6, "must be a finite number"),
    "a loss by subtype": ("disease: 20}", "disease: {typical: 20, silent: 30}}", 17, "must be a finite number"),
    "shares given twice": (
        "prevalence: {disease: 10%}",
        "prior: {healthy: 90%, disease: {typical: 7%, silent: 3%}}",
        4,
        "the shares of its subtypes stand under subtypes",
    ),
    "a state with the name of a subtype's": ("healthy", "disease (silent)", 1, "stands there twice"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_have_their_line(fault: str) -> None:
    old, new, line, message = FAULTS[fault]
    assert old in HEART
    with pytest.raises(ModelFileError) as caught:
        parse_model(HEART.replace(old, new))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.line == line, str(caught.value)


def test_a_nested_prior_sums_to_one() -> None:
    text = HEART.replace("{typical: 70%, silent: 30%}", "[typical, silent]").replace(
        "prevalence: {disease: 10%}", "prior: {healthy: 90%, disease: {typical: 7%, silent: 4%}}"
    )
    with pytest.raises(ModelFileError, match=r"prior must sum to 1; it sums to 1\.01 .*line 4"):
        parse_model(text)
