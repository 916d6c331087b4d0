"""The frontier of one criterion against another: its exact corners, found by cutting it in two again and again.

All plans and their mixtures make a convex set in the plane of the two criteria. Of its lower left edge a corner is the
least of cost + price * axis for some prices, so the plan that is least at the slope between two known points lies on
the edge: either beyond the line between them, and is a new point with two lines to look at, or the line is the edge
(Aneja and Nair, 1979). Nothing is sampled, and the search ends by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from rhoplan.planning.tradeoffs.ground import Course, Criterion, Ground, weighed

SAME = 1e-12
"""Share of their size by which two numbers of plans must differ to count as different: some thousand roundings."""

MOST_CORNERS, MOST_WORK = 400, 10_000_000
"""Corners that are made at most, and situations that are planned for them, all together: some seconds."""


@dataclass(frozen=True, eq=False)
class Corner:
    """A plan that is least at every price of a unit of the axis from `low` to `high` (infinity at the last one)."""

    course: Course
    cost: float
    axis: float
    low: float
    high: float


def corners(
    ground: Ground, cost: Criterion, axis: Criterion, *, most: int = MOST_CORNERS
) -> tuple[tuple[Corner, ...], bool]:
    """The corners of `cost` against `axis`, the cheapest first, and whether these are all: at most `most` are made."""

    def point(criterion: Criterion) -> tuple[float, float, Course]:
        found = ground.best(criterion)
        return found.by(cost), found.by(axis), found

    first, last = point(cost), point(axis)
    waiting, found, complete = [(first, last)], [first, last], True
    most = min(most, max(10, MOST_WORK // ground.graph.size))
    while waiting:
        left, right = waiting.pop()
        if _same(left[1], right[1], last[1]) or _same(left[0], right[0], first[0]):
            continue
        if len(found) >= most:
            complete = False
            break
        price = (right[0] - left[0]) / (left[1] - right[1])
        fresh = point(weighed((cost, axis), (1.0, price)))
        line, size = left[0] + price * left[1], abs(left[0]) + price * abs(left[1])
        if fresh[0] + price * fresh[1] < line - 4 * SAME * size:
            found.append(fresh)
            waiting += [(left, fresh), (fresh, right)]
    return _edge(found), complete


def _same(one: float, other: float, size: float) -> bool:
    return abs(one - other) <= SAME * max(abs(one), abs(other), abs(size))


def _edge(points: list[tuple[float, float, Course]]) -> tuple[Corner, ...]:
    """The corners among `points`, without those that another one is as good as in both."""
    kept: list[tuple[float, float, Course]] = []
    for one in sorted(points, key=lambda point: (point[1], point[0])):  # from the least of the axis on
        if kept and (one[0] >= kept[-1][0] or _same(one[0], kept[-1][0], 0.0)):
            continue
        if kept and _same(one[1], kept[-1][1], 0.0):
            kept.pop()  # as much of the axis for less
        kept.append(one)
    kept.reverse()
    prices = [(right[0] - left[0]) / (left[1] - right[1]) for left, right in pairwise(kept)]
    ranges = zip([0.0, *prices], [*prices, math.inf], strict=True)
    return tuple(Corner(one[2], one[0], one[1], *pair) for one, pair in zip(kept, ranges, strict=True))
