"""The best order of errands: an orienteering dynamic programme over subsets, compiled.

Walking from errand i to errand j costs cost[i, j] and lets what follows fade by fade[i, j]; doing errand j is worth
worth[j] and lets what follows fade by after[j]. At any time one may leave, for leaving[i] from errand i; minus infinity
means that every errand must be done first. There are 2^K sets of errands left, so the best tour is exact up to MOST
errands. Beyond that errands are done in one fixed good order: the value of a plan that can be followed to its end,
which keeps a planner that relies on it from walking in circles.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.machine import compiled

MOST = 13
"""Errands whose order is found exactly for every belief: 2^13 sets of them, a few milliseconds."""

MOST_AT_ONCE = 17
"""Errands whose order is found exactly where one order serves every belief: a second or less."""


@compiled
def _tour(
    worth: Array, after: Array, cost: Array, fade: Array, leaving: Array, chosen: Ids, best: Array, value: Array
) -> None:
    """Fill best (K,): value of starting with each chosen errand, standing on its place; minus infinity elsewhere.

    value: room for a number for each set of the chosen errands and each of them.
    """
    count = len(chosen)
    sets = 1 << count
    must = True
    for i in range(len(leaving)):
        if leaving[i] > -np.inf:
            must = False
    for left in range(sets):
        for i in range(count):
            here = chosen[i]
            top = leaving[here]
            if left == 0 and must:
                top = 0.0
            for j in range(count):
                if left >> j & 1:
                    there = chosen[j]
                    then = worth[there] + after[there] * value[left ^ (1 << j), j]
                    total = fade[here, there] * then - cost[here, there]
                    if total > top:
                        top = total
            value[left, i] = top
    for i in range(len(best)):
        best[i] = -np.inf
    for i in range(count):
        best[chosen[i]] = worth[chosen[i]] + after[chosen[i]] * value[(sets - 1) ^ (1 << i), i]


@compiled
def _tours(
    worth: Array,
    after: Array,
    cost: Array,
    fade: Array,
    leaving: Array,
    useful: NDArray[np.bool_],
    best: Array,
    chosen: Ids,
    value: Array,
) -> None:
    """`_tour` for each row of `worth` and `best`, of the errands that are useful there. chosen: room for them."""
    for row in range(len(worth)):
        count = 0
        for i in range(useful.shape[1]):
            if useful[row, i]:
                chosen[count] = i
                count += 1
        _tour(worth[row], after[row], cost, fade, leaving, chosen[:count], best[row], value)


@compiled
def _in_order(
    worth: Array, after: Array, cost: Array, fade: Array, leaving: Array, must: bool, best: Array, value: Array
) -> None:
    """Fill best (n, K): value of starting with an errand and doing the others by number. value (K,): room.

    Where errands may be skipped, any may be the first; where all must be done the first one is, since the value of
    having dealt with an errand must not count a freedom that the value of still testing it leaves out.
    """
    rows, count = worth.shape
    for row in range(rows):
        for first in range(count):
            best[row, first] = -np.inf
            if (must and first > 0) or (not must and worth[row, first] <= 0):
                continue
            # value[i]: standing on errand i, which is done, with those after it left; `first` comes last in this loop
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
    """A short way through all errands: the nearest next, then pieces turned round or moved while that helps.

    start (K,): cost of walking to each errand at first; cost (K, K) between them.
    """
    count = len(start)
    order: list[int] = []
    apart = start
    for _ in range(count):
        left = [errand for errand in range(count) if errand not in order]
        order.append(min(left, key=lambda errand: float(apart[errand])))
        apart = cost[order[-1]]

    def length(path: list[int]) -> float:
        return float(start[path[0]]) + sum(float(cost[i, j]) for i, j in pairwise(path))

    best, better = length(order), True
    while better:
        better = False
        for i in range(count):
            for j in range(i + 1, count + 1):
                piece, rest = order[i:j], [*order[:i], *order[j:]]
                turned = [*order[:i], *reversed(piece), *order[j:]]
                shifted = [[*rest[:k], *piece, *rest[k:]] for k in range(len(rest) + 1)] if j - i <= 3 else []
                shorter = min([turned, *shifted], key=length)
                if length(shorter) < best - 1e-9:
                    order, best, better = shorter, length(shorter), True
    return np.array(order, dtype=np.int64)


def errands_in_order(worth: Array, after: Array, cost: Array, fade: Array, leaving: Array) -> Array:
    """As `first_errands`, with the others done by number: for errands that are numbered in a good order."""
    best = np.empty_like(worth)
    must = not bool(np.isfinite(leaving).any())
    _in_order(worth, after, cost, fade, leaving, must, best, np.empty(worth.shape[1]))
    return best


def first_errands(worth: Array, after: Array, cost: Array, fade: Array, leaving: Array) -> Array:
    """Value (n, K) of doing each errand next, standing on its place, and going on in the best order.

    worth, after (n, K): one row per belief; cost, fade (K, K) between errands; leaving (K,). Errands that are worth
    nothing are left out where leaving is allowed, and have value minus infinity.
    """
    best = np.empty_like(worth)
    if np.isfinite(leaving).any():
        _best_tours(worth, after, cost, fade, leaving, worth > 0, best)
    elif np.all(fade == 1) and np.all(after == 1):
        # Everything must be done and nothing fades: the order is the shortest tour, whatever the errands are worth.
        every = np.ones((1, worth.shape[1]), dtype=bool)
        tour = np.empty((1, worth.shape[1]))
        _best_tours(np.zeros_like(tour), np.ones_like(tour), cost, fade, leaving, every, tour)
        best[:] = worth.sum(axis=1, keepdims=True) + tour
    else:
        _best_tours(worth, after, cost, fade, leaving, np.ones_like(worth, dtype=bool), best)
    return best


def _best_tours(
    worth: Array, after: Array, cost: Array, fade: Array, leaving: Array, useful: NDArray[np.bool_], best: Array
) -> None:
    most = int(useful.sum(axis=1).max(initial=0))
    chosen, value = np.empty(worth.shape[1], dtype=np.int64), np.empty((1 << most, most))
    _tours(worth, after, cost, fade, leaving, useful, best, chosen, value)
