"""The true model as an environment: hidden states of a batch of episodes, and what actions do in them.

Simulation steps batches of episodes; `rhoplan.episode` and Gymnasium step one. An action draws its observation from the
hidden state, then the hidden state after it (`belief_math.sampling` has the rules), and pays.

If the true model (the *world*) differs from the agent's, both number states and observations in their own order;
`WorldActions` connects them by name.

Shapes: k episodes that take an action, F hidden factors, S hidden states, O observations, T tallies.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from rhoplan.belief_math.sampling import RowSampler
from rhoplan.belief_math.transitions import has_observation_axis, paid
from rhoplan.graph.action_table import ActionTable
from rhoplan.graph.row_index import grown
from rhoplan.model.diagnostic import best_commits
from rhoplan.model.pomdp import POMDP, Action, Array, Ids
from rhoplan.model.worlds import counterparts

Uniforms: TypeAlias = Callable[[Ids], Array]
"""The next uniform random number (k,) of each of some episodes (k,)."""


class Taken(NamedTuple):
    """What an action did: hidden states before it, observations in the world's numbering, rewards; each (k,)."""

    before: Ids
    observation: Ids
    reward: Array


class Environment:
    """Episodes of `world`. states (n, F): their hidden states. uniforms: their random numbers."""

    def __init__(self, world: POMDP, states: Ids, uniforms: Uniforms) -> None:
        self.world, self.states, self._uniforms = world, states, uniforms
        self._samplers: dict[Action, tuple[RowSampler, RowSampler | None]] = {}

    def take(self, action: Action, episodes: Ids) -> Taken:
        """Take `action` in `episodes` (k,), which are distinct."""
        if action not in self._samplers:
            change = action.transition
            self._samplers[action] = RowSampler(action.likelihood), None if change is None else RowSampler(change)
        observing, moving = self._samplers[action]
        before = self.states[episodes, action.factor]
        observation = observing.draw(before, lambda some: self._uniforms(episodes[some]))
        after = before
        if moving is not None and action.transition is not None:
            row = before
            if has_observation_axis(action.transition):
                row = observation * len(action.reward) + before
            after = moving.draw(row, lambda some: self._uniforms(episodes[some]))
            self.states[episodes, action.factor] = after
        reward = action.reward[before] if action.pays is None else paid(action.pays, observation, before, after)
        return Taken(before, observation, reward)


@dataclass(frozen=True, eq=False)
class WorldAction:
    """An action that an agent takes, as the world has it.

    places (O,): the agent's number of each of the world's observations. optimal (S,): for a terminal action, 1 in
    states where no other one pays more. counts (T, S, O): what is tallied.
    """

    action: Action
    places: Ids
    optimal: Array | None
    counts: Array

    @cached_property
    def worst(self) -> tuple[Array, Array] | None:
        """The least reward in each state (S,), and its probability (S,); None if the reward is always the same."""
        payments = self.action.pays_by_chance
        if payments is not None:
            return payments.worst, payments.worst_chance
        reward = self.action.reward
        return (reward, np.ones_like(reward)) if self.action.ends_episode or np.ptp(reward) > 0 else None


class WorldActions:
    """The world's counterparts of the actions in `table`, which are those of `problem`, the agent's model.

    Actions that do the same are one counterpart, so that a batch of episodes takes few distinct actions.
    """

    def __init__(self, problem: POMDP, table: ActionTable, world: POMDP) -> None:
        self._problem, self._table, self._world = problem, table, world
        self._known: list[WorldAction] = []
        self._keys: dict[Hashable, int] = {}
        self._number = np.empty(0, dtype=np.int64)  # of each action of the table; -1 if it was not taken yet

    def groups(self, actions: Ids) -> Iterator[tuple[WorldAction, Ids]]:
        """The distinct counterparts of `actions` (k,), each with the positions that take it."""
        used, size = len(self._number), len(self._table.actions)
        if used < size:
            self._number = grown(self._number, used, size)
            self._number[used:] = -1
        for action in np.unique(actions[self._number[actions] < 0]).tolist():
            self._number[action] = self._add(action)
        numbers = self._number[actions]
        for number in np.unique(numbers).tolist():
            yield self._known[number], np.flatnonzero(numbers == number)

    def _add(self, number: int) -> int:
        table, world, mine = self._table, self._world, self._table.actions[number]
        observable = int(np.searchsorted(table.first[: len(table.observables)], number, side="right")) - 1
        key: Hashable = number
        if world is self._problem and not world.tallies:  # tallies and other worlds depend on names
            terminals = int(table.terminals[observable]) if mine.ends_episode else -1
            place = number - int(table.first[observable]) if mine.ends_episode else 0
            key = int(table.kernel[number]), int(table.factor[number]), terminals, place
        if key in self._keys:
            return self._keys[key]
        there = counterparts(self._problem, world, table.observables[observable])
        theirs = there[mine.name]
        optimal = None
        if mine.ends_episode:
            names = table.names(observable)[: int(table.terminal_count[observable])]
            rivals = [name for name in names if there[name].factor == theirs.factor]
            optimal = best_commits(np.stack([there[name].reward for name in rivals]))[rivals.index(mine.name)]
        states = world.factors[theirs.factor].states
        shape = (len(world.tallies), len(states), len(theirs.outcomes))
        counts = np.array([tally.counts(theirs, states) for tally in world.tallies.values()]).reshape(shape)
        places = np.array([mine.outcomes.index(outcome) for outcome in theirs.outcomes])
        self._known.append(WorldAction(theirs, places, optimal, counts))
        self._keys[key] = len(self._known) - 1
        return self._keys[key]
