"""The steps of a policy: against closed forms, against a grid of exact scores, and on random problems."""

import dataclasses
import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import rhoplan
from rhoplan.errors import AgentError, ProblemError
from rhoplan.evaluation.exact import score
from rhoplan.evaluation.steps import Step, policy_steps
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.lookahead import LookaheadOnGraph
from rhoplan.planning.objective import Objective
from rhoplan.planning.parametric import ParametricLookahead, PolicyAtWeight
from strategies import Case, Limits, dice, random_case, symmetric_case

CLOSE = 1e-9
"""Numbers here are below 1000 in size: room for rounding and for nothing else."""

PAPER = [("tiger", 6), ("testbed", 4), ("diagnosis", 3), ("bandit", 2)]


@cache
def paper_steps(name: str, horizon: int) -> tuple[POMDP, tuple[Step, ...]]:
    problem = rhoplan.make(name)
    return problem, policy_steps(problem, horizon=horizon)


@cache
def graph_of(problem: POMDP) -> BeliefGraph:
    return BeliefGraph(problem)


def lookahead(graph: BeliefGraph, horizon: int, weight: float) -> LookaheadOnGraph:
    return LookaheadOnGraph(graph, Objective(weight).for_problem(graph.problem), horizon)


def score_at(problem: POMDP, horizon: int, weight: float) -> tuple[tuple[float, float, float], dict[int, int]]:
    """Reward, tests and success of ordinary look-ahead, and its choices at the beliefs where it decides."""
    policy, chosen = lookahead(graph_of(problem), horizon, weight), dict[int, int]()

    class Noted:
        graph = policy.graph

        def choose(self, nodes, seeds=()):
            chosen.update(zip(nodes.tolist(), policy.places(nodes).tolist(), strict=True))
            return policy.choose(nodes)

    found = score(Noted(), steps=problem.cap)
    return (found.reward, found.tests, found.success), chosen


def scores(step: Step) -> tuple[float, float, float]:
    return step.score.reward, step.score.tests, step.score.success


def assert_steps_hold(problem: POMDP, horizon: int, steps: tuple[Step, ...], weights: list[float]) -> int:
    """Every weight inside a step has that step's score; how many weights were inside one."""
    inside = 0
    for weight in weights:
        for step in steps:
            if step.lower < weight < step.upper:
                assert score_at(problem, horizon, weight)[0] == pytest.approx(scores(step), abs=CLOSE), weight
                inside += 1
    return inside


@pytest.mark.parametrize(("unit", "expected"), [("nats", 2 / math.log(2)), ("bits", 2.0)])
def test_a_revealing_test_is_bought_when_information_pays_for_it(unit, expected):
    """A guess is worth 0, the truth is worth 1 and costs 3: one bit must be worth 2."""
    test = rhoplan.Test("reveal", 3.0, ("a", "b"), np.eye(2))
    commits = (rhoplan.Decision("say-a", np.array([1.0, -1.0])), rhoplan.Decision("say-b", np.array([-1.0, 1.0])))
    problem = rhoplan.DiagnosticProblem(name="coin", states=("a", "b"), tests=(test,), decisions=commits)
    first, second = policy_steps(problem, horizon=2, unit=unit)
    assert first.upper == pytest.approx(expected, abs=1e-10)
    assert second.lower == pytest.approx(expected, abs=1e-10)
    assert (first.lower, second.upper, first.unit) == (0.0, 200.0, unit)
    assert (first.score.tests, second.score.tests) == (0.0, 1.0)
    assert (first.beliefs, second.beliefs, second.changed) == (1, 3, 1)


def test_zero_is_a_step_of_its_own_where_a_test_is_free():
    test = rhoplan.Test("peek", 0.0, ("a", "b"), np.array([[0.6, 0.4], [0.4, 0.6]]), repeatable=False)
    commits = (rhoplan.Decision("sure", np.array([1.0, 1.0])), rhoplan.Decision("risky", np.array([2.0, -9.0])))
    problem = rhoplan.DiagnosticProblem(name="free", states=("a", "b"), tests=(test,), decisions=commits)
    first, second = policy_steps(problem, horizon=1)
    assert first.lower == 0.0
    assert first.upper < 1e-6
    assert (first.score.tests, second.score.tests) == (0.0, 1.0)
    assert first.score.reward == second.score.reward


def test_a_problem_without_tests_has_one_step():
    commits = (rhoplan.Decision("go", np.array([1.0, -1.0])),)
    problem = rhoplan.DiagnosticProblem(name="blunt", states=("a", "b"), tests=(), decisions=commits)
    (step,) = policy_steps(problem, horizon=3)
    assert (step.lower, step.upper, step.beliefs) == (0.0, 200.0, 1)


@pytest.mark.parametrize(("name", "horizon"), PAPER)
def test_every_weight_of_a_grid_has_the_score_of_its_step(name, horizon):
    problem, steps = paper_steps(name, horizon)
    weights = [*np.linspace(0.037, 199.9, 12), *np.geomspace(0.01, 40, 12)]
    assert assert_steps_hold(problem, horizon, steps, weights) == len(weights)
    assert score_at(problem, horizon, 0.0)[0] == pytest.approx(scores(steps[0]), abs=CLOSE)
    assert (steps[0].lower, steps[-1].upper) == (0.0, 200.0)
    for before, after in pairwise(steps):
        assert before.lower < before.upper <= after.lower <= before.upper + 1.01e-6
        assert after.changed > 0


def small_case(seed: int) -> Case:
    """Random problems, and symmetric ones full of ties; tests cost something, so that rounding decides nothing."""
    draw = dice(seed)
    if seed % 3 == 0:
        return symmetric_case(lambda low, high: max(draw(low, high), 1))
    return random_case(seed, Limits(states=3, tests=3, outcomes=3, cheapest=1))


@pytest.mark.parametrize("seed", range(36))
def test_random_problems_keep_their_score_inside_a_step(seed):
    problem = dataclasses.replace(small_case(seed).problem, cap=6)
    horizon = 1 + seed % 4
    steps = policy_steps(problem, horizon=horizon, limit=25)
    rng = np.random.Generator(np.random.PCG64(seed))
    weights = [*rng.uniform(0, 200, 5), *rng.uniform(0, 10, 10)]
    assert_steps_hold(problem, horizon, steps, weights)
    middles = [score_at(problem, horizon, (step.lower + step.upper) / 2) for step in steps]
    for step, (found, choices) in zip(steps, middles, strict=True):
        assert found == pytest.approx(scores(step), abs=CLOSE)
        assert len(choices) == step.beliefs
    for before, after in pairwise(middles):
        assert before[1] != after[1]


def test_choices_are_those_of_planning_at_every_belief():
    problem = rhoplan.make("diagnosis")
    graph = BeliefGraph(problem)
    score(lookahead(graph, 3, 150.0), steps=problem.cap)
    nodes = np.arange(graph.size)
    parametric = ParametricLookahead(graph, 3, low=0.0, high=200.0)
    per_bit = ParametricLookahead(graph, 3, low=0.0, high=100.0, unit="bits")
    for weight in np.random.Generator(np.random.PCG64(7)).uniform(0, 100, 50).tolist():
        expected = lookahead(graph, 3, weight).places(nodes)
        assert np.array_equal(PolicyAtWeight(parametric, weight).places(nodes), expected)
        assert np.array_equal(PolicyAtWeight(per_bit, weight * math.log(2)).places(nodes), expected)


def test_a_search_that_hits_its_limit_can_go_on():
    problem = rhoplan.make("testbed")
    whole = policy_steps(problem, horizon=4)
    first = policy_steps(problem, horizon=4, limit=3)
    assert [(s.lower, s.upper, *scores(s)) for s in first] == [(s.lower, s.upper, *scores(s)) for s in whole[:3]]
    rest = policy_steps(problem, horizon=4, low=whole[3].lower + 1e-5)
    assert [scores(step) for step in rest] == [scores(step) for step in whole[3:]]


def test_a_wide_resolution_gives_fewer_steps_that_are_all_true():
    problem, fine = paper_steps("bandit", 2)
    coarse = policy_steps(problem, horizon=2, high=4, resolution=0.05)
    assert len(coarse) < len([step for step in fine if step.lower < 4]) / 3
    for before, after in pairwise(coarse):
        assert before.upper <= after.lower <= before.upper + 0.05001
    assert assert_steps_hold(problem, 2, coarse, [(step.lower + step.upper) / 2 for step in coarse]) == len(coarse)


def test_steps_are_the_same_in_other_units_of_money():
    """Tiger in units of 1e12 points: every weight is 1e12 times smaller, and no step is lost."""
    tiger, unit = rhoplan.make("tiger"), 1e-12
    menu = tiger.flat
    small = rhoplan.DiagnosticProblem(
        name="small",
        states=tiger.states,
        tests=tuple(dataclasses.replace(test, cost=test.cost * unit) for test in menu.tests),
        decisions=tuple(dataclasses.replace(commit, reward=commit.reward * unit) for commit in menu.commits),
    )
    wanted = policy_steps(tiger, horizon=2)
    found = policy_steps(small, horizon=2, high=200 * unit, resolution=1e-6 * unit)
    assert [step.upper / unit for step in found] == pytest.approx([step.upper for step in wanted], rel=1e-6)


@pytest.mark.parametrize(
    ("problem", "settings", "field"),
    [
        (rhoplan.make("rocksample"), {}, None),
        (dataclasses.replace(rhoplan.make("tiger"), leaf=lambda *_: 0.0), {}, None),
        (rhoplan.make("tiger"), {"low": 5, "high": 5}, ("weight",)),
        (rhoplan.make("tiger"), {"resolution": 0}, ("resolution",)),
        (rhoplan.make("tiger"), {"horizon": 0}, ("horizon",)),
    ],
)
def test_what_cannot_be_stepped_through_is_refused(problem, settings, field):
    with pytest.raises(AgentError if field else ProblemError) as refused:
        policy_steps(problem, **{"horizon": 1, **settings})
    assert refused.value.field == field
