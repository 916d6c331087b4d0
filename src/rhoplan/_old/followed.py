"""A plan followed once and handed on: the layers of its flow, kept, and what most readers ask of them.

`Plans` holds one graph of a problem and follows each distinct plan on it once, however many ask. For
observe-then-commit problems, in the agent's own world.

Kept for advice and present; their rebuild deletes it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rhoplan._old.flow import Flow
from rhoplan._old.graph import DEFAULT_NODE_LIMIT, Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.agents.agent import BoundAgent
from rhoplan.model.pomdp import POMDP, Array, Ids

NEGLIGIBLE = 1e-12
"""Share of cases below which a branch is no longer followed for people."""


class Followed:
    """`policy` followed from `node` for at most `cap` actions, the commit included, by what cases have spent.

    layers: see `flow`; a layer's label is a place in `amounts`.
    """

    def __init__(self, policy: GraphPolicy, node: int | None = None, *, cap: int | None = None) -> None:
        self.policy, self.graph = policy, policy.graph
        self.node = self.graph.root if node is None else node
        self._spent, self._places = [0], {0: 0}
        steps = self.graph.problem.cap if cap is None else cap
        flow = Flow(policy, nodes=[self.node], cap=steps, relabel=self._spend, least=NEGLIGIBLE)
        self.layers = tuple(flow)
        self.amounts = [spent / self.graph.problem.flat.minor_units for spent in self._spent]

    @property
    def first(self) -> str:
        """The name of the first action."""
        return self.action(self.node)

    def action(self, node: int) -> str:
        """The name of what is done at a node that was met."""
        return self.policy.action(node).name

    @cached_property
    def stops(self) -> dict[int, float]:
        """Share of cases that commit at each node where some do."""
        found: dict[int, float] = {}
        for layer in self.layers:
            acts = layer.acts.at(layer.acts.slot < 0)
            for node, share in zip(layer.node[acts.row].tolist(), acts.mass.tolist(), strict=True):
                found[node] = found.get(node, 0.0) + share
        return found

    @cached_property
    def ends(self) -> Array:
        """Share of cases (E, S) that end with each commit in each true state."""
        problem = self.graph.problem
        shares = np.zeros((len(problem.flat.commits), len(problem.states)))
        nodes = np.array(list(self.stops), dtype=np.int64)
        beliefs = self.graph.beliefs(nodes) * np.array(list(self.stops.values()))[:, None]
        np.add.at(shares, self.policy.ending[nodes], beliefs)
        return shares

    @cached_property
    def information(self) -> float:
        """Expected information of its tests, in nats."""
        total = 0.0
        for layer in self.layers:
            acts = layer.acts.at(layer.acts.slot >= 0)
            total += float(acts.mass @ self.graph.information[layer.node[acts.row], acts.slot])
        return total

    def choices(self, least: float) -> dict[int, int]:
        """What is done at each node that at least a share `least` of cases meets at one step: slot, or -1 - commit."""
        found: dict[int, int] = {}
        for layer in self.layers:
            for node in layer.node[layer.mass >= least].tolist():
                slot = int(self.policy.choice[node])
                found[node] = slot if slot >= 0 else -1 - int(self.policy.ending[node])
        return found

    def _spend(self, label: Ids, node: Ids, slot: Ids) -> Ids:
        """Labels of what is spent after one more test, in minor units."""
        menu = self.graph.problem.flat
        prices = -self.graph.reward[node, slot]
        result = np.empty_like(label)
        pairs = np.stack([label.astype(float), prices])
        for pair in np.unique(pairs, axis=1).T:
            total = self._spent[int(pair[0])] + menu.in_minor_units(float(pair[1]))
            if total not in self._places:
                self._places[total] = len(self._spent)
                self._spent.append(total)
            result[(label == pair[0]) & (prices == pair[1])] = self._places[total]
        return result


class Plans:
    """One graph of `problem`, and plans on it: each distinct one is followed once."""

    def __init__(self, problem: POMDP, *, graph: Graph | None = None, node_limit: int = DEFAULT_NODE_LIMIT) -> None:
        self.problem = problem
        self.graph = graph if graph is not None else Graph(problem, node_limit=node_limit)
        self._policies: dict[tuple[object, ...], GraphPolicy] = {}
        self._followed: dict[tuple[object, ...], Followed] = {}

    def policy(self, agent: BoundAgent) -> GraphPolicy:
        """What `agent` does on the graph, as far as it has been asked."""
        return self._policies.setdefault(_plan_of(agent), GraphPolicy(self.graph, agent))

    def follow(self, agent: BoundAgent, node: int | None = None) -> Followed:
        """The plan of `agent` followed from `node`, the start by default."""
        start = self.graph.root if node is None else node
        key = (*_plan_of(agent), start)
        if key not in self._followed:
            self._followed[key] = Followed(self.policy(agent).committed(start), start)
        return self._followed[key]


def _plan_of(agent: BoundAgent) -> tuple[object, ...]:
    """What makes two agents decide alike: everything but their names and the unit of the weight."""
    return agent.rho, agent.discount, agent.precision, agent.commits_count, agent.planner
