"""The world in which a plan is followed: the agent's own model, or another problem whose names agree with it.

Another world is followed by a graph of its own. A case has a node there too, whose belief is what the world, told the
same results, would believe; so chances and rewards are expectations under that belief. `in_names_of` writes the world
down in the agent's names and order first: then an action's slot, an outcome's number and a state's place are the same
on both sides.

Kept for advice and the paper; their rebuild deletes it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rhoplan._old.graph import Graph
from rhoplan.model.pomdp import POMDP, Array, Ids
from rhoplan.model.worlds import in_names_of


@dataclass(frozen=True, eq=False)
class Ending:
    """Ending actions about one factor: the acts (k,) that they are, the belief (k, S) about the factor, what they pay
    (k, S) in each state, and whether (k, S) they are a best one for it among those on the menu."""

    factor: int
    place: Ids
    belief: Array
    rewards: Array
    right: Array

    @property
    def mean(self) -> Array:
        """What they pay on average (k,)."""
        result: Array = (self.belief * self.rewards).sum(axis=1)
        return result


class World:
    """The agent's model, on its graph; or, where `problem` is given, that problem on a graph of its own.

    Shapes: m acts of cases at `node` (m,) of the agent's graph and `truth` (m,) of the world's.
    """

    def __init__(self, agent_graph: Graph, problem: POMDP | None = None) -> None:
        self.is_model = problem is None
        self.graph = agent_graph if problem is None else Graph(in_names_of(agent_graph.problem, problem))

    @property
    def problem(self) -> POMDP:
        return self.graph.problem

    def start(self, node: Ids) -> Ids:
        """The world's nodes (n,) of cases that begin at `node` (n,): the start, where the world is another."""
        return node if self.is_model else np.full(len(node), self.graph.root)

    def outcomes(self, truth: Ids, slot: Ids) -> tuple[Array, Ids]:
        """Probability (m, O) of each outcome of the actions taken, and the world's node (m, O) after it."""
        self._expand(truth, slot)
        return self.graph.probability[truth, slot], self.graph.next[truth, slot].astype(np.int64)

    def going_rewards(self, truth: Ids, slot: Ids) -> Array:
        """Expected reward (m,) of actions that go on."""
        self._expand(truth, slot)
        return self.graph.reward[truth, slot]

    def endings(self, truth: Ids, ending: Ids) -> list[Ending]:
        """What ending actions (m,) bring, those about one factor together."""
        found = []
        for observable, places in self.graph.by_endings(truth) if len(truth) else ():
            menu = self.graph.menus[observable]
            for (factor, columns, rewards), right in zip(menu.ending_rewards, menu.right, strict=True):
                chosen, number = places, ending[places]
                if len(columns) < len(menu.ending):
                    place = np.minimum(np.searchsorted(columns, number), len(columns) - 1)
                    inside = columns[place] == number
                    chosen, number = places[inside], place[inside]
                if chosen.size:
                    beliefs = self.graph.beliefs(truth[chosen], factor)
                    found.append(Ending(factor, chosen, beliefs, rewards.T[number], right.T[number]))
        return found

    def _expand(self, truth: Ids, slot: Ids) -> None:
        if not self.is_model:
            wanted = np.zeros((len(truth), self.graph.known.shape[1]), dtype=bool)
            wanted[np.arange(len(truth)), slot] = True
            self.graph.expand(truth, wanted)
