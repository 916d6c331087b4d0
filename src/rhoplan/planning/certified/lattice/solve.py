"""Bounds on the best value of a problem with several hidden factors, on finer and finer grids of beliefs.

Each level has a grid for each factor and each bound. Values rise from below: those of the lower bound are what some
plan is worth at any time; those of the upper one count when they have settled. With discount 1 each reward of the upper
bound is raised by a hair: values that one more backup does not raise by more than half of it fall with every step that
is really taken, so no plan that ends earns more, and one that never ends loses without limit. With a discount what is
left to rise is added for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rhoplan.errors import LimitError
from rhoplan.model.pomdp import POMDP, Array, Ids
from rhoplan.planning import clock
from rhoplan.planning.asked import Asked
from rhoplan.planning.certified.lattice.build import Numbers, lattice_of, least_of, scale_of, start_value
from rhoplan.planning.certified.lattice.grid import Grid, corners, refined
from rhoplan.planning.certified.lattice.grow import Use, merged, offers, tests_below, uses_of
from rhoplan.planning.certified.lattice.policy import GridPolicy, Half
from rhoplan.planning.certified.lattice.rooms import Structure, structure_of
from rhoplan.planning.certified.lattice.sweeps import Lattice, rise_left, settle

HAIR, FINEST_HAIR = 2e-6, 1e-9
"""By how much each reward of the upper bound is raised where there is no discount: a share of the gap there is (of the
largest reward, at first), and at least that share of the largest reward. Values have settled within a part of it."""

ROUNDING = 1e-12
"""Outward rounding, as a share of the largest value."""

MOST_ROUNDS, MOST_CREEPS, CREEP = 100_000, 300, 2000
"""Rounds over a room at most; and rounds in a row in which values only creep: rise by no more than what so many steps
are raised by. A round goes through the walks of a tuple that often at most."""

DEEP = -1e4
"""Where values of the upper bound begin with discount 1, in largest rewards."""

SLICE = 3_000_000
"""Work between two looks at the clock, in backups of one action."""

GROWTH = 12.0
"""A level has at most this many times as many values as the one before."""

IN_VAIN = 8.0
"""How many times as long a level seems to have taken that ends below what is known from elsewhere."""

Progress = Callable[[float, float, int], None]


class OutOfTime(Exception):
    """The clock ran out before the values settled."""


@dataclass
class Side:
    """One of the two bounds: its grids, and the values of the last level that settled."""

    upper: bool
    bound: float
    grids: list[Grid]
    lattice: Lattice | None = None
    values: Array = field(default_factory=lambda: np.zeros(0))
    settled: list[Grid] = field(default_factory=list)
    hair: float = 0.0
    """By how much rewards were raised there."""

    done: bool = False
    """Whether no finer grid is in reach."""

    spent: float = 0.0
    """Seconds per value of the last level."""


class LatticeSearch:
    """A search under way: both bounds hold after every call."""

    def __init__(
        self,
        problem: POMDP,
        *,
        weight: float,
        discount: float,
        gap: float,
        deadline: float,
        memory: float,
        known: float = -np.inf,
    ) -> None:
        """known: what others have found the problem to be worth at least."""
        self.problem, self.weight, self.discount, self.gap = problem, float(weight), float(discount), float(gap)
        self.deadline, self.most, self.known = deadline, 0.4 * memory / 8, known
        self.structure: Structure = structure_of(problem, deadline=deadline)
        self.scale = scale_of(self.structure)
        self.sides = [self._side(upper) for upper in (True, False)]
        self.levels, self.short_of_time, self.short_of_memory = 0, False, False
        self.share = 0.5
        """Of the time left, what the next level may seem to take: more where nothing follows that has use for it."""

    def _side(self, upper: bool) -> Side:
        grids = [corners(factor) for factor in self.problem.factors]
        if not upper:
            grids = [
                refined(grid, f.prior[None, :], f.prior) for grid, f in zip(grids, self.problem.factors, strict=True)
            ]
        return Side(upper, np.inf if upper else -np.inf, grids)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.sides[1].bound, self.sides[0].bound

    @property
    def size(self) -> int:
        """Values of both bounds."""
        return sum(len(side.values) for side in self.sides)

    def run(self, progress: Progress | None = None) -> str:
        """Levels until something stops them; what did. Can be called again with a later deadline."""
        for side in self.sides:
            side.done = False
        try:
            if not self.levels:
                self.first_level()
            while True:
                if progress:
                    progress(*self.bounds, self.size)
                if self.bounds[1] - max(self.bounds[0], self.known) <= self.gap:
                    return "gap"
                if clock.now() > self.deadline:
                    return "time"
                self.short_of_time = self.short_of_memory = False
                if not self.refine():
                    return "time" if self.short_of_time else "memory" if self.short_of_memory else "method"
        except (KeyboardInterrupt, TimeoutError) as stopped:
            if not self.levels:
                raise
            return "time" if isinstance(stopped, TimeoutError) else "interrupted"

    def first_level(self) -> None:
        """The coarsest grids. LimitError where even they are too large, TimeoutError where they take too long."""
        for number, grid in enumerate(self.sides[0].grids):
            place = merged(
                self.structure, number, grid, weight=self.weight, discount=self.discount, deadline=self.deadline
            )
            for side in self.sides:
                side.grids[number] = side.grids[number].put_together(place)
        for side in self.sides:
            if not self._settle(side):
                if self.short_of_time:
                    raise TimeoutError
                raise LimitError(
                    f"the combinations of {len(side.grids)} hidden factors must number at most {self.most:.3g}; "
                    "there are more: allow more memory, or make the problem smaller"
                )
        self.levels = 1

    def refine(self) -> bool:
        """One level more for the side that has had less time; whether any was made. Below what is known from elsewhere
        the lower one counts for nothing yet: it has had enough much sooner."""

        def had(side: Side) -> float:
            return side.spent * len(side.values) * (1.0 if side.upper or side.bound > self.known else IN_VAIN)

        for side in sorted(self.sides, key=had):
            if side.done:
                continue
            finer = self._finer(side)
            if finer is None and side.upper and self.hair < 0.5 * side.hair:
                finer = side.grids
            if finer is None:
                continue
            side.grids = finer
            if self._settle(side):
                self.levels += 1
                return True
            side.done = True
        return False

    def _finer(self, side: Side) -> list[Grid] | None:
        """Grids with more points, where they help most, as far as time and memory allow; None where there are none."""
        left = max(self.deadline - clock.now(), 0.0)
        soon = self.share * left / max(side.spent, 1e-12)
        most = min(self.most, GROWTH * len(side.values) + 10_000, soon)
        grids, changed = list(side.grids), False
        for number, more in self._offers(side):
            grid = refined(grids[number], more, self.problem.factors[number].prior)
            tried = [grid if place == number else old for place, old in enumerate(grids)]
            if self._lattice(side, tried, most) is not None:
                grids, changed = tried, True
            elif soon < self.most:
                self.short_of_time = True
            else:
                self.short_of_memory = True
        return grids if changed else None

    def _offers(self, side: Side) -> list[tuple[int, Array]]:
        """Factors and new points for their grids, the best first: the priors before all others."""
        factors, above = self.problem.factors, self.sides[0]
        missing = [(n, factors[n].prior[None, :]) for n, grid in enumerate(above.grids) if not grid.holds_prior]
        if missing and side.upper:
            return missing
        uses: list[Use] = []
        if not missing and above.lattice is not None:
            uses = uses_of(above.lattice, above.values, self.structure, above.settled)
        if not side.upper:
            uses = tests_below(self.structure, side.grids, uses)
        return [(number, more) for _, number, more in offers(self.structure, side.grids, uses, upper=side.upper)]

    @property
    def hair(self) -> float:
        lower, upper = self.bounds
        apart = min(upper - lower, self.scale) if upper - lower < np.inf else self.scale
        return max(HAIR * apart, FINEST_HAIR * self.scale)

    def _numbers(self, side: Side) -> Numbers:
        hair = self.hair if side.upper and self.discount == 1 else 0.0
        return Numbers(
            self.structure,
            weight=self.weight,
            discount=self.discount,
            upper=side.upper,
            hair=hair,
            deadline=self.deadline,
        )

    def _lattice(self, side: Side, grids: Sequence[Grid], most: float) -> Lattice | None:
        return lattice_of(self.structure, grids, self._numbers(side), most=most)

    def _settle(self, side: Side) -> bool:
        """Work the values of the side's grids out; False where there are too many, or the time is too short."""
        begin, side.hair = clock.now(), self.hair
        lattice = self._lattice(side, side.grids, self.most)
        if lattice is None:
            self.short_of_memory = True
            return False
        values = np.full(int(lattice.room_at[-1]), self._least(side))
        try:
            rise = max(self._settle_room(side, lattice, values, room) for room in range(self.structure.rooms))
        except OutOfTime:
            self.short_of_time, rise = True, 0.0
            if side.upper:
                return False
        size = float(np.abs(values[np.isfinite(values)]).max(initial=self.scale))
        value = start_value(lattice, values, self.structure, side.grids, self.weight)
        if side.upper:
            if self.discount < 1:
                values += (rise + ROUNDING * size) / (1 - self.discount)
                value += (rise + ROUNDING * size) / (1 - self.discount)
            side.bound = min(side.bound, value + ROUNDING * size)
        else:
            if self.short_of_time and side.lattice is not None and value <= side.bound:
                return False
            side.bound = max(side.bound, value - 1e3 * ROUNDING * size)
        side.lattice, side.values, side.settled = lattice, values, list(side.grids)
        side.spent = (clock.now() - begin) / len(values)
        return True

    def _least(self, side: Side) -> float:
        """Where values begin to rise: at what any plan earns. With discount 1 those of the upper bound begin low, but
        not without limit: where one can go on for ever for nothing they must be seen to rise, however slowly."""
        return DEEP * self.scale if self.discount == 1 and side.upper else least_of(self.structure, self.discount)

    def _settle_room(self, side: Side, lattice: Lattice, values: Array, room: int) -> float:
        """Raise the values of a room until they have settled; what is left to rise at most."""
        factors, tuples = lattice.size.shape[1], int(np.prod(lattice.size[room]))
        count = int(lattice.room_first[room + 1] - lattice.room_first[room])
        acts = int(lattice.first[lattice.room_first[room + 1]] - lattice.first[lattice.room_first[room]])
        step = max(1, SLICE // max(count + acts, 1))
        stamp: Ids = np.full(tuples, -1)
        held, base = np.zeros(factors, dtype=np.int64), np.zeros(len(lattice.room_at), dtype=np.int64)
        tolerance = 0.2 * self.hair * (1.0 if self.discount == 1 else 1 - self.discount)
        block = slice(int(lattice.room_at[room]), int(lattice.room_at[room + 1]))
        creeps = 0
        for turn in range(MOST_ROUNDS):
            rise = 0.0
            for first in range(0, tuples, step):
                last = min(first + step, tuples)
                args = (room, first, last, turn, tolerance, side.upper, stamp, held, base)
                rise = max(rise, settle(lattice, values, *args))
                if clock.now() > self.deadline:
                    raise OutOfTime
            endless = values[block].max(initial=-np.inf) > 1e7 * self.scale / (
                1 - self.discount if self.discount < 1 else 1.0
            )
            creeps = creeps + 1 if side.upper and self.discount == 1 and rise <= CREEP * side.hair else 0
            if endless or creeps > MOST_CREEPS:
                raise LimitError(
                    "on grids and with discount 1 going on for ever must cost something; here it pays, or a circle is "
                    "free: take method points, or a discount below 1"
                )
            if rise <= tolerance:
                left = 0.0
                for first in range(0, tuples, step):
                    last = min(first + step, tuples)
                    left = max(left, rise_left(lattice, values, room, first, last, side.upper, held, base))
                    if side.upper and clock.now() > self.deadline:
                        raise OutOfTime
                if left <= 2 * tolerance or not side.upper:
                    return left
                stamp[:] = turn
        raise OutOfTime

    def policy(self) -> GridPolicy:
        """What to do, and bounds, in any situation: from the last levels that settled."""
        halves = []
        for side in self.sides:
            assert side.lattice is not None, "the first level has settled"
            halves.append(Half(side.lattice, tuple(side.settled), side.values))
        settings = Asked(self.weight, self.discount)
        return GridPolicy(self.problem, self.structure, settings, *halves)


def grid_policy(problem: POMDP, told: dict[str, Any], arrays: dict[str, Any]) -> GridPolicy | None:
    """The policy that `GridPolicy.save` wrote; None where it was solved for another problem."""
    structure = structure_of(problem)
    if structure.digest != told["digest"]:
        return None
    halves = []
    for name, upper in (("above", True), ("below", False)):
        grids = []
        for factor in range(len(problem.factors)):
            start = tuple((float(share), int(point)) for share, point in arrays[f"{name}-start-{factor}"])
            grids.append(Grid(arrays[f"{name}-points-{factor}"], arrays[f"{name}-place-{factor}"], start))
        numbers = Numbers(structure, weight=told["weight"], discount=told["discount"], upper=upper, hair=0.0)
        lattice = lattice_of(structure, grids, numbers, most=np.inf)
        assert lattice is not None
        halves.append(Half(lattice, tuple(grids), arrays[f"{name}-values"]))
    return GridPolicy(problem, structure, Asked(told["weight"], told["discount"]), *halves)
