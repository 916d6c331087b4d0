"""A plan that deals with one hidden factor after the other, followed exactly: a lower bound; and where nothing but the
walk connects the factors, the optimum.

`planning.routing` reads off a problem where each factor can be tested and dealt with and in which order to go there.
Whether the problem is what it looks like from the start does not matter for the lower bound: the plan is followed
action by action through the problem's own menus, in every case that can come up, and gives no bound where it cannot be.

The upper bound needs more. Where every factor must be dealt with, each in one place, without a discount, a plan earns
on each factor at most what testing and dealing with it is worth alone, and walks at least the shortest tour, if the
problem comes apart for good (`planning.routing.decomposition`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from rhoplan.belief_math.information import information, update
from rhoplan.errors import LimitError
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.diagnostic import Test
from rhoplan.model.pomdp import END, POMDP, Action, Array, Observable
from rhoplan.planning import clock
from rhoplan.planning.routing.decomposition import decomposes, going_on_costs
from rhoplan.planning.routing.settings import SETTINGS
from rhoplan.planning.routing.site_graph import LEAVE, SiteGraph, depends, is_move
from rhoplan.planning.routing.tour import values_in_best_order
from rhoplan.planning.routing.tour_value import TaskValues, TourValue

ROUNDING = 1e-12
"""Outward rounding, as a share of what is at stake."""

Best = Callable[[POMDP, Array], tuple[float, float]]
"""Certified bounds on what an errand, a flat problem, is worth with a belief."""


class Unfit(Exception):
    """The plan cannot be followed: the problem is not what it looks like from the start."""


class ErrandPlan:
    """The plan in any situation of `problem`. LimitError where the problem does not come apart into errands."""

    def __init__(self, problem: POMDP, *, weight: float, discount: float) -> None:
        self.problem, self.weight, self.discount = problem, weight, discount
        self.outlook = TourValue(problem, weight=weight, discount=discount)
        self.survey: SiteGraph = self.outlook.around(problem.start)
        self._apart: bool | None = None  # not looked at yet

    def order(self, situation: Situation, *, deadline: float = math.inf) -> tuple[SiteGraph, dict[int, int]]:
        """The surroundings of `situation`, and the errands there in the order in which they are done, each with the
        number of tests that may be run on the spot.

        LimitError where `deadline` comes first.
        """
        found = self.outlook.around(situation.observable)
        with self.outlook.limited(max(deadline - clock.now(), 0.0)):
            worth, after = self.outlook.rate(found, tuple(belief[None, :] for belief in situation.beliefs))
            begun, tests = self._begun(situation, found, worth, after)
        order = self.outlook.order(
            found, found.place[situation.observable], worth=worth[0], after=after[0], chosen=begun
        )
        return found, {column: tests if column in begun else SETTINGS.tests for column in order}

    def _begun(self, situation: Situation, found: SiteGraph, worth: Array, after: Array) -> tuple[tuple[int, ...], int]:
        """The errand that is done first, here, because no more than so many tests of it are run; none where that is of
        no use, as without a discount.

        With a discount, tests hold up what comes later, which is not seen on the spot: fewer can be better. Who has
        begun with so many must find the plan to go on with when he plans anew: then no plan is worse than the one
        before it.
        """
        place = found.place[situation.observable]
        begun, tests = tuple[int, ...](), SETTINGS.tests
        if self.discount == 1 or found.is_dead_end:
            return begun, tests
        best = float(self.outlook.best_tour(found, np.array([place]), worth, after)[0])
        seen = set[tuple[int, bytes]]()
        for column in np.flatnonzero(found.site == place).tolist():
            errand, belief = found.tasks[column], situation.beliefs[found.factors[column]]
            if (id(errand), belief.tobytes()) in seen:
                continue  # as good as another one
            seen.add((id(errand), belief.tobytes()))
            ways = [self.outlook.task(errand).rate(belief[None, :], fewer) for fewer in range(SETTINGS.tests)]
            rated, fewest = np.unique(np.array(ways)[:, :, 0], axis=0, return_index=True)
            rows = [np.repeat(part, len(rated), axis=0) for part in (worth, after)]
            rows[0][:, column], rows[1][:, column] = rated.T
            values = self.outlook.started(found, *rows)[:, column]
            if values.max() > best + ROUNDING * abs(best):
                best, begun, tests = float(values.max()), (column,), int(fewest[values.argmax()])
        return begun, tests

    def action(self, situation: Situation) -> str:
        """The name of what is done first."""
        found, order = self.order(situation)
        here = situation.observable
        for column, tests in order.items():
            path = self.path(found, here, column)
            if path:
                return path[0]
            errands = self.outlook.task(found.tasks[column])
            node = errands.node(situation.beliefs[found.factors[column]])
            name, _ = errands.taken(node, tests)
            if name != LEAVE:
                return self._on_offer(errands, here, found.factors[column])[name].name
        return self.way_out(found, here)[0]

    def lower(self, situation: Situation, *, deadline: float = math.inf) -> float:
        """What following the plan from `situation` is worth, exactly but for rounding.

        Minus infinity where it cannot be followed; TimeoutError where `deadline` comes first.
        """
        try:
            return self._followed(situation, deadline)
        except (Unfit, LimitError):
            return -math.inf

    def _followed(self, situation: Situation, deadline: float) -> float:
        found, order = self.order(situation, deadline=deadline)
        shadow, front, total, size = situation.observable, {situation.observable: 1.0}, 0.0, 0.0
        for column, tests in order.items():
            names = self.path(found, shadow, column)
            paid, front = self._walk(front, names, deadline)
            total, size = total + paid, size + abs(paid)
            shadow = self._along(shadow, names)
            errands, factor = self.outlook.task(found.tasks[column]), found.factors[column]
            known: dict[tuple[object, ...], tuple[float, dict[str, float]]] = {}
            after: dict[Observable, float] = {}
            for observable, mass in front.items():
                clock.check(deadline)
                menu = self._on_offer(errands, observable, factor)
                key = tuple((name, a.reward.tobytes(), a.likelihood.tobytes()) for name, a in menu.items())
                if key not in known:
                    known[key] = self._on_the_spot(errands, situation.beliefs[factor], menu, tests)
                if any(set(a.leads_to) != {observable} for a in menu.values() if len(a.outcomes) > 1):
                    raise Unfit
                paid, ends = known[key]
                total, size = total + mass * paid, size + mass * abs(paid)
                for name, share in ends.items():
                    there = observable if name == LEAVE else menu[name].leads_to[0]
                    if there is not END:
                        after[there] = after.get(there, 0.0) + mass * share
            front = after
        if front and not found.is_optional:
            raise Unfit
        if front:
            *names, last = self.way_out(found, shadow)
            paid, front = self._walk(front, names, deadline)
            paid += sum(mass * self._ending(observable, last) for observable, mass in front.items())
            total, size = total + paid, size + abs(paid)
        return total - ROUNDING * (size + 1.0)

    def _on_offer(self, errands: TaskValues, observable: Observable, factor: int) -> dict[str, Action]:
        """The actions about a factor in `visible`, by their names in the errand, which stands for many factors."""
        actions = [a for a in self.problem.menu(observable) if a.factor == factor and not is_move(a)]
        tests = [a for a in actions if not depends(a) and len(a.outcomes) > 1]
        flat = errands.graph.problem.flat
        names = [test.name for test in flat.tests], [deal.name for deal in flat.commits if deal.name != LEAVE]
        deals = [a for a in actions if depends(a)]
        if (len(tests), len(deals)) != (len(names[0]), len(names[1])):
            raise Unfit
        if not all(a.preserves_hidden_state and tells_as(a, test) for a, test in zip(tests, flat.tests, strict=True)):
            raise Unfit  # beliefs are those of the errand's tests
        return dict(zip([*names[0], *names[1]], [*tests, *deals], strict=True))

    def _on_the_spot(
        self, errands: TaskValues, belief: Array, menu: dict[str, Action], tests: int
    ) -> tuple[float, dict[str, float]]:
        """What testing, so often at most, and dealing with a factor pays by the actions of `menu`, and how much weight
        is left after each way to deal with it (LEAVE is one)."""
        masses, total, ends = {errands.node(belief): 1.0}, 0.0, dict[str, float]()
        for depth in range(tests, -1, -1):
            after: dict[int, float] = {}
            for node, mass in masses.items():
                name, place = errands.taken(node, depth)
                if name == LEAVE:
                    ends[name] = ends.get(name, 0.0) + mass
                    continue
                action, held = menu[name], errands.graph.beliefs(np.array([node]))
                paid = float(action.reward @ held[0]) + self.weight * float(information(held, action)[0])
                total += mass * paid
                if place < 0:
                    if len(action.outcomes) > 1:
                        raise Unfit
                    ends[name] = ends.get(name, 0.0) + self.discount * mass
                    continue
                chances = update(held, action)[0][0]
                for child, chance in zip(errands.children(node, place).tolist(), chances.tolist(), strict=True):
                    if chance > 0:
                        after[child] = after.get(child, 0.0) + self.discount * mass * chance
            masses = after
        return total, ends

    def _walk(
        self, front: dict[Observable, float], names: list[str], deadline: float
    ) -> tuple[float, dict[Observable, float]]:
        """What walking by `names` pays, and where it leads from everywhere in `front`."""
        total, after = 0.0, dict[Observable, float]()
        for observable, mass in front.items():
            clock.check(deadline)
            for name in names:
                action = next((a for a in self.problem.menu(observable) if a.name == name), None)
                if action is None or not is_move(action):
                    raise Unfit
                total += mass * float(action.reward[0])
                mass *= self.discount
                observable = action.leads_to[0]
            after[observable] = after.get(observable, 0.0) + mass
        return total, after

    def _along(self, observable: Observable, names: list[str]) -> Observable:
        return next(iter(self._walk({observable: 1.0}, names, math.inf)[1]))

    def _ending(self, observable: Observable, name: str) -> float:
        action = next((a for a in self.problem.menu(observable) if a.name == name), None)
        if action is None or not action.ends_episode or np.any(action.reward != action.reward[0]):
            raise Unfit
        return float(action.reward[0])

    def path(self, found: SiteGraph, observable: Observable, column: int) -> list[str]:
        """The walks from `visible`, which is in the survey, to an errand."""
        names = []
        while (steps := found.steps[found.place[observable], column]) > 0:
            for action in self.problem.menu(observable):
                if is_move(action) and found.steps[found.place[action.leads_to[0]], column] == steps - 1:
                    there = found.cost[found.place[action.leads_to[0]], column] - float(action.reward[0])
                    if there <= found.cost[found.place[observable], column] + 1e-9:
                        names.append(action.name)
                        observable = action.leads_to[0]
                        break
            else:
                raise Unfit
        return names

    def way_out(self, found: SiteGraph, observable: Observable) -> list[str]:
        """The walks from `visible` to where ending is worth most, and the ending action."""
        ways: dict[Observable, list[str]] = {observable: []}
        queue = [observable]
        for here in queue:
            worth = float(found.leaving[found.place[here]])
            for action in self.problem.menu(here):
                paid = float(action.reward[0])
                constant = not np.any(action.reward != paid)
                if action.ends_episode and constant and paid >= worth - 1e-9:
                    return [*ways[here], action.name]
                there = action.leads_to[0]
                if is_move(action) and there not in ways:
                    later = self.discount * float(found.leaving[found.place[there]])
                    if paid + later < worth - 1e-9:
                        continue
                    ways[there] = [*ways[here], action.name]
                    queue.append(there)
        raise Unfit

    def comes_apart(self, *, deadline: float = math.inf) -> bool:
        """Whether the problem stays what it looks like from the start: then a plan that is made anew on the way is no
        worse than the one before it. TimeoutError where `deadline` comes first."""
        if self._apart is None:
            self._apart = decomposes(
                self.problem, self.survey, discounts=self.discount < 1, informs=self.weight > 0, deadline=deadline
            )
        return self._apart

    @cached_property
    def _going_on_costs(self) -> bool:
        return going_on_costs(self.problem, self.survey)

    def upper(self, situation: Situation, best: Best, *, deadline: float = math.inf) -> float:
        """The optimum from `situation` on, where nothing but the walk connects the factors; else infinity."""
        found = self.outlook.around(situation.observable)
        if found.is_optional or found.has_remote or self.discount < 1:
            return math.inf
        if not self.comes_apart(deadline=deadline) or not self._going_on_costs:
            return math.inf
        worth = [best(e, situation.beliefs[f])[1] for e, f in zip(found.tasks, found.factors, strict=True)]
        place = found.place[situation.observable]
        return sum(worth) - shortest(found, place) + ROUNDING * (sum(map(abs, worth)) + 1.0)


def tells_as(action: Action, test: Test) -> bool:
    """Whether what `action` shows is as likely as what the `test` of an errand shows."""
    return bool(np.array_equal(action.likelihood, test.likelihood))


def shortest(found: SiteGraph, place: int) -> float:
    """At most the cost of the shortest walk from `place` to all errands; exact up to `sites_once` of them."""
    count = len(found.factors)
    if count <= SETTINGS.sites_once:
        free, cost = np.zeros((1, count)), found.cost[found.site]
        first = values_in_best_order(free, np.ones_like(free), cost, np.ones_like(cost), found.leaving[found.site])[0]
        return -float((first - found.cost[place]).max())
    apart = found.cost[found.site] + np.diag(np.full(count, np.inf))
    return float(np.minimum(found.cost[place], apart.min(axis=0)).sum())
