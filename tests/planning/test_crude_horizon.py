"""Bounds of last resort within a horizon: there always are some, whatever the discount, and they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rhoplan
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning import clock
from rhoplan.planning.certified.crude import crude_bounds
from rhoplan.planning.certified.solve import solve

STEPS = 3


def numbers(seed: int) -> tuple[Array, Array, Array, Array]:
    """What follows each state, what is seen there, what is paid, and the start."""
    rng = np.random.default_rng(seed)
    change, seen = rng.dirichlet(np.full(3, 0.3), (2, 3)), rng.dirichlet(np.ones(2), (2, 3))
    return change, seen, rng.normal(size=(2, 3)) + 2 * rng.normal(), rng.dirichlet(np.ones(3))


def endless(seed: int) -> POMDP:
    """Nothing ends it but the horizon."""
    change, seen, pays, start = numbers(seed)
    return rhoplan.from_arrays(change, seen, pays, start=start, discount=0.8)


PROBLEMS = {
    **{f"endless {seed}": endless(seed) for seed in range(6)},
    **{name: rhoplan.make(name) for name in ("tiger", "diagnosis:n=3", "rocksample:n=2,k=1", "drilling")},
}


@pytest.mark.parametrize("deadline", [-math.inf, math.inf])
@pytest.mark.parametrize("discount", [1.0, 0.7])
@pytest.mark.parametrize("name", PROBLEMS)
def test_they_hold_beside_the_best_plan(name: str, discount: float, deadline: float) -> None:
    problem = PROBLEMS[name]
    if deadline < 0 and name in ("rocksample:n=2,k=1", "drilling"):
        pytest.skip("what can be done in all places is not looked at without time")
    for weight in (0.0, 1.5):
        for steps in (1, STEPS):
            exact = solve(problem, weight=weight, discount=discount, horizon=steps, gap=1e-6, method="points")
            limited = rhoplan.with_horizon(problem, steps)
            found = crude_bounds(limited, weight=weight, discount=discount, deadline=deadline)
            assert -math.inf < found.lower <= exact.upper + 1e-9
            assert exact.lower - 1e-9 <= found.upper < math.inf


def test_sweeps_that_stop_early_hold_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rhoplan.planning.certified.crude.MOST_SWEEPS", 2)
    for seed in range(6):
        for discount in (1.0, 0.7):
            exact = solve(endless(seed), discount=discount, horizon=6, gap=1e-6)
            limited = rhoplan.with_horizon(endless(seed), 6)
            found = crude_bounds(limited, weight=0.0, discount=discount, deadline=math.inf)
            assert found.lower <= exact.upper + 1e-9
            assert exact.lower - 1e-9 <= found.upper


def test_with_time_the_upper_one_is_that_of_who_sees_the_state() -> None:
    change, _, pays, start = numbers(0)
    once = pays.max(axis=0)
    twice = (pays + 0.7 * change @ once).max(axis=0)
    limited = rhoplan.with_horizon(endless(0), 2)
    found = crude_bounds(limited, weight=0.0, discount=0.7, deadline=math.inf)
    assert found.upper == pytest.approx(float(start @ twice), rel=1e-9)


def test_what_stays_hidden_can_be_learnt_once() -> None:
    limited = rhoplan.with_horizon(rhoplan.make("tiger"), 5)
    found = crude_bounds(limited, weight=5.0, discount=1.0, deadline=math.inf)
    assert found.upper == pytest.approx(10 + 5 * math.log(2))


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_no_number_of_actions_is_laid_out_for_them(discount: float) -> None:
    """A horizon that nothing could lay out: what a step pays, so many times."""
    many, problem = 10**9, endless(1)
    rewards = np.array([action.reward for action in problem.menu(problem.start)])
    limited = rhoplan.with_horizon(problem, many)
    found = crude_bounds(limited, weight=0.0, discount=discount, deadline=-math.inf)
    times = many if discount == 1 else 1 / (1 - discount)
    assert found.upper == pytest.approx(rewards.max() * times)
    assert found.lower == pytest.approx(rewards.min(axis=1).max() * times)


def test_solve_gives_them_where_there_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "loading", lambda: pytest.fail("there is no time to load anything"))
    found = solve(endless(2), horizon=10**6, seconds=0.0)
    assert (found.method, found.stopped_by) == ("range", "time")
    assert math.isfinite(found.lower)
    assert math.isfinite(found.upper)
