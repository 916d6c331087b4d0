"""A true model (the *world*) that differs from the agent's: what must agree, and the world in the agent's names.

Prior, likelihoods, rewards and transitions may differ. The hidden factors with their states must agree and, in every
observable state that occurs, the world must have the agent's actions, whose observations lead to the same observable
states. The world may offer more actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rhoplan.belief_math.transitions import is_by_outcome, permuted
from rhoplan.errors import require
from rhoplan.model.records import Action, CachedMenu, Ids, Observable

if TYPE_CHECKING:
    from rhoplan.model.pomdp import POMDP


def in_names_of(problem: POMDP, world: POMDP) -> POMDP:
    """`world` with the states, actions and observations of `problem` in their order.

    ProblemError if the world lacks one of them; menus are compared when they are first used.
    """
    check_world(problem, world)
    pairs = list(zip(problem.factors, world.factors, strict=True))
    orders = tuple(np.array([other.states.index(state) for state in mine.states]) for mine, other in pairs)
    factors = tuple(replace(mine, prior=other.prior[order]) for (mine, other), order in zip(pairs, orders, strict=True))
    menu = TranslatedMenu(problem, world, orders)
    return replace(world, factors=factors, start=problem.start, menu=menu, leaf=None)


@dataclass(frozen=True, eq=False)
class TranslatedMenu(CachedMenu):
    """The world's numbers for the agent's actions. orders: the world's position of each of the agent's states."""

    problem: POMDP
    world: POMDP
    orders: tuple[Ids, ...]

    def build(self, observable: Any) -> tuple[Action, ...]:
        check_menu(self.problem, self.world, observable)
        # The agent's rules say which tests are available; the world says what they cost and yield.
        offered = self.world.menu if self.world.listed is None else self.world.listed.whatever
        theirs = {action.name: action for action in offered(observable)}
        return tuple(self._translated(action, theirs[action.name]) for action in self.problem.menu(observable))

    def _translated(self, mine: Action, other: Action) -> Action:
        order = self.orders[mine.factor]
        columns = np.array([other.outcomes.index(outcome) for outcome in mine.outcomes])
        change, pays = other.transition, other.pays
        change = None if change is None else permuted(change, columns, order)
        if pays is not None:
            pays = pays[order][:, columns] if is_by_outcome(pays) else permuted(pays, columns, order)
        likelihood = other.likelihood[order][:, columns]
        return replace(mine, reward=other.reward[order], likelihood=likelihood, transition=change, pays=pays)


def check_world(problem: POMDP, world: POMDP) -> None:
    """Raise ProblemError unless an agent whose model is `problem` can begin in `world`; see `check_menu`, too."""
    mine, theirs = problem.listed, world.listed
    label = f"world '{world.name}'"
    kinds = ("an observe-then-commit problem", "a problem with observable states of its own")
    wanted, found = kinds if theirs is None else kinds[::-1]
    _require((mine is None) == (theirs is None), f"{label} must be {wanted} like '{problem.name}'; it is {found}")
    names = [factor.name for factor in problem.factors]
    same = names == [factor.name for factor in world.factors]
    _require(same, f"{label} must have the hidden factors of '{problem.name}': {_some(names)}")
    for factor, other in zip(problem.factors, world.factors, strict=True):
        which = "" if len(names) == 1 else f" for {factor.name}"
        same = sorted(factor.states) == sorted(other.states)
        _require(same, f"{label} must have the states of '{problem.name}'{which}: {_some(factor.states)}")
    if mine is None or theirs is None:
        start = f"start where '{problem.name}' does, in {problem.start!r}; it starts in {world.start!r}"
        _require(problem.start == world.start, f"{label} must {start}")
        check_menu(problem, world, problem.start)
        return
    _check_actions(world, mine.everything, theirs.everything)
    _require(mine.rules == theirs.rules, f"{label} must have the rules of '{problem.name}' on groups, orders and caps")
    once = {test.name for test in theirs.tests if not test.repeatable}
    for test in mine.tests:
        sound = not (test.repeatable and test.name in once)
        _require(sound, f"{label} lets test '{test.name}' run once; '{problem.name}' repeats it")


def check_menu(problem: POMDP, world: POMDP, observable: Observable) -> None:
    """Raise ProblemError unless `world` has the actions of `problem` in `observable`, leading to the same places.

    For diagnostic problems `check_world` compares all actions at once.
    """
    if problem.listed is not None:
        return
    where = f" in observable state {observable!r}"
    theirs = {action.name: action for action in world.menu(observable)}
    _check_actions(world, problem.menu(observable), theirs.values(), where)
    for action in problem.menu(observable):
        other = theirs[action.name]
        label = f"'{action.name}' of world '{world.name}'{where}"
        factor = problem.factors[action.factor].name
        _require(other.factor == action.factor, f"{label} must be about {factor}, as in '{problem.name}'")
        mine, its = (dict(zip(one.outcomes, one.leads_to, strict=True)) for one in (action, other))
        _require(mine == its, f"{label} must lead where it leads in '{problem.name}': only what is hidden may differ")


def _check_actions(world: POMDP, mine: Iterable[Action], theirs: Iterable[Action], where: str = "") -> None:
    known = {action.name: sorted(action.outcomes) for action in theirs}
    for action in mine:
        outcomes = f" with outcomes {_some(action.outcomes)}" if action.kind == "test" else ""
        same = known.get(action.name) == sorted(action.outcomes)
        _require(same, f"world '{world.name}' must have {action.kind} '{action.name}'{outcomes}{where}")


def _require(condition: bool, message: str) -> None:
    require(condition, message, ("world",), code="world-mismatch")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
