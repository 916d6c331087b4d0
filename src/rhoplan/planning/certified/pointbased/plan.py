"""What a search leaves behind: vectors, which are plans one can follow, and the points of the upper bound.

A vector takes one action and after each outcome follows another vector; the first ones follow a policy on classes for
ever. So every vector is a plan, and its numbers say what that plan is worth at least, from each state of its class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rhoplan.belief_math.information import entropy
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.mixing import mixture, prices_of, sawtooth
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.first import First
from rhoplan.planning.certified.pointbased.graph import (
    ALIVE,
    AT,
    BEST,
    COUNT,
    ENTROPY,
    FOLLOW,
    FOLLOWERS,
    HOME,
    INDEX,
    NODES,
    NUMBERS,
    ROOT,
    SLOT,
    UPPER,
    VECTOR_AT,
    VECTOR_HOME,
    VECTOR_PAIR,
    VECTORS,
    Graph,
    Settings,
)
from rhoplan.planning.certified.pointbased.growing import hull_states
from rhoplan.planning.certified.pointbased.policies import ANY
from rhoplan.planning.certified.pointbased.prune import mark_followed

MOST_UNFOLDED = 1_000_000
"""Numbers of beliefs that are written out at once: each takes 40 bytes on the way."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Both bounds at any belief, and what to do there. A belief is given by its class and its states' probabilities.

    alpha: numbers of all vectors, those of vector v from vector_at[v] on. share: c of each. pair: what it takes (ANY:
    any action of its class). alive: whether it still counts. follower: per branch of its pair from follow_at[v] on.
    points: nodes (beliefs) with an upper bound of their own, by number into the arrays of `graph`.
    """

    problem: Compiled
    first: First
    settings: Settings
    graph: Graph
    root_vector: int

    @property
    def first_action(self) -> str:
        """Name of the action that the plan begins with; empty where the episode is over."""
        if self.problem.ended[self.problem.start_class]:
            return ""
        return str(self.problem.actions[self.problem.pair_action[self.pair(self.root_vector)]])

    @property
    def vectors(self) -> int:
        return int(self.graph.used[VECTORS])

    def pair(self, vector: int | Ids) -> Ids:
        """The pair that a vector takes, or each of several; the first of its class where it takes all equally often."""
        taken = self.taken(vector)
        return np.where(taken == ANY, self.problem.model.class_pair[self.graph.vector[vector, VECTOR_HOME]], taken)

    def taken(self, vector: int | Ids) -> Ids:
        """The same, with ANY where a vector takes all equally often."""
        result: Ids = self.graph.vector[vector, VECTOR_PAIR]
        return result

    def home(self, vector: int) -> int:
        """The class of `vector`."""
        return int(self.graph.vector[vector, VECTOR_HOME])

    def numbers(self, vector: int) -> Array:
        """What `vector` is worth from each state of its class, without its share of the entropy."""
        at = self.graph.vector[vector, VECTOR_AT]
        return self.graph.alpha[at : at + self.problem.sizes[self.home(vector)]]

    def rows(self, home: int, vectors: Ids) -> Array:
        """The same (n, S) for each of these `vectors` of class `home`."""
        places = self.graph.vector[vectors, VECTOR_AT][:, None] + np.arange(self.problem.sizes[home])
        result: Array = self.graph.alpha[places]
        return result

    def follower(self, vector: int, branch: int) -> int:
        """The vector that `vector` goes on with after `branch` (as the model counts); -1 where the episode is over."""
        target = int(self.problem.model.branch_target[branch])
        if self.problem.ended[target]:
            return -1
        if vector < len(self.first.vectors) * self.problem.classes:
            return vector // self.problem.classes * self.problem.classes + target
        first = self.problem.model.pair_branch[self.graph.vector[vector, VECTOR_PAIR]]
        return int(self.graph.follower[self.graph.vector[vector, FOLLOW] + branch - first])

    def lower(self, home: int, belief: Array) -> tuple[float, int]:
        """The lower bound at `belief`, and the vector that gives it."""
        ids = self.vectors_of.get(home, np.empty(0, dtype=np.int64))
        if self.problem.ended[home]:
            return 0.0, -1
        worth = self.rows(home, ids) @ belief + self.graph.share[ids] * self.settings.potential * float(entropy(belief))
        best = int(np.argmax(worth))
        return float(worth[best]), int(ids[best])

    def upper(self, home: int, belief: Array) -> float:
        """The upper bound at `belief`: the least of what corners, points and the informed bound say."""
        if self.problem.ended[home]:
            return 0.0
        model, potential = self.problem.model, self.settings.potential * float(entropy(belief))
        pairs = slice(model.pair_reward[model.class_pair[home]], model.pair_reward[model.class_pair[home + 1]])
        informed = float((self.first.action[pairs].reshape(-1, len(belief)) @ belief).max())
        return min(self.between(home, *self.points(home), belief), informed) + potential

    def between(self, home: int, beliefs: Array, values: Array, belief: Array) -> float:
        """The upper bound on V - p H at `belief` that the corners of class `home` and these points give."""
        first, last = self.problem.model.class_state[home : home + 2]
        corner = self.graph.corner[first:last]
        if len(belief) <= hull_states(self.problem):
            prices = prices_of(belief, self.settings.penalty, self.settings.lost)
            mixed = mixture(beliefs, values, corner, belief, prices)  # which rounding may end a little early
            return min(mixed, sawtooth(beliefs, values, corner, belief))
        return sawtooth(beliefs, values, corner, belief)

    @cached_property
    def vectors_of(self) -> dict[int, Ids]:
        """The vectors of each class that still count, and those that they go on with: so who takes at every belief
        what the best of them takes earns what it says, and is proven to."""
        table = self.graph.vector[: self.vectors]
        marked, kept = (table[:, ALIVE] == 1).astype(np.int64), len(self.first.vectors) * self.problem.classes
        mark_followed(self.problem.model, self.graph, kept, marked, np.empty_like(marked))
        alive = np.flatnonzero(marked)
        homes = table[alive, VECTOR_HOME]
        order = np.argsort(homes, kind="stable")
        cuts = np.flatnonzero(np.diff(homes[order])) + 1
        return {int(table[ids[0], VECTOR_HOME]): ids for ids in np.split(alive[order], cuts) if len(ids)}

    @cached_property
    def _opened(self) -> dict[int, Ids]:
        nodes = self.graph.node[: self.graph.used[NODES]]
        opened = np.flatnonzero(nodes[:, SLOT] >= 0)
        homes = nodes[opened, HOME]
        order = np.argsort(homes, kind="stable")
        cuts = np.flatnonzero(np.diff(homes[order])) + 1
        return {int(nodes[ids[0], HOME]): ids for ids in np.split(opened[order], cuts) if len(ids)}

    @cached_property
    def _unfolded(self) -> dict[int, tuple[Array, Array]]:
        return {}

    def points(self, home: int) -> tuple[Array, Array]:
        """Beliefs (P, S) of class `home` with an upper bound of their own, and that bound (P,) on V - p H."""
        if home not in self._unfolded:
            ids = self._opened.get(home, np.empty(0, dtype=np.int64))
            bounds = self.graph.bound[ids, UPPER] - self.settings.potential * self.graph.bound[ids, ENTROPY]
            self._unfolded[home] = self.beliefs(home, ids), bounds
        return self._unfolded[home]

    def beliefs(self, home: int, nodes: Ids) -> Array:
        """The beliefs (n, S) of nodes of class `home`."""
        result = np.zeros((len(nodes), int(self.problem.sizes[home])))
        step = max(MOST_UNFOLDED // result.shape[1], 1)
        for begin in range(0, len(nodes), step):
            row = self.graph.node[nodes[begin : begin + step]]
            entry = np.repeat(np.arange(len(row)), row[:, COUNT])
            place = np.arange(len(entry)) - (np.cumsum(row[:, COUNT]) - row[:, COUNT])[entry]
            index = row[entry, INDEX]
            column = np.where(index < 0, place, self.graph.where[np.maximum(index, 0) + place])
            result[begin + entry, column] = self.graph.value[row[entry, AT] + place]
        return result


def plan_of(problem: Compiled, graph: Graph, first: First, settings: Settings) -> Plan:
    """The plan behind the lower bound that the search has reached."""
    alpha, follower = graph.alpha[: graph.used[NUMBERS]], graph.follower[: graph.used[FOLLOWERS]]
    graph = graph._replace(alpha=alpha, follower=follower)
    return Plan(problem, first, settings, graph, int(graph.node[ROOT, BEST]))
