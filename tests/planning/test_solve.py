"""Certified bounds against what exact look-ahead says.

Look-ahead with the best commit as its leaf is a lower bound on the optimum V*, and look-ahead with perfect information
as its leaf is an upper one; both come from `Plan`, which shares no bound with `solve`. They close in on V* as the
horizon grows, so what `solve` certifies must overlap them, whatever it was given to spend.
"""

import dataclasses
import math

import numpy as np
import pytest

import rhoplan
from bridge import AGENTS, Bounds, entropy, lookahead_value, make_agent
from bridge import solve_bounds as solve
from oracle import Model
from serving import PATIENCE
from strategies import Case, Limits, built, random_case

CLOSE = 1e-9


def look_ahead(problem: rhoplan.POMDP, horizon: int, weight: float = 0.0, discount: float = 1.0) -> tuple[float, float]:
    """A lower and an upper bound on V*: `horizon` steps, then the best commit, or perfect information for nothing."""
    best = np.stack([commit.reward for commit in problem.flat.commits]).max(axis=0)
    if discount < 1:
        best = np.maximum(best, 0.0)  # a loss can be put off for ever

    def perfect(observable, beliefs):
        return beliefs[0] @ best + weight * entropy(beliefs[0])

    values = []
    for leaf in (None, perfect):
        values.append(lookahead_value(dataclasses.replace(problem, leaf=leaf), horizon, weight, discount))
    return values[0], values[1]


def affordable(case: Case, nodes: int) -> int:
    """The largest horizon whose merged graph has at most about `nodes` nodes: one per count of each outcome."""
    return max(h for h in range(1, 61) if h == 1 or math.comb(h + case.branches, h) <= nodes)


def sequential_test(accuracy: float, lead: int) -> tuple[float, float]:
    """Probability of being right, and expected tests, of testing one bit until one answer leads by `lead`.

    Wald's random walk: odds of being right are (p / (1 - p)) ** lead; each test adds 2p - 1 to the lead of the truth.
    """
    odds = (accuracy / (1 - accuracy)) ** lead
    right = odds / (1 + odds)
    return right, lead * (2 * right - 1) / (2 * accuracy - 1)


def optima() -> dict[str, tuple[float, int]]:
    """Optimal reward without information, and a horizon at which look-ahead from both sides pins it down to 1e-3."""
    tiger, listens = sequential_test(0.85, 3)
    testbed, looks = sequential_test(0.75, 2)
    bit, tests = sequential_test(0.8, 3)
    return {
        "tiger": (10 * tiger - 100 * (1 - tiger) - listens, 40),  # 5.15992
        "testbed": (testbed - (1 - testbed) - 0.1 * looks, 30),  # 0.48
        "diagnosis": (10 * bit**2 - 50 * (1 - bit**2) - 2 * tests, 50),  # -1.52426
        "bandit": (6.247079363, 30),  # no closed form: within 9e-4 of look-ahead, from below and from above
    }


@pytest.mark.parametrize("name", ["tiger", "testbed", "diagnosis", "bandit"])
def test_optimum_of_a_known_problem_is_certified(name):
    value, horizon = optima()[name]
    problem = rhoplan.make(name)
    below, above = look_ahead(problem, horizon)
    assert below - CLOSE <= value <= above + CLOSE
    assert above - below < 1e-3

    solution = solve(problem, gap=1e-8, seconds=PATIENCE)

    assert solution.stopped_by == "gap"
    assert solution.lower - CLOSE <= value <= solution.upper + CLOSE
    assert solution.reward == pytest.approx(value, abs=2e-8)


@pytest.mark.parametrize("discount", [1.0, 0.9])
@pytest.mark.parametrize("weight", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_overlap_what_look_ahead_proves(seed, weight, discount):
    case = random_case(seed, Limits(states=4, tests=2, cheapest=1))
    below, above = look_ahead(case.problem, affordable(case, 3000), weight, discount)

    # Whatever the time allows is certified, so a slow machine changes the bounds and not the truth of the claim.
    solution = solve(case.problem, weight=weight, discount=discount, gap=1e-4, seconds=0.5)

    assert solution.lower <= solution.upper + CLOSE
    assert solution.lower <= above + CLOSE
    assert below <= solution.upper + CLOSE
    if (weight, discount) == (0.0, 1.0) and solution.truncated < 1e-12:
        assert solution.lower - CLOSE <= solution.reward <= solution.upper + CLOSE


@pytest.mark.parametrize("weight", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(15))
def test_bounds_meet_the_exact_value_where_every_test_runs_once(seed, weight):
    case = random_case(100 + seed, Limits(states=4, tests=4, once="all"))
    depth = len(case.model.tests)
    exact, _ = look_ahead(case.problem, depth, weight)

    solution = solve(case.problem, weight=weight, gap=1e-9, seconds=PATIENCE)

    assert solution.stopped_by == "gap"
    assert solution.lower <= exact + CLOSE
    assert exact <= solution.upper + CLOSE
    if weight == 0:
        assert solution.reward == pytest.approx(exact, abs=2e-9)
    assert solution.tests <= depth + CLOSE


@pytest.mark.parametrize("name", ["tiger", "testbed", "diagnosis", "bandit"])
def test_no_agent_earns_more_than_the_optimum(name):
    problem = rhoplan.make(name)
    solution = solve(problem, gap=1e-6, seconds=PATIENCE)
    for agent in AGENTS:
        for weight in (0.5, 5.0):
            score = rhoplan.evaluate(problem, make_agent(agent, problem, weight=weight))
            # An episode cut off at the cap pays no commit, so it could seem better than any plan that ends.
            if score.truncated < 1e-9:
                assert score.reward <= solution.upper + 1e-8


def test_agent_that_looks_far_enough_ahead_earns_the_optimum():
    tiger = rhoplan.make("tiger")
    solution = solve(tiger, gap=1e-7)
    score = rhoplan.evaluate(tiger, make_agent("planning", tiger, horizon=20))
    assert score.reward == pytest.approx(solution.reward, abs=1e-6)
    assert (solution.tests, solution.success) == pytest.approx((score.tests, score.success), abs=1e-6)
    assert solution.first == "listen"


def test_plan_that_tests_begins_with_a_test():
    rows, commits = [[0.05, 0.95], [0.95, 0.05]], [[10.0, -46.0], [-46.0, 10.0]]
    lopsided = built(Model([1 / 6, 5 / 6], [(0.25, rows, True)], commits))
    found = [lopsided, *(random_case(seed, Limits(states=3, tests=2, once="no", cheapest=1)) for seed in range(30))]
    solutions = [solve(case.problem, seconds=1.0) for case in found]
    assert [s.first.startswith("test") for s in solutions] == [s.tests > CLOSE for s in solutions]


def test_reward_of_a_plan_made_with_a_discount_is_counted_without():
    rows, commits = [[0.75, 0.25], [0.25, 0.75]], [[10.0, -32.0], [-32.0, 10.0]]
    problem = built(Model([0.75, 0.25], [(0.125, rows, True)], commits)).problem

    solution = solve(problem, discount=0.9, gap=1e-6)

    score = rhoplan.evaluate(problem, make_agent("planning", problem, horizon=20, discount=0.9))
    assert solution.tests == pytest.approx(score.tests, abs=1e-6)
    assert solution.reward == pytest.approx(score.reward, abs=1e-5)


def test_more_weight_buys_no_less_information_and_no_more_reward():
    bandit = rhoplan.make("bandit")
    solutions = [solve(bandit, weight=weight, gap=1e-6) for weight in (0.0, 1.0, 5.0)]
    rewards = [solution.reward for solution in solutions]
    assert rewards == sorted(rewards, reverse=True)
    values = [solution.lower for solution in solutions]
    assert values == sorted(values)


# Budgets


def test_no_time_still_gives_bounds():
    solution = solve(rhoplan.make("diagnosis"), seconds=0.0)
    assert solution.stopped_by == "time"
    assert not solution.converged
    # Commit at once below: 10 in one state of four, -50 in three. Above: one test, then all is known.
    assert (solution.lower, solution.upper) == (-35.0, 9.0)
    assert (solution.reward, solution.tests, solution.success) == (-35.0, 0.0, 0.25)


def test_little_time_still_gives_bounds():
    solution = solve(rhoplan.make("tileworld:n=6"), seconds=0.3, gap=1e-6)
    assert solution.stopped_by == "time"
    assert solution.lower < solution.upper


def test_little_memory_still_gives_bounds():
    problem = rhoplan.make("tileworld:n=5,partition=overlapping")
    below, above = look_ahead(problem, 4)

    solution = solve(problem, memory=1.0, gap=1e-9, seconds=PATIENCE)

    assert solution.stopped_by == "memory"
    assert not solution.converged
    assert solution.lower <= above + CLOSE
    assert below <= solution.upper + CLOSE
    assert solution.lower < solution.upper


def test_wide_gap_is_met_at_once():
    solution = solve(rhoplan.make("tiger"), gap=1000.0)
    assert (solution.stopped_by, solution.rounds, solution.nodes) == ("gap", 0, 1)
    assert (solution.lower, solution.upper) == (-45.0, 9.0)


def test_problem_without_tests_is_solved_by_its_best_commit():
    case = built(Model([0.25, 0.75], [], [[4.0, 0.0], [0.0, 4.0]]))
    solution = solve(case.problem)
    assert (solution.lower, solution.upper, solution.first) == (3.0, 3.0, "commit-1")


def test_progress_is_told_bounds_that_only_close_in():
    told = []
    solution = solve(rhoplan.make("bandit"), gap=1e-6, progress=lambda *state: told.append(state))
    assert len(told) == solution.rounds > 1
    lowers, uppers, nodes = zip(*told, strict=True)
    assert list(lowers) == sorted(lowers)
    assert list(uppers) == sorted(uppers, reverse=True)
    assert list(nodes) == sorted(nodes)
    assert (lowers[-1], uppers[-1]) == (solution.lower, solution.upper)


@pytest.mark.parametrize("setting", [{"weight": -1.0}, {"weight": math.inf}, {"weight": math.nan}, {"gap": 0.0}])
def test_senseless_settings_are_refused(setting):
    with pytest.raises(rhoplan.AgentError, match="must be"):
        solve(rhoplan.make("tiger"), **setting)


@pytest.mark.parametrize("discount", [0.0, -1.0, 1.5])
def test_senseless_discount_is_refused(discount):
    with pytest.raises(rhoplan.AgentError, match="discount must be"):
        solve(rhoplan.make("tiger"), discount=discount)


def test_memory_and_time_may_run_out_together(monkeypatch):
    grow = Bounds.grow

    def grow_until_full(self, *arguments, **settings):
        grow(self, *arguments, **settings | {"deadline": math.inf})
        raise rhoplan.LimitError("full")

    monkeypatch.setattr(Bounds, "grow", grow_until_full)
    solution = solve(rhoplan.make("tiger"), seconds=0.0)
    assert solution.stopped_by == "memory"
    assert -45.0 <= solution.lower <= solution.upper <= 9.0
