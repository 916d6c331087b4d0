"""Faults of a problem are found wherever a menu is, not only at the start."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import rhoplan
from bridge import PROBLEMS
from rhoplan import END, POMDP, Action, Factor, ProblemError, check_problem

LOOK = Action("look", np.array([-1.0, -1.0]), np.array([[0.9, 0.1], [0.2, 0.8]]), ("no", "yes"), ("there", "there"))
LEAVE = Action("leave", np.zeros(2), np.ones((2, 1)), ("done",), (END,))


def walk(steps: int, far: Action) -> POMDP:
    """A corridor: `far` is on the menu after so many steps."""

    def menu(observable: object) -> tuple[Action, ...]:
        assert isinstance(observable, int)
        if observable == steps:
            return far, LEAVE
        return Action("on", np.zeros(2), np.ones((2, 1)), ("done",), (observable + 1,)), LEAVE

    return POMDP("walk", (Factor("hidden", ("a", "b"), np.array([0.5, 0.5])),), 0, menu)


def test_a_sound_corridor_passes() -> None:
    check_problem(walk(30, replace(LOOK, leads_to=(30, 30))))


@pytest.mark.parametrize("steps", [0, 1, 30])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda a: replace(a, likelihood=np.array([[0.9, 0.9], [0.2, 0.8]])), "must sum to 1; it sums to 1.8"),
        (lambda a: replace(a, likelihood=np.ones((2, 1))), "must have 2 rows and one column per outcome"),
        (lambda a: replace(a, transition=np.eye(3)), "must have a row and a column per state"),
        (lambda a: replace(a, transition=np.ones((3, 2, 2)) / 2), "it is 3 x 2 x 2"),
        (lambda a: replace(a, transition=np.ones((2, 2))), "rows that sum to 1"),
        (lambda a: replace(a, leads_to=a.leads_to[:1]), "has 2 outcomes and leads to 1"),
        (lambda a: replace(a, leads_to=(*a.leads_to, END)), "has 2 outcomes and leads to 3"),
        (lambda a: replace(a, factor=1), "one of the 1 factors"),
        (lambda a: replace(a, factor=-1), "one of the 1 factors"),
        (lambda a: replace(a, reward=np.zeros(3)), "one number per state"),
        (lambda a: replace(a, reward=np.array([0.0, np.nan])), "one number per state"),
        (lambda a: replace(a, outcomes=("no", "no")), "'no' stands there twice"),
        (lambda a: replace(a, name="leave"), "'leave' stands there twice"),
    ],
)
def test_a_fault_is_found_at_any_distance(steps: int, fault: Callable[[Action], Action], message: str) -> None:
    there = replace(LOOK, leads_to=(steps, steps))

    with pytest.raises(ProblemError, match=message) as found:
        check_problem(walk(steps, fault(there)))

    assert (f"in visible state {steps}" in str(found.value)) == (steps > 0)


def test_a_test_that_opens_later_is_checked() -> None:
    tests = (
        rhoplan.Test("first", 1.0, ("done",), np.ones((2, 1))),
        rhoplan.Test("later", 1.0, ("no", "yes"), np.array([[0.9, 0.9], [0.2, 0.8]]), after=("first",)),
    )
    with pytest.raises(ProblemError, match=r"sums to 1\.8"):
        rhoplan.DiagnosticProblem(
            name="late", states=("a", "b"), tests=tests, decisions=(rhoplan.Decision("go", np.zeros(2)),)
        )


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_every_shipped_problem_is_sound(name: str) -> None:
    check_problem(rhoplan.make(name))


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("chances", [[0.2, 0.7], [-0.2, 1.2], [np.nan, 1.0], [np.inf, 0.0]])
def test_a_row_that_is_no_distribution_is_told_by_its_state(row: int, chances: list[float]) -> None:
    likelihood = LOOK.likelihood.copy()
    likelihood[row] = chances
    with pytest.raises(ProblemError, match=f"likelihood row '{'ab'[row]}' of ") as found:
        check_problem(walk(0, replace(LOOK, leads_to=(0, 0), likelihood=likelihood)))
    assert found.value.field is not None
    assert found.value.field[-2:] == ("likelihood", "ab"[row])
