"""When a plan stops: the bands of belief of a two-state model, and how sure a plan of any model is when it commits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rhoplan._old.followed import Followed
from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.advice.pathway import looked_for
from rhoplan.advice.questions import first_actions, plans_versions
from rhoplan.agents.agent import BoundAgent
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning.batch import DecisionTree

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


def bands(
    problem: POMDP, agent: BoundAgent, *, seconds: float = 20.0, layout: DecisionTree | None = None
) -> tuple[Band, ...]:
    """The bands from 0 to 1 of a two-state model before any test is run; none for other models, nor where a diagnosis
    has subtypes: there what to do does not follow from its chance alone.

    They are chances of the state that the model is about (see `pathway.looked_for`). Once tests have been run, fewer
    are left and the bands are others. A narrow band can be missed: below one in three hundred of the stretch in which
    one tests, or in seventy-five where there is no time for more. layout: of the problem before any test, where there
    is one. Not covered: agents whose choices are not fixed.
    """
    if not problem.observes_then_commits or len(problem.states) != 2 or problem.factors[0].diagnosis_of:
        return ()
    begin, first_is_it = time.monotonic(), looked_for(problem) == problem.states[0]
    answer = _together(problem, agent, layout) if plans_versions(problem, agent) else _one_by_one(problem, agent)

    known: dict[float, tuple[str, bool]] = {}

    def ask(odds: Array) -> list[tuple[str, bool]]:
        fresh = np.array([place for place in odds.tolist() if place not in known])
        if fresh.size:
            chances = 1 / (1 + np.exp(-fresh))
            beliefs = np.stack([chances, 1 - chances] if first_is_it else [1 - chances, chances], axis=1)
            known.update(zip(fresh.tolist(), answer(beliefs), strict=True))
        return [known[place] for place in odds.tolist()]

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


def _together(
    problem: POMDP, agent: BoundAgent, known: DecisionTree | None
) -> Callable[[Array], list[tuple[str, bool]]]:
    """First actions for beliefs (n, 2), and whether they end the case, as versions of the model with other priors."""
    even = replace(problem, factors=(replace(problem.factors[0], prior=np.array([0.5, 0.5])),))
    layout = known if known is not None and np.all(problem.prior > 0) else DecisionTree(even, (), agent.horizon)

    def answer(beliefs: Array) -> list[tuple[str, bool]]:
        found = []
        for start in range(0, len(beliefs), layout.at_once):
            part = beliefs[start : start + layout.at_once]
            versions = [replace(even, factors=(replace(even.factors[0], prior=belief),)) for belief in part]
            first = first_actions(layout, versions, agent)
            found += [(first.names[place], place < first.endings) for place in first.choice.tolist()]
        return found

    return answer


def _one_by_one(problem: POMDP, agent: BoundAgent) -> Callable[[Array], list[tuple[str, bool]]]:
    """As `_together`, for agents that do not plan versions at once."""
    graph = Graph(problem)
    policy = GraphPolicy(graph, agent)

    def answer(beliefs: Array) -> list[tuple[str, bool]]:
        nodes = graph.nodes([problem.start] * len(beliefs), (beliefs,))
        policy.settle(nodes)
        return [(action.name, action.ends_episode) for action in map(policy.action, nodes.tolist())]

    return answer


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


def stops(followed: Followed) -> tuple[Stopping, ...]:
    """How sure a plan that was followed is at each commit that it comes to, in the model's order."""
    graph, problem, ended = followed.graph, followed.graph.problem, followed.stops
    found = []
    for place, commit in enumerate(problem.flat.commits):
        ways = [(share, where) for where, share in ended.items() if int(followed.policy.ending[where]) == place]
        sure = [(share, float(graph.situation(where).beliefs[0] @ problem.flat.right[place])) for share, where in ways]
        counted = [right for share, right in sure if share >= RAREST]
        if counted:
            total = sum(share for share, _ in sure)
            mean = sum(share * right for share, right in sure) / total
            found.append(Stopping(commit.name, total, min(counted), mean, max(counted)))
    return tuple(found)
