"""Several ways to solve side by side: whose bounds count, whose plan is followed, and which way is taken at all."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import rhoplan
from rhoplan.model.limits import FEW_STATES
from rhoplan.model.pomdp import POMDP
from rhoplan.planning import clock
from rhoplan.planning.certified.general import General, checking
from rhoplan.planning.certified.solution import SolveResult
from rhoplan.planning.certified.solve import solve, usual_method
from weak import weak_tests

pytest.importorskip("numba", reason="solving general problems needs numba")


def asked(gap: float) -> General:
    return General(rhoplan.make("tiger"), 0.0, 1.0, gap, clock.now() + 60, 1e9, None, check=False)


def found(method: str, lower: float, upper: float, stopped_by: str, rounds: int) -> SolveResult:
    done = asked(0.5)._solution(lower, upper, stopped_by, f"first of {method}")
    return replace(done, method=method, rounds=rounds, nodes=10 * rounds)


def test_the_closest_bounds_count_and_the_plan_of_the_best_lower_one() -> None:
    ways = [found("errands", 3.0, math.inf, "time", 1), found("grids", 1.0, 8.0, "memory", 2)]
    both = asked(0.5)._together([*ways, found("points", 2.0, 9.0, "precision", 4)])
    assert (both.lower, both.upper, both.first) == (3.0, 8.0, "first of errands")
    assert (both.method, both.shares, both.rounds, both.nodes) == ("errands and grids and points", (1, 2, 4), 7, 70)
    assert both.stopped_by == "precision"
    assert not both.converged
    met = asked(5.0)._together(ways)
    assert (met.stopped_by, met.converged) == ("gap", True)
    assert asked(0.5)._together(ways[:1]) is ways[0]


@pytest.mark.parametrize(("rounds", "method"), [(0, "points and range"), (10, "points")])
def test_where_there_was_time_for_little_the_range_of_rewards_may_be_closer(
    monkeypatch: pytest.MonkeyPatch, rounds: int, method: str
) -> None:
    """Rewards from -1 to 2 at a discount of a half: from -2 to 4."""
    pays = np.array([[[-1.0, -1.0], [2.0, 2.0]]])
    problem = rhoplan.from_arrays(np.full((1, 2, 2), 0.5), np.full((1, 2, 2), 0.5), pays, discount=0.5)
    wide = found("points", -50.0, 3.0, "time", rounds)
    monkeypatch.setattr(General, "_by_points", lambda self, progress: wide)
    both = solve(problem, method="points")
    assert both.method == method
    if method == "points":
        assert (both.lower, both.upper, both.stopped_by) == (-50.0, 3.0, "time")
    else:
        assert -2 - 1e-6 <= both.lower <= 1 <= both.upper <= 3  # -1 or 2, half each: a half in each step, 1 in all


def test_where_the_range_of_rewards_is_best_the_next_policy_is_kept() -> None:
    policy = solve(rhoplan.make("tiger"), method="points", gap=1.0).policy
    poor = replace(found("points", -50.0, 9.0, "time", 1), policy=policy)
    both = asked(0.5)._together([poor, found("range", -2.0, 9.0, "time", 0)])
    assert (both.lower, both.first) == (-2.0, "first of range")
    assert both.policy is policy
    assert both.own == -50.0  # what it promises, not what the range of rewards does


def test_a_check_takes_a_tenth_of_the_time_within_limits() -> None:
    assert [checking(seconds) for seconds in (0.0, 10.0, 50.0, 100.0, 1e6)] == [1.0, 1.0, 5.0, 10.0, 10.0]


def test_a_method_that_does_not_exist_is_refused() -> None:
    with pytest.raises(rhoplan.AgentError, match=r"method must be one of reveal, many, .*; it is 'guess'"):
        solve(rhoplan.make("tiger"), method="guess")


def test_plans_of_many_tests_are_checked_where_that_is_asked_for() -> None:
    tiger = rhoplan.make("tiger")
    assert solve(tiger, method="many", gap=1.0).certificate is None
    certificate = solve(tiger, method="many", gap=1.0, check=True).certificate
    assert certificate is not None
    assert certificate.holds


def with_tests(count: int, states: int, *, again: bool) -> POMDP:
    shows = np.tile([0.4, 0.6], (states, 1))
    tests = tuple(rhoplan.Test(f"t{n}", 1.0, ("-", "+"), shows, repeatable=again) for n in range(count))
    commits = (rhoplan.Decision("stop", np.zeros(states)),)
    names = tuple(f"s{n}" for n in range(states))
    return rhoplan.DiagnosticProblem(name="tested", states=names, tests=tests, decisions=commits)


def test_evidence_is_searched_from_ten_tests_on_that_count() -> None:
    """Those that can be repeated count where states are few."""
    assert usual_method(weak_tests(40, states=3)) == "many"
    for count, states, again, method in (
        (10, 2, False, "many"),
        (9, 2, False, "reveal"),
        (10, FEW_STATES, True, "many"),
        (10, FEW_STATES + 1, True, "reveal"),
        (10, FEW_STATES + 1, False, "many"),
        (9, 2, True, "reveal"),
    ):
        assert usual_method(with_tests(count, states, again=again)) == method
    assert usual_method(rhoplan.make("rocksample:n=3,k=2")) == "grids"
    assert usual_method(rhoplan.make("rocksample:n=3,k=1")) == "points"
