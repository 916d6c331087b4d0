"""The one tie rule.

The best value wins; among values within a hair of it the first one listed wins, and callers list ending actions
before the others and each in order of index. Symmetric problems are full of exact ties: float noise must not
decide them.

The hair is measured by the values at hand, not by the largest number of the problem: a loss of 1e13 in a state of
probability 1e-12 makes values of size 10, and a difference of 5 between them is none of noise. A value is a sum of
gains G and losses L, rounded relative to G + L; since value = G - L, that is |value| + 2 G. So whoever compares values
says what the gains in them can come to at most. That settles nearly all comparisons. Where it leaves a doubt (a tie if
the gains are that large, none if they are nothing), the gains that really are in each of the values decide: two values
tie if they are within a hair of the larger of the two. A prize that nobody would play for makes no tie of others.

Kept for the certified solver, advice, learning and present; their rebuild deletes it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids

RELATIVE_TOLERANCE = 1e-12
"""Far above the rounding of a sum of thousands of terms (1e-16 each), far below what anybody means to tell apart."""


def tolerance(best: float | Array, gains: float | Array = 0.0) -> Array:
    """How far below `best` values still tie with it, where the gains they are made of are at most `gains`."""
    result: Array = RELATIVE_TOLERANCE * (np.abs(best) + 2 * np.asarray(gains))
    return result


def choose(values: Array, gains: float | Array = 0.0, exactly: Callable[[Ids], Array] | None = None) -> Ids:
    """Index (n,) of the winner in each row of values (n, A).

    gains (n,): the most that is in the values of a row. exactly: the gains (k, A) in each value of the rows (k,) where
    that leaves a doubt; without it, doubts are ties.
    """
    best = values.max(axis=1)
    winner: Ids = np.argmax(values >= (best - tolerance(best, gains))[:, None], axis=1)
    if exactly is not None:
        picked = values[np.arange(len(values)), winner]
        doubtful = np.flatnonzero(picked < best - RELATIVE_TOLERANCE * np.abs(best))
        if doubtful.size:
            held = values[doubtful]
            winner[doubtful] = np.argmax(ties(held, exactly(doubtful)), axis=1)
    return winner


def ties(values: Array, gains: Array) -> NDArray[np.bool_]:
    """Whether (n, A) each of values (n, A) ties with the best of its row, where gains (n, A) are those in each."""
    rows, best = np.arange(len(values)), values.argmax(axis=1)
    result: NDArray[np.bool_] = values >= values[rows, best][:, None] - hairs(values, gains)
    return result


def hairs(values: Array, gains: Array) -> Array:
    """How far (n, A) below the best of its row each of values (n, A) still ties with it; gains (n, A) are in them."""
    sizes = np.where(np.isfinite(values), np.abs(values), 0.0) + 2 * gains
    result: Array = RELATIVE_TOLERANCE * np.maximum(
        sizes, sizes[np.arange(len(values)), values.argmax(axis=1)][:, None]
    )
    return result


def above(value: float, bound: float) -> bool:
    """Whether `value` is above `bound` by more than a hair."""
    return value > bound + RELATIVE_TOLERANCE * abs(bound)


def at_least(value: float, bound: float) -> bool:
    """Whether `value` is not below `bound` by more than a hair."""
    return value >= bound - RELATIVE_TOLERANCE * abs(bound)


def ranked(values: Array, gains: float = 0.0, exactly: Callable[[], Array] | None = None) -> list[int]:
    """Places of values (A,) from the best to the worst; those that tie stay in the order in which they are listed.

    gains and exactly: as for `choose`.
    """
    result = _ranked(values, np.full(len(values), gains))
    if exactly is not None and result != _ranked(values, np.zeros(len(values))):
        return _ranked(values, exactly())
    return result


def _ranked(values: Array, gains: Array) -> list[int]:
    order = np.argsort(-values, kind="stable")
    result: list[int] = []
    while order.size:
        tied = ties(values[order][None, :], gains[order][None, :])[0]
        result += sorted(order[tied].tolist())
        order = order[~tied]
    return result
