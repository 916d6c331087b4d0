"""Whether a problem keeps the rules: every prior, every action of every menu that can be reached, within a limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.model.problem import END, ROW_SUM_TOLERANCE, Action, Array, Problem, Visible

MOST_MENUS = 300
"""Menus that are looked at, the nearest to the start first."""


def check_problem(problem: Problem, *, most: int = MOST_MENUS) -> None:
    """Raise ProblemError unless priors, likelihoods, rewards, transitions and names of `problem` are sound.

    Menus are looked at outwards from the start, `most` of them: where there are more, a fault far away is not found.
    """
    if not problem.factors:
        raise ProblemError(f"'{problem.name}' must have at least one hidden factor")
    for factor in problem.factors:
        _check_names(f"states of '{problem.name}'", factor.states)
        if not factor.states:
            raise ProblemError(f"'{problem.name}' must have at least one state")
        _check_distribution(f"prior of '{problem.name}'", factor.prior, len(factor.states))
    for visible, actions in _menus(problem, most):
        where = "" if visible == problem.start else f" in visible state {visible!r}"
        _check_names(f"actions of '{problem.name}'{where}", tuple(action.name for action in actions))
        for action in actions:
            _check_action(problem, action, where)


def _menus(problem: Problem, most: int) -> Iterator[tuple[Visible, tuple[Action, ...]]]:
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


def _check_action(problem: Problem, action: Action, where: str) -> None:
    if not 0 <= action.factor < len(problem.factors):
        count = len(problem.factors)
        raise ProblemError(
            f"'{action.name}'{where} must concern one of the {count} factors (numbered from 0); it says {action.factor}"
        )
    if len(action.leads_to) != len(action.outcomes):
        raise ProblemError(
            f"'{action.name}'{where} must lead to one visible state per outcome; it has {len(action.outcomes)} "
            f"outcomes and leads to {len(action.leads_to)}"
        )
    states = problem.factors[action.factor].states
    label = f"{action.kind} '{action.name}'{where}"
    if action.reward.shape != (len(states),) or not np.all(np.abs(action.reward) <= LARGEST_REWARD):
        raise ProblemError(
            f"reward of {label} must be one number per state ({len(states)} of them), at most {LARGEST_REWARD:g} large"
        )
    if problem.is_flat and action.kind != "commit" and action.reward[0] > 0:
        raise ProblemError(f"cost of {label} must not be negative; it is {-action.reward[0]:g}")
    _check_names(f"outcomes of {label}", action.outcomes)
    if action.likelihood.shape != (len(states), len(action.outcomes)) or not action.outcomes:
        raise ProblemError(f"likelihood of {label} must have {len(states)} rows and one column per outcome")
    sound = np.isfinite(action.likelihood).all(axis=1) & (action.likelihood >= 0).all(axis=1)
    sound &= np.abs(action.likelihood.sum(axis=1) - 1) <= ROW_SUM_TOLERANCE
    for place in np.flatnonzero(~sound)[:1]:
        _check_distribution(
            f"likelihood row '{states[place]}' of {label}", action.likelihood[place], len(action.outcomes)
        )
    if action.transition is not None:
        square = (len(states), len(states))
        if action.transition.shape not in (square, (len(action.outcomes), *square)):
            shape = " x ".join(map(str, action.transition.shape))
            raise ProblemError(
                f"transition of {label} must have a row and a column per state ({len(states)}), for all outcomes or "
                f"for each; it is {shape}"
            )
        rows = action.transition.reshape(-1, len(states))
        if not np.all(rows >= 0) or not np.allclose(rows.sum(axis=1), 1, atol=ROW_SUM_TOLERANCE, rtol=0):
            raise ProblemError(f"transition of {label} must have rows that sum to 1")


def _check_names(what: str, names: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not name or not name.strip():
            raise ProblemError(f"{what} must have names; number {position + 1} is empty")
        if name in seen:
            raise ProblemError(f"{what} must have different names; '{name}' stands there twice")
        seen.add(name)


def _check_distribution(what: str, row: Array, length: int) -> None:
    if row.shape != (length,):
        raise ProblemError(f"{what} must have {length} numbers; it has {row.size}")
    if not np.all(np.isfinite(row)):
        raise ProblemError(f"{what} must be finite numbers")
    if np.any(row < 0) or np.any(row > 1 + ROW_SUM_TOLERANCE):
        bad = float(row[(row < 0) | (row > 1)][0])
        raise ProblemError(f"{what} must hold probabilities between 0 and 1; it has {bad:g}")
    if abs(float(row.sum()) - 1) > ROW_SUM_TOLERANCE:
        raise ProblemError(f"{what} must sum to 1; it sums to {float(row.sum()):.10g}")
