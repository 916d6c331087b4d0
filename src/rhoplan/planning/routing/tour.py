"""The best order in which to visit sites: an orienteering dynamic programme over subsets (Held and Karp), compiled.

Moving from site i to site j costs cost[i, j] and discounts what follows by fade[i, j]; the task at site j is worth
worth[j] and discounts what follows by after[j]. The episode can end at any time for leaving[i] from site i; minus
infinity if all tasks must be done first. There are 2^K sets of tasks left, so the best tour is exact up to MOST_SITES.
Beyond that, tasks are done in one fixed good order: the value of a policy that can be followed, so that a planner that
relies on it does not move in circles.

Shapes: n beliefs, K sites.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.problem import Array, Ids
from rhoplan.planning.machine import compiled

MOST_SITES = 13
"""Sites whose order is optimised for every belief: 2^13 sets of them, a few milliseconds."""

MOST_SITES_ONCE = 17
"""Sites whose order is optimised if one order serves every belief: a second or less."""

SHORTER = 1e-9
"""By how much a changed order must be shorter to replace the one before."""

LONGEST_SHIFT = 3
"""Sites that are moved together to another place of the order."""


@compiled
def _tour(
    worth: Array,
    after: Array,
    cost: Array,
    fade: Array,
    leaving: Array,
    must: bool,
    chosen: Ids,
    best: Array,
    value: Array,
) -> None:
    """Fill best (K,): value of starting with each chosen task at its site; minus infinity elsewhere.

    value: room for a number for each set of the chosen tasks and each of them.
    """
    count = len(chosen)
    sets = 1 << count
    for left in range(sets):
        for i in range(count):
            here = chosen[i]
            top = 0.0 if left == 0 and must else leaving[here]
            for j in range(count):
                if left >> j & 1:
                    there = chosen[j]
                    then = worth[there] + after[there] * value[left ^ (1 << j), j]
                    top = max(top, fade[here, there] * then - cost[here, there])
            value[left, i] = top
    best[:] = -np.inf
    for i in range(count):
        best[chosen[i]] = worth[chosen[i]] + after[chosen[i]] * value[(sets - 1) ^ (1 << i), i]


@compiled
def _tours(
    worth: Array,
    after: Array,
    cost: Array,
    fade: Array,
    leaving: Array,
    must: bool,
    useful: NDArray[np.bool_],
    best: Array,
    chosen: Ids,
    value: Array,
) -> None:
    """`_tour` for each row of `worth` and `best`, of the tasks that are useful there. chosen: room for them."""
    for row in range(len(worth)):
        count = 0
        for i in range(useful.shape[1]):
            if useful[row, i]:
                chosen[count] = i
                count += 1
        _tour(worth[row], after[row], cost, fade, leaving, must, chosen[:count], best[row], value)


@compiled
def _in_order(
    worth: Array, after: Array, cost: Array, fade: Array, leaving: Array, must: bool, best: Array, value: Array
) -> None:
    """Fill best (n, K): value of starting with a task and doing the others by number. value (K,): room.

    If tasks may be skipped, any may be the first; if all must be done the first one is, because the value of having
    done a task must not count a freedom that the value of still testing it leaves out.
    """
    rows, count = worth.shape
    for row in range(rows):
        for first in range(count):
            best[row, first] = -np.inf
            if (must and first > 0) or (not must and worth[row, first] <= 0):
                continue
            # value[i]: at site i, whose task is done, with those after it left; `first` comes last in this loop
            for step in range(count, -1, -1):
                here = first if step == 0 else step - 1
                if step > 0 and here == first:
                    continue
                top = leaving[here]
                alone = True
                for there in range(step, count):
                    if there != first and (must or worth[row, there] > 0):
                        then = worth[row, there] + after[row, there] * value[there]
                        total = fade[here, there] * then - cost[here, there]
                        if total > top or (must and alone):
                            top = total
                        alone = False
                        if must:
                            break
                value[here] = 0.0 if must and alone else top
            best[row, first] = worth[row, first] + after[row, first] * value[first]


def good_order(start: Array, cost: Array) -> Ids:
    """A short way through all sites: the nearest next, then pieces reversed (2-opt) or moved while that helps.

    start (K,): cost of the first move to each site; cost (K, K) between them.
    """
    count = len(start)
    order: list[int] = []
    near = start
    for _ in range(count):
        order.append(min((site for site in range(count) if site not in order), key=lambda site: float(near[site])))
        near = cost[order[-1]]

    def length(path: list[int]) -> float:
        return float(start[path[0]]) + sum(float(cost[i, j]) for i, j in pairwise(path))

    best, better = length(order), True
    while better:
        better = False
        for i in range(count):
            for j in range(i + 1, count + 1):
                piece, rest = order[i:j], [*order[:i], *order[j:]]
                others = [[*order[:i], *reversed(piece), *order[j:]]]
                if j - i <= LONGEST_SHIFT:
                    others += [[*rest[:k], *piece, *rest[k:]] for k in range(len(rest) + 1)]
                shorter = min(others, key=length)
                if length(shorter) < best - SHORTER:
                    order, best, better = shorter, length(shorter), True
    return np.array(order, dtype=np.int64)


def values_in_order(worth: Array, after: Array, cost: Array, fade: Array, leaving: Array) -> Array:
    """As `values_in_best_order`, with the other tasks done by number: for sites that are numbered in a good order."""
    best = np.empty_like(worth)
    must = not bool(np.isfinite(leaving).any())
    _in_order(worth, after, cost, fade, leaving, must, best, np.empty(worth.shape[1]))
    return best


def values_in_best_order(worth: Array, after: Array, cost: Array, fade: Array, leaving: Array) -> Array:
    """Value (n, K) of doing each task next, standing at its site, and going on in the best order.

    worth, after (n, K): one row per belief; cost, fade (K, K) between sites; leaving (K,). Tasks that are worth nothing
    are left out if the episode may end without them, and have value minus infinity.
    """
    if np.isfinite(leaving).any():
        return _best_tours(worth, after, cost, fade, leaving, worth > 0)
    if np.all(fade == 1) and np.all(after == 1):
        # Everything must be done and nothing is discounted: the best order is the shortest, whatever tasks are worth.
        nothing = np.zeros((1, worth.shape[1]))
        shortest = _best_tours(nothing, nothing + 1, cost, fade, leaving, nothing == 0)
        result: Array = worth.sum(axis=1, keepdims=True) + shortest
        return result
    return _best_tours(worth, after, cost, fade, leaving, np.ones_like(worth, dtype=bool))


def _best_tours(
    worth: Array, after: Array, cost: Array, fade: Array, leaving: Array, useful: NDArray[np.bool_]
) -> Array:
    most, best = int(useful.sum(axis=1).max(initial=0)), np.empty_like(worth)
    chosen, value = np.empty(worth.shape[1], dtype=np.int64), np.empty((1 << most, most))
    _tours(worth, after, cost, fade, leaving, not bool(np.isfinite(leaving).any()), useful, best, chosen, value)
    return best
