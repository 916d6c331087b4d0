"""Which states form a visible class (see `compiled`), by closure over what can happen."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.pointbased.machine import compiled

Flags: TypeAlias = NDArray[np.bool_]


def find_classes(source: Ids, action: Ids, outcome: Ids, target: Ids, start: Array) -> tuple[Ids, Ids]:
    """The class (S,) of each state that can be reached in one step or more, else -1; and the states of the start.

    What can happen, entry by entry, must be sorted by action and outcome.
    """
    states = len(start)
    group = np.zeros(len(source), dtype=np.int64)
    group[1:] = np.cumsum((np.diff(action) != 0) | (np.diff(outcome) != 0))
    parent = np.arange(states)
    reached = np.zeros(states, dtype=np.bool_)
    scratch = np.full((2, states), -1)
    start_states = np.flatnonzero(start > 0)
    unite(source, group, target, start > 0, parent, reached, scratch)
    roots = np.array([root(parent, s) for s in range(states)])
    label = np.full(states, -1)
    label[reached] = np.unique(roots[reached], return_inverse=True)[1]
    return label, start_states


@compiled
def root(parent: Ids, state: int) -> int:
    """The state that stands for all that are united with `state`."""
    while parent[state] != state:
        parent[state] = parent[parent[state]]
        state = parent[state]
    return state


@compiled
def unite(source: Ids, group: Ids, target: Ids, start: Flags, parent: Ids, reached: Flags, scratch: Ids) -> None:
    """Join states until all successors of one class by one group (action and outcome) are in one class."""
    seen, example = scratch[0], scratch[1]
    last, entry = -1, -1
    for place in range(len(source)):
        if start[source[place]]:
            to = target[place]
            if group[place] != last:
                last, entry = group[place], to
            reached[to] = True
            parent[root(parent, entry)] = root(parent, to)
    stamp, changed = 0, True
    groups = group[len(group) - 1] + 1 if len(group) else 0
    while changed:
        changed = False
        for place in range(len(source)):
            if not reached[source[place]]:
                continue
            home, to = root(parent, source[place]), target[place]
            if not reached[to]:
                reached[to], changed = True, True
            if seen[home] != stamp + group[place]:
                seen[home], example[home] = stamp + group[place], to
            else:
                one, other = root(parent, example[home]), root(parent, to)
                if one != other:
                    parent[one], changed = other, True
        stamp += groups
