"""Where choices change with the weight of information: exact for each belief, not sampled on a grid.

A plan of H actions is worth reward + w * information, a line in the weight w. An action is worth the best of the plans
that begin with it, so its value Q(w) is convex and made of lines. Between two weights a and b it therefore lies

    above its tangents at a and at b      (the lines of the plans that are best there)
    below its chord from a to b.

If the tangents of the choice stay above the chords of all other actions, the choice is the same throughout: a proof
that costs two evaluations. Where the proof fails the interval is cut, at the place where the tangents meet if both
ends choose alike (Eisner and Severance, 1976: a cut finds a kink of Q or a new line), else where the lines of the two
choices cross. The tie rule is part of the proof: its tolerance is taken as a line between two weights,
at most a few times what it is in between.

Shapes: n pairs of a node and a weight, A = 1 + M actions: ending first, then the slots of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, pairwise

import numpy as np
from numpy.typing import NDArray

from rhoplan.graph.graph import Graph
from rhoplan.graph.merging import grown
from rhoplan.graph.ties import hairs, ties
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.exact import Plan
from rhoplan.planning.utility import Information, most_information

NARROW = 5e-12
"""Width of an interval, as a share of the largest weight, below which a change that resists proof counts as found."""

NOISE = 0.01
"""Share of the tie tolerance by which a proof may fail: 1e-14 of the reward scale, room for some 50 roundings."""

MOST_CUTS = 60
"""Cuts where lines say a change should be; after so many in a row intervals are halved, which comes to an end for sure.
The tie tolerance depends on what the best plans gain, and jumps where these change."""

NEVER = -1e200
"""Value of an action that is not on the menu: below that of all others, and finite, so that chords are numbers."""

CHUNK_NUMBERS = 4_000_000


def lines(graph: Graph, nodes: Ids, weights: Array, horizon: int) -> tuple[Array, Array, Array]:
    """Value and slope (n, A) in the weight of ending and of each action that goes on, at `nodes` with `weights` (n,).

    The value is that of the best plan of `horizon` actions, the slope is that plan's expected information in nats; the
    third (n, A) are the gains among that plan's rewards, for the tie rule.
    """
    graph.expand(nodes)
    arcs = graph.next[nodes].astype(np.int64)
    goes_on = arcs >= 0
    later, later_slope, later_gains = np.where(goes_on, graph.stop_reward[arcs], 0.0), *np.zeros((2, *arcs.shape))
    if horizon == 1:
        ends, back = np.unique(arcs[goes_on], return_inverse=True)
        later_gains[goes_on] = graph.stop_gains(ends)[back]
    else:
        levels, place = np.unique(weights, return_inverse=True)
        pairs, back = np.unique((arcs * len(levels) + place[:, None, None])[goes_on], return_inverse=True)
        values, slopes, gained = lines(graph, pairs // len(levels), levels[pairs % len(levels)], horizon - 1)
        chosen = np.arange(len(pairs)), values.argmax(axis=1)
        for held, found in ((later, values), (later_slope, slopes), (later_gains, gained)):
            held[goes_on] = found[chosen][back]
    probability, information = graph.probability[nodes], graph.information[nodes]
    going = graph.reward[nodes] + weights[:, None] * information + (probability * later).sum(axis=-1)
    slope = information + (probability * later_slope).sum(axis=-1)
    values = np.concatenate([graph.stop_reward[nodes][:, None], np.maximum(going, NEVER)], axis=1)
    gains = np.maximum(graph.reward[nodes], 0.0) + (probability * later_gains).sum(axis=-1)
    return (
        values,
        np.concatenate([np.zeros((len(nodes), 1)), slope], axis=1),
        np.concatenate([graph.stop_gains(nodes)[:, None], gains], axis=1),
    )


class Chart:
    """The choices of planning `horizon` actions ahead at every weight (per nat) up to `high`; grows on demand.

    A node is worked out from the weight on at which it is first asked for, so one must ask from low weights to high.
    Not covered: discounts below 1 and utilities other than weight * information.
    """

    def __init__(self, graph: Graph, horizon: int, high: float) -> None:
        self.graph, self.horizon, self.high = graph, horizon, high
        self._asked = -np.inf
        self._row: Ids = np.empty(0, dtype=np.int64)
        self._rows = 0
        self._changes: Array = np.empty((0, 1))
        self._winners: Ids = np.empty((0, 2), dtype=np.int64)

    def choices(self, nodes: Ids, weight: float) -> Ids:
        """What to do (n,) just above `weight`: -1 to end, otherwise the slot of the action to take."""
        rows = self._known(nodes, weight)
        passed = (self._changes[rows] <= weight).sum(axis=1)
        result: Ids = self._winners[rows, passed] - 1
        return result

    def changes(self, nodes: Ids, weight: float) -> Array:
        """The weights above `weight`, in order, at which the choice at one of `nodes` changes."""
        found = self._changes[self._known(nodes, weight)]
        return np.unique(found[np.isfinite(found) & (found > weight)])

    def _known(self, nodes: Ids, weight: float) -> Ids:
        if weight < self._asked:
            raise ValueError(f"a chart must be asked from low weights to high; {weight:g} comes after {self._asked:g}")
        self._asked = weight
        self._row = grown(self._row, self.graph.size, -1)
        fresh = np.unique(nodes[self._row[nodes] < 0])
        step = max(1, CHUNK_NUMBERS // (self.graph.next[0].size ** min(self.horizon, 2) + 1))
        for start in range(0, len(fresh), step):
            self._work_out(fresh[start : start + step], weight)
        return self._row[nodes]

    def _work_out(self, nodes: Ids, low: float) -> None:
        """Cut [low, high] at each of `nodes` until every part has a proven choice, and keep the result."""
        ends = [self._measure(nodes, np.full(len(nodes), knot)) for knot in (low, self.high)]
        least = NARROW * self.high
        cells = _joined([_Cells(nodes, *pair, least) for pair in pairwise(ends)])
        settled: list[tuple[Ids, Array, Ids]] = []
        for cuts in count():
            if not len(cells.node):
                break
            winner = np.where(_proven(cells, cells.right.winner), cells.right.winner, -1)
            winner = np.where(
                _proven(cells, cells.left.winner) | cells.narrow & (winner < 0), cells.left.winner, winner
            )
            done = winner >= 0
            settled.append((cells.node[done], cells.left.weight[done], winner[done]))
            cells = cells.at(~done)
            middle = self._measure(cells.node, _cut(cells) if cuts < MOST_CUTS else cells.middle)
            sides = (cells.left, middle), (middle, cells.right)
            cells = _joined([_Cells(cells.node, *side, least) for side in sides])
        self._keep(nodes, *(np.concatenate(parts) for parts in zip(*settled, strict=True)))

    def _measure(self, nodes: Ids, weights: Array) -> _Ends:
        values, slopes, gains = lines(self.graph, nodes, weights, self.horizon)
        gains += (weights * most_information(self.graph, nodes))[:, None]
        return _Ends(weights, values, slopes, hairs(values, gains), ties(values, gains).argmax(axis=1))

    def _keep(self, nodes: Ids, owners: Ids, starts: Array, winners: Ids) -> None:
        """Turn parts (owner, start, winner) into one row per node: where its choice changes, and to what."""
        order = np.lexsort((starts, owners))
        owners, starts, winners = owners[order], starts[order], winners[order]
        first = np.diff(owners, prepend=-1) != 0
        turns = first | (np.diff(winners, prepend=-1) != 0)
        owners, starts, winners, first = owners[turns], starts[turns], winners[turns], first[turns]
        place = np.arange(len(owners)) - np.flatnonzero(first)[np.cumsum(first) - 1]
        self._row[nodes] = self._rows + np.arange(len(nodes))
        rows = self._row[owners]
        self._rows += len(nodes)
        extra = max(int(place.max()) - self._changes.shape[1], 0)
        self._changes = np.pad(grown(self._changes, self._rows, np.inf), ((0, 0), (0, extra)), constant_values=np.inf)
        self._winners = np.pad(grown(self._winners, self._rows, 0), ((0, 0), (0, extra)))
        self._changes[rows[~first], place[~first] - 1] = starts[~first]
        self._winners[rows, place] = winners


class ChartedPlan(Plan):
    """The plan for weights just above `weight` (per nat), its choices read off a chart."""

    def __init__(self, chart: Chart, weight: float) -> None:
        super().__init__(chart.graph, Information(weight))
        self.chart, self.weight = chart, weight

    def choices(self, nodes: Ids, horizon: int) -> Ids:
        assert horizon == self.chart.horizon
        return self.chart.choices(nodes, self.weight)


@dataclass(frozen=True)
class _Ends:
    """What is known at one end of each interval: values, slopes, tie tolerances (n, A), and the choice (n,)."""

    weight: Array
    values: Array
    slopes: Array
    tie: Array
    winner: Ids

    def at(self, chosen: NDArray[np.bool_]) -> _Ends:
        return _Ends(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def of(self, action: Ids) -> tuple[Array, Array]:
        """Value and slope (n,) of one action per interval."""
        rows = np.arange(len(action))
        return self.values[rows, action], self.slopes[rows, action]

    def tie_of(self, action: Ids) -> Array:
        """How far (n,) below the best one action per interval still ties with it."""
        return self.tie[np.arange(len(action)), action]


@dataclass(frozen=True)
class _Cells:
    """Intervals of the weight, one node each; those at most `least` wide are not cut again."""

    node: Ids
    left: _Ends
    right: _Ends
    least: float

    @property
    def narrow(self) -> NDArray[np.bool_]:
        result: NDArray[np.bool_] = self.right.weight - self.left.weight <= self.least
        return result

    @property
    def middle(self) -> Array:
        return self.left.weight + (self.right.weight - self.left.weight) / 2

    def at(self, chosen: NDArray[np.bool_]) -> _Cells:
        return _Cells(self.node[chosen], self.left.at(chosen), self.right.at(chosen), self.least)

    def meeting(self, left: tuple[Array, Array], right: tuple[Array, Array]) -> tuple[Array, Array]:
        """Where (n,) the tangents of a convex function at both ends meet, and their value (n,) there."""
        start, width = self.left.weight, self.right.weight - self.left.weight
        (value, slope), (end_value, end_slope) = left, right
        bend = end_slope - slope
        way = np.divide(value + end_slope * width - end_value, bend, out=np.zeros_like(bend), where=bend > 0)
        way = np.clip(way, 0.0, width)
        return start + way, np.maximum(value + slope * way, end_value - end_slope * (width - way))


def _best(values: Array, slopes: Array) -> tuple[Array, Array]:
    """The best value (n,) and the slope (n,) of an action that reaches it."""
    rows, best = np.arange(len(values)), values.argmax(axis=1)
    return values[rows, best], slopes[rows, best]


def _joined(parts: list[_Cells]) -> _Cells:
    def ends(side: str) -> _Ends:
        fields = _Ends.__dataclass_fields__
        return _Ends(*(np.concatenate([getattr(getattr(part, side), name) for part in parts]) for name in fields))

    return _Cells(np.concatenate([part.node for part in parts]), ends("left"), ends("right"), parts[0].least)


def _proven(cells: _Cells, winner: Ids) -> NDArray[np.bool_]:
    """Whether (n,) `winner` is proven to be the choice throughout each interval."""
    return _shortfall(cells, winner)[0] <= 0


def _shortfall(cells: _Cells, winner: Ids) -> tuple[Array, Array]:
    """By how much (n,) the proof that `winner` is the choice fails, and where (n,) to cut for a better one.

    The choice must be within the tie tolerance of every action, and every action listed before it must be beaten by
    the best one by more than that.
    """
    left, right = cells.left, cells.right
    columns = np.arange(left.values.shape[1])
    others, earlier = columns != winner[:, None], columns < winner[:, None]
    chosen = left.of(winner), right.of(winner)
    best = _best(left.values, left.slopes), _best(right.values, right.slopes)
    # As far as the choice may lie below others, and as far as those listed before it must lie below the best.
    allowed = [np.repeat(end.tie_of(winner)[:, None], len(columns), axis=1) for end in (left, right)]
    lack, cut = np.full(len(winner), -np.inf), left.weight
    for (start, end), rivals, sign, (tie, end_tie) in (
        (chosen, others, 1.0, allowed),
        (best, earlier, -1.0, (left.tie, right.tie)),
    ):
        where, low = cells.meeting(start, end)
        share = ((where - left.weight) / (right.weight - left.weight))[:, None]
        chord = (1 - share) * left.values + share * right.values
        for values, floor, slack in (
            (left.values, start[0], tie),
            (right.values, end[0], end_tie),
            (chord, low, (1 - share) * tie + share * end_tie),
        ):
            missing = np.where(rivals, values - (sign + NOISE) * slack, NEVER).max(axis=1) - floor
            cut = np.where(missing > lack, where, cut)
            lack = np.maximum(lack, missing)
    return lack, cut


def _cut(cells: _Cells) -> Array:
    """Where (n,) to cut each interval: where tangents meet if both ends choose alike, else where two lines cross."""
    left, right = cells.left, cells.right
    width = right.weight - left.weight
    sign, first = np.where(right.winner > left.winner, 1.0, -1.0), np.minimum(left.winner, right.winner)
    drift = (right.tie_of(first) - left.tie_of(first)) / np.maximum(width, cells.least)
    crossings = []
    for end in (left, right):
        (old, old_slope), (new, new_slope) = end.of(left.winner), end.of(right.winner)
        speed = new_slope - old_slope - sign * drift
        ahead = old - new + sign * end.tie_of(first)
        crossings.append(end.weight + np.divide(ahead, speed, out=np.full(len(ahead), np.inf), where=speed != 0))
    inside = [(left.weight < place) & (place < right.weight) for place in crossings]
    crossing = np.where(inside[0], crossings[0], crossings[1])
    cut = np.where(left.winner == right.winner, _shortfall(cells, left.winner)[1], crossing)
    return np.where((left.weight < cut) & (cut < right.weight), cut, cells.middle)
