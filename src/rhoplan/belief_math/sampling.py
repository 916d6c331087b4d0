"""Sampling of hidden states and observations, so that every simulation draws the same episode from a seed.

The rules reproduce the published random streams:

- a hidden state takes one `integers(0, m)` where the m states that the prior allows are equally probable, else one
  `random()` inverted through the cumulative prior, and nothing where only one state is possible;
- an observation takes one `random()` u inverted through the row of the true state with the most probable observation
  first (equal ones in their own order), and nothing where only one is possible. With a test that names a label and is
  right with probability `accuracy` above one half this reads: the right label if u < accuracy.

Shapes: S hidden states, O observations, R rows of probabilities, k rows that are drawn from.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from rhoplan.belief_math.transitions import Array, Ids, Transition, nonzeros


def draw_state(rng: np.random.Generator, prior: Array) -> int:
    """A hidden state drawn from `prior` (S,)."""
    return state_drawer(prior)(rng)


def state_drawer(prior: Array) -> Callable[[np.random.Generator], int]:
    """A function that draws a hidden state from `prior` (S,)."""
    possible = np.flatnonzero(prior).tolist()
    count, last = len(possible), possible[-1]
    if count == 1:
        return lambda rng: last
    if np.all(prior[possible] == prior[last]):
        return lambda rng: possible[rng.integers(0, count)]
    cumulative = np.cumsum(prior)
    return lambda rng: min(int(cumulative.searchsorted(rng.random(), side="right")), last)


def draw_outcome(rng: np.random.Generator, row: Array) -> int:
    """An observation drawn from `row` (O,), the likelihood of the true state."""
    return int(RowSampler(row[None]).draw(np.zeros(1, dtype=np.int64), lambda _: np.array([rng.random()]))[0])


class RowSampler:
    """Draws columns from the rows (R, C) of probabilities, the most probable column of a row first.

    table: dense or sparse; rows of an array with more than two axes are numbered consecutively.
    """

    def __init__(self, table: Transition) -> None:
        rows, columns, chances = nonzeros(table)
        order = np.lexsort((-chances, rows))
        self._columns = columns[order]
        self._starts = np.searchsorted(rows, np.arange(prod(table.shape[:-1]) + 1))
        sums = np.cumsum(chances[order])
        before = np.concatenate([[0.0], sums])[self._starts[:-1]]
        # One search over all rows: row r holds the numbers from r to r + 1.
        self._ends = rows + np.minimum(sums - before[rows], 1.0)

    def draw(self, rows: Ids, uniforms: Callable[[Ids], Array]) -> Ids:
        """A column (k,) from each of `rows` (k,).

        uniforms: numbers (m,) in [0, 1) for the positions (m,) in `rows` where several columns are possible.
        """
        first, last = self._starts[rows], self._starts[rows + 1] - 1
        numbers = np.zeros(len(rows))
        if (places := np.flatnonzero(first < last)).size:
            numbers[places] = uniforms(places)
        place = np.searchsorted(self._ends, rows + numbers, side="right")
        return self._columns[np.clip(place, first, last)]  # rows + numbers is rounded
