"""Tests that make no difference, in two senses that must not be confused.

A test *cannot change the decision* if no result of it changes the best commit in any situation that can arise, whatever
other tests have shown: all evidence that the model's rules allow is looked at, not only what some plan comes to. A test
that a plan *never runs* may well change the decision; it is only not worth its price in any case that comes up.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rhoplan._old.graph import Graph
from rhoplan._old.ties import tolerance
from rhoplan.errors import LimitError
from rhoplan.model.pomdp import Ids

CHUNK = 200_000
"""Situations times tests looked at between looks at the clock."""


@dataclass(frozen=True)
class Idle:
    """Tests by what they can do, in the model's order.

    powerless: may run, but cannot change the decision in any of the situations looked at. barred: the rules never let
    them run. unclear: not decided within the limits. tests: how many tests the evidence looked at has at most, the test
    itself included. situations: how many were looked at.
    """

    powerless: tuple[str, ...]
    barred: tuple[str, ...]
    unclear: tuple[str, ...]
    tests: int
    situations: int


def idle_tests(graph: Graph, *, most_tests: int, seconds: float) -> Idle:
    """Which tests of a flat problem cannot change the decision after any evidence of fewer than `most_tests` tests.

    Where every test runs once, `most_tests` of all of them covers all evidence there can be. The graph grows as far as
    it may.
    """
    problem, end = graph.problem, time.monotonic() + seconds
    names = [test.name for test in problem.flat.tests]
    able, ran, complete = set[str](), set[str](), True
    layer: Ids = np.array([graph.root])
    step = max(1, CHUNK // max(len(names), 1))
    looked, depth = set(layer.tolist()), 0
    while len(able) < len(names) and complete and depth < most_tests and layer.size:
        following: set[int] = set()
        for start in range(0, len(layer), step):
            part = layer[start : start + step]
            try:
                graph.expand(part)
            except LimitError:
                complete = False
                break
            for observable, places in graph.by_visible(part):
                nodes = part[places]
                for slot, action in enumerate(graph.menus[observable].going):
                    ran.add(action.name)
                    targets = graph.next[nodes, slot, : len(action.outcomes)]
                    if action.name not in able and _changes(graph, nodes, targets):
                        able.add(action.name)
                    following |= set(targets[targets >= 0].tolist())
            if time.monotonic() > end:
                complete = False
                break
        layer = np.array(sorted(following - looked), dtype=np.int64)
        looked |= following
        depth += 1
    unable = [name for name in names if name not in able]
    return Idle(
        powerless=tuple(name for name in unable if complete and name in ran),
        barred=tuple(name for name in unable if complete and name not in ran),
        unclear=() if complete else tuple(unable),
        tests=most_tests,
        situations=len(looked),
    )


def _changes(graph: Graph, nodes: Ids, targets: NDArray[np.int32]) -> bool:
    """Whether at one of `targets` (n, O) a commit is better than the one that is best at its node (n,)."""
    rows, columns = np.nonzero(targets >= 0)
    after = targets[rows, columns].astype(np.int64)
    stays = graph.problem.flat.payoff[graph.stop_action[nodes[rows]]]
    kept, best = np.einsum("ns,ns->n", graph.beliefs(after), stays), graph.stop_reward[after]
    gains = np.maximum(graph.stop_gains(after), np.einsum("ns,ns->n", graph.beliefs(after), np.maximum(stays, 0.0)))
    return bool(np.any(best - kept > tolerance(best, gains)))
