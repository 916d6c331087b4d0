"""One graph for many versions of a flat problem that differ in numbers only: priors, likelihoods, prices, rewards.

What can be done and seen is the same in all versions. So situations are laid out once, by evidence alone, and every
version gets a copy of them with its own beliefs, probabilities, information and rewards. Copy k of node n is node
k * N + n of one graph: a Plan on it answers for all versions at once.

Shapes: K versions, N nodes of the layout, T tests, O outcomes, S states, E commits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rhoplan.belief.information import entropy, gain
from rhoplan.belief.situation import UNKNOWN, observe_all
from rhoplan.graph.graph import Graph
from rhoplan.graph.ties import choose
from rhoplan.model.diagnostic import Done, Test
from rhoplan.model.pomdp import Array, Ids, Problem
from rhoplan.planning.exact import Plan
from rhoplan.planning.utility import Utility

MOST_NODES = 100_000
"""Situations that a layout may have."""

NUMBERS_AT_ONCE = 1_000_000
"""How many arc probabilities the copies of one graph may have together: 8 MB, several times over."""


MOST_LOG = 690.0
"""ln of the largest chance, in terms of the usual one, that is compared: beyond, floats end."""


class VersionsGraph(Graph):
    """A layout, or versions of it on one graph; payoffs (K, E, S): the rewards of each version's commits."""

    payoffs: Array

    def commit_gains(self, nodes: Ids) -> Array:
        """The gains (n, E) in the value of each commit at `nodes`."""
        version = nodes // (self.size // len(self.payoffs))
        gains: Array = np.einsum("ns,nes->ne", self.beliefs(nodes), np.maximum(self.payoffs[version], 0.0))
        return gains

    def stop_gains(self, nodes: Ids) -> Array:
        version = nodes // (self.size // len(self.payoffs))
        best = np.einsum("ns,nes->ne", self.beliefs(nodes), self.payoffs[version]).argmax(axis=1)
        gains: Array = self.commit_gains(nodes)[np.arange(len(nodes)), best]
        return gains


@dataclass(frozen=True, eq=False)
class Copies:
    """K versions of a layout on one graph.

    start (K,): the node at which each begins. evidence (K,): the chance of what was given. commits (K, E): what each
    commit is worth there. allowed (K,): how many arcs no budget bars.
    """

    graph: VersionsGraph
    start: Ids
    evidence: Array
    commits: Array
    allowed: Ids


class VersionsPlan(Plan):
    """A plan on copies of a layout: which values follow from which is the same in all, and known."""

    def __init__(
        self, layers: Sequence[Ids], copies: Copies, utility: Utility, *, discount: float, commits_count: bool
    ) -> None:
        super().__init__(copies.graph, utility, discount=discount, commits_count=commits_count)
        self._layers, self._first = layers, np.arange(len(copies.start)) * (copies.graph.size // len(copies.start))

    def _missing_layers(self, nodes: Ids, depth: int) -> dict[int, Ids]:
        if len(self._values) > depth and not np.isnan(self._values[depth][nodes]).any():
            return {}
        for level in range(depth + 1):
            self._make_room(level)
        return {level: (self._first[:, None] + self._layers[level]).ravel() for level in range(depth + 1)}


class Layout:
    """Every situation that `horizon` actions after `given` can lead to, whatever the numbers of `problem`.

    Where probabilities are zero they must be zero in every version. left_out: tests that cannot be had from now on.
    prices_vary: whether versions may differ in prices where there is a budget; every test is laid out then, and those
    beyond the budget are barred in each copy.
    """

    def __init__(
        self,
        problem: Problem,
        given: Sequence[tuple[str, str]],
        horizon: int,
        *,
        left_out: Collection[str] = (),
        prices_vary: bool = False,
    ) -> None:
        self.problem = problem
        self._bars = prices_vary and problem.flat.budget is not None
        generic = _generic(problem, prices_vary=prices_vary)
        fewer = replace(generic, menu=generic.flat.without(left_out))
        self.graph = VersionsGraph(fewer, node_limit=MOST_NODES)
        self.node = self.graph.node(observe_all(generic, given))
        plan = Plan(self.graph)
        plan.values(np.array([self.node]), horizon)
        self.layers = plan.valued
        menu = problem.flat
        places = {test.name: place for place, test in enumerate(menu.tests)}
        self._given = [(places[test], _place(menu.tests[places[test]], outcome)) for test, outcome in given]
        self._outcomes = [len(test.outcomes) for test in menu.tests]
        self._groups = [test.group for test in menu.tests]
        self._priced = list(menu.first_prices)
        self._arcs = [self._arcs_of(test) for test in menu.tests]
        self._levels = self._derivations()
        self._usual: float | None = None
        self._shapes: tuple[Ids, NDArray[np.bool_], NDArray[np.int32]] | None = None

    @property
    def at_once(self) -> int:
        """How many versions fit one graph."""
        return max(1, NUMBERS_AT_ONCE // max(self.numbers, 1))

    @property
    def numbers(self) -> int:
        """Arc probabilities of one version: what planning it takes grows with them."""
        return self.graph.probability[: self.graph.size].size

    def plan(self, copies: Copies, utility: Utility, *, discount: float, commits_count: bool) -> Plan:
        """A plan for every version at once."""
        return VersionsPlan(self.layers, copies, utility, discount=discount, commits_count=commits_count)

    def copies(self, problems: Sequence[Problem]) -> Copies:
        """The layout with the numbers of each of `problems`, menus and all else as they are in the layout."""
        count = len(problems)
        # Prices, losses and weights leave beliefs as they are: what is believed is worked out once for all of those.
        believed: dict[tuple[object, ...], int] = {}
        index = np.array([believed.setdefault(_belief_numbers(problem), len(believed)) for problem in problems])
        first = [int(np.argmax(index == number)) for number in range(len(believed))]
        parts = self._believed([problems[place] for place in first])
        spread = parts if len(believed) == count else tuple(part[index] for part in parts)
        beliefs, evidence, unsure, probability, information = spread
        reward = self._rewards(problems, evidence)
        payoffs = np.stack([problem.flat.payoff for problem in problems])
        arcs = _stacked(probability), _stacked(information), _stacked(reward)
        return self._copied(problems[0], beliefs, payoffs, unsure, arcs, evidence)

    def _copied(
        self,
        problem: Problem,
        beliefs: Array,
        payoffs: Array,
        unsure: Array,
        arcs: tuple[Array, Array, Array],
        evidence: Array,
    ) -> Copies:
        """K copies of the layout with beliefs (K, N, S), payoffs (K, E, S), entropies (K, N) and chances (K * N, M, O),
        information and rewards (K * N, M) of arcs; evidence (K,): see Copies."""
        layout, (count, size) = self.graph, beliefs.shape[:2]
        graph = copy(layout)
        graph.problem, graph.size, graph.payoffs = problem, count * size, payoffs
        graph.probability, graph.information, graph.reward = arcs
        visible, known, leads = self._shape(count)
        graph.visible, graph.known, graph.next = visible[: count * size], known[: count * size], leads[: count * size]
        graph.belief = np.arange(count * size)[:, None]
        graph.tables = (copy(layout.tables[0]),)
        graph.tables[0].size = count * size
        graph.tables[0]._beliefs, graph.tables[0]._entropy = _stacked(beliefs), unsure.ravel()
        commits = beliefs @ payoffs.swapaxes(1, 2)
        graph.stop_reward = commits[..., 0].ravel()
        for column in range(1, commits.shape[2]):
            graph.stop_reward = np.maximum(graph.stop_reward, commits[..., column].ravel())
        start = np.arange(count) * size + self.node
        graph.stop_action = np.full(count * size, -1)  # nobody asks what ends best but where versions begin
        graph.gains = np.full(count * size, np.nan)  # nor what can be gained
        graph.gains[start] = (beliefs[:, self.node] * payoffs.max(axis=1).clip(min=0.0)).sum(axis=1)
        graph.stop_action[start] = choose(
            commits[:, self.node], graph.gains[start], lambda rows: graph.commit_gains(start[rows])
        )
        allowed = np.isfinite(graph.reward).reshape(count, -1).sum(axis=1)
        return Copies(graph, start, evidence, commits[:, self.node], allowed)

    def _believed(self, problems: Sequence[Problem]) -> tuple[Array, Array, Array, Array, Array]:
        """Beliefs (K, N, S), chance of what was given (K,), entropies (K, N), and of every arc the chances of its
        outcomes (K, N, M, O) and its information (K, N, M)."""
        layout, count, size = self.graph, len(problems), self.graph.size
        likelihood = np.stack([likelihoods(problem) for problem in problems])
        beliefs, evidence = self._beliefs(problems, likelihood)
        unsure = entropy(problems[0].factors[0].asked(beliefs))
        probability = np.zeros((count, *layout.probability[:size].shape))
        information = np.zeros((count, *layout.information[:size].shape))
        slots = layout.known.shape[1]
        by_arc = probability.reshape(count, size * slots, layout.probability.shape[2])
        told = information.reshape(count, size * slots)
        for test, (nodes, slot, after, _) in enumerate(self._arcs):
            if not nodes.size:
                continue
            chance = beliefs[:, nodes] @ likelihood[:, test, : self._outcomes[test]].swapaxes(1, 2)
            place = nodes * slots + slot
            by_arc[:, place, : self._outcomes[test]] = chance
            told[:, place] = gain(unsure[:, nodes], chance, unsure[:, after])
        return beliefs, evidence, unsure, probability, information

    def _shape(self, count: int) -> tuple[Ids, NDArray[np.bool_], NDArray[np.int32]]:
        """Visible states, known arcs and where they lead in at least `count` copies: the same whatever the numbers."""
        if self._shapes is None or len(self._shapes[0]) < count * self.graph.size:
            layout, size = self.graph, self.graph.size
            most = max(count, min(self.at_once, 64))
            step = (np.arange(most, dtype=np.int32) * size)[:, None, None, None]
            leads = np.where(layout.next[:size] >= 0, layout.next[:size] + step, layout.next[:size])
            self._shapes = (
                np.tile(layout.visible[:size], most),
                np.tile(layout.known[:size], (most, 1)),
                leads.reshape(most * size, *leads.shape[2:]),
            )
        return self._shapes

    def _beliefs(self, problems: Sequence[Problem], likelihood: Array) -> tuple[Array, Array]:
        """Belief (K, N, S) at every node of every version, and the chance (K,) of what was given."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.stack([problem.prior for problem in problems]))
            for test, outcome in self._given:
                logs = logs if outcome is None else logs + np.log(likelihood[:, test, outcome])
        # Long evidence has a chance below any float; only its size beside that of the first version seen counts.
        top = logs.max(axis=-1)
        if self._usual is None and np.isfinite(top[0]):
            self._usual = float(top[0])
        possible = np.isfinite(top)[:, None]
        weights = np.exp(np.where(possible, logs - np.where(possible, top[:, None], 0.0), -np.inf))
        beside = np.where(np.isfinite(top), top - (self._usual or 0.0), -np.inf)
        evidence = weights.sum(axis=-1) * np.exp(np.where(beside < MOST_LOG, beside, -np.inf))
        beliefs = np.zeros((len(problems), self.graph.size, logs.shape[1]))
        beliefs[:, self.node] = weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1.0)
        for made, parents, tests, outcomes in self._levels:
            joint = beliefs[:, parents] * likelihood[:, tests, outcomes]
            total = joint.sum(axis=-1, keepdims=True)
            beliefs[:, made] = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
        return beliefs, evidence

    def _rewards(self, problems: Sequence[Problem], evidence: Array) -> Array:
        """Reward (K, N, M) of every arc; minus infinity beyond the budget, where what was given had no chance."""
        menus = [problem.flat for problem in problems]
        cost = np.array([[test.cost for test in menu.tests] for menu in menus])
        first = np.array([[menu.first_prices.get(group, 0.0) for group in self._groups] for menu in menus])
        reward = np.full((len(problems), *self.graph.reward[: self.graph.size].shape), -np.inf)
        by_arc = reward.reshape(len(problems), self.graph.size * reward.shape[2])
        for test, (nodes, slots, _, opens) in enumerate(self._arcs):
            by_arc[:, nodes * reward.shape[2] + slots] = -(cost[:, test, None] + first[:, test, None] * opens)
        if self._bars:
            evidence[self._over(problems, self._bought[[self.node]])[:, 0]] = 0.0
            for test, (nodes, slots, _, opens) in enumerate(self._arcs):
                over = self._over(problems, self._bought[nodes] + self._purchase(test, opens))
                reward[:, nodes, slots] = np.where(over, -np.inf, reward[:, nodes, slots])
        return reward

    def _over(self, problems: Sequence[Problem], bought: Ids) -> NDArray[np.bool_]:
        """Whether (K, n) what was bought (n, items) is beyond the budget of each version, in minor units.

        Floats hold sums of minor units exactly up to 2^53; larger ones have prices of no decimals that people write.
        """
        menus = [problem.flat for problem in problems]
        prices = [
            [menu.in_minor_units(price) for price in (*(t.cost for t in menu.tests), *menu.first_prices.values())]
            for menu in menus
        ]
        limits = [np.inf if menu.budget is None else float(menu.in_minor_units(menu.budget)) for menu in menus]
        over: NDArray[np.bool_] = np.array(prices, dtype=float) @ bought.T > np.array(limits)[:, None]
        return over

    def _purchase(self, test: int, opens: Array) -> Ids:
        """What running `test` buys (n, items): itself, and where it opens its group (n,) that."""
        items = np.zeros((len(opens), len(self._outcomes) + len(self._priced)), dtype=np.int64)
        items[:, test] = 1
        if self._groups[test] in self._priced:
            items[:, len(self._outcomes) + self._priced.index(self._groups[test])] = opens
        return items

    @cached_property
    def _bought(self) -> Ids:
        """How often each test and each opening of a group (N, items) was paid for on the way to a node."""
        bought = np.zeros((self.graph.size, len(self._outcomes) + len(self._priced)), dtype=np.int64)
        for place, (test, _) in enumerate(self._given):
            first = self._groups[test] not in [self._groups[earlier] for earlier, _ in self._given[:place]]
            bought[self.node] += self._purchase(test, np.array([float(first)]))[0]
        opening = np.zeros((len(self._arcs), self.graph.size))
        for test, (nodes, _, _, opens) in enumerate(self._arcs):
            opening[test, nodes] = opens
        for made, parents, tests, _ in self._levels:
            bought[made] = bought[parents]
            for test in np.unique(tests):
                taken = tests == test
                bought[made[taken]] += self._purchase(int(test), opening[test, parents[taken]])
        return bought

    def _arcs_of(self, test: Test) -> tuple[Ids, Ids, Ids, Array]:
        """Nodes and slots (n,) at which `test` can be run, nodes (n, O) after it, and whether (n,) it opens its group.

        An outcome that cannot happen leads to node 0, which means nothing.
        """
        graph, size = self.graph, self.graph.size
        named = [[action.name for action in menu.going] for menu in graph.menus]
        slot_of = np.array([names.index(test.name) if test.name in names else -1 for names in named])
        paid = [isinstance(seen, Done) and test.group in seen.paid for seen in graph.visibles]
        opens: Array = 1.0 - np.array(paid, dtype=float)
        slots = slot_of[graph.visible[:size]]
        nodes: Ids = np.flatnonzero(slots >= 0)
        nodes = nodes[graph.known[nodes, slots[nodes]]]
        after = graph.next[nodes, slots[nodes], : len(test.outcomes)].astype(np.int64)
        return nodes, slots[nodes], np.maximum(after, 0), opens[graph.visible[nodes]]

    def _derivations(self) -> list[tuple[Ids, Ids, Ids, Ids]]:
        """How nodes come from others: level by level the node, the one before, the test and its outcome."""
        graph = self.graph
        rows = [np.empty((0, 4), dtype=np.int64)]
        for test, (nodes, slots, after, _) in enumerate(self._arcs):
            possible = graph.next[nodes, slots, : after.shape[1]] >= 0
            before, outcomes = (np.broadcast_to(a, after.shape) for a in (nodes[:, None], np.arange(after.shape[1])))
            rows.append(np.stack([after, before, np.full(after.shape, test), outcomes], axis=-1)[possible])
        links = np.concatenate(rows)
        found = np.zeros(graph.size, dtype=bool)
        found[self.node] = True
        levels: list[tuple[Ids, Ids, Ids, Ids]] = []
        while True:
            fresh = links[found[links[:, 1]] & ~found[links[:, 0]]]
            if not len(fresh):
                return levels
            made, place = np.unique(fresh[:, 0], return_index=True)
            found[made] = True
            before, tests, results = fresh[place, 1:].T
            levels.append((made, before, tests, results))


def _place(test: Test, outcome: str) -> int | None:
    """The place of `outcome` among those of `test`; None where it is not known."""
    return None if outcome == UNKNOWN and outcome not in test.outcomes else test.outcomes.index(outcome)


def likelihoods(problem: Problem) -> Array:
    """P(outcome | state) of every test as (T, O, S), with zeros for outcomes that a test does not have."""
    tests = problem.flat.tests
    result = np.zeros((len(tests), max([len(test.outcomes) for test in tests], default=0), len(problem.states)))
    for place, test in enumerate(tests):
        result[place, : len(test.outcomes)] = test.likelihood.T
    return result


def _belief_numbers(problem: Problem) -> tuple[object, ...]:
    """What beliefs follow from: equal for versions that differ in other numbers only."""
    return problem.prior.tobytes(), *(test.likelihood.tobytes() for test in problem.flat.tests)


def _generic(problem: Problem, *, prices_vary: bool) -> Problem:
    """`problem` with random numbers wherever a probability is positive: no two different findings say the same.

    With a budget and prices that vary, nothing is beyond the budget, and what was spent tells which tests were run.
    """
    random = np.random.default_rng(20240608)

    def drawn(rows: Array) -> Array:
        mixed = np.where(rows > 0, random.uniform(0.5, 1.5, rows.shape), 0.0)
        result: Array = mixed / mixed.sum(axis=-1, keepdims=True)
        return result

    menu = problem.flat
    tests = tuple(replace(test, likelihood=drawn(test.likelihood)) for test in menu.tests)
    prices, budget = dict(menu.first_prices), menu.budget
    if budget is None or prices_vary:
        tests = tuple(replace(test, cost=random.uniform(1, 2)) for test in tests)
        prices = {group: random.uniform(1, 2) for group in prices}
        budget = None if budget is None else math.inf
    factor = replace(problem.factors[0], prior=drawn(problem.prior))
    return replace(problem, factors=(factor,), menu=replace(menu, tests=tests, first_prices=prices, budget=budget))


def _stacked(array: Array) -> Array:
    """(K, N, ...) as (K * N, ...)."""
    return array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])
