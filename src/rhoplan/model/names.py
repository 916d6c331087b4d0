"""The names of states, actions and observations of a problem, and its short description."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rhoplan.errors import LimitError, ProblemError

if TYPE_CHECKING:
    from rhoplan.model.pomdp import POMDP

MOST_MENUS_LISTED = 100_000
"""Observable states that are visited to list names."""


def short_repr(problem: POMDP) -> str:
    """Name and number of hidden states, for one line."""
    sizes = " x ".join(str(len(factor.states)) for factor in problem.factors)
    return f"Problem({problem.name!r}, {sizes} hidden states)"


def state_names(problem: POMDP) -> tuple[str, ...]:
    """Names of the states of the hidden factor; ProblemError if there are several factors."""
    if len(problem.factors) > 1:
        raise ProblemError(
            f"states needs one hidden factor, and '{problem.name}' has several; write "
            "{factor.name: factor.states for factor in problem.factors}",
            field=("factors",),
        )
    return problem.factors[0].states


def action_and_observation_names(problem: POMDP) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of all actions, and of all observations of actions that do not end the episode, each once.

    Visits every observable state, from the initial one on.
    """
    actions: dict[str, None] = {}
    observations: dict[str, None] = {}
    for seen, (_, menu) in enumerate(problem.menus(MOST_MENUS_LISTED + 1)):
        if seen == MOST_MENUS_LISTED:
            raise LimitError(
                f"names can be listed for at most {MOST_MENUS_LISTED:,} observable states, and '{problem.name}' has "
                "more; belief.actions has those of one"
            )
        actions |= dict.fromkeys(action.name for action in menu)
        observations |= dict.fromkeys(name for action in menu if not action.ends_episode for name in action.outcomes)
    return tuple(actions), tuple(observations)
