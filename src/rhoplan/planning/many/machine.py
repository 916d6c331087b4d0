"""Machine code for the planner of many tests: what every kernel reads of a problem, and the few loops they share.

Kernels make no arrays: all that they write on is handed to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.machine import compiled, entropy_of_groups

__all__ = ["ENDLESS", "Model", "best_commit", "compiled", "copy", "entropy_of_groups", "wide"]

wide: Callable[[Any], int] = cast(Any, np.int64)
"""A whole number as kernels have them: they are compiled once per type, and a number written down has its own."""

ENDLESS = 1 << 15
"""Copies of a test that can be repeated: far more runs than any plan has, and their number fits into 16 bits."""


class Model(NamedTuple):
    """A problem as kernels read it. C kinds of tests, Q outcomes of all kinds in a row, S states, E commits, G groups.

    first (C + 1,): where the outcomes of each kind begin. likelihood (Q, S). word, shift, mask (Q,): where a key of
    evidence counts an outcome. price, ticks (C,): what one run costs, as a number and in ticks of the budget. group
    (C,): -1 for none. copies (C,): how often a kind can be run. before, either, needed: kind c waits for each of the
    needs before[c] to before[c + 1], and need n is met once one of the kinds needed[either[n] : either[n + 1]] has run.
    against, rivals: kind c cannot be run once one of rivals[against[c] : against[c + 1]] has: a panel and its tests.
    entry, entry_ticks (G,): first prices. had (C,), paid (G,): runs and groups paid before the root. caps: tests left
    at the root (-1 for no cap), whether there is a budget, and ticks left of it. payoff (E, S), best (S,): the rewards
    of commits, and the best of each state. asked (S,): which of what information is about (diagnoses, or states) each
    state belongs to.
    """

    first: Ids
    likelihood: Array
    word: Ids
    shift: Ids
    mask: Ids
    price: Array
    ticks: Ids
    group: Ids
    copies: Ids
    before: Ids
    either: Ids
    needed: Ids
    against: Ids
    rivals: Ids
    entry: Array
    entry_ticks: Ids
    had: Ids
    paid: NDArray[np.bool_]
    caps: Ids
    payoff: Array
    best: Array
    asked: Ids


@compiled
def best_commit(payoff: Array, belief: Array) -> float:
    """The expected reward of the best commit."""
    best = -np.inf
    for commit in range(len(payoff)):
        value = 0.0
        for s in range(len(belief)):
            value += payoff[commit, s] * belief[s]
        best = max(best, value)
    return best


@compiled
def copy(source: Array, target: Array) -> None:
    """Write the numbers of `source` (n,) to `target` (n,)."""
    for place in range(len(source)):
        target[place] = source[place]
