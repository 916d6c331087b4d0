"""A problem with a horizon: the observable state also counts the actions that are left.

After the last action a terminal action must be taken if there is one; else the episode is over and nothing more is
paid. The information of the last observation counts. The result is an ordinary problem: the certified solver finds the
best policy of that length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rhoplan.belief_math.transitions import numbers
from rhoplan.errors import ProblemError
from rhoplan.model.limits import MOST_MENUS
from rhoplan.model.records import END, Action, CachedMenu, Menu, Observable

if TYPE_CHECKING:
    from rhoplan.model.pomdp import POMDP


class Left(NamedTuple):
    """An observable state with the number of actions left."""

    actions: int
    observable: Observable


def with_horizon(problem: POMDP, actions: int) -> POMDP:
    """`problem` with so many actions, and then a terminal action if there is one. An initial observation is free.

    The leaf is left out, because it does not know the number of actions left.
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
    """The number of actions of `with_horizon`; None for other problems."""
    return problem.start.actions - problem.looks_first if isinstance(problem.start, Left) else None


def without_horizon(problem: POMDP) -> POMDP:
    """The problem that `with_horizon` limited, without its leaf and cap; other problems as they are."""
    if not (isinstance(problem.start, Left) and isinstance(problem.menu, LimitedMenu)):
        return problem
    return replace(problem, start=problem.start.observable, menu=problem.menu.menu)


@dataclass(frozen=True, eq=False)
class LimitedMenu(CachedMenu):
    """The menu of a problem with a horizon: only terminal actions when no action is left."""

    menu: Menu

    def build(self, observable: Left) -> tuple[Action, ...]:
        if not observable.actions:
            return self._terminal(observable.observable)
        return tuple(self._limited(action, observable.actions - 1) for action in self.menu(observable.observable))

    def _limited(self, action: Action, left: int) -> Action:
        """`action`, after which so many are left."""
        leads_to = tuple(self._after(left, place) for place in action.leads_to)
        return replace(action, leads_to=leads_to, is_last=not action.ends_episode and set(leads_to) == {END})

    def _terminal(self, place: Observable) -> tuple[Action, ...]:
        return tuple(action for action in self.menu(place) if action.ends_episode)

    def _after(self, left: int, place: Observable) -> Observable:
        return END if place is END or not (left or self._terminal(place)) else Left(left, place)


def is_endless(problem: POMDP) -> bool:
    """Whether no action that can be reached (within MOST_MENUS) can end an episode."""
    return not any(END in action.leads_to for _, actions in problem.menus() for action in actions)


def has_commits(problem: POMDP) -> bool:
    """Whether a terminal action can be reached (within MOST_MENUS); a horizon does not count as one."""
    return any(action.ends_episode for _, actions in without_horizon(problem).menus() for action in actions)


def largest_payment(problem: POMDP) -> float:
    """The largest absolute reward of one action; infinite with more than MOST_MENUS observable states."""
    largest = 0.0
    for count, (_, actions) in enumerate(problem.menus(MOST_MENUS + 1)):
        if count == MOST_MENUS:
            return np.inf
        for action in actions:
            paid = action.reward if action.pays is None else numbers(action.pays)
            largest = max(largest, float(np.max(np.abs(paid), initial=0.0)))
    return largest


def cut_off_worth(problem: POMDP, share: float, cap: int, *, bonus: float = 0.0) -> float:
    """Bound of the discounted reward after step `cap` in the `share` of episodes that is truncated there.

    NaN if there is no bound. bonus: the most that one action may be worth besides its reward.
    """
    if share <= 0:
        return 0.0
    discount, steps = problem.discount, np.inf
    if isinstance(problem.start, Left):  # one more step for the terminal action
        steps = max(problem.start.actions + has_commits(problem) - cap, 0)
    times, most = steps if discount == 1 else (1 - discount**steps) / (1 - discount), largest_payment(problem) + bonus
    worth = share * discount ** problem.time_taken(cap) * most * times if times and most else 0.0
    return float(worth) if np.isfinite(worth) else float("nan")
