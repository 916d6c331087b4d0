"""A problem from the ways its actions can go, as files and arrays of others give them: one hidden factor, one place.

Others have no END: they let an episode end in states that pay nothing and are never left. Where an outcome tells that
such a state is reached, it leads to END here; nothing that can still happen is worth anything, so no value changes.

Shapes: S hidden states, O outcomes, E ways in which an action can go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from rhoplan.belief_math.transitions import Ways
from rhoplan.errors import ProblemError
from rhoplan.model.pomdp import END, POMDP, Action, Array, Factor, FixedMenu
from rhoplan.model.validate import check_problem

HERE = "here"
"""The one visible state of a problem without places."""

MOST_BRANCHES = 20_000
"""Beliefs that one decision looks at, at most, with the look-ahead that is taken when nobody asks for another."""

DEEPEST = 3

ROUNDED = 1e-5
"""How far a row of probabilities in a file of others may be from summing to 1: what rounding twenty numbers to six
digits can do."""


@dataclass
class Rounding:
    """Rows that were divided by their sum because they were printed with few digits: how many, and how far off."""

    rows: int = 0
    most: float = 0.0

    def normalised(self, rows: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Rows (n, k) divided by their sums, and which (n,) cannot be: below 0, or further than ROUNDED from 1."""
        sums = rows.sum(axis=1)
        off = np.abs(sums - 1)
        wrong = ~(off <= ROUNDED) | (rows < 0).any(axis=1)
        few = (off > 1e-12) & ~wrong
        if few.any():
            self.rows += int(few.sum())
            self.most = max(self.most, float(off[few].max()))
        return rows / np.where(few, sums, 1.0)[:, None], wrong

    @property
    def note(self) -> str:
        if not self.rows:
            return ""
        count = "1 row of probabilities" if self.rows == 1 else f"{self.rows:,} rows of probabilities"
        return f"{count} printed with few digits, off 1 by {self.most:.1g} at most, divided by their sums"


def summed(row: Array) -> str:
    """What is wrong with numbers that are not probabilities."""
    return f"they sum to {row.sum():.10g}" if np.min(row, initial=0.0) >= 0 else f"one is {row.min():.10g}"


def assembled(
    name: str,
    *,
    states: tuple[str, ...],
    outcomes: tuple[str, ...],
    ways: Iterable[tuple[str, Ways]],
    prior: Array,
    discount: float,
    rounding: Rounding,
    spec: str = "",
) -> POMDP:
    """The problem with one hidden factor whose actions go `ways`, with their names, whatever the situation.

    Of `ways`, which may take much more memory than the action that is made of them, one is asked for after the other.
    """
    check_discount(discount)
    gathered = _Gathered(len(states), outcomes)
    for action, one in ways:
        gathered.add(action, one)
        del one  # before the next is made
    actions = gathered.finished()
    problem = POMDP(
        name,
        (Factor("state", states, prior),),
        HERE,
        FixedMenu(actions),
        horizon=default_horizon(actions),
        discount=discount,
        note=rounding.note,
        spec=spec,
    )
    check_problem(problem)
    return problem


def default_horizon(actions: tuple[Action, ...]) -> int:
    """The look-ahead for a menu such as `actions`: as deep as a decision stays small."""
    branches = sum(len(action.outcomes) for action in actions)
    return max(depth for depth in range(1, DEEPEST + 1) if depth == 1 or branches**depth <= MOST_BRANCHES)


def check_discount(discount: float) -> None:
    told = f"{discount:g}" if isinstance(discount, Real) else repr(discount)
    if not isinstance(discount, Real) or not 0 < discount <= 1:
        only = (
            ": where only the first action counts, write 1 and plan one action (--horizon 1)" if discount == 0 else ""
        )
        raise ProblemError(
            f"discount must be above 0 and at most 1; it is {told}{only}", field=("discount",), code="discount-range"
        )


class _Gathered:
    """Actions, and what of their ways tells which states are sinks: never left, paying nothing, and showing nothing
    that another such state does not show."""

    def __init__(self, states: int, outcomes: tuple[str, ...]) -> None:
        self._outcomes = outcomes
        self._alive = np.zeros(states, dtype=bool)
        self._made: list[tuple[Action, NDArray[np.bool_]]] = []

    def add(self, name: str, ways: Ways) -> None:
        action = Action.from_ways(name, ways, self._outcomes, (HERE,) * len(self._outcomes))
        self._alive[ways.before[(ways.before != ways.after) | (ways.pays != 0)]] = True
        shown = np.zeros((0, 0), dtype=bool)  # (S, O): what is seen in which state after it; of use where sinks are
        if not self._alive.all():
            shown = np.zeros((len(self._alive), len(self._outcomes)), dtype=bool)
            shown[ways.after, ways.outcome] = True
        self._made.append((action, shown))

    def finished(self) -> tuple[Action, ...]:
        actions, found = tuple(action for action, _ in self._made), np.flatnonzero(~self._alive)
        if len(found) in (0, len(self._alive)):
            return actions
        for action in actions:
            if not np.all(action.likelihood[found] == action.likelihood[found[0]]):
                return actions
        return tuple(self._ending(action, shown) for action, shown in self._made)

    def _ending(self, action: Action, shown: NDArray[np.bool_]) -> Action:
        goes_on = np.any(shown, axis=0, where=self._alive[:, None])
        if action.pays is not None and not goes_on.any():
            return action
        return replace(action, leads_to=tuple(HERE if on else END for on in goes_on))
