"""Exact score on problems with places and several factors, where the reachable graph is small enough to hold.

The same idea as in `scoring`, in the agent's own world: mass moves along the chosen actions until it ends. Only means
are kept, since what an episode paid says something about its hidden state here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rhoplan.agents.agent import Agent
from rhoplan.agents.policy import Policy
from rhoplan.errors import LimitError
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import Action, Array, Ids, Problem
from rhoplan.scoring.evaluate import Score

NEGLIGIBLE = 1e-13
"""Mass at one node at one step below which it is no longer followed."""

MOST_NODES = 3_000_000
"""Graph size beyond which simulation is the better tool."""


def push(problem: Problem, agent: Agent, *, cap: int) -> Score:
    """Exact means of `agent` in its own world. `tests_distribution` is over tests; reward_sd and log_score are NaN."""
    graph = Graph(problem, node_limit=MOST_NODES)
    policy = Policy(graph, agent)
    nodes, mass = np.array([graph.root]), np.ones((1, 1))  # mass (n, number of tests so far)
    reward = dropped = 0.0
    ended = np.zeros(1)
    tallies = dict.fromkeys(problem.tallies, 0.0)
    try:
        for _ in range(cap):
            policy.settle(nodes)
            slots, here = policy.choice[nodes], mass.sum(axis=1)
            stops = slots < 0
            for name in tallies:
                tallies[name] += float(here @ _tallied(policy, nodes, name))
            reward += float(here[stops] @ _ending_reward(policy, nodes[stops]))
            ended = _added(ended, mass[stops].sum(axis=0))
            nodes, mass, slots, here = nodes[~stops], mass[~stops], slots[~stops], here[~stops]
            if not nodes.size:
                break
            reward += float(here @ graph.reward[nodes, slots])
            nodes, mass, over, lost = _moved(graph, nodes, slots, mass)
            ended, dropped = _added(ended, over), dropped + lost
    except LimitError:
        raise LimitError(
            f"'{problem.name}' has more than {MOST_NODES:,} situations within reach: score it by `rhoplan simulate`"
        ) from None
    truncated = mass.sum(axis=0) if nodes.size else np.zeros(1)
    shares = _added(ended, truncated)
    return Score(
        reward=reward,
        reward_sd=float("nan"),
        tests=float(shares @ np.arange(len(shares))),
        success=tallies.pop("success", float("nan")),
        truncated=float(truncated.sum()),
        log_score=float("nan"),
        tests_distribution=tuple(shares.tolist()),
        dropped=dropped,
        nodes=graph.size,
        tallies=tallies,
    )


def _moved(graph: Graph, nodes: Ids, slots: Ids, mass: Array) -> tuple[Ids, Array, Array, float]:
    """Nodes and mass one step later, the mass whose outcome ended the episode, and the mass dropped."""
    is_test = np.array(
        [graph.menus[v].going[s].kind == "test" for v, s in zip(graph.visible[nodes], slots, strict=True)]
    )
    wide = np.zeros((len(nodes), mass.shape[1] + 1))
    wide[~is_test, :-1] = mass[~is_test]
    wide[is_test, 1:] = mass[is_test]
    targets, chance = graph.next[nodes, slots], graph.probability[nodes, slots]
    rows, outcomes = np.nonzero(chance > 0)
    flow = wide[rows] * chance[rows, outcomes][:, None]
    after = targets[rows, outcomes]
    over = flow[after < 0].sum(axis=0)
    reached, place = np.unique(after[after >= 0], return_inverse=True)
    total = np.zeros((len(reached), wide.shape[1]))
    np.add.at(total, place, flow[after >= 0])
    heavy = total.sum(axis=1) > NEGLIGIBLE
    used = max(int(np.flatnonzero(total.any(axis=0))[-1]) + 1, 1) if total.any() else 1
    return reached[heavy].astype(np.int64), total[heavy][:, :used], over, float(total[~heavy].sum())


def _tallied(policy: Policy, nodes: Ids, name: str) -> Array:
    """Expected count (n,) of the tally `name` when the agent acts at `nodes`."""
    graph, result = policy.graph, np.zeros(len(nodes))
    tally = graph.problem.tallies[name]
    for action, chosen in _taken(policy, nodes):
        states = graph.problem.factors[action.factor].states
        per_state = (tally.counts(action, states) * action.likelihood).sum(axis=1)
        result[chosen] = graph.beliefs(nodes[chosen], action.factor) @ per_state
    return result


def _ending_reward(policy: Policy, nodes: Ids) -> Array:
    """Expected reward (n,) of the ending action that the agent takes at `nodes`."""
    result = np.zeros(len(nodes))
    for action, chosen in _taken(policy, nodes):
        result[chosen] = policy.graph.beliefs(nodes[chosen], action.factor) @ action.reward
    return result


def _taken(policy: Policy, nodes: Ids) -> Iterator[tuple[Action, Ids]]:
    """The actions that the agent takes at `nodes`, each with the positions where it does."""
    graph = policy.graph
    for visible, positions in graph.by_visible(nodes):
        slots, endings = policy.choice[nodes[positions]], policy.ending[nodes[positions]]
        for slot in np.unique(slots[slots >= 0]):
            yield graph.menus[visible].going[slot], positions[slots == slot]
        for ending in np.unique(endings[slots < 0]):
            yield graph.menus[visible].ending[ending], positions[(slots < 0) & (endings == ending)]


def _added(left: Array, right: Array) -> Array:
    total = np.zeros(max(len(left), len(right)))
    total[: len(left)] += left
    total[: len(right)] += right
    return total
