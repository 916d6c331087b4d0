"""Merging: equal rows get one id, whatever path led to them.

A belief depends on which evidence was seen, not on its order, so most paths of the look-ahead tree meet. Rows are
recognised by a 64-bit key: a sum of products with fixed random odd numbers, modulo 2**64. Floats are rounded to 32
significant bits first, so that the last-digit noise of different orders of evidence does not keep equal beliefs
apart (2.3e-10 relative; noise is near 1e-15). Two rows that noise puts on two sides of a rounding boundary get two
ids: that costs a node and changes no value.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rhoplan.problem import Array, Ids

Keys: TypeAlias = NDArray[np.uint64]
Number = TypeVar("Number", bound=np.generic)

DROPPED_BITS = 20
"""Of the 52 bits of a float's fraction, those that do not count when beliefs are compared."""


@cache
def multipliers(width: int) -> Keys:
    """The fixed random odd numbers (width,) that keys are sums of products with."""
    draws = np.random.Generator(np.random.PCG64(20240607)).integers(0, 2**63, size=width, dtype=np.uint64)
    return draws * np.uint64(2) + np.uint64(1)


def rounded(beliefs: Array) -> Keys:
    """Each float as an integer that keeps 32 significant bits of it."""
    bits = np.ascontiguousarray(beliefs).view(np.uint64)
    return (bits + np.uint64(1 << (DROPPED_BITS - 1))) >> np.uint64(DROPPED_BITS)


def belief_keys(beliefs: Array, permutations: Ids | None = None) -> Keys:
    """Key (n,) of each belief (n, S); the same for a whole orbit under `permutations` (G, S), a group, if given."""
    numbers = multipliers(beliefs.shape[1])
    if permutations is None:
        return mixed(rounded(beliefs) @ numbers)
    table = np.empty((beliefs.shape[1], len(permutations)), dtype=np.uint64)
    for column, permutation in enumerate(permutations):
        table[permutation, column] = numbers
    smallest: Keys = mixed(rounded(beliefs) @ table).min(axis=1)
    return smallest


def row_keys(rows: Ids) -> Keys:
    """Key (n,) of each row of integers (n, width)."""
    return mixed(rows.astype(np.uint64) @ multipliers(rows.shape[1]))


def mixed(keys: Keys) -> Keys:
    """Keys with their high bits folded into the low ones (the finaliser of a 64-bit mixing hash)."""
    keys = (keys ^ (keys >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return keys ^ (keys >> np.uint64(33))


class KeyIndex:
    """Ids for keys, given in order of first appearance; sorted runs of doubling size keep lookups logarithmic."""

    def __init__(self) -> None:
        self.size = 0
        self.limit: float = np.inf
        self._runs: list[tuple[Keys, Ids]] = []

    def identify(self, keys: Keys) -> tuple[Ids, Ids]:
        """Id (n,) of each key, and the positions whose key was new, in the order of their new ids.

        OverflowError, with nothing changed, where there would be more than `limit` ids.
        """
        ids = self._find(keys)
        missing = np.flatnonzero(ids < 0)
        if not missing.size:
            return ids, missing
        unique, first, inverse = np.unique(keys[missing], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        new_ids = self.size + rank
        ids[missing] = new_ids[inverse]
        if self.size + len(unique) > self.limit:
            raise OverflowError
        self.size += len(unique)
        self._add(unique, new_ids)
        return ids, missing[first[order]]

    def _find(self, keys: Keys) -> Ids:
        ids = np.full(len(keys), -1, dtype=np.int64)
        if not self._runs:
            return ids
        order = np.argsort(keys)  # looked up in order, neighbours share cache lines
        wanted = keys[order]
        for run_keys, run_ids in self._runs:
            place = np.minimum(np.searchsorted(run_keys, wanted), len(run_keys) - 1)
            hit = run_keys[place] == wanted
            ids[order[hit]] = run_ids[place[hit]]
        return ids

    def _add(self, keys: Keys, ids: Ids) -> None:
        while self._runs and len(self._runs[-1][0]) <= 2 * len(keys):
            old_keys, old_ids = self._runs.pop()
            keys, ids = np.concatenate([old_keys, keys]), np.concatenate([old_ids, ids])
            order = np.argsort(keys, kind="stable")
            keys, ids = keys[order], ids[order]
        self._runs.append((keys, ids))


def distinct(ids: NDArray[np.integer[Any]], size: int) -> Ids:
    """The different ones among `ids`, all below `size`, in order."""
    if len(ids) * 16 < size:
        return np.unique(ids).astype(np.int64)
    there = np.zeros(size, dtype=bool)
    there[ids] = True
    return np.flatnonzero(there)


def grown(array: NDArray[Number], needed: int, fill: float) -> NDArray[Number]:
    """`array` with room for `needed` rows (capacity doubles), new rows filled with `fill`."""
    if needed <= len(array):
        return array
    larger = np.full((max(needed, 2 * len(array), 64), *array.shape[1:]), fill, dtype=array.dtype)
    larger[: len(array)] = array
    return larger
