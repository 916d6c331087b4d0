"""What a situation of a factored problem is worth, derived from the problem: the leaf of the anytime planner.

Each hidden factor is an errand of its own: what is it worth to stand at its place with this belief, test it as long as
that pays, and deal with it? That is a small optimal-stopping problem, solved on its own merged belief graph. The
errands are then put into the best order over the places (`route`), walks and leaving included. What this leaves out is
testing from afar; that is what the planner's own look-ahead is for.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np

from rhoplan.errors import LimitError
from rhoplan.graph.graph import Graph
from rhoplan.graph.merging import grown
from rhoplan.model.pomdp import Array, Ids, Problem, Visible
from rhoplan.planning.errands.places import LEAVE, Survey, survey
from rhoplan.planning.errands.route import MOST, MOST_AT_ONCE, errands_in_order, first_errands, good_order
from rhoplan.planning.exact import Plan
from rhoplan.planning.utility import Information

TESTS_ON_THE_SPOT = 8
"""How many tests an errand may still run when it is rated: beyond this, one more changes next to nothing."""


class Errands:
    """Worth of one kind of errand, by belief."""

    def __init__(self, problem: Problem, weight: float, discount: float) -> None:
        self.graph = Graph(problem)
        self.plan = Plan(self.graph, Information(weight), discount=discount)
        self.fade_of_ending = np.array([1.0 if c.name == LEAVE else discount for c in problem.flat.commits])
        self._rated: dict[int, Array] = {}

    def rate(self, beliefs: Array, tests: int = TESTS_ON_THE_SPOT) -> tuple[Array, Array]:
        """For each belief (n, S): what dealing with the factor is worth, and what a reward right after counts for.

        tests: how many may still be run.
        """
        nodes = self.graph.nodes([self.graph.problem.start] * len(beliefs), (beliefs,))
        known = grown(self._rated.get(tests, np.empty((0, 2))), self.graph.size, np.nan)
        fresh = np.unique(nodes[np.isnan(known[nodes, 0])])
        if fresh.size:
            rated = np.stack([self.plan.values(fresh, tests), self._fades(fresh, tests)], axis=1)
            known = grown(known, self.graph.size, np.nan)
            known[fresh] = rated
        self._rated[tests] = known
        return known[nodes, 0], known[nodes, 1]

    def done_at(self, node: int, depth: int) -> tuple[str, int]:
        """What is done at a node of `graph` with `depth` tests left: the name, and the test's slot or -1."""
        slot = int(self.plan.choices(np.array([node]), depth)[0]) if depth else -1
        if slot >= 0:
            return self.graph.menus[self.graph.visible[node]].going[slot].name, slot
        return self.graph.problem.flat.commits[int(self.plan.best_ending(np.array([node]))[1][0])].name, -1

    def _fades(self, nodes: Ids, depth: int) -> Array:
        if self.plan.discount == 1:
            return np.ones(len(nodes))
        fades: Array = self.fade_of_ending[self.plan.best_ending(nodes)[1]]
        slots = self.plan.choices(nodes, depth) if depth else np.full(len(nodes), -1)
        goes = np.flatnonzero(slots >= 0)
        if goes.size:
            arcs = self.graph.next[nodes[goes], slots[goes]]
            children, place = np.unique(np.maximum(arcs, 0), return_inverse=True)
            later = self._fades(children.astype(np.int64), depth - 1)[place].reshape(arcs.shape)
            chances = self.graph.probability[nodes[goes], slots[goes]]
            fades[goes] = self.plan.discount * (chances * later).sum(axis=1)
        return fades


class Outlook:
    """Value of stopping the look-ahead, for problems that `places.survey` can read.

    The order of errands is the best one up to `route.MOST` of them (more where nothing but walking decides it), and a
    good one beyond.
    """

    def __init__(self, problem: Problem, *, weight: float = 0.0, discount: float = 1.0) -> None:
        self.problem, self.weight, self.discount = problem, weight, discount
        self._surveys: dict[Visible, Survey] = {}
        self._kinds: dict[Hashable, Problem] = {}
        self._errands: dict[Problem, Errands] = {}

    def __call__(self, visibles: Sequence[Visible], beliefs: tuple[Array, ...]) -> Array:
        surveys = [self.survey(visible) for visible in visibles]
        which = np.array([id(found) for found in surveys])
        values = np.empty(len(visibles))
        for number, found in {id(found): found for found in surveys}.items():
            rows = np.flatnonzero(which == number)
            places = np.array([found.place[visibles[row]] for row in rows.tolist()])
            worth, after = self.rate(found, tuple(belief[rows] for belief in beliefs))
            values[rows] = self.best_tour(found, places, worth, after)
        return values

    def survey(self, visible: Visible) -> Survey:
        """The survey that `visible` belongs to; LimitError where the problem is not of that kind."""
        if visible not in self._surveys:
            found = survey(self.problem, visible, discount=self.discount, errands=self._kinds)
            if found is None or (visible == self.problem.start and found.is_dead_end):
                raise LimitError(f"'{self.problem.name}' does not come apart into places and errands")
            self._surveys.update(dict.fromkeys(found.place, found))
        return self._surveys[visible]

    def errand(self, problem: Problem) -> Errands:
        """What an errand of this kind is worth, and how it is done."""
        if problem not in self._errands:
            self._errands[problem] = Errands(problem, self.weight, self.discount)
        return self._errands[problem]

    def rate(self, found: Survey, beliefs: tuple[Array, ...]) -> tuple[Array, Array]:
        """Worth and fade (n, K) of each errand of `found`, for one belief array (n, S) per factor."""
        shape = (len(beliefs[0]), len(found.factors))
        worth, after = np.empty(shape), np.empty(shape)
        for problem in dict.fromkeys(found.errands):
            columns = [column for column, errand in enumerate(found.errands) if errand is problem]
            stacked = np.concatenate([beliefs[found.factors[column]] for column in columns])
            rated = self.errand(problem).rate(stacked)
            worth[:, columns], after[:, columns] = (part.reshape(len(columns), -1).T for part in rated)
        return worth, after

    def best_tour(self, found: Survey, places: Ids, worth: Array, after: Array) -> Array:
        """Value (n,) of being at `places` with errands of these worths (n, K), in the best order found."""
        if found.is_dead_end:
            return np.zeros(len(places))
        if found.optional and not np.isfinite(found.leaving[found.site]).any():
            return found.leaving[places]  # no errand, or none from which one gets out again
        rows, place = np.unique(np.concatenate([worth, after], axis=1), axis=0, return_inverse=True)
        first = self.begun(found, *np.split(rows, 2, axis=1))
        cost, fade = self._walks(found, places)
        going = (fade * first[place] - cost).max(axis=1)
        value: Array = np.maximum(going, found.leaving[places])
        return value

    def begun(self, found: Survey, worth: Array, after: Array) -> Array:
        """Value (n, K) of standing at the place of each errand and doing it first, in tours as `best_tour` counts."""
        cost, fade = self._walks(found, found.site)
        leaving = found.leaving[found.site]
        if self._few:
            return first_errands(worth.copy(), after.copy(), cost, fade, leaving)
        order = np.argsort([self._rank[factor] for factor in found.factors])
        inside = np.ix_(order, order)
        first = errands_in_order(worth[:, order], after[:, order], cost[inside], fade[inside], leaving[order])
        result: Array = first[:, np.argsort(order)]
        return result

    def order(
        self, found: Survey, place: int, worth: Array, after: Array, chosen: tuple[int, ...] = ()
    ) -> tuple[int, ...]:
        """The errands (by column) in the order that `best_tour` counts on from `place`, worth and after (K,) each.

        Errands that are not worth the walk are left out where they may be. chosen: those that are done first.
        """
        left = [column for column in range(len(found.factors)) if column not in chosen]
        while left:
            columns = np.array(left if self._few else sorted(left, key=lambda c: self._rank[found.factors[c]]))
            cost, fade = (part[:, columns] for part in self._walks(found, found.site[columns]))
            leaving = found.leaving[found.site[columns]]
            rate = first_errands if self._few else errands_in_order
            first = rate(worth[None, columns], after[None, columns], cost, fade, leaving)[0]
            cost, fade = (part[0, columns] for part in self._walks(found, np.array([place])))
            going = fade * first - cost
            best = int(np.argmax(going))
            if not going[best] > found.leaving[place]:
                break
            chosen = *chosen, int(columns[best])
            left.remove(chosen[-1])
            place = int(found.site[chosen[-1]])
        return chosen

    @cached_property
    def _few(self) -> bool:
        """Whether orders are exact. Decided once: a value that jumps as errands get fewer would reward haste."""
        found = self.survey(self.problem.start)
        return len(found.factors) <= (MOST if found.optional or self.discount < 1 else MOST_AT_ONCE)

    @cached_property
    def _rank(self) -> dict[int, int]:
        """The place of each factor in a good order of all errands from the start, for when there are too many."""
        found = self.survey(self.problem.start)
        order = good_order(found.cost[found.place[self.problem.start]], found.cost[found.site])
        return {found.factors[errand]: rank for rank, errand in enumerate(order.tolist())}

    def _walks(self, found: Survey, places: Ids) -> tuple[Array, Array]:
        """Cost (discounted along the way) and fade (n, K) of walking from `places` to each errand."""
        cost, steps = found.cost[places], found.steps[places]
        if self.discount == 1:
            return cost, np.ones_like(cost)
        there = np.isfinite(steps)
        fade = np.where(there, self.discount**steps, 1.0)
        mean = np.divide(cost, steps, out=np.zeros_like(cost), where=there & (steps > 0))
        return np.where(there, mean * (1 - fade) / (1 - self.discount), np.inf), fade
