"""A factored problem seen from above: where one can walk, and what there is to do for each hidden factor, and where.

From a visible state, walking (actions that change the visible state only) reaches a set of visible states. In some of
them an *errand* waits: a hidden factor can be tested there and dealt with (a rock sampled, a component declared). In
some of them the episode can be ended whatever is hidden. This is read off the problem's menus, so it holds for any
factored problem whose visible state moves deterministically; `survey` gives None where a problem is not of this kind.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from rhoplan.model.diagnostic import Commit, Test, observe_then_commit
from rhoplan.model.pomdp import END, Action, Array, Factor, Ids, Problem, Visible

MOST_PLACES = 20_000
"""Visible states reached by walking beyond which a problem is not surveyed."""

LEAVE = "leave"
"""The commit of an errand that leaves the factor alone."""


@dataclass(frozen=True, eq=False)
class Survey:
    """The places within a walk of one another, by number, and the errands (K of them) that wait there.

    place: number of each visible state. cost, steps (P, K): of the cheapest walk from a place to an errand; infinite
    where there is none. leaving (P,): what ending is worth from a place, the walk there included; minus infinity where
    every errand must be done before the episode ends. site (K,): the place of each errand. errands: for each a flat
    problem about its factor alone, whose commits deal with it. remote: whether a factor can be tested or dealt with
    elsewhere too.
    """

    place: dict[Visible, int]
    cost: Array
    steps: Array
    leaving: Array
    site: Ids
    factors: tuple[int, ...]
    errands: tuple[Problem, ...]
    remote: bool

    @property
    def is_dead_end(self) -> bool:
        """Whether there is nothing left to do here and no way to end."""
        return not self.factors and not self.optional

    @property
    def optional(self) -> bool:
        """Whether the episode can be ended with errands undone."""
        return bool(np.isfinite(self.leaving).any())


def survey(problem: Problem, visible: Visible, *, discount: float, errands: dict[Hashable, Problem]) -> Survey | None:
    """What there is to do around `visible`. `errands` keeps one problem per kind of errand, across surveys."""
    menus = _reach(problem, visible)
    if menus is None:
        return None
    place = {visited: number for number, visited in enumerate(menus)}
    walks: list[list[tuple[int, float]]] = [[] for _ in menus]
    leaving = np.full(len(menus), -np.inf)
    offers: dict[int, tuple[int, list[Action]]] = {}
    for visited, here in place.items():
        for action in menus[visited]:
            constant = not depends(action)
            if constant and action.ends_episode:
                leaving[here] = max(leaving[here], float(action.reward[0]))
            elif is_walk(action):
                if action.reward[0] > 0:
                    return None
                walks[place[action.leads_to[0]]].append((here, -float(action.reward[0])))
            elif not action.preserves_hidden_state if constant else len(action.outcomes) > 1:
                return None  # a change of what is hidden that is no errand, or a test that pays by it
    optional = bool(np.isfinite(leaving).any())
    for visited, here in place.items():
        # A factor can be dealt with where some action's reward depends on it.
        for factor in sorted({action.factor for action in menus[visited] if depends(action)}):
            actions = [action for action in menus[visited] if action.factor == factor and not is_walk(action)]
            offers.setdefault(factor, (here, actions))
    remote = any(
        offers[action.factor][0] != here and not is_walk(action) and (not action.ends_episode or depends(action))
        for visited, here in place.items()
        for action in menus[visited]
        if action.factor in offers
    )
    problems = []
    visibles = list(place)
    for factor, (here, actions) in offers.items():
        made = _errand(problem.factors[factor], actions, visibles[here], optional, errands)
        more = optional or len(offers) > 1
        if made is None or (more and any(action.ends_episode and depends(action) for action in actions)):
            return None
        problems.append(made)
    prices = {price for here, ways in enumerate(walks) for before, price in ways if before != here}
    if discount < 1 and len(prices) > 1:
        return None  # neither the cheapest walk nor the shortest need be the best one
    site = np.array([here for here, _ in offers.values()], dtype=np.int64)
    walked = [_walks_to(int(target), walks, len(menus), by_steps=discount < 1) for target in site]
    cost = np.stack([w[0] for w in walked], axis=1) if walked else np.empty((len(menus), 0))
    steps = np.stack([w[1] for w in walked], axis=1) if walked else np.empty((len(menus), 0))
    return Survey(place, cost, steps, _leave(leaving, walks, discount), site, tuple(offers), tuple(problems), remote)


def _reach(problem: Problem, visible: Visible) -> dict[Visible, tuple[Action, ...]] | None:
    """The menus of all visible states that walking reaches from `visible`."""
    menus: dict[Visible, tuple[Action, ...]] = {visible: problem.menu(visible)}
    queue = [visible]
    for visited in queue:
        for action in menus[visited]:
            target = action.leads_to[0]
            if is_walk(action) and target not in menus:
                if len(menus) >= MOST_PLACES:
                    return None
                menus[target] = problem.menu(target)
                queue.append(target)
    return menus


def is_walk(action: Action) -> bool:
    """Whether an action changes the visible state only, and costs the same whatever is hidden."""
    single = len(action.outcomes) == 1 and action.leads_to[0] is not END and action.preserves_hidden_state
    return single and not depends(action)


def depends(action: Action) -> bool:
    """Whether what the action pays depends on what is hidden."""
    return bool(np.any(action.reward != action.reward[0]))


def _errand(
    factor: Factor, actions: list[Action], here: Visible, optional: bool, known: dict[Hashable, Problem]
) -> Problem | None:
    """The flat problem of dealing with one factor on the spot; None where a test is not a plain one."""
    deals = [action for action in actions if depends(action)]
    tests = [action for action in actions if not depends(action) and len(action.outcomes) > 1]
    if any(not test.preserves_hidden_state or set(test.leads_to) != {here} or test.reward[0] > 0 for test in tests):
        return None
    if any(deal.leads_to[0] == here and deal.preserves_hidden_state for deal in deals):
        return None  # it could be dealt with again and again
    key = (optional, factor.prior.tobytes(), *((a.likelihood.tobytes(), a.reward.tobytes()) for a in (*tests, *deals)))
    if key not in known:
        leave = (Commit(LEAVE, np.zeros(len(factor.states))),) if optional else ()
        known[key] = observe_then_commit(
            factor.name,
            factor.states,
            tests=tuple(Test(a.name, -float(a.reward[0]), a.outcomes, a.likelihood) for a in tests),
            commits=(*leave, *(Commit(action.name, action.reward) for action in deals)),
            prior=factor.prior,
        )
    return known[key]


def _walks_to(target: int, walks: list[list[tuple[int, float]]], places: int, *, by_steps: bool) -> tuple[Array, Array]:
    """Cost and steps (P,) of the cheapest walk from each place to `target`, or of the shortest."""
    cost, steps = np.full(places, np.inf), np.full(places, np.inf)
    queue = [(0.0, 0.0, target)]
    while queue:
        first, second, here = heapq.heappop(queue)
        if np.isfinite(cost[here]):
            continue
        cost[here], steps[here] = (second, first) if by_steps else (first, second)
        for before, price in walks[here]:
            if not np.isfinite(cost[before]):
                more = (1.0, price) if by_steps else (price, 1.0)
                heapq.heappush(queue, (first + more[0], second + more[1], before))
    return cost, steps


def _leave(leaving: Array, walks: list[list[tuple[int, float]]], discount: float) -> Array:
    """What ending is worth (P,) from each place, when one walks to the best place to end."""
    worth = leaving.copy()
    queue = [(-value, here) for here, value in enumerate(worth) if np.isfinite(value)]
    heapq.heapify(queue)
    known = np.zeros(len(worth), dtype=bool)
    while queue:
        value, here = heapq.heappop(queue)
        if known[here] or -value < worth[here]:
            continue
        known[here] = True  # who would put off a loss by walking on and on does not leave
        for before, price in walks[here]:
            better = -price + discount * worth[here]
            if not known[before] and better > worth[before] + 1e-12:
                worth[before] = better
                heapq.heappush(queue, (-better, before))
    return worth
