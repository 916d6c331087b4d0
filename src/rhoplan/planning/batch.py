"""Look-ahead for many versions of a diagnostic problem at once, which differ in numbers and share one decision tree.

Versions have other priors, likelihoods, costs or rewards, but the same tests and outcomes. So the nodes that `horizon`
tests can lead to are laid out once, by evidence alone. Beliefs are not normalised: the mass of a node in a state is the
joint probability of the state and the evidence. Values are sums over the tree of masses times amounts, and nothing is
divided. As long as no test repeats, the value of a policy is linear in every single number, and in all likelihoods of
one test together. Divide a value by the mass of the root to get the ordinary one.

Shapes: K versions, N nodes, M arcs (actions at nodes), T tests, O outcomes, S states, E terminal actions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rhoplan.belief_math.information import entropy
from rhoplan.budget import Budget
from rhoplan.graph.action_table import ActionTable
from rhoplan.graph.belief_graph import chunks
from rhoplan.graph.row_index import Keys, RowIndex, spans
from rhoplan.graph.ties import first_best
from rhoplan.model.belief import UNKNOWN
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP, Array, Ids

LARGEST_LOG = 690.0
"""Logarithm of the largest ratio of two masses; beyond, floating-point numbers overflow."""


@dataclass(frozen=True)
class TreeLimits:
    """nodes: of a decision tree, at most. branches: of the tree times versions in one batch, 8 MB several times."""

    nodes: int = 100_000
    branches: int = 1_000_000


@dataclass(frozen=True, eq=False)
class ParameterBatch:
    """The numbers of K versions: prior (K, S), likelihood (K, T, O, S), cost (K, T), first (K, T): what a test adds if
    it is the first of its group; payoff (K, E, S); budget (K,), infinity for none. minor_units (K,): of one unit."""

    prior: Array
    likelihood: Array
    cost: Array
    first: Array
    payoff: Array
    budget: Array
    minor_units: Array

    @staticmethod
    def of(problem: POMDP, count: int = 1) -> ParameterBatch:
        """`count` versions with the numbers of `problem`, to be changed."""
        return ParameterBatch.stacked([problem] * count)

    @staticmethod
    def stacked(problems: Sequence[POMDP]) -> ParameterBatch:
        """The numbers of each of `problems`."""
        menus = [problem.flat for problem in problems]
        return ParameterBatch(
            np.stack([problem.prior for problem in problems]),
            np.stack([_likelihoods(problem) for problem in problems]),
            np.array([[test.cost for test in menu.tests] for menu in menus], dtype=float),
            np.array([[menu.first_prices.get(test.group, 0.0) for test in menu.tests] for menu in menus], dtype=float),
            np.stack([menu.payoff for menu in menus]),
            np.array([math.inf if menu.budget is None else menu.budget for menu in menus]),
            np.array([menu.minor_units for menu in menus], dtype=float),
        )

    def __len__(self) -> int:
        return len(self.prior)

    def part(self, versions: slice | Ids) -> ParameterBatch:
        """Some of the versions."""
        return ParameterBatch(*(getattr(self, field.name)[versions] for field in fields(self)))

    def in_minor_units(self) -> tuple[Array, Array, Array]:
        """Costs, first prices and budgets as whole numbers, which floats add exactly up to 2^53."""
        units = self.minor_units[:, None]
        return np.rint(self.cost * units), np.rint(self.first * units), np.rint(self.budget * self.minor_units)


@dataclass(frozen=True, eq=False)
class PolicyActs:
    """What several policies do: policy (m,), node (m,), arc (m,), on how many paths (m,) the policy gets there, and the
    terminal action (m,) if the arc is one, else -1."""

    policy: Ids
    node: Ids
    arc: Ids
    terminal: Ids
    paths: Array


@dataclass(frozen=True, eq=False)
class _Layer:
    """The nodes that equally many tests lead to, and their arcs. start (n,): where the arcs of each node begin, within
    the layer. after: sparse matrix of ones (m, n'), from arcs to the nodes of the next layer."""

    nodes: slice
    arcs: slice
    start: Ids
    after: Any


class DecisionTree:
    """Every node that `horizon` tests after `given` can lead to, whatever the numbers of `problem`.

    left_out: tests that are not available from now on. prices_vary: whether versions may differ in costs while there is
    a budget; then every test is laid out, and each version excludes those beyond its budget. LimitError if there are
    more nodes than `limits` allow.

    The root is node 0. The arcs of a node are one for its best terminal action, then its tests. arc_node, test, opens
    (M,): node, test (-1 for terminal actions), and whether the test is the first of its group. parent, outcome (N,):
    the arc and the outcome that a node is derived from. names: of the actions of the root, terminal ones first;
    `endings` of them are terminal. branches: outcomes of all arcs; the time that planning takes grows with them.
    """

    def __init__(
        self,
        problem: POMDP,
        given: Sequence[tuple[str, str]],
        horizon: int,
        *,
        left_out: Collection[str] = (),
        prices_vary: bool = False,
        limits: TreeLimits | None = None,
    ) -> None:
        self.problem, self.horizon, self.limits = problem, horizon, limits or TreeLimits()
        self.has_budget = prices_vary and problem.flat.budget is not None
        menu = problem.flat
        if prices_vary or menu.budget is None:
            # Groups whose first price is 0 in this problem may have one in a version.
            menu = replace(menu, budget=None, first_prices=dict.fromkeys(menu.first_prices, 1.0))
        start = replace(problem, menu=menu).belief(given=given).observable
        table = ActionTable(replace(problem, menu=menu.without(left_out)))
        self.names, self.endings = table.names(table.observable_id(start)), len(menu.commits)
        self._tests = menu.tests
        self._given = [self._result(*result) for result in given]
        self._lay_out(table)

    @property
    def at_once(self) -> int:
        """Number of versions in one batch."""
        return max(1, self.limits.branches // max(self.branches, 1))

    def _result(self, name: str, outcome: str) -> tuple[int, int | None]:
        """Number of a test and place of its outcome, None if the outcome is unknown."""
        number = [test.name for test in self._tests].index(name)
        outcomes = self._tests[number].outcomes
        return number, None if outcome == UNKNOWN and outcome not in outcomes else outcomes.index(outcome)

    def _lay_out(self, table: ActionTable) -> None:
        """Grow the tree layer by layer. Evidence is the sum of random numbers, two for each of its results."""
        from scipy.sparse import csr_array

        most = max([len(test.outcomes) for test in self._tests], default=0)
        code: Keys = np.random.default_rng(20240608).integers(2**64, size=(len(self._tests), most, 2), dtype=np.uint64)
        evidence: Keys = np.zeros((1, 2), dtype=np.uint64)
        index = RowIndex(lambda ids: evidence[ids])
        index.identify(evidence)
        observable, budget = np.zeros(1, dtype=np.int64), Budget(nodes=self.limits.nodes)
        arcs, parents, self.layers = [], [(np.full(1, -1),) * 2], list[_Layer]()
        first, self.branches = 0, 0
        for step in range(self.horizon + 1):
            nodes = slice(index.size - len(observable), index.size)
            terminal = table.terminal_count[observable]
            tests = (table.count[observable] - terminal) * (step < self.horizon)
            start, owner = np.cumsum(1 + tests) - 1 - tests, np.repeat(np.arange(len(observable)), 1 + tests)
            actions, goes = spans(table.first[observable] + terminal, tests), np.delete(np.arange(len(owner)), start)
            test, opens, width = np.full(len(owner), -1), np.zeros(len(owner)), np.zeros(len(owner), dtype=np.int64)
            test[goes], opens[goes] = self._tests_run(table, actions, observable[owner[goes]])
            width[goes] = table.outcomes[actions]
            arc, outcome = np.repeat(np.arange(len(owner)), width), spans(np.zeros_like(width), width)
            child, fresh = np.empty(len(arc), dtype=np.int64), np.zeros(len(arc), dtype=bool)
            for part in chunks(np.ones_like(arc)):
                rows = evidence[nodes][owner[arc[part]]] + code[test[arc[part]], outcome[part]]
                child[part], new = index.identify(rows)
                evidence, fresh[part][new] = np.concatenate([evidence, rows[new]]), True
                budget.check(index.size, 0)
            shape = len(owner), index.size - nodes.stop
            after = csr_array((np.ones(len(arc)), child - nodes.stop, np.append(0, np.cumsum(width))), shape=shape)
            self.layers.append(_Layer(nodes, slice(first, first + len(owner)), start, after))
            arcs.append((nodes.start + owner, test, opens))
            parents.append((first + arc[fresh], outcome[fresh]))
            observable, first = table.targets(actions)[fresh], first + len(owner)
            self.branches += len(arc)
        self.size = index.size
        self.arc_node, self.test, self.opens = (np.concatenate(column) for column in zip(*arcs, strict=True))
        self.parent, self.outcome = (np.concatenate(column) for column in zip(*parents, strict=True))

    def _tests_run(self, table: ActionTable, actions: Ids, observable: Ids) -> tuple[Ids, Array]:
        """The number (m,) of each test, and whether (m,) it is the first of its group."""
        places = {test.name: place for place, test in enumerate(self._tests)}
        every, first, back = np.unique(actions, return_index=True, return_inverse=True)
        tests = [places[table.actions[action].name] for action in every.tolist()]
        done = [cast(Done, table.observables[number]) for number in observable[first].tolist()]
        opens = [self._tests[test].group not in before.paid for test, before in zip(tests, done, strict=True)]
        return np.array(tests, dtype=np.int64)[back], np.array(opens, dtype=float)[back]

    def parts(self, numbers: ParameterBatch) -> Iterator[ParameterBatch]:
        """Versions in batches of moderate size."""
        for start in range(0, len(numbers), self.at_once):
            yield numbers.part(slice(start, start + self.at_once))

    def masses(self, numbers: ParameterBatch) -> Array:
        """The mass (K, N, S) of every node; in all 1 at the root for the numbers of the problem itself."""
        result = np.empty((len(numbers), self.size, numbers.prior.shape[1]))
        logs = self._logs(numbers) - self._own_log
        result[:, 0] = np.exp(np.where(logs < LARGEST_LOG, logs, -np.inf))
        for layer in self.layers[1:]:
            arc = self.parent[layer.nodes]
            chance = numbers.likelihood[:, self.test[arc], self.outcome[layer.nodes]]
            result[:, layer.nodes] = result[:, self.arc_node[arc]] * chance
        return result

    def _logs(self, numbers: ParameterBatch) -> Array:
        """Logarithm (K, S) of the joint probability of state and `given`: long evidence is below any float."""
        with np.errstate(divide="ignore"):
            logs = np.log(numbers.prior)
            for test, outcome in self._given:
                logs = logs if outcome is None else logs + np.log(numbers.likelihood[:, test, outcome])
        return logs

    @cached_property
    def _own_log(self) -> float:
        """Logarithm of the probability of `given` for the numbers of the problem; 0 if it is impossible."""
        total = float(np.logaddexp.reduce(self._logs(ParameterBatch.of(self.problem))[0]))
        return total if math.isfinite(total) and self._given else 0.0

    def prices(self, cost: Array, first: Array) -> Array:
        """What each arc costs (K, M), given costs and first prices (K, T) of tests."""
        result = np.zeros((len(cost), len(self.test)))
        runs = np.flatnonzero(self.test >= 0)
        result[:, runs] = cost[:, self.test[runs]] + first[:, self.test[runs]] * self.opens[runs]
        return result

    def over_budget(self, numbers: ParameterBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether the cost of `given` (K,), and that up to and with each arc (K, M), is beyond the version's budget."""
        cost, first, budget = numbers.in_minor_units()
        price, spent = self.prices(cost, first), np.zeros((len(numbers), self.size))
        for place, (test, _) in enumerate(self._given):
            is_first = all(self._tests[test].group != self._tests[other].group for other, _ in self._given[:place])
            spent[:, 0] += cost[:, test] + first[:, test] * is_first
        for layer in self.layers[1:]:
            arc = self.parent[layer.nodes]
            spent[:, layer.nodes] = spent[:, self.arc_node[arc]] + price[:, arc]
        return spent[:, 0] > budget, spent[:, self.arc_node] + price > budget[:, None]


class BatchLookahead:
    """Look-ahead on `tree` for each version: reward plus `weight` per nat of information, in units of mass.

    terminal_rewards: as in `backup.LayerValues`.

    mass (K,): of the root; 0 where the evidence is impossible, or beyond the budget. entropy (K, N): of nodes. reward,
    information (K, M): of arcs, all times mass; minus infinity beyond the budget.
    """

    def __init__(
        self,
        tree: DecisionTree,
        numbers: ParameterBatch,
        *,
        weight: float = 0.0,
        discount: float = 1.0,
        terminal_rewards: bool = True,
    ) -> None:
        self.tree, self.numbers, self.weight = tree, numbers, weight
        self.discount, self.terminal_rewards = discount, terminal_rewards
        self.masses = tree.masses(numbers)
        total = self.masses.sum(axis=-1)
        self.mass = total[:, 0]
        self.reward = -tree.prices(numbers.cost, numbers.first) * total[:, tree.arc_node]
        self.information: Array = np.zeros_like(self.reward)
        self.entropy: Array = np.zeros_like(total)
        if weight:
            scale = np.where(total > 0, total, 1.0)[..., None]
            self.entropy = total * entropy(tree.problem.factors[0].about(self.masses / scale))
            for layer, below in pairwise(tree.layers):
                gained = self.entropy[:, tree.arc_node[layer.arcs]] - _sums(layer, self.entropy[:, below.nodes])
                self.information[:, layer.arcs] = np.maximum(gained, 0.0)
            self.information[:, tree.test < 0] = 0.0
        if tree.has_budget:
            given, arcs = tree.over_budget(numbers)
            self.mass = np.where(given, 0.0, self.mass)
            self.reward[arcs & (tree.test >= 0)] = -np.inf

    def first_actions(self) -> tuple[Array, Ids]:
        """Value (K, A) of each action at the root, in the order of `tree.names`, and the place (K,) of the best."""
        values, arc, terminal = self._plan
        worth = np.einsum("ks,kes->ke", self.masses[:, 0], self.numbers.payoff)
        place = np.where(arc[:, 0] > 0, self.tree.endings - 1 + arc[:, 0], terminal[:, 0])
        return np.concatenate([worth, values[:, 1:]], axis=1), place

    def acts(self) -> PolicyActs:
        """The best policy of each version, as its acts."""
        tree, (_, choices, terminals) = self.tree, self._plan
        paths: Array = np.zeros((len(self.mass), tree.size))
        paths[:, 0] = 1.0
        for layer, below in pairwise(tree.layers):
            taken = np.zeros((len(self.mass), len(tree.arc_node[layer.arcs])))
            np.put_along_axis(taken, choices[:, layer.nodes] - layer.arcs.start, paths[:, layer.nodes], axis=1)
            paths[:, below.nodes] = taken @ layer.after
        version, node = np.nonzero(paths)
        arc = choices[version, node]
        terminal = np.where(tree.test[arc] < 0, terminals[version, node], -1)
        return PolicyActs(version, node, arc, terminal, paths[version, node])

    def value_of(self, acts: PolicyActs, *, policies: int = 1, weight: float = 0.0) -> Array:
        """The value (K, policies) of given policies in each version; weight: of information."""
        amounts, ends = np.empty((len(self.mass), len(acts.node))), acts.terminal >= 0
        arc = acts.arc[~ends]
        amounts[:, ~ends] = self.reward[:, arc] + weight * self.information[:, arc]
        payoff = self.numbers.payoff[:, acts.terminal[ends]]
        amounts[:, ends] = np.einsum("kms,kms->km", self.masses[:, acts.node[ends]], payoff)
        result = np.zeros((policies, len(self.mass)))
        np.add.at(result, acts.policy, (amounts * acts.paths).T)
        return result.T

    @cached_property
    def _plan(self) -> tuple[Array, Ids, Ids]:
        """Value (K, m) of the arcs of the root; at each node (K, N) the chosen arc and the best terminal action."""
        count = len(self.mass)
        value, absolute = np.zeros((2, count, 0))
        values, (choices, terminals) = value, np.empty((2, count, self.tree.size), dtype=np.int64)
        for layer in reversed(self.tree.layers):
            reward, start = self.reward[:, layer.arcs], layer.start
            values = reward + self.weight * self.information[:, layer.arcs] + self.discount * _sums(layer, value)
            sizes = np.where(np.isfinite(reward), np.abs(reward), 0.0) + self.discount * _sums(layer, absolute)
            values[:, start], sizes[:, start], terminals[:, layer.nodes] = self._stopping(layer.nodes)
            rounding = abs(self.weight) * self.entropy[:, self.tree.arc_node[layer.arcs]]
            best = _first_best(values, sizes + rounding, start)
            choices[:, layer.nodes] = layer.arcs.start + best
            value, absolute = np.take_along_axis(values, best, 1), np.take_along_axis(sizes, best, 1)
        return values, choices, terminals

    def _stopping(self, nodes: slice) -> tuple[Array, Array, Ids]:
        """Value and absolute value (K, n) of the best terminal action, and which (K, n) it is."""
        masses, payoff = self.masses[:, nodes], self.numbers.payoff.swapaxes(1, 2)
        shape, start = masses.shape[:2], np.arange(masses.shape[1]) * payoff.shape[2]
        values, sizes = ((masses @ rewards).reshape(len(masses), -1) for rewards in (payoff, np.abs(payoff)))
        best = _first_best(values, sizes, start)
        if not self.terminal_rewards:
            return np.zeros(shape), np.zeros(shape), best - start
        return np.take_along_axis(values, best, 1), np.take_along_axis(sizes, best, 1), best - start


def _first_best(values: Array, sizes: Array, start: Ids) -> Ids:
    """In each row of `values` (K, m), the first best one (K, n) of each group; group i begins at start[i]."""
    offset = np.arange(len(values))[:, None] * values.shape[1]
    found: Ids = first_best(values.ravel(), sizes.ravel(), (offset + start).ravel()).reshape(len(values), -1) - offset
    return found


def _sums(layer: _Layer, values: Array) -> Array:
    """The sum (K, m) of `values` (K, n') of nodes of the next layer over the children of each arc of `layer`."""
    result: Array = (layer.after @ np.ascontiguousarray(values.T)).T
    return result


def _likelihoods(problem: POMDP) -> Array:
    """P(outcome | state) of every test as (T, O, S), with zeros for outcomes that a test does not have."""
    tests = problem.flat.tests
    result = np.zeros((len(tests), max([len(test.outcomes) for test in tests], default=0), len(problem.states)))
    for place, test in enumerate(tests):
        result[place, : len(test.outcomes)] = test.likelihood.T
    return result
