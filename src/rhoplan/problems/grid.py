"""Cells of a square grid: what RockSample, Inspection and Navigation share.

A cell is a pair of row and column; rows grow to the south, columns to the east.
"""

from __future__ import annotations

import math

from rhoplan.problems.building import require

Cell = tuple[int, int]

MOVES: dict[str, Cell] = {"north": (-1, 0), "south": (1, 0), "east": (0, 1), "west": (0, -1)}


def moved(cell: Cell, step: Cell, size: int) -> Cell:
    """The cell after `step`; at a wall it is the same."""
    row, column = cell[0] + step[0], cell[1] + step[1]
    return min(max(row, 0), size - 1), min(max(column, 0), size - 1)


def manhattan(here: Cell, there: Cell) -> int:
    return abs(here[0] - there[0]) + abs(here[1] - there[1])


def euclidean(here: Cell, there: Cell) -> float:
    return math.hypot(here[0] - there[0], here[1] - there[1])


def check_places(places: tuple[Cell, ...], count: int, size: int, *, field: str) -> None:
    """Raise ProblemError about the parameter `field` unless the places are `count` different cells of the grid."""
    text = "/".join(f"{row}.{column}" for row, column in places)
    inside = all(0 <= part < size for place in places for part in place)
    require(len(places) == count, field, f"name {count} cells", f"'{text}'")
    require(inside, field, f"name cells of the {size} x {size} grid, 0.0 to {size - 1}.{size - 1}", f"'{text}'")
    require(len(set(places)) == count, field, "name different cells", f"'{text}'")


def parse_places(text: str, *, field: str) -> tuple[Cell, ...]:
    """Cells from text such as `1.2/3.1/2.4`, row.column each."""
    try:
        pairs = [[int(part) for part in item.split(".")] for item in text.split("/")]
    except ValueError:
        pairs = [[]]
    require(all(len(pair) == 2 for pair in pairs), field, "read row.column/row.column", f"'{text}'")
    return tuple((row, column) for row, column in pairs)
