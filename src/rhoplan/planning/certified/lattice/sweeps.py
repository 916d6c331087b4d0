"""Machine code of the lattice: values of all combinations of grid points, raised until they settle.

A place in the lattice is a room, one place on the grid of each factor (together a tuple, in mixed radix) and a visible
state of the room. The values of one tuple stand side by side. Tests lead to other tuples, walks to other visible states
of the same one: within a tuple the first are read once, the second until nothing rises.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.machine import compiled_in_any_order as compiled
from rhoplan.planning.machine import handed

USELESS = 1e-12
"""An action that with all but this chance leaves everything as it is leads nowhere."""

PLAIN = 2
"""Mark of a walk that leads to one visible state of the room for sure, and leaves beliefs alone."""

MOST_WALKS = 200
"""Times that the walks of one tuple are gone through, there and back, before the next tuple's turn."""


@handed
class Lattice(NamedTuple):
    """room_first, room_at: first visible state and first value of each room. size, stride (rooms, factors).
    digit (rooms, factors, places): which digit stands for a place on a factor's grid, -1 where it cannot come up.
    place (rooms, factors, digits): the other way round. heir_first, heir: rooms that a room leads to.
    room: of each visible state. first: first action of each; factor, kind, leads, walks: of each action.
    kind_at: first of a kind's numbers in `row_first`, one more than there are places. row_paid, row_at: of each row;
    chance, to, outcome: of its entries."""

    room_first: Ids
    room_at: Ids
    size: Ids
    stride: Ids
    digit: Ids
    place: Ids
    heir_first: Ids
    heir: Ids
    room: Ids
    first: Ids
    factor: Ids
    kind: Ids
    leads: Ids
    walks: Ids
    lead: Ids
    kind_at: Ids
    row_first: Ids
    row_paid: Array
    row_at: Ids
    chance: Array
    to: Ids
    outcome: Ids


@compiled
def set_out(lattice: Lattice, room: int, number: int, held: Ids, base: Ids) -> None:
    """held[factor] = place on its grid in tuple `number`; base[other room] = the same tuple there."""
    for factor in range(lattice.size.shape[1]):
        digit = number // lattice.stride[room, factor] % lattice.size[room, factor]
        held[factor] = lattice.place[room, factor, digit]
    for heir in range(lattice.heir_first[room], lattice.heir_first[room + 1]):
        other, total = lattice.heir[heir], 0
        for factor in range(lattice.size.shape[1]):
            total += max(lattice.digit[other, factor, held[factor]], 0) * lattice.stride[other, factor]
        base[other] = total
    base[room] = number


@compiled
def worth(lattice: Lattice, values: Array, here: int, action: int, held: Ids, base: Ids, upper: bool) -> float:
    """What `action` is worth in visible state `here`; the tuple is in `held` and `base`."""
    factor = lattice.factor[action]
    place = held[factor]
    room, leads = lattice.room[here], lattice.leads[action]
    own = lattice.room_at[room] + base[room] * (lattice.room_first[room + 1] - lattice.room_first[room])
    own += here - lattice.room_first[room]
    at = lattice.kind_at[lattice.kind[action]] + place
    step = lattice.stride[room, factor] * (lattice.room_first[room + 1] - lattice.room_first[room])
    origin = own - here - lattice.digit[room, factor, place] * step
    best = -np.inf if upper else np.inf
    for row in range(lattice.row_first[at], lattice.row_first[at + 1]):
        total, stays = lattice.row_paid[row], 0.0
        for entry in range(lattice.row_at[row], lattice.row_at[row + 1]):
            there = lattice.lead[leads + lattice.outcome[entry]]
            other = lattice.room[there]
            if other == room:
                where = origin + there + lattice.digit[room, factor, lattice.to[entry]] * step
            else:
                stride = lattice.stride[other, factor]
                number = base[other] - max(lattice.digit[other, factor, place], 0) * stride
                number += lattice.digit[other, factor, lattice.to[entry]] * stride
                where = lattice.room_at[other] + there - lattice.room_first[other]
                where += number * (lattice.room_first[other + 1] - lattice.room_first[other])
            if where == own:
                stays += lattice.chance[entry]
            else:
                total += lattice.chance[entry] * values[where]
        if stays < 1.0 - USELESS:
            total /= 1.0 - stays
        elif total > 0.0:
            total = np.inf
        else:
            total = -np.inf
        best = max(best, total) if upper else min(best, total)
    return best if np.isfinite(best) or (best > 0.0 and upper) else -np.inf


@compiled
def is_fresh(lattice: Lattice, room: int, number: int, stamp: Ids, since: int) -> bool:
    """Whether a tuple that differs in one factor has risen since round `since`."""
    for factor in range(lattice.size.shape[1]):
        stride, size = lattice.stride[room, factor], lattice.size[room, factor]
        first = number - number // stride % size * stride
        for digit in range(size):
            if stamp[first + digit * stride] >= since:
                return True
    return False


@compiled
def settle(
    lattice: Lattice,
    values: Array,
    room: int,
    first: int,
    last: int,
    turn: int,
    tolerance: float,
    upper: bool,
    stamp: Ids,
    held: Ids,
    base: Ids,
) -> float:
    """Raise the values of tuples first to last of `room`, in round `turn`; the largest rise. Every other round goes
    through them backwards."""
    begin, end = lattice.room_first[room], lattice.room_first[room + 1]
    most = 0.0
    for place in range(first, last):
        number = place if turn % 2 == 0 else first + last - 1 - place
        if turn > 0 and not is_fresh(lattice, room, number, stamp, turn - 1):
            continue
        set_out(lattice, room, number, held, base)
        at = lattice.room_at[room] + number * (end - begin) - begin
        rise = 0.0
        for here in range(begin, end):
            for action in range(lattice.first[here], lattice.first[here + 1]):
                if lattice.walks[action] == 0:
                    value = worth(lattice, values, here, action, held, base, upper)
                    if value > values[at + here]:
                        rise = max(rise, value - values[at + here])
                        values[at + here] = value
        again, left = True, MOST_WALKS
        while again and left > 0:
            again, left = False, left - 1
            for step in range(2 * (end - begin)):
                here = begin + step if step < end - begin else 2 * end - begin - 1 - step
                for action in range(lattice.first[here], lattice.first[here + 1]):
                    if lattice.walks[action] > 0:
                        if lattice.walks[action] == PLAIN:
                            row = lattice.row_first[lattice.kind_at[lattice.kind[action]]]
                            value = values[at + lattice.lead[lattice.leads[action]]]
                            value = lattice.row_paid[row] + lattice.chance[lattice.row_at[row]] * value
                        else:
                            value = worth(lattice, values, here, action, held, base, upper)
                        if value > values[at + here] + 0.01 * tolerance:
                            rise = max(rise, value - values[at + here])
                            values[at + here] = value
                            again = True
        if rise > tolerance:
            stamp[number] = turn
        most = max(most, rise)
    return most


@compiled
def rise_left(
    lattice: Lattice, values: Array, room: int, first: int, last: int, upper: bool, held: Ids, base: Ids
) -> float:
    """By how much, at most, one more backup would raise a value of tuples first to last of `room`."""
    begin, end = lattice.room_first[room], lattice.room_first[room + 1]
    most = 0.0
    for number in range(first, last):
        set_out(lattice, room, number, held, base)
        at = lattice.room_at[room] + number * (end - begin) - begin
        for here in range(begin, end):
            for action in range(lattice.first[here], lattice.first[here + 1]):
                value = worth(lattice, values, here, action, held, base, upper)
                if value > values[at + here]:
                    most = max(most, value - values[at + here])
    return most


@compiled
def count_uses(
    lattice: Lattice, values: Array, start: int, number: int, draws: Array, held: Ids, base: Ids, uses: Array
) -> None:
    """Follow the best actions from visible state `start` and tuple `number` in random episodes of the upper lattice.

    draws (episodes, steps): numbers between 0 and 1 that decide. uses[kind_at[kind] + place]: how often an action of
    this kind was taken with its factor at this place.
    """
    for episode in range(draws.shape[0]):
        here, now = start, number
        for step in range(draws.shape[1]):
            room = lattice.room[here]
            set_out(lattice, room, now, held, base)
            taken, best = -1, -np.inf
            for action in range(lattice.first[here], lattice.first[here + 1]):
                value = worth(lattice, values, here, action, held, base, True)
                if value > best:
                    taken, best = action, value
            if taken < 0:
                break
            factor = lattice.factor[taken]
            at = lattice.kind_at[lattice.kind[taken]] + held[factor]
            uses[at] += 1.0
            drawn, row = draws[episode, step], lattice.row_first[at]
            there, to = -1, 0
            for entry in range(lattice.row_at[row], lattice.row_at[row + 1]):
                drawn -= lattice.chance[entry]
                if drawn < 0.0:
                    there, to = lattice.lead[lattice.leads[taken] + lattice.outcome[entry]], lattice.to[entry]
                    break
            if there < 0:
                break
            other = lattice.room[there]
            now = base[other] + lattice.stride[other, factor] * (
                lattice.digit[other, factor, to] - max(lattice.digit[other, factor, held[factor]], 0)
            )
            here = there
