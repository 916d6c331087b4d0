"""The one tie rule.

The best value wins; among values within a hair of it the first one listed wins, and callers list ending actions
before the others and each in order of index. Symmetric problems are full of exact ties: float noise must not
decide them.
"""

from __future__ import annotations

import numpy as np

from rhoplan.problem import Array, Ids

RELATIVE_TOLERANCE = 1e-12


def tolerance(scale: float) -> float:
    """How far apart two values may be and still tie, where rewards are of size `scale`."""
    return RELATIVE_TOLERANCE * scale


def choose(values: Array, tie: float | Array) -> Ids:
    """Index (n,) of the winner in each row of values (n, A); `tie` may differ between rows, as (n, 1)."""
    best = values.max(axis=1, keepdims=True)
    winner: Ids = np.argmax(values >= best - tie, axis=1)
    return winner
