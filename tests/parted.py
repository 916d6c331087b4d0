"""Random problems in parts: factors, joint priors, passive changes, actions with parts of every kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bridge import Array
from rhoplan import POMDP, Factor, FactoredAction, FactoredProblem, JointPrior, LocalModel

HERE = "here"


@dataclass(frozen=True)
class Case:
    """A random problem in parts."""

    factors: list[Factor]
    joint: list[JointPrior]
    passive: list[LocalModel]
    actions: list[FactoredAction]

    def problem(self) -> POMDP:
        return FactoredProblem(
            "random", self.factors, start=HERE, menus={HERE: self.actions}, joint=self.joint, passive=self.passive
        )


def rows(rng: np.random.Generator, *shape: int) -> Array:
    """Random rows that sum to 1, some with zeros."""
    table = rng.random(shape) * (rng.random(shape) < 0.8) + 1e-3 * (np.arange(shape[-1]) == 0)
    return table / table.sum(axis=-1, keepdims=True)


def drawn(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    sizes = {f"f{i}": int(rng.integers(2, 4)) for i in range(int(rng.integers(2, 4)))}
    names = list(sizes)
    factors = [Factor(n, tuple(f"{n}s{k}" for k in range(sizes[n])), rows(rng, sizes[n])) for n in names]

    def scope() -> tuple[str, ...]:
        count = int(rng.choice([1, 1, 1, 2]))
        return tuple(rng.permutation(names)[:count].tolist())

    def part(about: tuple[str, ...], may_change: bool) -> LocalModel:
        states = int(np.prod([sizes[one] for one in about]))
        shown = int(rng.integers(0, 3))
        shown = 0 if shown == 1 else shown
        count = max(shown, 1)
        change = None
        if may_change:
            change = rows(rng, states, states) if rng.random() < 0.6 else rows(rng, count, states, states)
        shapes = [(states,), (states, count), (count, states, states)][: 2 if change is None or moving else 3]
        reward = rng.normal(size=shapes[rng.integers(len(shapes))]) if rng.random() < 0.7 else None
        outcomes = tuple(f"o{k}" for k in range(shown))
        return LocalModel(about, reward, outcomes, rows(rng, states, shown) if shown else None, change)

    joint, passive, moving = [], [], rng.random() < 0.3
    if rng.random() < 0.4:
        about = tuple(rng.permutation(names)[:2].tolist())
        joint = [JointPrior(about, rows(rng, int(np.prod([sizes[one] for one in about]))))]
    if moving:
        about = scope()
        states = int(np.prod([sizes[one] for one in about]))
        passive = [LocalModel(about, change=rows(rng, states, states))]
    actions = []
    for number in range(int(rng.integers(1, 4))):
        parts, changed = [], set()
        for _ in range(int(rng.integers(0, 3))):
            about = scope()
            changes = not changed.intersection(about) and rng.random() < 0.6
            changed |= set(about) if changes else set()
            parts.append(part(about, changes))
        actions.append(FactoredAction(f"a{number}", (HERE,), tuple(parts), float(rng.normal())))
    return Case(factors, joint, passive, actions)
