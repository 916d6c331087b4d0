"""Ceilings on the Python side: made at the start for every pair of states, and added to where they are needed."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from rhoplan.model.problem import Array, Ids
from rhoplan.planning.many.ceilings import Ceilings, find_prices
from rhoplan.planning.many.machine import Model
from rhoplan.planning.many.pairs import Pair, make_pair, settle

FINE, COARSE = 259, 67
"""Points of the grid that bounds are read from, and of the one that raised prices are found on."""

MOST_FITTED = 10
"""Pairs up to which each has raised prices of its own: five states. Beyond, finding them takes longer than it saves."""

MOST_TABLES = 16
"""Tables of a pair where all pairs have raised prices of their own."""

ROUNDS, SWEEPS = 20, 100
"""Steps of the search for raised prices, and sweeps of each: more changed bounds by less than one per cent."""


class CeilingMaker:
    """Makes the ceilings of `model`, and fits more tables to situations.

    pairs: for each pair of states its problem on the coarse and on the fine grid; None where nobody fits it.
    """

    def __init__(self, model: Model, *, weight: float, discount: float) -> None:
        self.model, self.weight, self.discount = model, weight, discount
        states = len(model.best)
        self.states: Ids = np.array(list(combinations(range(states), 2)), dtype=np.int64).reshape(-1, 2)
        self.fits = len(self.states) <= MOST_FITTED
        self.most = MOST_TABLES if self.fits else 1
        self.corner: Array = model.best if discount == 1 else np.maximum(model.best, 0.0)
        self.scale = float(np.abs(model.payoff).max(initial=1e-300))
        count, kinds = len(self.states), len(model.price)
        self.points = FINE if self.fits else (FINE + 3) // 2
        self.ceilings = Ceilings(
            states=self.states,
            tables=np.zeros(count, dtype=np.int64),
            alpha=np.zeros((count, self.points - 1, self.most)),
            beta=np.zeros((count, self.points - 1, self.most)),
            raised=np.zeros((count, self.most, kinds)),
            largest=np.zeros((count, self.most)),
            steep=np.zeros((count, 2)),
            fall=np.zeros((count, kinds)),
            corner=self.corner,
        )
        self.fine: list[Pair] = []
        self.coarse: list[Pair] = []
        base = np.maximum(-model.price, 0.0)
        for pair in range(count):
            self.fine.append(self._pair(pair, self.points))
            if self.fits:
                self.coarse.append(self._pair(pair, COARSE))
            self._describe(pair)
            self._add(pair, base)

    def fit(self, belief: Array, left: Ids, paid: Ids, tests_left: int) -> bool:
        """Add a table to each pair, with prices that suit `belief` and what is left; whether there was room."""
        if not self.fits or not len(self.states) or self.ceilings.tables.max() >= self.most:
            return False
        for pair, (one, other) in enumerate(self.states.tolist()):
            both = float(belief[one] + belief[other])
            if both > 0:
                self._add(pair, self._prices(pair, float(belief[one]) / both, left, paid, tests_left))
        return True

    def _prices(self, pair: int, share: float, left: Ids, paid: Ids, tests_left: int) -> Array:
        model, grid = self.model, self.coarse[pair]
        kinds, points = len(model.price), len(grid.share)
        best = np.maximum(-model.price, 0.0)
        scratch = [np.zeros(kinds) for _ in range(3)] + [np.zeros(points) for _ in range(3)]
        find_prices(
            model, grid, self._top(pair, grid), share, left, paid, tests_left, 1e-5 * self.scale, ROUNDS, SWEEPS,
            best, *scratch, np.zeros(points, dtype=np.int64),
        )  # fmt: skip
        best[left <= 0] = np.inf
        return best

    def _pair(self, pair: int, points: int) -> Pair:
        model, both = self.model, self.states[pair]
        rows, payoff = np.ascontiguousarray(model.likelihood[:, both]), model.payoff[:, both]
        return make_pair(model.first, rows, payoff, points=points, weight=self.weight, discount=self.discount)

    def _top(self, pair: int, grid: Pair) -> Array:
        """Knowing the state for nothing."""
        one, other = self.corner[self.states[pair]]
        top: Array = grid.share * one + (1 - grid.share) * other
        return np.maximum(top, grid.stop)

    def _describe(self, pair: int) -> None:
        """What Bhattacharyya's bound needs; regrets lie above min(A x, B y), which touches them at one point."""
        model, grid, held = self.model, self.fine[pair], self.ceilings
        one, other = self.states[pair]
        roots = np.sqrt(model.likelihood[:, one] * model.likelihood[:, other])
        if len(model.price):
            with np.errstate(divide="ignore"):
                held.fall[pair] = -np.log(np.minimum(np.add.reduceat(roots, model.first[:-1]), 1.0))
        if self.discount == 1:
            both = np.stack([grid.share, 1 - grid.share], axis=1)
            regret = both @ self.corner[[one, other]] - (both @ model.payoff[:, [one, other]].T).max(axis=1)
            peak = int(regret.argmax())
            if regret[peak] > 0:
                held.steep[pair] = regret[peak] / both[peak]

    def _add(self, pair: int, raised: Array) -> None:
        """A table with raised prices (C,), inf for kinds that it takes for spent."""
        grid, held = self.fine[pair], self.ceilings
        value, table = self._top(pair, grid), int(held.tables[pair])
        choice = np.zeros(len(value), dtype=np.int64)
        settle(grid, self.model.price + raised, value, choice, 1e-6 * self.scale, 2 * SWEEPS)
        slope = np.diff(value) / np.diff(grid.share)
        held.alpha[pair, :, table] = value[:-1] + (1 - grid.share[:-1]) * slope
        held.beta[pair, :, table] = value[:-1] - grid.share[:-1] * slope
        held.raised[pair, table] = raised
        held.largest[pair, table] = np.max(raised, initial=0.0, where=np.isfinite(raised))
        held.tables[pair] += 1
