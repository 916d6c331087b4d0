"""Places that can all be reached from one another: rooms, and circles in which one can stay for ever for nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Ids

Flags: TypeAlias = NDArray[np.bool_]


def rooms_of(targets: Sequence[Sequence[int]]) -> Ids:
    """The room of each place, given where one can go from it: Tarjan's strong components, sinks first."""
    count = len(targets)
    index, low, room = [-1] * count, [0] * count, [-1] * count  # single numbers are faster in lists than in arrays
    stack: list[int] = []
    rooms = visited = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        path = [(root, 0)]
        while path:
            here, step = path.pop()
            if step == 0:
                index[here] = low[here] = visited
                visited += 1
                stack.append(here)
            else:
                low[here] = min(low[here], low[targets[here][step - 1]])
            for place in range(step, len(targets[here])):
                there = targets[here][place]
                if index[there] < 0:
                    path += [(here, place + 1), (there, 0)]
                    break
                if room[there] < 0:
                    low[here] = min(low[here], index[there])
            else:
                if low[here] == index[here]:
                    while room[here] < 0:
                        room[stack.pop()] = rooms
                    rooms += 1
    return np.array(room, dtype=np.int64)


def _distinct(numbers: Ids, below: int) -> Ids:
    """The numbers, each once, in their order: ticked off on a list of all there can be if that is the shorter way."""
    if below > 8 * len(numbers):
        return np.unique(numbers)
    there = np.zeros(below, dtype=bool)
    there[numbers] = True
    return np.flatnonzero(there)


def leading_to(items: Ids, target: Ids, places: int) -> Callable[[Ids], Ids]:
    """Of items, each with the place that it leads to: what gives all that lead to any of some places."""
    order = np.argsort(target, kind="stable")
    into, begins = items[order], np.searchsorted(target[order], np.arange(places + 1))

    def found(here: Ids) -> Ids:
        return np.concatenate([into[begins[place] : begins[place + 1]] for place in here])

    return found


def _drop_dead_ends(source: Ids, row: Ids, target: Ids, staying: Flags, places: int) -> None:
    """Take out of `staying`, again and again, the rows that may lead to a place from which no row stays."""
    rows_to = leading_to(row, target, places)
    home = np.full(len(staying), -1)
    home[row] = source
    left = np.bincount(home[staying & (home >= 0)], minlength=places)
    dead = np.flatnonzero(left == 0)
    while len(dead):
        leading = rows_to(dead)
        lost = np.unique(leading[staying[leading]])
        staying[lost] = False
        homes, count = np.unique(home[lost], return_counts=True)
        left[homes] -= count
        dead = homes[left[homes] == 0]


def kept_inside(source: Ids, row: Ids, target: Ids, free: Flags, places: int) -> Flags:
    """The free rows (R,) that can be taken for ever, each leading to places alone where there is one to take."""
    staying = free.copy()
    _drop_dead_ends(source, row, target, staying, places)
    return staying


def circles_of(source: Ids, row: Ids, target: Ids, free: Flags, places: int) -> tuple[Ids, Flags]:
    """The largest sets of places in which one can stay for ever, and come from any to any other, by free rows alone.

    Entries lead from place `source` by `row` to place `target`; free (R,): whether a row costs and pays nothing. What
    comes back: a number (places,) for each set, -1 elsewhere; and the rows (R,) that stay inside one (these are the
    maximal end components of what is free).
    """
    staying = free.copy()
    while True:
        _drop_dead_ends(source, row, target, staying, places)
        held = staying[row]
        origin, reached = np.divmod(_distinct(source[held] * places + target[held], places**2), places)
        begins, targets = np.searchsorted(origin, np.arange(places + 1)), reached.tolist()
        room = rooms_of([targets[begins[place] : begins[place + 1]] for place in range(places)])
        leaves = row[held][room[source[held]] != room[target[held]]]
        if not len(leaves):
            break
        staying[leaves] = False
    inside = np.zeros(places, dtype=bool)
    inside[source[staying[row]]] = True
    return np.where(inside, room, -1), staying
