"""When a plan stops: the bands of belief of a two-state model, and how sure a plan of any model is when it commits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
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
    changes = _changes(ask, odds, answers)
    edges = [0.0, *(1 / (1 + math.exp(-place)) for place, _ in changes), 1.0]
    firsts = [answers[0], *(answer for _, answer in changes)]
    return tuple(Band(edges[i], edges[i + 1], *first) for i, first in enumerate(firsts))


def _changes(
    ask: Callable[[Array], list[tuple[str, bool]]], odds: Array, answers: list[tuple[str, bool]]
) -> list[tuple[float, tuple[str, bool]]]:
    """The log odds at which the answer changes, and to what, in order.

    Where closing in on a change meets a third answer, as of a test that pays only where two commits are worth nearly
    the same, the change from that one to the next is looked for too.
    """
    neighbours = zip(odds.tolist(), answers, odds[1:].tolist(), answers[1:], strict=False)
    gaps, found = [gap for gap in neighbours if gap[1] != gap[3]], list[tuple[float, tuple[str, bool]]]()
    while gaps:
        low, high = np.array([gap[0] for gap in gaps]), np.array([gap[2] for gap in gaps])
        beyond = [gap[3] for gap in gaps]
        while np.any(high - low > CLOSE):
            middle = (low + high) / 2
            told = ask(middle)
            same = np.array([answer == gap[1] for answer, gap in zip(told, gaps, strict=True)])
            beyond = [old if kept else new for old, new, kept in zip(beyond, told, same.tolist(), strict=True)]
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        found += zip(((low + high) / 2).tolist(), beyond, strict=True)
        rest = zip(high.tolist(), beyond, gaps, strict=True)
        gaps = [(place, answer, gap[2], gap[3]) for place, answer, gap in rest if answer != gap[3]]
    return sorted(found)


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
