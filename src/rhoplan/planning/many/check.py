"""A second opinion on the bounds of a search over evidence, in plain NumPy, with the problem's own menu and updates.

Lower: in each situation of the plan, the value claimed is at most what the plan's action pays there, information
included, plus what is claimed of the situations that it leads to; by induction no claim is above what the plan gives.

Upper: two things are claimed, and each must hold one backup with every action on the menu. A node of the graph claims a
number; backed up are the smaller of the claims of the nodes that actions lead to and of the ceilings there. A ceiling
claims a number for each pair of states; backed up are ceilings of the same pair, at points of their grid (between these
the truth, which is convex, lies below chords). A sum of pairs, whatever the pairing, then holds as well: a helper who
tells the pair can only help. So do shares of pairings, of which the best is half an assignment of states to states.

The nodes, and the situations for ceilings, are those of random walks; the root comes first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from rhoplan.belief_math.information import entropy, information, update
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import Action, Array, Factor, Ids
from rhoplan.planning.certified.pointbased.check import Certificate, Worth, excess, in_time, sized
from rhoplan.planning.many.graph import ABOVE, COUNT, FIRST, LOWER, ROOT, UPPER, place_of
from rhoplan.planning.many.search import Search
from rhoplan.planning.many.solution import SAME_BELIEF, ManyPolicy, Step

LONGEST = 200
"""Tests after which a walk ends in any case."""


class Place(NamedTuple):
    """A situation that a walk has come to, and how often each outcome of each kind of test was seen since the root."""

    done: Done
    belief: Array
    seen: Ids


def check_search(
    search: Search, policy: ManyPolicy, rng: Generator, *, most: int = 300, seconds: float = np.inf
) -> Certificate:
    """Check every situation of the plan, and up to `most` nodes and as many ceilings: each for a third of `seconds`."""
    claims, part = Claims(search), seconds / 3
    steps = [step for found in policy.steps.values() for step in found]
    lower = [_step_excess(policy, step) for step in in_time(steps, part)]
    root, told = float(search.graph.bound[ROOT, LOWER]), policy.value(search.situation)[0]
    lower.append(excess(sized(root), sized(told)))
    nodes = [claims.node_excess(place) for place in in_time(claims.drawn_nodes(rng, most), part)]
    pairs = [claims.pair_excess(place, rng) for place in in_time(claims.drawn_places(rng, most), part)]
    upper = [*nodes, *pairs, claims.corner_excess()]
    return Certificate(float(max(lower)), float(max(upper)), len(lower) - 1, len(nodes) + len(pairs))


def _step_excess(policy: ManyPolicy, step: Step) -> float:
    """By how much the plan claims more in a situation than its action gives there."""
    problem = policy.origin
    here = Situation(problem, step.done, (step.belief,))
    action = next(action for action in problem.menu(step.done) if action.name == step.action)
    total = paid(action, step.belief)
    if not action.ends_episode:
        total = total.plus(policy.settings.weight, told_by(action, step.belief, problem.factors[0]))
        for after in here.branches(action):
            then = policy.step(after.belief)
            later = sized(-np.inf if then is None else then.lower)
            total = total.plus(policy.settings.discount * after.probability, later)
    return excess(sized(step.lower), total)


def paid(action: Action, belief: Array) -> Worth:
    """What `action` pays at once, without information."""
    return Worth(float(action.reward @ belief), float(np.abs(action.reward) @ belief))


def told_by(action: Action, belief: Array, factor: Factor) -> Worth:
    """The information that `action` gives, in nats: a difference of entropies."""
    return Worth(float(information(belief[None, :], action, factor)[0]), math.log(len(belief)))


class Claims:
    """The upper bounds that a search claims, looked up by other code than its own."""

    def __init__(self, search: Search) -> None:
        self.search, self.problem, self.model = search, search.problem, search.model
        self.weight, self.discount = search.settings.weight, search.settings.discount
        self.ceilings, self.factor = search.maker.ceilings, search.problem.factors[0]
        self.kind_of = {name: kind for kind, names in enumerate(search.kinds.members) for name in names}

    @property
    def root(self) -> Place:
        done = self.search.situation.observable
        assert isinstance(done, Done)
        return Place(done, self.search.kinds.belief, np.zeros(len(self.model.likelihood), dtype=np.int64))

    def node_excess(self, place: Place) -> float:
        """By how much one backup at the node of `place` goes beyond what it claims."""
        node = self.node(place)
        if np.abs(self.search.graph.belief[node] - place.belief).max() > SAME_BELIEF:
            return np.inf  # the node is of other evidence
        claimed, menu = sized(float(self.search.graph.bound[node, UPPER])), self._menu(place)
        apart = max(excess(self._backup(place, action, exactly=False), claimed) for action in menu)
        if apart <= 0:
            return apart
        return max(excess(self._backup(place, action, exactly=True), claimed) for action in menu)

    def pair_excess(self, place: Place, rng: Generator) -> float:
        """By how much one backup of a ceiling goes beyond it, for a pair of states and a point of its grid, drawn."""
        if not len(self.ceilings.states):
            return -np.inf
        pair, share = int(rng.integers(len(self.ceilings.states))), float(rng.choice(self.ceilings.share))
        both = self.ceilings.states[pair]
        belief = np.zeros(len(place.belief))
        belief[both] = share, 1 - share
        here = place._replace(belief=belief)
        worst, claimed = -np.inf, self._of_pair(here, pair)
        for action in self._menu(here):
            total = paid(action, belief)
            for chance, after in self._after(here, action):
                total = total.plus(self.discount * chance, self._of_pair(after, pair))
            worst = max(worst, excess(self._informed(total, action, belief), claimed))
        return worst

    def corner_excess(self) -> float:
        """By how much a state that is known is worth more than claimed: to commit, or to put off a loss for ever."""
        best = self.problem.flat.payoff.max(axis=0)
        least = best if self.discount == 1 else np.maximum(best, 0.0)
        pairs = zip(least.tolist(), self.ceilings.corner.tolist(), strict=True)
        return max(excess(sized(worth), sized(claimed)) for worth, claimed in pairs)

    def drawn_nodes(self, rng: Generator, most: int) -> Iterator[Place]:
        """Places of different nodes, on walks that take the action of the largest bound every other time."""
        seen: set[int] = set()
        for _ in range(10 * most):
            place: Place | None = self.root
            while place is not None and (node := self.node(place)) >= 0:
                if node not in seen:
                    seen.add(node)
                    yield place
                if len(seen) >= most:
                    return
                place = self._step(place, rng)

    def drawn_places(self, rng: Generator, most: int) -> Iterator[Place]:
        """Places on walks, one of each, up to any length."""
        for _ in range(most):
            place = self.root
            for _ in range(int(rng.integers(LONGEST) ** 0.5)):
                after = self._step(place, rng)
                if after is None:
                    break
                place = after
            yield place

    def node(self, place: Place) -> int:
        """The node of a place, -1 where there is none."""
        key, graph = np.zeros(self.search.kinds.words, dtype=np.int64), self.search.graph
        for outcome in np.flatnonzero(place.seen).tolist():
            key[self.model.word[outcome]] += int(place.seen[outcome]) << int(self.model.shift[outcome])
        return int(graph.table[place_of(graph.table, graph.key, key)])

    def _step(self, place: Place, rng: Generator) -> Place | None:
        """A place one test further on; None where there is no test."""
        tests = [action for action in self._menu(place) if not action.ends_episode]
        if not tests:
            return None
        action, graph, node = tests[int(rng.integers(len(tests)))], self.search.graph, self.node(place)
        if node >= 0 and graph.arms[node, COUNT] > 0 and rng.random() < 0.5:
            first = graph.arms[node, FIRST]
            arm = first + int(np.argmax(graph.worth[first : first + graph.arms[node, COUNT], ABOVE]))
            action = next(test for test in tests if self.kind_of[test.name] == graph.kind[arm])
        after = self._after(place, action)
        chances = np.array([chance for chance, _ in after])
        return after[int(rng.choice(len(after), p=chances / chances.sum()))][1]

    def _menu(self, place: Place) -> tuple[Action, ...]:
        """The actions there, one of each kind of test."""
        every = self.problem.menu(place.done)
        kinds = {self.kind_of.get(action.name, action.name): action for action in reversed(every)}
        return tuple(kinds.values())

    def _after(self, place: Place, action: Action) -> list[tuple[float, Place]]:
        """Where `action` leads: chances, and places; none where it ends all."""
        if action.ends_episode:
            return []
        chances, beliefs = (part[0] for part in update(place.belief[None, :], action))
        first, found = int(self.model.first[self.kind_of[action.name]]), []
        for outcome in np.flatnonzero(chances > 0).tolist():
            seen = place.seen.copy()
            seen[first + outcome] += 1
            done = action.leads_to[outcome]
            assert isinstance(done, Done)
            found.append((float(chances[outcome]), Place(done, beliefs[outcome], seen)))
        return found

    def _backup(self, place: Place, action: Action, *, exactly: bool) -> Worth:
        total = paid(action, place.belief)
        if action.ends_episode:
            return total
        for chance, after in self._after(place, action):
            node, ceiling = self.node(after), self._ceiling(after, exactly=exactly)
            claimed = sized(float(self.search.graph.bound[node, UPPER]) if node >= 0 else np.inf)
            total = total.plus(self.discount * chance, min(claimed, ceiling))
        return self._informed(total, action, place.belief)

    def _ceiling(self, place: Place, *, exactly: bool) -> Worth:
        """The bound of all pairs together: with one pairing, or exactly with the best shares of pairings."""
        belief, corner = place.belief, self.ceilings.corner
        masses = belief[self.ceilings.states]
        known = (masses * corner[self.ceilings.states]).sum(axis=1)
        reliefs = np.maximum(known - masses.sum(axis=1) * self._of_pairs(place), 0.0)
        most, doubt = float(belief @ corner), self._doubt(belief)
        size = float(belief @ np.abs(corner)) + doubt
        if exactly and len(reliefs) > 1:
            between = np.zeros((len(belief), len(belief)))
            one, other = self.ceilings.states.T
            between[one, other] = between[other, one] = reliefs
            return Worth(most + doubt - 0.5 * largest_assignment(between), size)
        free = np.ones(len(belief), dtype=bool)
        for pair in np.argsort(-reliefs, kind="stable").tolist():
            states = self.ceilings.states[pair]
            if reliefs[pair] > 0 and free[states].all():
                free[states] = False
                most -= float(reliefs[pair])
        return Worth(most + doubt, size)

    def _of_pairs(self, place: Place) -> Array:
        """What each pair (P,) claims of V - w H where the belief is `place`'s given that it is one of the two."""
        model, ceilings, menu = self.model, self.ceilings, self.problem.flat
        runs = np.add.reduceat(place.seen, model.first[:-1]) if len(model.price) else np.zeros(0, dtype=np.int64)
        left = model.copies - model.had - runs
        row = int((left * ceilings.radix).sum())
        barred = [runs[model.rivals[model.against[k] : model.against[k + 1]]].any() for k in range(len(left))]
        raised = np.where(np.array(barred, dtype=bool), 0, np.maximum(left, 0)) * np.maximum(ceilings.raised, 0.0)
        groups = [group for group, price in menu.first_prices.items() if price > 0]
        allowed = raised[:, model.group < 0].sum(axis=1)
        for number, group in enumerate(groups):
            within = raised[:, model.group == number].sum(axis=1)
            unpaid = 0.0 if group in place.done.paid else menu.first_prices[group]
            allowed += np.maximum(within - unpaid, 0.0)
        if menu.most_tests is not None:
            allowed = np.minimum(allowed, (menu.most_tests - place.done.tests) * ceilings.largest)
        masses = place.belief[ceilings.states]
        both = masses.sum(axis=1)
        share = np.divide(masses[:, 0], both, out=np.zeros(len(both)), where=both > 0)
        known = share * ceilings.corner[ceilings.states[:, 0]] + (1 - share) * ceilings.corner[ceilings.states[:, 1]]
        looked_up = [np.interp(at, ceilings.share, ceilings.value[pair, row]) for pair, at in enumerate(share)]
        result: Array = np.minimum(known, allowed + np.array(looked_up))
        return result

    def _of_pair(self, place: Place, pair: int) -> Worth:
        """What a pair claims of V where the belief is `place`'s."""
        claimed, doubt = float(self._of_pairs(place)[pair]), self._doubt(place.belief)
        return Worth(claimed + doubt, abs(claimed) + doubt)

    def _informed(self, total: Worth, action: Action, belief: Array) -> Worth:
        """`total` with the price of what `action` tells."""
        return total.plus(self.weight, told_by(action, belief, self.factor)) if self.weight else total

    def _doubt(self, belief: Array) -> float:
        return self.weight * float(entropy(self.factor.about(belief))) if self.weight else 0.0


def largest_assignment(worth: Array) -> float:
    """The largest sum of `worth` (n, n) with one entry in each row and in each column, by shortest paths."""
    n = len(worth)
    cost = np.pad(worth.max(initial=0.0) - worth, ((1, 0), (1, 0)))
    rows, columns = np.zeros(n + 1), np.zeros(n + 1)
    row_of = np.zeros(n + 1, dtype=np.int64)
    for row in range(1, n + 1):
        row_of[0], column = row, 0
        least, before = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
        used = np.zeros(n + 1, dtype=bool)
        while row_of[column]:
            used[column] = True
            reduced = cost[row_of[column]] - rows[row_of[column]] - columns
            better = ~used & (reduced < least)
            better[0] = False
            least[better], before[better] = reduced[better], column
            after = int(np.argmin(np.where(used, np.inf, np.append(np.inf, least[1:]))))
            step = least[after]
            rows[row_of[used]] += step
            columns[used] -= step
            least[~used] -= step
            column = after
        while column:
            row_of[column] = row_of[before[column]]
            column = int(before[column])
    return float(sum(worth[row_of[column] - 1, column - 1] for column in range(1, n + 1)))
