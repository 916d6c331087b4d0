"""Simulation: the published streams, digit for digit, and agreement with the exact score."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rhoplan
from bridge import (
    AGENTS,
    BLOCK,
    LARGEST_SEED,
    PUBLISHED_SEEDS,
    Rollout,
    RolloutSettings,
    Streams,
    draw_state,
    make_agent,
    outcome_for,
    simulate_episodes,
)
from bridge import decide_at as decide
from bridge import episodes_on_graphs as simulate_on_graphs
from bridge import estimate as simulate
from rhoplan import AgentError, ImpossibleEvidence, LimitError

FALSE_ALARM_SE = 6.0
"""A mean strays this many standard errors with probability 2e-9; hundreds of comparisons stay below 1e-6."""


def close(estimate: float, error: float, exact: float) -> bool:
    return abs(estimate - exact) <= FALSE_ALARM_SE * error + 1e-12


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("spec", ["tiger", "testbed", "diagnosis", "bandit:k=3", "tileworld:n=3"])
def test_simulated_and_exact_scores_agree(spec: str, agent: str) -> None:
    problem = rhoplan.make(spec)
    chosen = make_agent(agent, problem, weight=5, unit="bits")
    exact = rhoplan.evaluate(problem, chosen)
    estimate = simulate(problem, chosen, episodes=400)
    for column in ("reward", "tests", "success", "truncated", "log_score"):
        assert close(getattr(estimate, column), estimate.se[column], getattr(exact, column)), column
    longest = max(len(exact.tests_distribution), len(estimate.tests_distribution))
    shares = np.zeros((2, longest))
    shares[0, : len(exact.tests_distribution)] = exact.tests_distribution
    shares[1, : len(estimate.tests_distribution)] = estimate.tests_distribution
    error = np.sqrt(np.maximum(shares[0] * (1 - shares[0]), 0.0) / estimate.episodes) + 1 / estimate.episodes
    assert np.all(np.abs(shares[0] - shares[1]) <= FALSE_ALARM_SE * error)


def test_agreement_in_another_world_and_with_a_finite_precision() -> None:
    problem, world = rhoplan.make("diagnosis:accuracy=0.7"), rhoplan.make("diagnosis:accuracy=0.9,cost=0.5")
    for precision in (math.inf, 0.3):
        agent = make_agent("efe", problem, precision=precision)
        exact = rhoplan.evaluate(problem, agent, world=world)
        estimate = simulate(problem, agent, world=world, episodes=600)
        for column in ("reward", "tests", "success", "log_score"):
            assert close(getattr(estimate, column), estimate.se[column], getattr(exact, column)), column


@pytest.mark.parametrize("spec", ["tiger", "bandit"])
def test_episodes_equal_the_plain_loop_on_the_published_streams(spec: str) -> None:
    problem = rhoplan.make(spec)
    agent = make_agent("efe", problem, unit="bits")
    seeds = PUBLISHED_SEEDS[:2]
    rows = simulate_episodes(problem, agent, seeds=seeds, episodes=20)
    place = 0
    for seed in seeds:
        for number in range(20):
            rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed * 10000 + number)))
            state = draw_state(rng, problem.prior)
            situation, paid, steps = problem.belief(), 0.0, 0
            while True:
                actions = {action.name: action for action in problem.menu(situation.observable)}
                action = actions[decide(problem, agent, situation).choice]
                paid += float(action.reward[state])
                if action.ends_episode:
                    break
                outcome = action.outcomes[outcome_for(rng.random(), action.likelihood[state])]
                situation = situation.update(action.name, outcome)
                steps += 1
            assert (rows.reward[place], rows.tests[place]) == (pytest.approx(paid, abs=1e-9), steps)
            assert rows.log_score[place] == pytest.approx(math.log(situation.beliefs[0][state]), abs=1e-9)
            place += 1


def test_agents_with_one_policy_give_identical_rows() -> None:
    problem = rhoplan.make("tiger")
    planning, efe = (make_agent(name, problem) for name in ("planning", "efe"))
    left = simulate_episodes(problem, planning, seeds=[7], episodes=300)
    right = simulate_episodes(problem, efe, seeds=[7], episodes=300)
    assert np.array_equal(left.reward, right.reward)
    assert np.array_equal(left.tests, right.tests)


def test_result_does_not_depend_on_the_number_of_processes() -> None:
    problem = rhoplan.make("diagnosis")
    agent = make_agent("efe", problem, precision=2.0)
    told: list[int] = []
    alone = simulate(problem, agent, seeds=[1, 2, 3], episodes=150, progress=told.append)
    assert simulate(problem, agent, seeds=[1, 2, 3], episodes=150, jobs=2) == alone
    assert sum(told) == 450


def test_long_episodes_draw_on() -> None:
    """More uniform numbers than the first block holds, and the cap: truncated episodes pay what they spent."""
    problem = rhoplan.make("testbed:accuracy=0.5001")
    agent = make_agent("planning-ig", problem, weight=1e9, horizon=1)
    rows = simulate_episodes(problem, agent, seeds=[3], episodes=40, max_steps=150)
    assert rows.truncated.all()
    assert not rows.success.any()
    assert rows.reward == pytest.approx(-15.0)
    assert rhoplan.evaluate(problem, agent, max_steps=150).truncated == pytest.approx(1.0)


def test_a_stream_goes_on_as_it_would_have_been_drawn_at_once() -> None:
    """One walker needs more numbers than the first block has; the other comes to them later."""
    prior, last = np.array([0.3, 0.7]), 2 * BLOCK + 1
    world = rhoplan.make("tiger")
    streams = Streams(replace(world, factors=(replace(world.factors[0], prior=prior),)), 7, 3, 5)
    for walker, number in ((0, 3), (1, 4)):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(7 * 10000 + number)))
        assert streams.states[walker].tolist() == [draw_state(rng, prior)]
        told = [streams.uniforms(np.array([walker]))[0] for _ in range(last)]
        assert told == rng.random(last).tolist()


def test_impossible_evidence_names_situation_action_and_outcome() -> None:
    """The agent believes that it always hears right; almost indifferent, it listens on and is contradicted."""
    problem, world = rhoplan.make("tiger:accuracy=1"), rhoplan.make("tiger")
    agent = make_agent("planning-ig", problem, precision=1e-6)
    with pytest.raises(ImpossibleEvidence, match=r"'hear-(left|right)' of 'listen'.*belief is \(tiger"):
        simulate(problem, agent, world=world, episodes=200)
    with pytest.raises(ImpossibleEvidence, match=r"probability zero under the model of 'tiger'"):
        rhoplan.evaluate(problem, agent, world=world)
    told = ""
    for count in range(1, 60):  # one episode among several that are possible
        try:
            simulate_episodes(problem, agent, world=world, seeds=[42], episodes=count)
        except ImpossibleEvidence as error:
            told = str(error)
            break
    side, other = ("left", "right") if "'hear-left'" in told else ("right", "left")
    assert f"'hear-{side}' of 'listen'" in told
    assert f"tiger-{other} 1" in told


def test_trusting_a_faulty_test_commits_after_one() -> None:
    problem, world = rhoplan.make("tiger:accuracy=1"), rhoplan.make("tiger")
    score = rhoplan.evaluate(problem, make_agent("planning", problem), world=world)
    assert (score.tests, score.success) == (pytest.approx(1), pytest.approx(0.85))
    assert score.log_score == -math.inf


def drifting(observations: int) -> rhoplan.POMDP:
    """Hidden states that change make new beliefs at every step, also in one place."""
    rng = np.random.default_rng(0)
    transition, likelihood = rng.dirichlet(np.ones(3), (2, 3)), rng.dirichlet(np.ones(observations), (2, 3))
    return rhoplan.from_arrays(transition, likelihood, rng.normal(size=(2, 3)), start=np.full(3, 1 / 3), discount=0.9)


@pytest.mark.parametrize("limit", [{"memory": 50_000}, {"memory": 400_000}, {"batch": 7}])
def test_episodes_are_the_same_when_they_move_to_new_graphs(limit, monkeypatch):
    """Beliefs that never meet, two steps looked ahead: all episodes at once would add thousands of nodes."""
    problem, made = drifting(4), []
    policy = make_agent("efe", problem, horizon=2).policy(problem)
    whole = simulate_on_graphs(problem, policy, seeds=(1, 2), episodes=60, max_steps=10)
    start = Rollout._start_graph

    def counted(rollout):
        made.append(rollout)
        start(rollout)

    monkeypatch.setattr(Rollout, "_start_graph", counted)
    settings = RolloutSettings(**limit)
    apart = simulate_on_graphs(problem, policy, seeds=(1, 2), episodes=60, max_steps=10, settings=settings)

    assert repr(apart.to_frame()) == repr(whole.to_frame())
    assert len(made) > 4 or "batch" in limit


def test_a_decision_that_does_not_fit_into_memory_is_refused():
    problem = drifting(4)
    policy = make_agent("efe", problem, horizon=6).policy(problem)
    with pytest.raises(LimitError) as refused:
        simulate_on_graphs(problem, policy, episodes=3, max_steps=3, settings=RolloutSettings(memory=400_000))
    assert refused.value.code == "memory-limit"


def test_without_tests_all_cases_have_none() -> None:
    never = rhoplan.Test("look", 50.0, ("no", "yes"), np.array([[0.6, 0.4], [0.4, 0.6]]))
    commits = (rhoplan.Decision("A", np.array([1.0, 0.0])), rhoplan.Decision("B", np.array([0.0, 1.0])))
    problem = rhoplan.DiagnosticProblem(name="dear", states=("a", "b"), tests=(never,), decisions=commits)
    score = rhoplan.evaluate(problem, make_agent("planning", problem))
    assert score.tests_distribution == (1.0,)
    assert (score.tests, score.success) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"episodes": 0}, "episodes"),
        ({"seeds": []}, "seeds"),
        ({"seeds": [-1, 3]}, "seeds"),
        ({"seeds": [3, LARGEST_SEED + 1]}, "seeds"),
        ({"seeds": [8, 7], "episodes": 10_001}, "seeds"),
        ({"seeds": [8, 7], "episodes": 10_000, "jobs": 0}, "jobs"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], field: str) -> None:
    problem = rhoplan.make("tiger")
    agent = make_agent("myopic", problem)
    for work in (simulate, simulate_episodes):
        with pytest.raises(AgentError) as refused:
            work(problem, agent, **settings)
        assert refused.value.field == (field,)


def test_the_smallest_settings_and_the_largest_seed_are_taken() -> None:
    problem = rhoplan.make("tiger")
    agent = make_agent("efe", problem)
    rows = simulate_episodes(problem, agent, seeds=[LARGEST_SEED, 0], episodes=1, max_steps=1)
    assert (rows.steps.tolist(), rows.truncated.tolist()) == ([1, 1], [True, True])
    assert rhoplan.evaluate(problem, agent, max_steps=1).truncated == 1
    assert simulate(problem, agent, seeds=[3, 4], episodes=10_000, max_steps=1).episodes == 20_000
    assert (LARGEST_SEED, PUBLISHED_SEEDS) == (10**14, (42, 123, 456, 789, 1024))
