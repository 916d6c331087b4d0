"""A second opinion on the bounds of a lattice, in plain NumPy, at grid points drawn at random.

Upper: one exact backup at a combination of grid points, with beliefs as Bayes makes them and every mixture summed up,
gives at most what is claimed there. Lower: one backup by garbled tests gives at least what is claimed; a garbling must
keep the mean and must not raise the mean of any convex function, which is tried on random ones.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from rhoplan.belief_math.information import entropy, information, update
from rhoplan.model.pomdp import END, Action, Array
from rhoplan.planning.certified.lattice.build import least_of
from rhoplan.planning.certified.lattice.grid import contract
from rhoplan.planning.certified.lattice.policy import GridPolicy, Half
from rhoplan.planning.certified.pointbased.check import Certificate, Worth, excess, in_time, sized

CONVEX = 20
"""Convex functions tried on each garbling."""


def check_grids(policy: GridPolicy, rng: Generator, *, most: int = 300, seconds: float = np.inf) -> Certificate:
    """Check up to `most` values of each bound, each for half of `seconds`."""
    above = [_upper_excess(policy, *drawn) for drawn in in_time(_drawn(policy, policy.above, rng, most), seconds / 2)]
    drawn_below = in_time(_drawn(policy, policy.below, rng, most), seconds / 2)
    below = [_lower_excess(policy, rng, *drawn) for drawn in drawn_below]
    return Certificate(max(below, default=-np.inf), max(above, default=-np.inf), len(below), len(above))


def _drawn(policy: GridPolicy, half: Half, rng: Generator, most: int) -> list[tuple[int, list[int], float]]:
    """Visible states, a grid point of each factor, and the value claimed there."""
    found, held = [], np.flatnonzero(half.lattice.size.prod(axis=1)[policy.structure.room])
    for _ in range(most):
        here = int(rng.choice(held))
        room = int(policy.structure.room[here])
        points = []
        for factor, grid in enumerate(half.grids):
            known = np.flatnonzero(half.lattice.digit[room, factor, grid.place] >= 0)
            points.append(int(rng.choice(known)))
        claimed = half.at(policy.structure, here, [[(1.0, point)] for point in points])
        if claimed is not None and np.isfinite(claimed):
            found.append((here, points, claimed))
    return found


def _upper_excess(policy: GridPolicy, here: int, points: list[int], claimed: float) -> float:
    """By how much one backup goes beyond what is claimed."""
    beliefs = [grid.points[point] for grid, point in zip(policy.above.grids, points, strict=True)]
    menu = policy.origin.menu(policy.structure.observables[here])
    return max(excess(_backup(policy, action, beliefs), sized(claimed)) for action in menu)


def _backup(policy: GridPolicy, action: Action, beliefs: list[Array]) -> Worth:
    """What `action` is worth with the upper bound on what comes after."""
    total, (chances, after) = _paid(policy, action, beliefs[action.factor])
    for outcome in np.flatnonzero(chances > 0).tolist():
        if action.leads_to[outcome] is not END:
            held = [after[outcome] if f == action.factor else belief for f, belief in enumerate(beliefs)]
            claimed = sized(policy._upper(policy.place_of(action.leads_to[outcome]), held))
            total = total.plus(policy.settings.discount * float(chances[outcome]), claimed)
    return total


def _paid(policy: GridPolicy, action: Action, belief: Array) -> tuple[Worth, tuple[Array, Array]]:
    """What `action` pays at once, information included; the chances of its outcomes, and the beliefs after them."""
    weight = policy.settings.weight
    chances, after = (part[0] for part in update(belief[None, :], action))
    told = weight * float(information(belief[None, :], action)[0]) if weight > 0 else 0.0
    size = float(np.abs(action.reward) @ belief) + weight * math.log(len(belief))
    return Worth(float(action.reward @ belief) + told, size), (chances, after)


def _lower_excess(policy: GridPolicy, rng: Generator, here: int, points: list[int], claimed: float) -> float:
    """By how much the claim goes beyond one backup, or what any plan earns; infinite where a garbling is none."""
    menu = policy.origin.menu(policy.structure.observables[here])
    backups = [_garbled(policy, rng, action, points) for action in menu]
    backups.append(sized(least_of(policy.structure, policy.settings.discount)))
    return min(excess(sized(claimed), backup) for backup in backups)


def _garbled(policy: GridPolicy, rng: Generator, action: Action, points: list[int]) -> Worth:
    """What `action` is worth where tests are garbled to land on grid points; minus infinity where they cannot be."""
    grid, weight = policy.below.grids[action.factor], policy.settings.weight
    belief = grid.points[points[action.factor]]
    total, (chances, after) = _paid(policy, action, belief)
    for there in dict.fromkeys(action.leads_to):
        seen = [o for o, observable in enumerate(action.leads_to) if observable == there and chances[o] > 0]
        if there is END or not seen:
            continue
        shares = contract(grid.points, chances[seen], after[seen])
        if shares is None or not is_garbling(rng, grid.points, shares, chances[seen], after[seen]):
            return sized(-np.inf)
        made = float(chances[seen] @ entropy(after[seen]))
        for share, point in shares:
            now = [[(1.0, point if f == action.factor else held)] for f, held in enumerate(points)]
            value = policy.below.at(policy.structure, policy.place_of(there), now)
            total = total.plus(policy.settings.discount * share, sized(-np.inf if value is None else value))
            made -= share * float(entropy(grid.points[point]))
        total = total.plus(policy.settings.discount * weight, Worth(made, math.log(len(belief))))
    return total


def is_garbling(rng: Generator, points: Array, shares: list[tuple[float, int]], chances: Array, after: Array) -> bool:
    """Whether the shares of grid points keep the mean of `after` and no convex function tried has a larger mean."""
    share, place = np.array([part for part, _ in shares]), [point for _, point in shares]
    garbled = points[place]
    if np.abs(share @ garbled - chances @ after).max() > 1e-9:
        return False
    slopes = rng.normal(size=(CONVEX, points.shape[1]))
    at = after @ slopes.T
    cuts = at.min(axis=0) + rng.random(CONVEX) * (at.max(axis=0) - at.min(axis=0))
    ours = share @ np.maximum(garbled @ slopes.T - cuts, 0.0)
    theirs = chances @ np.maximum(at - cuts, 0.0)
    return bool((ours <= theirs + 1e-9).all())
