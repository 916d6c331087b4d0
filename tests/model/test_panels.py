"""Panels: results that come together for one price are worth what the same tests in a row are, but for the price."""

from __future__ import annotations

import numpy as np
import pytest

import rhoplan
from bridge import (
    MOST_OUTCOMES,
    all_tests,
    flips,
    make_agent,
    parameters,
    parse_model,
    with_values,
    without,
    write_model,
)
from bridge import case_advice as advise
from bridge import decide_at as decide
from bridge import solve_bounds as solve
from rhoplan import POMDP, EvidenceError, ModelFileError, ProblemError
from test_model_file import assert_same

WARD = """\
name: ward
states: [well, ill]
prevalence: {ill: 20%}
tests:
  crp: {cost: 7, sensitivity: 80%, specificity: 70%, outcomes: [normal, high]}
  troponin: {sensitivity: 75%, specificity: 95%, outcomes: [normal, high]}
  ecg: {cost: 3, sensitivity: 60%, specificity: 80%}
panels:
  blood: {cost: 12, tests: [crp, troponin]}
losses:
  treat: {well: 100, ill: 20}
  wait: {well: 0, ill: 500}
"""


def offered(problem: POMDP, *given: tuple[str, str]) -> list[str]:
    menu = problem.menu(problem.belief(given=given).observable)
    return [action.name for action in menu if not action.ends_episode]


def test_a_joint_outcome_has_the_product_of_its_chances() -> None:
    blood = next(test for test in parse_model(WARD).flat.tests if test.parts)
    seen = [("normal", "normal"), ("normal", "high"), ("high", "normal"), ("high", "high")]
    assert blood.outcomes == tuple(f"crp {one} and troponin {other}" for one, other in seen)
    assert blood.likelihood[0] == pytest.approx([0.7 * 0.95, 0.7 * 0.05, 0.3 * 0.95, 0.3 * 0.05])
    assert blood.likelihood[1] == pytest.approx([0.2 * 0.25, 0.2 * 0.75, 0.8 * 0.25, 0.8 * 0.75])


def test_a_panel_tells_what_its_tests_tell_in_a_row() -> None:
    problem = parse_model(WARD.replace("troponin: {", "troponin: {cost: 5, "))
    together = problem.belief(given=[("blood", "crp high and troponin normal")])
    apart = problem.belief(given=[("crp", "high"), ("troponin", "normal")])
    assert together.beliefs[0] == pytest.approx(apart.beliefs[0])
    assert together.observable == apart.observable


def test_what_may_be_run_after_a_panel_and_after_its_tests() -> None:
    problem = parse_model(WARD)
    assert offered(problem) == ["crp", "ecg", "blood"]  # troponin has no price of its own
    assert offered(problem, ("blood", "crp high and troponin high")) == ["ecg"]
    assert offered(problem, ("crp", "high")) == ["ecg"]
    assert offered(problem, ("ecg", "positive")) == ["crp", "blood"]
    with pytest.raises(EvidenceError, match="panel 'blood' is not available any more: crp has been run already"):
        problem.belief(given=[("crp", "high"), ("blood", "crp high and troponin high")])


def test_a_panel_of_tests_that_repeat_can_be_repeated() -> None:
    problem = parse_model(WARD.replace("outcomes: [normal, high]", "outcomes: [normal, high], repeat: independent"))
    assert offered(problem, ("blood", "crp high and troponin high")) == ["crp", "ecg", "blood"]


def test_what_waits_for_a_test_may_run_after_its_panel() -> None:
    problem = parse_model(WARD.replace("ecg: {", "ecg: {after: troponin, "))
    assert offered(problem) == ["crp", "blood"]
    assert offered(problem, ("blood", "crp high and troponin high")) == ["ecg"]
    found = solve(problem, gap=1e-6)
    assert found.upper - found.lower <= 1e-6


def test_a_panel_waits_for_what_its_tests_wait_for() -> None:
    problem = parse_model(WARD.replace("troponin: {", "troponin: {after: [ecg, crp], "))
    assert offered(problem) == ["crp", "ecg"]
    assert offered(problem, ("ecg", "positive")) == ["crp", "blood"]


def value(problem: POMDP, joint: np.ndarray, run: frozenset[str]) -> float:
    """The best expected reward by trying everything; joint: prior times chance of what was seen."""
    ways = [float(joint @ commit.reward) for commit in problem.flat.commits]
    for test in problem.flat.tests:
        does = frozenset(test.parts or (test.name,))
        if not does & run:
            later = sum(value(problem, joint * column, run | does) for column in test.likelihood.T)
            ways.append(-test.cost * float(joint.sum()) + later)
    return max(ways)


@pytest.mark.parametrize("cost", [6, 9, 12, 30])
def test_plans_and_bounds_are_those_of_a_brute_force(cost: int) -> None:
    problem = parse_model(WARD.replace("cost: 12", f"cost: {cost}"))
    optimum = value(problem, problem.prior, frozenset())
    found = decide(problem, make_agent("planning", problem, horizon=3))
    assert max(one.value for one in found.actions) == pytest.approx(optimum)
    solved = solve(problem, gap=1e-6)
    assert solved.lower - 1e-9 <= optimum <= solved.upper + 1e-9


def test_unavailable_tests_take_their_panels_along() -> None:
    problem = parse_model(WARD)
    assert offered(without(problem, ["crp"])) == ["ecg"]
    assert offered(without(problem, ["blood"])) == ["crp", "ecg"]
    assert advise(problem, make_agent("efe", problem), unavailable=["blood"]).do != "blood"


def test_running_all_tests_takes_panels_first_and_nothing_twice() -> None:
    found = all_tests(parse_model(WARD))
    assert found is not None
    assert (found.run, found.left_out, found.cost) == (("blood", "ecg"), (), 15)
    again = all_tests(
        parse_model(WARD.replace("outcomes: [normal, high]", "outcomes: [normal, high], repeat: independent"))
    )
    assert again is not None
    assert (again.run, again.reward) == (("blood", "ecg"), pytest.approx(found.reward))


def test_a_number_of_a_test_is_one_of_its_panel_too() -> None:
    problem = parse_model(WARD)
    agent = make_agent("planning", problem)
    ids = [one.id for one in parameters(problem, agent)]
    assert {"cost.blood", "likelihood.troponin.ill.high"} <= set(ids)
    assert not any(name == "cost.troponin" or name.startswith("likelihood.blood") for name in ids)
    changed, _ = with_values(problem, agent, {"likelihood.troponin.ill.high": 0.5, "likelihood.crp.ill.high": 0.6})
    blood = next(test for test in changed.flat.tests if test.parts)
    assert blood.likelihood[1] == pytest.approx([0.4 * 0.5, 0.4 * 0.5, 0.6 * 0.5, 0.6 * 0.5])
    found = [one for one in flips(problem, agent, only=["likelihood"], budget=600.0) if "troponin" in one.names]
    edges = [(one.id, edge) for one in found for edge in (one.down, one.up) if edge.status == "flips"]
    assert edges
    for name, edge in edges:
        assert edge.beyond is not None
        model, asked = with_values(problem, agent, {name: edge.beyond})
        assert decide(model, asked).choice == edge.then


def test_writing_and_reading_gives_the_same_panels() -> None:
    problem = parse_model(WARD)
    again = parse_model(write_model(problem))
    assert_same(again, problem)
    assert [test.parts for test in again.flat.tests] == [(), (), ("crp", "troponin")]
    assert [test.name for test in again.flat.parts] == ["troponin"]
    assert write_model(again) == write_model(problem)


FAULTS = {
    "an unknown test": ("[crp, troponin]}", "[crp, d-dimer]}", 9, "'d-dimer', which is not one of crp, troponin, ecg"),
    "one test": ("[crp, troponin]}", "[troponin]}", 9, "at least two tests; it has 1"),
    "a test without a price in no panel": (
        "[crp, troponin]}",
        "[crp, ecg]}",
        6,
        "must have the field 'cost', or be in",
    ),
    "the name of a test": ("blood:", "ecg:", 9, "both a test and a panel"),
    "no price": ("cost: 12, ", "", 9, "must have the field 'cost'"),
    "a commit's name": ("treat:", "blood:", 11, "both a test and a commit"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_have_their_line(fault: str) -> None:
    old, new, line, message = FAULTS[fault]
    with pytest.raises(ModelFileError) as caught:
        parse_model(WARD.replace(old, new))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.line == line


def test_a_panel_that_is_too_large_is_refused_with_its_size() -> None:
    tests = [rhoplan.Test(f"t{k}", 1.0, ("a", "b", "c"), np.full((2, 3), 1 / 3)) for k in range(6)]
    with pytest.raises(ProblemError, match=f"at most {MOST_OUTCOMES} joint outcomes; its tests have 729"):
        rhoplan.DiagnosticProblem(
            ["s", "t"],
            tests=tests,
            decisions={"go": [0, 1]},
            panels=[rhoplan.Panel("all", 3, [one.name for one in tests])],
        )
