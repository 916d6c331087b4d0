"""Faults of a problem are found in every menu that can be reached, with their code and their field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import rhoplan
from bridge import PROBLEMS
from rhoplan import END, POMDP, Action, Decision, DiagnosticProblem, Factor, ProblemError, Test, check_problem

LOOK = Action("look", np.array([-1.0, -1.0]), np.array([[0.9, 0.1], [0.2, 0.8]]), ("no", "yes"), ("there", "there"))
LEAVE = Action("leave", np.zeros(2), np.ones((2, 1)), ("done",), (END,))
SHARP = LOOK.likelihood


def walk(steps: int, far: Action, **factor: Any) -> POMDP:
    """A corridor: `far` is on the menu after so many steps."""

    def menu(observable: object) -> tuple[Action, ...]:
        assert isinstance(observable, int)
        if observable == steps:
            return far, LEAVE
        return Action("on", np.zeros(2), np.ones((2, 1)), ("done",), (observable + 1,)), LEAVE

    hidden = {"states": ("a", "b"), "prior": np.array([0.5, 0.5]), **factor}
    return POMDP("walk", (Factor("hidden", **hidden),), 0, menu)


def refused(make: Callable[[], object]) -> tuple[str, tuple[str | int, ...], str]:
    with pytest.raises(ProblemError) as caught:
        make()
    return caught.value.code, caught.value.field or (), str(caught.value)


def test_a_sound_corridor_passes() -> None:
    check_problem(walk(30, replace(LOOK, leads_to=(30, 30))))


@pytest.mark.parametrize("steps", [0, 30])
@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"likelihood": [[0.9, 0.9], [0.2, 0.8]]}, "likelihood-row-sum", ("likelihood", "a")),
        ({"likelihood": [[0.9, 0.1], [0.2, 0.7]]}, "likelihood-row-sum", ("likelihood", "b")),
        ({"likelihood": [[0.9, 0.1], [-0.2, 1.2]]}, "probability-range", ("likelihood", "b")),
        ({"likelihood": [[np.nan, 1.0], [0.2, 0.8]]}, "number-expected", ("likelihood", "a")),
        ({"likelihood": [[0.9, 0.1], [np.inf, 0.0]]}, "number-expected", ("likelihood", "b")),
        ({"likelihood": np.ones((2, 1))}, "likelihood-shape", ("likelihood",)),
        ({"transition": np.eye(3)}, "transition-shape", ("transition",)),
        ({"transition": np.ones((3, 2, 2)) / 2}, "transition-shape", ("transition",)),
        ({"transition": csr_array(np.eye(3))}, "transition-shape", ("transition",)),
        ({"transition": [[1.0, 0.0], [1.0, 1.0]]}, "transition-row-sum", ("transition", "b")),
        ({"transition": csr_array([[0.5, 0.4], [0.0, 1.0]])}, "transition-row-sum", ("transition", "a")),
        ({"transition": [[1.5, -0.5], [0.0, 1.0]]}, "probability-range", ("transition",)),
        ({"leads_to": (30,)}, "next-states-count", ("leads_to",)),
        ({"leads_to": (30, 30, END)}, "next-states-count", ("leads_to",)),
        ({"factor": 1}, "unknown-factor", ("factor",)),
        ({"factor": -1}, "unknown-factor", ("factor",)),
        ({"reward": np.zeros(3)}, "reward-shape", ("reward",)),
        ({"reward": [0.0, np.nan]}, "reward-range", ("reward", "b")),
        ({"outcomes": ("no", "no")}, "duplicate-name", ("outcomes",)),
        ({"outcomes": ("no", " ")}, "empty-name", ("outcomes",)),
        ({"pays": np.zeros((2, 3))}, "reward-shape", ("pays",)),
        ({"pays": np.zeros((2, 2, 2))}, "reward-shape", ("pays",)),
        ({"pays": np.ones((2, 2))}, "reward-mean", ("pays", "a")),
        ({"pays": np.full((2, 2), np.inf)}, "reward-range", ("pays",)),
        ({"pays": -np.ones((2, 2)), "leads_to": (END, END)}, "terminal-reward", ("pays",)),
        ({"name": "leave"}, "duplicate-name", None),
    ],
)
def test_a_fault_is_found_at_any_distance(
    steps: int, changes: dict[str, Any], code: str, field: tuple[str, ...] | None
) -> None:
    there = replace(LOOK, leads_to=(steps, steps))
    found = refused(lambda: check_problem(walk(steps, replace(there, **changes))))
    assert found[:2] == (code, ("actions",) if field is None else ("actions", "look", *field))
    assert (f"in observable state {steps}" in found[2]) == (steps > 0)


def test_the_row_of_an_observation_that_cannot_occur_may_be_empty() -> None:
    moves = np.array([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]])
    check_problem(walk(0, replace(LOOK, likelihood=[[1.0, 0.0], [0.5, 0.5]], leads_to=(0, 0), transition=moves)))


@pytest.mark.parametrize(
    ("factor", "code", "field"),
    [
        ({"prior": [0.5, 0.6]}, "prior-sum", "prior"),
        ({"prior": [1.0]}, "wrong-length", "prior"),
        ({"states": ("a", "a")}, "duplicate-name", "states"),
        ({"states": (), "prior": []}, "no-states", "states"),
        ({"diagnosis_of": ("a",)}, "diagnoses-count", "subtypes"),
        ({"diagnosis_of": ("c", "c")}, "subtype-name", "subtypes"),
        (
            {"states": ("a (x)", "b", "a (y)"), "prior": [0.2, 0.3, 0.5], "diagnosis_of": ("a", "b", "a")},
            "subtype-order",
            "subtypes",
        ),
    ],
)
def test_a_factor_that_breaks_a_rule_has_its_field(factor: dict[str, Any], code: str, field: str) -> None:
    found = refused(lambda: check_problem(walk(0, replace(LOOK, leads_to=(0, 0)), **factor)))
    assert found[:2] == (code, ("factors", "hidden", field))


def ward(**changes: Any) -> Any:
    """Two states, two tests, one group, two decisions; `changes` spoil it."""
    look = Test("look", 1.0, ("no", "yes"), SHARP, group="lab", **changes.pop("look", {}))
    scan = Test("scan", **{"cost": 2.0, "outcomes": ("no", "yes"), "likelihood": SHARP, **changes.pop("scan", {})})
    leave = Decision("leave", changes.pop("leave", np.array([0.0, -9.0])))
    decisions = (leave, Decision("treat", np.array([-1.0, 0.0])))
    given = {"states": ("well", "ill"), "tests": (look, scan), "decisions": decisions, "groups": {"lab": 3.0}}
    return DiagnosticProblem(**(given | changes))


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"prior": [0.5, 0.6]}, "prior-sum", "prior"),
        ({"prior": [1.0]}, "wrong-length", "prior"),
        ({"prior": [0.5, np.nan]}, "number-expected", "prior"),
        ({"prior": [1.5, -0.5]}, "probability-range", "prior"),
        ({"states": ("ill", "ill")}, "duplicate-name", "states"),
        ({"states": ("well", " ")}, "empty-name", "states"),
        ({"states": (), "prior": []}, "no-states", "states"),
        ({"decisions": ()}, "no-decisions", "commits"),
        ({"leave": np.zeros(3)}, "reward-shape", "commits.leave"),
        ({"leave": [0.0, np.inf]}, "reward-range", "commits.leave.ill"),
        ({"scan": {"cost": -1.0}}, "negative-number", "tests.scan.cost"),
        ({"scan": {"cost": np.nan}}, "number-range", "tests.scan.cost"),
        ({"scan": {"cost": np.inf}}, "number-range", "tests.scan.cost"),
        ({"scan": {"likelihood": np.ones((2, 1))}}, "likelihood-shape", "tests.scan.likelihood"),
        ({"scan": {"likelihood": [[0.5, 0.5], [0.5, 0.6]]}}, "likelihood-row-sum", "tests.scan.likelihood.ill"),
        ({"scan": {"likelihood": [[np.nan, 0.5], [0.5, 0.5]]}}, "number-expected", "tests.scan.likelihood.well"),
        (
            {"scan": {"likelihood": [[0.5, 0.5], [0.5, 0.6]], "after": ("look",)}},
            "likelihood-row-sum",
            "tests.scan.likelihood.ill",
        ),
        ({"scan": {"outcomes": ("no", "no")}}, "duplicate-name", "tests.scan.outcomes"),
        ({"scan": {"after": ("smell",)}}, "unknown-test", "tests.scan.after"),
        ({"scan": {"after": ("look",)}, "look": {"after": ("scan",)}}, "test-order-cycle", "tests.look.after"),
        ({"groups": {"lab": -1.0}}, "number-range", "groups.lab.first"),
        ({"groups": {"lab": 1.0, "none": 1.0}}, "empty-group", "groups.none"),
        ({"max_tests": -1}, "number-range", "cap.tests"),
        ({"budget": -1.0}, "number-range", "cap.spend"),
        ({"budget": np.nan}, "number-range", "cap.spend"),
        ({"price": -1.0}, "number-range", "information.price"),
    ],
)
def test_a_diagnostic_problem_that_breaks_a_rule_has_the_field_of_a_model_file(
    changes: dict[str, Any], code: str, field: str
) -> None:
    found = refused(lambda: ward(**changes))
    assert (found[0], ".".join(map(str, found[1]))) == (code, field)


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_every_shipped_problem_is_sound(name: str) -> None:
    check_problem(rhoplan.make(name))
