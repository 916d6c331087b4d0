"""A model with subtypes is advised on as one of its diagnoses: the same where subtypes are all alike, and by brute
force where they are not."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from alike import close
from rhoplan.advice.bands import bands
from rhoplan.advice.case import advise
from rhoplan.advice.overrides import overridden
from rhoplan.advice.pathway import looked_for, pathway
from rhoplan.advice.variations import parameters, with_values
from rhoplan.agents.agent import make_agent
from rhoplan.api import evaluate, simulate
from rhoplan.io.model_file import parse_model
from rhoplan.model.pomdp import POMDP
from rhoplan.present.content import make_report
from rhoplan.present.page.page import page

PLAIN = """\
name: heart
states: [healthy, disease]
prevalence: {disease: 10%}
tests:
  ecg: {cost: 5, sensitivity: 80%, specificity: 85%}
  scan: {cost: 30, sensitivity: 92%, specificity: 95%}
  marker: {cost: 8, outcomes: [low, high, huge], likelihood: {healthy: [0.8, 0.15, 0.05], disease: [0.3, 0.3, 0.4]}}
losses:
  treat: {healthy: 100, disease: 20}
  wait: {healthy: 0, disease: 1000}
"""
ALIKE = PLAIN + "subtypes: {healthy: [young, old], disease: {typical: 75%, silent: 25%}}\n"
APART = ALIKE.replace("sensitivity: 80%", "sensitivity: {typical: 95%, silent: 35%}").replace(
    "disease: [0.3, 0.3, 0.4]", "disease: {typical: [0.4, 0.4, 0.2], silent: [0, 0, 1]}"
)


@pytest.mark.parametrize("given", [(), (("ecg", "positive"),), (("marker", "huge"), ("scan", "negative"))])
def test_subtypes_that_are_all_alike_change_no_advice(given: tuple[tuple[str, str], ...]) -> None:
    one, other = parse_model(PLAIN), parse_model(ALIKE)
    for name in ("efe", "planning", "info-gain"):
        mine, theirs = (asdict(advise(p, make_agent(name, p), given)) for p in (one, other))
        extra = theirs.pop("entropy") - mine.pop("entropy")
        assert extra >= -1e-12  # the doubt about the subtype, which no test tells
        close(mine, theirs)


def test_subtypes_that_are_all_alike_change_no_pathway_and_no_score() -> None:
    one, other = parse_model(PLAIN), parse_model(ALIKE)
    for name in ("efe", "planning"):
        mine, theirs = (asdict(pathway(p, make_agent(name, p))) for p in (one, other))
        close(mine, theirs)
        left, right = (asdict(evaluate(p, make_agent(name, p))) for p in (one, other))
        close(left, right)


def test_subtypes_that_are_all_alike_change_nothing_in_the_report() -> None:
    one, other = parse_model(PLAIN), parse_model(ALIKE)
    mine, theirs = (make_report(p, make_agent("efe", p), seconds=2.0, budget=2.0) for p in (one, other))
    close([asdict(row) for row in mine.rows], [asdict(row) for row in theirs.rows])
    close([asdict(stop) for stop in mine.stops], [asdict(stop) for stop in theirs.stops])
    assert other.factors[0].fold(theirs.ends) == pytest.approx(mine.ends)
    first, second = page(mine), page(theirs)
    for heading in ("Recommended pathway", "What becomes of 1,000 cases", "Compared with other ways of deciding"):
        part = first.split(f"<h2>{heading}</h2>")[1].split("<h2>")[0]
        assert part == second.split(f"<h2>{heading}</h2>")[1].split("<h2>")[0]
    assert (
        "Subtypes, which tests may tell apart: healthy: young 50%, old 50%; disease: typical 75%, silent 25%" in second
    )
    assert "There are no thresholds on the chance of disease" in second
    assert "There are no thresholds" not in first
    assert "disease (silent)" in second


def by_hand(problem: POMDP, given: list[tuple[str, str]]) -> float:
    """The chance of disease by summing over states."""
    joint = problem.prior.copy()
    for name, outcome in given:
        test = next(test for test in problem.flat.tests if test.name == name)
        joint = joint * test.likelihood[:, test.outcomes.index(outcome)]
    ill = [state.startswith("disease") for state in problem.states]
    return float(joint[ill].sum() / joint.sum())


def test_beliefs_and_errors_are_about_the_diagnosis() -> None:
    problem = parse_model(APART)
    agent = make_agent("planning", problem)
    for given in ([], [("ecg", "negative")], [("ecg", "negative"), ("marker", "huge")]):
        advice = advise(problem, agent, given)
        assert advice.belief == pytest.approx(
            {"healthy": 1 - by_hand(problem, given), "disease": by_hand(problem, given)}
        )
        wrong = {"treat": 1 - by_hand(problem, given), "wait": by_hand(problem, given)}
        assert {stop.commit: stop.wrong for stop in advice.commits} == pytest.approx(wrong)
    assert looked_for(problem) == "disease"


def test_a_dependence_that_the_plain_model_cannot_have_is_seen() -> None:
    """Of the ill, those with a negative ECG mostly have a huge marker: together they tell more than apart."""
    problem = parse_model(APART)
    factor = problem.factors[0]
    tests = tuple(
        replace(test, likelihood=factor.results(test.likelihood)[factor.groups]) for test in problem.flat.tests
    )
    blind = replace(problem, menu=replace(problem.flat, tests=tests))
    for evidence in ([("ecg", "negative")], [("marker", "huge")]):
        assert by_hand(problem, evidence) == pytest.approx(by_hand(blind, evidence))
    both = [("ecg", "negative"), ("marker", "huge")]
    assert by_hand(problem, both) > by_hand(blind, both) + 0.1
    assert problem.belief(given=both).beliefs[0][problem.states.index("disease (silent)")] == pytest.approx(
        0.1 * 0.25 * 0.65 / (0.1 * (0.25 * 0.65 + 0.75 * 0.05 * 0.2) + 0.9 * 0.85 * 0.05)
    )


def test_the_log_score_is_that_of_the_diagnosis() -> None:
    problem = parse_model(APART)
    agent = make_agent("efe", problem)
    exact, drawn = evaluate(problem, agent), simulate(problem, agent, seeds=[3], episodes=4000)
    assert abs(exact.log_score - drawn.log_score) < 5.5 * drawn.se["log_score"]
    other = parse_model(APART.replace("specificity: 95%", "specificity: 90%"))
    exact, drawn = (
        evaluate(problem, agent, world=other),
        simulate(problem, agent, seeds=[3], episodes=4000, world=other),
    )
    assert abs(exact.log_score - drawn.log_score) < 5.5 * drawn.se["log_score"]


def test_parameters_are_numbers_of_the_diagnosis_and_likelihoods_of_the_state() -> None:
    problem = parse_model(APART)
    agent = make_agent("efe", problem)
    found = {one.id: one for one in parameters(problem, agent)}
    assert found["prior.disease"].value == pytest.approx(0.1)
    assert [name for name in found if name.startswith("prior.")] == ["prior.disease"]
    assert {"loss.treat.healthy", "loss.treat.disease", "likelihood.ecg.disease (silent).negative"} <= found.keys()
    changed, _ = with_values(problem, agent, {"prior.disease": 0.5, "loss.treat.disease": 40.0})
    assert changed.prior == pytest.approx([0.25, 0.25, 0.375, 0.125])
    assert changed.flat.commits[0].reward.tolist() == [-100, -100, -40, -40]


def test_what_if_sets_numbers_of_the_diagnosis() -> None:
    problem = parse_model(APART)
    changed = overridden(problem, prior={"healthy": 0.6, "disease": 0.4}, rewards={"wait": {"disease": -5}})
    assert changed.prior == pytest.approx([0.3, 0.3, 0.3, 0.1])
    assert changed.flat.commits[1].reward.tolist() == [0, 0, -5, -5]
    assert changed.diagnoses == problem.diagnoses
    same = overridden(problem, prior=[0.9, 0.1])
    assert np.allclose(same.prior, problem.prior)


def test_bands_by_chance_exist_only_where_the_belief_is_one_number() -> None:
    plain, alike = parse_model(PLAIN), parse_model(ALIKE)
    assert len(bands(plain, make_agent("efe", plain))) > 1
    assert bands(alike, make_agent("efe", alike)) == ()
