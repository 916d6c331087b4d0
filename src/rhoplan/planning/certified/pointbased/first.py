"""The first bounds: from above the fast informed bound, from below policies that look at the visible class alone.

Both are fixed points of monotone operators, and neither has to be reached: for any guess x of the upper one with
T x <= x + e everywhere, x + e / (1 - g) lies above the fixed point, and likewise below. So a guess may come from a
linear system or from sweeps, and one more sweep certifies it.

With w > 0 the upper bound is on W = V - w H, which is convex in the belief whatever the hidden state does: it is at most
the mean of its values at the corners, where the reward of action a in state s is

    r_a(s) + w H(T_a(. | s)) - (1 - g) w E_o H(b'_o | s).

With g = 1 every reward is raised by a hair (lowered, for the lower bound). Where the raised problem has a bounded
solution, each step more costs something in the long run: who never ends loses without limit, and the solution is an
upper bound. Where it has none, one can gain for ever, or walk in a circle for nothing: refused.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.problem import Array, Ids
from rhoplan.planning.certified.pointbased.compiled import Compiled, Model
from rhoplan.planning.certified.pointbased.machine import compiled, dot

MOST_DENSE = 700
"""Unknowns of a linear system that is solved at once; larger ones by sweeps."""

ROUNDING = 1e-13
"""Outward rounding of one step, as a share of the largest value: far above what sums of thousands of floats lose."""

HAIR = 1e-7
"""By how much each reward is raised or lowered where there is no discount, as a share of the largest one."""


class First(NamedTuple):
    """corner (N,): upper bound on the value at each state seen. action (as `Model.reward`): upper bound on W of each
    pair, linear in the belief. vectors: lower bounds (N,), each the value of a policy on classes; taken: its pairs."""

    corner: Array
    action: Array
    vectors: list[Array]
    taken: list[Ids]


@compiled
def back_project(model: Model, pair: int, values: Array, out: Array, at: int) -> None:
    """out[at + s] = sum over outcomes and successors of chance * values, for each state of the pair's class."""
    home = model.pair_class[pair]
    size = model.class_state[home + 1] - model.class_state[home]
    for s in range(size):
        out[at + s] = 0.0
    for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
        base = model.class_state[model.branch_target[branch]]
        begin = model.branch_row[branch]
        for s in range(size):
            total = 0.0
            for place in range(model.row[begin + s], model.row[begin + s + 1]):
                total += model.chance[place] * values[base + model.column[place]]
            out[at + s] += total


@compiled
def best_actions(model: Model, reward: Array, discount: float, values: Array, out: Array, chosen: Ids, sweeps: int, work: Array) -> float:
    """Sweeps of value iteration with the state seen, `values` in place; the largest change of the last.

    out: as `Model.reward`. chosen (N,): the best pair.
    """
    change = 0.0
    for _ in range(sweeps):
        change = 0.0
        for home in range(len(model.class_state) - 1):
            first, size = model.class_state[home], model.class_state[home + 1] - model.class_state[home]
            if model.class_pair[home] == model.class_pair[home + 1]:
                continue
            for s in range(size):
                work[s] = -np.inf
            for pair in range(model.class_pair[home], model.class_pair[home + 1]):
                at = model.pair_reward[pair]
                back_project(model, pair, values, out, at)
                for s in range(size):
                    out[at + s] = reward[at + s] + discount * out[at + s]
                    if out[at + s] > work[s]:
                        work[s], chosen[first + s] = out[at + s], pair
            for s in range(size):
                change = max(change, abs(work[s] - values[first + s]))
                values[first + s] = work[s]
    return change


@compiled
def informed(model: Model, reward: Array, discount: float, action: Array, chosen: Ids, sweeps: int, lift: float, work: Array) -> float:
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


def first_bounds(problem: Compiled, *, weight: float, discount: float, deadline: float) -> First:
    """Bounds that hold everywhere, within a few per cent of the time there is. Refuses what has no finite value."""
    model = problem.model
    scale = max(float(np.max(np.abs(model.reward), initial=0.0)), 1e-300)
    reward = model.reward + weight * corner_information(problem, discount) if weight > 0 else model.reward
    corner = _seen(problem, reward, discount, scale, weight)
    action = np.empty(len(model.reward))
    work = np.empty(int(problem.sizes.max()))
    for pair in range(problem.pairs):
        back_project(model, pair, corner, action, model.pair_reward[pair])
    action = reward + discount * action
    action = _informed(problem, reward, discount, action, deadline)
    _ = work
    corner = np.zeros(problem.slots)
    for home in range(problem.classes):
        pairs = range(model.class_pair[home], model.class_pair[home + 1])
        size = int(problem.sizes[home])
        if len(pairs):
            rows = action[model.pair_reward[pairs[0]] : model.pair_reward[pairs[-1] + 1]].reshape(-1, size)
            corner[model.class_state[home] : model.class_state[home + 1]] = rows.max(axis=0)
    vectors, taken = _policies(problem, action, discount, scale)
    return First(corner, action, vectors, taken)


def corner_information(problem: Compiled, discount: float) -> Array:
    """H(T_a(. | s)) - (1 - g) E_o H(b'_o | s) for each state of each pair, in nats."""
    model = problem.model
    result = np.zeros(len(model.reward))
    for pair in range(problem.pairs):
        size, at = int(problem.sizes[model.pair_class[pair]]), model.pair_reward[pair]
        for s in range(size):
            mass: dict[int, float] = {}
            later = 0.0
            for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
                low, high = model.row[model.branch_row[branch] + s], model.row[model.branch_row[branch] + s + 1]
                chances = model.chance[low:high]
                if not len(chances):
                    continue
                total = chances.sum()
                later -= float((chances * np.log(chances / total)).sum())
                base = model.class_state[model.branch_target[branch]]
                for symbol, chance in zip(model.symbol[base + model.column[low:high]], chances, strict=True):
                    mass[symbol] = mass.get(symbol, 0.0) + chance
            ahead = -sum(chance * np.log(chance) for chance in mass.values())
            result[at + s] = ahead - (1 - discount) * later
    return result


def _seen(problem: Compiled, reward: Array, discount: float, scale: float, weight: float) -> Array:
    """An upper bound (N,) on the value where the state is seen at every step."""
    model = problem.model
    raised = reward + (HAIR * scale if discount == 1 else 0.0)
    values, out = np.zeros(problem.slots), np.empty(len(reward))
    chosen, work = np.full(problem.slots, -1), np.empty(int(problem.sizes.max()))
    size = max(float(np.max(np.abs(reward), initial=0.0)), scale)
    sweeps = 0
    goal = size * (1e-9 if discount < 1 else 0.25 * HAIR * scale / size)
    change = np.inf
    while change > goal * (1 - discount if discount < 1 else 1.0) and sweeps < 20000:
        change = best_actions(model, raised, discount, values, out, chosen, 5, work)
        sweeps += 5
        if discount < 1 and sweeps % 10 == 0 and problem.slots <= MOST_DENSE:
            values = _evaluate(problem, raised, discount, chosen)
        if discount == 1 and (values.max() > 1e7 * size or not np.isfinite(values).all()):
            break
    if discount == 1:
        if change > 0.5 * HAIR * scale:
            what = "information can be made" if weight > 0 else "a reward can be collected"
            raise ProblemError(
                f"with discount 1 every way of going on for ever must cost something; here {what} for ever, or a circle "
                "is free: take a discount below 1, or let each step cost something",
                field=("discount",),
            )
        return values
    before = values.copy()
    best_actions(model, raised, discount, values, out, chosen, 1, work)
    rise = max(float((values - before).max(initial=0.0)), 0.0) + ROUNDING * float(np.abs(values).max(initial=0.0))
    ended = np.repeat(problem.ended, problem.sizes)
    return np.where(ended, 0.0, before + rise / (1 - discount))


def _evaluate(problem: Compiled, reward: Array, discount: float, chosen: Ids) -> Array:
    """The value (N,) of taking the pair chosen (N,) in each state, from one linear system."""
    model = problem.model
    matrix, paid = np.eye(problem.slots), np.zeros(problem.slots)
    for pair in np.unique(chosen[chosen >= 0]):
        home = model.pair_class[pair]
        first = model.class_state[home]
        mine = np.flatnonzero(chosen[first : model.class_state[home + 1]] == pair)
        paid[first + mine] = reward[model.pair_reward[pair] + mine]
        for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
            base, begin = model.class_state[model.branch_target[branch]], model.branch_row[branch]
            for s in mine:
                places = slice(model.row[begin + s], model.row[begin + s + 1])
                matrix[first + s, base + model.column[places]] -= discount * model.chance[places]
    return np.linalg.solve(matrix, paid)


def _informed(problem: Compiled, reward: Array, discount: float, action: Array, deadline: float) -> Array:
    """The fast informed bound (as `Model.reward`), from `action`, which lies above it."""
    model = problem.model
    chosen, work = np.full(len(model.row), -1), np.empty(int(problem.sizes.max()))
    begin = time.monotonic()
    most = 0.05 * (deadline - begin)
    size = float(np.abs(action).max(initial=0.0))
    if len(action) <= MOST_DENSE and discount < 1:
        guess = action.copy()
        for _ in range(20):
            informed(model, reward, discount, guess, chosen, 1, 1.0, work)
            better = _solve_informed(problem, reward, discount, chosen)
            if np.abs(better - guess).max() <= 1e-12 * size:
                break
            guess = better
        guess = better
        check = guess.copy()
        rise = max(informed(model, reward, discount, check, chosen, 1, 0.0, work), 0.0) + ROUNDING * size
        return np.minimum(action, guess + rise / (1 - discount))
    before = action.copy()
    for _ in range(400):
        informed(model, reward, discount, action, chosen, 3, 0.0, work)
        fall = float((before - action).max())
        if fall <= 1e-6 * size * max(1 - discount, 1e-3) or time.monotonic() - begin > most:
            break
        before = action.copy()
    return action + ROUNDING * size


def _solve_informed(problem: Compiled, reward: Array, discount: float, chosen: Ids) -> Array:
    """The fixed point of the fast informed bound where each follower is the one `chosen`."""
    model = problem.model
    matrix = np.eye(len(reward))
    for pair in range(problem.pairs):
        at, size = model.pair_reward[pair], int(problem.sizes[model.pair_class[pair]])
        for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
            begin = model.branch_row[branch]
            if problem.ended[model.branch_target[branch]]:
                continue
            rows = np.repeat(np.arange(size), np.diff(model.row[begin : begin + size + 1]))
            places = slice(model.row[begin], model.row[begin + size])
            followers = model.pair_reward[chosen[begin + rows]] + model.column[places]
            np.subtract.at(matrix, (at + rows, followers), discount * model.chance[places])
    return np.linalg.solve(matrix, reward)


# -- from below -------------------------------------------------------------------------------------------------------


@compiled
def follow(model: Model, reward: Array, discount: float, taken: Ids, values: Array, sweeps: int, work: Array) -> float:
    """Sweeps of the value of taking taken[c] in class c (-1: ended; -2: any action, equally likely), in place.

    The largest fall of any number in the last one.
    """
    fall = 0.0
    for _ in range(sweeps):
        fall = 0.0
        for home in range(len(taken)):
            if taken[home] == -1:
                continue
            first, size = model.class_state[home], model.class_state[home + 1] - model.class_state[home]
            low, high = taken[home], taken[home] + 1
            if low < 0:
                low, high = model.class_pair[home], model.class_pair[home + 1]
            for s in range(size):
                work[s] = 0.0
            for pair in range(low, high):
                back_project(model, pair, values, work, size)
                for s in range(size):
                    work[s] += (reward[model.pair_reward[pair] + s] + discount * work[size + s]) / (high - low)
            for s in range(size):
                fall = max(fall, values[first + s] - work[s])
                values[first + s] = work[s]
    return fall


def _policies(problem: Compiled, action: Array, discount: float, scale: float) -> tuple[list[Array], list[Ids]]:
    """Values (N,) of policies on classes, with the pair each takes per class (-1 where the episode is over)."""
    model = problem.model
    vectors: list[Array] = []
    taken: list[Ids] = []

    def add(policy: Ids) -> Array | None:
        if any(np.array_equal(policy, other) for other in taken):
            return None
        values = _value_of(problem, policy, discount, scale)
        if values is not None:
            vectors.append(values)
            taken.append(policy)
        return values

    start = _start_policy(problem, action)
    policy = start
    best, root = -np.inf, slice(model.class_state[problem.start_class], model.class_state[problem.start_class + 1])
    for _ in range(12):
        values = add(policy)
        if values is None:
            break
        best = max(best, float(values[root] @ problem.start))
        policy = _improved(problem, policy, values, discount)
    for number in range(len(problem.actions)):
        blind = start.copy()
        mine = np.flatnonzero(problem.pair_action == number)
        blind[model.pair_class[mine]] = mine
        add(blind)
    if not vectors:
        add(np.where(problem.ended, -1, -2))
    if not vectors:
        raise ProblemError(
            "with discount 1 some plan must end for sure; none of those tried here does: take a discount below 1, or "
            "add an action that ends",
            field=("discount",),
        )
    return vectors, taken


def _start_policy(problem: Compiled, action: Array) -> Ids:
    """The pair of each class that is best by the upper bound, all states equally likely."""
    model = problem.model
    mean = np.add.reduceat(action, model.pair_reward[:-1]) if len(action) else action
    policy = np.full(problem.classes, -1)
    for home in np.flatnonzero(~problem.ended):
        pairs = slice(model.class_pair[home], model.class_pair[home + 1])
        policy[home] = model.class_pair[home] + int(np.argmax(mean[pairs]))
    return policy


def _improved(problem: Compiled, policy: Ids, values: Array, discount: float) -> Ids:
    """For each class the pair that is best for one step, where the policy's own visits say how likely the states are."""
    model = problem.model
    visits = np.zeros(problem.slots)
    at_root = slice(model.class_state[problem.start_class], model.class_state[problem.start_class + 1])
    mass = np.zeros(problem.slots)
    mass[at_root] = problem.start
    for _ in range(60):
        visits += mass
        mass = min(discount, 0.98) * _pushed(problem, policy, mass)
    visits += 1e-6 / problem.slots
    out, better = np.empty(len(model.reward)), policy.copy()
    for pair in range(problem.pairs):
        back_project(model, pair, values, out, model.pair_reward[pair])
    worth = model.reward + discount * out
    for home in np.flatnonzero(~problem.ended):
        pairs = range(model.class_pair[home], model.class_pair[home + 1])
        belief = visits[model.class_state[home] : model.class_state[home + 1]]
        rows = worth[model.pair_reward[pairs[0]] : model.pair_reward[pairs[-1] + 1]].reshape(len(pairs), -1)
        scores = rows @ belief
        now = scores[policy[home] - pairs[0]] if policy[home] >= 0 else -np.inf
        if scores.max() > now + 1e-9 * abs(now):
            better[home] = pairs[0] + int(np.argmax(scores))
    return better


def _pushed(problem: Compiled, policy: Ids, mass: Array) -> Array:
    """Where `mass` (N,) is one step later."""
    model = problem.model
    after = np.zeros_like(mass)
    for home in np.flatnonzero(policy >= 0):
        size, first = int(problem.sizes[home]), model.class_state[home]
        if not mass[first : first + size].any():
            continue
        for branch in range(model.pair_branch[policy[home]], model.pair_branch[policy[home] + 1]):
            begin, base = model.branch_row[branch], model.class_state[model.branch_target[branch]]
            places = slice(model.row[begin], model.row[begin + size])
            rows = np.repeat(np.arange(size), np.diff(model.row[begin : begin + size + 1]))
            np.add.at(after, base + model.column[places], mass[first + rows] * model.chance[places])
    return after


def _value_of(problem: Compiled, policy: Ids, discount: float, scale: float) -> Array | None:
    """A lower bound (N,) on the value of `policy`; None where it may go on for ever with discount 1."""
    model = problem.model
    if discount == 1 and not _ends(problem, policy):
        return None
    lowered = model.reward - (HAIR * scale if discount == 1 else 0.0)
    work = np.empty(2 * int(problem.sizes.max()))
    values = np.zeros(problem.slots)
    if problem.slots <= MOST_DENSE and (policy != -2).all():
        chosen = np.repeat(policy, problem.sizes)
        values = _evaluate(problem, lowered, discount, chosen)
    else:
        before = np.inf
        for _ in range(400):
            before = values.copy()
            follow(model, lowered, discount, policy, values, 10, work)
            if np.abs(values - before).max() <= 1e-7 * scale * (max(1 - discount, 1e-3) if discount < 1 else HAIR):
                break
    check = values.copy()
    fall = max(_fall(problem, lowered, discount, policy, check, work), 0.0)
    if discount < 1:
        fall += ROUNDING * float(np.abs(values).max(initial=0.0))
        ended = np.repeat(problem.ended, problem.sizes)
        return np.where(ended, 0.0, values - fall / (1 - discount))
    return values if fall <= 0.5 * HAIR * scale else None


def _fall(problem: Compiled, reward: Array, discount: float, policy: Ids, values: Array, work: Array) -> float:
    """By how much one step of `policy` from `values` gives less than `values`, at most."""
    model, worst = problem.model, 0.0
    for home in np.flatnonzero(policy != -1):
        first, size = model.class_state[home], int(problem.sizes[home])
        pairs = range(policy[home], policy[home] + 1) if policy[home] >= 0 else range(model.class_pair[home], model.class_pair[home + 1])
        total = np.zeros(size)
        for pair in pairs:
            back_project(model, pair, values, work, 0)
            total += (reward[model.pair_reward[pair] : model.pair_reward[pair] + size] + discount * work[:size]) / len(pairs)
        worst = max(worst, float((values[first : first + size] - total).max()))
    return worst


def _ends(problem: Compiled, policy: Ids) -> bool:
    """Whether an end can be reached from every state under `policy`; then it is reached for sure."""
    model = problem.model
    ending = np.repeat(problem.ended, problem.sizes).astype(float)
    work = np.empty(int(problem.sizes.max()))
    while True:
        before = ending.copy()
        for home in np.flatnonzero(policy != -1):
            first, size = model.class_state[home], int(problem.sizes[home])
            pairs = range(policy[home], policy[home] + 1) if policy[home] >= 0 else range(model.class_pair[home], model.class_pair[home + 1])
            for pair in pairs:
                back_project(model, pair, ending, work, 0)
                ending[first : first + size] = np.maximum(ending[first : first + size], work[:size] > 0)
        if np.array_equal(before, ending):
            return bool(ending.all())
