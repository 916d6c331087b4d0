"""The anytime planner: exact look-ahead over a leaf that is derived from the problem, deeper while there is time.

It is the planner of `exact` with another leaf, so agents, tie rule and graph are the same. The leaf is what errands and
walks are worth (`outlook`); where a problem does not come apart like that, what a place is worth to someone who knows
the hidden state (small problems with one factor); and where one observes,
then commits, the best commit, as ever.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from rhoplan.belief.situation import Situation
from rhoplan.errors import LimitError
from rhoplan.graph.graph import Graph
from rhoplan.model.pomdp import Array, Leaf, Problem, Visible
from rhoplan.planning.errands.clairvoyant import known_values
from rhoplan.planning.errands.outlook import Outlook
from rhoplan.planning.exact import Plan
from rhoplan.planning.utility import Utility

NODES = 300_000
"""Situations that one decision may look at."""

DEEPEST = 200

GROWTH = 4.0
"""How many times longer the next depth takes, at least: it is not begun where that is more than the time left."""


def derived_leaf(problem: Problem, *, weight: float, discount: float) -> Leaf | None:
    """The leaf for `problem`, kept with it; None for the problem's own."""
    if problem.observes_then_commits:
        return None
    kept = problem.__dict__.setdefault("_leaves", {})
    if (weight, discount) not in kept:
        kept[weight, discount] = _derive(problem, weight, discount)
    leaf: Leaf | None = kept[weight, discount]
    return leaf


def _derive(problem: Problem, weight: float, discount: float) -> Leaf | None:
    outlook = Outlook(problem, weight=weight, discount=discount)
    try:
        outlook.survey(problem.start)
        return outlook
    except LimitError:
        pass
    if len(problem.factors) > 1:
        return None
    try:
        places, values = known_values(problem, discount=discount)
    except LimitError:
        return None

    def known(visibles: Sequence[Visible], beliefs: tuple[Array, ...]) -> Array:
        rows = np.array([places[visible] for visible in visibles])
        worth: Array = (beliefs[0] * values[rows]).sum(axis=1)
        return worth

    return known


def deepen(
    problem: Problem,
    situation: Situation,
    utility: Utility,
    *,
    discount: float,
    commits_count: bool = True,
    leaf: Leaf | None,
    seconds: float,
) -> tuple[Plan, int, int]:
    """A plan for `situation` as deep as `seconds` and memory allow (one action at least), its node and its depth."""
    deadline = time.perf_counter() + seconds
    graph = Graph(problem, node_limit=NODES)
    plan = Plan(graph, utility, discount=discount, commits_count=commits_count, leaf=leaf)
    nodes = np.array([graph.node(situation)])
    depth, before = 0, 0
    for level in range(1, DEEPEST + 1):
        begin = time.perf_counter()
        try:
            plan.action_values(nodes, level)
        except LimitError:
            break
        now = time.perf_counter()
        depth, done = level, before == graph.size
        before = graph.size
        if (now - begin) * GROWTH > deadline - now or (done and level > 2):
            break
    if not depth:
        raise LimitError(f"'{problem.name}' needs more than {NODES:,} situations for one action ahead")
    return plan, int(nodes[0]), depth
