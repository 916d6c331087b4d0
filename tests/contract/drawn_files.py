"""Seeded random problem files, and the exact value of those that plain recursion can solve.

`pomdp` draws a `.pomdp` file of one of six families; `run_once` draws a model file of tests that run once. Both use
nothing of rhoplan, so the files and their values stay the same whatever happens to the library. An exact value is an
interval: a point, or what the discounted rest after the last step may add.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import numpy as np

Interval = tuple[float, float]
PARTS = 1000
"""Probabilities are multiples of 1 / PARTS, so that rows sum to 1 exactly."""


@dataclass(frozen=True)
class Drawn:
    """Text of a file, options of `solve` for it, and bounds on the optimal value where they are known."""

    name: str
    text: str
    options: tuple[str, ...]
    value: Interval | None = None


def _row(rng: Random, width: int, nonzero: int) -> list[int]:
    """A probability row in parts of PARTS, with at most `nonzero` positive entries."""
    places = rng.sample(range(width), min(nonzero, width))
    cuts = sorted(rng.randrange(PARTS + 1) for _ in places[1:])
    row = [0] * width
    for place, low, high in zip(places, [0, *cuts], [*cuts, PARTS], strict=True):
        row[place] = high - low
    return row


@dataclass(frozen=True)
class _Arrays:
    """T (A, S, S), Z (A, S, O), R (A, S) and the initial belief (S,)."""

    transition: np.ndarray
    observation: np.ndarray
    reward: np.ndarray
    start: np.ndarray

    def text(self, discount: float) -> str:
        actions, states, observations = self.observation.shape
        lines = [f"discount: {discount}", "values: reward", f"states: {states}", f"actions: {actions}"]
        lines += [f"observations: {observations}", "start: " + " ".join(f"{p:.3f}" for p in self.start)]
        for action in range(actions):
            for head, table in (("T", self.transition), ("O", self.observation)):
                lines += [f"{head}: {action}", *(" ".join(f"{p:.3f}" for p in row) for row in table[action])]
            lines += [f"R: {action} : {s} : * : * {value:.2f}" for s, value in enumerate(self.reward[action])]
        return "\n".join(lines) + "\n"

    def value(self, steps: int, weight: float, discount: float, beliefs: np.ndarray | None = None) -> np.ndarray:
        """Optimal value (n,) of so many steps from beliefs (n, S), with `weight` per nat of information."""
        beliefs = self.start[None] if beliefs is None else beliefs
        if steps == 0:
            return np.zeros(len(beliefs))
        values = []
        for transition, observation, reward in zip(self.transition, self.observation, self.reward, strict=True):
            moved = beliefs @ transition
            joint = moved[:, None, :] * observation.T[None]
            mass = joint.sum(axis=-1)
            after = np.divide(joint, mass[..., None], out=np.zeros_like(joint), where=mass[..., None] > 0)
            later = self.value(steps - 1, weight, discount, after.reshape(-1, beliefs.shape[1])).reshape(mass.shape)
            gained = _entropy(moved) - (mass * _entropy(after)).sum(axis=1)
            values.append(beliefs @ reward + weight * gained + discount * (mass * later).sum(axis=1))
        return np.max(values, axis=0)


def _entropy(beliefs: np.ndarray) -> np.ndarray:
    return -(beliefs * np.log(np.where(beliefs > 0, beliefs, 1.0))).sum(axis=-1)


def pomdp(seed: int, *, weight: float | None = None, discount: float | None = None, states: int | None = None) -> Drawn:
    """Dense, sparse, low discount, finite horizon, goal at discount 1 or mixed observability, by seed.

    A weight, a discount or a number of states that is given replaces the drawn one.
    """
    rng, family = Random(f"pomdp {seed}"), seed % 6
    count, actions, observations = rng.choice([2, 3, 4, 5]), rng.choice([2, 3]), rng.choice([2, 3])
    name, states = (f"drawn-{seed}", count) if states is None else (f"wide-{seed}", states)
    if family in (2, 3):
        states, actions, observations = min(states, 3), 2, 2
    nonzero = rng.choice([1, 2]) if family in (1, 4) else states
    transition = [[_row(rng, states, nonzero) for _ in range(states)] for _ in range(actions)]
    table = [[_row(rng, observations, observations) for _ in range(states)] for _ in range(actions)]
    scale = rng.choice([1, 10, 100])
    reward = [[scale * rng.randint(-100, 100) / 100 for _ in range(states)] for _ in range(actions)]
    start = _row(rng, states, states)
    if family == 4:  # every action costs, and may reach the absorbing goal, which is seen
        start = [*start, 0]
        transition = [[[p * 3 // 4 for p in row] for row in rows] for rows in transition]
        transition = [[*([*row, PARTS - sum(row)] for row in rows), [0] * states + [PARTS]] for rows in transition]
        table = [[*([*row, 0] for row in rows), [0] * observations + [PARTS]] for rows in table]
        reward = [[*(-1 - abs(value) for value in row), 0] for row in reward]
    if family == 5:  # two observable places; the observation says which, and something about the hidden part
        table = [[row + [0] * observations if s % 2 else [0] * observations + row for s, row in enumerate(rows)]
                 for rows in table]  # fmt: skip
    arrays = _Arrays(*(np.array(one) / PARTS for one in (transition, table)), np.array(reward), np.array(start) / PARTS)
    if discount is None:
        discount = {2: 0.5, 4: 1.0, 5: 0.9}.get(family, 0.95)
    weights = {1: 0.3, 2: rng.choice([0.0, 1.0]), 3: rng.choice([0.0, 1.0, 5.0]), 5: rng.choice([0.0, 5.0])}
    if weight is None:
        weight = weights.get(family, 0.0)
    options, value = ("--weight", str(weight)), None
    if family == 2 and discount < 1:
        steps, most = 8, math.log(states) * weight
        middle = float(arrays.value(steps, weight, discount)[0])
        tail = discount**steps / (1 - discount)
        value = (middle + tail * float(arrays.reward.min()), middle + tail * (float(arrays.reward.max()) + most))
    if family == 3:
        steps = rng.choice([2, 3, 4, 5])
        options += ("--horizon", str(steps))
        value = (float(arrays.value(steps, weight, discount)[0]),) * 2
    return Drawn(f"{name}.pomdp", arrays.text(discount), options, value)


def run_once(seed: int) -> Drawn:
    """Tests that run once each, and decisions with losses; up to six tests the value is exact."""
    rng = Random(f"run once {seed}")
    states = [f"s{place}" for place in range(rng.choice([2, 2, 3]))]
    count = rng.choice([3, 4, 5, 6, 8, 11])
    prior = [p + 1 for p in _row(rng, len(states), len(states))]
    costs = [rng.randint(1, 60) / 10 for _ in range(count)]
    rows = [[rng.randint(20, 980) for _ in states] for _ in range(count)]
    losses = [[0 if s == d else rng.randint(20, 200) for s in range(len(states))] for d in range(len(states))]
    lines = [f"name: run-once-{seed}", f"states: [{', '.join(states)}]"]
    shares = ", ".join(f"{name}: {p / sum(prior)!r}" for name, p in zip(states, prior, strict=True))
    lines.append(f"prior: {{{shares}}}")
    lines.append("tests:")
    for place, (cost, row) in enumerate(zip(costs, rows, strict=True)):
        table = ", ".join(f"{s}: [{p / PARTS}, {(PARTS - p) / PARTS}]" for s, p in zip(states, row, strict=True))
        lines.append(f"  t{place}: {{cost: {cost}, outcomes: [yes, no], likelihood: {{{table}}}}}")
    lines.append("losses:")
    for name, row in zip(states, losses, strict=True):
        lines.append(f"  call-{name}: {{{', '.join(f'{s}: {x}' for s, x in zip(states, row, strict=True))}}}")
    value = None
    if count <= 6:
        exact = _run_once_value(
            [p / sum(prior) for p in prior], costs, [[p / PARTS for p in row] for row in rows], losses
        )
        value = (exact, exact)
    return Drawn(f"run-once-{seed}.yaml", "\n".join(lines) + "\n", (), value)


def _run_once_value(
    prior: Sequence[float], costs: Sequence[float], yes: Sequence[Sequence[float]], losses: Sequence[Sequence[float]]
) -> float:
    """Minus the least expected cost, by recursion over which tests ran and what they said."""

    @cache
    def worth(seen: tuple[bool | None, ...]) -> float:
        joint = list(prior)
        for row, result in zip(yes, seen, strict=True):
            if result is not None:
                joint = [p * (q if result else 1 - q) for p, q in zip(joint, row, strict=True)]
        found = [-math.fsum(p * loss for p, loss in zip(joint, row, strict=True)) for row in losses]
        for place, result in enumerate(seen):
            if result is None:
                after = [worth((*seen[:place], one, *seen[place + 1 :])) for one in (True, False)]
                found.append(math.fsum(after) - costs[place] * math.fsum(joint))
        return max(found)

    return worth((None,) * len(costs))
