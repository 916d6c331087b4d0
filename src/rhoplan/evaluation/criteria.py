"""Additive criteria beside rewards: success and tallies, expected at beliefs or realised in hidden states.

The expected sum over an episode is a sum over occupancy layers. A case is judged by the world's belief, not by the
agent's.

Shapes: m acts of a layer or of episodes, S hidden states, O outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rhoplan.graph.action_table import ActionTable
from rhoplan.graph.belief_graph import Arcs, BeliefGraph
from rhoplan.model.pomdp import Action, Array, Ids
from rhoplan.model.records import EventCount


def expected_success(world: BeliefGraph, nodes: Ids, actions: Ids) -> Array:
    """Probability (m,) that terminal actions (m,) at `nodes` (m,) of `world` are best ones for the true state."""
    result = np.zeros(len(nodes))
    for action, optimal, mine in optimal_states(world.table, actions):
        result[mine] = world.beliefs(nodes[mine], action.factor) @ optimal
    return result


def optimal_states(table: ActionTable, actions: Ids) -> Iterator[tuple[Action, Array, Ids]]:
    """Groups of terminal actions (m,) that are alike: one of them, 1 in the states (S,) where it is a best one and 0
    elsewhere, and the positions of the group."""
    observable = np.searchsorted(table.first[: len(table.observables)], actions, side="right") - 1
    most = max((len(one.actions) for one in table.terminal_sets), default=1)
    codes = table.terminals[observable] * most + actions - table.first[observable]
    for code in np.unique(codes).tolist():
        terminals, place = table.terminal_sets[code // most], code % most
        yield terminals.actions[place], terminals.optimal[place], np.flatnonzero(codes == code)


class Counted:
    """The number of events that `tally` counts in a world, expected or in given episodes."""

    def __init__(self, tally: EventCount, world: BeliefGraph) -> None:
        self._tally, self._world = tally, world
        self._counts: dict[int, Array] = {}

    def expected(self, arcs: Arcs) -> Array:
        """The expected numbers (m,) for arcs of the world's graph."""
        world, result = self._world, np.zeros(len(arcs.node))
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
