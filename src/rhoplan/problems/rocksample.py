"""RockSample: a rover on a grid checks rocks from afar, samples the good ones and leaves. There are two variants.

Hidden: one factor per rock, bad or good. Observable: the cell. In the paper's variant every action costs, the exit is
anywhere, and a sampled rock is `spent`. In that of Smith and Simmons (2004) rewards are discounted, checks are free and
more accurate, the exit is the east edge, a sampled rock turns bad, and illegal actions (a move into a wall, sampling
where there is no rock) cost 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rhoplan.graph.ties import first_in_rows
from rhoplan.model.pomdp import END, POMDP, Action, Array, CachedMenu, Factor, Observable
from rhoplan.model.records import EventCount
from rhoplan.model.validate import checked
from rhoplan.problems.building import check_probabilities, plain, require, sensor
from rhoplan.problems.grid import MOVES, Cell, check_places, euclidean, moved, parse_places

Layouts: TypeAlias = dict[tuple[int, int], tuple[Cell, ...]]
"""Cells of the rocks, by grid size and number of rocks."""

PUBLISHED: Layouts = {
    (5, 3): ((1, 2), (3, 1), (2, 4)),
    (7, 4): ((2, 2), (4, 3), (1, 5), (5, 1)),
    (7, 8): ((1, 1), (1, 4), (2, 2), (2, 6), (4, 1), (4, 5), (5, 3), (6, 6)),
    (11, 11): ((0, 3), (1, 7), (2, 1), (2, 9), (4, 4), (4, 8), (5, 0), (6, 6), (8, 2), (8, 10), (10, 5)),
}
PUBLISHED_HORIZON = {(7, 4): 4, (11, 11): 2}
APPENDIX: Layouts = {(5, 3): ((2, 4), (4, 1), (3, 4)), (7, 4): ((4, 6), (1, 2), (2, 4), (6, 3))}
CLASSIC: Layouts = {(7, 8): ((0, 2), (1, 0), (1, 3), (3, 6), (4, 2), (4, 3), (5, 5), (6, 1))}
"""Those of the paper, those of its appendix for heuristic agents, and those of Smith and Simmons."""

HALF_EFFICIENCY = 20.0
"""Distance over which the certainty of a check halves."""

SAMPLED = {"good": EventCount(("sample",), ("good",)), "bad": EventCount(("sample",), ("bad",))}
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
    layouts: dict[str, Layouts] = {"published": PUBLISHED, "appendix": APPENDIX, "random": {}}
    require(layout in layouts, "layout", f"be one of {', '.join(layouts)}", f"'{layout}'")
    has_layout = bool(rocks) or layout != "appendix" or (n, k) in APPENDIX
    rule = f"be published or random for n={n}, k={k}: the appendix has layouts for n=5, k=3 and n=7, k=4"
    require(has_layout, "layout", rule, f"'{layout}'")
    places = rock_places(n, k, rocks, layouts[layout], seed)
    check_probabilities(prior=prior)
    site, belief = Site(n, places, cost, good, bad, exit), np.array([1 - prior, prior, 0.0])
    return checked(
        POMDP(
            name="rocksample",
            factors=tuple(Factor(f"rock-{i}", ("bad", "good", "spent"), belief) for i in range(k)),
            start=(n // 2, 0),
            menu=site,
            leaf=site.greedy_walk,
            horizon=PUBLISHED_HORIZON.get((n, k), 3),
            planner="exact" if places in PUBLISHED.values() else "anytime",
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
        step_cost = np.full(3, -self.cost)
        moves = [plain(name, step_cost, moved(cell, step, self.size)) for name, step in MOVES.items()]
        accuracies = [check_accuracy(euclidean(cell, place)) for place in self.rocks]
        checks = [
            sensor(f"check-{rock}", accuracy, self.cost, ("bad", "good"), cell, factor=rock, states=3)
            for rock, accuracy in enumerate(accuracies)
        ]
        sample = plain("sample", step_cost, cell)
        if cell in self.rocks:
            reward = np.array([self.bad, self.good, 0.0]) - self.cost
            sample = plain("sample", reward, cell, factor=self.rocks.index(cell), into=2)
        return (*moves, *checks, sample, plain("exit", self.exit + step_cost, END))

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


def rocksample_standard(
    *, n: int = 7, k: int = 8, rocks: str = "", seed: int = 0, prior: float = 0.5, discount: float = 0.95
) -> POMDP:
    """RockSample[n, k] of Smith and Simmons: free checks, discounted time, exit by the east edge."""
    places = rock_places(n, k, rocks, CLASSIC, seed)
    check_probabilities(prior=prior)
    require(0 < discount <= 1, "discount", "be above 0 and at most 1", f"{discount:g}", code="discount-range")
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
        free, illegal, actions = np.zeros(2), np.full(2, -100.0), []
        for name, step in MOVES.items():
            target = moved(cell, step, self.size)
            actions.append(plain(name, illegal if target == cell else free, target))
            if target == cell and name == "east":
                actions[-1] = plain(name, np.full(2, 10.0), END)
        for rock, place in enumerate(self.rocks):
            accuracy = (1 + 2 ** (-euclidean(cell, place) / HALF_EFFICIENCY)) / 2
            actions.append(sensor(f"check-{rock}", accuracy, 0.0, ("bad", "good"), cell, factor=rock))
        if cell not in self.rocks:
            return (*actions, plain("sample", illegal, cell))
        return (*actions, plain("sample", np.array([-10.0, 10.0]), cell, factor=self.rocks.index(cell), into=0))


def check_accuracy(distance: float) -> float:
    """Probability that a check is correct, in the paper's variant."""
    return float(np.clip(0.95 * 0.5 ** (distance / 4), 0.5, 0.95))


def rock_places(n: int, k: int, rocks: str, layouts: Layouts, seed: int) -> tuple[Cell, ...]:
    """The rocks' cells: as given, as in `layouts` for this size, or k different ones drawn from `seed`."""
    require(n >= 2, "n", "be at least 2", n)
    require(1 <= k <= n * n, "k", f"be between 1 and {n * n}, the cells of a {n} x {n} grid", k)
    require(seed >= 0, "seed", "be at least 0", seed)
    if not rocks and (n, k) in layouts:
        return layouts[(n, k)]
    drawn = np.random.default_rng(seed).choice(n * n, size=k, replace=False)
    places = parse_places(rocks, field="rocks") if rocks else tuple(divmod(cell, n) for cell in drawn.tolist())
    check_places(places, k, n, field="rocks")
    return places
