"""Look-ahead for many versions of a diagnostic problem at once, which differ in numbers and share one decision tree.

Versions have other priors, likelihoods, costs or rewards, but the same tests and outcomes. So the nodes that `horizon`
tests can lead to are laid out once, by evidence alone. Beliefs are not normalised: the mass of a node in a state is the
joint probability of the state and the evidence. Values are then sums over the tree of masses times amounts, and nothing
is divided. As long as no test repeats, a number enters each product once: the value of a policy is linear in every
single number, and in all likelihoods of one test together. Divide a value by the mass of the root to get the ordinary
one.

Shapes: K versions, N nodes, M arcs (tests at nodes), B branches, T tests, O outcomes, S states, E decisions, m acts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rhoplan.belief_math.information import entropy
from rhoplan.budget import Budget
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.graph.row_index import spans
from rhoplan.graph.ties import first_best
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP, Array, Factor, Ids
from rhoplan.model.situation import UNKNOWN, observe_all

MOST_NODES = 100_000
"""Nodes that a tree may have."""

NUMBERS_AT_ONCE = 1_000_000
"""Branches of the tree times versions in one batch: 8 MB, several times over."""

LARGEST_LOG = 690.0
"""Logarithm of the largest ratio of two masses; beyond, floating-point numbers overflow."""


@dataclass(frozen=True, eq=False)
class ParameterBatch:
    """The numbers of K versions: prior (K, S), likelihood (K, T, O, S), cost (K, T), first (K, T): what a test adds if
    it is the first of its group; payoff (K, E, S)."""

    prior: Array
    likelihood: Array
    cost: Array
    first: Array
    payoff: Array

    @staticmethod
    def of(problem: POMDP, count: int = 1) -> ParameterBatch:
        """`count` versions with the numbers of `problem`, to be changed."""
        return ParameterBatch.stacked([problem] * count)

    @staticmethod
    def stacked(problems: Sequence[POMDP]) -> ParameterBatch:
        """The numbers of each of `problems`."""
        menus = [problem.flat for problem in problems]
        first = [[menu.first_prices.get(test.group, 0.0) for test in menu.tests] for menu in menus]
        return ParameterBatch(
            np.stack([problem.prior for problem in problems]),
            np.stack([_likelihoods(problem) for problem in problems]),
            np.array([[test.cost for test in menu.tests] for menu in menus], dtype=float),
            np.array(first, dtype=float),
            np.stack([menu.payoff for menu in menus]),
        )

    def __len__(self) -> int:
        return len(self.prior)

    def part(self, versions: slice | Ids) -> ParameterBatch:
        """Some of the versions."""
        return ParameterBatch(*(getattr(self, field.name)[versions] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class PolicyActs:
    """What several policies do: policy (m,), node (m,), the arc (m,) of a test or -1, then the terminal action (m,),
    and on how many paths (m,) the policy gets there."""

    policy: Ids
    node: Ids
    arc: Ids
    terminal: Ids
    paths: Array

    def of(self, policy: int) -> PolicyActs:
        """Those of one policy, alone."""
        mine = self.policy == policy
        return PolicyActs(self.policy[mine] * 0, self.node[mine], self.arc[mine], self.terminal[mine], self.paths[mine])


class DecisionTree:
    """Every node that `horizon` tests after `given` can lead to, whatever the numbers of `problem`.

    left_out: tests that are not available from now
    on. prices_vary: whether versions may differ in costs while there is a budget; then every test is laid out, and
    each version excludes those beyond its budget. LimitError if there are more than MOST_NODES nodes.

    root: the first node. names: of its actions, terminal ones first; `endings` of them are terminal.
    """

    def __init__(
        self,
        problem: POMDP,
        given: Sequence[tuple[str, str]],
        horizon: int,
        *,
        left_out: Collection[str] = (),
        prices_vary: bool = False,
    ) -> None:
        self.problem, self.horizon = problem, horizon
        self.has_budget = prices_vary and problem.flat.budget is not None
        generic = _generic(problem, prices_vary=prices_vary)
        graph = BeliefGraph(replace(generic, menu=generic.flat.without(left_out)), budget=Budget(nodes=MOST_NODES))
        start = observe_all(generic, given)
        # Where the tree begins only the tests done matter: after long evidence beliefs would be all but certain.
        self.root = int(graph.nodes([start.observable], (generic.prior[None],))[0])
        self.layers = [np.array([self.root])]
        for _ in range(horizon):
            graph.expand(self.layers[-1])
            graph.budget.check(graph.size, graph.nbytes)
            self.layers.append(graph.children(self.layers[-1]))
        self.size = graph.size
        self.names = graph.table.names(int(graph.observable[self.root]))
        self.endings = len(problem.flat.commits)
        self._tests = problem.flat.tests
        self._priced = list(problem.flat.first_prices)
        self._given = [self._result(*result) for result in given]
        self._lay_out(graph)

    @property
    def numbers(self) -> int:
        """Branches of the tree: the time that planning takes grows with them."""
        return len(self.child)

    @property
    def first_arc(self) -> int:
        """The first arc of the root; those of its tests follow in the order of `names`."""
        return int(self._first[self.root])

    @property
    def at_once(self) -> int:
        """Number of versions in one batch."""
        return max(1, NUMBERS_AT_ONCE // max(self.numbers, 1))

    def _result(self, name: str, outcome: str) -> tuple[int, int | None]:
        """Number of a test and place of its outcome, None if the outcome is unknown."""
        number = [test.name for test in self._tests].index(name)
        outcomes = self._tests[number].outcomes
        return number, None if outcome == UNKNOWN and outcome not in outcomes else outcomes.index(outcome)

    def _lay_out(self, graph: BeliefGraph) -> None:
        """Arrays of arcs: node, test, whether it opens its group, first branch, width (M,); and `child` (B,)."""
        nodes = np.unique(np.concatenate(self.layers[: self.horizon]))
        arcs = graph.arcs(nodes)
        tests = np.flatnonzero(~arcs.is_terminal)
        self.arc_node, self.width = arcs.node[tests], arcs.width[tests]
        self.branch = np.cumsum(self.width) - self.width
        self.child = graph.child[spans(arcs.branch[tests], self.width)].astype(np.int64)
        places = {test.name: place for place, test in enumerate(self._tests)}
        actions, back = np.unique(arcs.action[tests], return_inverse=True)
        number = [places[graph.table.actions[action].name] for action in actions.tolist()]
        self.test = np.array(number, dtype=np.int64)[back]
        observables, seen = np.unique(graph.observable[self.arc_node], return_inverse=True)
        paid = [_paid(graph.table.observables[observable]) for observable in observables.tolist()]
        self.opens = np.array(
            [self._tests[test].group not in paid[place] for test, place in zip(self.test, seen, strict=True)],
            dtype=float,
        )
        count = np.bincount(self.arc_node, minlength=self.size)
        self._first, self.count = np.cumsum(count) - count, count
        # Each node is derived from one parent, level by level.
        found = np.zeros(self.size, dtype=bool)
        found[self.root] = True
        self._levels: list[tuple[Ids, Ids, Ids]] = []
        for layer in self.layers[: self.horizon]:
            arc = self.arcs_of(layer)
            branch = spans(self.branch[arc], self.width[arc])
            owner = np.repeat(arc, self.width[arc])
            fresh = np.flatnonzero(~found[self.child[branch]])
            made, place = np.unique(self.child[branch[fresh]], return_index=True)
            found[made] = True
            by = owner[fresh[place]]
            self._levels.append((made, by, branch[fresh[place]] - self.branch[by]))

    def arcs_of(self, nodes: Ids) -> Ids:
        """The arcs of `nodes`, one node after the other."""
        return spans(self._first[nodes], self.count[nodes])

    def parts(self, numbers: ParameterBatch) -> Iterator[ParameterBatch]:
        """Versions in batches of moderate size."""
        for start in range(0, len(numbers), self.at_once):
            yield numbers.part(slice(start, start + self.at_once))

    def masses(self, numbers: ParameterBatch) -> Array:
        """The mass (K, N, S) of every node; in all 1 at the root for the numbers of the problem itself."""
        result = np.zeros((len(numbers), self.size, numbers.prior.shape[1]))
        logs = self._logs(numbers) - self._own_log
        result[:, self.root] = np.exp(np.where(logs < LARGEST_LOG, logs, -np.inf))
        for made, arc, outcome in self._levels:
            result[:, made] = result[:, self.arc_node[arc]] * numbers.likelihood[:, self.test[arc], outcome]
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

    # -- budgets --------------------------------------------------------------------------------------------------

    def over_budget(self, problems: Sequence[POMDP]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether the cost of `given` (K,), and that up to and with each arc (K, M), is beyond the version's budget."""
        bought = self._bought
        arcs = bought[self.arc_node] + self._purchases(self.test, self.opens)
        return self._over(problems, bought[[self.root]])[:, 0], self._over(problems, arcs)

    def _over(self, problems: Sequence[POMDP], bought: Ids) -> NDArray[np.bool_]:
        """In minor units, which floats add exactly up to 2^53."""
        menus = [problem.flat for problem in problems]
        prices = [
            [menu.in_minor_units(price) for price in (*(t.cost for t in menu.tests), *menu.first_prices.values())]
            for menu in menus
        ]
        limits = [np.inf if menu.budget is None else float(menu.in_minor_units(menu.budget)) for menu in menus]
        over: NDArray[np.bool_] = np.array(prices, dtype=float) @ bought.T > np.array(limits)[:, None]
        return over

    def _purchases(self, tests: Ids, opens: Array) -> Ids:
        """What running `tests` (n,) buys (n, items): the test, and the opening of its group."""
        items = np.zeros((len(tests), len(self._tests) + len(self._priced)), dtype=np.int64)
        items[np.arange(len(tests)), tests] = 1
        for place, test in enumerate(tests.tolist()):
            if self._tests[test].group in self._priced:
                items[place, len(self._tests) + self._priced.index(self._tests[test].group)] = opens[place]
        return items

    @cached_property
    def _bought(self) -> Ids:
        """How often each test and each opening of a group (N, items) was paid for on the way to a node."""
        bought = np.zeros((self.size, len(self._tests) + len(self._priced)), dtype=np.int64)
        groups = [self._tests[test].group for test, _ in self._given]
        opens = np.array([group not in groups[:place] for place, group in enumerate(groups)], dtype=float)
        tests = np.array([test for test, _ in self._given], dtype=np.int64)
        bought[self.root] = self._purchases(tests, opens).sum(axis=0)
        for made, arc, _ in self._levels:
            bought[made] = bought[self.arc_node[arc]] + self._purchases(self.test[arc], self.opens[arc])
        return bought


class BatchLookahead:
    """Look-ahead on `tree` for each version: reward plus `weight` per nat of information, in units of mass.

    problems: the versions as problems, needed where costs vary with a budget. terminal_rewards: as in
    `backup.LayerValues`.

    mass (K,): of the root; 0 where the evidence is impossible, or beyond the budget. commits (K, E): value of each
    terminal action at the root. reward, information (K, M): of arcs, times mass; minus infinity beyond the budget.
    """

    def __init__(
        self,
        tree: DecisionTree,
        numbers: ParameterBatch,
        *,
        weight: float = 0.0,
        discount: float = 1.0,
        terminal_rewards: bool = True,
        problems: Sequence[POMDP] = (),
    ) -> None:
        self.tree, self.numbers, self.weight = tree, numbers, weight
        self.discount, self.terminal_rewards = discount, terminal_rewards
        self.masses = tree.masses(numbers)
        total = self.masses.sum(axis=-1)
        self.mass = total[:, tree.root]
        price = numbers.cost[:, tree.test] + numbers.first[:, tree.test] * tree.opens
        self.reward = -price * total[:, tree.arc_node]
        self.information: Array = np.zeros_like(self.reward)
        self.entropy: Array = np.zeros_like(total)
        if weight:
            scale = np.where(total > 0, total, 1.0)[..., None]
            self.entropy = total * entropy(tree.problem.factors[0].asked(self.masses / scale))
            later = self._after(self.entropy, np.arange(len(tree.test)))
            self.information = np.maximum(self.entropy[:, tree.arc_node] - later, 0.0)
        if tree.has_budget and problems:
            given, arcs = tree.over_budget(problems)
            self.mass = np.where(given, 0.0, self.mass)
            self.reward[arcs] = -np.inf
        self.commits = np.einsum("ks,kes->ke", self.masses[:, tree.root], numbers.payoff)

    def first_actions(self) -> tuple[Array, Ids]:
        """Value (K, A) of each action at the root, in the order of `tree.names`, and the place (K,) of the best."""
        tree, (tests, choices) = self.tree, self._plans
        arc = choices[0][:, 0]
        terminal = self._terminals(np.arange(len(self.mass)), np.full(len(self.mass), tree.root))
        place = np.where(arc < 0, terminal, tree.endings + arc - tree.first_arc)
        return np.concatenate([self.commits, tests], axis=1), place

    def acts(self) -> PolicyActs:
        """The best policy of each version, as its acts."""
        tree, found = self.tree, []
        version, node = np.arange(len(self.mass)), np.full(len(self.mass), tree.root)
        paths: Array = np.ones(len(self.mass))
        for layer, choice in zip(tree.layers, self._plans[1], strict=True):
            arc = choice[version, np.searchsorted(layer, node)]
            terminal, goes = np.full(len(arc), -1), np.flatnonzero(arc >= 0)
            ends = np.flatnonzero(arc < 0)
            terminal[ends] = self._terminals(version[ends], node[ends])
            found.append((version, node, arc, terminal, paths))
            width = tree.width[arc[goes]]
            child = tree.child[spans(tree.branch[arc[goes]], width)]
            code, back = np.unique(np.repeat(version[goes], width) * tree.size + child, return_inverse=True)
            paths = np.bincount(back, weights=np.repeat(paths[goes], width), minlength=len(code)).astype(float)
            version, node = np.divmod(code, tree.size)
            if not len(code):
                break
        return PolicyActs(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def value_of(self, acts: PolicyActs, *, policies: int = 1, weight: float = 0.0) -> Array:
        """The value (K, policies) of given policies in each version; weight: of information."""
        tests = acts.arc >= 0
        amounts = np.empty((len(self.mass), len(acts.node)))
        arc, ends = acts.arc[tests], acts.node[~tests]
        amounts[:, tests] = self.reward[:, arc] + weight * self.information[:, arc]
        payoff = self.numbers.payoff[:, acts.terminal[~tests]]
        amounts[:, ~tests] = np.einsum("kms,kms->km", self.masses[:, ends], payoff)
        result = np.zeros((policies, len(self.mass)))
        np.add.at(result, acts.policy, (amounts * acts.paths).T)
        return result.T

    @cached_property
    def _plans(self) -> tuple[Array, list[Ids]]:
        """Value (K, n) of each test at the root, and for each layer the chosen arc (K, n) of its nodes, -1 to end."""
        tree, choices = self.tree, list[Ids]()
        value, absolute = np.zeros((2, *self.masses.shape[:2]))
        tests: Array = np.empty((len(self.mass), 0))
        for step in range(tree.horizon, -1, -1):
            nodes = tree.layers[step]
            arcs = tree.arcs_of(nodes) if step < tree.horizon else np.empty(0, dtype=np.int64)
            tests = self.reward[:, arcs] + self.weight * self.information[:, arcs]
            tests = tests + self.discount * self._after(value, arcs)
            size = np.where(np.isfinite(tests), np.abs(self.reward[:, arcs]), 0.0)
            size = size + self.discount * self._after(absolute, arcs)
            best, best_size = self._stopping(nodes)
            # The arcs of a node follow its terminal action.
            count = tree.count[nodes] if step < tree.horizon else np.zeros(len(nodes), dtype=np.int64)
            start = np.arange(len(nodes)) + np.cumsum(count) - count
            place = np.delete(np.arange(len(nodes) + len(arcs)), start)
            values, sizes = np.empty((2, len(self.mass), len(nodes) + len(arcs)))
            values[:, start], values[:, place] = best, tests
            sizes[:, start], sizes[:, place] = best_size, size
            rounding = np.repeat(abs(self.weight) * self.entropy[:, nodes], count + 1, axis=1)
            offset = (np.arange(len(self.mass)) * values.shape[1])[:, None] + start
            winner = first_best(values.ravel(), (sizes + rounding).ravel(), offset.ravel()) if len(nodes) else offset
            winner = winner.reshape(offset.shape)
            arc_at = np.full(values.shape[1], -1)
            arc_at[place] = arcs
            choices.append(arc_at[winner - (offset - start)])
            value, absolute = np.zeros((2, *self.masses.shape[:2]))
            value[:, nodes], absolute[:, nodes] = values.ravel()[winner], sizes.ravel()[winner]
        return tests, choices[::-1]

    def _stopping(self, nodes: Ids) -> tuple[Array, Array]:
        """Value and absolute value (K, n) of the best terminal action."""
        if not self.terminal_rewards:
            return np.zeros((len(self.mass), len(nodes))), np.zeros((len(self.mass), len(nodes)))
        masses, payoff = self.masses[:, nodes], self.numbers.payoff.swapaxes(1, 2)
        values = masses @ payoff
        best = values.argmax(axis=-1)[..., None]
        sizes = masses @ np.abs(payoff)
        return np.take_along_axis(values, best, -1)[..., 0], np.take_along_axis(sizes, best, -1)[..., 0]

    def _terminals(self, version: Ids, node: Ids) -> Ids:
        """The best terminal action (m,) of versions at nodes."""
        masses, payoff = self.masses[version, node], self.numbers.payoff[version]
        values, sizes = (np.einsum("ms,mes->me", masses, rewards) for rewards in (payoff, np.abs(payoff)))
        start = np.arange(0, values.size, values.shape[1])
        return first_best(values.ravel(), sizes.ravel(), start) - start if len(version) else node

    def _after(self, values: Array, arcs: Ids) -> Array:
        """The sum (K, m) of `values` (K, N) over the children of `arcs` (m,)."""
        if not len(arcs):
            return np.zeros((len(values), 0))
        tree, width = self.tree, self.tree.width[arcs]
        child = tree.child[spans(tree.branch[arcs], width)]
        result: Array = np.add.reduceat(values[:, child], np.cumsum(width) - width, axis=1)
        return result


def _paid(observable: object) -> frozenset[str]:
    return observable.paid if isinstance(observable, Done) else frozenset()


def _likelihoods(problem: POMDP) -> Array:
    """P(outcome | state) of every test as (T, O, S), with zeros for outcomes that a test does not have."""
    tests = problem.flat.tests
    result = np.zeros((len(tests), max([len(test.outcomes) for test in tests], default=0), len(problem.states)))
    for place, test in enumerate(tests):
        result[place, : len(test.outcomes)] = test.likelihood.T
    return result


def _generic(problem: POMDP, *, prices_vary: bool) -> POMDP:
    """`problem` with random numbers, none of them 0, so that different evidence gives different beliefs.

    Impossible evidence has nodes, too, with a mass of 0: were it left out, beliefs that are certain would be equal
    after different evidence, whose masses differ. With a budget and costs that vary, nothing is beyond the budget, and
    what was spent identifies the tests.
    """
    random = np.random.default_rng(20240608)

    def drawn(rows: Array) -> Array:
        mixed = random.uniform(0.5, 1.5, rows.shape)
        result: Array = mixed / mixed.sum(axis=-1, keepdims=True)
        return result

    menu, prior, factor = problem.flat, problem.prior, problem.factors[0]
    commits, tests = menu.commits, menu.tests
    if len(prior) == 1:  # beliefs about one state are all equal: a second state tells evidence apart
        factor = Factor(factor.name, (*factor.states, "other"), np.array([0.5, 0.5]))
        prior = factor.prior
        commits = tuple(replace(commit, reward=np.repeat(commit.reward, 2)) for commit in commits)
        tests = tuple(replace(test, likelihood=np.repeat(test.likelihood, 2, axis=0)) for test in tests)
    tests = tuple(replace(test, likelihood=drawn(test.likelihood)) for test in tests)
    prices, budget = dict(menu.first_prices), menu.budget
    if budget is None or prices_vary:
        tests = tuple(replace(test, cost=random.uniform(1, 2)) for test in tests)
        prices = {group: random.uniform(1, 2) for group in prices}
        budget = None if budget is None else math.inf
    menu = replace(menu, tests=tests, commits=commits, first_prices=prices, budget=budget)
    return replace(problem, factors=(replace(factor, prior=drawn(prior)),), menu=menu)
