"""Policies that come back are worth what is claimed: without a discount, by actions that do nothing, and with one."""

from __future__ import annotations

from pathlib import Path

import pytest

import rhoplan
from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planners import FollowRule
from rhoplan.io.formats import parse_problem
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.certified.saved import load_policy
from rhoplan.planning.certified.solution import SolveResult
from rhoplan.planning.certified.solve import solve
from seeming import made

pytest.importorskip("numba", reason="solving general problems needs numba")

SHARP = """
discount: 1
values: reward
states: left right end
actions: wait listen open-right open-left
observations: hear-left hear-right over
start: 0.5 0.5 0
T: wait identity
T: listen identity
T: open-right : * : end 1
T: open-left : * : end 1
O: * : end : over 1
O: wait : left : hear-left 1
O: wait : right : hear-left 1
O: listen : left : hear-left 1
O: listen : right : hear-right 1
O: open-right : left : hear-left 1
O: open-right : right : hear-left 1
O: open-left : left : hear-left 1
O: open-left : right : hear-left 1
R: listen : left : * : * -1
R: listen : right : * : * -1
R: open-left : left : * : * -100
R: open-left : right : * : * 10
R: open-right : right : * : * -100
R: open-right : left : * : * 10
"""
"""A tiger, a perfect ear, and a free wait."""

CHAIN = """
discount: 1
values: reward
states: b m c
actions: good bad
observations: o
start: b
T: good : b : m 1
T: good : m : c 1
T: good : c : c 1
T: bad : b : m 1
T: bad : m : c 1
T: bad : c : c 1
O: * uniform
R: good : b : * : * -1
R: good : m : * : * -1
R: bad : b : * : * -100
R: bad : m : * : * -100
R: bad : c : * : * -7
"""
"""Two steps to a state in which one good action is free for ever."""

CIRCLE = """
discount: 1
values: reward
states: x e1 e2
actions: {}
observations: o1 o2
start: 0.2 0.4 0.4
T: go : x 0.1 0 0.9
T: go : e1 : e1 1
T: go : e2 : e2 1
T: look : x : e2 1
T: look : e1 : e1 1
T: look : e2 : e2 1
O: go : * : o1 1
O: look : x : o2 1
O: look : e1 : o1 1
O: look : e2 : o2 1
R: go : x : * : * -0.5
R: look : x : * : * -2
"""
"""To go is free in the end, and the first action where that is as good as to look."""

ROCKS = """
factors:
  r0: {states: [bad, good, spent], prior: [0.5, 0.5, 0]}
  r1: {states: [bad, good, spent], prior: [0.5, 0.5, 0]}
places: [here]
discount: 0.995
actions:
  check0: {cost: 0.01, parts: {r0: {outcomes: [b, g],
    likelihood: {bad: [0.6, 0.4], good: [0.4, 0.6], spent: [0.5, 0.5]}}}}
  sample0: {reward: {r0: {bad: -10, good: 10, spent: 0}}, parts: {r0: {change: {bad: spent, good: spent}}}}
  check1: {cost: 0.01, parts: {r1: {outcomes: [b, g],
    likelihood: {bad: [0.6, 0.4], good: [0.4, 0.6], spent: [0.5, 0.5]}}}}
  sample1: {reward: {r1: {bad: -10, good: 10, spent: 0}}, parts: {r1: {change: {bad: spent, good: spent}}}}
  exit: {ends: true, reward: 50}
"""
"""Checks tell little and the exit pays most: to check on and on holds it up."""


def flat(text: str) -> POMDP:
    return parse_problem(text, file="some.pomdp", language="pomdp")


def earned(problem: POMDP, found: SolveResult, cap: int = 60) -> float:
    return rhoplan.evaluate(
        problem, BoundAgent("solved", planner=FollowRule(rule=found.policy)), max_steps=cap
    ).discounted


@pytest.mark.parametrize(("text", "value"), [(SHARP, 9.0), (CHAIN, -2.0)])
def test_a_policy_knows_a_state_from_the_end_of_doing_nothing(text: str, value: float, tmp_path: Path) -> None:
    problem = flat(text)
    found = solve(problem, gap=1e-4)
    assert found.policy is not None
    assert found.lower <= value <= found.upper
    found.policy.save(tmp_path / "p")
    for policy in (found.policy, load_policy(tmp_path / "p", problem)):
        low, high = policy.value(problem.belief())
        assert found.lower - 1e-9 <= low <= value + 1e-9
        assert value - 1e-9 <= high <= found.upper + 1e-9
    assert earned(problem, found) >= found.lower - 1e-6


def test_what_follows_an_action_that_does_nothing_counts() -> None:
    problem = flat(SHARP)
    policy = solve(problem, gap=1e-6).policy
    assert policy is not None
    heard = problem.belief(given=[("listen", "hear-left")])

    assert policy.actions(problem.belief())["wait"] == pytest.approx((9.0, 9.0), abs=1e-5)
    assert policy.proven(problem.belief()) == "listen"
    assert policy.action(heard) == "open-right"
    assert policy.value(heard) == pytest.approx((10.0, 10.0), abs=1e-5)


@pytest.mark.parametrize("actions", ["go look", "look go"])
def test_the_order_of_actions_does_not_matter(actions: str) -> None:
    found = solve(flat(CIRCLE.format(actions)), weight=5.0, seconds=20.0)
    assert found.converged
    assert found.lower - 1e-6 <= 3.2539472 <= found.upper + 1e-6


def test_with_a_discount_the_plan_of_errands_earns_what_it_claims() -> None:
    problem = made(ROCKS)
    found = solve(problem, method="errands", check=True)
    assert found.certificate is not None
    assert found.certificate.holds
    assert earned(problem, found, cap=200) >= found.lower > 51.1
