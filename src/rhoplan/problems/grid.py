"""Moves on a grid: what RockSample, Inspection and Navigation share."""

from __future__ import annotations

import math

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.pomdp import Action, Observable

Cell = tuple[int, int]

MOVES: dict[str, Cell] = {"north": (-1, 0), "south": (1, 0), "east": (0, 1), "west": (0, -1)}
"""Rows grow to the south, columns to the east."""


def moved(cell: Cell, step: Cell, size: int) -> Cell:
    """The cell after `step`; a wall holds back."""
    row, column = cell[0] + step[0], cell[1] + step[1]
    return min(max(row, 0), size - 1), min(max(column, 0), size - 1)


def move(name: str, target: Observable, cost: float, states: int) -> Action:
    """An action that changes the visible state only, and costs the same whatever is hidden."""
    return Action(name, np.full(states, -cost), np.ones((states, 1)), ("done",), (target,))


def manhattan(here: Cell, there: Cell) -> int:
    return abs(here[0] - there[0]) + abs(here[1] - there[1])


def euclidean(here: Cell, there: Cell) -> float:
    return math.hypot(here[0] - there[0], here[1] - there[1])


def check_places(what: str, places: tuple[Cell, ...], size: int, *, field: str) -> None:
    """Raise ProblemError about the parameter `field` unless the places are different cells of the grid."""
    for place in places:
        if not all(0 <= part < size for part in place):
            raise ProblemError(f"every {what} must lie on the {size} x {size} grid; one is at {place}", field=(field,))
        if places.count(place) > 1:
            raise ProblemError(f"no two {what}s may share a cell; two are at {place}", field=(field,))


def parse_places(what: str, text: str, *, field: str) -> tuple[Cell, ...]:
    """Cells from text such as `1.2/3.1/2.4`, row.column each."""
    try:
        cells = tuple(tuple(int(part) for part in item.split(".")) for item in text.split("/"))
    except ValueError:
        cells = ((),)
    if not all(len(cell) == 2 for cell in cells):
        raise ProblemError(f"places of {what}s must read row.column/row.column; they read '{text}'", field=(field,))
    return tuple((cell[0], cell[1]) for cell in cells)
