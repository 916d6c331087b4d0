"""Merging: equal rows get one id, whatever path led to them.

A belief depends on which evidence was seen, not on its order, so most paths of the look-ahead tree meet. Rows are
looked up by a 64-bit key, and a hit counts only once what is merged has been compared: two different rows never share
an id. Floats are rounded to 36 significant bits first, so that the last-digit noise of different orders of evidence
does not keep equal beliefs apart (1.5e-11 relative; noise is near 1e-15). Two rows that noise puts on two sides of a
rounding boundary get two ids: that costs a node and changes no value.

Keys are sums of scrambled numbers times odd numbers drawn anew in each process: nobody can prepare rows that meet in
one key and make lookups slow. Ids are given in order of appearance, so that results do not depend on the draw.

Kept for the certified solver and advice; their rebuild deletes it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids

Keys: TypeAlias = NDArray[np.uint64]
Number = TypeVar("Number", bound=np.generic)

DROPPED_BITS = 16
"""Of the 52 bits of a float's fraction, those that do not count when beliefs are compared."""

SECRET = np.random.Generator(np.random.PCG64())
"""Random numbers that differ from process to process: keys come from here, results do not."""


@cache
def multipliers(width: int) -> Keys:
    """The random odd numbers (width,) that keys are sums of products with."""
    return SECRET.integers(0, 2**63, size=width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def rounded(numbers: Array) -> Keys:
    """Each float as an integer that keeps 36 significant bits of it."""
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    return (bits + np.uint64(1 << (DROPPED_BITS - 1))) >> np.uint64(DROPPED_BITS)


def row_keys(rows: Keys) -> Keys:
    """Key (n,) of each row of integers (n, width)."""
    return mixed(scrambled(rows) @ multipliers(rows.shape[1]))


def orbit_keys(rows: Keys, permutations: Ids) -> tuple[Keys, Ids]:
    """Key (n,) of the orbit of each row (n, width) under `permutations` (G, width), a group.

    And which permutation (n,) turns the row into the one that stands for its orbit.
    """
    numbers = multipliers(rows.shape[1])
    table = np.empty((rows.shape[1], len(permutations)), dtype=np.uint64)
    for column, permutation in enumerate(permutations):
        table[permutation, column] = numbers
    keys = mixed(scrambled(rows) @ table)
    turn: Ids = keys.argmin(axis=1)
    return keys[np.arange(len(rows)), turn], turn


def scrambled(rows: Keys) -> Keys:
    """Each integer with its high bits folded into the low ones, so that powers of two do not cancel in sums."""
    result = rows ^ (rows >> np.uint64(32))
    result *= np.uint64(0x9E3779B97F4A7C15)
    result ^= result >> np.uint64(29)
    return result


def mixed(keys: Keys) -> Keys:
    """Keys with their high bits folded into the low ones (the finaliser of a 64-bit mixing hash)."""
    keys = (keys ^ (keys >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return keys ^ (keys >> np.uint64(33))


NOWHERE: Ids = np.empty(0, dtype=np.int64)


SHORT_RUN = 500
"""Runs up to this length are sorted into one: that takes less than looking keys up in one more."""


class RowIndex:
    """Ids for rows, given in order of first appearance; sorted runs of doubling size keep lookups logarithmic."""

    def __init__(self) -> None:
        self.size = 0
        self.limit: float = np.inf
        self._runs: list[tuple[Keys, Ids]] = []

    def identify(self, keys: Keys, rows: Keys, stored: Callable[[Ids], Keys]) -> tuple[Ids, Ids]:
        """Id (n,) of each row (n, width) with these keys (n,), and the positions of new ones, in order of their ids.

        stored: the rows (m, width) of ids (m,) given before. Where different rows have the same key, those that came
        later try the next key.
        OverflowError, with nothing changed, where there would be more than `limit` ids.
        """
        order = keys.argsort()  # looked up in order, neighbours share cache lines
        sorted_keys = keys[order]
        found = self._find(sorted_keys)
        is_new, wrong = found < 0, NOWHERE
        missing = is_new.nonzero()[0]
        if len(missing) < len(found):
            known = (~is_new).nonzero()[0] if missing.size else slice(None)
            places = order[known]
            wrong = places[_different(stored(found[known]), rows[places])]
        ids = np.empty_like(found)
        if not missing.size and not wrong.size:
            ids[order] = found
            return ids, missing
        fresh_keys, first = sorted_keys[missing], order[missing]
        begin = np.empty(len(missing), dtype=bool)
        begin[:1] = True
        np.not_equal(fresh_keys[1:], fresh_keys[:-1], out=begin[1:])
        group: Ids | slice = slice(None)
        if not begin.all():
            places, begins, group = first, begin.nonzero()[0], begin.cumsum() - 1
            fresh_keys, first = fresh_keys[begins], np.minimum.reduceat(places, begins)
            wrong = np.append(wrong, places[_different(rows[places], rows[first[group]])])
        if self.size + len(first) + len(wrong) > self.limit:
            raise OverflowError
        appearance = first.argsort()
        rank = np.empty_like(appearance)
        rank[appearance] = np.arange(len(appearance))
        start, fresh = self.size, first[appearance]
        rank += start
        found[missing] = rank[group]
        ids[order] = found
        self.size += len(first)
        if first.size:
            self._add(fresh_keys, rank)
        if not wrong.size:
            return ids, fresh

        def stored_now(asked: Ids) -> Keys:
            new = asked >= start
            result = rows[np.where(new, fresh[np.where(new, asked - start, 0)], 0)] if fresh.size else rows[asked * 0]
            if not new.all():
                result[~new] = stored(asked[~new])
            return result

        ids[wrong], more = self.identify(mixed(keys[wrong] + np.uint64(1)), rows[wrong], stored_now)
        return ids, np.concatenate([fresh, wrong[more]])

    def _find(self, keys: Keys) -> Ids:
        """Id (n,) of each of the keys, which are sorted; -1 where there is none."""
        ids = np.empty(len(keys), dtype=np.int64)
        ids.fill(-1)
        for run_keys, run_ids in self._runs:
            place = run_keys.searchsorted(keys)
            hit = run_keys.take(place, mode="clip") == keys
            np.copyto(ids, run_ids.take(place, mode="clip"), where=hit)
        return ids

    def _add(self, keys: Keys, ids: Ids) -> None:
        while self._runs and len(self._runs[-1][0]) <= max(2 * len(keys), SHORT_RUN):
            old_keys, old_ids = self._runs.pop()
            keys, ids = np.concatenate([old_keys, keys]), np.concatenate([old_ids, ids])
            order = keys.argsort(kind="stable")
            keys, ids = keys[order], ids[order]
        self._runs.append((keys, ids))


LARGEST_TABLE = 20_000
"""Up to so many ids, marking them in a table of all is quicker than sorting, however few they are."""


def _different(one: Keys, other: Keys) -> Ids:
    """Places of the rows (n, width) that differ."""
    same = one == other
    return NOWHERE if same.all() else (~same.all(axis=1)).nonzero()[0]


def distinct(ids: NDArray[np.integer[Any]], size: int) -> Ids:
    """The different ones among `ids`, all below `size`, in order."""
    if size > max(LARGEST_TABLE, 16 * len(ids)):
        return np.unique(ids).astype(np.int64)
    there = np.zeros(size, dtype=bool)
    there[ids] = True
    return there.nonzero()[0]


def numbered(ids: Ids, size: int) -> tuple[Ids, Ids]:
    """The different ones among `ids` (n,), all below `size`, in order, and the place (n,) of each among them."""
    found = distinct(ids, size)
    place = np.empty(size, dtype=np.int64)
    place[found] = np.arange(len(found))
    return found, place[ids]


def grown(array: NDArray[Number], needed: int, fill: float) -> NDArray[Number]:
    """`array` with room for `needed` rows (capacity doubles), new rows filled with `fill`."""
    if needed <= len(array):
        return array
    larger = np.full((max(needed, 2 * len(array), 64), *array.shape[1:]), fill, dtype=array.dtype)
    larger[: len(array)] = array
    return larger
