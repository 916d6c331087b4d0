"""The best order in which to visit sites: an orienteering dynamic programme over subsets (Held and Karp), compiled.

Moving from site i to site j costs cost[i, j] and discounts what follows by fade[i, j]; the task at site j is worth
worth[j] and discounts what follows by after[j]. The episode can end at any time for leaving[i] from site i; minus
infinity if all tasks must be done first. There are 2^K sets of tasks left, so the best tour is exact for few sites.
Of many, tasks are done in one fixed good order: the value of a policy that can be followed, so that a planner that
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
from rhoplan.planning.routing.settings import SETTINGS, RoutingSettings


def values_in_best_order(worth: Array, after: Array, cost: Array, fade: Array, leaving: Array) -> Array:
    """Value (n, K) of doing each task next, standing at its site, and going on in the best order.

    worth, after (n, K): one row per belief; cost, fade (K, K) between sites; leaving (K,). Tasks that are worth nothing
    are left out if the episode may end without them, and have value minus infinity.
    """
    must = not np.isfinite(leaving).any()
    if must and np.all(fade == 1) and np.all(after == 1) and (len(worth) > 1 or worth.any()):
        # All must be done and nothing is discounted: one shortest order serves all rows. It is that of a row of zeros.
        nothing = np.zeros((1, worth.shape[1]))
        shortest: Array = values_in_best_order(nothing, nothing + 1, cost, fade, leaving)
        result: Array = worth.sum(axis=1, keepdims=True) + shortest
        return result
    useful, best = must | (worth > 0), np.full(worth.shape, -np.inf)
    most = int(useful.sum(axis=1).max(initial=0))
    chosen, value = np.empty(worth.shape[1], dtype=np.int64), np.empty((1 << most, most))
    worth, after, cost, fade = (np.ascontiguousarray(table) for table in (worth, after, cost, fade))
    _best_order(Tasks(worth, after, cost, fade, leaving, must, useful), best, chosen, value)
    return best


def values_in_order(worth: Array, after: Array, cost: Array, fade: Array, leaving: Array) -> Array:
    """As `values_in_best_order`, with the other tasks done by number: for sites that are numbered in a good order.

    If tasks may be skipped, any may be the first. If all must be done the first one is, because the value of having
    done a task must not count a freedom that the value of still testing it leaves out.
    """
    must, best = not np.isfinite(leaving).any(), np.full(worth.shape, -np.inf)
    useful, sites = must | (worth > 0), range(worth.shape[1])
    for first in sites[:1] if must else sites:
        value = np.full(worth.shape, -np.inf)  # of doing each task and then those after it, from the last one on
        for here in [*(site for site in reversed(sites) if site != first), first]:
            going = fade[here] * value - cost[here]
            if must:
                later = going[:, here + 1] if here + 1 < len(sites) else np.zeros(len(worth))
            else:
                later = np.maximum(going.max(axis=1), leaving[here])
            value[:, here] = np.where(useful[:, here], worth[:, here] + after[:, here] * later, -np.inf)
        best[:, first] = value[:, first]
    return best


def good_order(start: Array, cost: Array, settings: RoutingSettings = SETTINGS) -> Ids:
    """A short way through all sites: the nearest next, then pieces reversed (2-opt) or moved while that helps.

    start (K,): cost of the first move to each site; cost (K, K) between them.
    """
    count, near, order = len(start), start, list[int]()
    for _ in range(count):
        order.append(min(set(range(count)) - set(order), key=lambda site: (float(near[site]), site)))
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
                if j - i <= settings.longest_shift:
                    others += [[*rest[:k], *piece, *rest[k:]] for k in range(len(rest) + 1)]
                shorter = min(others, key=length)
                if length(shorter) < best - settings.shorter:
                    order, best, better = shorter, length(shorter), True
    return np.array(order, dtype=np.int64)


@handed
class Tasks(NamedTuple):
    """worth, after (n, K): one row per belief. cost, fade (K, K), leaving (K,). must: whether all must be done.
    useful (n, K): the tasks that may be done."""

    worth: Array
    after: Array
    cost: Array
    fade: Array
    leaving: Array
    must: bool
    useful: NDArray[np.bool_]


@compiled
def _best_order(tasks: Tasks, best: Array, chosen: Ids, value: Array) -> None:
    """Fill best (n, K) with the value of starting with each useful task at its site.

    chosen: room for the useful tasks; value: for a number for each set of them and each of them.
    """
    for row in range(len(best)):
        count = 0
        for i in range(best.shape[1]):
            if tasks.useful[row, i]:
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
        for i in range(count):
            here, others = chosen[i], (1 << count) - 1 ^ (1 << i)
            best[row, here] = tasks.worth[row, here] + tasks.after[row, here] * value[others, i]
