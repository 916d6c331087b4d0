"""Targets against brute force: every plan of a hundred small models, and every mixture of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from every_plan import Array, Small, Trial, cheapest_mix, count, lower_edge, plans, undominated
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.constrained import (
    ColumnGeneration,
    ConstrainedProblem,
    Constraint,
    Infeasible,
)
from rhoplan.planning.deterministic import cheapest_deterministic
from rhoplan.planning.frontier import lower_convex_set, pareto_frontier

MODELS = 50
FEW_PLANS, MOST_PLANS = 150, 3000
CLOSE = 1e-9


def drawn(seed: int) -> Small:
    """A random model with up to MOST_PLANS plans: groups, orders, caps, budgets, two or three results, and ties."""
    rng = np.random.default_rng([20261116, seed])
    while True:
        states, tests = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        coarse = rng.random() < 0.5  # round numbers make ties
        trials = []
        for k in range(tests):
            results = int(rng.choice([2, 2, 3]))
            if coarse:
                rows = rng.choice([0.1, 0.2, 0.4, 0.8], (states, results))
                cost = float(rng.integers(0, 4)) / 4
            else:
                rows = rng.uniform(0.02, 1.0, (states, results))
                cost = float(np.round(rng.uniform(0.0, 1.0), 3))
            if rng.random() < 0.15:
                rows[0, 0] = 0.0  # what cannot be seen in a state
            if k and rng.random() < 0.25:
                rows = trials[0].rows * trials[0].rows.sum(axis=1, keepdims=True)  # the same test again
            after = (int(rng.integers(0, k)),) if k and rng.random() < 0.25 else ()
            group = "g" if rng.random() < 0.4 else ""
            trials.append(Trial(cost, rows / rows.sum(axis=1, keepdims=True), group, after))
        commits = int(rng.integers(2, 4))
        payoff = -rng.uniform(0, 20, (commits, states)).round(0 if coarse else 4)
        payoff[np.arange(min(commits, states)), np.arange(min(commits, states))] = 0.0
        prior = rng.dirichlet(np.ones(states)) if not coarse else np.full(states, 1.0 / states)
        most = int(rng.integers(1, tests + 1))
        budget = float(rng.integers(2, 7)) / 4 if rng.random() < 0.3 else math.inf
        first = {"g": 0.5} if any(one.group for one in trials) else {}
        model = Small(prior, tuple(trials), payoff, first, most, budget)
        if (1 if seed % 10 == 0 else FEW_PLANS) <= count(model) <= MOST_PLANS:
            return model


def problem_of(model: Small) -> POMDP:
    tests = tuple(
        Test(
            f"t{k}", one.cost, tuple(f"r{o}" for o in range(one.rows.shape[1])), one.rows, False, one.group,
            tuple(f"t{j}" for j in one.after),
        )
        for k, one in enumerate(model.trials)
    )  # fmt: skip
    commits = tuple(Decision(f"c{k}", row) for k, row in enumerate(model.payoff))
    return DiagnosticProblem(
        name="drawn", states=tuple(f"s{k}" for k in range(len(model.prior))), tests=tests, decisions=commits,
        prior=model.prior,
        groups=model.first, max_tests=model.most,
        budget=None if math.isinf(model.budget) else model.budget,
    )  # fmt: skip


def wrong_by_hand(model: Small, states: list[int]) -> Array:
    """1 where a commit is not a best one for one of `states`."""
    best = model.payoff.max(axis=0)
    result: Array = np.zeros_like(model.payoff)
    for state in states:
        result[:, state] = model.payoff[:, state] < best[state] - 1e-9
    return result


@pytest.fixture(scope="module", params=range(5), ids=lambda part: f"models {10 * part} to {10 * part + 9}")
def some(request: pytest.FixtureRequest) -> list[tuple[Small, ConstrainedProblem, Array]]:
    found = []
    for seed in range(request.param * MODELS // 5, (request.param + 1) * MODELS // 5):
        model = drawn(seed)
        found.append((model, ConstrainedProblem(problem_of(model), len(model.trials)), plans(model)))
    return found


def costs(model: Small, problem: ConstrainedProblem) -> tuple[Array, Array, Array]:
    """Spend and what other errors lose; misses of the last state; errors in the others."""
    last = len(model.prior) - 1
    others = list(range(last))
    priced = problem.spend + problem.regret(others)
    return priced, problem.wrong([last]), problem.wrong(others)


def test_frontiers_are_those_of_all_plans_and_their_mixtures(
    some: list[tuple[Small, ConstrainedProblem, Array]],
) -> None:
    for model, problem, every in some:
        last = len(model.prior) - 1
        priced, miss, alarm = costs(model, problem)
        assert np.array_equal(problem.endings(miss), wrong_by_hand(model, [last]))
        for cost, axis in ((priced, miss), (problem.spend, alarm), (problem.spend, problem.wrong(range(last + 1)))):
            found, complete = pareto_frontier(problem, cost, axis)
            assert complete
            x, y = every @ axis, every @ cost
            assert np.array([[one.axis, one.cost] for one in found]) == pytest.approx(lower_edge(x, y), abs=CLOSE)
            for one in found:  # the plan is least at the prices it is said to be least at
                for price in (one.low, min(one.high, 1e6)):
                    assert one.cost + price * one.axis <= (y + price * x).min() + CLOSE * (1 + price)


def test_one_target_is_kept_by_the_cheapest_mixture(some: list[tuple[Small, ConstrainedProblem, Array]]) -> None:
    for model, problem, every in some:
        cost, miss, _ = costs(model, problem)
        edge = lower_edge(every @ miss, every @ cost)
        low, high = edge[-1, 0], edge[0, 0]
        for share in (0.0, 0.37, 0.81):
            most = low + share * (high - low)
            mix = ColumnGeneration(problem).cheapest(cost, [Constraint(miss, most, 1e-15)])
            assert mix.value == pytest.approx(np.interp(most, edge[::-1, 0], edge[::-1, 1]), abs=CLOSE)
            assert mix.total(cost) == pytest.approx(mix.value, abs=CLOSE)
            assert mix.total(miss) <= most + CLOSE
            assert len(mix.policies) <= 2
            assert sum(mix.shares) == pytest.approx(1.0, abs=1e-12)
            assert mix.gap <= 1e-11 * (1 + abs(mix.value))
        if low > 1e-6:
            with pytest.raises(Infeasible) as caught:
                ColumnGeneration(problem).cheapest(cost, [Constraint(miss, 0.9 * low)])
            assert caught.value.mixture.value == pytest.approx(low, abs=CLOSE)


def test_two_targets_together_and_the_plan_without_chance(some: list[tuple[Small, ConstrainedProblem, Array]]) -> None:
    for place, (model, problem, every) in enumerate(some):
        _, miss, alarm = costs(model, problem)
        rng = np.random.default_rng([7, place])
        parts = np.stack([every @ one for one in (problem.spend, miss, alarm)], axis=1)
        front = parts[undominated(parts)]
        front = front[rng.permutation(len(front))[:60]] if len(front) > 60 else front
        whole = len(front) < 60
        middle = front[rng.integers(len(front), size=2)].mean(axis=0)[1:] * rng.uniform(0.8, 1.3)
        expected = cheapest_mix(front[:, 0], front[:, 1:], middle)
        bounds = [Constraint(miss, middle[0], 1e-15), Constraint(alarm, middle[1], 1e-15)]
        mixer = ColumnGeneration(problem)
        try:
            mix = mixer.cheapest(problem.spend, bounds)
        except Infeasible:
            assert math.isinf(expected)
            continue
        assert mix.value <= expected + CLOSE
        if whole:
            assert mix.value == pytest.approx(expected, abs=CLOSE)
        # Weak duality: at its prices no plan of all costs less than the mixture.
        priced = parts[:, 0] + (parts[:, 1:] - middle) @ np.array(mix.prices)
        assert priced.min() == pytest.approx(mix.value, abs=CLOSE * (1 + max(mix.prices)))
        assert len(mix.policies) <= 3
        assert mix.total(miss) <= middle[0] + CLOSE
        assert mix.total(alarm) <= middle[1] + CLOSE
        certain = cheapest_deterministic(problem, problem.spend, bounds, mixture=mix, known=mixer.pool)
        keeps = parts[(parts[:, 1:] <= middle + 1e-11).all(axis=1), 0]
        best = keeps.min(initial=math.inf)
        assert certain.lower <= best + CLOSE
        if certain.is_proven:
            assert certain.value == pytest.approx(best, abs=CLOSE)
        elif certain.policy is not None:
            assert certain.value >= best - CLOSE


def test_three_criteria_have_the_corners_of_all_plans_and_their_mixtures(
    some: list[tuple[Small, ConstrainedProblem, Array]],
) -> None:
    rng = np.random.default_rng(3)
    for model, problem, every in some:
        _, miss, alarm = costs(model, problem)
        criteria = (problem.spend, miss, alarm)
        parts = np.stack([every @ one for one in criteria], axis=1)
        found, complete = lower_convex_set(problem, criteria)
        assert complete
        corners_found = np.array([[policy.total(one) for one in criteria] for policy in found])
        weights = np.concatenate([np.eye(3), rng.exponential(size=(300, 3)), rng.exponential(size=(100, 3)) ** 4])
        assert (corners_found @ weights.T).min(axis=0) == pytest.approx((parts @ weights.T).min(axis=0), abs=CLOSE)
        for place, one in enumerate(corners_found):  # none is a mixture of the others, or worse than one
            others = np.delete(corners_found, place, axis=0)
            if 1 < len(others) < 40:
                assert cheapest_mix(others[:, 0], others[:, 1:], one[1:]) > one[0] + 1e-10


def test_a_rare_state_that_may_never_be_missed_is_not_beside_a_target_that_cannot_be_met() -> None:
    """The linear program is solved within 1e-10 only; what it finds must satisfy the first target exactly."""
    model = drawn(86)
    rare = np.append(model.prior[:-1], 1e-5)
    model = model._replace(prior=rare / rare.sum(), payoff=model.payoff * 1e5)
    problem = ConstrainedProblem(problem_of(model), len(model.trials))
    cost, miss, alarm = costs(model, problem)
    bounds = [Constraint(miss, 0.0, 1e-15), Constraint(alarm, 0.02, 1e-15)]
    with pytest.raises(Infeasible) as caught:
        ColumnGeneration(problem).cheapest(cost, bounds)
    assert caught.value.index == 1
    assert caught.value.mixture.total(miss) <= 1e-15
