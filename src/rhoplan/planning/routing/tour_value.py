"""The value of a tour of site tasks: what stopping the look-ahead is worth in a problem that decomposes into sites.

For each hidden factor: what is it worth to stand at its site with this belief, test it as long as that pays, and deal
with it? That is a small stopping problem, solved on a belief graph of its own. The tasks are then put into the best
order (`tour`), with the costs of walks and the value of ending. Tests from elsewhere than the site are left out; they
are what the look-ahead of the anytime planner is for.

Shapes: n beliefs, K sites.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from rhoplan.budget import Budget
from rhoplan.errors import LimitError
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.graph.row_index import grown
from rhoplan.model.pomdp import POMDP, Array, Ids, Observable
from rhoplan.planning.backup import LayerValues
from rhoplan.planning.routing.settings import SETTINGS, RoutingSettings
from rhoplan.planning.routing.site_graph import LEAVE, SiteGraph, site_graph
from rhoplan.planning.routing.tour import good_order, values_in_best_order, values_in_order
from rhoplan.planning.utility import Information


class TaskValues:
    """Value of one kind of task, by belief."""

    def __init__(self, problem: POMDP, tour: TourValue) -> None:
        self.graph, self.discount = BeliefGraph(problem, budget=tour.budget), tour.discount
        self.tests = tour.settings.tests
        self._layers = LayerValues(self.graph, Information(tour.weight), discount=tour.discount)
        self._fade_of_terminal = np.array([1.0 if deal.name == LEAVE else tour.discount for deal in problem.commits])
        self._known_fades = np.empty((0, self.tests + 1))

    def node(self, belief: Array) -> int:
        """The node of a belief (S,) in `graph`."""
        return int(self._nodes(belief[None, :])[0])

    def rate(self, beliefs: Array, tests: int | None = None) -> tuple[Array, Array]:
        """For each belief (n, S): the value of dealing with the factor after at most so many tests (all that are
        rated), and what a reward right after that counts for."""
        nodes, tests = self._nodes(beliefs), self.tests if tests is None else tests
        value = self._layers.value(nodes, tests)
        return value, np.ones(len(nodes)) if self.discount == 1 else self._fades(nodes, tests)

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
        return self._layers.best(nodes, tests)

    def _fades(self, nodes: Ids, tests: int) -> Array:
        """What a reward right after the task counts for (n,), with so many tests left."""
        used, graph = len(self._known_fades), self.graph
        self._known_fades = grown(self._known_fades, used, graph.size)
        self._known_fades[used:] = np.nan
        fresh = np.unique(nodes[np.isnan(self._known_fades[nodes, tests])])
        if fresh.size:
            arcs = graph.taken(fresh, self._places(fresh, tests))
            branches, owner = graph.branches(arcs), np.repeat(np.arange(len(fresh)), arcs.width)
            child = np.maximum(graph.child[branches], 0).astype(np.int64)  # of no probability, if it is -1
            later = graph.probability[branches] * self._fades(child, tests - 1)
            found = self.discount * np.bincount(owner, later, len(fresh))
            found[arcs.is_terminal] = self._fade_of_terminal[arcs.place[arcs.is_terminal]]
            self._known_fades[fresh, tests] = found
        result: Array = self._known_fades[nodes, tests]
        return result


class TourValue:
    """A leaf value for problems that `site_graph` decomposes: information at `weight` per nat, and `discount`.

    The order of tasks is the best one up to `settings.sites` of them (more if one order serves every belief), and a
    good one beyond.
    """

    def __init__(
        self, problem: POMDP, *, weight: float = 0.0, discount: float = 1.0, settings: RoutingSettings = SETTINGS
    ) -> None:
        self.problem, self.weight, self.discount, self.settings = problem, weight, discount, settings
        self.budget = Budget()
        self._graphs: dict[Observable, SiteGraph] = {}
        self._tasks: dict[Hashable, POMDP] = {}
        self._values: dict[POMDP, TaskValues] = {}

    def __call__(self, observables: Sequence[Observable], beliefs: tuple[Array, ...]) -> Array:
        graphs = [self.around(observable) for observable in observables]
        which = np.array([id(found) for found in graphs])
        values = np.empty(len(observables))
        for found in dict.fromkeys(graphs):
            rows = np.flatnonzero(which == id(found))
            places = np.array([found.place[observables[row]] for row in rows.tolist()])
            worth, after = self.rate(found, tuple(belief[rows] for belief in beliefs))
            values[rows] = self.best_tour(found, places, worth, after)
        return values

    def around(self, observable: Observable) -> SiteGraph:
        """The site graph that an observable state belongs to; LimitError if the problem does not decompose."""
        if observable not in self._graphs:
            found = site_graph(
                self.problem, observable, discount=self.discount, tasks=self._tasks, settings=self.settings
            )
            if found is None or (observable == self.problem.start and found.is_dead_end):
                raise LimitError(f"'{self.problem.name}' does not decompose into sites and tasks")
            self._graphs.update(dict.fromkeys(found.place, found))
        return self._graphs[observable]

    def task(self, problem: POMDP) -> TaskValues:
        """The values of a task of a site graph."""
        if problem not in self._values:
            self._values[problem] = TaskValues(problem, self)
        return self._values[problem]

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Within the block, rating tasks for longer raises LimitError."""
        self.budget.seconds = self.budget.elapsed + seconds
        try:
            yield
        finally:
            self.budget.seconds = math.inf

    def rate(self, found: SiteGraph, beliefs: tuple[Array, ...]) -> tuple[Array, Array]:
        """Value and fade (n, K) of each task of `found`, for one array of beliefs (n, S) per factor."""
        worth, after = np.empty((2, len(beliefs[0]), len(found.factors)))
        for task, columns in found.columns.items():
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
        rows, row = np.unique(np.concatenate([worth, after], axis=1), axis=0, return_inverse=True)
        cost, fade = self._walks(found, places)
        going = (fade * self.started(found, *np.split(rows, 2, axis=1))[row] - cost).max(axis=1)
        value: Array = np.maximum(going, found.leaving[places])
        return value

    def started(self, found: SiteGraph, worth: Array, after: Array) -> Array:
        """Value (n, K) of standing at the site of each task and doing it first, in tours as `best_tour` has them."""
        order, values = np.arange(len(found.factors)), values_in_best_order
        if not self.has_best_order:
            order, values = np.argsort([self._rank[factor] for factor in found.factors]), values_in_order
        cost, fade = (part[:, order] for part in self._walks(found, found.site[order]))
        first = np.empty(worth.shape)
        first[:, order] = values(worth[:, order], after[:, order], cost, fade, found.leaving[found.site[order]])
        return first

    def order(
        self, found: SiteGraph, place: int, *, worth: Array, after: Array, chosen: tuple[int, ...] = ()
    ) -> tuple[int, ...]:
        """The tasks (by column) in the order that `best_tour` has from `place`, for values and fades (K,) of each.

        Tasks that are not worth the walk are left out if they may be. chosen: those that are done first.
        """
        left = [column for column in range(len(found.factors)) if column not in chosen]
        if not self.has_best_order:
            left.sort(key=lambda column: self._rank[found.factors[column]])
        while left:
            some = found.only(left)
            cost, fade = self._walks(some, np.array([place]))
            going = (fade * self.started(some, worth[None, left], after[None, left]) - cost)[0]
            if not going.max() > found.leaving[place]:
                break
            chosen = *chosen, left.pop(int(np.argmax(going)))
            place = int(found.site[chosen[-1]])
        return chosen

    @cached_property
    def has_one_order(self) -> bool:
        """Whether one order of tasks serves every belief: all must be done, and nothing is discounted."""
        return self.discount == 1 and not self.around(self.problem.start).is_optional

    @cached_property
    def has_best_order(self) -> bool:
        """Whether the order of tasks is the best one. Decided once: a value that jumps as tasks get fewer would reward
        haste."""
        most = self.settings.sites_once if self.has_one_order else self.settings.sites
        return len(self.around(self.problem.start).factors) <= most

    @cached_property
    def _rank(self) -> dict[int, int]:
        """The place of each factor in a good order of all tasks from the start, if they are too many."""
        found = self.around(self.problem.start)
        order = good_order(found.cost[found.place[self.problem.start]], found.cost[found.site], self.settings)
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
