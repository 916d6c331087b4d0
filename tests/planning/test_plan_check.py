"""The second opinion on bounds of method points: no false alarm, no raised claim unnoticed, and no dense matrix."""

from __future__ import annotations

import numpy as np
import pytest

import rhoplan
from rhoplan.io.formats import parse_problem
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning.certified.solve import solve
from seeming import made

pytest.importorskip("numba", reason="solving general problems needs numba")

from rhoplan.planning.certified.pointbased.check import backup, check_plan, joint_chances
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.solve import Search, solve_general

SHRINKING = """
factors:
  B: {prevalence: {b1: 0.35}, states: [b0, b1]}
  C: {states: [c0, c1]}
places: [p0, p1]
start: p1
discount: 0.95
actions:
  look:
    parts: {B: {outcomes: [o0, o1], likelihood: {b0: [1.0, 0.0], b1: [0.3, 0.7]}}}
    reward: 0.05
    to: {o0: p1, o1: p0}
  leave: {cost: 2, ends: true, reward: 0}
  bet: {ends: true, reward: {C: [0, -1]}}
  idle: {cost: 0.2}
"""
"""A test that may be repeated for ever makes one state ever less likely: beliefs lie closer and closer together."""


def drawn(number: int, states: int = 3) -> POMDP:
    rng = np.random.default_rng(number)
    changes, shows = rng.dirichlet(np.full(states, 0.5), (2, states)), rng.dirichlet(np.full(3, 0.5), (2, states))
    pays = np.repeat(rng.uniform(-2, 2, (2, states, 1)), states, axis=2)
    return rhoplan.from_arrays(changes, shows, pays, discount=0.6)


@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_beliefs_that_lie_ever_closer_together_are_no_reason_for_an_alarm(weight: float) -> None:
    found = solve(made(SHRINKING), weight=weight, method="points", check=True)
    assert found.certificate is not None
    assert found.certificate.holds


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("number", range(4))
def test_a_first_vector_that_claims_more_than_it_can_have_is_noticed(number: int, weight: float) -> None:
    compiled = compile_problem(drawn(number), weight=weight)
    plan = solve_general(compiled, weight=weight, discount=0.6, gap=1e-3).plan
    assert check_plan(plan, np.random.default_rng(0), most=20).holds
    plan.numbers(plan.root_vector)[:] += 0.01
    assert not check_plan(plan, np.random.default_rng(0), most=20).holds


@pytest.mark.parametrize(("seed", "weight"), [(1, 0.5), (1, 2.0), (3, 2.0), (8, 0.5)])
def test_bounds_that_are_very_near_each_other_are_no_reason_for_an_alarm(seed: int, weight: float) -> None:
    """Many points lie close together: mixtures of them are found that rounding leaves 1e-10 short of nothing."""
    rng = np.random.default_rng(seed)
    changes, shows = rng.dirichlet(np.ones(3), (2, 3)), rng.dirichlet(np.ones(2), (2, 3))
    problem = rhoplan.from_arrays(changes, shows, rng.normal(size=(2, 3, 3, 2)), discount=0.8)
    found = solve_general(compile_problem(problem, weight=weight), weight=weight, discount=0.8, gap=1e-6)
    assert check_plan(found.plan, np.random.default_rng(0), claims=(found.lower, found.upper)).holds


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_what_is_claimed_of_the_start_is_what_vectors_and_points_say(weight: float) -> None:
    compiled = compile_problem(drawn(0), weight=weight)
    found = solve_general(compiled, weight=weight, discount=0.6, gap=1e-3)
    for claims, holds in (
        ((found.lower, found.upper), True),
        ((found.lower - 1.0, found.upper + 1.0), True),
        ((found.lower + 2e-3, found.upper + 1.0), False),
        ((found.lower - 1.0, found.upper - 2e-3), False),
    ):
        assert check_plan(found.plan, np.random.default_rng(0), claims=claims, most=20).holds == holds


@pytest.mark.parametrize("weight", [0.0, 0.5])
@pytest.mark.parametrize("number", range(4))
def test_an_informed_bound_that_is_lowered_is_noticed(number: int, weight: float) -> None:
    compiled = compile_problem(drawn(number), weight=weight)
    plan = solve_general(compiled, weight=weight, discount=0.6, gap=1e-3).plan
    plan.first.action[:] -= 1e-4
    assert check_plan(plan, np.random.default_rng(0), most=20).upper_excess >= 1e-4 * (1 - 0.6) * (1 - 1e-3)


def dense(compiled: Compiled, branch: int) -> Array:
    """P(s', o | s), number by number."""
    model = compiled.model
    size = int(compiled.sizes[compiled.start_class])
    matrix = np.zeros((size, int(compiled.sizes[model.branch_target[branch]])))
    for state in range(size):
        for place in range(
            model.row[model.branch_row[branch] + state], model.row[model.branch_row[branch] + state + 1]
        ):
            matrix[state, model.column[place]] += model.chance[place]
    return matrix


def test_what_follows_from_a_belief_is_what_matrices_give() -> None:
    compiled = compile_problem(drawn(1, states=5), weight=1.0)
    model = compiled.model
    for belief in (np.full(5, 0.2), np.array([0.5, 0.0, 0.5, 0.0, 0.0]), np.eye(5)[3]):
        for pair in range(compiled.pairs):
            every, begins = joint_chances(compiled, pair, belief)
            assert every.sum() == pytest.approx(1.0)
            for number, branch in enumerate(range(model.pair_branch[pair], model.pair_branch[pair + 1])):
                joint = every[begins[number] : begins[number + 1]]
                np.testing.assert_allclose(joint, belief @ dense(compiled, branch), atol=1e-15)


def test_a_backup_is_reward_information_and_what_comes_later() -> None:
    """Two states, a look that is right nine times in ten and costs 1, and 7 for whatever is after it."""
    shows = np.array([[[0.9, 0.1], [0.1, 0.9]]])
    problem = rhoplan.from_arrays(np.eye(2)[None], shows, np.full((1, 2, 2), -1.0), discount=0.5)
    search = Search(compile_problem(problem, weight=2.0), weight=2.0, discount=0.5, gap=1e-3, seconds=9.0, memory=1e9)
    told = np.log(2) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1)
    worth = backup(search.solution("time").plan, 0, np.full(2, 0.5), lambda branch, home, belief: 7.0)
    assert worth == pytest.approx(-1 + 2 * told + 0.5 * 7)


def test_rounding_where_nothing_is_worth_anything_is_no_reason_for_an_alarm() -> None:
    """A claim of 1e-7 went beyond its backup by 1e-16 of a reward of 1 that is not worth having."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        start, reward = rng.dirichlet(np.ones(3)), np.zeros((2, 4))
        reward[1, :3] = -rng.dirichlet(np.ones(3))
        changes, seen = np.zeros((2, 4, 4)), np.zeros((2, 4, 2))
        changes[0, :3, :3], changes[1, :3, 3], changes[:, 3, 3] = rng.permutation(np.eye(3)), 1.0, 1.0
        seen[:, :3, 0] = seen[:, 3, 1] = 1.0
        problem = rhoplan.from_arrays(changes, seen, reward, start=[*start, 0.0], discount=1.0)
        found = solve(problem, method="points", gap=1e-4, seconds=20, check=True)
        assert found.certificate is not None
        assert found.certificate.holds


def test_the_check_of_many_states_makes_no_matrix_of_them() -> None:
    """100,000 states would make one of 80 GB."""
    text = (
        "discount: 0.9\nvalues: reward\nstates: 100000\nactions: 2\nobservations: 2\nT: * identity\nO: * uniform\n"
        "R: 0 : 5 : * : * 1\nR: 1 : 6 : * : * 2\n"
    )
    found = solve(parse_problem(text, file="many.pomdp", language="pomdp"), gap=1e-3, check=True)
    assert found.certificate is not None
    assert found.certificate.holds
    assert found.certificate.vectors >= 1
