"""Stopping bands of a two-state model: which beliefs call for a test, and which for a commit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rhoplan.agent import Agent
from rhoplan.planning.graph import Graph
from rhoplan.policy import Policy
from rhoplan.problem import Array, Problem

POINTS, FINER = 65, 301
"""Beliefs that are asked about, evenly spread in log odds: first anywhere, then from the last stop on one side to the
first on the other; between two that differ the change is closed in on."""

FURTHEST = 16.0
"""Log odds of the most certain belief asked about: about one in nine million."""


@dataclass(frozen=True)
class Band:
    """Beliefs in the second state from `lower` to `upper` in which `action` is what to do first; stops: a commit."""

    lower: float
    upper: float
    action: str
    stops: bool


def bands(problem: Problem, agent: Agent) -> tuple[Band, ...]:
    """The bands from 0 to 1 of a two-state model before any test is run, edges to 1e-9; none for other models.

    Once tests have been run, fewer are left and the bands are others. A narrow band, below one in
    three hundred of the stretch in which one tests, can be missed. Not covered: agents whose choices are not fixed.
    """
    if not problem.is_flat or len(problem.states) != 2:
        return ()
    graph = Graph(problem)
    policy = Policy(graph, agent)

    def ask(beliefs: Array) -> list[tuple[str, bool]]:
        nodes = graph.nodes([problem.start] * len(beliefs), (np.stack([1 - beliefs, beliefs], axis=1),))
        policy.settle(nodes)
        menu = graph.menus[graph.visible[nodes[0]]]
        chosen = [(int(policy.choice[node]), int(policy.ending[node])) for node in nodes]
        return [(menu.going[k].name, False) if k >= 0 else (menu.ending[e].name, True) for k, e in chosen]

    odds = np.linspace(-FURTHEST, FURTHEST, POINTS)
    testing = np.flatnonzero([not stops for _, stops in ask(_probability(odds))])
    if testing.size:
        first, last = max(testing[0] - 1, 0), min(testing[-1] + 1, POINTS - 1)
        odds = np.union1d(odds, np.linspace(odds[first], odds[last], FINER))
    points = _probability(odds)
    answers = ask(points)
    changes = [k for k in range(len(points) - 1) if answers[k] != answers[k + 1]]
    low, high = points[changes].copy(), points[[k + 1 for k in changes]].copy()
    while changes and np.any(high - low > 1e-9):
        middle = (low + high) / 2
        same = np.array([a == answers[k] for a, k in zip(ask(middle), changes, strict=True)])
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    edges = [0.0, *((low + high) / 2).tolist(), 1.0]
    firsts = [answers[0], *(answers[k + 1] for k in changes)]
    return tuple(Band(edges[i], edges[i + 1], *first) for i, first in enumerate(firsts))


def _probability(odds: Array) -> Array:
    result: Array = 1 / (1 + np.exp(-odds))
    return result
