"""A second opinion on the bounds of a solution, in plain NumPy: nothing is taken from the search but its claims.

Lower: each vector takes an action and then follows other vectors. If at every belief its value is at most the reward
and information of that action plus what the followers claim, then by induction no claim is above what its plan gives.
With weight 0 both sides are linear, and the corners decide; else beliefs are drawn, corners included, and the belief
in which the plan comes to follow the vector is among them: there the claim is tight.

Upper: if one exact backup at every point gives at most what the point claims, the convex hull of the claims lies above
its own backup (W = V - p H of any horizon is convex), and so above the optimum. A point that lies on the hull of the
others is implied by them, a known state by the informed bound if it claims no less. Points and known states are drawn;
the informed bound is backed up as it is.

A claim may exceed its backup by the rounding error of the two sums. That error depends on their terms alone:
the reward of another action, or of a state that the belief excludes, does not change it.

Both arguments go from step to step and need a discount, or an end that comes for sure. Without, where steps cost
nothing, claims that lead round to themselves are vouched for by themselves: such ones a check does not find.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.graph import COUNT, ENTRY, VECTOR_PAIR
from rhoplan.planning.certified.pointbased.plan import Plan
from rhoplan.planning.certified.pointbased.policies import ANY

Thing = TypeVar("Thing")

ROUNDING = 1e-9
"""Rounding error of a sum, as a share of the sum of the absolute values of its terms. With n terms it is at most
n * 2^-53 of that, so this share covers sums of nine million terms."""

APART = 1e-4
"""How far a point must lie from another to speak for it."""

MOST_CORNERS, FEW_CORNERS = 5_000, 64
"""Known states at which a vector is looked at, at most: without a weight, where they are all that counts, and with one.
Others are drawn."""


class Worth(NamedTuple):
    """A sum and its size, the sum of the absolute values of its terms."""

    value: float
    size: float

    def plus(self, share: float, other: Worth) -> Worth:
        """This and a share of another."""
        return Worth(self.value + share * other.value, self.size + share * other.size)


def sized(value: float) -> Worth:
    """A sum of one term."""
    return Worth(value, abs(value) if math.isfinite(value) else 0.0)


def excess(more: Worth, less: Worth) -> float:
    """By how much `more` is above `less`, beyond the rounding errors of both."""
    return more.value - less.value - ROUNDING * (more.size + less.size)


@dataclass(frozen=True)
class Certificate:
    """What a check found.

    lower_excess, upper_excess: by how much a claim exceeds its backup at worst, beyond the rounding errors of the claim
    and of that backup (at most 0: all claims hold). Rewards of other actions and of other states have no part in these.
    vectors, points: how many were looked at.
    """

    lower_excess: float
    upper_excess: float
    vectors: int
    points: int

    @property
    def holds(self) -> bool:
        return max(self.lower_excess, self.upper_excess) <= 0

    def and_also(self, other: Certificate) -> Certificate:
        """Both checks in one."""
        return Certificate(
            max(self.lower_excess, other.lower_excess),
            max(self.upper_excess, other.upper_excess),
            self.vectors + other.vectors,
            self.points + other.points,
        )


def check_plan(
    plan: Plan,
    rng: Generator,
    *,
    claims: tuple[float, float] | None = None,
    most: int = 300,
    beliefs: int = 8,
    seconds: float = np.inf,
) -> Certificate:
    """Check up to `most` vectors (those that the plan follows first), and up to `most` points and known states drawn at
    random; and that vectors and points say what is claimed of the start, below and above.

    Each of four parts (vectors, points, known states, the informed bound) ends after a quarter of `seconds`, with one
    looked at.
    """
    part = seconds / 4
    lower = [
        _vector_excess(plan, vector, met, rng, beliefs, clock.now() + part)
        for vector, met in in_time(_followed(plan, most), part)
    ]
    upper = [_point_excess(plan, home, place) for home, place in in_time(_drawn_points(plan, rng, most), part)]
    upper += [_corner_excess(plan, slot) for slot in in_time(_drawn_slots(plan, rng, most), part)]
    informed = _informed_excess(plan, rng, most, part)
    if claims is not None:
        start = plan.problem.start_class, plan.problem.start
        lower.append(excess(sized(claims[0]), _best_claim(plan, *start)))
        upper.append(excess(_upper(plan, *start), sized(claims[1])))
    told = 0 if claims is None else 1
    return Certificate(max(lower, default=-np.inf), max([*upper, informed]), len(lower) - told, len(upper) - told)


def in_time(things: Iterable[Thing], seconds: float) -> Iterator[Thing]:
    """`things` until `seconds` are over; the first in any case."""
    deadline = clock.now() + seconds
    for number, thing in enumerate(things):
        if number and clock.now() > deadline:
            return
        yield thing


def spans(begins: Ids, ends: Ids) -> tuple[Ids, Ids]:
    """All numbers from each of `begins` to its end, and which of them each belongs to."""
    counts = ends - begins
    owner = np.repeat(np.arange(len(counts)), counts)
    return np.arange(len(owner)) + (begins - np.cumsum(counts) + counts)[owner], owner


def joint_chances(problem: Compiled, pair: int, belief: Array) -> tuple[Array, Ids]:
    """P(s', o) of taking `pair` at `belief`, one branch after the other, and where each of them begins."""
    model, held = problem.model, np.flatnonzero(belief)
    branches = np.arange(model.pair_branch[pair], model.pair_branch[pair + 1])
    begins = np.concatenate([[0], np.cumsum(problem.sizes[model.branch_target[branches]])])
    rows = (model.branch_row[branches][:, None] + held).ravel()
    places, owner = spans(model.row[rows], model.row[rows + 1])
    chances = model.chance[places] * belief[held[owner % len(held)]]
    into = begins[owner // len(held)] + model.column[places]
    return _added(chances, into, int(begins[-1])), begins


class Solved(Protocol):
    """What a backup needs to know: the problem, and settings with a weight and a discount."""

    @property
    def problem(self) -> Compiled: ...

    @property
    def settings(self) -> Any: ...


def backup(plan: Solved, pair: int, belief: Array, value: Callable[[int, int, Array], float]) -> float:
    """Reward, information and discounted `value` (of branch, class and belief) of taking `pair` at `belief`."""
    return sized_backup(plan, pair, belief, lambda branch, home, after: sized(value(branch, home, after))).value


def sized_backup(plan: Solved, pair: int, belief: Array, value: Callable[[int, int, Array], Worth]) -> Worth:
    """The same, with the size of the sum."""
    problem, model = plan.problem, plan.problem.model
    reward = model.reward[model.pair_reward[pair] : model.pair_reward[pair] + len(belief)]
    total = Worth(float(belief @ reward), float(belief @ np.abs(reward)))
    weight, discount = plan.settings.weight, plan.settings.discount
    predicted, later = np.zeros(problem.symbols), Worth(0.0, 0.0)
    every, begins = joint_chances(problem, pair, belief)
    for number, branch in enumerate(range(model.pair_branch[pair], model.pair_branch[pair + 1])):
        joint = every[begins[number] : begins[number + 1]]
        chance = float(joint.sum())
        if chance <= 0:
            continue
        target = int(model.branch_target[branch])
        np.add.at(predicted, model.symbol[model.class_state[target] : model.class_state[target + 1]], joint)
        later = later.plus(chance, sized_entropy(joint / chance))
        if not problem.ended[target]:
            total = total.plus(discount * chance, value(branch, target, joint / chance))
    told = sized_entropy(predicted)
    return total.plus(weight, Worth(told.value - later.value, told.size + later.size))


def sized_entropy(belief: Array) -> Worth:
    """Entropy in nats. Rounding p moves -p log p by that of p * (1 + |log p|), so the sum of these is the size."""
    value = entropy(belief)
    return Worth(value, 1.0 + value)


def entropy(belief: Array) -> float:
    """Entropy in nats."""
    positive = belief[belief > 0]
    return float(-(positive * np.log(positive)).sum())


def _followed(plan: Plan, most: int) -> list[tuple[int, Array]]:
    """The vectors that the plan can come to follow, nearest first, each with the belief in which it does."""
    if plan.root_vector < 0:
        return []
    problem, model, place = plan.problem, plan.problem.model, 0
    found = [(plan.root_vector, problem.start)]
    seen = {plan.root_vector}
    while place < len(found) and len(found) < most:
        vector, belief = found[place]
        place += 1
        for pair in _pairs(plan, vector):
            every, begins = joint_chances(problem, pair, belief)
            for number, branch in enumerate(range(model.pair_branch[pair], model.pair_branch[pair + 1])):
                other, joint = plan.follower(vector, branch), every[begins[number] : begins[number + 1]]
                if other >= 0 and other not in seen and joint.sum() > 0:
                    seen.add(other)
                    found.append((other, joint / joint.sum()))
    return found[:most]


def _pairs(plan: Plan, vector: int) -> range:
    model, home, taken = plan.problem.model, plan.home(vector), int(plan.graph.vector[vector, VECTOR_PAIR])
    if taken == ANY:
        return range(model.class_pair[home], model.class_pair[home + 1])
    return range(taken, taken + 1)


def _vector_excess(plan: Plan, vector: int, met: Array, rng: Generator, beliefs: int, deadline: float) -> float:
    """By how much `vector` claims more than one backup of its followers gives, where it is `met`, over corners and over
    drawn beliefs."""
    size = int(plan.problem.sizes[plan.home(vector)])
    if plan.problem.ended[plan.home(vector)]:
        return max(excess(sized(float(number)), sized(0.0)) for number in plan.numbers(vector))
    drawn = rng.dirichlet(np.full(size, 0.5), beliefs) if plan.settings.weight > 0 and size > 1 else np.empty((0, size))
    most = MOST_CORNERS if plan.settings.weight == 0 else FEW_CORNERS
    corners = range(size) if size <= most else rng.choice(size, most)
    worst = -np.inf

    def claim(branch: int, target: int, belief: Array) -> Worth:
        return _claim(plan, plan.follower(vector, branch), belief)

    pairs = _pairs(plan, vector)
    for belief in chain([met], drawn, (_certain(state, size) for state in corners)):
        worth = Worth(0.0, 0.0)
        for pair in pairs:
            worth = worth.plus(1 / len(pairs), sized_backup(plan, pair, belief, claim))
        worst = max(worst, excess(_claim(plan, vector, belief), worth))
        if clock.now() > deadline:
            break
    return worst


def _certain(state: int, size: int) -> Array:
    belief = np.zeros(size)
    belief[state] = 1.0
    return belief


def _claim(plan: Plan, vector: int, belief: Array) -> Worth:
    """What `vector` claims at `belief`."""
    numbers = plan.numbers(vector)
    curved = float(plan.graph.share[vector]) * plan.settings.potential * entropy(belief)
    return Worth(float(numbers @ belief) + curved, float(np.abs(numbers) @ belief) + abs(curved))


def _best_claim(plan: Plan, home: int, belief: Array) -> Worth:
    """The lower bound at `belief`."""
    value, vector = plan.lower(home, belief)
    return Worth(value, 0.0 if vector < 0 else _claim(plan, vector, belief).size)


def _upper(plan: Plan, home: int, belief: Array) -> Worth:
    """The upper bound at `belief`."""
    value, first = plan.upper(home, belief), plan.problem.model.class_state[home]
    if plan.problem.ended[home]:
        return sized(value)
    corner, curved = plan.graph.corner[first : first + len(belief)], plan.settings.potential * entropy(belief)
    return Worth(value, abs(value) + float(np.abs(corner) @ belief) + 2 * curved)


def _drawn_points(plan: Plan, rng: Generator, most: int) -> list[tuple[int, int]]:
    """Points as class and place there, up to `most`; half of them states that are known, on which all others lean."""
    every = [(home, place) for home, ids in plan._opened.items() for place in range(len(ids))]
    if len(every) <= most:
        return every
    known = np.concatenate([plan.graph.node[ids, COUNT] == 1 for ids in plan._opened.values()])
    corners, others = rng.permutation(np.flatnonzero(known)), rng.permutation(np.flatnonzero(~known))
    chosen = [*corners[: max(most // 2, most - len(others))], *others][:most]
    return [every[place] for place in chosen]


def _drawn_slots(plan: Plan, rng: Generator, most: int) -> list[int]:
    """Known states, as the problem counts them, up to `most`: those of the start first."""
    problem = plan.problem
    first, last = problem.model.class_state[problem.start_class : problem.start_class + 2]
    going = np.flatnonzero(np.repeat(~problem.ended, problem.sizes))
    every = rng.permutation(going[(going < first) | (going >= last)])
    own = rng.permutation(np.arange(first, last)) if not problem.ended[problem.start_class] else every[:0]
    return [*own[: max(most // 2, most - len(every))].tolist(), *every.tolist()][:most]


def _corner_excess(plan: Plan, slot: int) -> float:
    """By how much one backup at a known state, or what the informed bound says of it if that is less, goes beyond what
    is claimed there: all other claims lean on these."""
    model = plan.problem.model
    home = int(np.searchsorted(model.class_state, slot, side="right")) - 1
    state, size = slot - int(model.class_state[home]), int(plan.problem.sizes[home])
    claimed, pairs = float(plan.graph.corner[slot]), range(model.class_pair[home], model.class_pair[home + 1])
    told = max(float(plan.first.action[model.pair_reward[pair] + state]) for pair in pairs)
    apart = excess(sized(told), sized(claimed))
    return apart if apart <= 0 else min(apart, _backup_excess(plan, home, _certain(state, size), claimed))


def _point_excess(plan: Plan, home: int, place: int) -> float:
    """By how much one backup of the upper bound at a point gives more than the point claims; or, if that is less, by
    how much the mixture of the other points does: what they imply needs no backup of its own. Points next to this one
    do not count among them: two that claim too little would vouch for each other. But they do where they are points of
    the bound and this one is not: it has its claim from them, and they have nothing from it. A state that is known is
    no mixture of others."""
    beliefs, values = plan.points(home)
    belief = beliefs[place]
    claimed = float(values[place])
    apart = _backup_excess(plan, home, belief, claimed)
    if apart <= 0 or np.count_nonzero(belief) == 1:
        return apart
    firm = plan.graph.node[plan._opened[home], ENTRY] >= 0
    others = (np.abs(beliefs - belief).max(axis=1) > APART) | (firm & ~firm[place])
    implied = plan.between(home, beliefs[others], values[others], belief)
    return min(apart, excess(Worth(implied, _upper(plan, home, belief).size), sized(claimed)))


def _backup_excess(plan: Plan, home: int, belief: Array, claimed: float) -> float:
    """By how much one backup at `belief` exceeds what is claimed there of V - p H: that of the action for which it is
    most, each with its own rounding error."""
    model, curved = plan.problem.model, plan.settings.potential * entropy(belief)
    pairs = range(model.class_pair[home], model.class_pair[home + 1])
    there = Worth(claimed + curved, abs(claimed) + curved)
    found = (sized_backup(plan, pair, belief, lambda _, target, after: _upper(plan, target, after)) for pair in pairs)
    return max(excess(one, there) for one in found)


def _informed_excess(plan: Plan, rng: Generator, most: int, seconds: float) -> float:
    """By how much one backup of the informed bound, pairs drawn, gives more than it claims."""
    problem, model, worst = plan.problem, plan.problem.model, -np.inf
    action, discount, weight = plan.first.action, plan.settings.discount, plan.settings.weight
    pairs = range(problem.pairs) if problem.pairs <= most else rng.choice(problem.pairs, most, replace=False)
    for pair in in_time(pairs, seconds):
        home = int(model.pair_class[pair])
        at, size = model.pair_reward[pair], int(problem.sizes[home])
        total, gained = model.reward[at : at + size].copy(), np.zeros(size)
        sizes = np.abs(total) + np.abs(action[at : at + size])
        symbols, states, shares = [], [], []
        for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
            rows, target = model.branch_row[branch] + np.arange(size), int(model.branch_target[branch])
            places, owner = spans(model.row[rows], model.row[rows + 1])
            column, chance = model.column[places], model.chance[places]
            if weight > 0:
                seen = _added(chance, owner, size)
                later = _disorder(chance, owner, size) - _disorder(seen, np.arange(size), size)
                gained -= (weight - discount * plan.settings.potential) * later
                sizes += weight * np.abs(later)
                symbols.append(model.symbol[model.class_state[target] + column])
                states.append(owner)
                shares.append(chance)
            if not problem.ended[target]:
                first, last = (model.pair_reward[model.class_pair[target + more]] for more in (0, 1))
                offers = action[first:last].reshape(-1, int(problem.sizes[target]))
                worth = np.array([_added(chance * offer[column], owner, size) for offer in offers])
                large = np.array([_added(chance * np.abs(offer[column]), owner, size) for offer in offers])
                best = worth.argmax(axis=0), np.arange(size)
                total += discount * worth[best]
                sizes += discount * large[best]
        if weight > 0:
            code = np.concatenate(states) * problem.symbols + np.concatenate(symbols)
            kinds, place = np.unique(code, return_inverse=True)
            predicted = _added(np.concatenate(shares), place, len(kinds))
            told = weight * _disorder(predicted, kinds // problem.symbols, size)
            total += gained + told
            sizes += told
        worst = max(worst, float((total - action[at : at + size] - ROUNDING * sizes).max()))
    return worst


def _disorder(chances: Array, owner: Ids, size: int) -> Array:
    """- sum p ln p (n,) over the `chances` of each owner."""
    logs = np.log(chances, out=np.zeros_like(chances), where=chances > 0)
    return _added(-chances * logs, owner, size)


def _added(numbers: Array, owner: Ids, size: int) -> Array:
    """Sums (size,) of the numbers of each owner."""
    return np.bincount(owner, numbers, minlength=size).astype(float, copy=False)
