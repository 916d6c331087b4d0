"""Decomposition of a problem into sites: where one can move, and what there is to do about each hidden factor.

A *move* changes the observable state only and costs the same in every hidden state. Moves connect the *places* within
reach of an observable state. A *site* is a place where a hidden factor can be tested and dealt with (a rock sampled, a
component declared); the *task* there is an observe-then-commit problem about that factor alone. In some places the
episode can end whatever is hidden. All this is read from the actions of a problem, so it holds for any factored problem
whose observable state moves deterministically; `site_graph` returns None for a problem of another kind.

Shapes: P places, K sites.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.model.pomdp import END, POMDP, Action, Array, Factor, Ids, Observable
from rhoplan.planning.routing.settings import SETTINGS, RoutingSettings

LEAVE = "leave"
"""The terminal action of a task that leaves the factor alone."""


@dataclass(frozen=True, eq=False)
class SiteGraph:
    """Places that moves connect, by number, and the sites among them.

    place: number of each observable state. cost, steps (P, K): of the cheapest walk from a place to a site; infinite if
    there is none. leaving (P,): the value of ending from a place, the walk to the best place for it included; minus
    infinity if every task must be done before the episode ends. site (K,): the place of each site. factors (K): the
    factor of each site. tasks (K): a problem about that factor alone, whose terminal actions deal with it. has_remote:
    whether a factor can be tested or dealt with elsewhere, too.
    """

    place: dict[Observable, int]
    cost: Array
    steps: Array
    leaving: Array
    site: Ids
    factors: tuple[int, ...]
    tasks: tuple[POMDP, ...]
    has_remote: bool

    @property
    def is_dead_end(self) -> bool:
        """Whether there is nothing left to do and no way to end."""
        return not self.factors and not self.is_optional

    @property
    def is_optional(self) -> bool:
        """Whether the episode can end with tasks undone."""
        return bool(np.isfinite(self.leaving).any())

    @cached_property
    def columns(self) -> dict[POMDP, list[int]]:
        """The sites of each distinct task."""
        return {task: [k for k, other in enumerate(self.tasks) if other is task] for task in self.tasks}

    def only(self, sites: list[int]) -> SiteGraph:
        """The same with some of the sites."""
        return replace(
            self,
            cost=self.cost[:, sites],
            steps=self.steps[:, sites],
            site=self.site[sites],
            factors=tuple(self.factors[site] for site in sites),
            tasks=tuple(self.tasks[site] for site in sites),
        )


def site_graph(
    problem: POMDP,
    observable: Observable,
    *,
    discount: float,
    tasks: dict[Hashable, POMDP],
    settings: RoutingSettings = SETTINGS,
) -> SiteGraph | None:
    """The places and sites around an observable state; None if the problem does not decompose there.

    tasks: keeps one problem per kind of task, for several site graphs.
    """
    menus = _menus(problem, observable, settings.places)
    if menus is None:
        return None
    place = {visited: number for number, visited in enumerate(menus)}
    moves: dict[tuple[int, int], float] = {}
    ending, deals = np.full(len(menus), -np.inf), dict[int, int]()
    for here, menu in enumerate(menus.values()):
        for action in menu:
            paid = float(action.reward[0])
            if is_move(action):
                if paid > 0:
                    return None
                way = here, place[action.leads_to[0]]
                if way[0] != way[1]:
                    moves[way] = min(moves.get(way, np.inf), -paid)
            elif depends(action):
                if len(action.outcomes) > 1:
                    return None  # a test whose reward depends on the hidden state
            elif action.ends_episode:
                ending[here] = max(ending[here], paid)
            elif not action.preserves_hidden_state:
                return None  # a change of the hidden state that no task is about
        for factor in sorted({action.factor for action in menu if depends(action)}):
            deals.setdefault(factor, here)
    if discount < 1 and len(set(moves.values())) > 1:
        return None  # neither the cheapest walk nor the shortest need be the best one
    is_optional, found = bool(np.isfinite(ending).any()), []
    for factor, here in deals.items():
        visited = list(menus)[here]
        actions = [action for action in menus[visited] if action.factor == factor and not is_move(action)]
        ends = any(action.ends_episode and depends(action) for action in actions)
        task = _task(problem.factors[factor], actions, visited, is_optional=is_optional, known=tasks)
        if task is None or (ends and (is_optional or len(deals) > 1)):
            return None
        found.append(task)
    has_remote = any(
        deals.get(action.factor, here) != here
        for here, menu in enumerate(menus.values())
        for action in menu
        if not is_move(action) and (not action.ends_episode or depends(action))
    )
    site = np.array(list(deals.values()), dtype=np.int64)
    cost, steps = _walks(moves, site, len(menus), settings.equal)
    leaving = _leaving(ending, moves, discount)
    return SiteGraph(place, cost, steps, leaving, site, tuple(deals), tuple(found), has_remote)


def is_move(action: Action) -> bool:
    """Whether an action changes the observable state only, and costs the same whatever is hidden."""
    single = len(action.outcomes) == 1 and action.leads_to[0] is not END and action.preserves_hidden_state
    return single and not depends(action)


def depends(action: Action) -> bool:
    """Whether the reward of an action depends on the hidden state."""
    return action.same_reward is None


def _menus(problem: POMDP, observable: Observable, most: int) -> dict[Observable, tuple[Action, ...]] | None:
    """The actions in all observable states that moves reach from one; None if these are too many."""
    menus: dict[Observable, tuple[Action, ...]] = {}
    queue = {observable: None}
    while queue:
        here = next(iter(queue))
        del queue[here]
        menus[here] = problem.menu(here)
        targets = (action.leads_to[0] for action in menus[here] if is_move(action))
        queue |= dict.fromkeys(target for target in targets if target not in menus)
        if len(menus) + len(queue) > most:
            return None
    return menus


def _task(
    factor: Factor, actions: list[Action], here: Observable, *, is_optional: bool, known: dict[Hashable, POMDP]
) -> POMDP | None:
    """The problem of dealing with one factor at its site; None if a test does more than test."""
    deals = [action for action in actions if depends(action)]
    tests = [action for action in actions if not depends(action) and len(action.outcomes) > 1]
    if any(not test.preserves_hidden_state or set(test.leads_to) != {here} or test.reward[0] > 0 for test in tests):
        return None
    if any(deal.leads_to[0] == here and deal.preserves_hidden_state for deal in deals):
        return None  # it could be dealt with again and again
    numbers = ((action.likelihood.tobytes(), action.reward.tobytes()) for action in (*tests, *deals))
    key = (is_optional, factor.prior.tobytes(), *numbers)
    if key not in known:
        leave = (Decision(LEAVE, np.zeros(len(factor.states))),) if is_optional else ()
        known[key] = DiagnosticProblem(
            name=factor.name,
            states=factor.states,
            tests=tuple(Test(a.name, -float(a.reward[0]), a.outcomes, a.likelihood) for a in tests),
            decisions=(*leave, *(Decision(action.name, action.reward) for action in deals)),
            prior=factor.prior,
        )
    return known[key]


def _walks(moves: dict[tuple[int, int], float], site: Ids, places: int, equal: float) -> tuple[Array, Array]:
    """Cost and steps (P, K) of the cheapest walk from each place to each site, the shortest one of several."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    before, after = np.array(list(moves), dtype=np.int64).reshape(-1, 2).T
    price = np.array(list(moves.values()))
    cost, steps = np.empty((2, places, len(site)))
    reverse = csr_array((price, (after, before)), shape=(places, places))
    for column, target in enumerate(site.tolist()):
        cost[:, column] = dijkstra(reverse, indices=target)
        cheapest = price + cost[after, column] <= cost[before, column] + equal
        links = csr_array((price[cheapest], (after[cheapest], before[cheapest])), shape=(places, places))
        steps[:, column] = dijkstra(links, indices=target, unweighted=True)
    return cost, steps


def _leaving(ending: Array, moves: dict[tuple[int, int], float], discount: float) -> Array:
    """The value of ending (P,) from each place after moving to the best place for it, from `ending` (P,) on the spot.

    The place with the highest value is settled first, as in Dijkstra's algorithm, and is not improved later: moving on
    to put off a loss is not ending.
    """
    into: dict[int, list[tuple[int, float]]] = {}
    for (before, after), price in moves.items():
        into.setdefault(after, []).append((before, price))
    value = ending.copy()
    queue = [(-best, here) for here, best in enumerate(value) if np.isfinite(best)]
    heapq.heapify(queue)
    settled = np.zeros(len(value), dtype=bool)
    while queue:
        negative, here = heapq.heappop(queue)
        if settled[here] or -negative < value[here]:
            continue
        settled[here] = True
        for before, price in into.get(here, []):
            better = -price + discount * value[here]
            if not settled[before] and better > value[before]:
                value[before] = better
                heapq.heappush(queue, (-better, before))
    return value
