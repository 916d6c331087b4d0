"""The tie rule: the first of the values that are equal to the best up to rounding.

Symmetric problems are full of exact ties, which rounding errors must not decide. A value is a sum of gains and losses,
so its rounding error is relative to its *absolute return*: the expected sum of absolute rewards plus the weighted
information. Two values tie if they differ by at most 1e-12 of the larger of their absolute returns. Terminal actions
are listed before others and win ties.

Shapes: m values in n groups; group i begins at start[i].
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array, Ids

RELATIVE_TOLERANCE = 1e-12
"""Far above the rounding error of a sum of thousands of terms (1e-16 each), far below any difference that matters."""


def first_best(values: Array, absolute: Array, start: Ids) -> Ids:
    """Index (n,) of the first value in each group that ties with the best one; every group has at least one value."""
    count = np.diff(start, append=len(values))
    every = np.arange(len(values))
    best = np.repeat(np.maximum.reduceat(values, start), count)
    place = np.minimum.reduceat(np.where(values == best, every, len(values)), start)
    size = np.maximum(absolute, np.repeat(absolute[place], count))
    ties = values >= best - RELATIVE_TOLERANCE * size
    winner: Ids = np.minimum.reduceat(np.where(ties, every, len(values)), start)
    return winner
