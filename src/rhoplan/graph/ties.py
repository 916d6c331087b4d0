"""The one tie rule.

The best value wins; among values within a hair of it the first one listed wins, and callers list ending actions
before the others and each in order of index. Symmetric problems are full of exact ties: float noise must not
decide them.

The hair is measured by the values at hand, not by the largest number of the problem: a loss of 1e13 in a state of
probability 1e-12 makes values of size 10, and a difference of 5 between them is none of noise. A value is a sum of
gains G and losses L, rounded relative to G + L; since value = G - L, that is at most |value| + 2 G. So whoever compares
values says what the gains in them can come to.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.problem import Array, Ids

RELATIVE_TOLERANCE = 1e-12
"""Far above the rounding of a sum of thousands of terms (1e-16 each), far below what anybody means to tell apart."""


def tolerance(best: float | Array, gains: float | Array = 0.0) -> Array:
    """How far below `best` values still tie with it, where the gains they are made of are at most `gains`."""
    result: Array = RELATIVE_TOLERANCE * (np.abs(best) + 2 * np.asarray(gains))
    return result


def choose(values: Array, gains: float | Array = 0.0) -> Ids:
    """Index (n,) of the winner in each row of values (n, A); gains (n,): see `tolerance`."""
    best = values.max(axis=1)
    winner: Ids = np.argmax(values >= (best - tolerance(best, gains))[:, None], axis=1)
    return winner


def above(value: float, bound: float) -> bool:
    """Whether `value` is above `bound` by more than a hair."""
    return value > bound + RELATIVE_TOLERANCE * abs(bound)


def at_least(value: float, bound: float) -> bool:
    """Whether `value` is not below `bound` by more than a hair."""
    return value >= bound - RELATIVE_TOLERANCE * abs(bound)


def ranked(values: Array, gains: float = 0.0) -> list[int]:
    """Places of values (A,) from the best to the worst; those that tie stay in the order in which they are listed."""
    order = np.argsort(-values, kind="stable").tolist()
    result: list[int] = []
    while order:
        best = values[order[0]]
        level = best - float(tolerance(best, gains))
        tied = [place for place in order if values[place] >= level]
        result += sorted(tied)
        order = order[len(tied) :]
    return result
