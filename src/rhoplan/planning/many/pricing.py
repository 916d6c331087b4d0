"""Raised prices of tests that can be repeated: those that make the bound at one belief small (see `pairs`).

Subgradients: the slope of the bound in the price of a kind is what is left of it less its expected runs in the relaxed
plan. The step is Polyak's, towards a value a little below the best so far; that little is halved where it is too much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.many.machine import ENDLESS, Model, compiled, copy
from rhoplan.planning.many.pairs import Pair, expected_runs, settle

HOPE = 0.1
"""How far below the first bound the first step aims, as a share of what tests can bring there at most."""


class Scratch(NamedTuple):
    """What the search writes on: raised, price and runs per kind of test; value, mass, later and choice per point."""

    raised: Array
    price: Array
    runs: Array
    value: Array
    mass: Array
    later: Array
    choice: Ids


def make_scratch(kinds: int, points: int) -> Scratch:
    """Scratch for so many kinds of tests and points of the grid."""
    some, more = np.zeros((3, kinds)), np.zeros((3, points))
    return Scratch(some[0], some[1], some[2], more[0], more[1], more[2], np.zeros(points, dtype=np.int64))


@compiled
def allowance(model: Model, raised: Array, left: Ids, paid: Array, tests_left: int, largest: float) -> float:
    """The most that tests still to be run, `left` (C,) of each kind, can have paid too much at raised prices."""
    total = 0.0
    for kind in range(len(left)):
        if model.group[kind] < 0 and left[kind] > 0 and raised[kind] > 0.0:
            total += left[kind] * raised[kind]
    for group in range(len(model.entry)):
        within = 0.0
        for kind in range(len(left)):
            if model.group[kind] == group and left[kind] > 0 and raised[kind] > 0.0:
                within += left[kind] * raised[kind]
        total += within if paid[group] > 0 else max(within - model.entry[group], 0.0)
    if tests_left >= 0:
        total = min(total, tests_left * largest)
    return total


@compiled
def find_prices(
    model: Model,
    pair: Pair,
    top: Array,
    share: float,
    left: Ids,
    paid: Array,
    tests_left: int,
    little: float,
    rounds: int,
    sweeps: int,
    best: Array,
    scratch: Scratch,
) -> float:
    """Raised prices `best` (C,) that make the bound at `share` small, from those in it; the bound there.

    top (N,): values to start sweeps from. little, sweeps: when sweeps end. rounds: steps at most.
    """
    raised, price, runs, value, mass, later, choice = scratch
    at = 0
    while at < len(top) - 2 and pair.share[at + 1] <= share:
        at += 1
    part = (share - pair.share[at]) / (pair.share[at + 1] - pair.share[at])
    stop = pair.stop[at] + part * (pair.stop[at + 1] - pair.stop[at])
    lowest, hope, worse = np.inf, 0.0, 0
    copy(best, raised)
    for turn in range(rounds):
        largest = 0.0
        for kind in range(len(price)):
            price[kind] = model.price[kind] + raised[kind] if left[kind] > 0 else np.inf
            if left[kind] > 0:
                largest = max(largest, raised[kind])
        copy(top, value)
        settle(pair, price, value, choice, little, sweeps)
        bound = value[at] + part * (value[at + 1] - value[at])
        bound += allowance(model, raised, left, paid, tests_left, largest)
        if turn == 0:
            hope = HOPE * (bound - stop)
        worse += 1
        if bound < lowest:
            if bound < lowest - 0.3 * hope:
                worse = 0
            lowest = bound
            copy(raised, best)
        if worse > 2:
            hope, worse = 0.5 * hope, 0
        if not bound > stop or turn == rounds - 1 or hope < 10 * little:
            break
        expected_runs(pair, choice, at, part, mass, later, runs, sweeps)
        length = 0.0
        for kind in range(len(price)):
            if left[kind] > 0:
                free = model.group[kind] >= 0 and paid[model.group[kind]] == 0
                runs[kind] -= 0.0 if free else float(left[kind])
                if raised[kind] > 0.0 or runs[kind] > 0.0:
                    length += runs[kind] ** 2
        if length <= 1e-18:
            break
        step = (bound - lowest + hope) / length
        for kind in range(len(price)):
            if left[kind] > 0 and 2 * left[kind] < ENDLESS:
                raised[kind] = max(raised[kind] + step * runs[kind], 0.0)
    return lowest
