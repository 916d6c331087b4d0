"""What bounds at some beliefs say about another, where the bound is convex: the cheapest mixture that makes it up."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from rhoplan.model.pomdp import Array, Ids

NEGLIGIBLE = 1e-12
"""Probabilities up to this may be paid for as rounding where a mixture is looked for, not made up: they are left of
states that have been ruled out, more in some beliefs than in others."""

ROUNDS = 20
"""So many exchanges for each belief of the mixture, at most."""

SMALLEST_PIVOT = 1e-9
"""A belief that the new one has no larger share of stays: without it the others would hardly tell states apart."""


def mixture(beliefs: Array, values: Array, corner: Array, belief: Array, prices: Array) -> float:
    """The least bound at `belief` from any mixture of points and corners that makes it up (a linear program).

    prices (S,): what a part of each state costs at most that the mixture has more or less of than the belief.
    """
    bound = _mixed(beliefs, values, corner, belief, prices, 0.0)
    if ((belief > 0) & (belief <= NEGLIGIBLE)).any():
        return min(bound, _mixed(beliefs, values, corner, belief, prices, NEGLIGIBLE))
    return bound


def prices_of(belief: Array, penalty: float, lost: float) -> Array:
    """`penalty` for each state, or less where it is likely: a value is within `lost` of any other, so that its slope
    along a state is at most that in the share of the state."""
    with np.errstate(over="ignore"):
        return np.minimum(penalty, lost / np.maximum(belief, 1e-300))


def _mixed(beliefs: Array, values: Array, corner: Array, belief: Array, prices: Array, least: float) -> float:
    """The same, with probabilities up to `least` paid for as rounding."""
    held = belief > least
    inside = ~(beliefs[:, ~held] > NEGLIGIBLE).any(axis=1)
    whole = np.vstack([np.eye(len(belief))[held], beliefs[inside]])
    columns = whole[:, held]
    cost = np.concatenate([corner[held], values[inside]])
    beside = whole[:, ~held] @ prices[~held]  # what a point has of other states
    corners = np.arange(int(held.sum()))
    basis, amount = mixture_weights(columns, cost + beside, belief[held], corners, prices[held])
    return _bound(columns, cost + beside, belief[held], basis, amount, prices[held]) + float(
        belief[~held] @ prices[~held]
    )


def mixture_weights(
    columns: Array, cost: Array, belief: Array, corners: Ids, prices: Array | None = None
) -> tuple[Ids, Array]:
    """Rows of `columns`, and how much of each, that make `belief` up at the least cost; `corners` are a first guess.

    By the simplex method. Rounding may leave a part of the belief out, which counts as `prices` say, or as the dearest
    of all would: of the mixtures met on the way the best is taken.
    """
    prices = np.full(len(belief), np.abs(cost).max()) if prices is None else prices
    basis = corners.copy()
    amount = np.linalg.solve(columns[basis].T, belief)
    best, least = (basis, np.maximum(amount, 0.0)), np.inf
    with suppress(np.linalg.LinAlgError):  # to rounding, others make a new one up
        for _ in range(ROUNDS * len(basis)):
            kept = np.maximum(amount, 0.0)
            bound = _bound(columns, cost, belief, basis, kept, prices)
            if bound < least:
                best, least = (basis, kept), bound
            price = cost - columns @ np.linalg.solve(columns[basis], cost[basis])
            enters = int(np.argmin(price))
            if price[enters] >= -1e-12 * np.abs(cost[basis]).max():
                leaves = int(np.argmin(amount))
                if amount[leaves] >= 0:
                    break
                # no other is cheaper, but rounding has left less than nothing of one: what can stand in for it does
                row = columns @ np.linalg.solve(columns[basis], np.eye(len(basis))[leaves])
                dear = np.divide(
                    np.maximum(price, 0.0), -row, out=np.full(len(row), np.inf), where=row < -SMALLEST_PIVOT
                )
                if not np.isfinite(dear.min()):
                    break
                basis = basis.copy()
                basis[leaves] = int(np.argmin(dear))
                amount = np.linalg.solve(columns[basis].T, belief)
                continue
            change = np.linalg.solve(columns[basis].T, columns[enters])
            ratio = np.divide(kept, change, out=np.full(len(basis), np.inf), where=change > SMALLEST_PIVOT)
            if not np.isfinite(ratio.min()):
                break
            basis = basis.copy()
            basis[int(np.argmin(ratio))] = enters
            amount = np.linalg.solve(columns[basis].T, belief)
    return best


def sawtooth(beliefs: Array, values: Array, corner: Array, belief: Array) -> float:
    """The least bound at `belief` from one of the points mixed with corners."""
    base = float(corner @ belief)
    if not len(values):
        return base
    with np.errstate(over="ignore"):
        ratio = np.divide(belief, beliefs, out=np.full(beliefs.shape, np.inf), where=beliefs > 0).min(axis=1)
    return base + min(float((np.minimum(values - beliefs @ corner, 0.0) * np.minimum(ratio, 1.0)).min()), 0.0)


def _bound(columns: Array, cost: Array, belief: Array, basis: Ids, amount: Array, prices: Array) -> float:
    """What a mixture costs, with what it has more or less of each state than the belief."""
    return float(cost[basis] @ amount + np.abs(belief - amount @ columns[basis]) @ prices)
