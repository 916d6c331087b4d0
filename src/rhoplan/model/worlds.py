"""A true model (the *world*) that differs from the agent's: what must agree, and the world in the agent's names.

The numbers may differ: prior, likelihoods, rewards, how the hidden state changes. What the agent's model names must be
there: the hidden factors with their states and, in every observable state that is met, its actions with their
observations, which lead where the model says. The world may offer more actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rhoplan.belief_math.transitions import is_by_outcome, permuted
from rhoplan.errors import ProblemError
from rhoplan.model.pomdp import POMDP, Action, CachedMenu, Ids, Observable


def in_names_of(problem: POMDP, world: POMDP) -> POMDP:
    """`world` with the names of `problem` in their order: its states, the actions on its menus, their observations.

    ProblemError where something that the agent can do or see has no counterpart; menus are compared when they are met.
    """
    check_world(problem, world)
    orders = [
        np.array([other.states.index(state) for state in one.states])
        for one, other in zip(problem.factors, world.factors, strict=True)
    ]
    factors = tuple(
        replace(mine, prior=other.prior[order])
        for mine, other, order in zip(problem.factors, world.factors, orders, strict=True)
    )
    menu = TranslatedMenu(problem, world, tuple(orders))
    return replace(world, factors=factors, start=problem.start, menu=menu, leaf=None)


@dataclass(frozen=True, eq=False)
class TranslatedMenu(CachedMenu):
    """The world's numbers on the agent's menus. orders: where each of the agent's states is among the world's."""

    problem: POMDP
    world: POMDP
    orders: tuple[Ids, ...]

    def build(self, observable: Any) -> tuple[Action, ...]:
        theirs = counterparts(self.problem, self.world, observable)
        return tuple(self._translated(action, theirs[action.name]) for action in self.problem.menu(observable))

    def _translated(self, mine: Action, other: Action) -> Action:
        order = self.orders[mine.factor]
        columns = np.array([other.outcomes.index(outcome) for outcome in mine.outcomes])
        change, pays = other.transition, other.pays
        if change is not None:
            change = permuted(change, columns, order)
        if pays is not None:
            pays = pays[order][:, columns] if is_by_outcome(pays) else permuted(pays, columns, order)
        likelihood = other.likelihood[order][:, columns]
        return replace(mine, reward=other.reward[order], likelihood=likelihood, transition=change, pays=pays)


def counterparts(problem: POMDP, world: POMDP, observable: Observable) -> dict[str, Action]:
    """The world's actions in `visible` by name; ProblemError if one that `problem` offers there is missing."""
    if world is not problem:
        check_menu(problem, world, observable)
    # The agent's rules say which tests are available; the world says what they cost and show.
    offered = world.menu if world is problem else getattr(world.menu, "whatever", world.menu)
    return {action.name: action for action in offered(observable)}


def check_world(problem: POMDP, world: POMDP) -> None:
    """Raise ProblemError unless an agent whose model is `problem` can begin in `world`.

    `check_menu` checks the menus that are met later.
    """
    mine, theirs = problem.listed, world.listed
    if (mine is None) != (theirs is None):
        kinds = ("an observe-then-commit problem", "a problem with visible states of its own")
        wanted, found = kinds if theirs is None else kinds[::-1]
        raise _fault(f"world '{world.name}' must be {wanted} like '{problem.name}'; it is {found}")
    _check_factors(problem, world)
    if mine is not None and theirs is not None:
        _check_actions(world, mine.everything, theirs.everything)
        _check_rules(problem, world)
        return
    if problem.start != world.start:
        raise _fault(
            f"world '{world.name}' must start where '{problem.name}' does, in {problem.start!r}; it starts in "
            f"{world.start!r}"
        )
    check_menu(problem, world, problem.start)


def check_menu(problem: POMDP, world: POMDP, observable: Observable) -> None:
    """Raise ProblemError unless `world` offers in `visible` what `problem` offers there, leading to the same places.

    Where tests and terminal actions are listed, `check_world` has looked at everything that any menu can offer.
    """
    if problem.listed is not None:
        return
    where = f" in visible state {observable!r}"
    theirs = {action.name: action for action in world.menu(observable)}
    _check_actions(world, problem.menu(observable), theirs.values(), where)
    for action in problem.menu(observable):
        other = theirs[action.name]
        if other.factor != action.factor:
            factor = problem.factors[action.factor].name
            raise _fault(
                f"'{action.name}' of world '{world.name}'{where} must be about {factor}, as in '{problem.name}'"
            )
        if _targets(other) != _targets(action):
            raise _fault(
                f"'{action.name}' of world '{world.name}'{where} must lead where it leads in '{problem.name}': only "
                "what is hidden may differ"
            )


def _targets(action: Action) -> dict[str, Observable]:
    return dict(zip(action.outcomes, action.leads_to, strict=True))


def _check_factors(problem: POMDP, world: POMDP) -> None:
    names = [factor.name for factor in problem.factors]
    if names != [factor.name for factor in world.factors]:
        raise _fault(f"world '{world.name}' must have the hidden factors of '{problem.name}': {_listed(names)}")
    for mine, other in zip(problem.factors, world.factors, strict=True):
        if sorted(mine.states) != sorted(other.states):
            which = "" if len(names) == 1 else f" for {mine.name}"
            raise _fault(
                f"world '{world.name}' must have the states of '{problem.name}'{which}: {_listed(mine.states)}"
            )


def _check_actions(world: POMDP, mine: Iterable[Action], theirs: Iterable[Action], where: str = "") -> None:
    known = {action.name: sorted(action.outcomes) for action in theirs}
    for action in mine:
        if known.get(action.name) != sorted(action.outcomes):
            outcomes = f" with outcomes {_listed(action.outcomes)}" if action.kind == "test" else ""
            raise _fault(f"world '{world.name}' must have {action.kind} '{action.name}'{outcomes}{where}")


def _check_rules(problem: POMDP, world: POMDP) -> None:
    """Groups, orders and caps are the same, and what the model repeats can be repeated."""
    if world.flat.rules != problem.flat.rules:
        raise _fault(f"world '{world.name}' must have the rules of '{problem.name}' on groups, orders and caps")
    once = {test.name for test in world.flat.tests if not test.repeatable}
    for test in problem.flat.tests:
        if test.repeatable and test.name in once:
            raise _fault(f"world '{world.name}' lets test '{test.name}' run once; '{problem.name}' repeats it")


def _fault(message: str) -> ProblemError:
    return ProblemError(message, field=("world",), code="world-mismatch")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
