"""From a structure and a grid for each factor to the arrays of a lattice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rhoplan.model.pomdp import END, Array, Ids
from rhoplan.planning import clock
from rhoplan.planning.certified.components import rooms_of
from rhoplan.planning.certified.lattice.grid import Entry, Grid, Row, rows_of
from rhoplan.planning.certified.lattice.rooms import NO_FACTOR, Structure
from rhoplan.planning.certified.lattice.sweeps import Lattice

NONE = Row(-np.inf, ())
"""An action that nothing can be said for."""


class Numbers:
    """What each kind of action comes to on grids; kept, since grids of few factors change from one try to the next."""

    def __init__(
        self,
        structure: Structure,
        *,
        weight: float,
        discount: float,
        upper: bool,
        hair: float,
        deadline: float = np.inf,
    ) -> None:
        self.structure, self.weight, self.discount, self.upper, self.hair = structure, weight, discount, upper, hair
        self.deadline = deadline
        self._kept: dict[tuple[int, bytes], list[Row]] = {}

    def rows(self, kind: int, grid: Grid) -> list[Row]:
        """The row of each grid point."""
        action, about = self.structure.kinds[kind]
        if about == NO_FACTOR:
            leads = enumerate(zip(action.leads_to, action.likelihood[0].tolist(), strict=True))
            chances = [(outcome, chance) for outcome, (there, chance) in leads if there is not END and chance > 0]
            paid = float(action.reward[0]) + self.hair
            return [
                Row(paid, tuple(Entry(self.discount * chance, point, outcome) for outcome, chance in chances))
                for point in range(len(grid.points))
            ]
        key = kind, grid.points.tobytes()
        if key not in self._kept:
            found = rows_of(
                action,
                grid.points,
                weight=self.weight,
                discount=self.discount,
                upper=self.upper,
                deadline=self.deadline,
            )
            self._kept[key] = [NONE if row is None else row._replace(paid=row.paid + self.hair) for row in found]
        return self._kept[key]


def lattice_of(structure: Structure, grids: Sequence[Grid], numbers: Numbers, *, most: float) -> Lattice | None:
    """The arrays, or None where there would be more than `most` values. `numbers` are those of the same structure.

    TimeoutError where their deadline comes first.
    """
    width = max(grid.places for grid in grids)
    kind_at, row_first, row_paid, row_at = [0], [0], list[float](), [0]
    chance, to, outcome = list[float](), list[int](), list[int]()
    reach: list[dict[int, set[tuple[int, int]]]] = []
    for kind, (_, about) in enumerate(structure.kinds):
        grid = grids[max(about, 0)]
        rows = numbers.rows(kind, grid)
        came: dict[int, set[tuple[int, int]]] = {}
        for place in range(grid.places):
            for point in np.flatnonzero(grid.place == place).tolist():
                entries = rows[point].entries
                row_paid.append(rows[point].paid)
                chance += [entry.chance for entry in entries]
                to += [int(grid.place[entry.point]) for entry in entries]
                outcome += [entry.outcome for entry in entries]
                row_at.append(len(chance))
                came.setdefault(place, set()).update((int(grid.place[e.point]), e.outcome) for e in entries)
            row_first.append(len(row_paid))
        kind_at.append(len(row_first) - 1)
        reach.append(came)
    held, heirs = places_held(structure, grids, reach, numbers.deadline)
    size = held.sum(axis=2)
    count = np.bincount(structure.room, minlength=structure.rooms)
    tuples = np.prod(size.astype(float), axis=1)
    if float(tuples @ count) > most:
        return None
    stride = np.ones_like(size)
    stride[:, :-1] = np.cumprod(size[:, :0:-1], axis=1)[:, ::-1]
    digit = np.full_like(held, -1)
    for factor in range(len(grids)):
        order = places_in_order(structure, factor, grids[factor].places, reach)
        ahead = np.cumsum(held[:, factor, order], axis=1) - 1
        digit[:, factor, order] = np.where(held[:, factor, order], ahead, -1)
    places_of = np.zeros((structure.rooms, len(grids), width), dtype=np.int64)
    rooms, factors, places = np.nonzero(held)
    places_of[rooms, factors, digit[rooms, factors, places]] = places
    touched = np.array([max(about, 0) for _, about in structure.kinds], dtype=np.int64)
    return Lattice(
        room_first=np.concatenate([[0], np.cumsum(count)]),
        room_at=np.concatenate([[0], np.cumsum(tuples.astype(np.int64) * count)]),
        size=size,
        stride=stride,
        digit=digit,
        place=places_of,
        heir_first=np.concatenate([[0], np.cumsum([len(others) for others in heirs])]).astype(np.int64),
        heir=np.array([other for others in heirs for other in sorted(others)], dtype=np.int64),
        room=structure.room,
        first=structure.first,
        factor=touched[structure.kind],
        kind=structure.kind,
        leads=structure.leads,
        walks=structure.walks,
        lead=structure.lead,
        kind_at=np.array(kind_at),
        row_first=np.array(row_first),
        row_paid=np.array(row_paid),
        row_at=np.array(row_at),
        chance=np.array(chance),
        to=np.array(to, dtype=np.int64),
        outcome=np.array(outcome, dtype=np.int64),
    )


def places_in_order(
    structure: Structure, factor: int, places: int, reach: list[dict[int, set[tuple[int, int]]]]
) -> Ids:
    """The places on a factor's grid, those first that lead to no others: so each tuple mostly reads earlier ones."""
    targets: list[set[int]] = [set() for _ in range(places)]
    for (_, about), came in zip(structure.kinds, reach, strict=True):
        if about == factor:
            for place, entries in came.items():
                targets[place].update(after for after, _ in entries)
    return np.argsort(rooms_of([sorted(found) for found in targets]), kind="stable")


def places_held(
    structure: Structure, grids: Sequence[Grid], reach: list[dict[int, set[tuple[int, int]]]], deadline: float
) -> tuple[Ids, list[set[int]]]:
    """Whether (rooms, factors, places) a place on a factor's grid can come up in a room; and where each room leads."""
    width = max(grid.places for grid in grids)
    held = np.zeros((structure.rooms, len(grids), width), dtype=np.int64)
    heirs: list[set[int]] = [set() for _ in range(structure.rooms)]
    for factor, grid in enumerate(grids):
        for _, point in grid.start:
            held[structure.room[structure.start], factor, grid.place[point]] = 1
    doors = structure.doors
    for room in range(structure.rooms - 1, -1, -1):
        clock.check(deadline)
        heirs[room] = {there for _, rooms in doors[room] for there in rooms if there not in (room, -1)}
        growing = True
        while growing:
            before = held[room].sum()
            for kind, rooms in doors[room]:
                factor = max(structure.kinds[kind][1], 0)
                for place in np.flatnonzero(held[room, factor]).tolist():
                    for after, outcome in reach[kind].get(place, ()):
                        held[rooms[outcome], factor, after] = 1
            growing = held[room].sum() > before
        for kind, rooms in doors[room]:
            factor = max(structure.kinds[kind][1], 0)
            for there in set(rooms) - {room, -1}:
                others = np.arange(len(grids)) != factor
                held[there, others] |= held[room, others]
    return held, heirs


def start_tuples(lattice: Lattice, structure: Structure, grids: Sequence[Grid]) -> tuple[Array, Ids]:
    """Shares of the tuples that the priors are made of, and their numbers in the start's room."""
    room = int(structure.room[structure.start])
    shares, numbers = np.ones(1), np.zeros(1, dtype=np.int64)
    for factor, grid in enumerate(grids):
        places = [int(grid.place[point]) for _, point in grid.start]
        steps = lattice.digit[room, factor, places] * lattice.stride[room, factor]
        shares = np.multiply.outer(shares, [share for share, _ in grid.start]).ravel()
        numbers = np.add.outer(numbers, steps).ravel()
    return shares, numbers


def start_value(lattice: Lattice, values: Array, structure: Structure, grids: Sequence[Grid], weight: float) -> float:
    """The bound at the start. Where the state is told to begin with, V - w H is what is mixed."""
    room = int(structure.room[structure.start])
    count = int(lattice.room_first[room + 1] - lattice.room_first[room])
    shares, numbers = start_tuples(lattice, structure, grids)
    first = int(lattice.room_at[room]) + structure.start - int(lattice.room_first[room])
    told = sum(float(-(prior * np.log(prior)).sum()) for prior in map(_untold, grids))
    return float(shares @ values[first + numbers * count]) + weight * told


def _untold(grid: Grid) -> Array:
    """The chances of what is told at the start: all 1 where nothing is."""
    return np.array([share for share, _ in grid.start])


def least_of(structure: Structure, discount: float) -> float:
    """What any plan earns, at the least; minus infinity with discount 1."""
    worst = min((float(action.reward.min()) for action, _ in structure.kinds), default=0.0)
    return min(worst, 0.0) / (1 - discount) if discount < 1 else -np.inf


def scale_of(structure: Structure) -> float:
    """The largest reward or cost of any action."""
    return max((float(np.max(np.abs(action.reward))) for action, _ in structure.kinds), default=0.0) or 1.0
