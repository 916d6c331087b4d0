"""Plans within a horizon: the certified bounds contain what a plain recursion over all outcomes finds."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rhoplan
from bridge import BoundAgent, FixedMenu, FollowRule, _guarded
from bridge import solve_bounds as solve
from rhoplan import END, POMDP, Action, Belief, Factor, with_horizon

WEIGHTS = (0.0, 1.0)


def drawn(seed: int) -> POMDP:
    """A random problem whose hidden state changes, shown after the change; every third one can be ended."""
    rng = np.random.default_rng(seed)
    states, outcomes = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    actions = []
    for number in range(2):
        moves, shows = rng.dirichlet(np.ones(states), states), rng.dirichlet(np.full(outcomes, 0.5), states)
        likelihood, change = rhoplan.from_transition_observation(moves, shows)
        reward = rng.normal(size=states)
        names = tuple(f"o{one}" for one in range(outcomes))
        actions.append(Action(f"a{number}", reward, likelihood, names, ("here",) * outcomes, transition=change))
    if seed % 3 == 0:
        actions.append(Action("stop", 3 * rng.normal(size=states), np.ones((states, 1)), ("done",), (END,)))
    factor = Factor("x", tuple("abc"[:states]), rng.dirichlet(np.ones(states)))
    return POMDP("drawn", (factor,), "here", FixedMenu(tuple(actions)), discount=float(rng.choice([0.7, 1.0])))


def entropy(belief: list[float]) -> float:
    return -sum(p * math.log(p) for p in belief if p > 0)


def best(problem: POMDP, here: Belief, left: int, weight: float) -> float:
    """The value of `left` more actions and then the best ending one, by trying everything."""
    found = []
    for action in problem.menu(here.observable):
        ends = all(place is END for place in action.leads_to)
        if not left and not ends:
            continue
        after = here.branches(action)
        worth = float(here.beliefs[0] @ action.reward)
        if not ends:
            mixed = np.sum([one.probability * one.belief.beliefs[0] for one in after], axis=0)
            doubt = sum(one.probability * entropy(one.belief.beliefs[0].tolist()) for one in after)
            worth += weight * (entropy(mixed.tolist()) - doubt)
            later = sum(one.probability * best(problem, one.belief, left - 1, weight) for one in after)
            worth += problem.discount * later
        found.append(worth)
    return max(found, default=0.0)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("seed", range(12))
def test_bounds_contain_the_recursion(seed: int, weight: float) -> None:
    problem = drawn(seed)
    for horizon in (1, 2, 4):
        found = solve(problem, horizon=horizon, weight=weight, gap=1e-6)
        value = best(problem, problem.belief(), horizon, weight)
        assert found.stopped_by == "gap"
        assert found.lower - 1e-9 <= value <= found.upper + 1e-9


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("spec", ["tiger", "diagnosis:n=4", "chest-pain", "navigation:n=3"])
def test_the_horizon_counts_as_the_exact_planner_counts_it(spec: str, weight: float) -> None:
    problem = replace(rhoplan.make(spec), leaf=None)
    for horizon in (1, 3):
        decision = rhoplan.decide(problem, BoundAgent("exact", horizon=horizon, weight=weight))
        found = solve(problem, horizon=horizon, weight=weight, gap=1e-4)
        exact = max(action.value for action in decision.actions)
        slack = 1e-6 * problem.reward_scale
        assert found.lower - slack <= exact <= found.upper + slack


def test_a_longer_horizon_is_worth_more_up_to_none() -> None:
    tiger = rhoplan.make("tiger")
    found = [solve(tiger, horizon=horizon, gap=1e-4) for horizon in (1, 3, 9)]
    whole = solve(tiger, gap=1e-4)
    assert [one.lower for one in found] == sorted(one.lower for one in found)
    assert found[-1].lower <= whole.upper
    assert found[-1].upper < whole.lower


@pytest.mark.parametrize("seed", range(1, 3))
def test_being_cut_off_is_no_success(seed: int) -> None:
    """Where nothing is committed to, the last action is not right or wrong because it is the last."""
    problem = drawn(seed)
    limited = rhoplan.with_horizon(problem, 2)
    agent = BoundAgent("planning", horizon=2, weight=0.0)
    assert math.isnan(rhoplan.evaluate(problem, agent, max_steps=3).success)
    assert math.isnan(rhoplan.evaluate(limited, agent).success)
    assert not math.isnan(rhoplan.evaluate(rhoplan.with_horizon(rhoplan.make("tiger"), 2), agent).success)


@pytest.mark.parametrize("horizon", [0, -2])
def test_a_horizon_below_one_is_refused(horizon: int) -> None:
    with pytest.raises(rhoplan.ProblemError, match=f"horizon must be a whole number of at least 1; it is {horizon}"):
        solve(rhoplan.make("tiger"), horizon=horizon)


def test_the_other_method_has_no_horizon() -> None:
    with pytest.raises(rhoplan.AgentError, match="horizon is for methods grids and points"):
        solve(rhoplan.make("tiger"), horizon=3, method="reveal")


def test_a_policy_counts_down_and_is_worth_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = str(tmp_path / "three")

    def told(*arguments: str) -> str:
        assert _guarded(list(arguments)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    shown = told("solve", "tiger", "--horizon", "3", "--save", policy, "--gap", "1e-4")
    record = json.loads(told("solve", "tiger", "--horizon", "3", "--gap", "1e-4", "--json"))
    score = json.loads(told("evaluate", "tiger", "--agent", f"solved:{policy}", "--json"))
    last = "listen=hear-left,listen=hear-right,listen=hear-left"
    at_last = json.loads(told("decide", "tiger", "--agent", f"solved:{policy}", "--given", last, "--json"))

    assert "best plan of at most 3 actions for reward" in shown
    assert record["horizon"] == 3
    assert record["lower"] - 1e-6 <= score["reward"] <= record["upper"] + 1e-6
    assert score["truncated"] == 0
    assert set(at_last["bounds"]) == {"open-left", "open-right"}
    assert at_last["choice"] == "open-right"


def test_settings_that_a_saved_policy_fixes_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = str(tmp_path / "three")
    assert _guarded(["solve", "tiger", "--horizon", "3", "--save", policy, "--gap", "1", "--json"]) == 0

    def told(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert _guarded(["decide", "tiger", "--agent", f"solved:{policy}", "--json", *arguments]) == code
        return capsys.readouterr().err

    fixed = "note: solved does what its policy says, which has weight 0 and discount 1.0; "
    assert told("--weight", "2", "--horizon", "2") == f"{fixed}horizon, weight are not used\n"
    assert told("--discount", "0.5") == f"{fixed}discount is not used\n"
    assert told("--utility", "negative-entropy", "--unit", "bits") == f"{fixed}unit, utility are not used\n"
    assert told("--weight", "0", "--horizon", "3", "--discount", "1", "--utility", "information") == ""
    assert told() == ""
    assert "horizon must be" in told("--horizon", "0", code=2)


def test_a_situation_without_a_count_is_refused_with_the_way_out() -> None:
    tiger = rhoplan.make("tiger")
    policy = solve(tiger, horizon=2, gap=0.1).policy
    assert policy is not None
    assert policy.action(rhoplan.with_horizon(tiger, 2).belief()) == "listen"
    with pytest.raises(rhoplan.EvidenceError, match=r"must be those of with_horizon\(problem, 2\)"):
        policy.action(tiger.belief())


def test_others_are_compared_within_the_horizon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, policy = "rocksample:n=3,k=1", f"{tmp_path / 'four'}"
    assert _guarded(["solve", spec, "--horizon", "4", "--gap", "0.01", "--save", policy, "--json"]) == 0
    upper = json.loads(capsys.readouterr().out)["upper"]
    assert _guarded(["evaluate", spec, "--agent", f"solved:{policy},planning,efe", "--json"]) == 0
    for score in json.loads(capsys.readouterr().out):
        assert score["reward"] <= upper + 1e-9
        assert score["truncated"] == 0
    assert _guarded(["evaluate", spec, "--agent", f"solved:{policy},greedy"]) == 2
    assert "there is no agent 'greedy'" in capsys.readouterr().err  # rules know of no horizon


def test_the_last_action_of_a_horizon_is_no_commit() -> None:
    """What it shows, and how what it pays scatters, counts as that of any other."""
    one = np.ones((1, 1))
    shows, pays = np.full((1, 1, 2), 0.5), np.array([[[[10.0, -10.0]]]])
    problem = rhoplan.from_arrays(one[None], shows, pays, discount=0.9)
    for actions in (1, 2):
        limited = with_horizon(problem, actions)
        policy = solve(problem, horizon=actions).policy
        agent = BoundAgent("solved", planner=FollowRule(rule=policy))
        score = rhoplan.evaluate(limited, agent)
        assert (score.reward, score.tests, score.steps) == (0.0, actions, actions)
        assert score.reward_sd == pytest.approx(10 * actions**0.5)
        assert np.isnan(score.log_score)
        drawn = rhoplan.simulate(limited, agent, seeds=(0,), episodes=200)
        assert (drawn.tests, drawn.steps) == (actions, actions)
        assert drawn.reward_sd == pytest.approx(10 * actions**0.5, rel=0.2)


def test_where_one_can_commit_the_horizon_leaves_commits_what_they_are() -> None:
    limited = with_horizon(rhoplan.make("tiger"), 1)
    kinds = {action.name: action.kind for action in limited.menu(limited.start)}
    assert kinds["listen"] == "test"
    assert {kinds[name] for name in kinds if name != "listen"} == {"commit"}
