"""RockSample: a rover on a grid checks rocks from afar, samples the good ones and leaves.

Hidden: one factor per rock, bad or good, and `spent` once sampled. Visible: the cell. This is the paper's variant:
every action costs, and one may exit anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.graph.ties import first_in_rows
from rhoplan.model.pomdp import END, POMDP, Action, Array, CachedMenu, Factor, Observable
from rhoplan.model.tally import Tally
from rhoplan.model.validate import checked
from rhoplan.problems.classics import at_least, check_probabilities
from rhoplan.problems.grid import MOVES, Cell, check_places, euclidean, move, moved, parse_places

LAYOUTS: dict[tuple[int, int], tuple[tuple[Cell, ...], int]] = {
    (5, 3): (((1, 2), (3, 1), (2, 4)), 3),
    (7, 4): (((2, 2), (4, 3), (1, 5), (5, 1)), 4),
    (7, 8): (((1, 1), (1, 4), (2, 2), (2, 6), (4, 1), (4, 5), (5, 3), (6, 6)), 3),
    (11, 11): (
        ((0, 3), (1, 7), (2, 1), (2, 9), (4, 4), (4, 8), (5, 0), (6, 6), (8, 2), (8, 10), (10, 5)),
        2,
    ),
}
"""Published rocks and look-ahead depth, by grid size and number of rocks."""

APPENDIX_LAYOUTS: dict[tuple[int, int], tuple[Cell, ...]] = {
    (5, 3): ((2, 4), (4, 1), (3, 4)),
    (7, 4): ((4, 6), (1, 2), (2, 4), (6, 3)),
}
"""The other rocks that the paper's appendix uses for its heuristic agents."""


SAMPLED = {"good": Tally(("sample",), ("good",)), "bad": Tally(("sample",), ("bad",))}
"""What is counted in an episode: rocks sampled, good and bad."""


def rocksample(
    *,
    n: int = 5,
    k: int = 3,
    rocks: str = "",
    layout: str = "published",
    seed: int = 0,
    cost: float = 0.5,
    good: float = 10.0,
    bad: float = -10.0,
    exit: float = 10.0,
    prior: float = 0.5,
) -> POMDP:
    """The paper's RockSample[n, k]: check k rocks from afar, sample good ones, exit anywhere; every action costs."""
    places = rock_places(n, k, rocks, layout, seed)
    check_probabilities(prior=prior)
    site, belief = Site(n, places, cost, good, bad, exit), np.array([1 - prior, prior, 0.0])
    return checked(
        POMDP(
            name="rocksample",
            factors=tuple(Factor(f"rock-{i}", ("bad", "good", "spent"), belief) for i in range(k)),
            start=(n // 2, 0),
            menu=site,
            leaf=site.greedy_walk,
            horizon=LAYOUTS.get((n, k), ((), 3))[1],
            planner="exact" if places in [cells for cells, _ in LAYOUTS.values()] else "anytime",
            cap=n * n + 10 * k,
            tallies=SAMPLED,
            details={"grid": n, "places": places},
        )
    )


@dataclass(frozen=True, eq=False)
class Site(CachedMenu):
    """The menu and the leaf of the paper's variant."""

    size: int
    rocks: tuple[Cell, ...]
    cost: float
    good: float
    bad: float
    exit: float

    def build(self, cell: Any) -> tuple[Action, ...]:
        moves = [move(name, moved(cell, step, self.size), self.cost, 3) for name, step in MOVES.items()]
        checks = [self._check(rock, cell) for rock in range(len(self.rocks))]
        leave = Action("exit", np.full(3, self.exit - self.cost), np.ones((3, 1)), ("done",), (END,))
        return (*moves, *checks, self._sample(cell), leave)

    def _check(self, rock: int, cell: Cell) -> Action:
        accuracy = check_accuracy(euclidean(cell, self.rocks[rock]))
        likelihood = np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy], [0.5, 0.5]])  # spent: says nothing
        return Action(f"check-{rock}", np.full(3, -self.cost), likelihood, ("bad", "good"), (cell, cell), rock)

    def _sample(self, cell: Cell) -> Action:
        if cell not in self.rocks:
            return move("sample", cell, self.cost, 3)
        reward = np.array([self.bad, self.good, 0.0]) - self.cost
        spend = np.tile([0.0, 0.0, 1.0], (3, 1))
        return Action("sample", reward, np.ones((3, 1)), ("done",), (cell,), self.rocks.index(cell), spend)

    def greedy_walk(self, observables: Sequence[Observable], beliefs: tuple[Array, ...]) -> Array:
        """The published leaf: walk greedily to rocks worth sampling by expectation, then to the east edge and exit.

        (The walk to the edge is charged although the problem does not ask for it; the published agents do so.)
        """
        worth = np.stack([belief @ np.array([self.bad, self.good, 0.0]) for belief in beliefs], axis=1)
        left = worth > 0
        cells = np.stack(np.divmod(np.arange(self.size**2), self.size), axis=1)
        walk = self.cost * np.abs(cells[:, None, :] - np.array(self.rocks)).sum(axis=2)
        rocks, here = (np.array(places) @ [self.size, 1] for places in (self.rocks, observables))
        total, rows = np.zeros(len(worth)), np.arange(len(worth))
        for _ in self.rocks:
            scores = np.where(left, worth - walk[here], -np.inf)
            best = first_in_rows(scores, 2 * self.good)
            goes = left[rows, best]
            total += np.where(goes, scores[rows, best] - self.cost, 0.0)
            here = np.where(goes, rocks[best], here)
            left[rows, best] = False
        return total - self.cost * (self.size - 1 - here % self.size) + self.exit - self.cost


def check_accuracy(distance: float) -> float:
    """Probability that a check tells the truth, in the paper's variant."""
    return float(np.clip(0.95 * 0.5 ** (distance / 4), 0.5, 0.95))


def rock_places(n: int, k: int, rocks: str, layout: str, seed: int) -> tuple[Cell, ...]:
    """The rocks' cells: as given, as published for this size, or k different ones drawn from `seed`."""
    at_least("n", n, 2)
    at_least("k", k, 1)
    if k > n * n:
        raise ProblemError(f"k must be at most {n * n}, the cells of a {n} x {n} grid; it is {k}", field=("k",))
    tables = {"published": {size: places for size, (places, _) in LAYOUTS.items()}, "appendix": APPENDIX_LAYOUTS}
    if layout not in (*tables, "random"):
        raise ProblemError(f"layout must be published, appendix or random; it is '{layout}'", field=("layout",))
    if rocks:
        places = parse_places("rock", rocks, field="rocks")
        if len(places) != k:
            raise ProblemError(f"rocks must name k = {k} places; it names {len(places)}", field=("rocks",))
    elif layout != "random" and (n, k) in tables[layout]:
        places = tables[layout][(n, k)]
    elif layout == "appendix":
        raise ProblemError(
            f"the paper's appendix has no layout for n={n}, k={k}; it has n=5,k=3 and n=7,k=4", field=("layout",)
        )
    else:
        drawn = np.random.default_rng(seed).choice(n * n, size=k, replace=False)
        places = tuple((int(cell) // n, int(cell) % n) for cell in drawn)
    check_places("rock", places, n, field="rocks")
    return places
