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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.machine import compiled, handed

MOST_SITES = 13
"""Sites whose order is optimised for every belief: 2^13 sets of them, a few milliseconds."""

MOST_SITES_ONCE = 17
"""Sites whose order is optimised if one order serves every belief: a second or less."""

SHORTER = 1e-9
"""By how much a changed order must be shorter to replace the one before."""

LONGEST_SHIFT = 3
"""Sites that are moved together to another place of the order."""


@handed
class Tasks(NamedTuple):
    """worth, after (n, K): one row per belief. cost, fade (K, K), leaving (K,). must: whether all must be done."""

    worth: Array
    after: Array
    cost: Array
    fade: Array
    leaving: Array
    must: bool


@compiled
def _best_order(tasks: Tasks, useful: NDArray[np.bool_], best: Array, chosen: Ids, value: Array) -> None:
    """Fill best (n, K): value of starting with each task at its site; minus infinity for tasks that are not `useful`.

    chosen: room for the useful tasks; value: for a number for each set of them and each of them.
    """
    for row in range(len(best)):
        count = 0
        for i in range(useful.shape[1]):
            if useful[row, i]:
                chosen[count] = i
                count += 1
        for left in range(1 << count):
            for i in range(count):
                here = chosen[i]
                top = 0.0 if left == 0 and tasks.must else tasks.leaving[here]
                for j in range(count):
                    if left >> j & 1:
                        there = chosen[j]
                        then = tasks.worth[row, there] + tasks.after[row, there] * value[left ^ (1 << j), j]
                        top = max(top, tasks.fade[here, there] * then - tasks.cost[here, there])
                value[left, i] = top
        best[row] = -np.inf
        for i in range(count):
            here, others = chosen[i], (1 << count) - 1 ^ (1 << i)
            best[row, here] = tasks.worth[row, here] + tasks.after[row, here] * value[others, i]


@compiled
def _fixed_order(tasks: Tasks, best: Array, value: Array) -> None:
    """Fill best (n, K): value of starting with a task and doing the others by number. value (K,): room.

    If tasks may be skipped, any may be the first; if all must be done the first one is, because the value of having
    done a task must not count a freedom that the value of still testing it leaves out.
    """
    rows, count = best.shape
    for row in range(rows):
        for first in range(count):
            best[row, first] = -np.inf
            if (tasks.must and first > 0) or (not tasks.must and tasks.worth[row, first] <= 0):
                continue
            # value[i]: at site i, whose task is done, with those after it left; `first` comes last in this loop
            for step in range(count, -1, -1):
                here = first if step == 0 else step - 1
                if step > 0 and here == first:
                    continue
                top = tasks.leaving[here]
                alone = True
                for there in range(step, count):
                    if there != first and (tasks.must or tasks.worth[row, there] > 0):
                        then = tasks.worth[row, there] + tasks.after[row, there] * value[there]
                        total = tasks.fade[here, there] * then - tasks.cost[here, there]
                        if total > top or (tasks.must and alone):
                            top = total
                        alone = False
                        if tasks.must:
                            break
                value[here] = 0.0 if tasks.must and alone else top
            best[row, first] = tasks.worth[row, first] + tasks.after[row, first] * value[first]


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
    best, must = np.empty(worth.shape), not bool(np.isfinite(leaving).any())
    _fixed_order(Tasks(worth, after, cost, fade, leaving, must), best, np.empty(worth.shape[1]))
    return best


def values_in_best_order(worth: Array, after: Array, cost: Array, fade: Array, leaving: Array) -> Array:
    """Value (n, K) of doing each task next, standing at its site, and going on in the best order.

    worth, after (n, K): one row per belief; cost, fade (K, K) between sites; leaving (K,). Tasks that are worth nothing
    are left out if the episode may end without them, and have value minus infinity.
    """
    must = not bool(np.isfinite(leaving).any())
    if must and np.all(fade == 1) and np.all(after == 1) and (len(worth) > 1 or worth.any()):
        # All must be done and nothing is discounted: one shortest order serves all rows. It is that of a row of zeros.
        nothing = np.zeros((1, worth.shape[1]))
        shortest: Array = values_in_best_order(nothing, nothing + 1, cost, fade, leaving)
        result: Array = worth.sum(axis=1, keepdims=True) + shortest
        return result
    useful, best = np.ones(worth.shape, dtype=bool) if must else worth > 0, np.empty(worth.shape)
    most = int(useful.sum(axis=1).max(initial=0))
    chosen, value = np.empty(worth.shape[1], dtype=np.int64), np.empty((1 << most, most))
    _best_order(Tasks(worth, after, cost, fade, leaving, must), useful, best, chosen, value)
    return best
