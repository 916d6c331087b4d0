"""Columns of a table as tests with a few outcomes, by what training cases show and nothing else.

Numbers are cut into a few ordered outcomes where they lie apart (Lloyd's cuts: the values within an outcome are as
close to one another as can be), with names that people can read. Texts are outcomes as they stand; rare ones, and those
nobody had, are `other`.

Shapes: n cases, T tests, O outcomes of a test.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rhoplan.learning.table import Column
from rhoplan.model.pomdp import Array, Ids

OTHER = "other"

RARE = 0.01
"""Share of cases below which a text is joined with other rare ones; and fewer than RARE_CASES."""

RARE_CASES = 5

FAR = 0.01
"""Share of the lowest and of the highest numbers that do not draw cuts towards them."""


@dataclass(frozen=True, eq=False)
class Cut:
    """How one column becomes outcomes. cuts (O - 1,): the largest number of each outcome but the last; None for texts.

    places (O,): where ordered outcomes lie, in standard deviations; None where they have no order.
    """

    column: str
    outcomes: tuple[str, ...]
    cuts: Array | None
    places: Array | None

    def __call__(self, column: Column, chosen: Ids) -> Ids:
        """The outcome (m,) of each of the cases `chosen`, -1 where its cell is blank."""
        if self.cuts is not None:
            numbers = np.full(len(chosen), np.nan) if column.numbers is None else column.numbers[chosen]
            return np.where(np.isnan(numbers), -1, np.searchsorted(self.cuts, numbers, side="left"))
        place = {name: number for number, name in enumerate(self.outcomes)}
        names, codes = column.coded
        found = np.array([-1 if not name else place.get(name, place.get(OTHER, -1)) for name in names], dtype=np.int64)
        result: Ids = found[codes[chosen]]
        return result


def cut_column(column: Column, train: Ids, most: int, order: Sequence[str] = ()) -> Cut | None:
    """How `column` becomes at most `most` outcomes, from the cases `train`; None where they all have the same.

    order: the texts in their order, where they have one.
    """
    if order:
        names = (*order, OTHER) if set(column.values) - set(order) else tuple(order)
        return Cut(column.name, names, None, None if OTHER in names else _standard(np.arange(len(order), dtype=float)))
    if column.numbers is None:
        return _texts(column, train)
    numbers = column.numbers[train]
    numbers = numbers[~np.isnan(numbers)]
    if len(np.unique(numbers)) < 2:
        return None
    cuts = np.unique(_rounded(_lloyd(numbers, most), numbers, column.decimals))
    group = np.searchsorted(cuts, numbers, side="left")
    means = np.bincount(group, weights=numbers) / np.bincount(group)
    return Cut(column.name, _names(cuts, column.decimals, np.unique(numbers)), cuts, means / numbers.std())


def _texts(column: Column, train: Ids) -> Cut | None:
    cells = column.cells[train]
    names, counts = np.unique(cells[cells != ""].astype(str), return_counts=True)
    least = max(2, min(RARE_CASES, RARE * counts.sum()))
    kept = [str(name) for name, count in zip(names, counts, strict=True) if count >= least and name != OTHER]
    if len(names) < 2 or not kept:
        return None
    return Cut(column.name, (*kept, OTHER), None, None)


def _standard(places: Array) -> Array:
    spread = float(places.std())
    return places / spread if spread > 0 else places


def _lloyd(numbers: Array, most: int) -> Array:
    """Where to cut, between numbers that are there: all of them where they are few."""
    distinct = np.unique(numbers)
    if len(distinct) <= most:
        return distinct[:-1]
    low, high = np.quantile(numbers, [FAR, 1 - FAR])
    within = np.clip(numbers, low, high) if low < high else numbers
    centre = np.unique(np.quantile(np.unique(within), (np.arange(most) + 0.5) / most))
    for _ in range(100):
        group = np.searchsorted((centre[1:] + centre[:-1]) / 2, within)
        size = np.bincount(group, minlength=len(centre))
        total = np.bincount(group, weights=within, minlength=len(centre))
        moved = (total / np.maximum(size, 1))[size > 0]
        if len(moved) == len(centre) and np.allclose(moved, centre, rtol=1e-9, atol=0.0):
            break
        centre = moved
    edges = (centre[1:] + centre[:-1]) / 2
    return distinct[np.searchsorted(distinct, edges, side="right") - 1]


def _rounded(cuts: Array, numbers: Array, decimals: int) -> Array:
    """`cuts` with as few digits as part the numbers in the same way; numbers with few digits stay."""
    if decimals <= 2:
        return cuts
    distinct = np.unique(numbers)
    found = []
    for cut in cuts:
        place = int(np.searchsorted(distinct, cut, side="right"))
        above = distinct[place] if place < len(distinct) else np.inf
        digits = next((d for d in range(decimals) if cut <= round((cut + min(above, cut + 1)) / 2, d) < above), None)
        found.append(cut if digits is None else round((cut + min(above, cut + 1)) / 2, digits))
    return np.array(found)


def _names(cuts: Array, decimals: int, distinct: Array) -> tuple[str, ...]:
    """Names of the outcomes that `cuts` make."""
    shown = [f"{cut:.12g}" for cut in cuts]
    if len(distinct) == len(cuts) + 1:
        return tuple(f"{value:.12g}" for value in distinct)  # every number is an outcome of its own
    middle = []
    for low, high in itertools.pairwise(cuts):
        if decimals <= 2:
            first = round(low + 10.0**-decimals, decimals)
            middle.append(f"{high:.12g}" if first >= high else f"{first:.12g} to {high:.12g}")
        else:
            middle.append(f"above {low:.12g} to {high:.12g}")
    return (f"<= {shown[0]}", *middle, f"> {shown[-1]}")
