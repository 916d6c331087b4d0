"""Ceilings: upper bounds of problems with two states as tables, which kernels fill and look up.

A table has a row for each count of *counted* kinds of tests still to be run; groups, orders and caps are kept there as
far as the counts tell. All other kinds can be repeated at raised prices (see `pairs`). Rows come in the order of their
code, sum of count * radix: what one more test leads to stands before it.

Shapes: P pairs of states, R rows, N points of the grid, C kinds of tests, Q outcomes, G groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.many.machine import Model, compiled
from rhoplan.planning.many.pairs import SPAN, Pair, worth_of


class Ceilings(NamedTuple):
    """states (P, 2). radix (C,): 0 for kinds that are not counted. whole (G,): 1 for groups whose kinds all are.

    share (N,), width (N - 1,): the grid, and one over the width of its cells. value (P, R, N): bounds on V - w H.
    raised (P, C): mu of kinds that are not counted. largest (P,): of them. corner (S,): the most to be had where the
    state is known.
    """

    states: Ids
    radix: Ids
    whole: Ids
    share: Array
    width: Array
    value: Array
    raised: Array
    largest: Array
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
def read_row(model: Model, ceilings: Ceilings, pair: int, row: int, left: Ids, price: Array) -> None:
    """Prices (C,) of kinds in `row`, inf where one cannot be run there. left (C,): counts, -1 for kinds not counted."""
    tests, spent = 0, 0
    for kind in range(len(left)):
        radix, most = ceilings.radix[kind], model.copies[kind] - model.had[kind]
        if radix > 0:
            left[kind] = (row // radix) % (most + 1)
            tests += most - left[kind]
            spent += (most - left[kind]) * model.ticks[kind]
        else:
            left[kind] = -1
    for group in range(len(model.entry)):
        if ceilings.whole[group] > 0 and not model.paid[group] and _is_paid(model, group, left):
            spent += model.entry_ticks[group]
    for kind in range(len(left)):
        if left[kind] < 0:
            there = model.copies[kind] > model.had[kind] and (model.caps[0] < 0 or tests < model.caps[0])
            price[kind] = model.price[kind] + ceilings.raised[pair, kind] if there else np.inf
            continue
        price[kind], ticks, group = model.price[kind], model.ticks[kind], model.group[kind]
        if group >= 0 and ceilings.whole[group] > 0 and not _is_paid(model, group, left):
            price[kind] += model.entry[group]
            ticks += model.entry_ticks[group]
        lacks = left[kind] == 0 or (model.caps[0] >= 0 and tests >= model.caps[0])
        lacks = lacks or (model.caps[1] > 0 and spent + ticks > model.caps[2])
        for need in range(model.before[kind], model.before[kind + 1]):
            met = False
            for place in range(model.either[need], model.either[need + 1]):
                met = met or left[model.needed[place]] < 0 or _has_run(model, model.needed[place], left)
            lacks = lacks or not met
        for place in range(model.against[kind], model.against[kind + 1]):
            lacks = lacks or (left[model.rivals[place]] >= 0 and _has_run(model, model.rivals[place], left))
        if lacks:
            price[kind] = np.inf


@compiled
def _has_run(model: Model, kind: int, left: Ids) -> bool:
    """Whether a counted kind has been run since the root."""
    return bool(left[kind] < model.copies[kind] - model.had[kind])


@compiled
def _is_paid(model: Model, group: int, left: Ids) -> bool:
    """Whether a group of counted kinds is paid for."""
    if model.paid[group]:
        return True
    for kind in range(len(left)):
        if model.group[kind] == group and left[kind] >= 0 and _has_run(model, kind, left):
            return True
    return False


@compiled
def fill_rows(
    model: Model,
    ceilings: Ceilings,
    pair: int,
    grid: Pair,
    top: Array,
    first: int,
    last: int,
    little: float,
    sweeps: int,
    left: Ids,
    price: Array,
    fixed: Array,
) -> None:
    """Fill rows `first` to `last` of a pair. top (N,): bounds to begin with. left, price (C,), fixed (N,): scratch."""
    points = len(top)
    for row in range(first, last):
        read_row(model, ceilings, pair, row, left, price)
        for i in range(points):
            fixed[i] = grid.stop[i]
        repeats = False
        for kind in range(len(price)):
            if price[kind] == np.inf:
                continue
            if left[kind] < 0:
                repeats = True
                continue
            after = ceilings.value[pair, row - ceilings.radix[kind]]
            for i in range(points):
                fixed[i] = max(fixed[i], worth_of(grid, kind, price[kind], after, i))
        value = ceilings.value[pair, row]
        for i in range(points):
            value[i] = top[i] if repeats else fixed[i]
        for _ in range(sweeps if repeats else 0):
            change = 0.0
            for i in range(points):
                best = fixed[i]
                for kind in range(len(price)):
                    if left[kind] < 0 and price[kind] < np.inf:
                        best = max(best, worth_of(grid, kind, price[kind], value, i))
                if best < value[i]:
                    change = max(change, value[i] - best)
                    value[i] = best
            if change <= little:
                break
