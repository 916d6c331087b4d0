"""The paper's agents that follow a rule: its numbers digit for digit, their names, files and refusals."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

import rhoplan as rp
from rhoplan.evaluation.streams import PUBLISHED_SEEDS

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
NAMED = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["entry-points"]["rhoplan.agents"]

PAIRS = [
    ("rocksample:n=3,k=1", "greedy"), ("rocksample", "greedy"), ("rocksample", "heuristic"), ("inspection", "greedy"),
    ("inspection:n=1", "blind"), ("inspection", "blind"), ("navigation", "nav-myopic"),
]  # fmt: skip

APPENDIX = ("rocksample:n=5,k=3,layout=appendix", "rocksample:n=7,k=4,layout=appendix")
PUBLISHED: list[tuple[str, str, float, int, int, dict[str, float]]] = [
    # Problem, agent, weight, episodes for each seed, number of seeds, and what the paper prints.
    (APPENDIX[0], "greedy", 1, 500, 5, {"reward": 4.03, "sd": 17.24, "steps": 12.0, "good": 1.50, "bad": 1.50}),
    (APPENDIX[0], "heuristic", 1, 500, 5, {"reward": 8.63, "sd": 10.63, "steps": 19.4, "good": 1.16, "bad": 0.33}),
    (APPENDIX[0], "heuristic", 5, 500, 5, {"reward": 8.64}),
    (APPENDIX[1], "greedy", 1, 500, 5, {"reward": -0.58, "sd": 20.12, "steps": 21.0, "good": 2.00, "bad": 2.00}),
    (APPENDIX[1], "heuristic", 1, 500, 5, {"reward": 8.20, "sd": 12.35, "steps": 29.3, "good": 1.71, "bad": 0.43}),
    (APPENDIX[1], "heuristic", 5, 500, 5, {"reward": 5.57}),
    ("rocksample:n=11,k=11", "greedy", 1, 50, 2, {"reward": -21.90}),
    ("inspection:n=8", "greedy", 1, 500, 5, {"reward": -114.33, "error": 1.33}),
    ("inspection:n=16", "greedy", 1, 200, 5, {"reward": -237.46, "error": 2.93}),
]


@pytest.mark.parametrize(("spec", "name", "weight", "episodes", "seeds", "printed"), PUBLISHED)
def test_scores_are_the_published_ones(
    spec: str, name: str, weight: float, episodes: int, seeds: int, printed: dict[str, float]
) -> None:
    agent = rp.agent(name, information_weight=weight)
    found = rp.simulate(spec, agent, episodes=episodes, seeds=PUBLISHED_SEEDS[:seeds])
    values = {"reward": found.reward, "sd": found.reward_sd, "steps": found.steps, "error": found.se["reward"]}
    values |= found.tallies
    for key, wanted in printed.items():
        assert values[key] == pytest.approx(wanted, abs=0.0501 if key == "steps" else 0.00501), key


def test_declaring_by_the_prior_beats_the_published_greedy() -> None:
    blind, greedy = (rp.simulate("inspection", name, episodes=100) for name in ("blind", "greedy"))
    assert blind.reward > greedy.reward + 50


@pytest.mark.parametrize(("prior", "declared"), [(0.4, "right_nominal"), (0.5, "right_nominal"), (0.6, "right_faulty")])
def test_greedy_declares_what_is_more_likely(prior: float, declared: str) -> None:
    right = rp.evaluate(f"inspection:n=2,prior={prior}", "greedy").tallies[declared]
    assert right == pytest.approx(2 * max(prior, 1 - prior))


@pytest.mark.parametrize(("spec", "name"), PAIRS)
def test_rules_are_agents_by_name_that_keep_the_promises_of_planners(spec: str, name: str, tmp_path: Path) -> None:
    problem = rp.make(spec)
    rp.check_planner(resolve_name(NAMED[name]), problems=[problem])
    agent = rp.agent(name)
    agent.solve(problem).save(tmp_path / "policy")
    saved = rp.load_policy(tmp_path / "policy", spec)
    scores = rp.evaluate(problem, {"name": name, "agent": agent, "saved": saved}, max_steps=20).values()
    assert len({(one.reward, one.reward_sd, one.steps, one.truncated) for one in scores}) == 1


def test_a_saved_rule_has_its_weight(tmp_path: Path) -> None:
    spec = "rocksample:n=7,k=4,layout=appendix"
    policy = rp.agent("heuristic", information_weight=5, information_unit="bits").solve(rp.make(spec))
    policy.save(tmp_path / "policy")
    again = rp.load_policy(tmp_path / "policy", spec)
    scores = [rp.simulate(spec, one, episodes=20, seeds=0).reward for one in (policy, again, "heuristic")]
    assert scores[0] == scores[1] != scores[2]


@pytest.mark.parametrize(
    ("spec", "name"),
    [("tiger", "greedy"), ("rocksample-standard", "greedy"), ("rocksample", "blind"), ("inspection", "nav-myopic")],
)
@pytest.mark.parametrize("use", [rp.evaluate, rp.decide, rp.simulate], ids=lambda use: use.__name__)
def test_rules_are_refused_for_other_problems_with_the_agents_that_there_are(
    spec: str, name: str, use: Callable[..., Any]
) -> None:
    with pytest.raises(rp.AgentError, match=f"no agent '{name}'.* there are myopic, planning, ") as caught:
        use(spec, name)
    assert caught.value.code == "unknown-agent"
    assert name not in str(caught.value).partition("there are")[2]
    with pytest.raises(rp.AgentError):
        use(rp.with_horizon("rocksample", 5), "greedy")  # rules know of no horizon
