"""The Bellman backup on a belief graph, whole layers of nodes at a time.

    V_0(b) = leaf(b)
    V_d(b) = max_a [ r(b, a) + rho(b, a) + discount * sum_o P(o | b, a) V_{d-1}(b_o) ]

Terminal actions have no continuation (Equations 4 and 5 of the paper, with rho = w * information). Beside each value
goes its absolute return, the expected discounted sum of absolute rewards under the plan: the scale of the tie rule.

Shapes: N nodes of the graph, n nodes of a batch, m arcs of a batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rhoplan.graph.belief_graph import Arcs, BeliefGraph, chunks
from rhoplan.graph.row_index import filled
from rhoplan.graph.ties import first_best
from rhoplan.model.pomdp import Array, Ids, Leaf
from rhoplan.planning.utility import Utility


class BackwardInduction(ABC):
    """Two numbers for nodes of `graph` by depth, computed once per node and depth from those one less deep."""

    def __init__(self, graph: BeliefGraph) -> None:
        self.graph = graph
        self._layers: list[tuple[Array, Array]] = []

    @abstractmethod
    def _compute(self, nodes: Ids, depth: int) -> tuple[Array, Array]:
        """The two numbers (n,) of `nodes`, where those of their children one less deep are known."""

    def compute(self, nodes: Ids, depth: int) -> None:
        """Make the numbers of `nodes` at `depth` known; the graph grows as far as that needs."""
        missing, layers = self._missing(nodes, depth), list[tuple[int, Ids]]()
        while missing.size:
            layers.append((depth, missing))
            if not depth:
                break
            depth -= 1
            self.graph.expand(missing)
            missing = self._missing(self.graph.children(missing), depth)
        for level, missing in reversed(layers):
            for part in self.chunks(missing):
                known = self._compute(missing[part], level)
                for numbers, new in zip(self.layer(level), known, strict=True):
                    numbers[missing[part]] = new

    def layer(self, depth: int) -> tuple[Array, Array]:
        """The numbers of nodes at `depth`, NaN where they are not known, with room for all nodes."""
        while len(self._layers) <= depth:
            self._layers.append((np.empty(0), np.empty(0)))
        one, other = self._layers[depth]
        self._layers[depth] = filled(one, self.graph.size, np.nan), filled(other, self.graph.size, np.nan)
        return self._layers[depth]

    def chunks(self, nodes: Ids) -> list[slice]:
        """Slices of `nodes` whose arcs and branches make arrays of moderate size."""
        table, observable = self.graph.table, self.graph.observable[nodes]
        return chunks(table.branches[observable] + table.count[observable])

    def _missing(self, nodes: Ids, depth: int) -> Ids:
        """The distinct ones of `nodes` whose numbers at `depth` are not known."""
        return np.unique(nodes[np.isnan(self.layer(depth)[0][nodes])])


@dataclass(frozen=True, eq=False)
class ArcValues:
    """Of each arc (m,): utility of belief, expected continuation (discounted), value, absolute return."""

    utility: Array
    continuation: Array
    value: Array
    absolute: Array


class LayerValues(BackwardInduction):
    """V_d and its absolute return for nodes of `graph`, by depth d.

    terminal_rewards: False is the epistemic-only ablation: terminal actions are worth 0, and the one taken is the best
    by expected reward and utility. leaf: the value at depth 0; by default that of the best terminal action, or 0.
    """

    def __init__(
        self,
        graph: BeliefGraph,
        utility: Utility,
        *,
        discount: float,
        terminal_rewards: bool = True,
        leaf: Leaf | None = None,
    ) -> None:
        super().__init__(graph)
        self.utility, self.discount = utility, discount
        self.terminal_rewards, self.leaf = terminal_rewards, leaf

    def value(self, nodes: Ids, depth: int) -> Array:
        """V_depth (n,)."""
        self.compute(nodes, depth)
        result: Array = self.layer(depth)[0][nodes]
        return result

    def arcs(self, nodes: Ids, depth: int, *, every_terminal: bool = False) -> tuple[Arcs, ArcValues]:
        """The arcs of `nodes` and what they are worth with `depth` actions left, these included."""
        self.graph.expand(nodes)
        self.compute(self.graph.children(nodes), depth - 1)
        return self._backup(nodes, depth, every_terminal=every_terminal)

    def best(self, nodes: Ids, depth: int) -> Ids:
        """The place (n,) of the best action at each of `nodes` with `depth` actions left."""
        found = []
        for part in self.chunks(nodes):
            arcs, values = self.arcs(nodes[part], depth)
            # Information is a difference of entropies, and rounded like them.
            rounding = self.utility.rounding(self.graph, nodes[part])[arcs.owner]
            size = values.absolute + (rounding if self.utility.rates_terminal else rounding * ~arcs.is_terminal)
            found.append(arcs.place[first_best(values.value, size, arcs.start)])
        return np.concatenate(found)

    def _backup(self, nodes: Ids, depth: int, *, every_terminal: bool = False) -> tuple[Arcs, ArcValues]:
        graph = self.graph
        arcs = graph.arcs(nodes, every_terminal=every_terminal or self.utility.rates_terminal)
        goes = np.flatnonzero(arcs.width)
        later, later_absolute = np.zeros((2, len(arcs.node)))
        if goes.size:
            branches = graph.branches(arcs)
            child, width = graph.child[branches], arcs.width[goes]
            chance, begin, on = graph.probability[branches], np.cumsum(width) - width, child >= 0
            fade = self._discounts(arcs.node[goes])
            for result, known in zip((later, later_absolute), self.layer(depth - 1), strict=True):
                result[goes] = fade * np.add.reduceat(chance * np.where(on, known[child], 0.0), begin)
        utility = self.utility.values(graph, arcs)
        value, absolute = arcs.reward + utility + later, arcs.absolute + later_absolute
        if not self.terminal_rewards:
            self._drop_terminal_rewards(arcs, value, absolute)
        return arcs, ArcValues(utility, later, value, absolute)

    def _drop_terminal_rewards(self, arcs: Arcs, value: Array, absolute: Array) -> None:
        """The best terminal action of a node becomes worth 0, others are never taken."""
        ends = arcs.is_terminal
        has = np.flatnonzero(np.logical_or.reduceat(ends, arcs.start))
        best = first_best(np.where(ends, value, -np.inf), absolute, arcs.start)[has]
        value[ends], absolute[ends] = -np.inf, 0.0
        value[best] = 0.0

    def _compute(self, nodes: Ids, depth: int) -> tuple[Array, Array]:
        if depth == 0:
            return self._leaf_values(nodes)
        arcs, found = self._backup(nodes, depth)
        winner = first_best(found.value, found.absolute, arcs.start)
        return np.maximum.reduceat(found.value, arcs.start), found.absolute[winner]

    def _leaf_values(self, nodes: Ids) -> tuple[Array, Array]:
        graph = self.graph
        if self.leaf is not None:
            observables = [graph.table.observables[number] for number in graph.observable[nodes].tolist()]
            value = self.leaf(observables, tuple(graph.beliefs(nodes, factor) for factor in range(len(graph.sets))))
            return value, np.abs(value)
        value, absolute = np.zeros((2, len(nodes)))
        if not self.terminal_rewards:
            return value, absolute
        if not self.utility.rates_terminal:
            return graph.stop_reward[nodes], graph.stop_absolute[nodes]
        has = np.flatnonzero(graph.stop_place[nodes] >= 0)
        if has.size:
            arcs = graph.terminal_arcs(nodes[has])
            worth = arcs.reward + self.utility.values(graph, arcs)
            value[has] = np.maximum.reduceat(worth, arcs.start)
            absolute[has] = arcs.absolute[first_best(worth, arcs.absolute, arcs.start)]
        return value, absolute

    def _discounts(self, nodes: Ids) -> Array:
        """What continuations after actions at `nodes` count for. An initial observation takes no time."""
        graph, result = self.graph, np.full(len(nodes), self.discount)
        if graph.problem.looks_first:
            result[graph.observable[nodes] == graph.observable[graph.root]] = 1.0
        return result
