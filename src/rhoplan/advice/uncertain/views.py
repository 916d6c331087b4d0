"""How advice moves with single uncertain numbers: one at a time to its ends (a tornado), two at a time (a map)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rhoplan.advice.uncertain.numbers import Unsure, versions
from rhoplan.advice.uncertain.weighing import Weigher
from rhoplan.advice.variations import Quantity
from rhoplan.errors import RhoplanError
from rhoplan.model.pomdp import Array

ENDS = (0.025, 0.975)
"""What lies between them is the 95% interval of a number."""

STEPS = 25
"""Values along each side of a map."""


@dataclass(frozen=True)
class End:
    """One end of a number's interval: its value there, the worth of the plan made for the stated numbers and of the
    best plan for that value, and what that one does first."""

    value: float
    kept: float
    best: float
    first: str


@dataclass(frozen=True)
class Swing:
    """What happens as one number goes to the ends of its 95% interval, the others as stated."""

    id: str
    name: str
    quantity: Quantity
    value: float
    low: End
    high: End

    @property
    def width(self) -> float:
        return abs(self.high.kept - self.low.kept)


@dataclass(frozen=True)
class Axis:
    """One side of a map."""

    id: str
    name: str
    quantity: Quantity
    value: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class Map:
    """The first action over two numbers, each within its 95% interval: rows go with `down`, columns with `across`;
    places among `actions`."""

    across: Axis
    down: Axis
    actions: tuple[str, ...]
    first: tuple[tuple[int, ...], ...]


def swings(weigher: Weigher, items: Sequence[Unsure]) -> tuple[Swing, ...]:
    """The tornado: widest first."""
    found = []
    for item in items:
        ends = _between(item, 2)
        told = weigher.weigh(versions(weigher.problem, [(item, item.at(ends))], 2))
        kept, best = told.kept / told.chance, told.best / told.chance
        low, high = (
            End(item.scale * float(ends[k]), float(kept[k]), float(best[k]), weigher.names[told.first[k]])
            for k in (0, 1)
        )
        value = item.scale * item.one.mean
        found.append(Swing(item.id, item.main_name, item.quantity, value, low, high))
    return tuple(sorted(found, key=lambda one: -one.width))


def two_way(weigher: Weigher, across: Unsure, down: Unsure) -> Map:
    """The first action over two numbers, the others as stated."""
    if across.id == down.id:
        raise RhoplanError(f"a map needs two different numbers; both are '{across.id}'", field=("map",))
    sides = [_between(item, STEPS) for item in (across, down)]
    columns, rows = (grid.ravel() for grid in np.meshgrid(*sides))
    if across.test is not None and (across.kind, across.names) == (down.kind, down.names):
        raise RhoplanError(f"a map needs numbers of two different rows; both are of {across.name}", field=("map",))
    changes = [(across, across.at(columns)), (down, down.at(rows))]
    told = weigher.weigh(versions(weigher.problem, changes, len(columns)))
    met = sorted(set(told.first.tolist()))
    first = np.searchsorted(met, told.first).reshape(STEPS, STEPS)
    axes = [
        Axis(item.id, item.main_name, item.quantity, item.scale * item.one.mean, tuple((item.scale * side).tolist()))
        for item, side in zip((across, down), sides, strict=True)
    ]
    actions = tuple(weigher.names[place] for place in met)
    return Map(axes[0], axes[1], actions, tuple(tuple(row) for row in first.tolist()))


def _between(item: Unsure, count: int) -> Array:
    """`count` values from end to end of the 95% interval, such that what people call them grows."""
    low, high = (item.one.quantile(share) for share in ENDS)
    values: Array = np.linspace(low, high, count)
    return values if item.scale > 0 else values[::-1]


def find(items: Sequence[Unsure], name: str) -> Unsure:
    """The uncertain number that `name` names, by its id or as people call it."""
    found = next((item for item in items if name in (item.id, item.name, item.main_name)), None)
    if found is None:
        known = ", ".join(item.id for item in items[:8])
        raise RhoplanError(
            f"'{name[:80]}' is no uncertain number of this model; it has {known}{', ...' if len(items) > 8 else ''}",
            field=("map",),
        )
    return found
