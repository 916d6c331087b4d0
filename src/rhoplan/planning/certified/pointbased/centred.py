"""Values close to 0 instead of large ones, where the discount is so close to 1 that rounding would keep bounds apart.

A reward less by (1 - g) C at every step makes every value less by C, in a problem that never ends. What a backup loses
by rounding is a share of the values in it, and 1 / (1 - g) steps add up: so C is taken from the middle of the first
bounds, the search is about what is left, and C is added to what it finds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rhoplan.model.problem import Array
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.first import First
from rhoplan.planning.certified.pointbased.graph import ABOVE, BASE, BELOW, LOWER, OWN, UPPER, Graph
from rhoplan.planning.certified.pointbased.policies import ROUNDING

NOTICED = 0.01
"""Share of the gap asked for that rounding may take before values are centred."""

LOST = 1e-15
"""What taking C off and adding it again loses, as a share of the numbers: a few operations."""


def centred(problem: Compiled, first: First, discount: float, gap: float) -> tuple[Compiled, First, float, float]:
    """`problem` and its first bounds with values close to 0; what was taken off them; and how far this may be wrong.

    Policies that are nowhere the best of the first ones are left out: their large losses would count as values.
    """
    begin = problem.model.class_state[problem.start_class]
    states = slice(begin, begin + len(problem.start))
    below = np.stack([vector for vector in first.vectors])
    middle = 0.5 * float(first.corner[states] @ problem.start + (below[:, states] @ problem.start).max())
    if discount == 1 or problem.ended.any() or ROUNDING * abs(middle) <= NOTICED * gap * (1 - discount):
        return problem, first, 0.0, 0.0
    step = (1 - discount) * middle
    taken_off = step / (1 - discount)
    reward = problem.model.reward - step
    error = LOST * (abs(taken_off) + (float(np.abs(reward).max()) + abs(step)) / (1 - discount))
    best = np.unique(np.append(below.argmax(axis=0), (below[:, states] @ problem.start).argmax()))
    moved = First(
        first.corner - taken_off + error,
        first.action - taken_off + error,
        [first.vectors[place] - taken_off - error for place in best],
        [first.taken[place] for place in best],
    )
    return replace(problem, model=problem.model._replace(reward=reward)), moved, taken_off, error


def put_back(graph: Graph, first: First, taken_off: float, error: float) -> tuple[Graph, First]:
    """What was found of the centred problem, as of the problem itself."""
    if taken_off == 0:
        return graph, first
    low, high = taken_off - error, taken_off + error
    bound, slot = graph.bound.copy(), graph.slot.copy()
    bound[:, LOWER] += low
    bound[:, [UPPER, BASE, OWN]] += high
    slot[:, ABOVE] += high
    slot[:, BELOW] += low
    back = graph._replace(
        bound=bound, slot=slot, alpha=graph.alpha + low, corner=graph.corner + high, action=graph.action + high
    )
    vectors: list[Array] = [vector + low for vector in first.vectors]
    return back, First(first.corner + high, first.action + high, vectors, first.taken)
