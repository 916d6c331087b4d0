"""The cheapest deterministic policy under constraints: enumeration of sub-policies with small reduced cost.

At the prices of the best randomised policy (`constrained`), the reduced cost of a policy is what its actions cost more
than the best ones, each times the probability of getting there. A policy that satisfies the constraints costs at least
the value of the randomised policy plus its reduced cost. So if all policies with a reduced cost of at most `room` are
listed, and one of them satisfies the constraints and costs at most that value plus `room`, the cheapest of them is
optimal. Sub-policies that another one dominates in all criteria are dropped.

Shapes: n sub-policies, C constraints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rhoplan.graph.row_index import spans
from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.constrained import (
    UNREACHED,
    ConstrainedProblem,
    Constraint,
    Mixture,
    TabularPolicy,
)

EQUAL = 1e-14
"""Relative difference below which totals are the same up to rounding."""


@dataclass(frozen=True)
class EnumerationSettings:
    """Limits of the enumeration.

    work: sums of sub-policies that are formed at most, a second or two. node: sums that take as long as listing the
    actions of a node; comparisons: comparisons of sub-policies that take as long as a sum. first_room: reduced cost of
    the policies that are listed first, relative to the largest one; growth: its factor from one list to the next.
    """

    work: int = 2_000_000
    node: int = 350
    comparisons: int = 8
    first_room: float = 1e-5
    growth: float = 4.0


@dataclass(frozen=True, eq=False)
class DeterministicResult:
    """The cheapest deterministic policy found, None and infinity if none was. lower: no deterministic policy that
    satisfies the constraints costs less. is_proven: whether it is the cheapest, or it is certain that there is none."""

    policy: TabularPolicy | None
    value: float
    lower: float
    is_proven: bool


def cheapest_deterministic(
    problem: ConstrainedProblem,
    cost: Array,
    constraints: Sequence[Constraint],
    *,
    mixture: Mixture,
    known: Sequence[TabularPolicy] = (),
) -> DeterministicResult:
    """The cheapest deterministic policy that satisfies `constraints`; best effort if there are too many sub-policies.

    mixture: the cheapest randomised policy. known: policies that may satisfy the constraints.
    """
    feasible = [one for one in (*mixture.policies, *known) if all(limit.holds(one) for limit in constraints)]
    best = min(feasible, key=lambda one: one.total(cost), default=None)
    lower = floor = mixture.value - mixture.gap
    search = _Enumeration(problem, cost, constraints, prices=mixture.prices)
    settings = search.settings
    tolerance = 8 * RELATIVE_TOLERANCE * (search.largest + abs(floor))
    room = settings.first_room * search.largest + tolerance
    while (value := _cost_of(best, cost)) > lower + tolerance:
        room = min(room, value - floor + tolerance)
        try:
            found = search.policies(room)
        except (_TooManyError, RecursionError):
            break
        best = search.first_feasible(found, value) or best
        value = _cost_of(best, cost)
        lower = max(lower, min(found[0][0] if found else math.inf, floor + room))
        if room >= min(search.largest, value - floor) + tolerance:
            lower = found[0][0] if found else value  # all policies have been listed
            break
        room *= settings.growth
    value = _cost_of(best, cost)
    return DeterministicResult(best, value, lower, value <= lower + tolerance)


def _cost_of(policy: TabularPolicy | None, cost: Array) -> float:
    return math.inf if policy is None else policy.total(cost)


class _TooManyError(Exception):
    """There are more sub-policies than the settings allow."""


Tree: TypeAlias = "tuple[int, tuple[tuple[int, Tree], ...]]"
"""A sub-policy: the place of its action, and the sub-policy at each node that follows."""


@dataclass(frozen=True, eq=False)
class _SubPolicies:
    """Sub-policies from a node on: totals (n, 1 + C) of cost and criteria, reduced costs (n,), and what they do.

    room: all with at most this reduced cost are there, except dominated ones.
    """

    room: float
    totals: Array
    reduced: Array
    trees: list[Tree]


class _Enumeration:
    """Lists policies with small reduced cost at the `prices` of the constraints."""

    settings = EnumerationSettings()

    def __init__(
        self,
        problem: ConstrainedProblem,
        cost: Array,
        constraints: Sequence[Constraint],
        *,
        prices: Sequence[float],
    ) -> None:
        self.problem, self.graph = problem, problem.graph
        self.constraints = constraints
        criteria = np.stack([cost, *(one.criterion for one in constraints)])
        priced = np.append(1.0, prices) @ criteria
        self.least, self.price_of_spend, self.spend = problem.least(priced), float(priced[0]), criteria[:, 0]
        self.endings = np.stack([problem.endings(one) for one in criteria], axis=1)  # (E, 1 + C, S)
        self.largest = problem.largest(priced)
        self._work_left = self.settings.work
        self._known: dict[int, _SubPolicies] = {}

    def policies(self, room: float) -> list[tuple[float, Tree]]:
        """Cost and tree of policies with a reduced cost of at most `room` that satisfy the constraints, by cost."""
        found = self._at(self.graph.root, room)
        limits = np.array([one.most for one in self.constraints])
        sound = np.flatnonzero((found.totals[:, 1:] <= limits * (1 + RELATIVE_TOLERANCE)).all(axis=1))
        order = sound[np.argsort(found.totals[sound, 0], kind="stable")]
        return [(float(found.totals[place, 0]), found.trees[place]) for place in order.tolist()]

    def first_feasible(self, policies: list[tuple[float, Tree]], value: float) -> TabularPolicy | None:
        """The first policy that costs less than `value` and satisfies the constraints when it is followed."""
        for cost, tree in policies:
            if cost >= value:
                return None
            policy = self._policy(tree)
            if policy is not None and all(one.holds(policy) for one in self.constraints):
                return policy
        return None

    def _at(self, node: int, room: float) -> _SubPolicies:
        """Sub-policies at `node` with a reduced cost of at most `room`."""
        known = self._known.get(node)
        if known is not None and known.room >= room:
            return known
        if known is not None:  # a path of smaller probability needs more: list enough for some others, too
            room = max(room, 2 * known.room)
        self._use(self.settings.node)
        reduced = self.least.stopping[node] - self.least.value[node]
        ends = np.flatnonzero(reduced <= room)
        belief = self.graph.beliefs(np.array([node]))[0]
        totals = self.endings[ends] @ belief
        found: list[tuple[Array, Array, list[Tree]]] = [
            (totals, reduced[ends], [(place, ()) for place in ends.tolist()])
        ]
        if self.problem.left[node]:
            found += self._tests(node, room)
        totals, reduced = (np.concatenate([one[place] for one in found]) for place in (0, 1))
        trees = [tree for _, _, some in found for tree in some]
        kept = self._non_dominated(totals)
        self._known[node] = _SubPolicies(room, totals[kept], reduced[kept], [trees[place] for place in kept.tolist()])
        return self._known[node]

    def _tests(self, node: int, room: float) -> list[tuple[Array, Array, list[Tree]]]:
        """Sub-policies that begin with each test: totals, reduced costs and trees."""
        arcs, found = self.graph.arcs(np.array([node])), []
        for arc in np.flatnonzero(~arcs.is_terminal).tolist():
            branches = spans(arcs.branch[arc : arc + 1], arcs.width[arc : arc + 1])
            child, probability = self.graph.child[branches], self.graph.probability[branches]
            possible = (child >= 0) & (probability > 0)
            child, probability = child[possible].astype(np.int64), probability[possible]
            total = float(-arcs.reward[arc] * self.price_of_spend + probability @ self.least.value[child])
            reduced = total - self.least.value[node]
            if reduced <= room:
                root = -arcs.reward[arc] * self.spend[None, :], np.array([reduced]), int(arcs.place[arc])
                found.append(self._combined(root, list(zip(child.tolist(), probability.tolist(), strict=True)), room))
        return found

    def _combined(
        self, root: tuple[Array, Array, int], branches: list[tuple[int, float]], room: float
    ) -> tuple[Array, Array, list[Tree]]:
        """Every combination of sub-policies for the observations of one test, within `room`."""
        totals, reduced, action = root
        after: list[tuple[tuple[int, Tree], ...]] = [()]
        for child, probability in branches:
            below = self._at(child, (room - float(root[1][0])) / probability)
            self._use(len(totals) * len(below.totals))
            both = (reduced[:, None] + probability * below.reduced).ravel()
            inside = np.flatnonzero(both <= room)
            sums = (totals[:, None] + probability * below.totals).reshape(len(both), -1)[inside]
            kept = inside[self._non_dominated(sums)]
            first, second = np.divmod(kept, len(below.totals))
            totals, reduced = totals[first] + probability * below.totals[second], both[kept]
            pairs = zip(first.tolist(), second.tolist(), strict=True)
            after = [(*after[row], (child, below.trees[place])) for row, place in pairs]
        return totals, reduced, [(action, some) for some in after]

    def _use(self, work: int) -> None:
        self._work_left -= work
        if self._work_left < 0:
            raise _TooManyError

    def _non_dominated(self, totals: Array) -> Ids:
        """Rows of `totals` (n, k) that no other row matches or beats in every column; of equal rows one is kept."""
        size = np.abs(totals).max(axis=0) + np.finfo(float).tiny
        left: Ids = np.argsort((totals / size).sum(axis=1), kind="stable")
        kept: list[int] = []
        while left.size:
            self._use(left.size // self.settings.comparisons)
            row = totals[left[0]]  # it has the smallest sum of the rows left: none of them dominates it
            kept.append(int(left[0]))
            left = left[(totals[left] < row - EQUAL * np.abs(row)).any(axis=1)]
        return np.array(kept, dtype=np.int64)

    def _policy(self, tree: Tree) -> TabularPolicy | None:
        """The policy of `tree`; None if paths that meet at one node have different actions there."""
        places: Ids = np.full(self.problem.size, UNREACHED)
        waiting = [(self.graph.root, tree)]
        while waiting:
            node, (place, after) = waiting.pop()
            if places[node] not in (UNREACHED, place):
                return None
            places[node] = place
            waiting += after
        return self.problem.follow(places)
