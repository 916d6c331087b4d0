"""The ground on which targets are met: one evidence graph, every plan on it measured by what adds up over cases.

A criterion counts `spend` times what tests cost and, for each commit in each state, a number of its own: the share of
missed cases, of false alarms, the loss by wrong decisions. It is linear over plans, so a weighted sum of criteria is a
criterion, and the plan that is least by it comes from the one Bellman backup (`planning.exact`) with other rewards. The
plan is followed forward (`following.flow`), and its numbers are read from there, not from rounded values.

Shapes: N nodes, M slots, S states, E commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rhoplan.following.flow import Flow, Follows
from rhoplan.graph.graph import Graph
from rhoplan.graph.ties import choose
from rhoplan.model.pomdp import Action, Array, Ids, Problem
from rhoplan.planning.exact import Plan
from rhoplan.planning.utility import Information

MOST_NODES = 300_000
"""Situations that a ground may have: some tenths of a second for each plan on it."""


@dataclass(frozen=True, eq=False)
class Criterion:
    """What is counted: spend times what tests cost, and ends (E, S) for each commit in each state. Less is better."""

    spend: float
    ends: Array


def weighed(criteria: Iterable[Criterion], weights: Iterable[float]) -> Criterion:
    """The sum of `criteria`, each times its weight."""
    pairs = list(zip(criteria, weights, strict=True))
    ends: Array = np.sum([weight * one.ends for one, weight in pairs], axis=0)
    return Criterion(float(sum(weight * one.spend for one, weight in pairs)), ends)


@dataclass(frozen=True, eq=False)
class Course:
    """A plan without chance: the slot taken at each node (N,), -1 to end with commit ending (N,).

    spent: what its tests cost on average. ends (E, S): share of cases that end with each commit in each true state.
    """

    choice: Ids
    ending: Ids
    spent: float
    ends: Array

    def by(self, criterion: Criterion) -> float:
        """How much of `criterion` it comes to."""
        return float(criterion.spend * self.spent + (criterion.ends * self.ends).sum())


class Ground:
    """Every situation that at most `depth` tests of `problem` can lead to, and plans among them.

    problem: the one given with that cap on the number of tests, which plans on the ground are plans of.
    LimitError where these are more than `nodes`.
    Not covered: problems without lists of tests and commits; discounts.
    """

    def __init__(self, problem: Problem, depth: int, *, nodes: int = MOST_NODES) -> None:
        menu = problem.flat
        most = depth if menu.most_tests is None else min(depth, menu.most_tests)
        # Tests are counted, so that a situation has so many left, whatever led there.
        self.problem, self.depth = replace(problem, menu=replace(menu, most_tests=most)), most
        self.graph = Graph(self.problem, node_limit=nodes)
        first = Plan(self.graph)
        first.values(np.array([self.graph.root]), most)
        self.layers = first.valued
        self.left: Ids = np.zeros(self.graph.size, dtype=np.int64)
        for left, places in enumerate(self.layers):
            self.left[places] = left

    @cached_property
    def spend(self) -> Criterion:
        """What tests cost."""
        return Criterion(1.0, np.zeros_like(self.problem.flat.payoff))

    def wrong(self, states: Sequence[int]) -> Criterion:
        """Share of all cases that are in one of `states` and end with a commit that is not a best one for it."""
        inside = np.isin(np.arange(len(self.problem.states)), states)
        return Criterion(0.0, (1.0 - self.problem.flat.right) * inside)

    def regret(self, states: Sequence[int]) -> Criterion:
        """What wrong commits lose in `states`: how much less they pay there than the best one for the state."""
        payoff = self.problem.flat.payoff
        inside = np.isin(np.arange(len(self.problem.states)), states)
        return Criterion(0.0, (payoff.max(axis=0) - payoff) * (1.0 - self.problem.flat.right) * inside)

    def most(self, criterion: Criterion) -> float:
        """As much of `criterion` as no plan exceeds."""
        dearest = -float(np.min(self.graph.reward, initial=0.0, where=self.graph.known))
        return criterion.spend * dearest * self.depth + float(self.problem.prior @ criterion.ends.max(axis=0))

    def best(self, criterion: Criterion) -> Course:
        """The plan that has least of `criterion`; ties as everywhere, ending first."""
        return self.followed(_Follower(LeastPlan(self, criterion)))

    def followed(self, policy: Follows) -> Course:
        """`policy`, which leaves nothing to chance, and what following it comes to."""
        spent, ends = 0.0, np.zeros_like(self.problem.flat.payoff)
        for layer in Flow(policy, cap=self.depth + 1):
            acts, stops = layer.acts, layer.acts.stops
            spent -= float(acts.mass[acts.going] @ acts.reward[acts.going])
            for one in layer.endings:
                places = stops[one.place]
                np.add.at(ends, acts.ending[places], acts.mass[places][:, None] * one.belief)
        return Course(policy.choice, policy.ending, spent, ends)

    def action(self, course: Course, node: int) -> Action:
        """What `course` does at `node`."""
        menu, slot = self.graph.menus[int(self.graph.visible[node])], int(course.choice[node])
        return menu.going[slot] if slot >= 0 else menu.ending[int(course.ending[node])]


class LeastPlan(Plan):
    """The backup that has least of a criterion: rewards are minus that. None is above zero, so nothing is gained."""

    def __init__(self, ground: Ground, criterion: Criterion) -> None:
        super().__init__(ground.graph, _Scaled(spend=criterion.spend))
        self.ground, self.criterion = ground, criterion
        self.values(np.array([ground.graph.root]), ground.depth)

    def commits(self, nodes: Ids) -> Array:
        """What each commit (n, E) is worth at `nodes`."""
        worth: Array = -(self.graph.beliefs(nodes) @ self.criterion.ends.T)
        return worth

    def best_ending(self, nodes: Ids) -> tuple[Array, Ids]:
        worth = self.commits(nodes)
        return worth.max(axis=1), choose(worth)

    def gains(self, nodes: Ids) -> Array:
        return np.zeros(len(nodes))

    def gains_within(self, nodes: Ids, horizon: int) -> Array:
        return np.zeros((len(nodes), 1 + self.graph.known.shape[1]))

    def _missing_layers(self, nodes: Ids, depth: int) -> dict[int, Ids]:
        for level in range(depth + 1):
            self._make_room(level)
        if not np.isnan(self._values[depth][nodes]).any():
            return {}
        return dict(enumerate(self.ground.layers[: depth + 1]))


@dataclass(frozen=True)
class _Scaled(Information):
    """Makes `spend` times its price of what a test costs."""

    spend: float = 1.0

    def going(self, graph: Graph, nodes: Ids) -> Array:
        result: Array = (self.spend - 1.0) * np.where(graph.known[nodes], graph.reward[nodes], 0.0)
        return result


class _Follower:
    """The choices of a LeastPlan, each made where it is met."""

    is_deterministic = True

    def __init__(self, plan: LeastPlan) -> None:
        self.plan, self.graph = plan, plan.graph
        self.choice: Ids = np.full(self.graph.size, -1)
        self.ending: Ids = np.full(self.graph.size, -1)

    def settle(self, nodes: Ids) -> None:
        left = int(self.plan.ground.left[nodes[0]])  # all of a layer have as many left
        if left:
            self.choice[nodes] = self.plan.choices(nodes, left)
        self.ending[nodes] = self.plan.best_ending(nodes)[1]

    def probabilities(self, nodes: Ids) -> tuple[Array, Array]:
        raise NotImplementedError("nothing is left to chance")
