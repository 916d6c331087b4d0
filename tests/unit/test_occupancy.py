"""Exact evaluation on the belief graph: laws of the propagation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rhoplan
from bridge import BoundAgent, make_agent
from rhoplan.api import evaluate
from rhoplan.budget import Budget
from rhoplan.evaluation import exact
from rhoplan.evaluation.criteria import Counted, expected_success
from rhoplan.evaluation.exact import score
from rhoplan.evaluation.occupancy import Occupancy
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.pomdp import END, POMDP, Action, Factor, FixedMenu
from rhoplan.model.records import EventCount
from rhoplan.model.worlds import in_names_of
from rhoplan.planning.lookahead import LookaheadOnGraph
from rhoplan.planning.utility import FunctionUtility


def test_an_observation_that_the_agent_rules_out_is_refused() -> None:
    def made(row: list[float]) -> POMDP:
        return rhoplan.DiagnosticProblem(
            name="sure",
            states=("a", "b"),
            tests=(rhoplan.Test("look", 0.1, ("x", "y"), np.array([row, [0.5, 0.5]])),),
            decisions=(rhoplan.Decision("A", np.array([1.0, -9.0])), rhoplan.Decision("B", np.array([-9.0, 1.0]))),
            prior=np.array([0.9, 0.1]),
        )

    believed, world = made([1.0, 0.0]), made([0.5, 0.5])
    certain = replace(believed, factors=(replace(believed.factors[0], prior=np.array([1.0, 0.0])),))
    agent = make_agent("epistemic-only", certain, horizon=1, weight=1.0, precision=1.0)

    with pytest.raises(rhoplan.ImpossibleEvidence, match="probability zero"):
        evaluate(certain, agent, world=world, max_steps=3)


def follow(spec: str, steps: int, *, world: POMDP | None = None, **settings: Any) -> Occupancy:
    problem = rhoplan.make(spec)
    agent = make_agent("planning-ig", problem, planner="exact", **settings)
    truth = None if world is None else BeliefGraph(in_names_of(problem, world))
    return Occupancy(agent.policy(problem).on(BeliefGraph(problem)), steps=steps, world=truth)


@pytest.mark.parametrize("precision", [math.inf, 1.0])
@pytest.mark.parametrize("spec", ["diagnosis", "rocksample:n=5,k=3", "drilling", "navigation"])
def test_no_case_is_lost(spec: str, precision: float) -> None:
    """What does not end in a layer, and is not dropped, is in the next one."""
    occupancy, alive, ended = follow(spec, 6, horizon=2, weight=5.0, precision=precision), 1.0, 0.0
    for layer in occupancy:
        assert layer.mass.sum() == pytest.approx(alive, abs=1e-12)
        if layer.is_cut:
            ended += layer.mass.sum()
            break
        assert np.bincount(layer.case, weights=layer.act_mass) == pytest.approx(layer.mass)
        ended += layer.act_mass[layer.stops].sum() + layer.part_mass[layer.ends].sum()
        alive = layer.total[layer.kept].sum()
    assert ended + occupancy.dropped == pytest.approx(1, abs=1e-12)


def test_cases_that_are_dropped_are_counted() -> None:
    problem = rhoplan.make("tiger")
    agent = make_agent("efe", problem)
    occupancy = Occupancy(agent.policy(problem).on(BeliefGraph(problem)), steps=problem.cap, negligible=1e-2)

    ended = sum(layer.act_mass[layer.stops].sum() for layer in occupancy)

    assert occupancy.dropped > 1e-4
    assert ended + occupancy.dropped == pytest.approx(1)


def test_an_initial_observation_takes_no_time() -> None:
    one, rows = np.ones((2, 1)), np.array([[0.9, 0.1], [0.2, 0.8]])
    menus = {
        "start": (Action("look", np.zeros(2), rows, ("x", "y"), ("here", "here")),),
        "here": tuple(Action(name, pay, one, ("-",), (END,)) for name, pay in
                      (("A", np.array([1.0, 0.0])), ("B", np.array([0.0, 1.0])))),
    }  # fmt: skip
    factors = (Factor("s", ("a", "b"), np.array([0.5, 0.5])),)
    problem = POMDP("first", factors, "start", menus.__getitem__, discount=0.5, looks_first=True)
    agent = make_agent("planning", problem, planner="exact", horizon=2)
    graph = BeliefGraph(problem)

    assert LookaheadOnGraph(graph, agent.objective, 2).value(np.array([graph.root])) == pytest.approx([0.85])
    assert evaluate(problem, agent).discounted == pytest.approx(0.85)


@pytest.mark.parametrize("spec", ["tiger", "diagnosis", "four-diseases"])
def test_information_adds_up_to_what_the_last_beliefs_know(spec: str) -> None:
    """Expected information in all is the entropy of the prior less the expected entropy at the end."""
    occupancy, told, left = follow(spec, 30, horizon=3, weight=2.0), 0.0, 0.0
    for layer in occupancy:
        told += 0.0 if layer.is_cut else layer.act_mass @ layer.arcs.information
        case, mass = (slice(None), layer.mass) if layer.is_cut else (
            layer.case[layer.stops], layer.act_mass[layer.stops])  # fmt: skip
        left += mass @ layer.graph.entropy(layer.node[case])
    graph = occupancy.graph

    assert told == pytest.approx(graph.entropy(np.array([graph.root]))[0] - left, rel=1e-9)


def test_criteria_of_layers_add_up_to_the_score() -> None:
    problem = rhoplan.make("tiger")
    world = rhoplan.make("tiger:accuracy=0.7")
    agent = make_agent("planning-ig", problem, horizon=4, weight=1.0)
    found = evaluate(problem, agent, world=world)
    graph = BeliefGraph(in_names_of(problem, world))
    occupancy = Occupancy(agent.policy(problem).on(BeliefGraph(problem)), steps=problem.cap, world=graph)
    states = np.array(problem.states)
    counted = {
        "right": [EventCount((one.name,), tuple(states[one.reward > 0].tolist())) for one in problem.commits],
        "missed": [EventCount((one.name,), tuple(states[one.reward < 0].tolist())) for one in problem.commits],
    }
    events = {name: [Counted(tally, graph) for tally in tallies] for name, tallies in counted.items()}
    total = dict.fromkeys(("reward", "steps", "success", "missed", "right"), 0.0)
    for layer in occupancy:
        total["reward"] += layer.act_mass @ layer.world_arcs.reward
        total["steps"] += layer.act_mass.sum()
        for _, mass, _, world_node, action in layer.ended:
            ends = np.flatnonzero(action >= 0)
            total["success"] += mass[ends] @ expected_success(graph, world_node[ends], action[ends])
        for name, several in events.items():
            total[name] += sum(layer.act_mass @ event.expected(layer.world_arcs) for event in several)

    assert total["reward"] == pytest.approx(found.reward)
    assert total["steps"] == pytest.approx(found.tests + 1 - found.truncated)
    assert total["success"] == pytest.approx(total["right"])
    assert total["success"] == pytest.approx(found.success)
    assert total["missed"] + total["right"] == pytest.approx(1 - found.truncated)


def test_the_variance_is_that_of_the_distribution() -> None:
    """One case in a million loses 1e12; two stakes on one hidden coin have the variance of their sum."""
    loss, share = 1e12, 1e-6
    rare = rhoplan.DiagnosticProblem(
        name="rare", states=("usual", "rare"), prior=np.array([1 - share, share]), tests=(),
        decisions=(rhoplan.Decision("go", np.array([-1.0, -loss])),),
    )  # fmt: skip
    found = evaluate(rare, make_agent("planning", rare))
    assert found.reward == pytest.approx(-(1 - share) - share * loss, rel=1e-15)
    assert found.reward_sd == pytest.approx((loss - 1) * math.sqrt(share * (1 - share)), rel=1e-12)

    one = np.ones((2, 1))
    bet = Action("bet", np.array([1.0, -1.0]), one, ("-",), ("second",))
    last = Action("last", np.array([1.0, -1.0]), one, ("-",), (END,))
    menus = {"first": (bet,), "second": (last,)}
    coin = POMDP("coin", (Factor("coin", ("h", "t"), np.array([0.5, 0.5])),), "first", menus.__getitem__)
    assert evaluate(coin, make_agent("planning", coin, planner="exact")).reward_sd == pytest.approx(2.0)


@pytest.mark.parametrize("last_first", [False, True])
def test_actions_with_equal_numbers_that_end_the_episode_or_not_have_a_variance_each(last_first: bool) -> None:
    """After a coin that says nothing the stake is either played once or twice."""
    one, pays = np.ones((2, 1)), np.array([-1.0, 1.0])
    toss = Action(
        "toss", np.zeros(2), np.full((2, 2), 0.5), ("x", "y"), ("end", "more") if last_first else ("more", "end")
    )
    bet, last = Action("bet", pays, one, ("-",), ("end",)), Action("last", pays, one, ("-",), (END,))
    menus = {"start": (toss,), "more": (bet,), "end": (last,)}
    coin = POMDP("coin", (Factor("coin", ("h", "t"), np.array([0.5, 0.5])),), "start", menus.__getitem__)
    assert evaluate(coin, lambda belief: belief.actions[0]).reward_sd ** 2 == pytest.approx(0.5 * 4 + 0.5 * 1)


def test_chance_in_the_payment_of_a_terminal_action_has_a_variance() -> None:
    pays = np.array([[1.0, -1.0], [1.0, -1.0]])
    gamble = Action("gamble", np.zeros(2), np.full((2, 2), 0.5), ("win", "lose"), (END, END), pays=pays)
    coin = POMDP("coin", (Factor("coin", ("h", "t"), np.array([0.5, 0.5])),), "start", FixedMenu((gamble,)))
    assert evaluate(coin, lambda belief: "gamble").reward_sd == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1e9, 1e15, 1e18])
def test_a_score_keeps_its_digits_beside_giant_losses(size: float) -> None:
    problem = rhoplan.DiagnosticProblem(
        name="sums",
        states=("a", "b"),
        tests=(rhoplan.Test("t", 20.0, ("n", "p"), np.eye(2), repeatable=False),),
        decisions=(rhoplan.Decision("A", np.array([0.0, -size])), rhoplan.Decision("B", np.array([-size, 0.0]))),
    )
    found = evaluate(problem, make_agent("planning", problem))

    assert (found.reward, found.reward_sd) == (-20.0, 0.0)


def test_one_graph_serves_several_agents() -> None:
    problem = rhoplan.make("diagnosis")
    graph = BeliefGraph(problem)
    for weight in (0.0, 1.0, 20.0):
        agent = make_agent("planning-ig", problem, weight=weight)
        shared = score(LookaheadOnGraph(graph, agent.objective, agent.planner.horizon), steps=problem.cap)
        alone = evaluate(problem, agent)
        assert (shared.reward, shared.reward_sd) == pytest.approx((alone.reward, alone.reward_sd))


def test_a_utility_that_is_not_finite_is_refused() -> None:
    problem = rhoplan.make("tiger")
    broken = BoundAgent("mine", horizon=2, utility=FunctionUtility(lambda beliefs, action: beliefs[:, 0] * np.nan))

    with pytest.raises(rhoplan.AgentError, match="finite"):
        evaluate(problem, broken)


def test_budgets_and_caps_are_checked() -> None:
    problem = rhoplan.make("tileworld:n=4")
    agent = make_agent("efe", problem)

    with pytest.raises(rhoplan.LimitError, match="nodes"):
        exact.evaluate(problem, agent.policy(problem), budget=Budget(nodes=100))
    with pytest.raises(rhoplan.AgentError, match="max_steps"):
        evaluate(problem, agent, max_steps=0)


def test_a_fixed_menu_without_terminal_actions_is_cut_off() -> None:
    rows = np.array([[0.8, 0.2], [0.3, 0.7]])
    menu = FixedMenu((Action("look", np.array([1.0, -0.5]), rows, ("x", "y"), ("here", "here")),))
    problem = POMDP("endless", (Factor("s", ("a", "b"), np.array([0.4, 0.6])),), "here", menu, cap=4)

    found = evaluate(problem, make_agent("planning", problem, planner="exact"))

    assert (found.truncated, found.steps, found.tests) == pytest.approx((1, 4, 4))
    assert found.reward == pytest.approx(4 * (0.4 - 0.3))
    assert math.isnan(found.success)
