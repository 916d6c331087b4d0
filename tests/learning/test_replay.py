"""Replaying cases: the model's own cases cost what the exact score says; blanks cost nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.agents.agent import BoundAgent
from rhoplan.api import evaluate
from rhoplan.learning import ahead as module
from rhoplan.learning.replay import replay
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.model.pomdp import POMDP


def problem(**rules) -> POMDP:
    generator = np.random.default_rng(3)
    names = "abcd"
    after = {"d": ("a",)}
    tests = tuple(
        Test(name, 0.5 + place, ("lo", "mid", "hi"), generator.dirichlet(np.ones(3), size=3), False,
             "blood" if name in "bc" else "", after.get(name, ()))
        for place, name in enumerate(names)
    )  # fmt: skip
    losses = np.array([[0.0, 40, 60], [40, 0, 30], [50, 20, 0]])
    commits = tuple(Decision(f"call-{row}", -losses[row]) for row in range(3))
    prior = np.array([0.5, 0.3, 0.2])
    return DiagnosticProblem(
        name="drawn",
        states=("x", "y", "z"),
        tests=tests,
        decisions=commits,
        prior=prior,
        groups={"blood": 1.5},
        **rules,
    )


@pytest.mark.parametrize("rules", [{}, {"max_tests": 2}, {"budget": 4.5}])
@pytest.mark.parametrize(("horizon", "weight"), [(1, 0.0), (2, 0.0), (1, 5.0)])
def test_the_models_own_cases_cost_the_exact_score(rules: dict, horizon: int, weight: float) -> None:
    made, agent = problem(**rules), BoundAgent("one", horizon, weight)
    menu = made.flat
    every = np.array(list(product(range(3), repeat=len(menu.tests))))
    given = np.stack(
        [np.prod([t.likelihood[s, every[:, k]] for k, t in enumerate(menu.tests)], axis=0) for s in range(3)]
    )
    found = replay(made, agent, every)
    cost = found.spend[None, :] - menu.payoff[found.commit].T
    total = (made.prior[:, None] * given * cost).sum()
    score = evaluate(made, agent)
    assert total == pytest.approx(-score.reward, rel=1e-9)
    assert (made.prior @ given * found.tests).sum() == pytest.approx(score.tests, rel=1e-9)
    planned = found.spend + found.expected_loss(-menu.payoff)
    assert (made.prior @ given * planned).sum() == pytest.approx(-score.reward, rel=1e-9)


def test_a_blank_costs_nothing_and_closes_what_waits_for_it() -> None:
    made, agent = problem(), BoundAgent("curious", 1, 1000.0)
    full = np.ones((1, 4), dtype=int)
    blank = full.copy()
    blank[0, 0] = -1
    all_run, some_run = replay(made, agent, full), replay(made, agent, blank)
    assert all_run.asked.tolist() == [[1, 1, 1, 1]]
    assert some_run.asked.tolist() == [[0, 1, 1, 0]], "d waits for a, which cannot be had"
    assert all_run.spend[0] == pytest.approx(0.5 + 1.5 + 2.5 + 3.5 + 1.5)
    assert some_run.spend[0] == pytest.approx(1.5 + 2.5 + 1.5)


def test_nothing_known_is_the_best_commit_of_the_prior() -> None:
    made = problem()
    found = replay(made, BoundAgent("one", 1, 0.0), np.full((2, 4), -1))
    assert found.spend.tolist() == [0.0, 0.0]
    assert found.commit.tolist() == [int(np.argmax(made.flat.payoff @ made.prior))] * 2


def test_little_room_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made, agent = problem(), BoundAgent("one", 2, 3.0)
    cases = np.random.default_rng(0).integers(-1, 3, size=(60, 4))
    before = replay(made, agent, cases)
    monkeypatch.setattr(module, "TOGETHER", 100)
    after = replay(made, agent, cases)
    assert np.array_equal(before.commit, after.commit)
    assert np.array_equal(before.asked, after.asked)
    assert before.spend == pytest.approx(after.spend)


@pytest.mark.parametrize("about_diagnosis", [False, True])
@pytest.mark.parametrize("rules", [{}, {"max_tests": 2}, {"budget": 4.5}, {"budget": 4.3}, {"groups": {"blood": 1e-9}}])
@pytest.mark.parametrize(("horizon", "weight"), [(1, 0.0), (1, 2.0), (2, 0.5), (3, 0.0), (3, 8.0)])
def test_cases_are_decided_as_everything_else_decides(
    about_diagnosis: bool, rules: dict, horizon: int, weight: float
) -> None:
    generator = np.random.default_rng(horizon)
    tests = tuple(
        Test(name, cost, ("lo", "mid", "hi"), generator.dirichlet(np.ones(3), size=4), False, group, after)
        for name, cost, group, after in [
            ("a", 0.6, "", ()), ("b", 1.5, "blood", ()), ("c", 2.2, "blood", ("a",)), ("d", 0.5, "", ("c",)),
        ]
    )  # fmt: skip
    losses = np.array([[0.0, 0, 40, 40], [60, 60, 0, 0]])
    made = DiagnosticProblem(
        name="drawn", states=("x", "y"), tests=tests,
        decisions=tuple(Decision(f"call-{k}", -row) for k, row in enumerate(losses)),
        prior=np.array([0.3, 0.3, 0.3, 0.1]), partition={"x": ("1", "2"), "y": ("1", "2")},
        about_diagnosis=about_diagnosis, **({"groups": {"blood": 1.6}} | rules),
    )  # fmt: skip
    agent = BoundAgent("one", horizon, weight)
    cases = generator.integers(3, size=(8, 4))
    found = replay(made, agent, cases)
    graph = Graph(made)
    policy = GraphPolicy(graph, agent)
    for case, results in enumerate(cases.tolist()):
        node, spend, asked = graph.root, 0.0, [0.0] * 4
        while (action := policy.action(node)).name in "abcd":
            test = "abcd".index(action.name)
            spend, asked[test] = spend - float(action.reward[0]), 1.0
            slot = int(policy.choice[node])
            graph.expand(np.array([node]))
            node = int(graph.next[node, slot, results[test]])
        assert found.asked[case].tolist() == asked
        assert found.spend[case] == pytest.approx(spend, abs=1e-12)
        assert made.flat.commits[found.commit[case]].name == action.name
