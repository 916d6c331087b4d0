"""The first lower bound: policies that look at the visible class alone, each with its value from every state.

Blind ones, which always take the same action, and some that are improved in turn: each class takes the action that is
best for the states in which the policy before found itself. With discount 1 each counts where it ends for sure, and is
another elsewhere that does.
"""

from __future__ import annotations

from itertools import chain

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning import clock
from rhoplan.planning.certified.components import kept_inside, leading_to
from rhoplan.planning.certified.pointbased.classes import Flags
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.decisions import Rows, plan_values, sweep_in_order

MOST_DENSE = 700
"""Unknowns of a linear system that is solved at once."""

FEW_SLOTS = 200
"""The same for visits, of which a few dozen sweeps find most."""

MOST_DENSE_GOAL = 2000
"""The same without a discount; larger ones by BiCGSTAB, and sweeps where it does not settle, or where there is no time
for it."""

ROUNDING = 2e-13
"""Outward rounding of one step, as a share of the largest value, at least: above what sums of 450 floats can lose."""

HAIR = 1e-7
"""By how much each reward is raised or lowered where there is no discount, as a share of the largest one."""

ANY = -2
"""In place of a pair: all actions of the class, equally likely."""

SECONDS_PER_ENTRY = 1e-6
"""Time that BiCGSTAB takes for each probability: four times what it took with 10,000 and with 260,000 of them, a sixth
of what it takes where it does not settle."""

MOST_IMPROVEMENTS, MOST_VISITS, MOST_STEPS = 12, 60, 4000
"""Rounds of policy iteration, steps in which visits are counted, and sweeps to find the value of one policy."""


def policies(
    problem: Compiled, action: Array, discount: float, scale: float, rest: Flags, deadline: float
) -> tuple[list[Array], list[Ids]]:
    """Values (N,) of policies on classes, with the pair each takes per class (-1 where the episode is over).

    rest (N,): states that are worth 0 whatever is done.
    """
    model = problem.model
    vectors: list[Array] = []
    taken: list[Ids] = []
    now = clock.now()
    late = now + 0.1 * (deadline - now)

    start = _best_pairs(problem, np.full(problem.classes, -1), action, np.ones(problem.slots))
    numbers, ending = range(len(problem.actions)), start

    def blind(number: int) -> Ids:
        policy, mine = start.copy(), np.flatnonzero(problem.pair_action == number)
        policy[model.pair_class[mine]] = mine
        return policy

    if discount == 1:
        random = np.where(problem.ended, -1, ANY)
        ending = next((one for one in chain((start,), map(blind, numbers)) if _ends(problem, one, rest).all()), random)

    def add(policy: Ids) -> Array | None:
        if vectors and clock.now() > late:
            return None
        if discount == 1:
            policy = np.where(_ends(problem, policy, rest), policy, ending)
        if any(np.array_equal(policy, other) for other in taken):
            return None
        values = _value_of(problem, policy, discount, scale, rest, late)
        if values is not None:
            vectors.append(values)
            taken.append(policy)
        return values

    policy = start
    for _ in range(MOST_IMPROVEMENTS):
        values = add(policy)
        if values is None:
            break
        policy = taken[-1]
        visits = _visits(problem, policy, min(discount, 0.98), late)
        policy = _best_pairs(problem, policy, model.reward + discount * problem.expected(values), visits)
    for number in numbers:
        add(blind(number))
    if discount == 1:
        add(_staying(problem, start))
    if not vectors:
        raise ProblemError(
            "with discount 1 some plan must end for sure from every state; none of those tried here does: take a "
            "discount below 1, or add an action that ends",
            field=("discount",),
        )
    return vectors, taken


def _ends(problem: Compiled, policy: Ids, rest: Flags) -> Flags:
    """The classes (C,) from which on `policy` ends for sure, or never pays again, whatever is seen."""
    source, target, flow = _arcs(problem, policy)
    _, distance, stuck = _ways_to_rest(problem, policy, rest, source, target, flow)
    home = np.repeat(np.arange(problem.classes), problem.sizes)
    never = np.zeros(problem.classes, dtype=bool)
    never[home[np.isinf(distance) | stuck]] = True
    return ~never & ~np.isfinite(steps_to(never, home[source], home[target]))


def _staying(problem: Compiled, policy: Ids) -> Ids:
    """`policy`, and where one can go on for ever at no cost in any state that looks the same, what does so."""
    model = problem.model
    home = np.repeat(np.arange(problem.pairs), np.diff(model.pair_branch))
    free = np.minimum.reduceat(model.reward, model.pair_reward[:-1]) >= 0
    free &= np.maximum.reduceat(model.reward, model.pair_reward[:-1]) <= 0
    staying = kept_inside(model.pair_class[home], home, model.branch_target, free, problem.classes)
    result = policy.copy()
    mine = np.flatnonzero(staying)[::-1]
    result[model.pair_class[mine]] = mine
    return result


def endless(problem: Compiled, slot: int) -> ProblemError:
    """What to say where no end can be reached from the state at `slot`."""
    return ProblemError(
        "with discount 1 some plan must end for sure from every state; from state "
        f"{problem.told(int(problem.state[slot]))} nothing leads to an end: take a discount below 1, or add an action "
        "that ends",
        field=("discount",),
    )


def _best_pairs(problem: Compiled, policy: Ids, worth: Array, belief: Array) -> Ids:
    """For each class the pair that is worth most, the states as likely as `belief` (N,); on ties that of `policy`."""
    model = problem.model
    scores = np.bincount(problem.row_pair, worth * belief[problem.row_slot], problem.pairs)
    going = np.flatnonzero(~problem.ended)
    first = model.class_pair[going]
    top = np.maximum.reduceat(scores, first)
    now = scores[policy[going]]
    home_of = np.repeat(np.arange(len(going)), problem.menus[going])
    best = np.full(len(going), problem.pairs)
    np.minimum.at(best, home_of, np.where(scores >= top[home_of], np.arange(problem.pairs), problem.pairs))
    better = policy.copy()
    better[going] = np.where((policy[going] < 0) | (top > now + 1e-9 * np.abs(now)), best, policy[going])
    return better


def _weights(problem: Compiled, policy: Ids) -> Array:
    """How likely each pair is to be taken in its class."""
    model = problem.model
    taken = policy[model.pair_class]
    result: Array = np.where(taken == ANY, 1.0 / problem.menus[model.pair_class], taken == np.arange(problem.pairs))
    return result


def _arcs(problem: Compiled, policy: Ids) -> tuple[Ids, Ids, Array]:
    """Where `policy` leads: from which state, to which, with what probability."""
    where = problem.entries
    flow = where.chance * _weights(problem, policy)[where.action]
    used = flow > 0
    return problem.row_slot[where.source[used]], where.target[used], flow[used]


def _ways_to_rest(
    problem: Compiled, policy: Ids, rest: Flags, source: Ids, target: Ids, flow: Array
) -> tuple[Flags, Array, Flags]:
    """The states (N,) at `rest` or from which on `policy` never pays; how many arcs it is to one of them; and the
    states that floats cannot leave."""
    rest = rest | _idle(problem, _weights(problem, policy), source, target)
    stays = np.bincount(source, np.where(source == target, flow, 0.0), problem.slots) >= 1
    return rest, steps_to(rest, source, target), stays & ~rest


def _visits(problem: Compiled, policy: Ids, discount: float, late: float) -> Array:
    """How often (N,) each state is visited under `policy`, later visits counting less, those not counted by the time
    `late` not at all; never quite zero."""
    source, target, flow = _arcs(problem, policy)
    count = problem.slots
    mass: Array = np.zeros(count)
    visits: Array = np.full(count, 1e-6 / count)
    first = problem.model.class_state[problem.start_class]
    mass[first : first + len(problem.start)] = problem.start
    if count <= FEW_SLOTS:
        matrix = np.bincount(target * count + source, flow, count**2).reshape(count, count)
        return visits + np.linalg.solve(np.eye(count) - discount * matrix, mass)
    for _ in range(MOST_VISITS):
        visits += mass
        if clock.now() > late:
            break
        mass = discount * np.bincount(target, flow * mass[source], count).astype(float)
    return visits


def _value_of(problem: Compiled, policy: Ids, discount: float, scale: float, rest: Flags, late: float) -> Array | None:
    """A lower bound (N,) on the value of `policy`; None where it may go on for ever with discount 1.

    With a discount, sweeps stop at the time `late`: the bound holds after any number of them.
    """
    model, weights = problem.model, _weights(problem, policy)
    source, target, flow = _arcs(problem, policy)
    distance = np.zeros(problem.slots)
    if discount == 1:
        rest, distance, stuck = _ways_to_rest(problem, policy, rest, source, target, flow)
        if np.isinf(distance).any() or stuck.any():
            return None
    lowered = model.reward - np.where(rest[problem.row_slot], 0.0, HAIR * scale) if discount == 1 else model.reward
    paid: Array = np.bincount(problem.row_slot, lowered * weights[problem.row_pair], problem.slots).astype(float)

    def step(values: Array) -> Array:
        result: Array = paid + discount * np.bincount(source, flow * values[target], problem.slots)
        return result

    values: Array = np.zeros(problem.slots, dtype=np.float64)
    flow_on = np.where(rest[target], 0.0, flow)
    if problem.slots <= (MOST_DENSE if discount < 1 else MOST_DENSE_GOAL):
        matrix = np.bincount(source * problem.slots + target, flow_on, problem.slots**2).reshape(problem.slots, -1)
        try:
            values = np.asarray(np.linalg.solve(np.eye(problem.slots) - discount * matrix, paid), dtype=float)
        except np.linalg.LinAlgError:
            return None
    else:
        order = np.argsort(source, kind="stable")
        begin = np.searchsorted(source[order], np.arange(problem.slots + 1))
        free = np.full(problem.slots, np.inf)
        rows = Rows(np.arange(problem.slots + 1), begin, target[order], discount * flow_on[order], paid, free)
        near = max(1 - discount, 1e-3) if discount < 1 else 1.0
        if discount == 1 or clock.now() + SECONDS_PER_ENTRY * len(flow) <= late:
            values = plan_values(values, rows, 0.1 * HAIR * scale * near)
        nearest = np.argsort(distance, kind="stable")  # who goes straight to the end is valued in one sweep
        for _ in range(MOST_STEPS):
            if discount == 1:
                if sweep_in_order(rows, nearest, values) <= 0.01 * HAIR * scale:
                    break
            else:
                before, values = values, step(values)
                if np.abs(values - before).max() <= 1e-4 * scale * near or clock.now() > late:
                    break
    fall = max(float((values - step(values)).max()), 0.0)
    if discount < 1:
        terms = int(np.bincount(source, minlength=1).max()) + 4
        fall += max(ROUNDING, 4 * terms * 2.0**-53) * float(np.abs(values).max(initial=0.0))
        return np.where(rest, 0.0, values - fall / (1 - discount))
    return values if fall <= 0.5 * HAIR * scale else None


def _idle(problem: Compiled, weights: Array, source: Ids, target: Ids) -> Flags:
    """The states (N,) from which on a policy never pays anything, though it may go on for ever.

    weights: how likely each pair is taken; the policy leads from `source` to `target`.
    """
    result = np.ones(problem.slots, dtype=bool)
    result[problem.row_slot[(weights[problem.row_pair] > 0) & (problem.model.reward != 0)]] = False
    while (left := source[result[source] & ~result[target]]).size:
        result[left] = False
    return result


def can_end(rest: Flags, source: Ids, target: Ids) -> Flags:
    """The states from which one at `rest` can be reached along the arcs; where all can, it is reached for sure."""
    return np.isfinite(steps_to(rest, source, target))


def steps_to(rest: Flags, source: Ids, target: Ids) -> Array:
    """How many arcs (N,) it is to a state at `rest`, infinitely many where there is no way."""
    origins_of = leading_to(source, target, len(rest))
    steps, here, distance = np.where(rest, 0.0, np.inf), np.flatnonzero(rest), 0
    while len(here):
        distance += 1
        reached = origins_of(here)
        here = np.unique(reached[np.isinf(steps[reached])])
        steps[here] = distance
    return steps
