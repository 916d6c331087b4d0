"""Ceilings: what no agent can beat, because it is what one earns with nothing hidden.

`known_values` solves the problem as seen by someone who knows the hidden state; `ceiling` averages that over the prior.
For problems where every errand must be done on the spot and walking is all that connects them (Inspection), the optimum
itself comes apart: one optimal-stopping problem per factor, solved with bounds, and the shortest tour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from rhoplan.errors import LimitError
from rhoplan.model.pomdp import END, Action, Array, Problem, Visible
from rhoplan.model.transitions import expected
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.errands.apart import comes_apart, ending_is_best
from rhoplan.planning.errands.outlook import Outlook
from rhoplan.planning.errands.places import Survey
from rhoplan.planning.errands.route import MOST, MOST_AT_ONCE

MOST_STATES = 1 << 16
"""Joint hidden states over which a ceiling is averaged one by one."""

MOST_KNOWN = 1_000_000
"""Places times states of a problem that is solved with nothing hidden."""

MOST_SWEEPS = 10_000


@dataclass(frozen=True)
class Ceiling:
    """clairvoyant: mean reward with nothing hidden, discounted as the problem says. tight: whether it is that mean, or
    a bound above it. optimum: bounds on the best possible mean reward, where the problem comes apart; else None.
    """

    clairvoyant: float
    tight: bool
    optimum: tuple[float, float] | None


def ceiling(problem: Problem) -> Ceiling:
    """The ceiling over `problem`.

    LimitError where it neither observes, then commits, nor is of errands, nor small with one factor.
    """
    if problem.observes_then_commits:
        best = np.max([commit.reward for commit in problem.commits], axis=0)
        at_once = problem.discount == 1 or bool((best >= 0).all())  # else it may pay to put off a loss
        return Ceiling(float(problem.prior @ best) if at_once else _by_state(problem), True, None)
    if problem.looks_first:
        return Ceiling(_by_state(problem) / problem.discount, True, None)
    outlook = Outlook(problem, discount=problem.discount)
    try:
        found = outlook.survey(problem.start)
    except LimitError:
        return Ceiling(_by_state(problem), True, None)
    if not comes_apart(problem, found, discounts=problem.discount < 1):
        return Ceiling(_by_state(problem), True, None)
    if not ending_is_best(problem, found, problem.discount):
        return Ceiling(_loose(problem, outlook, found, waits=True), False, None)
    one_tour = not found.optional and problem.discount == 1
    joint = math.prod(np.count_nonzero(problem.factors[factor].prior) for factor in found.factors)
    if len(found.factors) > (MOST_AT_ONCE if one_tour else MOST) or not (one_tour or joint <= MOST_STATES):
        return Ceiling(_loose(problem, outlook, found, waits=problem.discount < 1), False, None)
    return Ceiling(_by_errands(problem, outlook, found), True, _optimum(problem, outlook, found))


def _by_state(problem: Problem) -> float:
    if len(problem.factors) > 1:
        raise LimitError(f"'{problem.name}' has several factors and does not come apart: there is no ceiling for it")
    places, values = known_values(problem, discount=problem.discount)
    return float(problem.prior @ values[places[problem.start]])


def known_values(problem: Problem, *, discount: float) -> tuple[dict[Visible, int], Array]:
    """What each visible state is worth (P, S) to someone who knows the state of the one hidden factor.

    By value iteration; LimitError where there is no end in sight.
    """
    places: dict[Visible, int] = {problem.start: 0}
    queue, menus = [problem.start], []
    states = len(problem.prior)
    for visible in queue:
        if len(places) * states > MOST_KNOWN:
            raise LimitError(f"'{problem.name}' has more than {MOST_KNOWN // states:,} places: too many for a ceiling")
        menus.append(problem.menu(visible))
        for target in (t for action in menus[-1] for t in action.leads_to if t is not END):
            if target not in places:
                places[target] = len(places)
                queue.append(target)
    values = np.zeros((len(places), states))
    for _ in range(MOST_SWEEPS):
        before = values.copy()
        for here, menu in enumerate(menus):
            values[here] = np.max([_known_worth(action, places, values, discount) for action in menu], axis=0)
        if np.max(np.abs(values - before)) <= 1e-12 * problem.reward_scale:
            return places, values
    raise LimitError(f"'{problem.name}' goes on for ever with nothing hidden: there is no ceiling for it")


def _known_worth(action: Action, places: dict[Visible, int], values: Array, discount: float) -> Array:
    total: Array = action.reward.copy()
    for outcome, target in enumerate(action.leads_to):
        if target is not END:
            after = values[places[target]]
            if action.transition is not None:
                after = expected(action.transition, outcome, after)
            total = total + discount * action.likelihood[:, outcome] * after
    return total


def _by_errands(problem: Problem, outlook: Outlook, found: Survey) -> float:
    """Mean over hidden states of the best tour: one by one, or by factor where the tour is the same for all."""
    start = np.array([found.place[problem.start]])
    supports = [np.flatnonzero(problem.factors[factor].prior) for factor in found.factors]
    if not found.optional and problem.discount == 1:
        prior = tuple(factor.prior[None, :] for factor in problem.factors)
        worth, after = outlook.rate(found, prior)
        for column, (factor, states) in enumerate(zip(found.factors, supports, strict=True)):
            known = outlook.rate(found, _known(problem, [(factor, state) for state in states.tolist()]))[0][:, column]
            worth[0, column] = known @ problem.factors[factor].prior[states]
        return float(outlook.best_tour(found, start, worth, after)[0])
    joint = np.array(list(product(*supports)))
    priors = [problem.factors[factor].prior for factor in found.factors]
    chance = np.prod([np.ones(len(joint)), *(prior[joint[:, c]] for c, prior in enumerate(priors))], axis=0)
    beliefs = [np.repeat(factor.prior[None, :], len(joint), axis=0) for factor in problem.factors]
    for column, factor in enumerate(found.factors):
        beliefs[factor] = np.eye(len(problem.factors[factor].states))[joint[:, column]]
    worth, after = outlook.rate(found, tuple(beliefs))
    return float(chance @ outlook.best_tour(found, np.repeat(start, len(joint)), worth, after))


def _known(problem: Problem, facts: list[tuple[int, int]]) -> tuple[Array, ...]:
    """One row of beliefs per fact (factor, state): that factor is known, the others are as at first."""
    beliefs = [np.repeat(factor.prior[None, :], len(facts), axis=0) for factor in problem.factors]
    for row, (factor, state) in enumerate(facts):
        beliefs[factor][row] = np.eye(len(problem.factors[factor].states))[state]
    return tuple(beliefs)


def _loose(problem: Problem, outlook: Outlook, found: Survey, *, waits: bool) -> float:
    """Above the mean of the best tour: every errand worth the shortest walk to it is done, at no other cost.

    waits: whether losses can be put off, until they count for next to nothing, or for ever: then only gains are
    counted.
    """
    start = found.place[problem.start]
    apart = found.cost[found.site] + np.diag(np.full(len(found.site), np.inf))
    near = np.zeros(len(found.site)) if waits else np.minimum(found.cost[start], apart.min(axis=0))
    total = float(found.leaving.max()) if found.optional else 0.0
    total, least = (max(total, 0.0), 0.0) if waits else (total, 0.0 if found.optional else -np.inf)
    for column, factor in enumerate(found.factors):
        states = np.flatnonzero(problem.factors[factor].prior)
        known = outlook.rate(found, _known(problem, [(factor, state) for state in states.tolist()]))[0][:, column]
        total += float(np.maximum(known - near[column], least) @ problem.factors[factor].prior[states])
    return total


def _optimum(problem: Problem, outlook: Outlook, found: Survey) -> tuple[float, float] | None:
    """Bounds on the optimum where errands meet in nothing but the walk between them."""
    if found.optional or found.remote or problem.discount < 1:
        return None
    low, high = np.zeros((1, len(found.factors))), np.zeros((1, len(found.factors)))
    for errand in dict.fromkeys(found.errands):
        solution = solve(errand, gap=1e-6)
        columns = [column for column, other in enumerate(found.errands) if other is errand]
        low[:, columns], high[:, columns] = solution.lower, solution.upper
    start = np.array([found.place[problem.start]])
    ends = [float(outlook.best_tour(found, start, worth, np.ones_like(worth))[0]) for worth in (low, high)]
    return ends[0], ends[1]
