"""One hidden factor after the other: a plan that is followed exactly, and the optimum where only the walk connects."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rhoplan
from rhoplan.agents.agent import make_agent
from rhoplan.errors import LimitError, ProblemError
from rhoplan.model.pomdp import END, POMDP, Action, CachedMenu
from rhoplan.planning.certified.errands import ErrandPlan
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.routing.decomposition import decomposes

pytest.importorskip("numba", reason="the best tour needs numba")


@pytest.mark.parametrize(("spec", "optimum"), [("inspection", -16.544), ("inspection:n=16", -33.588)])
def test_inspection_is_solved(spec: str, optimum: float) -> None:
    found = solve(rhoplan.make(spec))

    assert found.method == "errands"
    assert found.converged
    assert found.lower - 1e-6 <= optimum <= found.upper + 1e-6


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_grids_do_not_contradict_the_errands(weight: float) -> None:
    problem = rhoplan.make("inspection:n=2")
    errands = solve(problem, weight=weight, method="errands")

    others = solve(problem, weight=weight, method="points", seconds=20.0, gap=0.01)

    assert errands.converged
    assert others.lower - 1e-6 <= errands.upper
    assert others.upper + 1e-6 >= errands.lower


@pytest.mark.parametrize(("spec", "known"), [("rocksample:n=7,k=8", 28.0), ("rocksample:n=11,k=11", 28.5)])
def test_the_lower_bound_of_a_rover_is_what_its_plan_earns(spec: str, known: float) -> None:
    problem = rhoplan.make(spec)

    lower = ErrandPlan(problem, weight=0.0, discount=1.0).lower(problem.belief())

    assert lower == pytest.approx(known, abs=1e-6)
    assert lower <= known


def test_following_the_policy_earns_the_lower_bound(tmp_path: Path) -> None:
    problem = rhoplan.make("rocksample:n=4,k=2")
    found = solve(problem, method="errands", seconds=20.0)
    assert found.policy is not None
    found.policy.save(tmp_path / "rover.policy")  # type: ignore[union-attr]

    agent = make_agent(f"solved:{tmp_path / 'rover.policy'}", problem)

    assert rhoplan.evaluate(problem, agent).reward >= found.lower - 1e-6
    with pytest.raises(ProblemError, match="solved for"):
        make_agent(f"solved:{tmp_path / 'rover.policy'}", rhoplan.make("rocksample:n=4,k=3"))


def test_a_discounted_rover_has_a_plan_too() -> None:
    problem = rhoplan.make("rocksample-standard:n=4,k=2")
    best = solve(problem, seconds=10.0, gap=0.01, method="points")

    lower = ErrandPlan(problem, weight=0.0, discount=problem.discount).lower(problem.belief())

    assert lower <= best.upper
    assert lower > 0.5 * best.lower


class Changed(CachedMenu):
    """Inspection, but for what `change` makes of each menu; nothing is promised."""

    def __init__(self, origin: POMDP, change: Any) -> None:
        self.origin, self.change = origin, change

    def build(self, observable: Any) -> tuple[Action, ...]:
        return tuple(self.change(observable, action) for action in self.origin.menu(observable))


def changed(change: Any) -> POMDP:
    origin = rhoplan.make("inspection:n=3")
    return replace(origin, menu=Changed(origin, change))


def test_the_promise_of_inspection_is_kept() -> None:
    problem = changed(lambda observable, action: action)

    assert decomposes(problem, ErrandPlan(problem, weight=0.0, discount=1.0).survey, discounts=False)


def test_walks_that_get_cheaper_later_leave_no_upper_bound() -> None:
    def cheaper(observable: Any, action: Action) -> Action:
        walk = action.kind == "move" and observable[2]
        return replace(action, reward=np.zeros_like(action.reward)) if walk else action

    problem = changed(cheaper)
    plan = ErrandPlan(problem, weight=0.0, discount=1.0)

    assert plan.upper(problem.belief(), lambda errand, belief: (0.0, 0.0)) == math.inf
    assert plan.lower(problem.belief()) > ErrandPlan(rhoplan.make("inspection:n=3"), weight=0.0, discount=1.0).lower(
        problem.belief()
    )


def test_a_plan_that_cannot_be_followed_gives_no_bound() -> None:
    def walled(observable: Any, action: Action) -> Action:
        return replace(action, leads_to=(observable,)) if action.kind == "move" and observable[2] else action

    problem = changed(walled)

    assert ErrandPlan(problem, weight=0.0, discount=1.0).lower(problem.belief()) == -math.inf


def test_what_ends_too_early_leaves_no_upper_bound() -> None:
    def short(observable: Any, action: Action) -> Action:
        return replace(action, leads_to=(END,)) if action.kind == "sample" and observable[2] else action

    problem = changed(short)

    assert not decomposes(problem, ErrandPlan(problem, weight=0.0, discount=1.0).survey, discounts=False)


def test_rating_errands_ends_when_the_time_is_up() -> None:
    problem = rhoplan.make("rocksample:n=7,k=4")
    plan = ErrandPlan(problem, weight=0.0, discount=1.0)
    with pytest.raises(LimitError):
        plan.order(problem.belief(), deadline=-math.inf)
    assert plan.lower(problem.belief(), deadline=-math.inf) == -math.inf
    assert plan.lower(problem.belief()) > 0
