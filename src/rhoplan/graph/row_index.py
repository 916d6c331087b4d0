"""Ids of distinct rows of integers: a hash table with open addressing, filled and read in whole batches.

A row is found by a 64-bit key. A hit counts only after the rows themselves were compared, so two different rows never
share an id. Ids are given in order of first appearance. Multipliers of the key are drawn anew in each process, so that
nobody can prepare rows with equal keys; the ids do not depend on them.

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

_RANDOM = np.random.Generator(np.random.PCG64())


@cache
def _multipliers(width: int) -> Keys:
    """Random odd numbers (width,)."""
    return _RANDOM.integers(0, 2**63, size=width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


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


class RowIndex:
    """Ids of rows that the owner stores; `stored(ids)` returns the rows (n, W) of ids given before."""

    def __init__(self, stored: Callable[[Ids], Keys], *, key: Callable[[Keys], Keys] = row_keys) -> None:
        self.size = 0
        self._stored, self._key = stored, key
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
        keys = self._key(rows)
        self._make_room(self.size + len(rows))
        found, slots = self._place(keys, rows)
        fresh: Ids = np.flatnonzero(found == _claim(np.arange(len(rows))))
        number = np.empty(len(rows), dtype=np.int64)
        number[fresh] = self.size + np.arange(len(fresh))
        self._table[slots[fresh]] = number[fresh]
        self._keys = grown(self._keys, self.size, self.size + len(fresh))
        self._keys[self.size : self.size + len(fresh)] = keys[fresh]
        self.size += len(fresh)
        claimed = np.flatnonzero(found < 0)
        found[claimed] = number[_claim(found[claimed])]
        return found, fresh

    def _place(self, keys: Keys, rows: Keys | None) -> tuple[Ids, Ids]:
        """What (n,) each key finds in the table, an id or the claim of a position in the batch, and in which slot (n,).

        Keys that find an empty slot claim it; of several the first does. Without rows all keys count as different.
        """
        mask = len(self._table) - 1
        slots = (keys & np.uint64(mask)).astype(np.int64)
        found, pending = np.empty(len(keys), dtype=np.int64), np.arange(len(keys))
        while pending.size:
            at = slots[pending]
            free = self._table[at] == EMPTY
            if free.any():
                claimants = pending[free][::-1]  # of equal slots the last assignment counts
                self._table[slots[claimants]] = _claim(claimants)
            held = self._table[at].astype(np.int64)
            same = held == _claim(pending)
            if rows is not None:
                same |= self._same(held, keys, rows, pending, ~same)
            found[pending[same]] = held[same]
            pending = pending[~same]
            slots[pending] = (slots[pending] + 1) & mask
        return found, slots

    def _same(self, held: Ids, keys: Keys, rows: Keys, pending: Ids, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether (m,) the row at `pending` (m,) is the one that its slot holds, where `asked` (m,)."""
        is_id, result = held >= 0, np.zeros(len(held), dtype=bool)
        for mine, ids in ((np.flatnonzero(asked & is_id), True), (np.flatnonzero(asked & ~is_id), False)):
            if not mine.size:
                continue
            other = held[mine] if ids else _claim(held[mine])
            alike = (self._keys if ids else keys)[other] == keys[pending[mine]]
            if not alike.all():
                mine, other = mine[alike], other[alike]
            known = self._stored(other) if ids else rows[other]
            result[mine] = (known == rows[pending[mine]]).all(axis=1)
        return result

    def _make_room(self, needed: int) -> None:
        """Keep at least half of the table empty when it holds `needed` ids."""
        if 2 * needed <= len(self._table):
            return
        self._table = np.full(1 << (2 * max(needed, 32) - 1).bit_length(), EMPTY, dtype=np.int32)
        _, slots = self._place(self._keys[: self.size], None)
        self._table[slots] = np.arange(self.size)


def _claim(position: Any) -> Any:
    """The code of a position in the batch, which no id has; and the position of a code."""
    return -2 - position


def grown(array: NDArray[Number], used: int, needed: int) -> NDArray[Number]:
    """`array` with room for `needed` rows; the first `used` are kept, the others are undefined. Capacity doubles."""
    if needed <= len(array):
        return array
    larger: NDArray[Number] = np.empty((max(needed, 2 * len(array), 64), *array.shape[1:]), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger


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
