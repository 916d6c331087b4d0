"""Which beliefs to put on a factor's grid, and which to put together.

Points whose values are the same everywhere are put in one place (a rock known to be bad and a rock that is spent). This
is found out on one factor alone, with all the walks of the whole, where the lattice is small. New points are those that
the tests of a good plan lead to, where the grid blurs them most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rhoplan.belief_math.information import update
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning import clock
from rhoplan.planning.certified.lattice.build import Numbers, lattice_of, scale_of, start_tuples
from rhoplan.planning.certified.lattice.grid import Grid, contract, find_point, spread
from rhoplan.planning.certified.lattice.rooms import NO_FACTOR, Structure
from rhoplan.planning.certified.lattice.sweeps import Lattice, count_uses, settle

EPISODES, STEPS = 400, 400
"""Random episodes that show what a plan does, and their length at most."""

SELDOM = 0.2
"""Uses per episode that every test is given, taken or not."""

NEGLIGIBLE = 1e-9
"""What a new point must do for the mean square of beliefs, per episode, to be of use."""

MOST_VALUES = 2_000_000
"""Values of a trial lattice, at most."""

MOST_ROUNDS = 60
"""Rounds over a trial lattice, at most."""

SAME = 1e-9
"""Values of a trial closer than this share of the largest reward are the same."""


def merged(
    structure: Structure, factor: int, grid: Grid, *, weight: float, discount: float, deadline: float = np.inf
) -> Ids:
    """A place (G,) for each point of a grid, the same where values are the same wherever one is and only `factor` is
    hidden.

    There one may stop at any time for nothing: what is looked for is points that make no difference, and a bound with
    points in one place is a bound whatever was looked for.
    """
    alone, scale = structure.only(factor), scale_of(structure)
    numbers = Numbers(alone, weight=weight, discount=discount, upper=True, hair=0.0, deadline=deadline)
    lattice = lattice_of(alone, [grid], numbers, most=MOST_VALUES)
    if lattice is None:
        return grid.place
    values = np.zeros(int(lattice.room_at[-1]))
    found = np.full((len(alone.observables), grid.places), np.nan)
    for room in range(alone.rooms):
        clock.check(deadline)
        settle_room(lattice, values, room, tolerance=1e-7 * scale)
        begin, end = int(lattice.room_first[room]), int(lattice.room_first[room + 1])
        block = values[lattice.room_at[room] : lattice.room_at[room + 1]].reshape(-1, end - begin)
        found[begin:end, lattice.place[room, 0, : lattice.size[room, 0]]] = block.T
    place = grid.place.copy()
    for point in range(1, len(place)):
        for other in range(point):
            both = found[:, grid.place[[other, point]]]
            both = both[np.isfinite(both).all(axis=1)]
            if len(both) and np.abs(both[:, 0] - both[:, 1]).max() <= SAME * scale:
                place[point] = place[other]
                break
    return place


class Use(NamedTuple):
    """How often a good plan takes an action of kind `kind` at a belief about its factor."""

    kind: int
    belief: Array
    times: float


def uses_of(lattice: Lattice, values: Array, structure: Structure, grids: Sequence[Grid]) -> list[Use]:
    """What a plan that is best on the upper lattice does from the start, from random episodes."""
    factors = len(grids)
    held, base = np.zeros(factors, dtype=np.int64), np.zeros(len(lattice.room_at), dtype=np.int64)
    uses = np.zeros(int(lattice.kind_at[-1]))
    number = int(start_tuples(lattice, structure, grids)[1][0])
    draws = np.random.default_rng(1).random((EPISODES, STEPS))
    count_uses(lattice, values, structure.start, number, draws, held, base, uses)
    found = []
    for kind, (action, about) in enumerate(structure.kinds):
        if about == NO_FACTOR or (len(action.outcomes) == 1 and action.transition is None):
            continue
        grid, at = grids[about], int(lattice.kind_at[kind])
        for place in np.flatnonzero(uses[at : at + grid.places]).tolist():
            belief = grid.points[int(np.flatnonzero(grid.place == place)[0])]
            found.append(Use(kind, belief, float(uses[at + place])))
    return found


def tests_below(structure: Structure, grids: Sequence[Grid], uses: Sequence[Use]) -> list[Use]:
    """What may come up below: every test at every point of the lower grids, the more the more a good plan uses it and
    the earlier the point was put there."""
    taken: dict[int, float] = {}
    for kind, _, times in uses:
        taken[kind] = taken.get(kind, 0.0) + times
    found = []
    for kind, (action, about) in enumerate(structure.kinds):
        if about == NO_FACTOR or len(action.outcomes) == 1:
            continue
        points = grids[about].points
        inner = points[points.max(axis=1) < 1]
        count = taken.get(kind, 0.0) + SELDOM * EPISODES
        found += [Use(kind, point, count / (1 + number)) for number, point in enumerate(inner)]
    return found


def offers(
    structure: Structure, grids: Sequence[Grid], uses: Sequence[Use], *, upper: bool
) -> list[tuple[float, int, Array]]:
    """The points that would help most on the grid of each factor: how much, the factor, the points; best first.

    From above what counts is how far the grid spreads a belief that comes up, from below how much of a test it forgets,
    both as mean squares.
    """
    best: dict[int, tuple[float, Array]] = {}
    for kind, belief, count in uses:
        action, about = structure.kinds[kind]
        points = grids[about].points
        chances, after = (part[0] for part in update(belief[None, :], action))
        seen = chances > 0
        beliefs, chances = after[seen], chances[seen]
        new = [number for number, held in enumerate(beliefs) if find_point(points, held) < 0]
        if not new:
            continue
        squares = (points**2).sum(axis=1)
        exact = chances * (beliefs**2).sum(axis=1)
        if upper:
            lost = [
                sum(share * squares[point] for share, point in spread(points, chances[[n]], beliefs[[n]])) - exact[n]
                for n in new
            ]
            most = int(np.argmax(lost))
            gain, more = count * lost[most], beliefs[[new[most]]]
        else:
            kept = contract(points, chances, beliefs)
            left = sum(share * squares[point] for share, point in kept) if kept else float(belief @ belief)
            gain, more = count * (float(exact.sum()) - left), beliefs[new]
        if gain > best.get(about, (NEGLIGIBLE * EPISODES, more))[0]:
            best[about] = float(gain), more
    return sorted(((gain, about, more) for about, (gain, more) in best.items()), key=lambda offer: -offer[0])


def settle_room(lattice: Lattice, values: Array, room: int, *, tolerance: float) -> None:
    """Raise the values of a room until none rises by more than `tolerance`, for MOST_ROUNDS rounds at most."""
    factors = lattice.size.shape[1]
    tuples = int(np.prod(lattice.size[room]))
    stamp: Ids = np.full(tuples, -1)
    held, base = np.zeros(factors, dtype=np.int64), np.zeros(len(lattice.room_at), dtype=np.int64)
    for turn in range(MOST_ROUNDS):
        if settle(lattice, values, room, 0, tuples, turn, tolerance, True, stamp, held, base) <= tolerance:
            return
