"""The world in which a plan is followed: the agent's own model, or another problem whose names agree with it.

Another world is followed by a graph of its own. A case has a node there too, whose belief is what the world, told the
same results, would believe; so chances and rewards are expectations under that belief. `in_names_of` writes the world
down in the agent's names and order first: then an action's slot, an outcome's number and a state's place are the same
on both sides.

An agent can act in another world where that offers what the model names. The numbers may differ: prior, likelihoods,
costs, rewards, how the hidden state changes. What has a name must be there: the hidden factors with their states and,
in every visible state that is met, the actions of the model with their outcomes, which lead where the model says. The
world may offer more actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.graph.graph import Graph
from rhoplan.model.pomdp import Action, Array, CachedMenu, Ids, Problem, Visible
from rhoplan.model.transitions import is_by_outcome, permuted


@dataclass(frozen=True, eq=False)
class Ending:
    """Ending actions about one factor: the acts (k,) that they are, the belief (k, S) about the factor, what they pay
    (k, S) in each state, and whether (k, S) they are a best one for it among those on the menu."""

    factor: int
    place: Ids
    belief: Array
    rewards: Array
    right: Array

    @property
    def mean(self) -> Array:
        """What they pay on average (k,)."""
        result: Array = (self.belief * self.rewards).sum(axis=1)
        return result


class World:
    """The agent's model, on its graph; or, where `problem` is given, that problem on a graph of its own.

    Shapes: m acts of cases at `node` (m,) of the agent's graph and `truth` (m,) of the world's.
    """

    def __init__(self, agent_graph: Graph, problem: Problem | None = None) -> None:
        self.is_model = problem is None
        self.graph = agent_graph if problem is None else Graph(in_names_of(agent_graph.problem, problem))

    @property
    def problem(self) -> Problem:
        return self.graph.problem

    def start(self, node: Ids) -> Ids:
        """The world's nodes (n,) of cases that begin at `node` (n,): the start, where the world is another."""
        return node if self.is_model else np.full(len(node), self.graph.root)

    def outcomes(self, truth: Ids, slot: Ids) -> tuple[Array, Ids]:
        """Probability (m, O) of each outcome of the actions taken, and the world's node (m, O) after it."""
        self._expand(truth, slot)
        return self.graph.probability[truth, slot], self.graph.next[truth, slot].astype(np.int64)

    def going_rewards(self, truth: Ids, slot: Ids) -> Array:
        """Expected reward (m,) of actions that go on."""
        self._expand(truth, slot)
        return self.graph.reward[truth, slot]

    def endings(self, truth: Ids, ending: Ids) -> list[Ending]:
        """What ending actions (m,) bring, those about one factor together."""
        found = []
        for visible, places in self.graph.by_endings(truth) if len(truth) else ():
            menu = self.graph.menus[visible]
            for (factor, columns, rewards), right in zip(menu.ending_rewards, menu.right, strict=True):
                chosen, number = places, ending[places]
                if len(columns) < len(menu.ending):
                    place = np.minimum(np.searchsorted(columns, number), len(columns) - 1)
                    inside = columns[place] == number
                    chosen, number = places[inside], place[inside]
                if chosen.size:
                    beliefs = self.graph.beliefs(truth[chosen], factor)
                    found.append(Ending(factor, chosen, beliefs, rewards.T[number], right.T[number]))
        return found

    def _expand(self, truth: Ids, slot: Ids) -> None:
        if not self.is_model:
            wanted = np.zeros((len(truth), self.graph.known.shape[1]), dtype=bool)
            wanted[np.arange(len(truth)), slot] = True
            self.graph.expand(truth, wanted)


def in_names_of(problem: Problem, world: Problem) -> Problem:
    """`world` with the names of `problem` in their order: its states, the actions on its menus, their outcomes.

    ProblemError where something that the agent can do or see has no counterpart; menus are compared as they are met.
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

    problem: Problem
    world: Problem
    orders: tuple[Ids, ...]

    def build(self, visible: Any) -> tuple[Action, ...]:
        # Which tests may be run is for the agent's rules to say; the world says what they cost and show.
        offered = getattr(self.world.menu, "whatever", self.world.menu)
        check_menu(self.problem, self.world, visible)
        theirs = {action.name: action for action in offered(visible)}
        return tuple(self._translated(action, theirs[action.name]) for action in self.problem.menu(visible))

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


def check_world(problem: Problem, world: Problem) -> None:
    """Raise ProblemError unless an agent whose model is `problem` can begin in `world`.

    `check_menu` checks what is met later.
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


def check_menu(problem: Problem, world: Problem, visible: Visible) -> None:
    """Raise ProblemError unless `world` offers in `visible` what `problem` offers there, leading to the same places.

    Where tests and commits are listed, `check_world` has looked at everything that any menu can offer.
    """
    if problem.listed is not None:
        return
    where = f" in visible state {visible!r}"
    theirs = {action.name: action for action in world.menu(visible)}
    _check_actions(world, problem.menu(visible), theirs.values(), where)
    for action in problem.menu(visible):
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


def _targets(action: Action) -> dict[str, Visible]:
    return dict(zip(action.outcomes, action.leads_to, strict=True))


def _check_factors(problem: Problem, world: Problem) -> None:
    names = [factor.name for factor in problem.factors]
    if names != [factor.name for factor in world.factors]:
        raise _fault(f"world '{world.name}' must have the hidden factors of '{problem.name}': {_listed(names)}")
    for mine, other in zip(problem.factors, world.factors, strict=True):
        if sorted(mine.states) != sorted(other.states):
            which = "" if len(names) == 1 else f" for {mine.name}"
            raise _fault(
                f"world '{world.name}' must have the states of '{problem.name}'{which}: {_listed(mine.states)}"
            )


def _check_actions(world: Problem, mine: Iterable[Action], theirs: Iterable[Action], where: str = "") -> None:
    known = {action.name: sorted(action.outcomes) for action in theirs}
    for action in mine:
        if known.get(action.name) != sorted(action.outcomes):
            outcomes = f" with outcomes {_listed(action.outcomes)}" if action.kind == "test" else ""
            raise _fault(f"world '{world.name}' must have {action.kind} '{action.name}'{outcomes}{where}")


def _check_rules(problem: Problem, world: Problem) -> None:
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
