"""The contract of planners, what breaks it, and the values with which decisions are explained."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import rhoplan
from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.agents.check import PROBLEMS as SMALL
from rhoplan.agents.planners import FollowRule
from rhoplan.agents.registry import PLANNERS, Registered
from rhoplan.errors import AgentError
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.planning.policy import Policy, PolicyOnGraph
from rhoplan.planning.tree_search import TreeSearchSettings
from rhoplan.planning.utility import FunctionUtility

TIGER, ROCKS = rhoplan.make("tiger"), rhoplan.make("rocksample:n=3,k=2")
SOLVERS = [(name, horizon) for name in PLANNERS for horizon in (1, 3) if (name, horizon) != ("many", 1)]
"""The planner for tests that run once has no horizon where it searches."""


@pytest.mark.parametrize(("name", "horizon"), SOLVERS)
def test_registered_planners_keep_the_contract(name: str, horizon: int) -> None:
    small = {"simulations": 40} if "simulations" in PLANNERS[name].takes else {}
    rhoplan.check_planner(PLANNERS[name].load()(horizon=horizon, **small))


@pytest.mark.parametrize("name", [name for name, row in PLANNERS.items() if "seconds" in row.takes])
def test_planners_limited_by_time_keep_the_contract(name: str) -> None:
    planner = PLANNERS[name].load()(horizon=2, seconds=0.002)
    assert planner.is_timed
    rhoplan.check_planner(planner, problems=SMALL[:1])


def test_a_rule_is_saved_with_its_weight(tmp_path: Any) -> None:
    rocks = rhoplan.make("rocksample:n=3,k=2")
    policy = rhoplan.agent("greedy", information_weight=3.0).solve(rocks)
    policy.save(tmp_path / "greedy")
    again: Any = rhoplan.load_policy(tmp_path / "greedy", rocks)
    assert (again.name, again.objective.information_weight) == ("greedy", 3.0)
    with pytest.raises(rhoplan.NotAvailable):
        BoundAgent("own", planner=FollowRule(rule=lambda problem, situation, weight: "exit")).policy(rocks).save(
            tmp_path / "own"
        )


# -- broken contracts -------------------------------------------------------------------------------------------------


class Bent(Policy):
    """Look-ahead over two actions whose choice `bend` changes."""

    def __init__(self, straight: Policy, bend: Callable[[Policy, rhoplan.Belief], str]) -> None:
        self.problem, self.straight, self.bend = straight.problem, straight, bend

    def action(self, belief: Any) -> str:
        return self.bend(self.straight, self.belief(belief))

    def probabilities(self, belief: Any) -> dict[str, float]:
        return self.straight.probabilities(belief)


def last(policy: Policy, belief: rhoplan.Belief) -> str:
    return next(name for name in reversed(belief.actions) if name != policy.action(belief))


def meddling(policy: Policy, belief: rhoplan.Belief) -> str:
    policy.problem.factors[0].prior[:] = [0.4, 0.6]
    return policy.action(belief)


class Other(Bent):
    """Another policy on a graph."""

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        return rhoplan.FunctionPolicy(graph.problem, lambda held: held.actions[-1]).on(graph)


def fickle(policy: Policy) -> Policy:
    count = iter(range(10_000))
    return rhoplan.FunctionPolicy(policy.problem, lambda held: held.actions[next(count) // 2 % len(held.actions)])


@dataclass(frozen=True)
class Broken(rhoplan.Planner):
    """make: what it returns instead of look-ahead."""

    name: ClassVar[str] = "broken"
    make: Callable[[Policy], Any] = lambda policy: policy

    def solve(self, problem: rhoplan.POMDP, objective: rhoplan.Objective | None = None) -> Policy:
        return self.make(rhoplan.Lookahead(2).solve(problem, objective))  # type: ignore[no-any-return]


class Nameless(Broken):
    name: ClassVar[str] = ""


def writable() -> rhoplan.POMDP:
    """Tiger with a prior that can be written to."""
    prior = np.array([0.5, 0.5])
    factor = rhoplan.Factor("state", TIGER.states, prior)
    factor.prior.flags.writeable = True
    return replace(TIGER, factors=(factor,))


@pytest.mark.parametrize(
    ("planner", "promise"),
    [
        (Broken(lambda policy: Bent(policy, lambda _, belief: "fly")), "select an available action"),
        (Broken(lambda policy: Bent(policy, last)), "select the most probable action"),
        (Broken(fickle), "do the same at the same belief"),
        (Broken(lambda policy: Other(policy, lambda straight, belief: straight.action(belief))), "same on a graph"),
        (Broken(lambda policy: Bent(policy, meddling)), "leave the problem as it is"),
        (Broken(lambda policy: "listen"), "return a Policy"),
        (Nameless(), "have a name"),
    ],
    ids=["unavailable", "last", "fickle", "graph", "meddling", "text", "nameless"],
)
def test_a_broken_contract_is_reported(planner: rhoplan.Planner, promise: str) -> None:
    rhoplan.check_planner(Broken())
    with pytest.raises(AgentError, match=promise) as caught:
        rhoplan.check_planner(planner, problems=[writable()])
    assert caught.value.code == "planner-contract"


def test_a_planner_that_samples_against_its_row_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLANNERS, "broken", Registered("", Broken, (), samples=True))
    with pytest.raises(AgentError, match="sample if and only if"):
        rhoplan.check_planner(Broken())


# -- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [TIGER, ROCKS, *SMALL], ids=lambda problem: problem.name)
@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_terms_of_a_value_add_up_to_the_backup(problem: rhoplan.POMDP, weight: float) -> None:
    """The value of an action is its reward, its weighted information and the discounted value of what follows."""
    objective = rhoplan.Objective(weight, discount=0.9)
    policy, shorter = (rhoplan.Lookahead(horizon).solve(problem, objective) for horizon in (2, 1))
    start = problem.belief()
    for belief in (start, *(one.belief for one in start.branches(start.actions[0]) if one.belief.actions)):
        recommended = rhoplan.decide(problem, policy, belief)
        terminal = {action.name for action in problem.menu(belief.observable) if action.ends_episode}
        ends = [action.name in terminal for action in recommended.actions]
        assert {action.name for action in recommended.actions} == set(belief.actions)
        assert ends == sorted(ends)
        for one in recommended.actions:
            after = [(each.probability, each.belief) for each in belief.branches(one.name) if each.belief.actions]
            later = 0.9 * sum(chance * shorter.value(following) for chance, following in after)
            assert one.value == pytest.approx(one.reward + one.weighted_information + one.continuation)
            assert (one.continuation, one.weighted_information) == pytest.approx((later, weight * one.information))
            assert one.preserves_hidden_state or one.coupling != 0
        assert sum(one.probability for one in recommended.actions) == pytest.approx(1)
        chosen = next(one for one in recommended.actions if one.name == recommended.choice)
        assert chosen.value == pytest.approx(max(one.value for one in recommended.actions))


def test_of_terminal_actions_without_reward_only_the_best_is_taken() -> None:
    """The test is worth 1 less than ending; with inverse temperature 2 it is taken exp(2) times less often."""
    objective = rhoplan.Objective(terminal_rewards=False, inverse_temperature=2.0)
    shares = rhoplan.Lookahead(1).solve(TIGER, objective).probabilities(TIGER.belief(given=[("listen", "hear-left")]))
    ends = 1 / (1 + math.exp(-2.0))  # the tiger is on the left
    assert shares == pytest.approx({"listen": 1 - ends, "open-left": 0.0, "open-right": ends})


def test_turnover_is_the_sum_of_absolute_rewards_that_count() -> None:
    decision = rhoplan.decide(TIGER, make_agent("epistemic-only", TIGER, weight=0.0))
    assert (decision.choice, decision.turnover) == ("open-left", 0.0)
    assert rhoplan.decide(TIGER, make_agent("planning", TIGER)).turnover > 0
    searched = rhoplan.decide(TIGER, make_agent("efe", TIGER, planner="mcts", simulations=20, horizon=3))
    chosen = next(action for action in searched.actions if action.name == searched.choice)
    assert searched.turnover == abs(chosen.reward) + abs(chosen.continuation) != abs(chosen.reward)


def test_values_that_differ_by_rounding_keep_the_order_of_the_actions() -> None:
    listen = TIGER.flat.tests[0]
    twins = replace(listen, name="first"), replace(listen, name="second", cost=1.0 + 1e-14)
    for tests, choice in ((twins, "first"), (twins[::-1], "second")):
        problem = rhoplan.DiagnosticProblem(
            name="twins", states=TIGER.states, tests=tests, decisions=TIGER.flat.commits
        )
        assert rhoplan.decide(problem, rhoplan.Lookahead(2)).choice == choice


# -- planners of the library -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("utility", [rhoplan.NegativeEntropy(3.0), FunctionUtility(lambda b, a: b[:, 0], name="b0")])
def test_a_derived_leaf_that_leaves_the_utility_out_is_refused(utility: rhoplan.Utility) -> None:
    rocks = rhoplan.make("rocksample-standard:n=4,k=2")
    agent = make_agent("planning-ig", rocks, planner="anytime", utility=utility)
    with pytest.raises(AgentError) as caught:
        rhoplan.decide(rocks, agent)
    assert (caught.value.code, caught.value.field) == ("planner-unsupported", ("utility",))
    assert rhoplan.decide(rocks, agent.changed(weight=1.0, utility=rhoplan.Information())).choice


def test_the_leaf_of_a_diagnostic_problem_counts_the_utility() -> None:
    utility = rhoplan.NegativeEntropy(3.0)
    exact, anytime = (BoundAgent("mine", 2, utility=utility, planner=name) for name in ("exact", "anytime"))
    assert rhoplan.decide(TIGER, exact) == rhoplan.decide(TIGER, anytime)


def test_a_plan_that_deepens_leaves_terminal_rewards_out() -> None:
    """No terminal action counts, and no test is worth its cost: epistemic-only stops at once."""
    agent = make_agent("epistemic-only", TIGER, planner="anytime", seconds=0.01)
    assert rhoplan.decide(TIGER, agent).choice == "open-left"


def test_pomcp_looks_three_actions_further_than_its_horizon() -> None:
    assert [TreeSearchSettings(name, 2).depth for name in ("mcts", "pomcp")] == [2, 5]


def test_planners_are_values() -> None:
    assert rhoplan.Lookahead(3) == rhoplan.Lookahead(3) != rhoplan.Lookahead(4)


def test_policies_with_a_derived_leaf_are_sent_to_other_processes() -> None:
    problem = rhoplan.make("drilling")
    policy = rhoplan.Anytime(horizon=1).solve(problem)
    again = pickle.loads(pickle.dumps(policy)) if policy.action(problem.belief()) else None
    assert again.action(problem.belief()) == policy.action(problem.belief())
