"""RockSample as Smith and Simmons define it: no step costs, time is discounted, one leaves by the east edge.

Hidden: one factor per rock, bad or good; a sampled rock turns bad. Visible: the cell. Checks are free of charge and
sharper than in the paper's variant; walking into a wall and sampling where there is no rock are illegal and cost 100.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.pomdp import END, POMDP, Action, CachedMenu, Factor
from rhoplan.model.validate import checked
from rhoplan.problems.classics import check_probabilities
from rhoplan.problems.grid import MOVES, Cell, euclidean, move, moved
from rhoplan.problems.rocksample import SAMPLED, rock_places

CLASSIC: dict[tuple[int, int], tuple[Cell, ...]] = {
    (7, 8): ((0, 2), (1, 0), (1, 3), (3, 6), (4, 2), (4, 3), (5, 5), (6, 1)),
}
"""The rocks of the classic benchmark, by grid size and number of rocks."""

HALF_EFFICIENCY = 20.0
"""Distance over which the certainty of a check halves."""

ILLEGAL = -100.0


def rocksample_standard(
    *, n: int = 7, k: int = 8, rocks: str = "", seed: int = 0, prior: float = 0.5, discount: float = 0.95
) -> POMDP:
    """RockSample[n, k] of Smith and Simmons: free checks, discounted time, exit by the east edge."""
    known = not rocks and (n, k) in CLASSIC
    places = CLASSIC[(n, k)] if known else rock_places(n, k, rocks, "random", seed)
    check_probabilities(prior=prior)
    if not 0 < discount <= 1:
        raise ProblemError(
            f"discount must be above 0 and at most 1; it is {discount:g}", field=("discount",), code="discount-range"
        )
    belief = np.array([1 - prior, prior])
    return checked(
        POMDP(
            name="rocksample-standard",
            factors=tuple(Factor(f"rock-{i}", ("bad", "good"), belief) for i in range(k)),
            start=(n // 2, 0),
            menu=StandardSite(n, places),
            horizon=2,
            planner="anytime",
            discount=discount,
            cap=200,
            tallies=SAMPLED,
            details={"grid": n, "places": places},
        )
    )


@dataclass(frozen=True, eq=False)
class StandardSite(CachedMenu):
    """The menu: moves, checks, sample; the move east from the east edge ends the episode."""

    size: int
    rocks: tuple[Cell, ...]

    def build(self, cell: Any) -> tuple[Action, ...]:
        moves = [self._move(name, cell) for name in MOVES]
        checks = [self._check(rock, cell) for rock in range(len(self.rocks))]
        return (*moves, *checks, self._sample(cell))

    def _move(self, name: str, cell: Cell) -> Action:
        target = moved(cell, MOVES[name], self.size)
        if target != cell:
            return move(name, target, 0.0, 2)
        if name == "east":
            return Action(name, np.full(2, 10.0), np.ones((2, 1)), ("done",), (END,))
        return move(name, cell, -ILLEGAL, 2)

    def _check(self, rock: int, cell: Cell) -> Action:
        accuracy = (1 + 2 ** (-euclidean(cell, self.rocks[rock]) / HALF_EFFICIENCY)) / 2
        likelihood = np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy]])
        return Action(f"check-{rock}", np.zeros(2), likelihood, ("bad", "good"), (cell, cell), rock)

    def _sample(self, cell: Cell) -> Action:
        if cell not in self.rocks:
            return move("sample", cell, -ILLEGAL, 2)
        turns_bad = np.tile([1.0, 0.0], (2, 1))
        rock = self.rocks.index(cell)
        return Action("sample", np.array([-10.0, 10.0]), np.ones((2, 1)), ("done",), (cell,), rock, turns_bad)
