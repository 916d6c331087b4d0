"""What a policy does where committing counts nothing, and how it ranks actions that rounding parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rhoplan
from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy, action_values, in_order
from rhoplan.agents.agent import make_agent
from rhoplan.model.situation import observe_all

TIGER = rhoplan.make("tiger")


def test_of_commits_that_count_nothing_only_the_best_is_taken() -> None:
    """Without a commit a test is worth 1 less than ending; precision 2 takes it exp(2) times less often."""
    graph = Graph(TIGER)
    agent = make_agent("epistemic-only", TIGER, weight=0.0, horizon=1, precision=2.0)
    heard = graph.node(observe_all(TIGER, [("listen", "hear-left")]))
    ending, going = GraphPolicy(graph, agent).probabilities(np.array([heard]))
    ends = 1 / (1 + np.exp(-2.0))
    assert ending[0] == pytest.approx([0.0, ends])  # the tiger is on the left
    assert going[0] == pytest.approx([1 - ends])


def test_commits_that_count_nothing_are_no_turnover() -> None:
    decision = rhoplan.decide(TIGER, make_agent("epistemic-only", TIGER, weight=0.0))
    assert (decision.choice, decision.turnover) == ("open-left", 0.0)
    assert rhoplan.decide(TIGER, make_agent("planning", TIGER)).turnover > 0


def test_actions_that_differ_by_less_than_the_gains_in_them_keep_their_order() -> None:
    """Opening a door is 10 or -100: a difference of 1e-11 between plans that come to nearly 0 is rounding."""
    listen = TIGER.flat.tests[0]
    twins = replace(listen, name="first"), replace(listen, name="second")
    problem = rhoplan.DiagnosticProblem(name="twins", states=TIGER.states, tests=twins, decisions=TIGER.flat.commits)
    graph = Graph(problem)
    policy = GraphPolicy(graph, make_agent("planning", problem, horizon=2))
    values = {"first": 0.0, "second": 1e-11}
    told = tuple(replace(one, value=values.get(one.name, -45.0)) for one in action_values(policy, graph.root))
    assert [one.name for one in in_order(policy, graph.root, told)][:2] == ["first", "second"]
    values["second"] = 1e-6
    told = tuple(replace(one, value=values.get(one.name, -45.0)) for one in told)
    assert [one.name for one in in_order(policy, graph.root, told)][:2] == ["second", "first"]


def test_what_a_search_wins_and_loses_is_what_it_estimates() -> None:
    """It has no plan to walk along: what is paid at once, and the size of what it expects."""
    decision = rhoplan.decide(TIGER, make_agent("efe", TIGER, planner="mcts", simulations=20, horizon=3))
    chosen = next(action for action in decision.actions if action.name == decision.choice)
    assert chosen.continuation != 0
    assert decision.turnover == abs(chosen.reward) + abs(chosen.continuation)
