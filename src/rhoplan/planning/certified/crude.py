"""Bounds that need no machine code and next to no time: what is left where the time ends before better ones are found.

No step pays more than the largest reward nor, to someone careful, less than the best worst case; so the range of
rewards bounds every plan. Where one factor is hidden, sweeps in NumPy tighten both as far as time allows: from above
someone who sees the state (a bound that one more backup can only lower), from below the plans that always take the same
action.

Without a discount the range says little: where going on may pay, an infinite bound is all that is known of that side.
Where it never does, no plan is worth more than the best ending; and where the hidden state stays as it is, all tests
together tell no more than there is to know, and nobody does better than who knows it from the start.

With a horizon there is always a bound: so many steps pay at most so many times the largest reward. Nothing is laid out
for each number of actions left: what can be done is the same for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rhoplan.belief_math.information import entropy
from rhoplan.belief_math.transitions import expected
from rhoplan.model.horizon import Left, without_horizon
from rhoplan.model.pomdp import END, POMDP, Action, Array, Observable
from rhoplan.planning import clock

MOST_SWEEPS, SETTLED = 2000, 1e-4
"""Sweeps at most, and the change, as a share of the range, after which they are of no more use."""

ROUNDING = 1e-11
"""Outward rounding, as a share of the largest value: far above what sums of thousands of floats lose."""


@dataclass(frozen=True)
class Crude:
    """Bounds on the best value from the start, and an action that is worth at least the lower one."""

    lower: float
    upper: float
    first: str


def crude_bounds(problem: POMDP, *, weight: float, discount: float, deadline: float) -> Crude:
    """Bounds that hold. Where not even all actions can be looked at before `deadline` they are infinite, or what the
    menu says of all: `pays_between`, the least and the most that any action pays on average, in any state."""
    start = problem.menu(problem.start)
    belief = [factor.prior for factor in problem.factors]
    endings = [(float(a.reward @ belief[a.factor]), a.name) for a in start if a.ends_episode]
    lower, first = max(endings, default=(-math.inf, start[0].name))
    if problem.listed is not None:
        upper = _known_at_once(problem, problem.listed.everything, weight, discount)
        return _rounded(lower, upper, first, (lower, upper))
    try:
        menus = _menus(without_horizon(problem), deadline)
    except TimeoutError:
        told: tuple[float, float] | None = getattr(without_horizon(problem).menu, "pays_between", None)
        low, high = (-math.inf, math.inf) if told is None else _told_range(problem, told, weight, discount)
        if low > lower:
            lower, first = low, max(start, key=lambda action: float(action.reward.min())).name
        return _rounded(lower, high, first, (low, high, lower))
    if isinstance(problem.start, Left):
        at_once = Crude(lower, math.inf, first)
        return _within_horizon(problem, menus, problem.start.actions, at_once, weight, discount, deadline)
    every = [action for menu in menus.values() for action in menu]
    ends = any(there is END for action in every for there in action.leads_to)
    careful = min(max(float(action.reward.min()) for action in menu) for menu in menus.values())
    low, high = -for_ever(-careful, discount, ends), _range_above(problem, every, weight, discount)
    if low > lower:
        lower, first = low, max(start, key=lambda action: float(action.reward.min())).name
    upper = high
    if len(problem.factors) == 1:
        if all(action.transition is None for action in every):
            upper = min(upper, _known_at_once(problem, every, weight, discount))
        if weight == 0 and math.isfinite(high):
            half = _part(deadline, 2)
            upper = min(upper, float(belief[0] @ _swept(menus, problem.start, discount, high, half)))
        if math.isfinite(low):
            for number, action in enumerate(start):
                blind = {observable: _named(menu, action.name) for observable, menu in menus.items()}
                always = {observable: (found,) for observable, found in blind.items() if found is not None}
                if len(always) < len(menus):
                    continue
                worst = -for_ever(-min(float(found.reward.min()) for (found,) in always.values()), discount, ends)
                if math.isfinite(worst):
                    share = _part(deadline, len(start) - number)
                    values = _swept(always, problem.start, discount, worst, share)
                    value = float(belief[0] @ values)
                    lower, first = (value, action.name) if value > lower else (lower, first)
    return _rounded(lower, upper, first, (low, high, lower, upper))


def _menus(problem: POMDP, deadline: float) -> dict[Observable, tuple[Action, ...]]:
    """What can be done in each visible state that one can come to; TimeoutError where `deadline` comes first."""
    menus = {problem.start: problem.menu(problem.start)}
    queue = [problem.start]
    for observable in queue:
        for action in menus[observable]:
            for there in action.leads_to:
                if there is not END and there not in menus:
                    clock.check(deadline)
                    menus[there] = problem.menu(there)
                    queue.append(there)
    return menus


def _told_range(problem: POMDP, told: tuple[float, float], weight: float, discount: float) -> tuple[float, float]:
    """What any plan is worth at least and at most whose actions pay what is `told`, and which may end after any."""
    doubt = weight * sum(math.log(len(factor.states)) for factor in problem.factors)
    least, most = told[0], told[1] + doubt
    if not isinstance(problem.start, Left):
        return -for_ever(-least, discount, True), for_ever(most, discount, True)
    steps = problem.start.actions + 1  # and what ends it
    return min(least, _summed(least, steps, discount)), max(most, _summed(most, steps, discount))


def _within_horizon(
    problem: POMDP,
    menus: Mapping[Observable, tuple[Action, ...]],
    steps: int,
    at_once: Crude,
    weight: float,
    discount: float,
    deadline: float,
) -> Crude:
    """Bounds for at most so many `steps`, from the `menus` without a horizon: there are as many for each number left.

    at_once: what ending at the start is worth. A sum of n steps that pay the same each, and an end worth a number,
    goes one way in n: its extremes are at the fewest steps and at the most.
    """
    every = [action for menu in menus.values() for action in menu]
    endings = {observable: [action for action in menu if action.ends_episode] for observable, menu in menus.items()}
    stops, left = _may_end(every), discount**steps
    over = [0.0] if not all(endings.values()) else []  # where nothing ends, all is over after the last step
    doubt = weight * sum(math.log(len(factor.states)) for factor in problem.factors)
    most = [float(a.reward.max()) + (doubt if len(a.outcomes) > 1 else 0.0) for a in every]
    going = [pay for pay, action in zip(most, every, strict=True) if not action.ends_episode]
    ending = [pay for pay, action in zip(most, every, strict=True) if action.ends_episode]
    high = max(ending, default=-math.inf)
    if going:
        whole = _summed(max(going), steps, discount)
        high = max([high, whole + left * max([*ending, *over]), *([max(going), whole] if stops else [])])
    careful = min(max(float(action.reward.min()) for action in menu) for menu in menus.values())
    last = [max(float(action.reward.min()) for action in found) for found in endings.values() if found]
    whole = _summed(careful, steps, discount)
    low = min([whole + left * min([*last, *over]), *([careful, whole] if stops or last else [])])
    lower, upper, first = at_once.lower, high, at_once.first
    start = problem.menu(problem.start)
    if low > lower:
        lower, first = low, max(start, key=lambda action: float(action.reward.min())).name
    if len(problem.factors) == 1:
        (factor,), home = problem.factors, without_horizon(problem).start
        nothing = np.zeros(len(factor.states))
        stays = all(action.transition is None for action in every)
        if weight == 0 or stays:
            best = {v: np.max([a.reward for a in found], axis=0) if found else nothing for v, found in endings.items()}
            seen = _counted_down(menus, best, steps, discount, _part(deadline, 2), 1.0)
            told = weight * float(entropy(factor.prior)) if stays else 0.0
            upper = upper if seen is None else min(upper, float(factor.prior @ seen[home]) + told)
        safe = {
            observable: max((a.reward for a in found), key=lambda reward: float(reward.min())) if found else nothing
            for observable, found in endings.items()
        }
        for number, action in enumerate(start):
            blind = {observable: _named(menu, action.name) for observable, menu in menus.items()}
            always = {observable: (found,) for observable, found in blind.items() if found is not None}
            share = _part(deadline, len(start) - number)
            earned = _counted_down(always, safe, steps, discount, share, -1.0) if len(always) == len(menus) else None
            value = -math.inf if earned is None else float(factor.prior @ earned[home])
            lower, first = (value, action.name) if value > lower else (lower, first)
    return _rounded(lower, upper, first, (low, high, lower, upper))


def _summed(each: float, steps: int, discount: float) -> float:
    """What so many steps come to that pay `each`."""
    return each * (steps if discount == 1 else (1 - discount**steps) / (1 - discount))


def _counted_down(
    menus: Mapping[Observable, tuple[Action, ...]],
    last: Mapping[Observable, Array],
    steps: int,
    discount: float,
    deadline: float,
    sign: float,
) -> dict[Observable, Array] | None:
    """Bounds, from above (sign 1) or from below (-1), on the best action in each state and place with `steps` left.

    last: values with none left. If one step more adds at most so much anywhere, each further one adds at most that,
    discounted: so the bound holds wherever the sweeps stop. None where not one of them was done in time.
    """
    values, found = dict(last), None
    for done in range(1, min(steps, MOST_SWEEPS) + 1):
        after = dict[Observable, Array]()
        for observable, menu in menus.items():
            worths = list[Array]()
            for action in menu:
                if clock.now() > deadline:
                    return found
                worths.append(_worth(action, values, discount))
            after[observable] = np.max(worths, axis=0)
        changes = np.array([sign * (after[observable] - values[observable]) for observable in menus])
        more = _summed(discount * max(float(changes.max()), 0.0), steps - done, discount)
        further = _summed(discount * float(np.abs(changes).max()), steps - done, discount)
        values, found = after, {observable: value + sign * more for observable, value in after.items()}
        if further <= SETTLED * max(float(np.abs(value).max()) for value in after.values()):
            break
    return found


def _rounded(lower: float, upper: float, first: str, seen: tuple[float, ...]) -> Crude:
    """Both bounds moved outwards by what rounding may have lost on the way, where these numbers were `seen`."""
    rounding = ROUNDING * max([abs(bound) for bound in seen if math.isfinite(bound)], default=0.0)
    return Crude(lower - rounding, max(upper, lower) + rounding, first)


def _range_above(problem: POMDP, actions: Sequence[Action], weight: float, discount: float) -> float:
    """No plan that takes these `actions` is worth more, whatever the hidden state."""
    doubt = weight * sum(math.log(len(factor.states)) for factor in problem.factors)
    paid = [(float(a.reward.max()) + (doubt if len(a.outcomes) > 1 else 0.0), a.ends_episode) for a in actions]
    going = max((most for most, over in paid if not over), default=-math.inf)
    ending = max((most for most, over in paid if over), default=-math.inf)
    return max(for_ever(going, discount, _may_end(actions)), ending)


def _known_at_once(problem: POMDP, actions: Sequence[Action], weight: float, discount: float) -> float:
    """What is to be had at most by who knows the one hidden state, which never changes, and is paid for all of it."""
    (factor,) = problem.factors
    nothing = np.full(len(factor.states), -np.inf)
    going = np.max([nothing, *(a.reward for a in actions if not a.ends_episode)], axis=0)
    ending = np.max([nothing, *(a.reward for a in actions if a.ends_episode)], axis=0)
    ends = _may_end(actions)
    forever = np.array([for_ever(float(most), discount, ends) for most in going])
    held = factor.prior > 0
    return float(factor.prior[held] @ np.maximum(forever, ending)[held]) + weight * float(entropy(factor.prior))


def _may_end(actions: Sequence[Action]) -> bool:
    """Whether an action that otherwise goes on may end the episode."""
    return any(there is END for action in actions if not action.ends_episode for there in action.leads_to)


def for_ever(most: float, discount: float, ends: bool) -> float:
    """The most that steps can sum to that pay at most `most` each; with `ends` the episode may end after any."""
    if most <= 0 and (ends or discount == 1):
        return most
    return most / (1 - discount) if discount < 1 else math.inf


def _part(deadline: float, parts: int) -> float:
    """When the first of so many equal parts of the time left ends."""
    now = clock.now()
    return now + (deadline - now) / parts


def _named(menu: tuple[Action, ...], name: str) -> Action | None:
    return next((action for action in menu if action.name == name), None)


def _swept(
    menus: Mapping[Observable, tuple[Action, ...]], start: Observable, discount: float, first: float, deadline: float
) -> Array:
    """The value (S,) at the start of the best action in each state and place, swept from `first` everywhere.

    If one sweep does not raise `first` (or does not lower it), no later one does: the bound holds at any time.
    """
    states = len(menus[start][0].reward)
    values = {observable: np.full(states, first) for observable in menus}
    for _ in range(MOST_SWEEPS):
        moved = 0.0
        for observable, menu in menus.items():
            after = np.full(states, -np.inf)
            for action in menu:
                if clock.now() > deadline:
                    return values[start]
                after = np.maximum(after, _worth(action, values, discount))
            moved = max(moved, float(np.abs(after - values[observable]).max()))
            values[observable] = after
        if moved <= SETTLED * abs(first) * (1 - discount if discount < 1 else 1.0):
            break
    return values[start]


def _worth(action: Action, values: dict[Observable, Array], discount: float) -> Array:
    """What taking `action` is worth (S,) in each state, given values of what follows."""
    total: Array = action.reward.copy()
    going = [outcome for outcome, there in enumerate(action.leads_to) if there is not END]
    change = action.transition
    if change is not None and len({id(values[action.leads_to[outcome]]) for outcome in going}) == 1:
        each = change @ values[action.leads_to[going[0]]]  # all outcomes at once
        each = np.broadcast_to(each.reshape(-1, change.shape[-1]), action.likelihood.T.shape)
        total += discount * (action.likelihood[:, going].T * each[going]).sum(axis=0)
        return total
    for outcome in going:
        after = values[action.leads_to[outcome]]
        if change is not None:
            after = expected(change, outcome, after)
        total += discount * action.likelihood[:, outcome] * after
    return total
