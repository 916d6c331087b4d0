"""How fast the factored problems and the searches are; part of `rhoplan bench`.

`plain_choice` is the paper's depth-limited search as one would write it down: no merging, no batches, the problem's own
leaf at the end of each branch. It is the baseline of the ratios, and its choice must be the planner's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.belief_math.information import entropy, update
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import END, POMDP, Array, Observable
from rhoplan.problems.registry import make

PUBLISHED = (
    "rocksample:n=5,k=3",
    "rocksample:n=7,k=4",
    "rocksample:n=7,k=8",
    "rocksample:n=11,k=11",
    "inspection:n=8",
    "inspection:n=16",
)

SEARCHES = (
    ("tiger", "pomcp", 500_000.0),
    ("tiger", "mcts", None),
    ("rocksample:n=7,k=8", "pomcp", 50_000.0),
    ("rocksample:n=7,k=8", "mcts", None),
)
"""Problem, method, and simulations per second that are promised."""


EPISODES = 20
"""Episodes over which the depth-limited planner is timed: as in use, later decisions find much of the graph there."""

PLAIN_DECISIONS = 3


def factored_rows() -> Iterator[dict[str, Any]]:
    """Rows for `run_benchmarks`: searches, then decisions of the depth-limited and of the anytime planner."""
    for spec, method, promised in SEARCHES:
        yield _search_row(spec, method, promised)
    for spec in PUBLISHED:
        yield _decision_row(spec)
    for spec in (*PUBLISHED, "rocksample-standard:n=7,k=8"):
        yield _anytime_row(spec)


def _search_row(spec: str, method: str, promised: float | None) -> dict[str, Any]:
    from rhoplan.planning.tree_search import TreeSearch, TreeSearchSettings

    problem = make(spec)
    depth = problem.horizon + 3 if method == "pomcp" else 12
    settings = TreeSearchSettings(method, depth, extra_depth=0, simulations=None, seconds=1.0)
    search = TreeSearch(problem, settings, weight=0.0 if method == "pomcp" else 1.0)
    search.run(problem.belief())
    result = search.run(problem.belief(), seed=1)
    rate = result.simulations / result.seconds
    limit = result.simulations / promised if promised else None
    detail = f": {rate:,.0f} a second" + (f", {promised:,.0f} promised" if promised else "")
    what = f"{result.simulations:,} {method} simulations on {spec}, depth {depth}"
    return {"what": what, "seconds": result.seconds, "limit": limit, "ratio": None, "detail": detail}


def _decision_row(spec: str) -> dict[str, Any]:
    problem = make(spec)
    agent = make_agent("efe", problem)
    seconds, made = _play(problem, agent, EPISODES)
    begin = time.perf_counter()
    for situation, choice in made[:PLAIN_DECISIONS]:
        plain = plain_choice(problem, situation, agent.horizon, agent.weight_per_nat)
        assert plain == choice, f"{spec}: the plain recursion takes {plain}, the planner {choice}"
    slow = (time.perf_counter() - begin) / PLAIN_DECISIONS
    graph = Graph(problem)
    begin = time.perf_counter()
    GraphPolicy(graph, agent).settle(np.array([graph.root]))
    first = time.perf_counter() - begin
    what = f"{len(made)} decisions of efe on {spec}, depth {agent.horizon}, {EPISODES} episodes"
    detail = (
        f" ({slow:.4f} s against {seconds / len(made):.5f} s a decision); {len(made) / seconds:,.0f} decisions a "
        f"second, the first in {first:.4f} s"
    )
    return {"what": what, "seconds": seconds, "limit": None, "ratio": slow * len(made) / seconds, "detail": detail}


def _anytime_row(spec: str) -> dict[str, Any]:
    problem = make(spec)
    agent = make_agent("planning", problem, planner="anytime")
    _play(problem, agent, 1)  # compiles, or reads what was compiled
    seconds, made = _play(problem, agent, 1)
    what = f"{len(made)} decisions of the anytime planner on {spec}, depth {agent.horizon}, one episode"
    detail = f": {seconds / len(made):.4f} s a decision"
    limit = 0.2 * len(made)
    return {"what": what, "seconds": seconds, "limit": limit, "ratio": None, "detail": detail}


def _play(problem: POMDP, agent: BoundAgent, episodes: int) -> tuple[float, list[tuple[Belief, str]]]:
    """Seconds spent on deciding in seeded episodes that share a graph, and every situation with its choice."""
    graph, generator = Graph(problem), np.random.default_rng(7)
    policy, made, seconds = GraphPolicy(graph, agent), [], 0.0
    for _ in range(episodes):
        node = graph.root
        for _ in range(problem.cap):
            begin = time.perf_counter()
            policy.settle(np.array([node]))
            seconds += time.perf_counter() - begin
            menu, slot = graph.menus[graph.observable[node]], policy.choice[node]
            name = menu.going[slot].name if slot >= 0 else menu.ending[policy.ending[node]].name
            made.append((graph.situation(node), name))
            if slot < 0:
                break
            outcome = generator.choice(graph.probability.shape[2], p=graph.probability[node, slot])
            node = int(graph.next[node, slot, outcome])
            if node < 0:
                break
    return seconds, made


def plain_choice(problem: POMDP, situation: Belief, depth: int, weight: float) -> str:
    """The action that the plain recursion takes."""
    worths = _plain_worths(problem, situation.observable, situation.beliefs, depth, weight)
    best = max(value for _, value in worths)
    return next(name for name, value in worths if value >= best - 1e-9)


def _plain_worths(
    problem: POMDP, observable: Observable, beliefs: tuple[Array, ...], depth: int, weight: float
) -> list[tuple[str, float]]:
    """Name and value of every action, ending ones first."""
    worths = []
    for action in sorted(problem.menu(observable), key=lambda action: not action.ends_episode):
        belief = beliefs[action.factor]
        value = float(belief @ action.reward)
        if not action.ends_episode:
            probability, posterior = update(belief[None, :], action)
            after = 0.0
            for outcome, target in enumerate(action.leads_to):
                chance = float(probability[0, outcome])
                if chance > 0:
                    following = (*beliefs[: action.factor], posterior[0, outcome], *beliefs[action.factor + 1 :])
                    after += chance * float(entropy(posterior[0, outcome]))
                    if target is not END:
                        value += chance * _plain_value(problem, target, following, depth - 1, weight)
            if action.preserves_hidden_state:
                value += weight * (float(entropy(belief)) - after)
        worths.append((action.name, value))
    return worths


def _plain_value(
    problem: POMDP, observable: Observable, beliefs: tuple[Array, ...], depth: int, weight: float
) -> float:
    if depth == 0:
        assert problem.leaf is not None
        return float(problem.leaf([observable], tuple(belief[None, :] for belief in beliefs))[0])
    return max(value for _, value in _plain_worths(problem, observable, beliefs, depth, weight))
