"""Parametric look-ahead: the receding-horizon policy at every weight of information at once.

A plan is worth reward + w * information, a line in the weight w. So the value of a node is the upper envelope of the
lines of all plans, convex and piecewise linear in w. Envelopes are computed by backward induction, whole layers of
nodes at a time: an action's function is the sum of those of its outcomes, whose slopes jump at all their breakpoints; a
node's function is the envelope of the lines of its actions. In the plane of slope and intercept that envelope is the
upper convex hull of points (the dual of a line is a point).

Shapes: n nodes of a batch, m arcs of a batch, L lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rhoplan.belief_math.information import per_nat
from rhoplan.graph.belief_graph import Arcs, BeliefGraph
from rhoplan.graph.row_index import extend, spans
from rhoplan.graph.ties import RELATIVE_TOLERANCE, first_best
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.backup import BackwardInduction
from rhoplan.planning.lookahead import UNDECIDED, DecidedPlaces
from rhoplan.planning.utility import Information

NOISE = 1e-15
"""Height, relative to a line's absolute return, by which it must rise above its neighbours to be part of an envelope:
a few roundings, far below the tolerance of ties."""


@dataclass(frozen=True, eq=False)
class _Lines:
    """Lines of several groups (L,), those of one group together and by increasing slope. numbers (3, L): slope,
    intercept at weight 0, and absolute return of the plan."""

    group: Ids
    numbers: Array

    def at(self, places: Ids) -> _Lines:
        """The lines at `places`."""
        return _Lines(self.group[places], self.numbers[:, places])

    def changed(self, places: Ids) -> Array:
        """What (3, n) the numbers of lines at `places` (n,) have more than those of the lines before."""
        return self.numbers[:, places] - self.numbers[:, places - 1]

    def breakpoints(self) -> Array:
        """The weight (L,) from which on a line is the best of its group, minus infinity for the first one."""
        result = np.full(len(self.group), -np.inf)
        later = np.flatnonzero(self.group[1:] == self.group[:-1]) + 1
        slope, intercept, _ = self.changed(later)
        result[later] = -intercept / slope
        return result


class ParametricLookahead(BackwardInduction):
    """Look-ahead over `horizon` actions on `graph` for all weights per `unit` of information from `low` to `high`.

    Discount 1, best terminal actions as leaves: that is right for problems where one observes, then commits.
    """

    def __init__(self, graph: BeliefGraph, horizon: int, *, low: float, high: float, unit: str = "nats") -> None:
        super().__init__(graph)
        self.horizon, self.low, self.high, self.unit = horizon, low, high, unit
        self._utility = Information(per_nat(1.0, unit))
        self._numbers, self._used = np.empty((0, 3)), 0
        self._choices: dict[int, tuple[Array, Ids]] = {}

    def choices(self, nodes: Ids) -> list[tuple[Array, Ids]]:
        """For each node the weights (k,) at which its action changes, and the places (k + 1,) of the actions."""
        fresh = np.array([node for node in nodes.tolist() if node not in self._choices], dtype=np.int64)
        if fresh.size:
            self.compute(fresh, self.horizon)
            information = self._utility.rounding(self.graph, fresh)
            arcs, lines = self._arc_lines(fresh, self.horizon)
            owner = arcs.owner[lines.group]
            ends = np.searchsorted(owner, np.arange(len(fresh) + 1))
            for place, node in enumerate(fresh.tolist()):
                mine = lines.at(np.arange(ends[place], ends[place + 1]))
                changes, chosen = self._decide(mine, float(information[place]))
                self._choices[node] = changes, arcs.place[chosen]
        return [self._choices[node] for node in nodes.tolist()]

    def _decide(self, lines: _Lines, information: float) -> tuple[Array, Ids]:
        """Weights at which the choice of one node changes, and the chosen arcs. lines: of all its arcs.

        The range of weights is cut at breakpoints of arcs, then where the best arc changes, then where ties begin or
        end; between the cuts the choice is constant.
        """
        arcs, first = np.unique(lines.group, return_index=True)
        first = np.append(first, len(lines.group))
        begin, (slope, intercept, absolute) = lines.breakpoints(), lines.numbers
        envelope = _upper_envelope(_Lines(lines.group * 0, lines.numbers), self.low, self.high)
        cuts = self._cuts(np.concatenate([begin, envelope.breakpoints()]))

        def active(cuts: Array) -> tuple[Array, Ids]:
            """Middles (k,) between cuts, and the line (A, k) of each arc there."""
            middle = cuts[:-1] + np.diff(cuts) / 2
            rows = [np.searchsorted(begin[a:b], middle, side="right") - 1 + a for a, b in pairwise(first.tolist())]
            return middle, np.stack(rows)

        middle, line = active(cuts)
        values = intercept[line] + middle * slope[line]
        best = line[values.argmax(axis=0), np.arange(len(middle))]
        # Tied as long as best - other <= tolerance * (absolute + w * information), all of it linear in w.
        short, drift = intercept[best] - intercept[line], slope[best] - slope[line]
        scales = np.stack([absolute[line], np.broadcast_to(absolute[best], line.shape)])
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = (RELATIVE_TOLERANCE * scales - short) / (drift - RELATIVE_TOLERANCE * information)
        cuts = self._cuts(np.append(cuts, roots[(roots > cuts[:-1]) & (roots < cuts[1:])]))
        middle, line = active(cuts)
        values = intercept[line] + middle * slope[line]
        scale = absolute[line] + middle * information
        start = np.arange(len(middle)) * len(arcs)
        chosen = first_best(values.T.ravel(), scale.T.ravel(), start) - start
        turns = np.flatnonzero(np.diff(chosen)) + 1
        return cuts[turns], arcs[chosen[np.append(0, turns)]]

    def _cuts(self, weights: Array) -> Array:
        inside = weights[(weights > self.low) & (weights < self.high)]
        return np.unique(np.concatenate([inside, [self.low, self.high]]))

    def _compute(self, nodes: Ids, depth: int) -> tuple[Array, Array]:
        """The first line of each node, and how many it has."""
        if depth:
            arcs, lines = self._arc_lines(nodes, depth)
            lines = _upper_envelope(_Lines(arcs.owner[lines.group], lines.numbers), self.low, self.high)
        else:
            stop = np.stack([np.zeros(len(nodes)), self.graph.stop_reward[nodes], self.graph.stop_absolute[nodes]])
            lines = _Lines(np.arange(len(nodes)), stop)
        count = np.bincount(lines.group, minlength=len(nodes))
        before, self._used = self._used, self._used + len(lines.group)
        extend(self, before, self._used, _numbers=lines.numbers.T)
        return (before + np.cumsum(count) - count).astype(float), count.astype(float)

    def _arc_lines(self, nodes: Ids, depth: int) -> tuple[Arcs, _Lines]:
        """The arcs of `nodes` and the lines of each: sums over its branches of the envelopes of children."""
        graph, arcs = self.graph, self.graph.arcs(nodes)
        branches = graph.branches(arcs)
        owner, child = np.repeat(np.arange(len(arcs.node)), arcs.width), graph.child[branches].astype(np.int64)
        probability, on = graph.probability[branches], child >= 0
        owner, child, probability = owner[on], child[on], probability[on]
        first, count = (numbers[child].astype(np.int64) for numbers in self.layer(depth - 1))
        # Each arc begins with the sum of its branches' first lines and changes at each of their breakpoints.
        later, part = spans(first + 1, count - 1), np.repeat(np.arange(len(child)), count - 1)
        changes = (self._numbers[later] - self._numbers[later - 1]).T
        order = np.lexsort((-changes[1] / changes[0], owner[part]))
        pieces = 1 + np.bincount(owner[part], minlength=len(arcs.node))
        start = np.cumsum(pieces) - pieces
        group = np.repeat(np.arange(len(arcs.node)), pieces)
        place = np.arange(len(group)) - start[group]
        # Sums along rows of a table, arc by arc: one running sum over all would lose digits.
        table = np.zeros((3, len(arcs.node), int(pieces.max())))
        starts = probability * self._numbers[first].T
        own = self._utility.values(graph, arcs), arcs.reward, arcs.absolute
        for row, immediate, lines in zip(table, own, starts, strict=True):
            row[:, 0] = immediate + np.bincount(owner, lines, minlength=len(arcs.node))
        table[:, group[place > 0], place[place > 0]] = (probability[part] * changes)[:, order]
        return arcs, _Lines(group, np.cumsum(table, axis=2)[:, group, place])


def _upper_envelope(lines: _Lines, low: float, high: float) -> _Lines:
    """The lines of each group that are the highest ones at some weight from `low` to `high`."""
    slope, intercept, _ = lines.numbers
    lines = lines.at(np.lexsort((-np.arange(len(slope)), intercept, slope, lines.group)))
    same = (lines.group[1:] == lines.group[:-1]) & (lines.numbers[0, 1:] == lines.numbers[0, :-1])
    lines = lines.at(np.flatnonzero(~np.append(same, False)))  # of parallel lines the highest
    parity = 0
    while True:
        inner = np.flatnonzero(lines.group[2:] == lines.group[:-2]) + 1
        slope, intercept, absolute = lines.numbers
        share = (slope[inner] - slope[inner - 1]) / (slope[inner + 1] - slope[inner - 1])
        chord = (1 - share) * intercept[inner - 1] + share * intercept[inner + 1]
        scale = absolute[inner] + np.abs(intercept[inner]) + high * np.abs(slope[inner])
        beaten = inner[intercept[inner] <= chord + NOISE * scale]
        if not beaten.size:
            break
        # Two neighbours may each be beaten because of the other: only one of them is dropped at a time.
        drop = beaten[beaten % 2 == parity]
        lines = lines.at(np.delete(np.arange(len(lines.group)), drop))
        parity = 1 - parity if not drop.size or drop.size < beaten.size else parity
    begin = lines.breakpoints()
    last = np.append(lines.group[1:] != lines.group[:-1], True)
    end = np.where(last, np.inf, np.append(begin[1:], np.inf))
    return lines.at(np.flatnonzero((end > low) & (begin < high)))


class PolicyAtWeight(DecidedPlaces):
    """The policy of `lookahead` for weights just above `weight`, as `policy.PolicyOnGraph`."""

    def __init__(self, lookahead: ParametricLookahead, weight: float) -> None:
        self.lookahead, self.graph, self.weight = lookahead, lookahead.graph, weight

    @property
    def nodes(self) -> Ids:
        """The nodes at which the policy has decided, in order."""
        return np.flatnonzero(self._places != UNDECIDED)

    @property
    def changes(self) -> Array:
        """The weights above `weight`, in order, at which the action at one of `nodes` changes."""
        found = [changes for changes, _ in self.lookahead.choices(self.nodes)]
        every = np.unique(np.concatenate(found))
        return every[every > self.weight]

    def _decide(self, nodes: Ids) -> Ids:
        found = self.lookahead.choices(nodes)
        chosen = [places[np.searchsorted(changes, self.weight, side="right")] for changes, places in found]
        return np.array(chosen, dtype=np.int64)
