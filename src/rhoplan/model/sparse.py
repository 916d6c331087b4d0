"""How hidden states change, dense or sparse: one set of verbs for both, so that nobody else asks which it is.

A change of state is an array (S, S), or (O, S, S) where it depends on the outcome. Where most of it is zero and there
are many states, the same numbers stand in a `Sparse`: compressed rows, and no package but NumPy. The row of an outcome
that cannot happen in a state may be empty.

Shapes: n beliefs in the batch, S hidden states, O outcomes, E entries above zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Ids: TypeAlias = NDArray[np.int64]

MOST_DENSE = 30_000
"""Numbers up to which a change of state is kept dense: there whole-array products beat the bookkeeping of entries."""

FULL = 8
"""Places for each entry up to which going through all places is faster than sorting the entries."""


@dataclass(frozen=True, eq=False)
class Sparse:
    """An array of `shape` (S, S) or (O, S, S) by its entries, row after row, columns in order within a row.

    starts (rows + 1,): where each row begins. columns, values (E,): of the entries.
    """

    shape: tuple[int, ...]
    starts: Ids
    columns: Ids
    values: Array

    @staticmethod
    def of(shape: tuple[int, ...], rows: Ids, columns: Ids, values: Array) -> Sparse:
        """From entries in any order; rows: outcome * S + state where the shape has three axes. Equal places add up."""
        count = int(np.prod(shape[:-1]))
        places, summed = rows * shape[-1] + columns, values.astype(float)
        if not (there := summed != 0).all():
            places, summed = places[there], summed[there]
        if not (places[1:] > places[:-1]).all():  # most come in order, each place once
            if count * shape[-1] <= FULL * len(places):
                every = np.bincount(places, weights=summed).astype(float)
                places = np.flatnonzero(every)
                summed = every[places]
            else:
                places, place = np.unique(places, return_inverse=True)
                summed = np.bincount(place.ravel(), weights=summed, minlength=len(places)).astype(float)
        row, column = np.divmod(places, shape[-1])
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count))])
        return Sparse(shape, starts.astype(np.int64), column.astype(np.int64, copy=False), summed)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @cached_property
    def rows(self) -> Ids:
        """The row (E,) of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def row_sums(self) -> Array:
        """Sum of each row, (S,) or (O, S)."""
        sums = np.bincount(self.rows, weights=self.values, minlength=len(self.starts) - 1).astype(float)
        return sums.reshape(self.shape[:-1])

    @cached_property
    def outcomes(self) -> tuple[Sparse, ...]:
        """The part (S, S) of each outcome."""
        if self.ndim == 2:
            return (self,)
        states, parts = self.shape[-1], []
        for first in range(0, len(self.starts) - 1, states):
            starts = self.starts[first : first + states + 1]
            inside = slice(starts[0], starts[-1])
            parts.append(Sparse(self.shape[1:], starts - starts[0], self.columns[inside], self.values[inside]))
        return tuple(parts)

    def dense(self) -> Array:
        result = np.zeros((len(self.starts) - 1, self.shape[-1]))
        result[self.rows, self.columns] = self.values
        return result.reshape(self.shape)

    def with_values(self, values: Array) -> Sparse:
        """The same places with other values (E,)."""
        return Sparse(self.shape, self.starts, self.columns, values)

    def right(self, values: Array) -> Array:
        """This times a column (S,): (S,) or (O, S)."""
        products = self.values * values[self.columns]
        sums = np.bincount(self.rows, weights=products, minlength=len(self.starts) - 1).astype(float)
        return sums.reshape(self.shape[:-1])

    def left(self, masses: Array) -> Array:
        """Masses (n, R), R being all rows, times this: (n, S), or (n, O, S) where the shape has three axes."""
        order, targets, starts = self._into
        result = np.zeros((len(masses), int(np.prod(self.shape[:-2])) * self.shape[-1]))
        if len(order):
            shares = masses[:, self.rows[order]] * self.values[order]
            result[:, targets] = np.add.reduceat(shares, starts, axis=1)
        return result.reshape(len(masses), *self.shape[:-2], self.shape[-1])

    def left_logs(self, logs: Array) -> Array:
        """The log of `left`, from the logs (n, R) of masses."""
        order, targets, starts = self._into
        result = np.full((len(logs), int(np.prod(self.shape[:-2])) * self.shape[-1]), -np.inf)
        if len(order):
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = logs[:, self.rows[order]] + np.log(self.values[order])
                top = np.maximum.reduceat(shares, starts, axis=1)
                top = np.where(np.isfinite(top), top, 0.0)
                counts = np.diff(np.append(starts, len(order)))
                sums = np.add.reduceat(np.exp(shares - np.repeat(top, counts, axis=1)), starts, axis=1)
                result[:, targets] = np.log(sums) + top
        return result.reshape(len(logs), *self.shape[:-2], self.shape[-1])

    def at(self, rows: Ids, columns: Ids) -> Array:
        """The values (k,) at rows (k,) and columns (k,); 0 where there is no entry."""
        if not len(self.values):
            return np.zeros(len(rows))
        wanted = rows * self.shape[-1] + columns
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        result: Array = np.where(self._keys[place] == wanted, self.values[place], 0.0)
        return result

    def drawn(self, rows: Ids, uniforms: Array) -> tuple[Ids, NDArray[np.bool_]]:
        """The column (k,) that a number (k,) in [0, 1) draws from each row (k,), and whether there was a choice.

        The most probable column comes first, as everywhere (`belief.draws`).
        """
        columns, reached = self._drawing
        first, last = self.starts[rows], self.starts[rows + 1] - 1
        # One search over all rows: row r holds the numbers from r to r + 1. Rounding of r + u may only miss by one row.
        place = np.clip(np.searchsorted(reached, rows + uniforms, side="right"), first, last)
        return columns[place], first < last

    def permuted(self, outcomes: Ids, order: Ids) -> Sparse:
        """With the outcomes (of three axes) and the states in another order: new place k is old `order[k]`."""
        states = self.shape[-1]
        place = np.empty(states, dtype=np.int64)
        place[order] = np.arange(states)
        outcome, state = np.divmod(self.rows, states)
        if self.ndim == 3:
            number = np.empty(len(outcomes), dtype=np.int64)
            number[outcomes] = np.arange(len(outcomes))
            outcome = number[outcome]
        return Sparse.of(self.shape, outcome * states + place[state], place[self.columns], self.values)

    def tobytes(self) -> bytes:
        return self.starts.tobytes() + self.columns.tobytes() + self.values.tobytes()

    @cached_property
    def _keys(self) -> Ids:
        result: Ids = self.rows * self.shape[-1] + self.columns
        return result

    @cached_property
    def _into(self) -> tuple[Ids, Ids, Ids]:
        """Entries ordered by where they lead, the places that are led to, and where the entries of each begin."""
        states = self.shape[-1]
        target = self.columns if self.ndim == 2 else self.rows // states * states + self.columns
        order = np.argsort(target, kind="stable")
        targets, starts = np.unique(target[order], return_index=True)
        return order, targets, starts

    @cached_property
    def _drawing(self) -> tuple[Ids, Array]:
        order = np.lexsort((-self.values, self.rows))
        values = self.values[order]
        sums = np.cumsum(values) if len(values) else values
        before = np.concatenate([[0.0], sums])[self.starts[:-1]]
        return self.columns[order], self.rows + np.minimum(sums - before[self.rows], 1.0)


Change: TypeAlias = Array | Sparse
"""A change of state, (S, S) or (O, S, S)."""


def moved(masses: Array, change: Change) -> Array:
    """Masses (n, O, S) of states before the change, as masses (n, O, S) of states after it."""
    if isinstance(change, Sparse):
        count, outcomes, states = masses.shape
        if change.ndim == 3:
            return change.left(masses.reshape(count, outcomes * states))
        return change.left(masses.reshape(-1, states)).reshape(count, outcomes, states)
    result: Array = np.einsum("nos,ost->not", masses, _per_outcome(change, masses.shape[1]))
    return result


def moved_logs(logs: Array, change: Change) -> Array:
    """As `moved`, on logs (n, O, S)."""
    if isinstance(change, Sparse):
        count, outcomes, states = logs.shape
        if change.ndim == 3:
            return change.left_logs(logs.reshape(count, outcomes * states))
        return change.left_logs(logs.reshape(-1, states)).reshape(count, outcomes, states)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = logs[..., None] + np.log(_per_outcome(change, logs.shape[1]))
        result: Array = log_sum(np.swapaxes(shares, -1, -2))
    return result


def moved_each(masses: Array, change: Change, outcome: Ids) -> Array:
    """Masses (p, S) after the change that goes with the outcome (p,) of each."""
    if not isinstance(change, Sparse):
        parts = change[outcome] if change.ndim == 3 else np.broadcast_to(change, (len(outcome), *change.shape))
        result: Array = np.einsum("ps,pst->pt", masses, parts)
        return result
    if change.ndim == 2:
        return change.left(masses)
    after = np.empty_like(masses)
    for number in np.unique(outcome).tolist():
        places = np.flatnonzero(outcome == number)
        after[places] = change.outcomes[number].left(masses[places])
    return after


def mixed(beliefs: Array, likelihood: Array, change: Change) -> Array:
    """Beliefs (n, S) after the change, whatever the outcome, given the likelihood (S, O) of outcomes."""
    if isinstance(change, Sparse):
        if change.ndim == 2:
            return change.left(beliefs)
        after: Array = moved(beliefs[:, None, :] * likelihood.T, change).sum(axis=1)
        return after
    kernel: Array = np.einsum("so,ost->st", likelihood, _per_outcome(change, likelihood.shape[1]))
    result: Array = beliefs @ kernel
    return result


def expected(change: Change, outcome: int, values: Array) -> Array:
    """What values (S,) of states after the change are worth (S,) before it, given `outcome`."""
    if isinstance(change, Sparse):
        return change.outcomes[outcome if change.ndim == 3 else 0].right(values)
    result: Array = np.dot(change if change.ndim == 2 else change[outcome], values)
    return result


def row(change: Change, outcome: int, state: int) -> Array:
    """The probabilities (S,) of states after `state` and `outcome`."""
    if not isinstance(change, Sparse):
        result: Array = change[state] if change.ndim == 2 else change[outcome, state]
        return result
    place = state if change.ndim == 2 else outcome * change.shape[-1] + state
    inside = slice(change.starts[place], change.starts[place + 1])
    found = np.zeros(change.shape[-1])
    found[change.columns[inside]] = change.values[inside]
    return found


def row_sums(change: Change) -> Array:
    """Sum of each row, (S,) or (O, S)."""
    if isinstance(change, Sparse):
        return change.row_sums
    result: Array = change.sum(axis=-1)
    return result


def numbers(change: Change) -> Array:
    """All entries, in no order that means anything."""
    return change.values if isinstance(change, Sparse) else change


def entries(change: Change, outcomes: int) -> tuple[Ids, Ids, Ids, Array]:
    """Outcome, state before, state after and probability (E,) of every change that can be."""
    if isinstance(change, Sparse):
        rows, after, share = change.rows, change.columns, change.values
    else:
        *place, after = np.nonzero(change)
        share = change[(*place, after)]
        rows = place[0] if len(place) == 1 else place[0] * change.shape[-1] + place[1]
    if change.ndim == 3:
        return rows // change.shape[-1], rows % change.shape[-1], after, share
    number = np.repeat(np.arange(outcomes), len(rows))
    return number, np.tile(rows, outcomes), np.tile(after, outcomes), np.tile(share, outcomes)


def key(part: Change | None) -> bytes:
    """Bytes that are the same for the same numbers, in the same form."""
    return b"" if part is None else repr(part.shape).encode() + part.tobytes()


def is_identity(change: Change) -> bool:
    """Whether every state stays as it is."""
    if not isinstance(change, Sparse):
        return bool(np.all(change == np.eye(change.shape[-1])))
    inside = change.values != 0
    stays = change.columns[inside] == change.rows[inside] % change.shape[-1]
    return bool(stays.all() and (change.values[inside] == 1).all() and (change.row_sums == 1).all())


def permuted(change: Change, outcomes: Ids, order: Ids) -> Change:
    """`change` with outcomes and states in another order: new place k is old `order[k]`."""
    if isinstance(change, Sparse):
        return change.permuted(outcomes, order)
    return change[order[:, None], order] if change.ndim == 2 else change[outcomes][:, order][:, :, order]


def as_dense(change: Change, outcomes: int) -> Array:
    """(O, S, S), however `change` is kept."""
    return _per_outcome(change.dense() if isinstance(change, Sparse) else change, outcomes)


def log_sum(logs: Array) -> Array:
    """ln of the sum of exp over the last axis."""
    top = logs.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    result: Array = np.log(np.exp(logs - top).sum(axis=-1)) + top[..., 0]
    return result


def _per_outcome(change: Array, outcomes: int) -> Array:
    return change if change.ndim == 3 else np.broadcast_to(change, (outcomes, *change.shape))
