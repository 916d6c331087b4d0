"""RockSample, Inspection and Navigation: the published rows digit for digit, and a plain recursion to agree with."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rhoplan
from bridge import coupling, make_agent, simulate_episodes
from bridge import decide_at as decide
from bridge import estimate as simulate
from rhoplan import ProblemError
from rhoplan.gym import make_env

# Agent, weight -> reward, and tallies, as the paper prints them.
ROCKSAMPLE = {
    # The paper's caption says 500 episodes for each of 5 seeds; its numbers are those of 50 and 20 episodes of seed 42.
    ("rocksample:n=5,k=3", 50, (42,)): {
        "planning": (14.00, 1.06, 0.08),
        "planning-ig": (15.67, 1.34, 0.02),
        "efe": (15.67, 1.34, 0.02),
    },
    ("rocksample:n=7,k=4", 50, (42,)): {
        "planning": (14.39, 0.98, 0.04),
        "planning-ig": (13.47, 1.50, 0.02),
        "efe": (15.47, 1.38, 0.00),
    },
    ("rocksample:n=7,k=8", 20, (42,)): {
        "planning": (11.75, 0.45, 0.05),
        "planning-ig": (20.82, 2.55, 0.05),
        "efe": (19.57, 2.15, 0.05),
    },
    ("rocksample:n=11,k=11", 50, (42, 123)): {
        "planning": (13.64, 0.50, 0.01),
        "planning-ig": (13.66, 0.53, 0.01),
        "efe": (13.64, 0.50, 0.01),
    },
}
INSPECTION = {
    # reward, its standard error, tests, missed faults, accuracy in percent
    ("inspection:n=8", 500): {
        "planning": (-17.85, 0.34, 12.7, 0.07, 73.0),
        "planning-ig": (-22.82, 0.35, 18.7, 0.10, 94.9),
        "efe": (-20.60, 0.34, 18.0, 0.08, 87.9),
    },
    ("inspection:n=16", 200): {
        "planning": (-46.09, 0.94, 22.3, 0.26, 78.2),
        "planning-ig": (-43.51, 0.85, 28.1, 0.24, 91.4),
        "efe": (-45.71, 0.94, 32.8, 0.27, 86.1),
    },
}


@pytest.mark.parametrize("n", [3, 5])
def test_navigation_agents_find_the_goal(n: int) -> None:
    problem = rhoplan.make(f"navigation:n={n}")
    for name in ("nav-myopic", "info-gain", "efe"):
        found = simulate(problem, make_agent(name, problem), seeds=[42, 123], episodes=20)
        assert found.success > 0.8
        assert found.success + found.truncated == pytest.approx(1)


def weight_of(agent: str) -> float | None:
    return 5.0 if agent == "planning-ig" else None


@pytest.mark.parametrize("case", ROCKSAMPLE, ids=lambda case: case[0])
def test_rocksample_rows_are_the_published_ones(case: tuple[str, int, tuple[int, ...]]) -> None:
    spec, episodes, seeds = case
    problem = rhoplan.make(spec)
    for name, printed in ROCKSAMPLE[case].items():
        agent = make_agent(name, problem, weight=weight_of(name))
        found = simulate(problem, agent, seeds=seeds, episodes=episodes)
        assert (found.reward, found.tallies["good"], found.tallies["bad"]) == pytest.approx(printed, abs=0.00501)


@pytest.mark.parametrize("case", INSPECTION, ids=lambda case: case[0])
def test_inspection_rows_are_the_published_ones(case: tuple[str, int]) -> None:
    spec, episodes = case
    problem = rhoplan.make(spec)
    for name, (reward, error, tests, missed, accuracy) in INSPECTION[case].items():
        agent = make_agent(name, problem, weight=weight_of(name))
        found = simulate(problem, agent, episodes=episodes)
        right = found.tallies["right_nominal"] + found.tallies["right_faulty"]
        assert (found.reward, found.se["reward"]) == pytest.approx((reward, error), abs=0.00501)
        assert found.tests == pytest.approx(tests, abs=0.0501)
        assert found.tallies["missed"] == pytest.approx(missed, abs=0.00501)
        assert 100 * right / len(problem.factors) == pytest.approx(accuracy, abs=0.0501)


def test_moves_tell_nothing_and_only_sampling_changes_a_rock() -> None:
    problem = rhoplan.make("rocksample")
    for cell in [(row, column) for row in range(5) for column in range(5)]:
        for action in problem.menu(cell):
            assert action.preserves_hidden_state == (action.kind != "sample")
            assert (action.kind == "sample") == (action.name == "sample" and cell in problem.details["places"])
    decision = rhoplan.decide(problem, make_agent("efe", problem))
    assert all(action.information == 0 for action in decision.actions if action.kind == "move")


def test_checking_is_surest_from_the_rock_itself() -> None:
    problem = rhoplan.make("rocksample")
    checks = {cell: problem.menu(cell)[4].likelihood[1, 1] for cell in [(1, 2), (1, 1), (0, 0)]}
    assert checks[(1, 2)] == 0.95
    assert checks[(1, 1)] == pytest.approx(0.95 * 0.5**0.25)
    assert checks[(0, 0)] == pytest.approx(0.95 * 0.5 ** (math.sqrt(5) / 4))


def test_bumping_into_a_wall_does_not_enter_the_goal() -> None:
    problem = rhoplan.make("navigation:n=3")
    north = problem.menu((0, 0))[0]
    assert north.likelihood[0] == pytest.approx([0.0, 0.9, 0.1])
    south = problem.menu((0, 0))[1]
    assert south.likelihood[3].tolist() == [1.0, 0.0, 0.0]


def test_inspection_ends_with_the_last_declaration() -> None:
    problem = rhoplan.make("inspection:n=2")
    (row, column), _ = problem.details["places"]
    menu = {action.name: action for action in problem.menu((row, column, 0b10))}
    assert menu["declare-faulty"].ends_episode
    assert "visual" not in {action.name for action in problem.menu((row, column, 0b01))}


REFUSED = {
    "k": ("rocksample:n=3,k=10", "rocksample:k=0", "tileworld:k=9", "tileworld:k=0", "diagnosis:k=7", "bandit:k=1"),
    "n": ("rocksample:n=1", "inspection:n=0", "navigation:n=1", "diagnosis:n=1", "tileworld:n=1.5", "bandit:n=3",
          f"tileworld:n={10**400}"),
    "layout": ("rocksample:layout=other", "rocksample:n=9,k=2,layout=appendix"),
    "rocks": ("rocksample:rocks=1.1/1.1/2.2", "rocksample:rocks=1.1/9.9/2.2", "rocksample:rocks=1.1/2.2",
              "rocksample:rocks=a.b", "rocksample:rocks=1.2.3/1.1/2.2"),
    "places": ("inspection:n=2,places=0.0/0.0", "inspection:n=2,places=0.0"),
    "techniques": ("inspection:techniques=a:2:1", "inspection:techniques=a:x:1", "inspection:techniques=a:0.5",
                   "inspection:techniques=a:0.5:inf", "inspection:techniques=a:0.6:1/a:0.7:2"),
    "seed": ("rocksample:layout=random,seed=-1", "rocksample-standard:n=5,seed=-1", "tileworld:seed=-1"),
    "partition": ("tileworld:partition=other",),
    "prior": ("rocksample:prior=2", "drilling:prior=nan"),
    "visual": ("inspection:visual=1.2",),
    "accuracy": ("tiger:accuracy=2", "tiger:accuracy=inf", "tiger:accuracy=0.7,accuracy=0.8"),
    "discount": ("rocksample-standard:discount=0",),
}  # fmt: skip


@pytest.mark.parametrize(("field", "spec"), [(field, spec) for field, specs in REFUSED.items() for spec in specs])
def test_parameters_that_make_no_sense_are_refused(field: str, spec: str) -> None:
    with pytest.raises(ProblemError) as caught:
        rhoplan.make(spec)
    assert caught.value.field == (field,)
    assert "\n" not in str(caught.value)


def test_large_inspection_is_planned_without_a_flat_state() -> None:
    problem = rhoplan.make("inspection:n=16")
    assert math.prod(len(factor.states) - 1 for factor in problem.factors) == 65_536
    assert rhoplan.decide(problem, make_agent("efe", problem)).choice in {"south", "east"}


def test_coupling_vanishes_exactly_where_the_hidden_state_is_preserved() -> None:
    """Proposition 3, and its limit: a test that changes what it measures."""
    for spec in ("rocksample", "inspection", "navigation", "tiger", "drilling", "drilling:damage=0"):
        problem = rhoplan.make(spec)
        for action in rhoplan.decide(problem, make_agent("efe", problem)).actions:
            assert (action.coupling == 0) == (action.preserves_hidden_state or spec == "drilling:damage=0")
    drilling = rhoplan.make("drilling")
    destructive = [a for a in rhoplan.decide(drilling, make_agent("efe", drilling)).actions if a.coupling > 0]
    assert [action.name for action in destructive] == ["drill"]


def test_coupling_of_drilling_is_the_divergence_of_the_two_posteriors() -> None:
    problem = rhoplan.make("drilling")
    drill = problem.menu("bench")[1]
    expected = 0.0
    for clear in (0.95, 0.05):
        joint = [0.7 * clear, 0.3 * (1 - clear)]
        probability = sum(joint)
        still = [part / probability for part in joint]
        moved = [0.85 * still[0], 0.15 * still[0] + still[1]]
        expected += probability * sum(m * math.log(m / s) for m, s in zip(moved, still, strict=True))
    assert coupling(np.array([[0.7, 0.3]]), drill)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("spec", ["drilling", "rocksample", "inspection:n=2", "navigation:n=3"])
def test_episodes_are_those_of_the_environment(spec: str) -> None:
    """Two ways to the same draws: one episode at a time in Gymnasium, all at once on the graph."""
    problem = rhoplan.make(spec)
    agent = make_agent("efe", problem, horizon=2)
    rows = simulate_episodes(problem, agent, seeds=[42], episodes=20, max_steps=40)
    for number in range(20):
        env = make_env(problem, cap=40)
        names = env.unwrapped.action_names
        env.reset(seed=420000 + number)
        situation, total, over = problem.belief(), 0.0, False
        while not over:
            choice = decide(problem, agent, situation).choice
            _, reward, terminated, truncated, info = env.step(names.index(choice))
            total, over = total + reward, terminated or truncated
            if not over:
                action = next(a for a in problem.menu(situation.observable) if a.name == choice)
                found = [b for b in situation.branches(action) if b.observation == info["outcome"]]
                situation = found[0].belief
        assert rows.reward[number] == pytest.approx(total, abs=1e-9)
        assert rows.truncated[number] == truncated
