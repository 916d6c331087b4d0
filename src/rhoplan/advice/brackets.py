"""Where the first action changes as one number moves: which values to look at next, and what is certain by then.

A search is told answers and says which values it wants to know about; whoever runs it may ask for many searches at
once. It looks further and further away either way until it meets a change, closes in on it, and last it rules out that
a nearer one hides between the values looked at. That follows from convexity: below the chord between two values,
above the line through two neighbours beyond them. Where this leaves a gap open, it is divided.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from rhoplan.model.pomdp import Array

CLOSE = 1e-6
"""Distance between the two sides of a change, as a share of its value; nothing is looked for in narrower gaps."""

ROUNDING = 1e-9
"""Differences below this share of the two worths compared are rounding: plans that swap tests are worth the same."""

MOST_DIVISIONS = 200
"""Values looked at per parameter to rule out nearer changes."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The first action at a value of a parameter.

    same: whether it is today's. worth (A,): what actions are worth there, today's first, up to a positive factor and a
    term that all have in common: convex in the value, or empty where it is not. allowed: how many plans are within the
    budget; between values that allow the same plans worth is convex, elsewhere it only falls.
    """

    value: float
    action: str
    same: bool
    worth: Array
    allowed: int = 0

    @property
    def lead(self) -> float:
        """By how much today's action is worth more than any other; NaN where that is not known."""
        if not self.worth.size:
            return math.nan
        return float(self.worth[0] - self.worth[1:].max(initial=-math.inf))


Gap: TypeAlias = tuple[Answer | None, Answer, Answer, Answer | None]
Search: TypeAlias = Generator[list[float], Mapping[float, Answer | None], None]


class Line:
    """What is known along the range of one parameter, and the search for the nearest changes.

    down, up: values to look at on the way from the parameter's own to the ends of its range.
    """

    def __init__(self, own: float, down: list[float], up: list[float], *, is_convex: bool) -> None:
        self.own, self.is_convex = own, is_convex
        self.steps = {-1: down, 1: up}
        self.known: dict[float, Answer] = {}
        self._asked: set[float] = set()
        self._ruled_out: dict[tuple[float | None, ...], bool] = {}

    def search(self) -> Search:
        """Yields values to ask for, and is sent what was found there; None where the question makes no sense."""
        left = MOST_DIVISIONS
        asked = [self.own, *(steps[0] for steps in self.steps.values() if steps)]
        while asked:
            self._asked |= set(asked)
            found = yield asked
            self.known |= {value: answer for value, answer in found.items() if answer is not None}
            if self.own not in self.known:
                return
            # Today's action is today's, whichever way rounding lets a tie fall.
            self.known[self.own] = replace(self.known[self.own], same=True)
            asked = [value for side in (-1, 1) for value in self._further(side)]
            if not asked and self.is_convex and all(map(self.is_closed, (-1, 1))):
                asked = self._dividers()[:left]
                left -= len(asked)

    def is_closed(self, side: int) -> bool:
        """Whether the search has come to an end that way: next to a change, or without one at the end of the range."""
        if self.own not in self.known:
            return False
        outside = self.outside(side)
        if outside is None:
            return all(value in self._asked for value in self.steps[side])
        inside = self.inside(side)[-1]
        return abs(outside.value - inside.value) <= self._near(inside, outside)

    def _further(self, side: int) -> list[float]:
        """Values to look at next that way: towards a change that was met, else one step further away."""
        if self.outside(side) is not None:
            return [value for value in self._closer(side) if value not in self._asked]
        return next(([value] for value in self.steps[side] if value not in self._asked), [])

    def inside(self, side: int) -> list[Answer]:
        """Answers with today's action, from the parameter's own value outward until the first change."""
        found = []
        for value in sorted((v for v in self.known if (v - self.own) * side >= 0), key=lambda v: abs(v - self.own)):
            if not self.known[value].same:
                break
            found.append(self.known[value])
        return found

    def outside(self, side: int) -> Answer | None:
        """The nearest answer with another action."""
        found = [a for v, a in self.known.items() if (v - self.own) * side > 0 and not a.same]
        return min(found, key=lambda answer: abs(answer.value - self.own), default=None)

    def _closer(self, side: int) -> list[float]:
        """Values between the two sides of a change; none where they are next to each other."""
        outside = self.outside(side)
        if outside is None:
            return []
        inside = self.inside(side)[-1]
        near = self._near(inside, outside)
        if abs(outside.value - inside.value) <= near:
            return []
        tries = [(inside.value + outside.value) / 2]
        lead, behind = inside.lead, outside.lead
        if lead > 0 > behind and math.isfinite(lead - behind):  # a guess, with a hair's breadth on either side
            guess = inside.value + (outside.value - inside.value) * lead / (lead - behind)
            tries += [guess - 0.4 * near, guess + 0.4 * near]
        low, high = sorted((inside.value, outside.value))
        return [value for value in tries if low < value < high]

    def is_nearest(self, side: int) -> bool:
        """Whether it is certain that no other action becomes better, and worse again, before the first change."""
        return self.is_convex and not self._gaps(side)

    def _dividers(self) -> list[float]:
        """Values within gaps, those of the widest first: the middle, and where a bend of today's worth would be."""
        gaps = sorted(
            (gap for side in (-1, 1) for gap in self._gaps(side)), key=lambda gap: -abs(gap[1].value - gap[2].value)
        )
        found = []
        for before, left, right, after in gaps:
            found.append((left.value + right.value) / 2)
            lines = [_line(one, other) for one, other in ((before, left), (right, after))]
            if lines[0] and lines[1] and lines[0][1] != lines[1][1]:
                bend = (lines[1][0] - lines[0][0]) / (lines[0][1] - lines[1][1])
                found += [bend] if min(left.value, right.value) < bend < max(left.value, right.value) else []
        return [value for value in dict.fromkeys(found) if value not in self.known]

    def _gaps(self, side: int) -> list[Gap]:
        """Neighbours between which nothing rules out another action, each with the neighbours around them."""
        inside, outside = self.inside(side), self.outside(side)
        behind = next(iter(self.inside(-side)[1:]), self.outside(-side))
        gaps = zip([behind, *inside], inside, inside[1:], [*inside[2:], outside], strict=False)
        return [g for g in gaps if abs(g[1].value - g[2].value) > self._near(g[1], g[2]) and not self._rules_out(g)]

    def _rules_out(self, gap: Gap) -> bool:
        key = tuple(None if answer is None else answer.value for answer in gap)
        if key not in self._ruled_out:
            self._ruled_out[key] = _rules_out(*gap)
        return self._ruled_out[key]

    def _near(self, one: Answer, other: Answer) -> float:
        """What counts as next to each other; around zero the parameter's own size says so."""
        return CLOSE * max(abs(one.value), abs(other.value), 1e-3 * abs(self.own))


def _rules_out(before: Answer | None, left: Answer, right: Answer, after: Answer | None) -> bool:
    """Whether between `left` and `right` certainly no other action is worth more than today's, but for rounding."""
    if not left.worth.size or not right.worth.size:
        return False
    ends = np.stack([left.worth, right.worth], axis=1)
    sizes = np.abs(np.where(np.isfinite(ends), ends, 0.0)).max(axis=1)
    slack = ROUNDING * np.maximum(sizes[0], sizes[1:])
    if left.allowed != right.allowed:
        low, high = sorted((left, right), key=lambda answer: answer.value)
        return bool((high.worth[0] + slack >= low.worth[1:]).all())
    # Heights over the gap at its left and right end: chords of the other actions, lines of today's.
    rivals = np.isfinite(ends[1:]).any(axis=1)  # what the budget bars is no rival
    chords = ends[1:][rivals] - slack[rivals][:, None]
    width, lines = right.value - left.value, []
    for one, other in ((before, left), (right, after)):
        if line := _line(one, other):
            start = left.worth[0] if other is left else right.worth[0] - line[1] * width
            lines.append((start, start + line[1] * width))
    above = np.array([*lines, (-math.inf, -math.inf)])[:, None, :] - chords
    if len(lines) < 2:
        return bool((above[0] >= 0).all())
    # Of two lines the higher is lowest where they meet, if that is in between.
    apart = above[0] - above[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = apart[:, 0] / (apart[:, 0] - apart[:, 1])
    share = np.where((share > 0) & (share < 1), share, 0.0)[:, None]
    meets = above[:2, :, :1] * (1 - share) + above[:2, :, 1:] * share
    return bool((np.concatenate([above[:2], meets], axis=2).max(axis=0) >= 0).all())


def _line(one: Answer | None, other: Answer | None) -> tuple[float, float] | None:
    """Offset and slope of the line through the worth of today's action at two values, where that means something."""
    if one is None or other is None or not one.worth.size or not other.worth.size:
        return None
    if one.allowed != other.allowed or one.value == other.value:
        return None
    slope = float(other.worth[0] - one.worth[0]) / (other.value - one.value)
    return float(one.worth[0]) - slope * one.value, slope
