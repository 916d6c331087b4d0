"""Utilities of beliefs on the former graph.

Kept for the certified solver, advice and the paper; their rebuild deletes it.
"""

from __future__ import annotations

import math

import numpy as np

from rhoplan._old.graph import Graph
from rhoplan.model.pomdp import Action, Array, Ids
from rhoplan.planning.utility import FunctionUtility, Information, NegativeEntropy, Utility


class GraphUtility:
    """A utility for batches of nodes: of actions that go on, and of actions that end the episode."""

    def __init__(self, utility: Utility) -> None:
        self.utility = utility
        self.rates_endings = not isinstance(utility, Information)

    def going(self, graph: Graph, nodes: Ids) -> Array:
        """Utility (n, M) of each action that goes on, at `nodes`."""
        if isinstance(self.utility, Information):
            return self.utility.weight * graph.information[nodes]
        if isinstance(self.utility, NegativeEntropy):
            return np.repeat(self._entropy(graph, nodes)[:, None], graph.known.shape[1], axis=1)
        values = np.zeros((len(nodes), graph.known.shape[1]))
        for observable, positions in graph.by_visible(nodes):
            menu = graph.menus[observable].going
            values[positions, : len(menu)] = self._columns(graph, nodes[positions], menu)
        return values

    def ending(self, graph: Graph, nodes: Ids, observable: int) -> Array:
        """Utility (n, E) of each ending action at `nodes`, which share a visible state."""
        menu = graph.menus[observable].ending
        if isinstance(self.utility, Information):
            return np.zeros((len(nodes), len(menu)))
        if isinstance(self.utility, NegativeEntropy):
            return np.repeat(self._entropy(graph, nodes)[:, None], len(menu), axis=1)
        return self._columns(graph, nodes, menu)

    def scale(self, graph: Graph, nodes: Ids) -> Array:
        """Largest size (n,) that the utility can reach in all from `nodes` on, for the tie rule."""
        weight = abs(self.utility.weight)
        if isinstance(self.utility, FunctionUtility):
            return np.full(len(nodes), weight * self.utility.scale)
        if graph.gains_by_state is not None:
            held: Array = graph.tables[0].entropy[graph.belief[nodes, 0]]
            return weight * held
        return np.full(len(nodes), weight * sum(math.log(len(factor.states)) for factor in graph.problem.factors))

    def _entropy(self, graph: Graph, nodes: Ids) -> Array:
        total: Array = sum(table.entropy[graph.belief[nodes, factor]] for factor, table in enumerate(graph.tables))
        return -self.utility.weight * total

    def _columns(self, graph: Graph, nodes: Ids, actions: tuple[Action, ...]) -> Array:
        assert isinstance(self.utility, FunctionUtility)
        values = np.empty((len(nodes), len(actions)))
        for column, action in enumerate(actions):
            beliefs = graph.beliefs(nodes, action.factor)
            values[:, column] = self.utility.weight * self.utility.checked(beliefs, action)
        return values
