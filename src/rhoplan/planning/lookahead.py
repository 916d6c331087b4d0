"""Receding-horizon look-ahead on a belief graph: plan `horizon` actions ahead, take the first one, plan again.

Myopic, Planning, Info Gain, Planning+IG and EFE are this with other horizons and weights (the paper's table of agents).

Shapes: n nodes of a batch, m arcs of a batch.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from rhoplan.graph.belief_graph import Arcs, BeliefGraph
from rhoplan.graph.row_index import filled
from rhoplan.graph.ties import first_best
from rhoplan.model.pomdp import POMDP, Array, Ids, Leaf
from rhoplan.planning.backup import ArcValues, LayerValues
from rhoplan.planning.graph_policy import LOOKAHEAD, GraphPolicy
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import ActionValues, Seed, ValueTerms

UNDECIDED = -1


class DecidedPlaces(ABC):
    """A deterministic policy on `graph` that decides once per node."""

    graph: BeliefGraph
    _places: Ids = np.empty(0, dtype=np.int64)

    @abstractmethod
    def _decide(self, nodes: Ids) -> Ids:
        """The place (n,) of the action taken at each of `nodes`; the graph may grow."""

    def places(self, nodes: Ids) -> Ids:
        """The place (n,) of the action taken at each of `nodes`."""
        self._places = filled(self._places, self.graph.size, UNDECIDED)
        fresh = np.unique(nodes[self._places[nodes] == UNDECIDED])
        if fresh.size:
            decided = self._decide(fresh)
            self._places = filled(self._places, self.graph.size, UNDECIDED)
            self._places[fresh] = decided
        return self._places[nodes]

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        return np.arange(len(nodes)), self.places(nodes), np.ones(len(nodes))


class LookaheadOnGraph(DecidedPlaces):
    """Look-ahead over `horizon` actions on `graph`. leaf: the value after these; that of the problem by default.

    inverse_temperature: an action is taken with probability proportional to exp(inverse_temperature * value); infinity
    takes the best one.
    """

    def __init__(self, graph: BeliefGraph, objective: Objective, horizon: int, *, leaf: Leaf | None = None) -> None:
        self.graph, self.objective, self.horizon = graph, objective, horizon
        self.layers = LayerValues(
            graph,
            objective.rho,
            discount=objective.discount_factor,
            terminal_rewards=objective.terminal_rewards,
            leaf=leaf or graph.problem.leaf,
        )

    @property
    def is_deterministic(self) -> bool:
        return math.isinf(self.objective.inverse_temperature)

    def _decide(self, nodes: Ids) -> Ids:
        found = []
        for part in self.layers.chunks(nodes):
            arcs, values = self.action_values(nodes[part])
            found.append(arcs.place[first_best(values.value, self._scale(arcs, values), arcs.start)])
        return np.concatenate(found)

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        if self.is_deterministic:
            return super().choose(nodes)
        arcs, chance = self.probabilities(nodes)
        possible = np.flatnonzero(chance)
        return arcs.owner[possible], arcs.place[possible], chance[possible]

    def probabilities(self, nodes: Ids) -> tuple[Arcs, Array]:
        """All arcs of `nodes` and the probability (m,) of taking each."""
        arcs, values = self.action_values(nodes, every_terminal=self.objective.terminal_rewards)
        if self.is_deterministic:
            chance = np.zeros(len(arcs.node))
            chance[first_best(values.value, self._scale(arcs, values), arcs.start)] = 1.0
            return arcs, chance
        best = np.maximum.reduceat(values.value, arcs.start)
        with np.errstate(over="ignore"):
            chance = np.exp(self.objective.inverse_temperature * (values.value - best[arcs.owner]))
        return arcs, chance / np.add.reduceat(chance, arcs.start)[arcs.owner]

    def action_values(self, nodes: Ids, *, every_terminal: bool = False) -> tuple[Arcs, ArcValues]:
        """The arcs of `nodes` with their values: of terminal actions the best one, or every one."""
        return self.layers.arcs(nodes, self.horizon, every_terminal=every_terminal)

    def value(self, nodes: Ids) -> Array:
        """The value (n,) of the plan of `horizon` actions."""
        return self.layers.value(nodes, self.horizon)

    def node_value(self, node: int) -> float:
        return float(self.value(np.array([node]))[0])

    def terms(self, node: int) -> ActionValues:
        nodes = np.array([node])
        arcs, values = self.action_values(nodes, every_terminal=True)
        counts, rows = self.objective.terminal_rewards, []
        for place in np.argsort(arcs.is_terminal, kind="stable").tolist():
            ends = bool(arcs.is_terminal[place])
            terms = (arcs.reward, arcs.information, values.utility, values.continuation, values.absolute)
            reward, information, utility, later, absolute = (float(term[place]) for term in terms)
            if ends:
                reward, information, utility = reward * counts, 0.0, utility * counts
            name = self.graph.table.actions[int(arcs.action[place])].name
            rows.append(ValueTerms(name, reward, information, utility, later, absolute))
        rounding = float(self.layers.utility.rounding(self.graph, nodes)[0])
        return ActionValues(tuple(rows), LOOKAHEAD, rounding)

    def _scale(self, arcs: Arcs, values: ArcValues) -> Array:
        """What ties are measured by: information is a difference of entropies and rounded like them."""
        utility, nodes = self.layers.utility, arcs.node[arcs.start]
        rounding = utility.rounding(self.graph, nodes)[arcs.owner]
        return values.absolute + (rounding if utility.rates_terminal else np.where(arcs.is_terminal, 0.0, rounding))


class LookaheadPolicy(GraphPolicy):
    """Receding-horizon look-ahead over `horizon` actions. leaf: the value after these; by default the problem's."""

    def __init__(
        self,
        problem: POMDP,
        objective: Objective,
        horizon: int,
        *,
        leaf: Leaf | None = None,
        value_kind: str = LOOKAHEAD,
    ) -> None:
        super().__init__(problem, objective, value_kind=value_kind)
        self.horizon, self.leaf = horizon, leaf

    def plan_on(self, graph: BeliefGraph) -> LookaheadOnGraph:
        return LookaheadOnGraph(graph, self.objective, self.horizon, leaf=self.leaf)

    def __repr__(self) -> str:
        return f"LookaheadPolicy({self.problem.spec or self.problem.name}, horizon={self.horizon})"
