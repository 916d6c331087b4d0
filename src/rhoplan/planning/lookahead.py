"""Receding-horizon look-ahead on a belief graph: plan `horizon` actions ahead, take the first one, plan again.

Myopic, Planning, Info Gain, Planning+IG and EFE are this with other horizons and weights (the paper's table of agents).
`LookaheadOnGraph` plans on a given belief graph, `LookaheadPolicy` also on a graph of its own.

Shapes: n nodes of a batch, m arcs of a batch.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from rhoplan.budget import Budget
from rhoplan.graph.belief_graph import Arcs, BeliefGraph
from rhoplan.graph.row_index import filled
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP, Array, Ids, Leaf
from rhoplan.planning.backup import ArcValues, LayerValues
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import LOOKAHEAD, ActionValues, BeliefLike, Policy, PolicyOnGraph, Seed, ValueTerms
from rhoplan.planning.policy_file import is_same

UNDECIDED = -1

MOST_NODES = 400_000
"""Size at which a policy's own graph is replaced by a new one: a policy that is called often keeps its memory."""

MEMORY = 2e9
"""Bytes that a policy's own graph may take."""


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

    def _decide(self, nodes: Ids) -> Ids:
        return self.layers.best(nodes, self.horizon)

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        if math.isinf(self.objective.inverse_temperature):
            return super().choose(nodes)
        arcs, values = self.action_values(nodes, every_terminal=self.objective.terminal_rewards)
        best = np.maximum.reduceat(values.value, arcs.start)
        with np.errstate(over="ignore"):
            chance = np.exp(self.objective.inverse_temperature * (values.value - best[arcs.owner]))
        chance /= np.add.reduceat(chance, arcs.start)[arcs.owner]
        possible = np.flatnonzero(chance)
        return arcs.owner[possible], arcs.place[possible], chance[possible]

    def action_values(self, nodes: Ids, *, every_terminal: bool = False) -> tuple[Arcs, ArcValues]:
        """The arcs of `nodes` with their values: of terminal actions the best one, or every one."""
        return self.layers.arcs(nodes, self.horizon, every_terminal=every_terminal)

    def value(self, nodes: Ids) -> Array:
        """The value (n,) at `nodes`, by default that of the plan of `horizon` actions."""
        return self.layers.value(nodes, self.horizon)

    def node(self, belief: Belief) -> int:
        """The node of an observable state and beliefs."""
        beliefs = tuple(one[None, :] for one in belief.beliefs)
        return int(self.graph.nodes([belief.observable], beliefs)[0])

    def terms(self, node: int) -> ActionValues:
        """The value of each action at `node` in its terms: non-terminal actions first, otherwise in order."""
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


class LookaheadPolicy(Policy):
    """Receding-horizon look-ahead over `horizon` actions for `objective`.

    leaf: the value after these; by default the problem's. value_kind: of what `value` returns.
    """

    def __init__(
        self,
        problem: POMDP,
        objective: Objective,
        horizon: int,
        *,
        leaf: Leaf | None = None,
        value_kind: str = LOOKAHEAD,
    ) -> None:
        self.problem, self.objective, self.horizon, self.leaf = problem, objective, horizon, leaf
        self.value_kind = value_kind
        self._plan: LookaheadOnGraph | None = None

    def plan_on(self, graph: BeliefGraph) -> LookaheadOnGraph:
        """The plan on `graph`, which is one of the policy's problem."""
        return LookaheadOnGraph(graph, self.objective, self.horizon, leaf=self.leaf)

    def plan_at(self, belief: BeliefLike) -> tuple[LookaheadOnGraph, int]:
        """The plan on the policy's own graph, and the node of `belief` there."""
        if self._plan is None or self._plan.graph.size > MOST_NODES:
            self._plan = self.plan_on(BeliefGraph(self.problem, budget=Budget(memory=MEMORY)))
        return self._plan, self._plan.node(self.belief(belief))

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        return self.plan_on(graph) if is_same(graph.problem, self.problem) else super().on(graph)

    def action(self, belief: BeliefLike) -> str:
        plan, node = self.plan_at(belief)
        return plan.graph.action(node, int(plan.places(np.array([node]))[0])).name

    def probabilities(self, belief: BeliefLike) -> dict[str, float]:
        """Of the softmax over action values; with infinite inverse temperature 1 for the action taken."""
        plan, node = self.plan_at(belief)
        _, places, chances = plan.choose(np.array([node]))
        names = plan.graph.table.names(int(plan.graph.observable[node]))
        taken = {names[place]: chance for place, chance in zip(places.tolist(), chances.tolist(), strict=True)}
        return dict.fromkeys(names, 0.0) | taken

    def action_values(self, belief: BeliefLike) -> ActionValues:
        plan, node = self.plan_at(belief)
        return plan.terms(node)

    def value(self, belief: BeliefLike) -> float:
        plan, node = self.plan_at(belief)
        return float(plan.value(np.array([node]))[0])

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_plan": None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem.spec or self.problem.name}, horizon={self.horizon})"
