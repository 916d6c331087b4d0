"""The cheapest plan without chance that keeps several bounds: what can be had at each situation, kept by what it lacks.

Every plan is measured at the prices that the best mixture puts on the bounds. By these, the backup knows how far each
choice falls short of the best, and a plan falls short by what its choices do, each times the share of cases that come
to it. A plan that keeps the bounds costs at least the mixture's value plus its shortfall. So whoever has listed all
plans that fall short by no more than some room, and found one that keeps the bounds and costs no more than the value
plus that room, has the cheapest. Of the plans from a situation on those are dropped that another is as good as in
everything. The room grows until that is proven, or there are too many. Then of plans that
come to nearly the same one is kept, and the best of these is told.

A plan does one thing in one situation, however a case came there. Where lists mix two for it, the next best is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rhoplan.following.flow import Chosen
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.tradeoffs.corners import SAME
from rhoplan.planning.tradeoffs.ground import Course, Criterion, Ground, LeastPlan, weighed
from rhoplan.planning.tradeoffs.mixing import Bound, Mix

MOST_PAIRS = 2_000_000
"""Sums of plans that are looked at: a second or two."""

VISIT = 350
"""Sums of plans that take as long as listing what can be done in a situation."""

GRAINS = (0.01, 0.04, 0.15)
"""Parts of a bound within which plans count as nearly the same, where there are too many to list."""

FEW = 32
"""Rows by which most others are seen off at once."""

MOST_LISTED = 3000
"""Plans from one situation on that none is as good as in everything."""


EQUAL = 1e-14
"""Share of their size by which sums that are the same may differ by rounding."""


@dataclass(frozen=True, eq=False)
class Certain:
    """A plan without chance and what it costs, None and infinity where none was found. lower: no plan without chance
    that keeps the bounds costs less. proven: whether it is the cheapest, or it is sure that none keeps them."""

    course: Course | None
    value: float
    lower: float
    proven: bool


def without_chance(
    ground: Ground,
    cost: Criterion,
    bounds: Sequence[Bound],
    mix: Mix,
    known: Sequence[Course],
    *,
    pairs: int = MOST_PAIRS,
) -> Certain:
    """The cheapest plan without chance that keeps `bounds`, as far as it is found with so many `pairs`.

    mix: the best mixture. known: plans that may keep them.
    """
    pool = [*mix.courses, *known]
    keeping = [course for course in pool if all(bound.keeps(course) for bound in bounds)]
    best = min(keeping, key=lambda course: course.by(cost), default=None)
    lower = floor = mix.value - mix.gap
    search = _Search(ground, cost, bounds, mix, pairs)
    hair = 8 * SAME * (search.worst + abs(floor))
    room = 1e-5 * search.worst + hair
    while (value := _worth(best, cost)) > lower + hair:
        room = min(room, value - floor + hair)
        try:
            plans = search.listed(room)
        except (_TooManyError, RecursionError):
            best = _coarse(search, room, floor, best)
            break
        best = search.first(plans, value) or best
        value = _worth(best, cost)
        lower = max(lower, min(plans[0][0] if plans else math.inf, floor + room))
        if room >= min(search.worst, value - floor) + hair:
            lower = plans[0][0] if plans else value  # nothing else is left
            break
        room *= 4
    value = _worth(best, cost)
    return Certain(best, value, lower, value <= lower + hair)


def _worth(course: Course | None, cost: Criterion) -> float:
    return math.inf if course is None else course.by(cost)


def _coarse(search: _Search, room: float, floor: float, best: Course | None) -> Course | None:
    """The cheapest plan found where of plans that come to nearly the same one is kept; `best` where that is cheaper."""
    for grain in GRAINS:
        coarse = search.with_grain(grain)
        value = _worth(best, search.criteria[0])
        with suppress(_TooManyError, RecursionError):
            while True:
                best = coarse.first(coarse.listed(min(room, value - floor)), value) or best
                value = _worth(best, search.criteria[0])
                if room >= min(search.worst, value - floor):
                    return best
                room *= 4
    return best


class _TooManyError(Exception):
    """More than can be looked at."""


Back = tuple[int, tuple[tuple[int, "Back"], ...]]
"""What is done, a slot or -1 - commit, and the plan at each node that follows."""


@dataclass(frozen=True, eq=False)
class _Plans:
    """Plans from a node on: cost and what each bound counts (n, 1 + k), how far they fall short (n,), what they do."""

    room: float
    parts: Array
    short: Array
    back: list[Back]


class _Search:
    """Plans on `ground` by what they cost and count, those that fall short by little.

    grain: part of each bound within which plans come to nearly the same, and one of them is kept; 0 to keep all.
    """

    def __init__(
        self,
        ground: Ground,
        cost: Criterion,
        bounds: Sequence[Bound],
        mix: Mix,
        pairs: int,
        grain: float = 0.0,
    ) -> None:
        self.ground, self.graph, self.mix, self.most, self.pairs = ground, ground.graph, mix, pairs, pairs
        self.grain = grain * np.array([max(bound.most, 1e3 * bound.hair) for bound in bounds])
        self._whole = math.inf
        self.bounds, self.criteria = bounds, [cost, *(bound.criterion for bound in bounds)]
        self.plan = LeastPlan(ground, weighed(self.criteria, [1.0, *mix.prices]))
        self.spend: Array = np.array([one.spend for one in self.criteria])
        self.worst = ground.most(self.plan.criterion)  # no plan falls short by more
        self._kept: dict[int, _Plans] = {}

    def listed(self, room: float) -> list[tuple[float, Back]]:
        """Plans that fall short by at most `room` and keep the bounds, the cheapest first, with what they cost."""
        self._whole = room
        if self.grain.any():
            self._kept.clear()
        plans = self._at(self.graph.root, room)
        limits = np.array([bound.most + bound.hair for bound in self.bounds])
        sound = np.flatnonzero((plans.parts[:, 1:] <= limits * (1 + SAME)).all(axis=1))
        order = sound[np.argsort(plans.parts[sound, 0], kind="stable")]
        return [(float(plans.parts[place, 0]), plans.back[place]) for place in order.tolist()]

    def with_grain(self, grain: float) -> _Search:
        """The same search, coarser."""
        return _Search(self.ground, self.criteria[0], self.bounds, self.mix, self.most // 2, grain)

    def first(self, plans: list[tuple[float, Back]], value: float) -> Course | None:
        """The first of `plans` that can be followed, where it costs less than `value`."""
        for paid, plan in plans:
            if paid >= value:
                return None
            course = self.course(plan)
            if course is not None and all(bound.keeps(course) for bound in self.bounds):
                return course
        return None

    def _at(self, node: int, room: float) -> _Plans:
        if node in self._kept and self._kept[node].room >= room:
            return self._kept[node]
        if node in self._kept:  # asked again from where fewer cases come: more than is asked for, so not often
            room = max(room, 2 * self._kept[node].room)
        self.pairs -= VISIT
        if self.pairs < 0:
            raise _TooManyError
        here, graph = np.array([node]), self.graph
        left = int(self.ground.left[node])
        commits, belief = self.plan.commits(here)[0], graph.beliefs(here)[0]
        going: Array = self.plan.action_values(here, left)[1][0] if left else np.empty(0)
        best = max(commits.max(), going.max(initial=-np.inf))
        found: list[tuple[Array, Array, list[Back]]] = []
        ends = [place for place in range(len(commits)) if best - commits[place] <= room]
        if ends:
            parts = np.stack([[belief @ one.ends[place] for one in self.criteria] for place in ends])
            found.append((parts, best - commits[ends], [(-1 - place, ()) for place in ends]))
        for slot in np.flatnonzero(np.isfinite(going)).tolist():
            if best - going[slot] <= room:
                found.append(self._after(node, slot, float(best - going[slot]), room))
        parts, short = (np.concatenate([one[place] for one in found]) for place in (0, 1))
        back = [one for _, _, some in found for one in some]
        kept = self._few(parts, short, room)
        self._kept[node] = _Plans(room, parts[kept], short[kept], [back[place] for place in kept.tolist()])
        return self._kept[node]

    def _after(self, node: int, slot: int, short: float, room: float) -> tuple[Array, Array, list[Back]]:
        """Plans that begin with a test: every combination of plans for its outcomes."""
        parts, lacks = -self.graph.reward[node, slot] * self.spend[None, :], np.array([short])
        ways: list[tuple[int, Ids, _Plans]] = []
        for chance, after in zip(self.graph.probability[node, slot], self.graph.next[node, slot], strict=True):
            if after < 0 or chance <= 0:
                continue
            below = self._at(int(after), (room - short) / chance)
            self.pairs -= len(parts) * len(below.parts)
            if self.pairs < 0:
                raise _TooManyError
            both = (lacks[:, None] + chance * below.short).ravel()
            inside = np.flatnonzero(both <= room)
            sums = (parts[:, None] + chance * below.parts).reshape(len(both), -1)[inside]
            kept = inside[self._few(sums, both[inside], room)]
            first, second = kept // len(below.parts), kept % len(below.parts)
            parts, lacks = parts[first] + chance * below.parts[second], both[kept]
            ways = [(to, places[first], plans) for to, places, plans in ways] + [(int(after), second, below)]
        back = [(slot, tuple((to, plans.back[places[row]]) for to, places, plans in ways)) for row in range(len(parts))]
        return parts, lacks, back

    def _few(self, parts: Array, short: Array, room: float) -> Ids:
        """Places of the plans to keep at a situation with `room`: the fewer cases come to it, the more there is."""
        if not self.grain.any():
            return _undominated(parts)
        cells = np.floor(parts[:, 1:] / (self.grain * (room / self._whole)))
        order = np.argsort(short, kind="stable")
        _, first = np.unique(cells[order], axis=0, return_index=True)
        places: Ids = order[first]
        return places[_undominated(parts[places])]

    def course(self, plan: Back) -> Course | None:
        """`plan` followed; None where it would do two things in one situation."""
        choice, ending = np.full((2, self.graph.size), -1)
        done: dict[int, int] = {}
        waiting = [(self.graph.root, plan)]
        while waiting:
            node, (what, after) = waiting.pop()
            if done.setdefault(node, what) != what:
                return None
            choice[node], ending[node] = max(what, -1), max(-1 - what, -1)
            waiting += after
        return self.ground.followed(Chosen(self.graph, choice, ending))


def _undominated(parts: Array) -> Ids:
    """Places of the rows of parts (n, k) that no other is as good as everywhere; of equal ones the first."""
    order: Ids = np.lexsort(parts.T[::-1])
    if parts.shape[1] == 2:  # in the order of one, the other must fall
        other = parts[order, 1]
        least = np.minimum.accumulate(np.append(np.inf, other[:-1]))
        falling: Ids = order[other < least - EQUAL * np.abs(other)]
        return falling
    if len(order) > FEW:  # the best in sum see most of the others off
        size = np.abs(parts).max(axis=0) + 1e-300
        strong = order[np.argsort((parts[order] / size).sum(axis=1), kind="stable")[:FEW]]
        beaten = np.zeros(len(parts), dtype=bool)
        for place in strong.tolist():
            worse = (parts >= parts[place] - EQUAL * np.abs(parts[place])).all(axis=1)
            worse[place] = beaten[place]
            beaten |= worse if not beaten[place] else False
        order = order[~beaten[order]]
    if len(order) > 8 * MOST_LISTED:
        raise _TooManyError
    kept: list[int] = []
    held = np.empty((min(len(order), MOST_LISTED) + 1, parts.shape[1]))
    for place in order.tolist():
        row = parts[place]
        if not (held[: len(kept)] <= row + EQUAL * np.abs(row)).all(axis=1).any():
            if len(kept) >= MOST_LISTED:
                raise _TooManyError
            held[len(kept)] = row
            kept.append(place)
    return np.array(kept, dtype=np.int64)
