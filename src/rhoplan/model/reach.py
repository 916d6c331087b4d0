"""What can be met from the start on: visible states with their menus, and what follows from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from rhoplan.model.limited import without_horizon
from rhoplan.model.problem import END, Action, Problem, Visible
from rhoplan.model.sparse import numbers

MOST_MENUS = 300
"""Menus that are looked at, the nearest to the start first."""


def menus(problem: Problem, most: int = MOST_MENUS) -> Iterator[tuple[Visible, tuple[Action, ...]]]:
    """Visible states with their menus, the nearest to the start first. All menus of a flat problem are made of one."""
    everything: tuple[Action, ...] | None = getattr(problem.menu, "everything", None)
    if everything is not None:
        yield problem.start, everything
        return
    seen: set[Visible] = {problem.start}
    waiting = deque(seen)
    for _ in range(most):
        if not waiting:
            return
        visible = waiting.popleft()
        actions = problem.menu(visible)
        yield visible, actions
        for following in (after for action in actions for after in action.leads_to):
            if following is not END and following not in seen:
                seen.add(following)
                waiting.append(following)


def is_endless(problem: Problem) -> bool:
    """Whether no action within reach (MOST_MENUS) can end an episode."""
    return not any(END in action.leads_to for _, actions in menus(problem) for action in actions)


def has_commits(problem: Problem) -> bool:
    """Whether some action within reach (MOST_MENUS) ends the episode whatever its outcome, horizons aside."""
    return any(action.ends_episode for _, actions in menus(without_horizon(problem)) for action in actions)


def largest_payment(problem: Problem) -> float:
    """The largest that one action can pay or cost; infinite where there are too many menus to look at them all."""
    largest, count = 0.0, 0
    for _, actions in menus(problem, MOST_MENUS + 1):
        count += 1
        for action in actions:
            paid = action.reward if action.pays is None else numbers(action.pays)
            largest = max(largest, float(np.max(np.abs(paid), initial=0.0)))
    return largest if count <= MOST_MENUS else np.inf


def cut_off_worth(problem: Problem, share: float, cap: int) -> float:
    """What the `share` of cases that is cut off after `cap` steps could still add to, or take from, the discounted
    reward; NaN where that has no bound."""
    if share <= 0:
        return 0.0
    if problem.discount == 1:
        return float("nan")
    worth = share * problem.discount**cap * largest_payment(problem) / (1 - problem.discount)
    return worth if np.isfinite(worth) else float("nan")
