"""The beliefs about one factor that a bound is worked out at, and what an action leads to among them.

V - w H is convex in the belief about one factor, those about the others held fixed. So a belief between grid points is
worth at most what a mixture of grid points is worth that makes it up (`spread`), and the beliefs after a test are worth
at least, in the mean, what any garbling of them is worth (`contract`): who forgets a little of what was seen can land
on grid points. The first gives an upper bound that is a plain Markov decision problem on grid points, the second a
lower one.

A row of that problem is a number and a list of (chance, grid point, outcome whose visible state it leads to): the
value of the action is at most (at least) the number plus the chances times the values there. With a weight the number
holds w times what entropy is lost or made up by moving to grid points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rhoplan.belief_math.information import entropy, information, update
from rhoplan.model.pomdp import END, Action, Array, Factor, Ids
from rhoplan.planning import clock
from rhoplan.planning.certified.mixing import mixture_weights

NEAR = 1e-11
"""Beliefs closer than this are the same grid point."""


class Grid(NamedTuple):
    """points (G, S): beliefs. place (G,): the place in the lattice of each; several may share one.

    start: shares and grid points that the prior is made of: one, unless the grid is too coarse to hold it.
    """

    points: Array
    place: Ids
    start: tuple[tuple[float, int], ...]

    def put_together(self, place: Ids) -> Grid:
        """The grid with its first points, the corners, in these places: numbers that are equal where they share one."""
        every = np.concatenate([place, len(place) + np.arange(len(self.place) - len(place))])
        return self._replace(place=np.unique(every, return_inverse=True)[1].astype(np.int64))

    @property
    def holds_prior(self) -> bool:
        return len(self.start) == 1

    @property
    def places(self) -> int:
        return int(self.place.max()) + 1


class Entry(NamedTuple):
    """`chance` to come to grid point `point`, and to the visible state of outcome number `outcome`."""

    chance: float
    point: int
    outcome: int


class Row(NamedTuple):
    paid: float
    entries: tuple[Entry, ...]


def corners(factor: Factor) -> Grid:
    """The coarsest grid that every belief is a mixture of: the state is told at the start."""
    states = len(factor.prior)
    shares = tuple((float(share), state) for state, share in enumerate(factor.prior) if share > 0)
    return Grid(np.eye(states), np.arange(states), shares)


def refined(grid: Grid, more: Array, prior: Array) -> Grid:
    """The grid with those of `more` that are new, each in a place of its own."""
    points = with_points(grid.points, more)
    place = np.concatenate([grid.place, grid.places + np.arange(len(points) - len(grid.points))])
    held = find_point(points, prior)
    return Grid(points, place, ((1.0, held),) if held >= 0 else grid.start)


def with_points(points: Array, more: Array) -> Array:
    """`points` and those of `more` that are new."""
    for point in more:
        if np.abs(points - point).max(axis=1).min() > NEAR:
            points = np.vstack([points, point])
    return points


def find_point(points: Array, belief: Array) -> int:
    """The number of a grid point, or -1."""
    apart = np.abs(points - belief).max(axis=1)
    nearest = int(np.argmin(apart))
    return nearest if apart[nearest] <= NEAR else -1


def rows_of(
    action: Action, points: Array, *, weight: float, discount: float, upper: bool, deadline: float = math.inf
) -> list[Row | None]:
    """What taking `action` at each grid point of its factor comes to; None where no lower bound can be told.

    TimeoutError where `deadline` comes first.
    """
    chances, after = update(points, action)
    paid = points @ action.reward
    if weight > 0:
        paid = paid + weight * information(points, action)
    groups: dict[object, list[int]] = {}
    for outcome, observable in enumerate(action.leads_to):
        if observable is not END:
            groups.setdefault(observable, []).append(outcome)
    held = entropy(points)
    rows: list[Row | None] = []
    for number in range(len(points)):
        clock.check(deadline)
        total, entries = float(paid[number]), list[Entry]()
        for outcomes in groups.values():
            seen = [outcome for outcome in outcomes if chances[number, outcome] > 0]
            if not seen:
                continue
            chance, beliefs = chances[number, seen], after[number, seen]
            shares = spread(points, chance, beliefs) if upper else contract(points, chance, beliefs)
            if shares is None:
                break
            if weight > 0:
                made = float(chance @ entropy(beliefs)) - sum(share * held[point] for share, point in shares)
                total += discount * weight * made
            entries += [Entry(discount * share, point, seen[0]) for share, point in shares if share > 0]
        else:
            rows.append(Row(total, tuple(entries)))
            continue
        rows.append(None)
    return rows


def spread(points: Array, chances: Array, beliefs: Array) -> list[tuple[float, int]]:
    """Shares of grid points whose mixtures make up `beliefs`, each as near to it as can be."""
    found: dict[int, float] = {}
    for chance, belief in zip(chances, beliefs, strict=True):
        mixture = mixture_of(points, belief, np.arange(len(points)))
        assert mixture is not None, "a grid of the upper bound has all corners"
        for share, point in mixture:
            found[point] = found.get(point, 0.0) + float(chance) * share
    return [(share, point) for point, share in found.items()]


def mixture_of(points: Array, belief: Array, known: Ids) -> list[tuple[float, int]] | None:
    """A mixture of the `known` grid points that makes `belief` up, with the least mean square; None if there is none.

    The corners of the belief's states must be among them, unless it is one of them itself.
    """
    exact = find_point(points[known], belief)
    if exact >= 0:
        return [(1.0, int(known[exact]))]
    held = belief > 0
    inside = known[~(points[known][:, ~held] > 0).any(axis=1)]
    columns = points[inside][:, held]
    found = [np.flatnonzero((columns == corner).all(axis=1)) for corner in np.eye(int(held.sum()))]
    if not all(len(places) for places in found):
        return None
    first = np.array([int(places[0]) for places in found])
    basis, amounts = mixture_weights(columns, (columns**2).sum(axis=1), belief[held], first)
    return [(float(amount), int(inside[place])) for place, amount in zip(basis, amounts, strict=True) if amount > 0]


def contract(points: Array, chances: Array, beliefs: Array) -> list[tuple[float, int]] | None:
    """Shares of grid points that a garbling of `beliefs` leads to; None where there is none on the grid."""
    exact = [find_point(points, belief) for belief in beliefs]
    if min(exact) >= 0:
        return [(float(chance), point) for chance, point in zip(chances, exact, strict=True)]
    total = float(chances.sum())
    middle = chances @ beliefs / total
    axis = beliefs[int(np.argmax(np.abs(beliefs - middle).max(axis=1)))] - middle
    length = float(axis @ axis)
    where = (beliefs - middle) @ axis / length if length > 0 else np.zeros(len(beliefs))
    if length > 0 and np.abs(beliefs - middle - np.outer(where, axis)).max() <= NEAR:
        along = (points - middle) @ axis / length
        on_line = np.abs(points - middle - np.outer(along, axis)).max(axis=1) <= NEAR
        pair = _widest(along, np.flatnonzero(on_line), where, chances / total)
        if pair is not None:
            low, high = pair
            share = -along[low] / (along[high] - along[low])
            return [(total * (1 - share), low), (total * share, high)]
    still = find_point(points, middle)
    return [(total, still)] if still >= 0 else None


def _widest(along: Array, candidates: Ids, where: Array, chances: Array) -> tuple[int, int] | None:
    """The two grid points on a line, one on each side of the mean 0, farthest apart that a garbling can lead to.

    A distribution on two points is a garbling of another with the same mean if its mean distance from any point is no
    larger; it is enough to look where the distances have kinks.
    """
    best, widest = None, 0.0
    for low in candidates[along[candidates] < -NEAR]:
        for high in candidates[along[candidates] > NEAR]:
            at = np.array([along[low], along[high]])
            share = -at[0] / (at[1] - at[0])
            kinks = np.concatenate([where, at])
            ours = np.abs(at - kinks[:, None]) @ np.array([1 - share, share])
            theirs = np.abs(where - kinks[:, None]) @ chances
            if (ours <= theirs + NEAR).all() and -at[0] * at[1] > widest:
                best, widest = (int(low), int(high)), float(-at[0] * at[1])
    return best


def neutral(action: Action) -> bool:
    """Whether `action` neither tells nor changes anything hidden, nor is paid by it: a walk."""
    rows: Sequence[bool] = (action.likelihood == action.likelihood[0]).all(axis=0).tolist()
    return action.transition is None and action.same_reward is not None and all(rows)
