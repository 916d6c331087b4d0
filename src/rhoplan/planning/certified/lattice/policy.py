"""What a lattice leaves behind: bounds in any situation, and what to do there.

Above, a belief between grid points is worth at most what the mixture of grid points is worth. Below, a grid point p
that lies between a belief b and another belief q says something about b: p = c b + (1 - c) q, so, V - w H being convex,
V(p) <= c V(b) + (1 - c) V(q), and V(b) is at least (lower(p) - (1 - c) upper(q)) / c.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rhoplan.belief_math.information import entropy, information, update
from rhoplan.errors import EvidenceError
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.pomdp import END, POMDP, Action, Array, Observable
from rhoplan.planning.asked import Asked, BoundedPolicy
from rhoplan.planning.certified.lattice.grid import Grid, find_point, mixture_of
from rhoplan.planning.certified.lattice.rooms import Structure
from rhoplan.planning.certified.lattice.sweeps import Lattice

FORMAT = "rhoplan-grid-policy-1"

SAME = 1e-9
"""Differences below this share of a value are rounding."""

Beliefs = Sequence[Array]


@dataclass(frozen=True, eq=False)
class Half:
    """The values of one bound."""

    lattice: Lattice
    grids: tuple[Grid, ...]
    values: Array

    def at(self, structure: Structure, here: int, mixtures: Sequence[Sequence[tuple[float, int]]]) -> float | None:
        """The value of a mixture of grid points of each factor; None where some of them cannot come up."""
        room, shares, numbers = int(structure.room[here]), np.ones(1), np.zeros(1, dtype=np.int64)
        for factor, mixture in enumerate(mixtures):
            digits = self.lattice.digit[room, factor, [int(self.grids[factor].place[point]) for _, point in mixture]]
            if (digits < 0).any():
                return None
            shares = np.multiply.outer(shares, [share for share, _ in mixture]).ravel()
            numbers = np.add.outer(numbers, digits * self.lattice.stride[room, factor]).ravel()
        begin, end = self.lattice.room_first[room : room + 2]
        return float(shares @ self.values[self.lattice.room_at[room] + numbers * (end - begin) + here - begin])


@dataclass(frozen=True, eq=False)
class GridPolicy(BoundedPolicy):
    """Bounds and actions in any situation that can be reached, from a lattice above and one below."""

    origin: POMDP
    structure: Structure
    settings: Asked
    above: Half
    below: Half

    def action(self, situation: Situation) -> str:
        """The name of what to do in `situation`: what is worth most at the least; or, where that is less than the
        situation is known to be worth, so that nobody knows which action makes up for it, what may be worth most."""
        bounds = self.actions(situation)
        best = max(bounds, key=lambda name: bounds[name][0])
        known = self._lower(self.place_of(situation.observable), situation.beliefs)
        if bounds[best][0] >= known - SAME * abs(known):
            return best
        return max(bounds, key=lambda name: bounds[name][1])

    def value(self, situation: Situation) -> tuple[float, float]:
        """Lower and upper bound on the best value from `situation` on."""
        here, beliefs = self.place_of(situation.observable), situation.beliefs
        backed = self.actions(situation).values()
        low = max(self._lower(here, beliefs), max(low for low, _ in backed))
        return low, min(self._upper(here, beliefs), max(high for _, high in backed))

    def actions(self, situation: Situation) -> dict[str, tuple[float, float]]:
        """Lower and upper bound on what each action is worth in `situation`, the best plan followed afterwards."""
        self.place_of(situation.observable)
        return {a.name: self.bounds_of(a, situation.beliefs) for a in self.origin.menu(situation.observable)}

    def save(self, path: Path | str) -> None:
        """Write it to a file; `load_policy` reads it for the same problem."""
        told = self.heading(FORMAT, self.structure.digest)
        arrays: dict[str, Any] = {}
        for name, half in (("above", self.above), ("below", self.below)):
            arrays[f"{name}-values"] = half.values
            for factor, grid in enumerate(half.grids):
                arrays |= {f"{name}-points-{factor}": grid.points, f"{name}-place-{factor}": grid.place}
                arrays[f"{name}-start-{factor}"] = np.array(grid.start)
        self.write(path, told, **arrays)

    def bounds_of(self, action: Action, beliefs: Beliefs) -> tuple[float, float]:
        """Lower and upper bound on what `action` is worth with these beliefs, where it is on offer."""
        belief = beliefs[action.factor]
        chances, after = (part[0] for part in update(belief[None, :], action))
        paid = float(action.reward @ belief)
        if self.settings.weight > 0:
            paid += self.settings.weight * float(information(belief[None, :], action)[0])
        low = high = paid
        for outcome in np.flatnonzero(chances > 0).tolist():
            if action.leads_to[outcome] is not END:
                there = self.place_of(action.leads_to[outcome])
                held = [after[outcome] if f == action.factor else b for f, b in enumerate(beliefs)]
                share = self.settings.discount * float(chances[outcome])
                low += share * self._lower(there, held)
                high += share * self._upper(there, held)
        return low, max(low, high)

    def _upper(self, here: int, beliefs: Beliefs) -> float:
        grids, lattice = self.above.grids, self.above.lattice
        mixtures, lost = [], 0.0
        for factor, (grid, belief) in enumerate(zip(grids, beliefs, strict=True)):
            comes_up = lattice.digit[int(self.structure.room[here]), factor, grid.place] >= 0
            mixture = mixture_of(grid.points, belief, np.arange(len(grid.points)))  # as the lattice has it
            if mixture is None or not all(comes_up[point] for _, point in mixture):
                mixture = mixture_of(grid.points, belief, np.flatnonzero(comes_up))
            if mixture is None:
                return np.inf
            mixtures.append(mixture)
            lost += float(entropy(belief)) - sum(share * float(entropy(grid.points[point])) for share, point in mixture)
        value = self.above.at(self.structure, here, mixtures)
        return np.inf if value is None else value + self.settings.weight * lost

    def _lower(self, here: int, beliefs: Beliefs) -> float:
        grids, lattice = self.below.grids, self.below.lattice
        room, total, scale = int(self.structure.room[here]), 0.0, 1.0
        now = list(beliefs)
        best = self._ending(here, beliefs)
        for factor, grid in enumerate(grids):
            known = np.flatnonzero(lattice.digit[room, factor, grid.place] >= 0)
            if not len(known):
                return best
            belief = now[factor]
            if find_point(grid.points[known], belief) >= 0:
                continue
            found = _through(belief, grid.points[known])
            if found is None:
                return best
            share, point, beyond = found
            far = [beyond if f == factor else b for f, b in enumerate(now)]
            made = share * float(entropy(belief)) - float(entropy(point)) + (1 - share) * float(entropy(beyond))
            above = (1 - share) * self._upper(here, far)
            total += scale * (self.settings.weight * made - above) / share
            scale /= share
            now[factor] = point
        mixtures = [[(1.0, find_point(grid.points, b))] for grid, b in zip(grids, now, strict=True)]
        value = self.below.at(self.structure, here, mixtures)
        return best if value is None else max(best, scale * value + total)

    def _ending(self, here: int, beliefs: Beliefs) -> float:
        """What the best action is worth that ends the episode; minus infinity where none does."""
        menu = self.origin.menu(self.structure.observables[here])
        return max((float(a.reward @ beliefs[a.factor]) for a in menu if a.ends_episode), default=-np.inf)

    def place_of(self, observable: Observable) -> int:
        """The number of a visible state."""
        if observable is END:
            raise EvidenceError(f"the episode of '{self.origin.name}' has ended: there is nothing left to do")
        if observable not in self._places:
            raise EvidenceError(f"'{self.origin.name}' never comes to {observable!r}", field=("visible",))
        return self._places[observable]

    @cached_property
    def _places(self) -> dict[Observable, int]:
        return {observable: place for place, observable in enumerate(self.structure.observables)}


def _through(belief: Array, points: Array) -> tuple[float, Array, Array] | None:
    """A grid point p = c b + (1 - c) q with the largest c: c, p and q, which is as far from b as can be."""
    best = None
    for point in points:
        step = point - belief
        falls = step < 0
        if (belief[point > 0] <= 0).any() or not falls.any():
            continue
        length = float((belief[falls] / -step[falls]).min())
        share = 1 - 1 / length if length > 1 else 0.0
        if share > (best[0] if best else 1e-6):
            best = share, point, np.maximum(belief + length * step, 0.0)
    return best
