"""Bounds of errands, and ceilings, hold where a problem is not what it looks like from its start."""

from __future__ import annotations

from pathlib import Path

import pytest

import rhoplan
from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planners import FollowRule
from rhoplan.errors import LimitError
from rhoplan.planning.certified.saved import load_policy
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.routing.full_information import full_information_bound
from seeming import (
    BESIDE,
    DEAR_EXIT,
    DUSTY,
    ENDLESS,
    EVEN,
    FORCED,
    FREE_TEST,
    LAST_ENDS,
    LATE_TEST,
    PIT,
    PUT_OFF,
    RISKY,
    SHUFFLED,
    STILL_TESTED,
    TRAP,
    made,
)

pytest.importorskip("numba", reason="solving general problems needs numba")


@pytest.mark.parametrize(
    ("text", "weight", "value"),
    [
        (DUSTY, 0.0, 89.0), (DUSTY, 1.0, 89.655647), (BESIDE, 0.0, 0.682927), (BESIDE, 1.0, 1.693597),
        (SHUFFLED, 0.0, 0.0), (SHUFFLED, 1.0, 1.779441), (FORCED, 0.0, 0.0), (PUT_OFF, 0.0, -0.5),
        (DEAR_EXIT, 0.0, -0.04), (PIT, 0.0, 21.37), (TRAP, 0.0, 11.325), (LATE_TEST, 1.0, 0.643147),
        (STILL_TESTED, 1.0, 0.593147), (FREE_TEST, 0.0, 0.0), (LAST_ENDS, 0.0, 2.0), (RISKY, 0.0, -0.3),
    ],
)  # fmt: skip
def test_bounds_of_every_method_contain_the_value(text: str, weight: float, value: float) -> None:
    """Values: by points, and by a recursion of somebody else."""
    problem = made(text)
    alone = solve(problem, weight=weight, method="points")
    assert alone.lower - 1e-6 <= value <= alone.upper + 1e-6
    found = solve(problem, weight=weight)
    assert found.lower - 1e-6 <= value <= found.upper + 1e-6
    assert found.converged
    try:
        errands = solve(problem, weight=weight, method="errands")
    except LimitError as refused:
        assert "must come apart into errands" in str(refused)  # noqa: PT017 - or its bounds hold
    else:
        assert errands.lower - 1e-6 <= value <= errands.upper + 1e-6


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        (FORCED, 0.0),
        (PUT_OFF, -0.5),
        (DEAR_EXIT, -0.04),
        (PIT, 21.37),
        (BESIDE, 0.6829),
    ],
)
def test_no_ceiling_is_below_what_can_be_reached(text: str, reached: float) -> None:
    found = full_information_bound(made(text))
    assert found.value >= reached
    assert found.optimum is None or found.optimum[1] >= reached


@pytest.mark.parametrize("text", [FREE_TEST, LAST_ENDS, RISKY, ENDLESS])
def test_there_is_no_ceiling_where_tours_are_not_all_there_is(text: str) -> None:
    with pytest.raises(LimitError, match="does not decompose"):
        full_information_bound(made(text))


def test_what_was_dealt_with_may_be_worth_a_test() -> None:
    """Bounds of actions, and of situations later on, where information has a price."""
    problem = made(STILL_TESTED)
    policy = solve(problem, weight=1.0).policy
    assert policy is not None
    later = problem.belief(given=[("say-a", "done")])
    assert policy.actions(problem.belief())["say-a"][1] >= 0.593147 - 1e-6
    assert policy.value(later) == pytest.approx((0.593147, 0.593147), abs=1e-3)
    assert policy.action(later) == "test-a"


def test_ceilings_stay_what_they_are_where_ending_is_best() -> None:
    """RockSample's exit pays from everywhere; Inspection's walks and tests have a price."""
    assert full_information_bound(rhoplan.make("rocksample:n=5,k=3")).is_exact
    assert full_information_bound(rhoplan.make("inspection")).optimum is not None
    assert full_information_bound(rhoplan.make("inspection:n=2,move_cost=0")).optimum is None
    assert solve(rhoplan.make("inspection")).method == "errands"


def test_the_policy_that_comes_back_earns_what_the_lower_bound_says() -> None:
    problem = made(TRAP)
    found = solve(problem)
    agent = BoundAgent("solved", planner=FollowRule(rule=found.policy))
    assert rhoplan.evaluate(problem, agent).discounted >= found.lower - 1e-6


def test_a_policy_of_errands_is_refused_where_the_problem_changes_later(tmp_path: Path) -> None:
    text = f"""
factors: {{a: {{{EVEN}}}, b: {{{EVEN}}}}}
places: [x, xa, xb]
actions:
  call-a:
    - {{at: x, to: xa, reward: {{a: {{good: 1, bad: -1}}}}}}
    - {{at: xb, ends: true, reward: {{a: {{good: 1, bad: -1}}}}}}
  call-b:
    - {{at: x, to: xb, reward: {{b: {{good: 1, bad: -1}}}}}}
    - {{at: xa, ends: true, reward: {{b: {{good: 1, bad: -1}}}}}}
"""
    found = solve(made(text), method="errands")
    assert found.policy is not None
    found.policy.save(tmp_path / "p")
    load_policy(tmp_path / "p", made(text))
    other = text.replace("{at: xa, ends: true, reward: {b: {good: 1, bad: -1}}}",
                         "{at: xa, ends: true, reward: {b: {good: 90, bad: 80}}}")  # fmt: skip
    assert other != text
    with pytest.raises(rhoplan.ProblemError, match="has other numbers: solve it again"):
        load_policy(tmp_path / "p", made(other))
