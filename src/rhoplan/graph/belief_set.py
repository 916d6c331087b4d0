"""Distinct beliefs by id, with their entropies.

The order of observations does not change a belief, so most paths of a look-ahead meet. Beliefs are compared after
rounding to 36 significant bits (1.5e-11 relative; rounding errors are near 1e-15). Two copies of a belief that rounding
errors put on two sides of a rounding boundary get two ids: that costs a node and changes no value.

Shapes: n beliefs, S hidden states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from rhoplan.belief_math.information import entropy
from rhoplan.graph.row_index import Keys, RowIndex, extend
from rhoplan.model.pomdp import Array, Ids

Canonical: TypeAlias = Callable[[Array], Array]
"""Beliefs (n, S) to the representatives (n, S) of their orbits under a symmetry of the problem."""

DROPPED_BITS = np.uint64(16)
"""Of the 52 bits of a float's fraction, those that do not count when beliefs are compared."""

HALF = np.uint64(1 << 15)


def rounded(beliefs: Array) -> Keys:
    """Each probability as an integer that keeps 36 significant bits of it."""
    bits = np.ascontiguousarray(beliefs).view(np.uint64) + HALF
    bits >>= DROPPED_BITS
    return bits


class BeliefSet:
    """Beliefs over S states. With `canonical`, symmetric beliefs share an id and the representative is stored.

    measured: the probabilities that entropies are about, given beliefs (`Factor.asked`); the beliefs by default.
    """

    def __init__(
        self, states: int, *, measured: Callable[[Array], Array] | None = None, canonical: Canonical | None = None
    ) -> None:
        self._measured, self._canonical = measured, canonical
        self._beliefs: Array = np.empty((0, states))
        self._entropy: Array = np.empty(0)
        self._index = RowIndex(self._rows)

    def _rows(self, ids: Ids) -> Keys:
        return rounded(self._beliefs[ids])

    @property
    def size(self) -> int:
        return self._index.size

    @property
    def beliefs(self) -> Array:
        """All beliefs (size, S); read again after `intern`."""
        return self._beliefs[: self.size]

    @property
    def entropy(self) -> Array:
        """The entropy (size,) of each belief, in nats."""
        return self._entropy[: self.size]

    @property
    def nbytes(self) -> int:
        """Memory that the beliefs take, in bytes."""
        return self._beliefs.nbytes + self._entropy.nbytes + self._index.nbytes

    def intern(self, beliefs: Array) -> Ids:
        """The id (n,) of each belief (n, S)."""
        if self._canonical is not None:
            beliefs = self._canonical(beliefs)
        used = self.size
        ids, fresh = self._index.identify(rounded(beliefs))
        if fresh.size:
            added = beliefs[fresh]
            uncertain = added if self._measured is None else self._measured(added)
            extend(self, used, self.size, _beliefs=added, _entropy=entropy(uncertain))
        return ids
