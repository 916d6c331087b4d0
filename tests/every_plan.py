"""Every plan without chance of a small observe-then-commit model, listed one by one: nothing shared with rhoplan.

A plan is a tree over histories: a commit, or a test that the rules allow and a plan for each of its results. Its
numbers are what its tests cost on average and the share of cases that end with each commit in each state.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Trial(NamedTuple):
    """A test that runs once: its price, P(result | state) (S, O), its group and the tests it waits for."""

    cost: float
    rows: Array
    group: str = ""
    after: tuple[int, ...] = ()


class Small(NamedTuple):
    """A model. payoff (E, S); first: what opening a group costs; most, budget: caps."""

    prior: Array
    trials: tuple[Trial, ...]
    payoff: Array
    first: dict[str, float]
    most: int
    budget: float = np.inf


def plans(model: Small) -> Array:
    """The numbers (n, 1 + E * S) of every plan: average spend, then commits by states."""
    return _from(model, model.prior, (), 0.0)


def count(model: Small, done: tuple[int, ...] = ()) -> float:
    """How many there are, at most: budgets are not looked at."""
    total = float(len(model.payoff))
    for k in _allowed(model, done, 0.0, budget=False):
        total += count(model, (*done, k)) ** model.trials[k].rows.shape[1]
    return total


def _allowed(model: Small, done: tuple[int, ...], spent: float, *, budget: bool = True) -> list[int]:
    if len(done) >= model.most:
        return []
    found = [k for k, one in enumerate(model.trials) if k not in done and set(one.after) <= set(done)]
    return [k for k in found if not budget or spent + _price(model, done, k) <= model.budget + 1e-9]


def _price(model: Small, done: tuple[int, ...], k: int) -> float:
    group = model.trials[k].group
    opened = any(model.trials[j].group == group for j in done)
    return model.trials[k].cost + (0.0 if opened or not group else model.first.get(group, 0.0))


def _from(model: Small, mass: Array, done: tuple[int, ...], spent: float) -> Array:
    commits, states = model.payoff.shape
    found = []
    for commit in range(commits):
        row = np.zeros((commits, states))
        row[commit] = mass
        found.append(np.concatenate([[0.0], row.ravel()])[None])
    for k in _allowed(model, done, spent):
        price, rows = _price(model, done, k), model.trials[k].rows
        sums = np.zeros((1, 1 + commits * states))
        sums[0, 0] = price * mass.sum()
        for result in range(rows.shape[1]):
            below = _from(model, mass * rows[:, result], (*done, k), spent + price)
            sums = (sums[:, None] + below[None]).reshape(-1, sums.shape[1])
        found.append(sums)
    return np.concatenate(found)


def lower_edge(x: Array, y: Array) -> Array:
    """The corners (k, 2) of the lower left edge of all mixtures of points, the lowest y first."""
    points = sorted(set(zip(x.tolist(), y.tolist(), strict=True)))
    edge: list[tuple[float, float]] = []
    for px, py in points:
        if edge and py >= edge[-1][1] - 1e-11:
            continue
        if edge and px - edge[-1][0] <= 1e-11:
            edge.pop()
        while len(edge) >= 2 and _turns(edge[-2], edge[-1], (px, py)) <= 1e-11:
            edge.pop()
        edge.append((px, py))
    return np.array(edge[::-1])


def _turns(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """How far b lies below the line from a to c, in y."""
    share = (b[0] - a[0]) / (c[0] - a[0])
    return a[1] + share * (c[1] - a[1]) - b[1]


def cheapest_mix(cost: Array, rows: Array, most: Array) -> float:
    """Least cost of a mixture of plans with rows (n, k) at most `most` (k,): every basis is tried; infinity if none."""
    size, width = len(cost), rows.shape[1] + 1
    table = np.concatenate([rows, np.ones((size, 1))], axis=1)
    slacks = np.eye(width)[: width - 1]
    columns, paid = np.concatenate([table, slacks]), np.concatenate([cost, np.zeros(width - 1)])
    right, best = np.append(most, 1.0), np.inf
    bases = np.array(list(combinations(range(len(columns)), width)))
    matrices = columns[bases].swapaxes(1, 2)
    sound = np.abs(np.linalg.det(matrices)) > 1e-13
    shares = np.linalg.solve(matrices[sound], np.broadcast_to(right, (sound.sum(), width))[..., None])[..., 0]
    kept = (shares >= -1e-10).all(axis=1)
    if kept.any():
        best = float((shares[kept] * paid[bases[sound][kept]]).sum(axis=1).min())
    return best


def undominated(parts: Array) -> Array:
    """Places of the rows (n, k) that no other is as good as everywhere."""
    kept: list[int] = []
    for place in np.lexsort(parts.T[::-1]).tolist():
        if not (parts[kept] <= parts[place] + 1e-12).all(axis=1).any():
            kept.append(place)
    return np.array(kept)
