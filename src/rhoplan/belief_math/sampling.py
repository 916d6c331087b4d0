"""Sampling of hidden states and outcomes, so that every simulation draws the same episode from a seed.

The rules reproduce the published random streams:

- a hidden state takes one `integers(0, m)` where the m states that the prior allows are equally probable, else one
  `random()` inverted through the cumulative prior, and nothing where only one state is possible;
- an outcome takes one `random()` u inverted through the row of the true state with the most probable outcome first
  (equal ones in their own order), and nothing where the row leaves one outcome only. With a test that names a label
  and is right with probability `accuracy` above one half this reads: the right label if u < accuracy.

Shapes: S hidden states, O outcomes, k rows that are drawn from.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rhoplan.belief_math.transitions import Array, Ids, Transition


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
    """An outcome drawn from `row` (O,), the likelihood of the true state. No draw where only one can happen."""
    order, cumulative = outcome_order(row[None])
    return int(order[0, 0]) if cumulative[0, 0] >= 1.0 else outcome_for(rng.random(), row)


def outcome_for(u: float, row: Array) -> int:
    """The outcome that `u` in [0, 1) selects, given the likelihood `row` (O,) of the true state."""
    order, cumulative = outcome_order(row[None])
    return int(order[0, np.count_nonzero(cumulative[0] <= u)])


def outcome_order(likelihood: Array) -> tuple[Ids, Array]:
    """Outcomes (S, O) of each state from most to least probable, and the cumulative probability (S, O) in that order.

    The outcome for u is `order[s, np.count_nonzero(cumulative[s] <= u)]`. From the last possible outcome on, the
    cumulative probability is exactly 1, so that no u in [0, 1) selects an impossible one.
    """
    order = np.argsort(-likelihood, axis=1, kind="stable").astype(np.int64)
    cumulative: Array = np.cumsum(np.take_along_axis(likelihood, order, axis=1), axis=1)
    last = np.count_nonzero(likelihood > 0, axis=1) - 1
    cumulative[np.arange(likelihood.shape[1]) >= last[:, None]] = 1.0
    return order, cumulative


class RowSampler:
    """Draws columns from the rows (R, C) of probabilities, dense or sparse, in the order of `outcome_order`."""

    def __init__(self, rows: Transition) -> None:
        self._draw = row_drawer(rows)

    def draw(self, rows: Ids, uniforms: Callable[[Ids], Array]) -> Ids:
        """A column (k,) from each of `rows` (k,). uniforms: numbers (m,) for the positions (m,) that need one."""
        numbers = np.zeros(len(rows))
        columns, is_open = self._draw(rows, numbers)
        places = np.flatnonzero(is_open)
        if not places.size:
            return columns
        numbers[places] = uniforms(places)
        return self._draw(rows, numbers)[0]


def row_drawer(table: Transition) -> Callable[[Ids, Array], tuple[Ids, NDArray[np.bool_]]]:
    """A function that draws columns, given rows (k,) of `table` and numbers (k,) in [0, 1).

    It returns columns (k,), in the order of `outcome_order`, and whether (k,) the row has more than one possible
    column. Rows of an array with more than two axes are numbered consecutively.
    """
    if isinstance(table, np.ndarray):
        order, cumulative = outcome_order(table.reshape(-1, table.shape[-1]))

        def draw(rows: Ids, uniforms: Array) -> tuple[Ids, NDArray[np.bool_]]:
            reached = cumulative[rows]
            return order[rows, (uniforms[:, None] >= reached).sum(axis=1)], reached[:, 0] < 1.0

        return draw
    starts = table.indptr.astype(np.int64)
    row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    sorted_places = np.lexsort((-table.data, row))
    columns = table.indices[sorted_places].astype(np.int64)
    sums = np.cumsum(table.data[sorted_places])
    before = np.concatenate([[0.0], sums])[starts[:-1]]
    # One search over all rows: row r holds the numbers from r to r + 1.
    ends = row + np.minimum(sums - before[row], 1.0)

    def draw_sparse(rows: Ids, uniforms: Array) -> tuple[Ids, NDArray[np.bool_]]:
        first, last = starts[rows], starts[rows + 1] - 1
        place = np.clip(np.searchsorted(ends, rows + uniforms, side="right"), first, last)  # r + u is rounded
        return columns[place], first < last

    return draw_sparse
