"""Additive criteria: what adds up over an episode, as a number per act of an occupancy layer.

The expected sum of a criterion is `sum(layer.act_mass @ criterion(layer) for layer in occupancy)`. A case is judged by
the world's belief, not by the agent's.

Shapes: m acts of a layer or of episodes, S hidden states, O outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from rhoplan.evaluation.occupancy import Layer
from rhoplan.graph.action_table import ActionTable, TerminalActions
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.pomdp import Array, Ids
from rhoplan.model.records import EventCount

Criterion: TypeAlias = Callable[[Layer], Array]


def reward(layer: Layer) -> Array:
    """Expected reward (m,)."""
    return layer.world_arcs.reward


def information(layer: Layer) -> Array:
    """Expected information (m,), in nats, under the agent's beliefs."""
    return layer.arcs.information


def steps(layer: Layer) -> Array:
    """1 for every act (m,)."""
    return np.ones(len(layer.case))


def success(layer: Layer) -> Array:
    """Probability (m,) that the act is a terminal action that is a best one for the true state."""
    world, arcs, result = layer.world, layer.world_arcs, np.zeros(len(layer.case))
    for terminals, place, mine in terminal_groups(world.table, arcs.action[layer.stops]):
        acts = layer.stops[mine]
        result[acts] = world.beliefs(arcs.node[acts], terminals.actions[place].factor) @ terminals.optimal[place]
    return result


def terminal_groups(table: ActionTable, actions: Ids) -> Iterator[tuple[TerminalActions, int, Ids]]:
    """Groups of terminal actions (m,) that are alike: the record of their observable state, place, positions."""
    observable = np.searchsorted(table.first[: len(table.observables)], actions, side="right") - 1
    most = max((len(one.actions) for one in table.terminal_sets), default=1)
    codes = table.terminals[observable] * most + actions - table.first[observable]
    for code in np.unique(codes).tolist():
        yield table.terminal_sets[code // most], code % most, np.flatnonzero(codes == code)


def discounted(criterion: Criterion, world: BeliefGraph) -> Criterion:
    """`criterion` with the world's discount. An initial observation takes no time."""
    problem = world.problem
    return lambda layer: float(problem.discount ** problem.time_taken(layer.step)) * criterion(layer)


class Counted:
    """How often `tally` counts: by actions, hidden states and outcomes. Called with a layer, expected numbers (m,)."""

    def __init__(self, tally: EventCount, world: BeliefGraph) -> None:
        self._tally, self._world = tally, world
        self._counts: dict[int, Array] = {}

    def __call__(self, layer: Layer) -> Array:
        world, arcs, result = self._world, layer.world_arcs, np.zeros(len(layer.case))
        for number, mine, counts in self._by_action(arcs.action):
            action = world.table.actions[number]
            expected = (counts * action.likelihood).sum(axis=1)
            result[mine] = world.beliefs(arcs.node[mine], action.factor) @ expected
        return result

    def realised(self, actions: Ids, states: Ids, outcomes: Ids) -> Array:
        """The numbers (m,) for actions (m,) with known hidden states before them and outcomes."""
        result = np.zeros(len(actions))
        for _, mine, counts in self._by_action(actions):
            result[mine] = counts[states[mine], outcomes[mine]]
        return result

    def _by_action(self, actions: Ids) -> Iterator[tuple[int, Ids, Array]]:
        """The distinct actions that count, each with its positions in `actions` (m,) and its counts (S, O)."""
        for number in np.unique(actions).tolist():
            if number not in self._counts:
                action = self._world.table.actions[number]
                self._counts[number] = self._tally.indicator(action, self._world.problem.factors[action.factor].states)
            if self._counts[number].any():
                yield number, np.flatnonzero(actions == number), self._counts[number]
