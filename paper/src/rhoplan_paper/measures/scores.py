"""What jobs measure. Every function takes plain values and gives plain values; None stands for a missing number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rhoplan.agents.agent import make_agent
from rhoplan.api import episodes as simulate_episodes
from rhoplan.api import evaluate
from rhoplan.errors import LimitError
from rhoplan.evaluation.episodes import Episodes
from rhoplan.evaluation.steps import policy_steps
from rhoplan.planning.certified.solve import solve
from rhoplan.problems.registry import make
from rhoplan_paper.registry import measure


@measure
def score(
    problem: str, agent: str, *, world: str | None = None, cap: int | None = None, **settings: Any
) -> dict[str, Any]:
    """Exact means and standard deviations of an agent; `limit` says why where there are none."""
    model = make(problem)
    chosen = make_agent(agent, model, **settings)
    try:
        found = evaluate(model, chosen, world=make(world) if world else None, max_steps=cap)
    except LimitError as error:
        return {"limit": str(error)}
    shares = np.array(found.tests_distribution)
    spread = math.sqrt(max(float(shares @ np.arange(len(shares)) ** 2) - found.tests**2, 0.0))
    return {
        "reward": found.reward,
        "reward_sd": _plain(found.reward_sd),
        "tests": found.tests,
        "tests_sd": spread,
        "success": _plain(found.success),
        "truncated": found.truncated,
        "tests_distribution": [float(share) for share in shares],
        "tallies": found.tallies,
    }


@measure
def simulated(
    problem: str,
    agent: str,
    *,
    episodes: int,
    seeds: list[int],
    world: str | None = None,
    cap: int | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Means, standard deviations and seed means of seeded episodes (the published streams)."""
    model = make(problem)
    chosen = make_agent(agent, model, **settings)
    rows = simulate_episodes(
        model, chosen, world=make(world) if world else None, seeds=seeds, episodes=episodes, max_steps=cap
    )
    return {"episodes": len(rows.reward), "columns": _columns(rows, len(seeds))}


@measure
def optimum(problem: str, *, gap: float = 1e-4, seconds: float = 120.0) -> dict[str, Any]:
    """The certified optimum: bounds, and what the plan behind the lower bound brings."""
    found = solve(make(problem), gap=gap, seconds=seconds)
    return {
        "lower": found.lower,
        "upper": found.upper,
        "reward": found.reward,
        "tests": found.tests,
        "success": found.success,
        "converged": found.converged,
    }


@measure
def ceiling(problem: str) -> dict[str, Any]:
    """What no agent can beat in a factored problem."""
    from rhoplan.planning.routing.full_information import full_information_bound  # which brings numba

    found = full_information_bound(make(problem))
    return {"clairvoyant": found.value, "tight": found.is_exact, "optimum": found.optimum}


@measure
def steps(
    problem: str, horizon: int, *, high: float = 200.0, unit: str = "nats", resolution: float = 1e-6
) -> dict[str, Any]:
    """The policy as a function of the weight: every interval between 0 and `high`, with the exact score inside.

    Changes closer than `resolution` are told as one.
    """
    found = policy_steps(make(problem), horizon=horizon, low=0.0, high=high, unit=unit, resolution=resolution)
    parts = ("reward", "tests", "success")
    scores = [{name: getattr(step.score, name) for name in parts} for step in found]
    return {"steps": [{"lower": s.lower, "upper": s.upper, **score} for s, score in zip(found, scores, strict=True)]}


@measure
def reaches_optimum(problem: str, optimum: float, *, deepest: int = 30, margin: float = 1e-4) -> dict[str, Any]:
    """Exact reward of reward-only planning by horizon, up to the first that comes within `margin` of the optimum."""
    model = make(problem)
    rewards: list[float] = []
    for horizon in range(1, deepest + 1):
        try:
            rewards.append(evaluate(model, make_agent("planning", model, horizon=horizon)).reward)
        except LimitError:
            break
        if rewards[-1] >= optimum - margin:
            return {"rewards": rewards, "horizon": horizon}
    return {"rewards": rewards, "horizon": None}


def _columns(rows: Episodes, seeds: int) -> dict[str, dict[str, Any]]:
    """mean, sd and seed_means of every column of `rows`."""
    values: dict[str, Any] = {"reward": rows.reward, "tests": rows.tests, "steps": rows.steps}
    values |= {"success": rows.success, "truncated": rows.truncated, "discounted": rows.discounted, **rows.tallies}
    columns = {}
    for name, column in values.items():
        numbers = np.asarray(column, dtype=float)
        if np.isnan(numbers).any():
            continue
        spread = float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0
        means = [float(part.mean()) for part in np.split(numbers, seeds)]
        columns[name] = {"mean": float(numbers.mean()), "sd": spread, "seed_means": means}
    return columns


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
