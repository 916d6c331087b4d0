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


def best_first(values: Array, absolute: Array) -> list[int]:
    """Places of `values` from the best to the worst; those that tie stay in their order."""
    absolute = np.where(np.isfinite(values), absolute, 0.0)
    left, result, start = list(range(len(values))), list[int](), np.zeros(1, dtype=np.int64)
    while left:
        result.append(left.pop(int(first_best(values[left], absolute[left], start)[0])))
    return result


def first_in_rows(values: Array, size: float = 0.0) -> Ids:
    """Index (n,) of the first value in each row of `values` (n, A) that ties with the best one, given their size."""
    best = values.max(axis=1)
    winner: Ids = np.argmax(values >= (best - RELATIVE_TOLERANCE * (np.abs(best) + size))[:, None], axis=1)
    return winner


def above(value: float, bound: float) -> bool:
    """Whether `value` is above `bound` by more than rounding."""
    return value > bound + RELATIVE_TOLERANCE * abs(bound)


def at_least(value: float, bound: float) -> bool:
    """Whether `value` is not below `bound` by more than rounding."""
    return value >= bound - RELATIVE_TOLERANCE * abs(bound)
