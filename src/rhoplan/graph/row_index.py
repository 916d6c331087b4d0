"""Ids of distinct rows of integers: a hash table with open addressing, filled and read in whole batches.

A row is found by a 64-bit key. A hit counts only after the rows themselves were compared, so two different rows never
share an id. Ids are given in order of first appearance. Multipliers of the key are drawn anew in each process, so that
no input can be made to have equal keys; the ids do not depend on them.

Shapes: n rows of a batch, W integers in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Ids

Keys: TypeAlias = NDArray[np.uint64]
Number = TypeVar("Number", bound=np.generic)

EMPTY = -1
"""What a slot of the table holds before an id is written to it."""


class RowIndex:
    """Ids of rows that the owner stores; `stored(ids)` returns the rows (n, W) of ids given before."""

    def __init__(self, stored: Callable[[Ids], Keys]) -> None:
        self.size = 0
        self._stored = stored
        self._keys: Keys = np.empty(0, dtype=np.uint64)
        self._table: NDArray[np.int32] = np.empty(0, dtype=np.int32)

    @property
    def nbytes(self) -> int:
        """Memory that the index takes, in bytes."""
        return self._keys.nbytes + self._table.nbytes

    def identify(self, rows: Keys) -> tuple[Ids, Ids]:
        """Id (n,) of each row (n, W), and the positions of rows that are new, in order of their ids.

        The owner must store the new rows before the next call.
        """
        used, every = self.size, np.arange(len(rows))
        keys = self._make_room(row_keys(rows))
        # At first row k of the batch has the id used + k.
        mask = len(self._table) - 1
        slots, found, pending = (keys & np.uint64(mask)).astype(np.int64), np.empty_like(every), every
        while pending.size:
            at = slots[pending]
            free = pending[self._table[at] == EMPTY][::-1]  # of equal slots the last assignment counts
            self._table[slots[free]] = used + free
            held = self._table[at].astype(np.int64)
            same = held == used + pending
            other = np.flatnonzero(~same)
            other = other[self._keys[held[other]] == keys[pending[other]]]
            if other.size:
                same[other] = self._are_equal(held[other], rows, pending[other])
            found[pending[same]] = held[same]
            pending = pending[~same]
            slots[pending] = (slots[pending] + 1) & mask
        fresh: Ids = np.flatnonzero(found == used + every)
        self.size += len(fresh)
        every[fresh] = used + np.arange(len(fresh))
        self._table[slots[fresh]] = every[fresh]
        self._keys[used : self.size] = keys[fresh]
        new = found >= used
        found[new] = every[found[new] - used]
        return found, fresh

    def _are_equal(self, held: Ids, rows: Keys, positions: Ids) -> NDArray[np.bool_]:
        """Whether (m,) the rows at `positions` (m,) are those with the ids `held` (m,)."""
        result, is_known = np.empty(len(held), dtype=bool), held < self.size
        result[is_known] = (self._stored(held[is_known]) == rows[positions[is_known]]).all(axis=1)
        result[~is_known] = (rows[held[~is_known] - self.size] == rows[positions[~is_known]]).all(axis=1)
        return result

    def _make_room(self, keys: Keys) -> Keys:
        """Add `keys` to those known, and keep at least half of the table empty."""
        needed = self.size + len(keys)
        self._keys = grown(self._keys, self.size, needed)
        self._keys[self.size : needed] = keys
        if 2 * needed > len(self._table):
            self._table = np.full(1 << (2 * max(needed, 32) - 1).bit_length(), EMPTY, dtype=np.int32)
            mask, pending = len(self._table) - 1, np.arange(self.size)
            slots = (self._keys[: self.size] & np.uint64(mask)).astype(np.int64)
            while pending.size:
                free = pending[self._table[slots[pending]] == EMPTY]
                self._table[slots[free]] = free
                pending = pending[self._table[slots[pending]] != pending]
                slots[pending] = (slots[pending] + 1) & mask
        return keys


def row_keys(rows: Keys) -> Keys:
    """A 64-bit key (n,) of each row (n, W)."""
    # High bits are folded into low ones before the product and after it: powers of two differ in high bits only.
    folded = rows ^ (rows >> np.uint64(29))
    folded *= np.uint64(0x9E3779B97F4A7C15)
    folded ^= folded >> np.uint64(32)
    keys: Keys = folded @ _multipliers(rows.shape[1])
    keys ^= keys >> np.uint64(33)
    keys *= np.uint64(0xFF51AFD7ED558CCD)
    keys ^= keys >> np.uint64(33)
    return keys


@cache
def _multipliers(width: int) -> Keys:
    """Random odd numbers (width,)."""
    return np.random.default_rng().integers(2**64, size=width, dtype=np.uint64) | np.uint64(1)


def grown(array: NDArray[Number], used: int, needed: int) -> NDArray[Number]:
    """`array` with room for `needed` rows; the first `used` are kept, the others are undefined. Capacity doubles."""
    if needed <= len(array):
        return array
    larger: NDArray[Number] = np.empty((max(needed, 2 * len(array), 64), *array.shape[1:]), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger


def filled(array: NDArray[Number], needed: int, value: Any) -> NDArray[Number]:
    """`array` with room for `needed` rows; new ones hold `value`."""
    used = len(array)
    array = grown(array, used, needed)
    array[used:] = value
    return array


def extend(owner: object, used: int, needed: int, **values: Any) -> None:
    """Make room in arrays of `owner` for `needed` rows, by name; rows from `used` on get `values`."""
    for name, value in values.items():
        array = grown(getattr(owner, name), used, needed)
        array[used:needed] = value
        setattr(owner, name, array)


def numbered(ids: Ids, size: int) -> tuple[Ids, Ids]:
    """The distinct ones of `ids` (n,), all below `size`, in order, and the place (n,) of each among them."""
    if size > max(20_000, 16 * len(ids)):  # then sorting is faster than a table of all ids
        found, place = np.unique(ids, return_inverse=True)
        return found.astype(np.int64), place
    there = np.zeros(size, dtype=bool)
    there[ids] = True
    found = np.flatnonzero(there)
    place = np.empty(size, dtype=np.int64)
    place[found] = np.arange(len(found))
    return found, place[ids]


def spans(first: Ids, count: Ids) -> Ids:
    """The numbers first[i], ..., first[i] + count[i] - 1 for each i, one range after the other."""
    ends = np.cumsum(count)
    result: Ids = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(first - ends + count, count)
    return result
