"""What it would be worth to know numbers better, per case: the expected value of perfect information.

    all numbers         EVPI      = E[ V(numbers) ] - V(means)
    some of them, x     EVPPI(x)  = E[ V(x, means of the others) ] - V(means)

V is the worth of the best plan. Followed along one number, V is the largest of straight lines, one per plan. The lines
are found as Eisner and Severance (1976) find them: where the lines of two plans cross either a third is better, or
there is a corner. Between corners the mean of a line under the number's distribution is known in closed form, so EVPPI
of one number is exact. Of several numbers at once it is the mean over draws of what the best plan gains on the one made
for the means, whose own mean is known: no draw inside a draw is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.random import SeedSequence, default_rng

from rhoplan.advice.uncertain.numbers import Unsure, drawn, versions
from rhoplan.advice.uncertain.weighing import SAME, Weighed, Weigher
from rhoplan.errors import LimitError
from rhoplan.model.pomdp import Array

Kind = Literal["exact", "estimated"]

BLOCK = 1000
"""Versions drawn at a time: the same come out of a seed, however many fit one graph."""

FURTHEST = 1e-12
"""Chance with which an amount may lie beyond what is looked at."""


@dataclass(frozen=True)
class Worth:
    """What knowing something would be worth per case; se: 0 where it is exact."""

    value: float
    kind: Kind
    se: float = 0.0
    samples: int | None = None


def sampled(weigher: Weigher, items: Sequence[Unsure], samples: int, seed: int) -> Weighed:
    """Versions with all of `items` drawn at random; LimitError where what was seen can happen in none of them."""
    generator, parts = default_rng(SeedSequence(seed)), []
    for start in range(0, samples, BLOCK):
        numbers = drawn(weigher.problem, items, generator, min(BLOCK, samples - start))
        parts.append(weigher.weigh(numbers))
    found = Weighed.joined(parts)
    if not found.chance.any():
        raise LimitError(
            f"what was seen can happen in none of {samples:,} versions of the numbers: draw more of them, or give the"
            " chances of these results narrower intervals"
        )
    return found


def estimated(gains: Array, chances: Array) -> Worth:
    """The mean of what was gained in each version, by the chance of what was seen there; both (K,), see `Weighed`."""
    mean, chance = float(gains.sum() / chances.sum()), float(chances.mean())
    spread = float((gains - mean * chances).std(ddof=1)) / chance if len(gains) > 1 else math.inf
    return Worth(mean, "estimated", spread / math.sqrt(len(gains)), len(gains))


def value_of(weigher: Weigher, items: Sequence[Unsure], samples: int, seed: int, *, linear: bool) -> Worth:
    """What knowing all of `items`, and nothing else, would be worth, the others as stated.

    linear: whether all uncertain numbers enter the worth of a plan once; then that is exact for one number.
    """
    if len(items) == 1 and items[0].is_single:
        return value_of_one(weigher, items[0], samples, seed, linear=linear)
    found = sampled(weigher, items, samples, seed)
    return estimated(found.gain, found.chance)


def value_of_one(weigher: Weigher, item: Unsure, samples: int, seed: int, *, linear: bool) -> Worth:
    """What knowing the one number that people speak of would be worth; of a row, the rest is what it is on average."""
    if linear:
        return Worth(_exact(weigher, item), "exact")
    values = item.one.draw(default_rng(SeedSequence(seed)), samples)
    found = weigher.weigh(versions(weigher.problem, [(item, item.at(values))], samples))
    return estimated(found.gain, found.chance)


@dataclass(frozen=True)
class Line:
    """A plan's worth along a number: at 0, and what is added per unit."""

    level: float
    slope: float

    def at(self, value: float) -> float:
        return self.level + self.slope * value

    def meets(self, other: Line) -> float:
        """Where both are worth the same."""
        apart = other.slope - self.slope
        return (self.level - other.level) / apart if apart else math.nan


def _exact(weigher: Weigher, item: Unsure) -> float:
    low, high = (0.0, 1.0) if item.quantity == "probability" else (0.0, item.one.quantile(1 - FURTHEST))
    ends = versions(weigher.problem, [(item, item.at(np.array([low, high])))], 2)

    def lines(values: Sequence[float]) -> list[Line]:
        """The lines of the plans that are best at `values`."""
        numbers = versions(weigher.problem, [(item, item.at(np.array(values)))], len(values))
        _, plans = weigher.plans(numbers)
        return [
            Line((a * high - b * low) / (high - low), (b - a) / (high - low))
            for a, b in weigher.compared(plans, len(values), ends).T.tolist()
        ]

    first, last = lines((low, high))
    (now,) = lines((item.one.mean,))
    corners = [(low, first), *_corners(lines, (low, first), (high, last)), (high, last)]
    corners += [(math.inf if item.quantity == "money" else high, last)]
    total = 0.0
    for (start, line), (end, _) in pairwise(corners):
        chance = item.one.below(end) - item.one.below(start) if end < math.inf else 1 - item.one.below(start)
        mean = (item.one.mean if end == math.inf else item.one.mean_below(end)) - item.one.mean_below(start)
        total += (line.level - now.level) * chance + (line.slope - now.slope) * mean
    return total if total > SAME * abs(now.at(item.one.mean)) else 0.0


def _corners(
    lines: Callable[[Sequence[float]], list[Line]], left: tuple[float, Line], right: tuple[float, Line]
) -> list[tuple[float, Line]]:
    """Where the best line changes between two places, and to which."""
    (low, first), (high, last) = left, right
    hair = SAME * max(abs(line.at(place)) for line in (first, last) for place in (low, high))
    if last.at(low) >= first.at(low) - hair:
        return [(low, last)]
    if first.at(high) >= last.at(high) - hair:
        return []
    place = first.meets(last)
    if not low < place < high:  # they meet at an end, but for rounding
        return [(low if place <= low else high, last)]
    (best,) = lines((place,))
    if best.at(place) <= first.at(place) + hair:
        return [(place, last)]
    return [*_corners(lines, left, (place, best)), *_corners(lines, (place, best), right)]
