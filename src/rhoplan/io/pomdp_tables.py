"""What the lines T, O and R of a `.pomdp` file say, later ones over earlier ones, and the ways that come of it.

Transitions are kept row by row and only above zero: 12,545 states have 157 million pairs, of which a file names a few.
A whole row is kept as arrays that many states may share, a row built entry by entry as a dict of its own.

Shapes: A actions, S states, O observations, E ways in which an action can go.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

import numpy as np

from rhoplan.belief_math.transitions import Ways, from_entries
from rhoplan.io.assemble import Rounding
from rhoplan.io.foreign import MOST_NUMBERS, PER_CELL, Budget
from rhoplan.model.pomdp import Array, Ids

Raise = Callable[[str, int | None, str], NoReturn]
"""Raises a fault: the message, the place of the word it is about, and the code."""

Row = dict[int, float] | tuple[Ids, Array]

Patterns = dict[tuple[int, ...], tuple[Ids, Array, Ids]]


@dataclass(frozen=True)
class Names:
    """The names of states, actions or observations. what: which of them these are."""

    what: str
    names: tuple[str, ...]

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}


class _Written:
    """Where rows were written last, for the faults found in them."""

    def __init__(self, names: tuple[Names, Names], raise_at: Raise) -> None:
        self._names, self._raise = names, raise_at
        self._written: dict[tuple[int | None, int | None], int] = {}

    @property
    def any(self) -> bool:
        return bool(self._written)

    def wrote(self, action: int | None, state: int | None, place: int) -> None:
        self._written[action, state] = place

    def refuse(self, what: str, action: int, state: int, total: float, least: float, *, sum_code: str) -> NoReturn:
        """least: the least of the numbers, or any above it where none is below 0."""
        keys = ((action, state), (None, state), (action, None), (None, None))
        places = [self._written[key] for key in keys if key in self._written]
        act, held = self._names[0].names[action], self._names[1].names[state]
        found = f"they sum to {total:.10g}" if least >= 0 else f"one is {least:.10g}"
        if not places:
            found = "no line is about them"
        self._raise(
            f"{what} of action '{act}' and state '{held}' must be probabilities that sum to 1; {found}",
            max(places) if places else None,
            sum_code,
        )


class Transitions:
    """T: for every action and state the states that may follow."""

    def __init__(self, names: tuple[Names, Names], raise_at: Raise, budget: Budget) -> None:
        actions, states = (len(one.names) for one in names)
        self.states, self._budget = states, budget
        self._nothing: Row = (np.empty(0, dtype=np.int64), np.empty(0))
        self._rows: list[list[Row]] = [[self._nothing] * states for _ in range(actions)]
        self._where, self._raise = _Written(names, raise_at), raise_at

    def entry(self, action: int | None, state: int | None, after: int | None, chance: float, place: int) -> None:
        if after is None:
            self.row(action, state, np.full(self.states, chance), place)
            return
        self._where.wrote(action, state, place)
        self._spend(action, state)
        for rows in self._of(action):
            for number in range(self.states) if state is None else (state,):
                _set(rows, number, after, chance)

    def put_one(self, action: int, state: int, after: int, chance: float, place: int) -> None:
        """The same for one action, one state and one state after it: a line pays for itself."""
        self._where.wrote(action, state, place)
        _set(self._rows[action], state, after, chance)

    def row(self, action: int | None, state: int | None, row: Array, place: int) -> None:
        self._where.wrote(action, state, place)
        self._spend(action, state)
        after = np.flatnonzero(row)
        kept: Row = (after, row[after]) if len(after) else self._nothing
        for rows in self._of(action):
            if state is None:
                rows[:] = [kept] * self.states
            else:
                rows[state] = kept

    def identity(self, action: int | None, place: int) -> None:
        self._where.wrote(action, None, place)
        self._spend(action, None)
        for rows in self._of(action):
            rows[:] = [{state: 1.0} for state in range(self.states)]

    @property
    def is_empty(self) -> bool:
        """Whether no line is about it."""
        return not self._where.any

    def count_products(self, shows: Observations) -> None:
        """Count every change with every observation that may follow it, before the first of them is made."""
        counts = [sum(len(row) if isinstance(row, dict) else len(row[0]) for row in rows) for rows in self._rows]
        told = [np.count_nonzero(shows.numbers[action], axis=1) for action in range(len(counts))]
        products = sum(count * int(one.max()) for count, one in zip(counts, told, strict=True))
        if products > self._budget.left:  # than there can be at most: so look what there are
            products = sum(
                int(one[np.fromiter(row, dtype=np.int64) if isinstance(row, dict) else row[0]].sum())
                for one, rows in zip(told, self._rows, strict=True)
                for row in rows
            )
        if products > self._budget.left:
            self._raise(
                f"every change with every observation that may follow it makes {products:,} products, and a problem "
                f"file of this length may stand for {self._budget.most:,} numbers at most: write 0 for changes and "
                "observations that hardly ever happen, or fewer states, actions or observations",
                None,
                "too-many-numbers",
            )
        self._budget.spend(products)

    def ways(self, action: int, shows: Array, rounding: Rounding) -> Ways:
        """The ways that `action` can go, given what is shown (S, O) in the state after it."""
        rows = self._rows[action]
        counts = np.array([len(row) if isinstance(row, dict) else len(row[0]) for row in rows])
        if counts.sum() > MOST_NUMBERS:
            self._raise(
                f"transitions may hold {MOST_NUMBERS:,} numbers at most; they hold {counts.sum():,}",
                None,
                "too-many-numbers",
            )
        self._budget.spend(int(counts.sum()))
        after = np.concatenate([np.fromiter(row, dtype=np.int64, count=len(row)) if isinstance(row, dict) else row[0]
                                for row in rows])  # fmt: skip
        chance = np.concatenate([np.fromiter(row.values(), dtype=float, count=len(row)) if isinstance(row, dict)
                                 else row[1] for row in rows])  # fmt: skip
        before = np.repeat(np.arange(self.states), counts)
        sums = np.bincount(before, weights=chance, minlength=self.states).astype(float)
        least = np.zeros(self.states)
        np.minimum.at(least, before, chance)
        # Two columns stand for a row: what it sums to, and the least number in it.
        scaled, wrong = rounding.normalised(np.stack([sums, np.zeros(self.states)], axis=1))
        for state in np.flatnonzero(wrong | (least < 0))[:1].tolist():
            self._where.refuse(
                "transitions", action, state, float(sums[state]), float(least[state]), sum_code="transition-row-sum"
            )
        chance = chance * (scaled[:, 0] / sums)[before]
        return Ways.of(from_entries((self.states, self.states), before, after, chance), shows)

    def _spend(self, action: int | None, state: int | None) -> None:
        self._budget.spend((len(self._rows) if action is None else 1) * (self.states if state is None else 1))

    def _of(self, action: int | None) -> list[list[Row]]:
        return self._rows if action is None else [self._rows[action]]


def _set(rows: list[Row], state: int, after: int, chance: float) -> None:
    row = rows[state]
    if isinstance(row, tuple):
        row = rows[state] = dict(zip(row[0].tolist(), row[1].tolist(), strict=True))
    row[after] = chance


class Observations:
    """O: for every action and state after it what may be seen."""

    def __init__(self, names: tuple[Names, Names], seen: int, raise_at: Raise, budget: Budget) -> None:
        actions, states = (len(one.names) for one in names)
        if actions * states * seen > MOST_NUMBERS:
            raise_at(
                f"observations may hold {MOST_NUMBERS:,} numbers at most; they would hold {actions * states * seen:,}",
                None,
                "too-many-numbers",
            )
        self.numbers = np.zeros((actions, states, seen))
        self._budget = budget
        self._where = _Written(names, raise_at)

    def put(self, places: list[int | None], numbers: Array | float, place: int) -> None:
        """Write `numbers` where `places` say: action, state, observation, as many as are given."""
        self._where.wrote(places[0], places[1] if len(places) > 1 else None, place)
        place_of = tuple([slice(None) if one is None else one for one in places])
        if None in places or len(places) < 3:
            self._budget.spend(self.numbers[place_of].size / PER_CELL)
        self.numbers[place_of] = numbers

    def put_one(self, action: int, state: int, seen: int, chance: float, place: int) -> None:
        """Write one number."""
        self._where.wrote(action, state, place)
        self.numbers[action, state, seen] = chance

    def of(self, action: int, rounding: Rounding) -> Array:
        """Probability (S, O) of what is seen in each state after `action`."""
        rows, wrong = rounding.normalised(self.numbers[action])
        for state in np.flatnonzero(wrong)[:1].tolist():
            own = self.numbers[action, state]
            self._where.refuse(
                "observations", action, state, float(own.sum()), float(own.min()), sum_code="likelihood-row-sum"
            )
        return rows


class Rewards:
    """R: by action, state before, state after and observation; `*` in any of them."""

    def __init__(self, states: int, seen: int) -> None:
        self._sizes = (states, states, seen)
        self._lines: dict[int | None, list[tuple[int, list[int | None], Array]]] = {}
        self._at: list[int] = []

    def put(self, places: list[int | None], numbers: Array, place: int) -> None:
        """`numbers` for action, state before, state after, observation; of those that are not given, all in order."""
        self._lines.setdefault(places[0], []).append((len(self._at), places, numbers))
        self._at.append(place)

    def beyond(self, limit: float) -> int | None:
        """Where the first line stands that has a number of more than `limit`, above or below 0."""
        lines = [line for found in self._lines.values() for line in found]
        orders = [order for order, _, numbers in lines if np.abs(numbers).max() > limit]
        return self._at[min(orders)] if orders else None

    def paid(self, action: int, ways: Ways, sign: float) -> Ways:
        """`ways` with what they pay. Of all lines that speak of a way the last one counts."""
        pays, latest = np.zeros(len(ways.chance)), np.full(len(ways.chance), -1)
        own = (ways.before, ways.after, ways.outcome)
        patterns = [*self._of_all.items(), *self._patterns(self._lines.get(action, [])).items()]
        for given, (keys, numbers, order) in patterns:
            wanted = np.zeros(len(ways.chance), dtype=np.int64)
            for axis in given:
                wanted = wanted * self._sizes[axis] + own[axis]
            size = math.prod(self._sizes[axis] for axis in given)
            if size <= len(wanted):
                when, number = np.full(size, -1), np.zeros(size)
                when[keys], number[keys] = order, numbers
                when, number = when[wanted], number[wanted]
            else:
                place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                when, number = np.where(keys[place] == wanted, order[place], -1), numbers[place]
            later = when > latest
            np.copyto(pays, number, where=later)
            np.copyto(latest, when, where=later)
        pays *= sign
        pays += 0.0  # no zero below 0
        return replace(ways, pays=pays)

    @cached_property
    def _of_all(self) -> Patterns:
        """What lines about all actions say; they are sorted once."""
        return self._patterns(self._lines.get(None, []))

    def _patterns(self, lines: list[tuple[int, list[int | None], Array]]) -> Patterns:
        """By which axes lines speak of: keys in order, the number of each that was written last, and when that was."""
        found: dict[tuple[int, ...], list[tuple[Ids, Array, int]]] = {}
        for order, places, numbers in lines:
            fixed = [(axis, place) for axis, place in enumerate(places[1:]) if place is not None]
            free = tuple(range(len(places) - 1, 3))
            key = 0
            for axis, place in fixed:
                key = key * self._sizes[axis] + place
            block = numbers.size
            keys = key * block + np.arange(block) if free else np.array([key])
            found.setdefault((*(axis for axis, _ in fixed), *free), []).append((keys, numbers.ravel(), order))
        result = {}
        for given, parts in found.items():
            keys = np.concatenate([part[0] for part in parts])
            when = np.repeat([part[2] for part in parts], [len(part[0]) for part in parts])
            ranks = np.lexsort((when, keys))
            last = np.append(np.diff(keys[ranks]) != 0, True)
            chosen = ranks[last]
            result[given] = keys[chosen], np.concatenate([part[1] for part in parts])[chosen], when[chosen]
        return result
