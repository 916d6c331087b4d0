"""When a plan stops: the bands of belief of a two-state model, and how sure a plan of any model is when it commits."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from rhoplan.advice.outlay import course
from rhoplan.advice.pathway import looked_for
from rhoplan.agents.agent import Agent
from rhoplan.agents.policy import Policy
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import Array, Problem

POINTS, FINER = 65, (75, 150, 300)
"""Beliefs that are asked about, evenly spread in log odds: first anywhere, then in steps from the last stop on one side
to the first on the other, each time with all those before; between two that differ the change is closed in on."""

CLOSE = 1e-8
"""Distance in log odds to which a change is closed in on."""

FURTHEST = 16.0
"""Log odds of the most certain belief asked about: about one in nine million."""


@dataclass(frozen=True)
class Band:
    """Chances of the state looked for between which `action` is what to do first; stops: it is a commit."""

    lower: float
    upper: float
    action: str
    stops: bool


def bands(problem: Problem, agent: Agent, *, seconds: float = 20.0) -> tuple[Band, ...]:
    """The bands from 0 to 1 of a two-state model before any test is run; none for other models.

    They are chances of the state that the model is about (see `pathway.looked_for`). Once tests have been run, fewer
    are left and the bands are others. A narrow band can be missed: below one in three hundred of the stretch in which
    one tests, or in seventy-five where there is no time for more. Not covered: agents whose choices are not fixed.
    """
    if not problem.is_flat or len(problem.states) != 2:
        return ()
    graph, begin = Graph(problem), time.monotonic()
    policy, first_is_it = Policy(graph, agent), looked_for(problem) == problem.states[0]

    def ask(odds: Array) -> list[tuple[str, bool]]:
        chances = 1 / (1 + np.exp(-odds))
        beliefs = np.stack([chances, 1 - chances] if first_is_it else [1 - chances, chances], axis=1)
        nodes = graph.nodes([problem.start] * len(chances), (beliefs,))
        policy.settle(nodes)
        menu = graph.menus[graph.visible[nodes[0]]]
        chosen = [(int(policy.choice[node]), int(policy.ending[node])) for node in nodes]
        return [(menu.going[k].name, False) if k >= 0 else (menu.ending[e].name, True) for k, e in chosen]

    odds = np.linspace(-FURTHEST, FURTHEST, POINTS)
    answers = ask(odds)
    testing = np.flatnonzero([not stops for _, stops in answers])
    if testing.size:
        ends = odds[max(testing[0] - 1, 0)], odds[min(testing[-1] + 1, POINTS - 1)]
        for steps in FINER:
            # Twice as many beliefs take twice as long, and closing in on changes takes its time too.
            if steps > FINER[0] and 3 * (time.monotonic() - begin) > seconds:
                break
            odds = np.union1d(odds, np.linspace(*ends, steps + 1))
            answers = ask(odds)
    changes = [k for k in range(len(odds) - 1) if answers[k] != answers[k + 1]]
    low, high = odds[changes].copy(), odds[[k + 1 for k in changes]].copy()
    while changes and np.any(high - low > CLOSE):
        middle = (low + high) / 2
        same = np.array([a == answers[k] for a, k in zip(ask(middle), changes, strict=True)])
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    edges = [0.0, *(1 / (1 + np.exp(-(low + high) / 2))).tolist(), 1.0]
    firsts = [answers[0], *(answers[k + 1] for k in changes)]
    return tuple(Band(edges[i], edges[i + 1], *first) for i, first in enumerate(firsts))


RAREST = 1e-6
"""Share of cases below which a way to stop does not count for the range of how sure a plan is."""


@dataclass(frozen=True)
class Stopping:
    """How sure a plan is when it stops with `commit`: the chance, then, that it is a best one for the true state.

    share: of all cases. lowest, highest: over the ways to stop that at least one case in a million takes.
    """

    commit: str
    share: float
    lowest: float
    mean: float
    highest: float


def stops(policy: Policy, node: int, *, cap: int) -> tuple[Stopping, ...]:
    """How sure the plan is at each commit that it comes to from `node`, in the model's order."""
    graph, problem = policy.graph, policy.graph.problem
    ended: dict[int, float] = {}
    for mass in course(policy, node, cap=cap):
        for where, share in mass.items():
            if policy.choice[where] < 0:
                ended[where] = ended.get(where, 0.0) + share
    found = []
    for place, commit in enumerate(problem.flat.commits):
        ways = [(share, where) for where, share in ended.items() if int(policy.ending[where]) == place]
        sure = [(share, float(graph.situation(where).belief @ problem.flat.right[place])) for share, where in ways]
        counted = [right for share, right in sure if share >= RAREST]
        if counted:
            total = sum(share for share, _ in sure)
            mean = sum(share * right for share, right in sure) / total
            found.append(Stopping(commit.name, total, min(counted), mean, max(counted)))
    return tuple(found)
