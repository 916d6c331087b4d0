"""A problem with a horizon: the visible state also tells how many actions are left.

The horizon counts as everywhere (`planning.exact`): after so many actions the best ending action must be taken where
there is one (the commit of an observe-then-commit problem), and else the episode is over; nothing more is paid. What
the last outcome tells still counts as information. Everything that takes a problem takes this one too: the certified
solver finds the best plan of that length, and its policy knows how many actions are left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import NamedTuple

import numpy as np

from rhoplan.belief_math.transitions import numbers
from rhoplan.errors import ProblemError
from rhoplan.model.limits import MOST_MENUS
from rhoplan.model.pomdp import END, POMDP, Action, CachedMenu, Menu, Observable


class Left(NamedTuple):
    """Where one is, with so many actions left."""

    actions: int
    observable: Observable


def with_horizon(problem: POMDP, actions: int) -> POMDP:
    """`problem` with so many actions, and after them one that ends, where there is one. A first look is not counted.

    The leaf, which knows nothing of that, is left out.
    """
    if not isinstance(actions, Integral) or actions < 1:
        raise ProblemError(
            f"horizon must be a whole number of at least 1; it is {actions}", field=("horizon",), code="horizon-range"
        )
    return replace(
        problem,
        start=Left(actions + problem.looks_first, problem.start),
        menu=LimitedMenu(problem.menu),
        leaf=None,
        planner="exact",
        cap=actions + problem.looks_first + 1,
    )


def horizon_of(problem: POMDP) -> int | None:
    """After how many actions `with_horizon` cut `problem` off; None where it did not."""
    return problem.start.actions - problem.looks_first if isinstance(problem.start, Left) else None


def without_horizon(problem: POMDP) -> POMDP:
    """What `with_horizon` made `problem` of, but for leaf and cap; others as they are."""
    if not (isinstance(problem.start, Left) and isinstance(problem.menu, LimitedMenu)):
        return problem
    return replace(problem, start=problem.start.observable, menu=problem.menu.menu)


@dataclass(frozen=True, eq=False)
class LimitedMenu(CachedMenu):
    """The menu of a problem with a horizon: at the end of it only what ends the episode."""

    menu: Menu

    def build(self, observable: Left) -> tuple[Action, ...]:
        if not observable.actions:
            return self._ending(observable.observable)
        return tuple(self._limited(action, observable.actions - 1) for action in self.menu(observable.observable))

    def _limited(self, action: Action, left: int) -> Action:
        """`action`, after which so many are left."""
        leads_to = tuple(self._after(left, place) for place in action.leads_to)
        return replace(action, leads_to=leads_to, is_last=not action.ends_episode and set(leads_to) == {END})

    def _ending(self, place: Observable) -> tuple[Action, ...]:
        return tuple(action for action in self.menu(place) if action.ends_episode)

    def _after(self, left: int, place: Observable) -> Observable:
        return END if place is END or not (left or self._ending(place)) else Left(left, place)


def is_endless(problem: POMDP) -> bool:
    """Whether no action within reach (MOST_MENUS) can end an episode."""
    return not any(END in action.leads_to for _, actions in problem.menus() for action in actions)


def has_commits(problem: POMDP) -> bool:
    """Whether some action within reach (MOST_MENUS) ends the episode whatever its outcome, horizons aside."""
    return any(action.ends_episode for _, actions in without_horizon(problem).menus() for action in actions)


def largest_payment(problem: POMDP) -> float:
    """The largest that one action can pay or cost; infinite where there are too many menus to look at them all."""
    largest, count = 0.0, 0
    for _, actions in problem.menus(MOST_MENUS + 1):
        count += 1
        for action in actions:
            paid = action.reward if action.pays is None else numbers(action.pays)
            largest = max(largest, float(np.max(np.abs(paid), initial=0.0)))
    return largest if count <= MOST_MENUS else np.inf


def cut_off_worth(problem: POMDP, share: float, cap: int, *, bonus: float = 0.0) -> float:
    """What the `share` of cases that is cut off after `cap` steps could still add to, or take from, the discounted
    reward; NaN where that has no bound. bonus: the most that an action may be worth beside what it pays."""
    if share <= 0:
        return 0.0
    discount, steps = problem.discount, np.inf
    if isinstance(problem.start, Left):  # and after the horizon what ends it
        steps = max(problem.start.actions + has_commits(problem) - cap, 0)
    times, most = steps if discount == 1 else (1 - discount**steps) / (1 - discount), largest_payment(problem) + bonus
    worth = share * discount ** problem.time_taken(cap) * most * times if times and most else 0.0
    return float(worth) if np.isfinite(worth) else float("nan")
