"""Navigation: find a hidden goal on a grid by walking; each step that does not find it feels warm or cold.

Hidden: the goal's cell. Observable: the agent's cell. Every move is also a test; entering the goal ends the episode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rhoplan.model.pomdp import END, POMDP, Action, CachedMenu, Factor
from rhoplan.model.records import EventCount
from rhoplan.model.validate import checked
from rhoplan.problems.building import require
from rhoplan.problems.grid import MOVES, Cell, manhattan, moved


def navigation(*, n: int = 3, cost: float = 0.5, goal: float = 20.0) -> POMDP:
    """A goal hidden in one of n x n cells; each move costs, and shows warm or cold by the distance that is left."""
    require(n >= 2, "n", "be at least 2", n)
    cells = tuple(f"r{row}c{column}" for row in range(n) for column in range(n))
    return checked(
        POMDP(
            name="navigation",
            factors=(Factor("goal", cells, np.full(n * n, 1 / (n * n))),),
            start=(0, 0),
            menu=Field(n, cost, goal),
            horizon=2,
            cap=3 * n * n,
            tallies={"success": EventCount(outcomes=("found",))},
            details={"grid": n},
        )
    )


@dataclass(frozen=True, eq=False)
class Field(CachedMenu):
    """The menu: four moves from each cell, each with the outcomes found, warm and cold."""

    size: int
    cost: float
    goal: float

    def build(self, cell: Any) -> tuple[Action, ...]:
        return tuple(self._move(name, cell) for name in MOVES)

    def _move(self, name: str, cell: Cell) -> Action:
        """A move into a wall enters no cell: a goal in the agent's cell must be left and entered again."""
        target = moved(cell, MOVES[name], self.size)
        places = [divmod(place, self.size) for place in range(self.size**2)]
        found = np.array([place == target != cell for place in places])
        apart = np.array([manhattan(target, place) for place in places])
        warm = 0.55 + 0.35 * (1 - apart / (2 * (self.size - 1)))
        likelihood = np.stack([found, np.where(found, 0.0, warm), np.where(found, 0.0, 1 - warm)], axis=1).astype(float)
        reward = np.where(found, self.goal, -self.cost)
        return Action(name, reward, likelihood, ("found", "warm", "cold"), (END, target, target))
