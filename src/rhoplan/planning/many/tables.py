"""Ceilings on the Python side: which tests they count, and tables that count more, filled while there is time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.many.ceilings import Ceilings, fill_rows
from rhoplan.planning.many.machine import ENDLESS, Model
from rhoplan.planning.many.pairs import Pair, expected_runs, make_pair, settle
from rhoplan.planning.many.pricing import find_prices, make_scratch

FINE, COARSE = 259, 67
"""Points of the grid that bounds are read from, and of the one that raised prices are found on; with many pairs of
states the coarse one does for both: bounds are wide there for other reasons."""

MOST_FITTED = 10
"""Pairs up to which each has raised prices of its own: five states. Beyond, finding them takes longer than it saves."""

MOST_PAIRED = 24
"""States that are paired: where there are more, the others count as known for nothing, which is a bound as well."""

ROUNDS, SWEEPS = 20, 100
"""Steps of the search for raised prices, and sweeps of each: more changed bounds by less than one per cent."""

USUAL_SWEEPS = 15
"""Sweeps that a row takes where tests can be repeated; for the estimate of work."""

FIRST_WORK, CHUNK, AT_ONCE = 2e7, 1e7, 2e9
"""Outcomes worked out for the first tables, between two looks at the clock, and at most for tables that count all."""

MORE = 3
"""Kinds that each further table counts in addition: eight times the rows, where each is one test."""


class CeilingMaker:
    """Makes the ceilings of `model` for a search from `belief`, and better ones as time goes on.

    ceilings: those in use. memory: bytes that tables may take.
    """

    def __init__(self, model: Model, belief: Array, *, weight: float, discount: float, memory: float) -> None:
        self.model, self.belief, self.weight, self.discount = model, belief, weight, discount
        self.states: Ids = np.array(list(combinations(self._paired(), 2)), dtype=np.int64).reshape(-1, 2)
        self.corner: Array = model.best if discount == 1 else np.maximum(model.best, 0.0)
        self.scale = float(max(np.abs(model.payoff).max(), np.abs(model.price).max(initial=0.0)))
        self.left: Ids = model.copies - model.had
        few = len(self.states) <= MOST_FITTED
        self.most_rows = max(1.0, memory / (2.2 * 8 * max(len(self.states), 1) * FINE))
        self.grids = [self._grid(pair, FINE if few else COARSE) for pair in range(len(self.states))]
        self.raised = np.zeros((len(self.states), len(model.price)))
        ranked: list[int] = np.flatnonzero((self.left > 0) & (self.left < ENDLESS // 2)).tolist()
        if few and len(self.states):
            ranked = self._fit(ranked)
        self._levels = self._numbers_counted(ranked)
        self._ranked = ranked
        self.ceilings = self._empty(next(self._levels))
        self._under_way = self._filled(self.ceilings, np.inf)
        for _ in self._under_way:
            pass
        self._next: Ceilings | None = None

    def _paired(self) -> list[int]:
        """The states that pairs are made of, in order: the likeliest, whatever states are called and how they stand."""
        columns = self.model.likelihood.T.tolist()
        ranked = sorted(range(len(self.belief)), key=lambda s: (-self.belief[s], columns[s]))
        return sorted(ranked[:MOST_PAIRED])

    def improve(self) -> bool:
        """Work a little on tables that count more kinds; whether there is anything left to do."""
        if self._next is None:
            count = next(self._levels, None)
            if count is None:
                return False
            self._next = self._empty(count)
            self._under_way = self._filled(self._next, CHUNK)
        if next(self._under_way, None) is None:
            self.ceilings, self._next = self._next, None
        return True

    def _numbers_counted(self, ranked: list[int]) -> Iterator[int]:
        """How many of the ranked kinds tables count, one after the other."""
        fitting = [m for m in range(len(ranked) + 1) if self._rows(ranked[:m]) <= self.most_rows]
        everything, most = len(ranked), max(fitting)
        count = max([m for m in fitting if self._work(ranked[:m]) <= FIRST_WORK], default=0)
        yield count
        if count < most == everything and self._work(ranked) <= AT_ONCE:
            yield most
            return
        while count < most:
            count = min(count + MORE, most)
            yield count

    def _rows(self, counted: list[int]) -> float:
        return float(np.prod(self.left[counted] + 1.0))

    def _work(self, counted: list[int]) -> float:
        """Outcomes to be worked out for tables that count these kinds."""
        points, outcomes = sum(len(grid.share) for grid in self.grids), len(self.model.likelihood)
        complete = len(counted) == np.count_nonzero(self.left > 0)
        return self._rows(counted) * points * outcomes * (0.5 if complete else USUAL_SWEEPS)

    def _empty(self, count: int) -> Ceilings:
        """Tables that count the first `count` kinds, to be filled."""
        model, counted = self.model, self._ranked[:count]
        radix = np.zeros(len(model.price), dtype=np.int64)
        rows = 1
        for kind in counted:
            radix[kind], rows = rows, rows * int(self.left[kind] + 1)
        raised = self.raised * (radix == 0)
        share = self.grids[0].share if self.grids else np.array([0.0, 1.0])
        uncounted = set(model.group[radix == 0].tolist())
        return Ceilings(
            states=self.states,
            radix=radix,
            whole=np.array([group not in uncounted for group in range(len(model.entry))], dtype=np.int64),
            share=share,
            width=1 / np.diff(share),
            value=np.empty((len(self.states), rows, len(share))),
            raised=raised,
            largest=raised.max(axis=1, initial=0.0),
            corner=self.corner,
        )

    def _filled(self, ceilings: Ceilings, chunk: float) -> Iterator[bool]:
        """Fill tables, and stop for a moment after each chunk of work."""
        model, kinds = self.model, len(self.model.price)
        counted = [kind for kind in range(kinds) if ceilings.radix[kind] > 0]
        rows = ceilings.value.shape[1]
        each = max(self._work(counted) / rows / max(len(self.states), 1), 1.0)
        step = max(1, int(min(chunk / each, rows)))
        left, price, fixed = np.zeros(kinds, dtype=np.int64), np.zeros(kinds), np.zeros(len(ceilings.share))
        for pair, grid in enumerate(self.grids):
            top = self._top(pair, grid)
            for first in range(0, rows, step):
                last = min(first + step, rows)
                fill_rows(model, ceilings, pair, grid, top, first, last, 1e-6 * self.scale, SWEEPS, left, price, fixed)
                yield True

    def _fit(self, kinds: list[int]) -> list[int]:
        """Raise the prices of all kinds to suit the root; and the kinds in the order in which plans ask for them."""
        model, wanted = self.model, np.zeros(len(self.model.price))
        for pair, (one, other) in enumerate(self.states.tolist()):
            both = float(self.belief[one] + self.belief[other])
            if both <= 0:
                continue
            grid, share = self._grid(pair, COARSE), float(self.belief[one]) / both
            top = self._top(pair, grid)
            find_prices(
                model, grid, top, share, self.left, model.paid.astype(np.int64), int(model.caps[0]),
                1e-5 * self.scale, ROUNDS, SWEEPS, self.raised[pair], make_scratch(len(model.price), len(top)),
            )  # fmt: skip
            wanted += both * self._asked_for(pair, grid, share)
        return sorted(kinds, key=lambda kind: -wanted[kind])

    def _asked_for(self, pair: int, grid: Pair, share: float) -> Array:
        """How early plans ask for each kind: all can be repeated, and those in use are taken away again and again."""
        model, points = self.model, len(grid.share)
        price = np.where(self.left > 0, model.price, np.inf)
        asked, weight = np.zeros(len(price)), 1.0
        runs, mass, later = np.zeros(len(price)), np.zeros(points), np.zeros(points)
        choice = np.zeros(points, dtype=np.int64)
        at = int(np.clip(np.searchsorted(grid.share, share, side="right") - 1, 0, points - 2))
        while np.isfinite(price).any():
            value = self._top(pair, grid)
            settle(grid, price, value, choice, 1e-4 * self.scale, SWEEPS)
            expected_runs(grid, choice, at, 0.5, mass, later, runs, SWEEPS)
            used = (runs > 0) & np.isfinite(price)
            if not used.any():
                break
            asked[used] += weight * runs[used] / runs[used].max()
            first = used & (runs >= 0.5 * runs[used].max())
            price[first], weight = np.inf, 0.9 * weight
        return asked

    def _grid(self, pair: int, points: int) -> Pair:
        model, both = self.model, self.states[pair]
        rows, payoff = np.ascontiguousarray(model.likelihood[:, both]), model.payoff[:, both]
        # Between two states that information does not tell apart there is no doubt to be paid for.
        weight = self.weight if model.asked[both[0]] != model.asked[both[1]] else 0.0
        return make_pair(model.first, rows, payoff, points=points, weight=weight, discount=self.discount)

    def _top(self, pair: int, grid: Pair) -> Array:
        """Knowing the state for nothing."""
        one, other = self.corner[self.states[pair]]
        top: Array = np.maximum(grid.share * one + (1 - grid.share) * other, grid.stop)
        return top
