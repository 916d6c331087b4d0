"""The value of a tour of site tasks: what stopping the look-ahead is worth in a problem that decomposes into sites.

For each hidden factor: what is it worth to stand at its site with this belief, test it as long as that pays, and deal
with it? That is a small stopping problem, solved on a belief graph of its own. The tasks are then put into the best
order (`tour`), with the costs of walks and the value of ending. Tests from elsewhere than the site are left out; they
are what the look-ahead of the anytime planner is for.

Shapes: n beliefs, K sites.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from rhoplan.budget import Budget
from rhoplan.errors import LimitError
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.graph.row_index import grown
from rhoplan.graph.ties import first_best
from rhoplan.model.pomdp import POMDP, Array, Ids, Observable
from rhoplan.planning.backup import LayerValues
from rhoplan.planning.routing.site_graph import LEAVE, SiteGraph, site_graph
from rhoplan.planning.routing.tour import MOST_SITES, MOST_SITES_ONCE, good_order, values_in_best_order, values_in_order
from rhoplan.planning.utility import Information

MOST_TESTS = 8
"""Tests that a task may still run when it is rated: beyond this, one more changes next to nothing."""


class TaskValues:
    """Value of one kind of task, by belief."""

    def __init__(self, problem: POMDP, weight: float, discount: float) -> None:
        self.graph, self.discount = BeliefGraph(problem), discount
        self._layers = LayerValues(self.graph, Information(weight), discount=discount)
        self._fade_of_terminal = np.array([1.0 if deal.name == LEAVE else discount for deal in problem.commits])
        self._known_fades: dict[int, Array] = {}

    def node(self, belief: Array) -> int:
        """The node of a belief (S,) in `graph`."""
        return int(self._nodes(belief[None, :])[0])

    def rate(self, beliefs: Array, tests: int = MOST_TESTS) -> tuple[Array, Array]:
        """For each belief (n, S): the value of dealing with the factor after at most so many tests, and what a reward
        right after that counts for."""
        nodes = self._nodes(beliefs)
        return self._layers.value(nodes, tests), self._fades(nodes, tests)

    def taken(self, node: int, tests: int) -> tuple[str, int]:
        """The action at a node of `graph` with so many tests left: its name, and its place if it is a test, else -1."""
        place = int(self._places(np.array([node]), tests)[0])
        action = self.graph.action(node, place)
        return action.name, -1 if action.ends_episode else place

    def children(self, node: int, place: int) -> Ids:
        """The nodes after each outcome of the action at `place`; -1 for those that cannot happen."""
        arcs = self.graph.taken(np.array([node]), np.array([place]))
        result: Ids = self.graph.child[self.graph.branches(arcs)].astype(np.int64)
        return result

    def _nodes(self, beliefs: Array) -> Ids:
        return self.graph.nodes([self.graph.problem.start] * len(beliefs), (beliefs,))

    def _places(self, nodes: Ids, tests: int) -> Ids:
        if tests == 0:
            return self.graph.stop_place[nodes].astype(np.int64)
        arcs, values = self._layers.arcs(nodes, tests)
        size = values.absolute + self._layers.utility.rounding(self.graph, nodes)[arcs.owner]
        result: Ids = arcs.place[first_best(values.value, size, arcs.start)]
        return result

    def _fades(self, nodes: Ids, tests: int) -> Array:
        if self.discount == 1:
            return np.ones(len(nodes))
        fades = self._room(tests)
        fresh = np.unique(nodes[np.isnan(fades[nodes])])
        if fresh.size:
            places = self._places(fresh, tests)
            terminal = len(self._fade_of_terminal)
            found = self._fade_of_terminal[np.minimum(places, terminal - 1)]
            goes = np.flatnonzero(places >= terminal)
            if goes.size:
                arcs = self.graph.taken(fresh[goes], places[goes])
                branches = self.graph.branches(arcs)
                child = np.maximum(self.graph.child[branches], 0).astype(np.int64)  # of no probability, if it is -1
                later = self.graph.probability[branches] * self._fades(child, tests - 1)
                found[goes] = self.discount * np.add.reduceat(later, np.cumsum(arcs.width) - arcs.width)
            fades = self._room(tests)
            fades[fresh] = found
        return fades[nodes]

    def _room(self, tests: int) -> Array:
        """Known fades with so many tests left, with room for all nodes."""
        known = self._known_fades.get(tests, np.empty(0))
        used = len(known)
        self._known_fades[tests] = known = grown(known, used, self.graph.size)
        known[used:] = np.nan
        return known


class TourValue:
    """A leaf value for problems that `site_graph` decomposes: information at `weight` per nat, and `discount`.

    The order of tasks is the best one up to `tour.MOST_SITES` of them (more if one order serves every belief), and a
    good one beyond.
    """

    def __init__(self, problem: POMDP, *, weight: float = 0.0, discount: float = 1.0) -> None:
        self.problem, self.weight, self.discount = problem, weight, discount
        self._graphs: dict[Observable, SiteGraph] = {}
        self._tasks: dict[Hashable, POMDP] = {}
        self._values: dict[POMDP, TaskValues] = {}

    def __call__(self, observables: Sequence[Observable], beliefs: tuple[Array, ...]) -> Array:
        graphs = [self.around(observable) for observable in observables]
        which = np.array([id(found) for found in graphs])
        values = np.empty(len(observables))
        for number, found in {id(found): found for found in graphs}.items():
            rows = np.flatnonzero(which == number)
            places = np.array([found.place[observables[row]] for row in rows.tolist()])
            worth, after = self.rate(found, tuple(belief[rows] for belief in beliefs))
            values[rows] = self.best_tour(found, places, worth, after)
        return values

    def around(self, observable: Observable) -> SiteGraph:
        """The site graph that `visible` belongs to; LimitError if the problem does not decompose."""
        if observable not in self._graphs:
            found = site_graph(self.problem, observable, discount=self.discount, tasks=self._tasks)
            if found is None or (observable == self.problem.start and found.is_dead_end):
                raise LimitError(f"'{self.problem.name}' does not come apart into places and errands")
            self._graphs.update(dict.fromkeys(found.place, found))
        return self._graphs[observable]

    def task(self, problem: POMDP) -> TaskValues:
        """The values of a task of a site graph."""
        if problem not in self._values:
            self._values[problem] = TaskValues(problem, self.weight, self.discount)
        return self._values[problem]

    @contextmanager
    def limited(self, found: SiteGraph, seconds: float) -> Iterator[None]:
        """Within the block, rating the tasks of `found` for longer raises LimitError."""
        graphs = [self.task(task).graph for task in dict.fromkeys(found.tasks)]
        for graph in graphs:
            graph.budget = Budget(seconds=seconds)
        try:
            yield
        finally:
            for graph in graphs:
                graph.budget = Budget()

    def rate(self, found: SiteGraph, beliefs: tuple[Array, ...]) -> tuple[Array, Array]:
        """Value and fade (n, K) of each task of `found`, for one array of beliefs (n, S) per factor."""
        shape = (len(beliefs[0]), len(found.factors))
        worth, after = np.empty(shape), np.empty(shape)
        for task in dict.fromkeys(found.tasks):
            columns = [column for column, other in enumerate(found.tasks) if other is task]
            stacked = np.concatenate([beliefs[found.factors[column]] for column in columns])
            rated = self.task(task).rate(stacked)
            worth[:, columns], after[:, columns] = (part.reshape(len(columns), -1).T for part in rated)
        return worth, after

    def best_tour(self, found: SiteGraph, places: Ids, worth: Array, after: Array) -> Array:
        """Value (n,) of being at `places` with tasks of these values and fades (n, K), in the best order found."""
        if found.is_dead_end:
            return np.zeros(len(places))
        if found.is_optional and not np.isfinite(found.leaving[found.site]).any():
            return found.leaving[places]  # no task, or none from which one gets out again
        rows, place = np.unique(np.concatenate([worth, after], axis=1), axis=0, return_inverse=True)
        first = self.started(found, *np.split(rows, 2, axis=1))
        cost, fade = self._walks(found, places)
        going = (fade * first[place] - cost).max(axis=1)
        value: Array = np.maximum(going, found.leaving[places])
        return value

    def started(self, found: SiteGraph, worth: Array, after: Array) -> Array:
        """Value (n, K) of standing at the site of each task and doing it first, in tours as `best_tour` has them."""
        cost, fade = self._walks(found, found.site)
        leaving = found.leaving[found.site]
        if self._has_exact_order:
            return values_in_best_order(worth.copy(), after.copy(), cost, fade, leaving)
        order = np.argsort([self._rank[factor] for factor in found.factors])
        inside = np.ix_(order, order)
        first = values_in_order(worth[:, order], after[:, order], cost[inside], fade[inside], leaving[order])
        result: Array = first[:, np.argsort(order)]
        return result

    def order(
        self, found: SiteGraph, place: int, *, worth: Array, after: Array, chosen: tuple[int, ...] = ()
    ) -> tuple[int, ...]:
        """The tasks (by column) in the order that `best_tour` has from `place`, for values and fades (K,) of each.

        Tasks that are not worth the walk are left out if they may be. chosen: those that are done first.
        """
        left = [column for column in range(len(found.factors)) if column not in chosen]
        exact = self._has_exact_order
        values = values_in_best_order if exact else values_in_order
        while left:
            columns = np.array(left if exact else sorted(left, key=lambda column: self._rank[found.factors[column]]))
            cost, fade = (part[:, columns] for part in self._walks(found, found.site[columns]))
            first = values(worth[None, columns], after[None, columns], cost, fade, found.leaving[found.site[columns]])
            cost, fade = (part[:, columns] for part in self._walks(found, np.array([place])))
            going = (fade * first - cost)[0]
            best = int(np.argmax(going))
            if not going[best] > found.leaving[place]:
                break
            chosen = *chosen, int(columns[best])
            left.remove(chosen[-1])
            place = int(found.site[chosen[-1]])
        return chosen

    @cached_property
    def _has_exact_order(self) -> bool:
        """Decided once: a value that jumps as tasks get fewer would reward haste."""
        found = self.around(self.problem.start)
        one_order = not found.is_optional and self.discount == 1
        return len(found.factors) <= (MOST_SITES_ONCE if one_order else MOST_SITES)

    @cached_property
    def _rank(self) -> dict[int, int]:
        """The place of each factor in a good order of all tasks from the start, if they are too many."""
        found = self.around(self.problem.start)
        order = good_order(found.cost[found.place[self.problem.start]], found.cost[found.site])
        return {found.factors[column]: rank for rank, column in enumerate(order.tolist())}

    def _walks(self, found: SiteGraph, places: Ids) -> tuple[Array, Array]:
        """Cost (discounted along the way) and fade (n, K) of walking from `places` to each site."""
        cost, steps = found.cost[places], found.steps[places]
        if self.discount == 1:
            return cost, np.ones_like(cost)
        there = np.isfinite(steps)
        fade = np.where(there, self.discount**steps, 1.0)
        mean = np.divide(cost, steps, out=np.zeros_like(cost), where=there & (steps > 0))
        return np.where(there, mean * (1 - fade) / (1 - self.discount), np.inf), fade
