"""An agent on the former graph: what it does at each node, decided once per node and kept.

Kept for advice, bench and the paper; their rebuild deletes it.
"""

from __future__ import annotations

import math

import numpy as np

from rhoplan._old.choosers import chooser
from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan._old.merging import grown
from rhoplan._old.ties import ranked
from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planners import FollowRule
from rhoplan.belief_math.information import coupling
from rhoplan.model.pomdp import Action, Array, Ids
from rhoplan.planning.recommendation import ActionValue

UNDECIDED = -9


class GraphPolicy:
    """The choices of `agent` on `graph`.

    choice (N,): the slot taken at a node, -1 to end with ending action `ending` (N,); UNDECIDED where nobody asked.
    """

    def __init__(self, graph: Graph, agent: BoundAgent) -> None:
        self.graph, self.agent = graph, agent
        self.chooser = chooser(agent.planner, graph, agent.objective)
        self.choice: Ids = np.empty(0, dtype=np.int64)
        self.ending: Ids = np.empty(0, dtype=np.int64)

    @property
    def plan(self) -> Plan:
        """The values that decisions are explained with."""
        return self.chooser.plan

    @property
    def is_deterministic(self) -> bool:
        """Whether the situation alone decides what is done."""
        return math.isinf(self.agent.precision) and not self.agent.planner.samples

    def committed(self, node: int) -> GraphPolicy:
        """Following the plan made at `node` without planning again; itself where planning again is the plan."""
        found = self.chooser.bounded(node)
        return (
            self
            if found is None
            else GraphPolicy(self.graph, self.agent.changed(planner=FollowRule(rule=found.policy)))
        )

    def settle(self, nodes: Ids) -> None:
        """Decide at `nodes`, unless that was done before."""
        self._make_room()
        fresh = nodes[self.choice[nodes] == UNDECIDED]
        if fresh.size:
            choices, ending = self.chooser.choose(fresh)
            self._make_room()
            self.choice[fresh], self.ending[fresh] = choices, ending

    def action(self, node: int) -> Action:
        """What is done at `node`."""
        self.settle(np.array([node]))
        menu, slot = self.graph.menus[int(self.graph.observable[node])], int(self.choice[node])
        return menu.going[slot] if slot >= 0 else menu.ending[int(self.ending[node])]

    def probabilities(self, nodes: Ids) -> tuple[Array, Array]:
        """Probability of each ending action (n, E) and of each action that goes on (n, M).

        For nodes that offer the same ending actions, as all nodes of a flat problem do.
        """
        observable = int(self.graph.observable[nodes[0]]) if len(nodes) else 0
        ending = np.zeros((len(nodes), len(self.graph.menus[observable].ending)))
        if self.is_deterministic:
            self.settle(nodes)
            going = np.zeros((len(nodes), self.graph.known.shape[1]))
            stops = self.choice[nodes] < 0
            ending[stops, self.ending[nodes[stops]]] = 1.0
            going[~stops, self.choice[nodes[~stops]]] = 1.0
            return ending, going
        _, going_values, _ = self.plan.action_values(nodes, self.chooser.depth)
        values = np.concatenate([self._ending_values(nodes, observable), going_values], axis=1)
        with np.errstate(over="ignore"):
            weights = np.exp(self.agent.precision * (values - values.max(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        return weights[:, : ending.shape[1]], weights[:, ending.shape[1] :]

    def opened(self, node: int, seed: int) -> tuple[Array, Array, Array]:
        """Expected continuation (M,) of each action at `node`, and how probable ending (E,) and going (M,) ones are."""
        nodes = np.array([node])
        self.graph.expand(nodes)
        later, slot, end = self.chooser.explain(node, (seed,))
        if math.isinf(self.agent.precision):
            menu = self.graph.menus[self.graph.observable[node]]
            return later, _one_of(len(menu.ending), end if slot < 0 else -1), _one_of(len(menu.going), slot)
        ending, going = self.probabilities(nodes)
        return later, ending[0], going[0]

    def _ending_values(self, nodes: Ids, observable: int) -> Array:
        values = self.graph.ending_rewards(nodes, observable)
        if not self.agent.commits_count:
            # Ending is worth 0 whatever the commit; as in the deterministic limit it is the best one that is taken.
            best = self.plan.best_ending(nodes)[1]
            return np.where(np.arange(values.shape[1]) == best[:, None], 0.0, -np.inf)
        return values + self.plan.utility.ending(self.graph, nodes, observable)

    def _make_room(self) -> None:
        self.choice = grown(self.choice, self.graph.size, UNDECIDED)
        self.ending = grown(self.ending, self.graph.size, -1)


def _one_of(count: int, place: int) -> Array:
    """Probabilities (count,) that are 1 at `place`; zero everywhere where it is -1."""
    result: Array = (np.arange(count) == place).astype(float)
    return result


def in_order(policy: GraphPolicy, node: int, actions: tuple[ActionValue, ...]) -> list[ActionValue]:
    """`actions` at `node` from the best to the worst by the one tie rule: ending actions win ties, then the first."""
    listed = sorted(actions, key=lambda action: action.kind != "commit")
    plan, graph, nodes = policy.plan, policy.graph, np.array([node])

    def exactly() -> Array:
        scale = float(plan.utility.scale(graph, nodes)[0])
        rated = scale * plan.utility.rates_endings  # else nothing in the value of ending has to do with it
        ending = graph.ending_gains(nodes, int(graph.observable[node]))[0] * plan.commits_count + rated
        if policy.agent.planner.samples:  # what it estimates has no plan to look at
            return np.append(ending, np.full(len(listed) - len(ending), scale))
        return np.append(ending, plan.gains_within(nodes, policy.chooser.depth)[0, 1 : 1 + len(listed) - len(ending)])

    values = np.array([action.value for action in listed])
    return [listed[place] for place in ranked(values, float(plan.gains(nodes)[0]), exactly)]


def preferred(policy: GraphPolicy, node: int, actions: tuple[ActionValue, ...]) -> ActionValue:
    """The one of `actions` that the agent takes at `node`; with a finite precision the one it takes most often."""
    if policy.is_deterministic or policy.agent.planner.samples:
        return max(actions, key=lambda action: action.probability)
    return in_order(policy, node, actions)[0]


def action_values(policy: GraphPolicy, node: int, seed: int = 0) -> tuple[ActionValue, ...]:
    """The parts of every action's value at `node`: actions that go on, then those that end, in the menu's order."""
    graph, plan, nodes = policy.graph, policy.plan, np.array([node])
    observable = int(graph.observable[node])
    menu = graph.menus[observable]
    continuation, ending_probability, going_probability = policy.opened(node, seed)
    bonus = plan.utility.going(graph, nodes)[0]
    rewards = graph.ending_rewards(nodes, observable)[0]
    extra = plan.utility.ending(graph, nodes, observable)[0]
    if not policy.agent.commits_count:
        rewards, extra = np.zeros_like(rewards), np.zeros_like(extra)

    def row(action: Action, terms: tuple[float, float, float, float], probability: float) -> ActionValue:
        reward, information, weighted, later = map(float, terms)
        value = reward + weighted + later
        still, apart = action.preserves_hidden_state, float(coupling(graph.beliefs(nodes, action.factor), action)[0])
        parts = (reward, information, weighted, later, value, float(probability))
        return ActionValue(action.name, action.kind, *parts, still, apart)

    paid, told = graph.reward[node], graph.information[node]
    going = ((paid[k], told[k], bonus[k], continuation[k]) for k in range(len(menu.going)))
    ending = ((rewards[i], 0.0, extra[i], 0.0) for i in range(len(menu.ending)))
    chances = (*going_probability[: len(menu.going)], *ending_probability)
    return tuple(map(row, (*menu.going, *menu.ending), (*going, *ending), chances))
