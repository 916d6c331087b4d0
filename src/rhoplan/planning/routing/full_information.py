"""Bounds on the value of any policy from full information: what is earned if nothing is hidden.

`full_information_leaf` solves the problem for known hidden states (as QMDP does); the bound is its mean over the prior.
In a problem where every task must be done at its site and nothing but walks connects the tasks (Inspection), the
optimum itself decomposes: one stopping problem per factor, solved with bounds, and the shortest tour.

Shapes: P observable states, S hidden states of the one factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

import numpy as np

from rhoplan.belief_math.transitions import expected
from rhoplan.errors import LimitError
from rhoplan.model.pomdp import END, POMDP, Action, Array, Leaf, Observable
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.routing.decomposition import decomposes, ending_is_best
from rhoplan.planning.routing.settings import SETTINGS, RoutingSettings
from rhoplan.planning.routing.site_graph import SiteGraph
from rhoplan.planning.routing.tour_value import TourValue


@dataclass(frozen=True)
class FullInformationBound:
    """value: mean discounted reward with full information. is_exact: whether it is that mean, or a bound above it.
    optimum: bounds on the value of the best policy, if the problem decomposes; else None.
    """

    value: float
    is_exact: bool
    optimum: tuple[float, float] | None


def full_information_bound(problem: POMDP, settings: RoutingSettings = SETTINGS) -> FullInformationBound:
    """An upper bound on what any policy earns in `problem`.

    LimitError unless the problem observes, then commits, or decomposes into sites, or is small with one factor.
    """
    tour, discounts = TourValue(problem, discount=problem.discount, settings=settings), problem.discount < 1
    if problem.observes_then_commits:
        best = np.max([commit.reward for commit in problem.commits], axis=0)
        at_once = not discounts or bool((best >= 0).all())  # otherwise it may pay to put off a loss
        return FullInformationBound(float(problem.prior @ best) if at_once else _by_state(problem), True, None)
    if problem.looks_first:
        return FullInformationBound(_by_state(problem) / problem.discount, True, None)
    with suppress(LimitError):
        found = tour.around(problem.start)
        if decomposes(problem, found, discounts=discounts, settings=settings):
            return _of_sites(tour, found)
    return FullInformationBound(_by_state(problem), True, None)


def full_information_leaf(problem: POMDP, *, discount: float, settings: RoutingSettings = SETTINGS) -> Leaf:
    """The expected value of beliefs if the state of the one hidden factor becomes known, by value iteration (QMDP).

    LimitError if there are several factors, too many places, or no convergence.
    """
    if len(problem.factors) > 1:
        raise LimitError(f"'{problem.name}' has several factors and does not decompose: there is no ceiling for it")
    states, places, menus = len(problem.prior), {problem.start: 0}, list[tuple[Action, ...]]()
    queue = [problem.start]
    for observable in queue:
        if len(places) * states > settings.known_states:
            most = settings.known_states // states
            raise LimitError(f"'{problem.name}' has more than {most:,} places: too many for a ceiling")
        menus.append(problem.menu(observable))
        for target in (t for action in menus[-1] for t in action.leads_to if t is not END):
            if target not in places:
                places[target] = len(places)
                queue.append(target)
    values = np.zeros((len(places), states))
    for _ in range(settings.sweeps):
        before = values.copy()
        for here, menu in enumerate(menus):
            values[here] = np.max([_known_value(action, places, values, discount) for action in menu], axis=0)
        if np.max(np.abs(values - before)) <= settings.converged * problem.reward_scale:
            break
    else:
        raise LimitError(f"'{problem.name}' goes on for ever with nothing hidden: there is no ceiling for it")

    def leaf(observables: Sequence[Observable], beliefs: tuple[Array, ...]) -> Array:
        rows = values[[places[observable] for observable in observables]]
        result: Array = (beliefs[0] * rows).sum(axis=1)
        return result

    return leaf


def _known_value(action: Action, places: dict[Observable, int], values: Array, discount: float) -> Array:
    total: Array = action.reward.copy()
    for outcome, target in enumerate(action.leads_to):
        if target is not END:
            after = values[places[target]]
            if action.transition is not None:
                after = expected(action.transition, outcome, after)
            total += discount * action.likelihood[:, outcome] * after
    return total


def _by_state(problem: POMDP) -> float:
    """The mean value with full information, in a problem with one factor."""
    return float(full_information_leaf(problem, discount=problem.discount)([problem.start], (problem.prior[None],))[0])


def _of_sites(tour: TourValue, found: SiteGraph) -> FullInformationBound:
    """The bound in a problem that decomposes into the sites around its start."""
    problem, discounts, count = tour.problem, tour.discount < 1, len(found.factors)
    if not ending_is_best(problem, found, tour.discount):
        return FullInformationBound(loose_bound(tour, found, waits=True), False, None)
    joint = math.prod(np.count_nonzero(problem.factors[factor].prior) for factor in found.factors)
    if not tour.has_best_order or not (tour.has_one_order or joint <= tour.settings.joint_states):
        return FullInformationBound(loose_bound(tour, found, waits=discounts), False, None)
    if not tour.has_one_order:
        return FullInformationBound(_mean_of_tours(tour, found), True, None)
    worth = np.array([_mean_known(tour, found, column) for column in range(count)])
    return FullInformationBound(_shortest_tour(tour, found, worth), True, _optimum(tour, found))


def loose_bound(tour: TourValue, found: SiteGraph, *, waits: bool) -> float:
    """Above the mean of the best tour: every task that is worth the shortest walk to it is done, at no other cost.

    waits: whether losses can be put off, until they count for next to nothing, or for ever: then only gains count.
    """
    start, count = found.place[tour.problem.start], len(found.factors)
    between = found.cost[found.site] + np.diag(np.full(count, np.inf))
    near = np.zeros(count) if waits else np.minimum(found.cost[start], between.min(axis=0))
    total = float(found.leaving.max()) if found.is_optional else 0.0
    total, least = (max(total, 0.0), 0.0) if waits else (total, 0.0 if found.is_optional else -math.inf)
    return total + sum(_mean_known(tour, found, k, cost=float(near[k]), least=least) for k in range(count))


def _mean_of_tours(tour: TourValue, found: SiteGraph) -> float:
    """Mean of the best tour over hidden states, one by one."""
    factors = tour.problem.factors
    priors = [factors[factor].prior for factor in found.factors]
    joint = np.array(list(product(*(np.flatnonzero(prior) for prior in priors))))
    chance = np.prod([np.ones(len(joint)), *(prior[joint[:, c]] for c, prior in enumerate(priors))], axis=0)
    beliefs = [np.repeat(factor.prior[None, :], len(joint), axis=0) for factor in factors]
    for column, factor in enumerate(found.factors):
        beliefs[factor] = np.eye(len(priors[column]))[joint[:, column]]
    start = np.repeat(found.place[tour.problem.start], len(joint))
    return float(chance @ tour.best_tour(found, start, *tour.rate(found, tuple(beliefs))))


def _mean_known(
    tour: TourValue, found: SiteGraph, column: int, *, cost: float = 0.0, least: float = -math.inf
) -> float:
    """The mean value of one task if the state of its factor is known: at least `least` after paying `cost`."""
    prior = tour.problem.factors[found.factors[column]].prior
    states = np.flatnonzero(prior)
    known = tour.task(found.tasks[column]).rate(np.eye(len(prior))[states])[0]
    return float(np.maximum(known - cost, least) @ prior[states])


def _shortest_tour(tour: TourValue, found: SiteGraph, worth: Array) -> float:
    """Value of doing all tasks, without a discount, if they are worth so much (K,) wherever they are."""
    start = np.array([found.place[tour.problem.start]])
    return float(tour.best_tour(found, start, worth[None, :], np.ones((1, len(worth))))[0])


def _optimum(tour: TourValue, found: SiteGraph) -> tuple[float, float] | None:
    """Bounds on the optimum if nothing but the walk connects the tasks, all of which must be done."""
    if found.has_remote:
        return None
    low, high = np.zeros((2, len(found.factors)))
    for task, columns in found.columns.items():
        solution = solve(task, gap=tour.settings.task_gap)
        low[columns], high[columns] = solution.lower, solution.upper
    return _shortest_tour(tour, found, low), _shortest_tour(tour, found, high)
