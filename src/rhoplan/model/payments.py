"""What an action pays where that is left to chance: by the outcome, and by the state after it.

Plans ask for the mean given the state before, `Action.reward`. Scores and episodes ask how payments scatter around it.

Shapes: S hidden states, O outcomes, E ways in which an action can go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rhoplan.model.sparse import Array, Change, Ids, Sparse, entries


@dataclass(frozen=True, eq=False)
class Payments:
    """How payments scatter: their variance (S,) given the state before, the worst (S,) that can be paid and its chance
    (S,); by_change: chance of the change times the payment, (O, S, S), where payments depend on the state after it."""

    variance: Array
    worst: Array
    worst_chance: Array
    by_change: Sparse | None


def payments(reward: Array, likelihood: Array, transition: Change | None, pays: Change) -> Payments:
    """How `pays` scatters around its mean `reward` (S,)."""
    state, chance, paid_then, by_change = _ways(likelihood, transition, pays)
    count = len(reward)
    away = (paid_then - reward[state]) ** 2
    worst = np.full(count, np.inf)
    np.minimum.at(worst, state, paid_then)
    variance = np.bincount(state, weights=chance * away, minlength=count).astype(float)
    share = np.bincount(state, weights=chance * (paid_then <= worst[state]), minlength=count).astype(float)
    return Payments(variance, worst, share, by_change)


def mean_payment(likelihood: Array, transition: Change | None, pays: Change) -> Array:
    """What `pays` comes to on average, (S,), given the state before."""
    state, chance, paid_then, _ = _ways(likelihood, transition, pays)
    return np.bincount(state, weights=chance * paid_then, minlength=len(likelihood)).astype(float)


def paid(pays: Change, outcome: Ids, before: Ids, after: Ids) -> Array:
    """What is paid (k,) for outcomes (k,) with the states (k,) before and after."""
    if isinstance(pays, Sparse):
        return pays.at(outcome * pays.shape[-1] + before, after)
    result: Array = pays[before, outcome] if pays.ndim == 2 else pays[outcome, before, after]
    return result


def _ways(likelihood: Array, transition: Change | None, pays: Change) -> tuple[Ids, Array, Array, Sparse | None]:
    """State before (E,), chance given it (E,) and payment (E,) of all ways an action can go; and `by_change`."""
    if pays.ndim == 2:
        state, outcome = np.nonzero(likelihood)
        return state, likelihood[state, outcome], paid(pays, outcome, state, state), None
    assert transition is not None
    outcome, state, after, share = entries(transition, likelihood.shape[1])
    worth = paid(pays, outcome, state, after)
    shape = (likelihood.shape[1], len(likelihood), len(likelihood))
    by_change = Sparse.of(shape, outcome * len(likelihood) + state, after, share * worth)
    chance = likelihood[state, outcome] * share
    there = chance > 0
    return state[there], chance[there], worth[there], by_change
