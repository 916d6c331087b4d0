"""Ceilings: the bounds of `pairs` as tables, with raised prices that suit the situations where they are needed.

A table holds U_mu of one pair for one choice of mu, as a line per cell of the grid: alpha x + beta y for weights x, y of
the two states. A pair may have several tables; each holds everywhere, and the smallest value counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rhoplan.model.problem import Array, Ids
from rhoplan.planning.many.machine import Model, compiled, copy
from rhoplan.planning.many.pairs import SPAN, Pair, expected_runs, settle


HOPE = 0.3


class Ceilings(NamedTuple):
    """P pairs of states, each with up to J tables of N - 1 cells. C kinds of tests.

    states (P, 2). tables (P,): how many there are. alpha, beta (P, N - 1, J): lines. raised (P, J, C): mu; inf where a
    table counts on a kind being spent. largest (P, J): of mu. steep (P, 2): A and B, regrets lie above min(A x, B y).
    fall (P, C): minus the log of the Bhattacharyya coefficient of one run. corner (S,): the most that is to be
    had where the state is known.
    """

    states: Ids
    tables: Ids
    alpha: Array
    beta: Array
    raised: Array
    largest: Array
    steep: Array
    fall: Array
    corner: Array


@compiled
def cell_of(x: float, y: float, cells: int) -> int:
    """The cell of the grid where weights x, y of two states lie."""
    if x <= 0.0:
        return 0
    if y <= 0.0:
        return cells - 1
    place = (np.log(x / y) + SPAN) * ((cells - 2) / (2 * SPAN))
    if place < 0.0:
        return 0
    return min(1 + int(place), cells - 1)


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
    raised: Array,
    price: Array,
    runs: Array,
    value: Array,
    mass: Array,
    later: Array,
    choice: Ids,
) -> float:
    """Raised prices `best` (C,) that make the bound at `share` small, from those in it; the bound there.

    top (N,): values to start sweeps from. The last seven: scratch.
    """
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
        expected_runs(pair, choice, at, part, mass, later, runs, 100)
        length = 0.0
        for kind in range(len(price)):
            if left[kind] > 0:
                free = model.group[kind] >= 0 and paid[model.group[kind]] == 0
                runs[kind] -= 0.0 if free else float(left[kind])
                if raised[kind] > max(-model.price[kind], 0.0) or runs[kind] > 0:
                    length += runs[kind] ** 2
        if length <= 1e-18:
            break
        step = (bound - lowest + hope) / length
        for kind in range(len(price)):
            if left[kind] > 0 and left[kind] < 1 << 14:
                raised[kind] = max(raised[kind] + step * runs[kind], max(-model.price[kind], 0.0))
    return lowest
