"""What follows from the menus that can be met from the start on."""

from __future__ import annotations

import numpy as np

from rhoplan.model.limited import Left, without_horizon
from rhoplan.model.limits import MOST_MENUS
from rhoplan.model.problem import END, Problem
from rhoplan.model.transitions import numbers


def is_endless(problem: Problem) -> bool:
    """Whether no action within reach (MOST_MENUS) can end an episode."""
    return not any(END in action.leads_to for _, actions in problem.menus() for action in actions)


def has_commits(problem: Problem) -> bool:
    """Whether some action within reach (MOST_MENUS) ends the episode whatever its outcome, horizons aside."""
    return any(action.ends_episode for _, actions in without_horizon(problem).menus() for action in actions)


def largest_payment(problem: Problem) -> float:
    """The largest that one action can pay or cost; infinite where there are too many menus to look at them all."""
    largest, count = 0.0, 0
    for _, actions in problem.menus(MOST_MENUS + 1):
        count += 1
        for action in actions:
            paid = action.reward if action.pays is None else numbers(action.pays)
            largest = max(largest, float(np.max(np.abs(paid), initial=0.0)))
    return largest if count <= MOST_MENUS else np.inf


def cut_off_worth(problem: Problem, share: float, cap: int, *, bonus: float = 0.0) -> float:
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
