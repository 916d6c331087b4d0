"""The first bounds: from above the fast informed bound, from below policies that look at the visible class alone.

Both are fixed points of monotone operators, and neither has to be reached: for any guess x of the upper one with
T x <= x + e everywhere, x + e N lies above the fixed point, N as in `lasting`, and likewise below. So a guess may come
from a linear system or from sweeps, and one more sweep certifies it.

With w > 0 the upper bound is on W = V - c w H, which is convex in the belief (c: see `potential`): it is at
most the mean of its values at the corners, where the reward of action a in state s is

    r_a(s) + w H(T_a(. | s)) - (1 - g c) w E_o H(b'_o | s).

With g = 1, where a plan need not end, every reward is raised by a hair (lowered, for the lower bound), but not in
states where nothing is ever paid again: these are worth 0 whatever is done, like the end, also where one cannot tell
that one is there. Neither are steps raised by which one can go in circles for nothing: all states of such a circle are
worth the same to someone who sees the state, and at least 0, for one may stay. Where the raised problem has a bounded
solution, each other step costs something in the long run: who never comes to rest, nor stays in a circle, loses without
limit, and the solution is an upper bound. Where it has none, one can gain for ever, or a circle with gains and losses
is free in the end: refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning import clock
from rhoplan.planning.certified.components import circles_of
from rhoplan.planning.certified.pointbased.classes import Flags
from rhoplan.planning.certified.pointbased.compiled import Compiled, Model
from rhoplan.planning.certified.pointbased.machine import compiled
from rhoplan.planning.certified.pointbased.policies import (
    HAIR,
    MOST_DENSE,
    MOST_STEPS,
    ROUNDING,
    can_end,
    endless,
    policies,
)
from rhoplan.planning.certified.pointbased.seen import best_actions, values_of

LARGE = 1_000_000
"""Entries from which on the clock is looked at after every sweep."""


class First(NamedTuple):
    """corner (N,): upper bound on the value at each state seen. action (as `Model.reward`): upper bound on W of each
    pair, linear in the belief. vectors: lower bounds (N,), each the value of a policy on classes; taken: its pairs."""

    corner: Array
    action: Array
    vectors: list[Array]
    taken: list[Ids]


SECONDS_PER_TERM, MANY_TERMS = 6e-9, 100_000_000
"""Time that one term of the fast informed bound takes, measured on one core, and some more; and terms of a sweep from
which on the clock is looked at after each: with hundreds of actions one takes a second."""


@compiled
def informed(
    model: Model, reward: Array, discount: float, action: Array, chosen: Ids, sweeps: int, lift: float, work: Array
) -> float:
    """Sweeps of the fast informed bound, `action` in place; the largest rise of any number in the last.

    With `lift` = 0 a number is only ever lowered. chosen: the follower picked, per row of each branch.
    """
    rise = 0.0
    for _ in range(sweeps):
        rise = -np.inf
        for pair in range(len(model.pair_class)):
            home, at = model.pair_class[pair], model.pair_reward[pair]
            size = model.class_state[home + 1] - model.class_state[home]
            for s in range(size):
                work[s] = 0.0
            for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
                target, begin = model.branch_target[branch], model.branch_row[branch]
                if model.class_pair[target] == model.class_pair[target + 1]:
                    continue
                for s in range(size):
                    best = -np.inf
                    low, high = model.row[begin + s], model.row[begin + s + 1]
                    if low == high:
                        continue
                    for other in range(model.class_pair[target], model.class_pair[target + 1]):
                        base, total = model.pair_reward[other], 0.0
                        for place in range(low, high):
                            total += model.chance[place] * action[base + model.column[place]]
                        if total > best:
                            best = total
                            chosen[begin + s] = other
                    work[s] += best
            for s in range(size):
                value = reward[at + s] + discount * work[s]
                rise = max(rise, value - action[at + s])
                if value < action[at + s] or lift > 0.0:
                    action[at + s] = value
    return rise


def first_bounds(
    problem: Compiled, *, weight: float, share: float, discount: float, steps: Array, deadline: float
) -> First:
    """Bounds that hold everywhere, within a few per cent of the time there is. Refuses what has no finite value.

    steps: what `lasting` gives. Where they are infinite all the time there is may be needed, or more: TimeoutError.
    """
    model = problem.model
    scale = max(float(np.max(np.abs(model.reward), initial=0.0)), 1e-300)
    reward = model.reward + weight * corner_information(problem, share * discount) if weight > 0 else model.reward
    over = np.repeat(problem.ended, problem.sizes)
    rest = at_rest(problem, reward) if discount == 1 else over
    circle, staying = np.full(problem.slots, -1), np.zeros(len(reward), dtype=bool)
    if discount == 1:
        where, source = problem.entries, problem.row_slot[problem.entries.source]
        kind = (reward >= 0) & ~rest[problem.row_slot]
        if kind.any():
            circle, staying = circles_of(source, where.source, where.target, kind, problem.slots)
            paid = np.flatnonzero(staying & (reward > 0))
            if len(paid):
                raise _gains_for_ever(problem, weight, int(paid[0]), sure=True)
        ending = can_end(rest | (circle >= 0), source, where.target)
        if not ending.all():
            raise endless(problem, int(np.argmin(ending)))
    corner = _seen(problem, reward, discount, steps, scale, weight, rest, circle, staying, deadline)
    action = _informed(problem, reward, discount, steps, reward + discount * problem.expected(corner), deadline)
    corner = np.where(over, 0.0, -np.inf)
    np.maximum.at(corner, problem.row_slot, action)
    vectors, taken = policies(problem, action, discount, scale, rest, deadline)
    return First(corner, action, vectors, taken)


def at_rest(problem: Compiled, reward: Array) -> Flags:
    """The states (N,) after which, whatever is done, nothing is paid; the end among them. reward: with information."""
    where, result = problem.entries, np.ones(problem.slots, dtype=bool)
    result[problem.row_slot[(reward != 0) | (problem.model.reward != 0)]] = False
    source = problem.row_slot[where.source]
    while True:
        left = source[result[source] & ~result[where.target]]
        if not len(left):
            return result
        result[left] = False


def corner_information(problem: Compiled, kept: float) -> Array:
    """H(T_a(. | s)) - (1 - kept) E_o H(b'_o | s) for each state of each pair, in nats; kept is c g."""
    where, rows = problem.entries, len(problem.model.reward)
    symbol = problem.model.symbol[where.target]
    key, place = np.unique(where.source * problem.symbols + symbol, return_inverse=True)
    mass, source = np.bincount(place, where.chance), key // problem.symbols
    sure = np.bincount(source, minlength=rows) == 1  # exactly, whatever rounding makes of a sum of 1
    ahead = np.where(sure, 0.0, np.bincount(source, -mass * np.log(mass), rows))
    if kept == 1:
        return ahead
    branches = len(problem.model.branch_target)
    key, place = np.unique(where.source * branches + where.outcome, return_inverse=True)
    total = np.bincount(place, where.chance)
    later = -np.bincount(where.source, where.chance * np.log(where.chance / total[place]), rows)
    result: Array = ahead - (1 - kept) * later
    return result


def _seen(
    problem: Compiled,
    reward: Array,
    discount: float,
    steps: Array,
    scale: float,
    weight: float,
    rest: Flags,
    circle: Ids,
    staying: Flags,
    deadline: float,
) -> Array:
    """An upper bound (N,) on the value where the state is seen at every step. circle, staying: as `circles_of`."""
    model, for_ever = problem.model, bool(np.isinf(steps).any())
    unraised = rest[problem.row_slot] | staying
    raised = reward + np.where(unraised, 0.0, HAIR * scale) if for_ever else reward
    around = np.flatnonzero(circle >= 0)
    values, out = np.zeros(problem.slots), np.empty(len(reward))
    chosen, work = np.full(problem.slots, -1), np.empty(int(problem.sizes.max()))
    size = max(float(np.max(np.abs(reward), initial=0.0)), scale)
    goal = 0.25 * HAIR * scale if for_ever else 1e-9 * size / float(steps.max())
    rounded = 0.0 if for_ever else ROUNDING  # less is no change, and is paid for in the end
    change, begin = np.inf, clock.now()
    sweeps = 5 if len(model.chance) < LARGE and not len(around) else 1
    for _ in range(5 * MOST_STEPS // sweeps):
        before = values.copy()
        change = best_actions(model, raised, discount, values, out, chosen, sweeps, work)
        if len(around):
            best = np.zeros(problem.slots)
            np.maximum.at(best, circle[around], values[around])
            values[around] = best[circle[around]]
            change = float(np.abs(values - before).max())
        late = not for_ever and clock.now() - begin > 0.1 * (deadline - begin)
        if for_ever:
            clock.check(deadline)  # nothing is certain of values that have not settled
        if (
            change <= max(goal, rounded * float(np.abs(values).max()))
            or late
            or (for_ever and values.max() > 1e7 * size)
        ):
            break
        if not for_ever and problem.slots <= MOST_DENSE:
            values = values_of(problem, raised, discount, chosen)
    if for_ever and change > 0.5 * HAIR * scale:
        before = values.copy()
        best_actions(model, raised, discount, values, out, chosen, 1, work)
        grows = int(np.argmax(values - before))
        if values[grows] - before[grows] <= 0.5 * HAIR * scale:  # still falling: they lie above what they come to
            return values
        pair = int(chosen[grows])
        row = int(model.pair_reward[pair]) + grows - int(model.class_state[model.pair_class[pair]])
        raise _gains_for_ever(problem, weight, row, sure=False)
    if for_ever:
        return values
    before = values.copy()
    best_actions(model, raised, discount, values, out, chosen, 1, work)
    rise = max(float((values - before).max(initial=0.0)), 0.0) + ROUNDING * float(np.abs(values).max(initial=0.0))
    ended = np.repeat(problem.ended, problem.sizes)
    return np.where(ended, 0.0, before + rise * steps)


def _gains_for_ever(problem: Compiled, weight: float, row: int, *, sure: bool) -> ProblemError:
    """What to say where the pair and state of `row` (as `Model.reward`) are on a circle that pays; or, unless that is
    sure, that pays back what it costs, or on a way that is too long for values to settle."""
    what = "a reward can be collected" if problem.model.reward[row] > 0 or weight == 0 else "information can be made"
    enough = "more than information may pay" if weight > 0 else "something"
    else_what = "" if sure else ", a circle pays back what it costs, or an end is thousands of steps away"
    pair = int(np.searchsorted(problem.model.pair_reward, row, side="right")) - 1
    state = problem.told(int(problem.state[problem.row_slot[row]]))
    return ProblemError(
        f"with discount 1 going on for ever must cost {enough}; here {what} for ever, if states are seen{else_what}, "
        f"by '{problem.actions[int(problem.pair_action[pair])]}' in state {state}: take a discount below 1, or let "
        "each step cost more",
        field=("discount",),
    )


def _informed(problem: Compiled, reward: Array, discount: float, steps: Array, action: Array, deadline: float) -> Array:
    """The fast informed bound (as `Model.reward`), from `action`, which lies above it."""
    model = problem.model
    chosen, work = np.full(len(model.row), -1), np.empty(int(problem.sizes.max()))
    begin = clock.now()
    size = float(np.abs(action).max(initial=0.0))
    sweep = len(model.chance) * int(problem.menus.max(initial=1))
    longest = float(steps.max())
    if longest < np.inf and len(action) <= 2 * MOST_DENSE and len(action) ** 3 < 14 * min(longest, 1e9) * sweep:
        guess = action.copy()
        better = guess
        for _ in range(20):
            informed(model, reward, discount, guess, chosen, 1, 1.0, work)
            better = _solve_informed(problem, reward, discount, chosen)
            if np.abs(better - guess).max() <= 1e-12 * size or clock.now() - begin > 0.05 * (deadline - begin):
                break
            guess = better
        guess = better
        check = guess.copy()
        rise = max(informed(model, reward, discount, check, chosen, 1, 0.0, work), 0.0) + ROUNDING * size
        return np.minimum(action, guess + rise * steps[problem.row_slot])
    before = action.copy()
    in_time, at_once = begin + SECONDS_PER_TERM * sweep <= deadline, len(model.chance) < LARGE and sweep < MANY_TERMS
    for _ in range(400 if in_time else 0):
        informed(model, reward, discount, action, chosen, 3 if at_once else 1, 0.0, work)
        fall = float((before - action).max())
        if fall <= 1e-6 * size * max(1 / longest, 1e-3) or clock.now() - begin > 0.05 * (deadline - begin):
            break
        before = action.copy()
    return action + ROUNDING * size


def _solve_informed(problem: Compiled, reward: Array, discount: float, chosen: Ids) -> Array:
    """The fixed point of the fast informed bound where each follower is the one `chosen`."""
    model, where, rows = problem.model, problem.entries, len(reward)
    going = ~problem.ended[model.branch_target[where.outcome]]
    state = where.source - model.pair_reward[where.action]
    follower = chosen[model.branch_row[where.outcome] + state][going]
    place = where.source[going] * rows + model.pair_reward[follower] + model.column[going]
    matrix = np.eye(rows) - discount * np.bincount(place, where.chance[going], rows**2).reshape(rows, rows)
    result: Array = np.asarray(np.linalg.solve(matrix, reward), dtype=float)
    return result
