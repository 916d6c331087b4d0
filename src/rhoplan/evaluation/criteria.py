"""Additive criteria: what adds up over an episode, as a number per act of an occupancy layer.

The expected sum of a criterion is `sum(layer.act_mass @ criterion(layer) for layer in occupancy)`. A case is judged by
the world's belief, not by the agent's.

Shapes: m acts of a layer, S hidden states, O outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from rhoplan.evaluation.occupancy import Layer
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.pomdp import Array
from rhoplan.model.tally import Tally

Criterion: TypeAlias = Callable[[Layer], Array]


def reward(layer: Layer) -> Array:
    """Expected reward (m,)."""
    return layer.world_arcs.reward


def spend(layer: Layer) -> Array:
    """Expected cost (m,) of actions that are not terminal."""
    return np.where(layer.arcs.is_terminal, 0.0, -layer.world_arcs.reward)


def tests(layer: Layer) -> Array:
    """1 for tests, else 0 (m,)."""
    return (layer.tests_after - layer.tests[layer.case]).astype(float)


def information(layer: Layer) -> Array:
    """Expected information (m,), in nats, under the agent's beliefs."""
    return layer.arcs.information


def success(layer: Layer) -> Array:
    """Probability (m,) that the act is a terminal action that is a best one for the true state."""
    world, arcs, result = layer.world, layer.world_arcs, np.zeros(len(layer.case))
    table = world.table
    sets = table.terminals[world.observable[arcs.node[layer.stops]]]
    most = max((len(one.actions) for one in table.terminal_sets), default=1)
    codes = sets * most + arcs.place[layer.stops]
    for code in np.unique(codes).tolist():
        terminals, place = table.terminal_sets[code // most], code % most
        mine = layer.stops[codes == code]
        result[mine] = world.beliefs(arcs.node[mine], terminals.actions[place].factor) @ terminals.optimal[place]
    return result


def discounted(criterion: Criterion, world: BeliefGraph) -> Criterion:
    """`criterion` with the world's discount. An initial observation takes no time."""
    problem = world.problem
    return lambda layer: float(problem.discount ** problem.time_taken(layer.step)) * criterion(layer)


class Counted:
    """Expected number of events that `tally` counts: actions, hidden states and outcomes. Missed cases are a tally."""

    def __init__(self, tally: Tally, world: BeliefGraph) -> None:
        self._tally, self._world = tally, world
        self._rows: list[Array | None] = []

    def __call__(self, layer: Layer) -> Array:
        world, arcs, result = self._world, layer.world_arcs, np.zeros(len(layer.case))
        for number in np.unique(arcs.action).tolist():
            row = self._row(number)
            if row is not None:
                mine = np.flatnonzero(arcs.action == number)
                result[mine] = world.beliefs(arcs.node[mine], world.table.actions[number].factor) @ row
        return result

    def _row(self, number: int) -> Array | None:
        """What taking an action counts for in each state (S,); None if that is nothing."""
        while len(self._rows) <= number:
            action = self._world.table.actions[len(self._rows)]
            counts = self._tally.counts(action, self._world.problem.factors[action.factor].states)
            row = (counts * action.likelihood).sum(axis=1)
            self._rows.append(row if row.any() else None)
        return self._rows[number]
