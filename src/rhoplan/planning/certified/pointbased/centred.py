"""Values close to 0 instead of large ones, where the discount is so close to 1 that rounding would keep bounds apart.

A reward less by (1 - g) C at every step makes every value less by C, in a problem that never ends. What a backup loses
by rounding is a share of the values in it, and 1 / (1 - g) steps add up: so C is taken from the middle of the first
bounds (and once more when they are closer), the search is about what is left, and C is added to what it finds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.first import First
from rhoplan.planning.certified.pointbased.graph import (
    ABOVE,
    ALIVE,
    BASE,
    BELOW,
    LOWER,
    OWN,
    PAID,
    REST,
    UPPER,
    VECTOR_AT,
    VECTOR_HOME,
    VECTORS,
    WORTH,
    Graph,
)
from rhoplan.planning.certified.pointbased.policies import ROUNDING

NOTICED = 0.01
"""Share of the gap asked for that rounding may take before values are centred."""

LOST = 1e-15
"""What taking C off and adding it again loses, as a share of the numbers: a few operations."""


def wants_centre(problem: Compiled, value: float, discount: float, gap: float) -> bool:
    """Whether values as large as `value` would be rounded so much that it is noticed within `gap`."""
    return discount < 1 and not problem.ended.any() and ROUNDING * abs(value) > NOTICED * gap * (1 - discount)


def middle(problem: Compiled, first: First) -> float:
    """The middle between the first bounds at the start."""
    begin = problem.model.class_state[problem.start_class]
    states = slice(begin, begin + len(problem.start))
    below = max(float(vector[states] @ problem.start) for vector in first.vectors)
    return 0.5 * (float(first.corner[states] @ problem.start) + below)


def without(problem: Compiled, by: float, discount: float) -> tuple[Compiled, float]:
    """`problem` with all values less by `by`; and how far rounding may make that wrong."""
    step = (1 - discount) * by
    reward = problem.model.reward - step
    error = LOST * (abs(by) + (float(np.abs(reward).max()) + abs(step)) / (1 - discount))
    return replace(problem, model=problem.model._replace(reward=reward)), error


def had_everywhere(problem: Compiled, graph: Graph) -> float:
    """What the plans found so far are worth at least, wherever one is."""
    table, least = graph.vector[: graph.used[VECTORS]], np.inf
    for home in np.flatnonzero(~problem.ended):
        places = table[(table[:, ALIVE] == 1) & (table[:, VECTOR_HOME] == home), VECTOR_AT]
        worst = graph.alpha[places[:, None] + np.arange(problem.sizes[home])].min(axis=1)
        least = min(least, float(worst.max()))
    return least


def best_somewhere(first: First) -> First:
    """The first bounds without policies that are nowhere the best: their large losses would count as values."""
    best = np.unique(np.stack(first.vectors).argmax(axis=0))
    return First(first.corner, first.action, [first.vectors[i] for i in best], [first.taken[i] for i in best])


def first_moved(first: First, by: float, error: float) -> First:
    """The first bounds of a problem whose values are all more by `by`, rounded outward."""
    high = by + error
    return First(first.corner + high, first.action + high, [v + (by - error) for v in first.vectors], first.taken)


def graph_moved(graph: Graph, by: float, error: float, discount: float, price: float) -> Graph:
    """The same of all that a search has found. price: what is left of a belief was paid for by so much at least; where
    mass is missing from a mixture, `by` is too."""
    low, high = by - error, by + error
    with np.errstate(all="ignore"):  # what is not filled yet may hold anything
        bound, slot, cloud, fan = graph.bound.copy(), graph.slot.copy(), graph.cloud.copy(), graph.fan.copy()
        bound[:, LOWER] += low
        bound[:, [UPPER, BASE, OWN]] += high
        bound[:, REST] *= 1 + abs(by) / price
        slot[:, ABOVE] += high
        slot[:, BELOW] += low
        slot[:, PAID] += (1 - discount) * by
        cloud[WORTH] += high
        fan[1:] += low
        return graph._replace(
            bound=bound,
            slot=slot,
            cloud=cloud,
            fan=fan,
            alpha=graph.alpha + low,
            corner=graph.corner + high,
            action=graph.action + high,
            price=graph.price + high,
        )
