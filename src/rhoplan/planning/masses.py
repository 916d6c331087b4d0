"""Thousands of versions of a flat problem by the masses of their courses: arrays in, the best plan of each out.

The mass of a course is the chance of its findings together with each state, prior times likelihoods. What a plan is
worth is a sum over its courses of mass times amounts (prices, losses), so backing up masses needs no division: it is
the one recursion of `exact` with chances of 1, stop rewards and prices multiplied by mass. As long as no test repeats,
a number enters each product once: a plan's worth is linear in every single number, and in all rows of one test.

Shapes: K versions, N nodes of the layout, T tests, O outcomes, S states, E commits, m acts of plans.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from rhoplan.belief.information import entropy
from rhoplan.graph.merging import numbered
from rhoplan.model.pomdp import Array, Ids, Problem
from rhoplan.planning.exact import Plan
from rhoplan.planning.versions import Copies, Layout, likelihoods


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers of K versions: prior (K, S), likelihood (K, T, O, S), cost (K, T), first (K, T): what a test adds
    where it opens its group; payoff (K, E, S)."""

    prior: Array
    likelihood: Array
    cost: Array
    first: Array
    payoff: Array

    @staticmethod
    def of(problem: Problem, count: int = 1) -> Numbers:
        """`count` versions with the numbers of `problem`, to be changed."""
        menu = problem.flat
        first = [menu.first_prices.get(test.group, 0.0) for test in menu.tests]
        own = (problem.prior, likelihoods(problem), [test.cost for test in menu.tests], first, menu.payoff)
        return Numbers(*(np.repeat(np.asarray(one, dtype=float)[None], count, axis=0) for one in own))

    def __len__(self) -> int:
        return len(self.prior)

    def part(self, versions: slice | Ids) -> Numbers:
        """Some of the versions."""
        return Numbers(*(getattr(self, field.name)[versions] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class Courses:
    """What plans do: plan (m,), node of the layout (m,), the slot (m,) taken there or -1, then the commit (m,), and in
    how many ways (m,) the plan comes there."""

    plan: Ids
    node: Ids
    slot: Ids
    commit: Ids
    ways: Array

    def of(self, plan: int) -> Courses:
        """Those of one plan, alone."""
        mine = self.plan == plan
        return Courses(self.plan[mine] * 0, self.node[mine], self.slot[mine], self.commit[mine], self.ways[mine])


class MassLayout(Layout):
    """A layout whose versions come as arrays. The cap on spending counts the prices of the layout's problem."""

    def weighed(self, numbers: Numbers, *, informs: bool = False) -> Copies:
        """The layout with masses for beliefs; information is left out unless it is asked for (`informs`)."""
        layout, count, size = self.graph, len(numbers), self.graph.size
        slots, outcomes = layout.next.shape[1:]
        masses = np.zeros((count, size, numbers.prior.shape[1]))
        masses[:, self.node] = self._seen(numbers)
        for made, parents, tests, seen in self._levels:
            masses[:, made] = masses[:, parents] * numbers.likelihood[:, tests, seen]
        total = masses.sum(axis=-1)
        reward = np.full((count, size * slots), -np.inf)
        unsure = self._unsure(masses, total) if informs else np.zeros((count, size))
        information = np.zeros((count, size * slots)) if informs else np.broadcast_to(0.0, (count, size * slots))
        for test, (nodes, slot, after, opens) in enumerate(self._arcs):
            place, price = nodes * slots + slot, numbers.cost[:, test, None] + numbers.first[:, test, None] * opens
            reward[:, place] = -price * total[:, nodes]
            if informs:
                possible = layout.next[nodes, slot, : after.shape[1]] >= 0
                later = (unsure[:, after] * possible).sum(axis=-1)
                information[:, place] = np.maximum(unsure[:, nodes] - later, 0.0)
        arcs = (
            np.broadcast_to(1.0, (count * size, slots, outcomes)),
            information.reshape(count * size, slots),
            reward.reshape(count * size, slots),
        )
        return self._copied(self.problem, masses, numbers.payoff, unsure, arcs, masses[:, self.node].sum(axis=-1))

    def _seen(self, numbers: Numbers) -> Array:
        """The mass (K, S) at which versions begin: of what was given with each state, where that of the stated numbers
        is 1 in all. So versions count as much as they explain what was seen."""
        found = self._joint(numbers)
        return found / self._joint(Numbers.of(self.problem)).sum() if self._given else found

    def _joint(self, numbers: Numbers) -> Array:
        mass = numbers.prior
        for test, outcome in self._given:
            mass = mass if outcome is None else mass * numbers.likelihood[:, test, outcome]
        return mass

    def courses(self, plan: Plan, copies: Copies, horizon: int) -> Courses:
        """The best plan of each version as its courses."""
        graph, size, found = plan.graph, self.graph.size, []
        nodes, ways = copies.start, np.ones(len(copies.start))
        for depth in range(horizon, -1, -1):
            slot = self._best(plan, nodes, depth)
            version, ends = nodes // size, slot < 0
            worth = np.einsum("ns,nes->ne", graph.beliefs(nodes), copies.graph.payoffs[version])
            found.append((version, nodes % size, slot, np.where(ends, worth.argmax(axis=1), -1), ways))
            after = graph.next[nodes[~ends], slot[~ends]]
            reached, count = after[after >= 0].astype(np.int64), np.repeat(ways[~ends], (after >= 0).sum(axis=1))
            if not reached.size:
                break
            nodes, place = numbered(reached, graph.size)
            ways = np.bincount(place, weights=count).astype(float, copy=False)
        return Courses(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def worth(self, courses: Courses, copies: Copies, *, weight: float = 0.0, plans: int = 1) -> Array:
        """What each plan is worth (K, plans) in each version of `copies`; weight: of information, where that counts."""
        graph, count = copies.graph, len(copies.start)
        nodes = np.arange(count)[:, None] * self.graph.size + courses.node
        tests = courses.slot >= 0
        amounts = np.empty((count, len(courses.node)))
        amounts[:, tests] = graph.reward[nodes[:, tests], courses.slot[tests]]
        if weight:
            amounts[:, tests] += weight * graph.information[nodes[:, tests], courses.slot[tests]]
        paid = graph.payoffs[:, courses.commit[~tests]]
        amounts[:, ~tests] = np.einsum("kms,kms->km", graph.beliefs(nodes[:, ~tests].ravel()).reshape(paid.shape), paid)
        result = np.zeros((plans, count))
        np.add.at(result, courses.plan, (amounts * courses.ways).T)
        return result.T

    def _best(self, plan: Plan, nodes: Ids, depth: int) -> Ids:
        """The slot (n,) to take at `nodes`, or -1: the best value of `depth` actions, ending where that is as good."""
        if depth == 0:
            return np.full(len(nodes), -1)
        ending, going, _ = plan.action_values(nodes, depth)
        best = going.max(axis=1, initial=-np.inf)
        return np.where(best > ending, going.argmax(axis=1) if going.shape[1] else -1, -1)

    def _unsure(self, masses: Array, total: Array) -> Array:
        """Mass times entropy (K, N)."""
        beliefs = np.divide(masses, total[..., None], out=np.zeros_like(masses), where=total[..., None] > 0)
        result: Array = total * entropy(self.problem.factors[0].asked(beliefs))
        return result
