"""Closing in on a change of action, and ruling out that a nearer one hides between the points looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rhoplan.errors import RhoplanError

FINEST = 0.005
"""Width of a gap, as a share of the whole distance, that is not halved any more."""


@dataclass(frozen=True)
class Answer:
    """The first action at a value of a parameter, and what actions are worth there.

    same: whether it is today's action. plain: their worth without information, where that is not convex.
    """

    value: float
    action: str
    same: bool
    worth: Mapping[str, float]
    plain: Mapping[str, float]

    def lead(self, now: str) -> float:
        """How much more `now` is worth than any other action; NaN where worths are not known."""
        if now not in self.worth:
            return -math.inf if self.worth else math.nan
        return self.worth[now] - max((v for name, v in self.worth.items() if name != now), default=-math.inf)


Ask = Callable[[float], Answer]


def closed_in(inside: Answer, outside: Answer, close: float, own: float, ask: Ask) -> tuple[Answer, Answer]:
    """Two answers next to each other between which the first action changes.

    Where the two leads tell how far away the change is, the guess that they give is tried first, with a hair's breadth
    on either side; the bracket is halved whenever that does not shrink it to a quarter. close: the width to reach, as a
    share of the value; own: the parameter's size, which says what counts as close around zero.
    """
    now = inside.action
    while True:
        width = abs(outside.value - inside.value)
        near = close * max(abs(inside.value), abs(outside.value), 1e-3 * own)
        if width <= near:
            return inside, outside
        tries = [(inside.value + outside.value) / 2]
        lead, behind = inside.lead(now), outside.lead(now)
        if lead > 0 > behind and math.isfinite(lead - behind):
            guess = inside.value + (outside.value - inside.value) * lead / (lead - behind)
            hair = math.copysign(0.4 * near, outside.value - inside.value)
            tries = [guess + hair, guess - hair, *tries]
        for value in tries:
            if abs(outside.value - inside.value) <= max(near, width / 4):
                break
            if min(inside.value, outside.value) < value < max(inside.value, outside.value):
                answer = ask(value)
                inside, outside = (answer, outside) if answer.same else (inside, answer)
        if abs(outside.value - inside.value) == width:
            return inside, outside


@dataclass(frozen=True)
class Ruler:
    """Rules out changes between points by convexity. now: today's action. slack: what chords may miss at most."""

    now: str
    slack: float

    def nearer(
        self, points: list[Answer], outside: Answer | None, halvings: int, ask: Ask
    ) -> tuple[Answer | None, bool, int]:
        """An answer nearer than `outside` at which the action is another one, if halving finds one.

        points: from the parameter's own value outward, all with today's action; grows, and is cut where one is found.
        Also whether all gaps were ruled out, and how many halvings are left.
        """
        while True:
            gaps = [place for place in range(len(points) - 1) if not self._closed(points, place, outside)]
            widest = max(gaps, key=lambda place: _width(points, place), default=None)
            if widest is None:
                return None, True, halvings
            fine = _width(points, widest) <= FINEST * abs(points[-1].value - points[0].value)
            if halvings == 0 or fine or math.isinf(self.slack):
                return None, False, halvings
            halvings -= 1
            try:
                middle = ask((points[widest].value + points[widest + 1].value) / 2)
            except RhoplanError:
                return None, False, halvings
            if not middle.same:
                del points[widest + 1 :]
                return middle, False, halvings
            points.insert(widest + 1, middle)

    def _closed(self, points: list[Answer], place: int, outside: Answer | None) -> bool:
        before = points[place - 1] if place else None
        after = points[place + 2] if place + 2 < len(points) else outside
        return self.rules_out(before, points[place], points[place + 1], after)

    def rules_out(self, before: Answer | None, left: Answer, right: Answer, after: Answer | None) -> bool:
        """Whether today's action certainly leads everywhere between `left` and `right`."""
        known = [point.plain.get(self.now) for point in (left, right)]
        if math.isinf(self.slack) or None in known:
            return False
        pairs = [(a, b) for a, b in ((before, left), (right, after)) if a is not None and b is not None]
        lines = [line for a, b in pairs if (line := _line(a, b, self.now)) is not None]
        names = (left.plain.keys() | right.plain.keys()) - {self.now}
        for name in names:
            chord = _line(left, right, name)
            if chord is None:
                return False
            gaps = [(offset - chord[0] - self.slack, slope - chord[1]) for offset, slope in lines]
            if not _above(gaps, left.value, right.value):
                return False
        return bool(lines)


def _width(points: list[Answer], place: int) -> float:
    return abs(points[place + 1].value - points[place].value)


def _line(one: Answer, other: Answer, name: str) -> tuple[float, float] | None:
    """Offset and slope of the line through an action's worth at two values."""
    if name not in one.plain or name not in other.plain or one.value == other.value:
        return None
    slope = (other.plain[name] - one.plain[name]) / (other.value - one.value)
    return one.plain[name] - slope * one.value, slope


def _above(lines: list[tuple[float, float]], start: float, end: float) -> bool:
    """Whether the higher of at most two lines is above 0 everywhere from `start` to `end`."""
    places = [start, end]
    if len(lines) == 2 and lines[0][1] != lines[1][1]:
        meet = (lines[1][0] - lines[0][0]) / (lines[0][1] - lines[1][1])
        places += [meet] if min(start, end) < meet < max(start, end) else []
    return all(max((offset + slope * place for offset, slope in lines), default=-1.0) > 0 for place in places)
