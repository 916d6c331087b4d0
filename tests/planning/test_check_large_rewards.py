"""A check refuses wrong claims and accepts true ones, however large rewards are of actions that no plan takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rhoplan
from rhoplan.io.formats import parse_problem
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.certified.solve import solve
from seeming import made
from serving import PATIENCE

pytest.importorskip("numba", reason="solving general problems needs numba")

from rhoplan.planning.certified.lattice.check import check_grids
from rhoplan.planning.certified.lattice.policy import GridPolicy
from rhoplan.planning.certified.pointbased.check import check_plan
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.solve import GeneralSolution, solve_general
from rhoplan.planning.many.check import check_search
from rhoplan.planning.many.graph import ROOT, UPPER
from rhoplan.planning.many.search import Search

HUGE = 1e9

TIGER = f"""
discount: 0.95
values: reward
states: left right
actions: listen open-left open-right jump
observations: hear-left hear-right
T: * identity
T: open-left uniform
T: open-right uniform
O: * uniform
O: listen
0.85 0.15
0.15 0.85
R: listen : * : * : * -1
R: open-left : left : * : * -100
R: open-left : right : * : * 10
R: open-right : left : * : * 10
R: open-right : right : * : * -100
R: jump : * : * : * {-HUGE}
"""

PIT = f"""
factors: {{a: {{states: [good, bad]}}, b: {{states: [good, bad]}}}}
discount: 0.9
places: [hall, pit]
start: hall
actions:
  look: {{at: hall, cost: 0.1,
    parts: {{a: {{outcomes: [g, x], likelihood: {{good: [0.9, 0.1], bad: [0.1, 0.9]}}}}}}}}
  keep: {{at: hall, ends: true, reward: {{a: {{good: 1, bad: -5}}}}}}
  drop: {{at: hall, ends: true, reward: {{a: {{good: -5, bad: 1}}}}}}
  jump: {{at: hall, to: pit}}
  climb: {{at: pit, cost: {HUGE / 1000:.0f}, to: hall}}
"""


def tiger() -> POMDP:
    return parse_problem(TIGER, file="tiger.pomdp", language="pomdp")


def drawn(seed: int) -> POMDP:
    """Four states and four actions; one action pays a huge loss everywhere, another one in one state."""
    rng = np.random.default_rng(seed)
    changes, shows = rng.dirichlet(np.full(4, 0.5), (4, 4)), rng.dirichlet(np.full(3, 0.5), (4, 4))
    pays = rng.uniform(-2, 2, (4, 4))
    pays[3], pays[2, 0] = -HUGE, -HUGE
    return rhoplan.from_arrays(changes, shows, pays[:, :, None].repeat(4, axis=2), discount=0.8)


def solved(problem: POMDP, weight: float) -> GeneralSolution:
    compiled = compile_problem(problem, weight=weight)
    return solve_general(compiled, weight=weight, discount=problem.discount, gap=1e-3, seconds=PATIENCE)


def holds(found: GeneralSolution, lower: float = 0.0, upper: float = 0.0) -> bool:
    claims = found.lower + lower, found.upper - upper
    return check_plan(found.plan, np.random.default_rng(0), claims=claims, most=40).holds


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("problem", [tiger(), drawn(0), drawn(1), drawn(2)], ids=["tiger", "0", "1", "2"])
def test_points(problem: POMDP, weight: float) -> None:
    found = solved(problem, weight)
    assert holds(found)
    for wrong in (0.5, 1e-3, 1e-5 * abs(found.lower)):
        assert not holds(found, lower=wrong)
        assert not holds(found, upper=wrong)
        vector = found.plan.numbers(found.plan.root_vector)
        before = vector.copy()
        vector += wrong
        assert not holds(found)
        vector[:] = before
    assert holds(found)
    found.plan.first.action[:] -= 0.5
    assert not holds(found)


def costly(tests: int = 8) -> POMDP:
    """Ill or well, tests that run once, and a test and a commit of huge cost."""
    dice, tried = np.random.default_rng(1), []
    for k in range(tests):
        (right, clear), cost = dice.uniform(0.6, 0.95, 2), round(float(dice.uniform(1, 5)), 3)
        tried.append(
            rhoplan.Test(f"t{k}", cost, ("yes", "no"), np.array([[right, 1 - right], [1 - clear, clear]]), False)
        )
    tried.append(rhoplan.Test("dear", HUGE, ("yes", "no"), np.array([[0.9, 0.1], [0.2, 0.8]]), False))
    pays = {"treat": [0.0, -100.0], "leave": [-100.0, 0.0], "never": [-HUGE, -HUGE]}
    commits = tuple(rhoplan.Decision(name, np.array(each)) for name, each in pays.items())
    return rhoplan.DiagnosticProblem(name="costly", states=("ill", "well"), tests=tuple(tried), decisions=commits)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_many(weight: float) -> None:
    problem = costly()
    search = Search(problem, problem.belief(), weight=weight, discount=1.0, memory=1e9)
    ended = search.run(1e-9, seconds=PATIENCE, work=np.inf, until_proven=False, progress=None)
    found = search.solution(1e-9, ended)

    def check() -> bool:
        return check_search(search, found.policy, np.random.default_rng(0), most=40).holds

    assert check()
    (first,) = [steps for steps in found.policy.steps.values() if steps[0].lower == found.lower]
    for wrong in (0.5, 1e-3, 1e-5 * abs(found.lower)):
        step = first[0]
        first[0] = replace(step, lower=step.lower + wrong)
        assert not check()
        first[0] = step
        search.graph.bound[ROOT, UPPER] -= wrong
        assert not check()
        search.graph.bound[ROOT, UPPER] += wrong
    assert check()


def test_many_claims_what_its_plan_earns_where_a_reward_is_astronomical() -> None:
    """Plans were tied that were less than a share of the largest reward apart."""
    problem = costly()
    usual = solve(problem, method="many", gap=1e-3, check=True)
    flat = problem.flat
    tests = [replace(test, cost=1e3 * HUGE) if test.name == "dear" else test for test in flat.tests]
    other = rhoplan.DiagnosticProblem(name="dearer", states=("ill", "well"), tests=tuple(tests), decisions=flat.commits)
    found = solve(other, method="many", gap=1e-3, check=True)
    assert found.certificate is not None
    assert found.certificate.holds
    assert (found.lower, found.upper) == pytest.approx((usual.lower, usual.upper), abs=1e-3)


def test_grids() -> None:
    """Who jumps into the pit pays a million to get out; what is claimed there is as large."""
    policy = solve(made(PIT), method="grids", gap=1e-3).policy
    assert isinstance(policy, GridPolicy)

    def check() -> bool:
        return check_grids(policy, np.random.default_rng(0), most=60).holds

    assert check()
    for half, sign in ((policy.above, -1.0), (policy.below, 1.0)):
        before = half.values.copy()
        for wrong in (0.5, 5e-4):
            half.values[:] = before + sign * wrong
            assert not check()
        half.values[:] = before
    assert check()
