"""Parametric look-ahead: the receding-horizon policy at every weight of information at once.

A plan is worth reward + w * information, a line in the weight w. So the value of a node is the upper envelope of the
lines of all plans, convex and piecewise linear in w. Envelopes are computed by backward induction, whole layers of
nodes at a time: an action's function is the sum of those of its outcomes, whose slopes jump at all their breakpoints; a
node's function is the envelope of the lines of its actions. In the plane of slope and intercept that envelope is the
upper convex hull of points (the dual of a line is a point).

Shapes: n nodes of a batch, m arcs of a batch, L lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rhoplan.graph.belief_graph import Arcs, BeliefGraph, chunks
from rhoplan.graph.row_index import grown, spans
from rhoplan.graph.ties import RELATIVE_TOLERANCE, first_best
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.lookahead import UNDECIDED
from rhoplan.planning.policy import Seed
from rhoplan.planning.rates import InformationRate

NOISE = 1e-15
"""Height, relative to a line's absolute return, by which it must rise above its neighbours to be part of an envelope:
a few roundings, far below the tolerance of ties."""


@dataclass(frozen=True, eq=False)
class _Lines:
    """Lines (L,) of several groups, those of one group together and by increasing slope; intercepts are at weight 0.

    absolute: expected sum of absolute rewards of the plan. source: the arc whose line it is.
    """

    group: Ids
    slope: Array
    intercept: Array
    absolute: Array
    source: Ids

    def at(self, places: Ids) -> _Lines:
        """The lines at `places`."""
        return _Lines(
            self.group[places], self.slope[places], self.intercept[places], self.absolute[places], self.source[places]
        )

    def breakpoints(self) -> Array:
        """The weight (L,) from which on a line is the best of its group, minus infinity for the first one."""
        result = np.full(len(self.group), -np.inf)
        later = np.flatnonzero(self.group[1:] == self.group[:-1]) + 1
        fall = self.intercept[later - 1] - self.intercept[later]
        result[later] = fall / (self.slope[later] - self.slope[later - 1])
        return result


class ParametricLookahead:
    """Look-ahead over `horizon` actions on `graph` for all weights per nat from `low` to `high`.

    Discount 1, best terminal actions as leaves: that is right for problems where one observes, then commits.
    """

    def __init__(self, graph: BeliefGraph, horizon: int, *, low: float, high: float) -> None:
        self.graph, self.horizon, self.low, self.high = graph, horizon, low, high
        nothing = np.empty(0, dtype=np.int64)
        self._first = [nothing] * (horizon + 1)
        self._count = [nothing] * (horizon + 1)
        self._used = 0
        self._slope, self._intercept, self._absolute = (np.empty(0),) * 3
        self._choices: dict[int, tuple[Array, Ids]] = {}

    def choices(self, nodes: Ids) -> list[tuple[Array, Ids]]:
        """For each node the weights (k,) at which its action changes, and the places (k + 1,) of the actions."""
        fresh = np.array([node for node in nodes.tolist() if node not in self._choices], dtype=np.int64)
        if fresh.size:
            self._prepare(fresh, self.horizon)
            information = InformationRate(1.0).rounding(self.graph, fresh)
            arcs, lines = self._arc_lines(fresh, self.horizon)
            owner = arcs.owner[lines.group]
            ends = np.searchsorted(owner, np.arange(len(fresh) + 1))
            for place, node in enumerate(fresh.tolist()):
                mine = lines.at(np.arange(ends[place], ends[place + 1]))
                changes, chosen = self._decide(mine, float(information[place]))
                self._choices[node] = changes, arcs.place[chosen]
        return [self._choices[node] for node in nodes.tolist()]

    def values(self, nodes: Ids, weight: float) -> Array:
        """The value (n,) of the plan of `horizon` actions at `weight`."""
        self._prepare(nodes, self.horizon)
        first, count = self._first[self.horizon][nodes], self._count[self.horizon][nodes]
        lines = spans(first, count)
        return np.maximum.reduceat(self._intercept[lines] + weight * self._slope[lines], np.cumsum(count) - count)

    def _decide(self, lines: _Lines, information: float) -> tuple[Array, Ids]:
        """Weights at which the choice of one node changes, and the chosen arcs. lines: of all its arcs.

        The range of weights is cut at breakpoints of arcs, then where the best arc changes, then where ties begin or
        end; between the cuts the choice is constant.
        """
        arcs, first = np.unique(lines.group, return_index=True)
        first = np.append(first, len(lines.group))
        begin = lines.breakpoints()
        envelope = _upper_envelope(
            _Lines(lines.group * 0, lines.slope, lines.intercept, lines.absolute, lines.group), self.low, self.high
        )
        cuts = self._cuts(np.concatenate([begin, envelope.breakpoints()]))

        def active(cuts: Array) -> tuple[Array, Ids]:
            """Middles (k,) between cuts, and the line (A, k) of each arc there."""
            middle = cuts[:-1] + np.diff(cuts) / 2
            rows = [np.searchsorted(begin[a:b], middle, side="right") - 1 + a for a, b in pairwise(first.tolist())]
            return middle, np.stack(rows)

        middle, line = active(cuts)
        values = lines.intercept[line] + middle * lines.slope[line]
        best = line[values.argmax(axis=0), np.arange(len(middle))]
        # Tied as long as best - other <= tolerance * (absolute + w * information), all of it linear in w.
        short, drift = lines.intercept[best] - lines.intercept[line], lines.slope[best] - lines.slope[line]
        roots = []
        for absolute in (lines.absolute[line], np.broadcast_to(lines.absolute[best], line.shape)):
            speed = drift - RELATIVE_TOLERANCE * information
            with np.errstate(divide="ignore", invalid="ignore"):
                root = (RELATIVE_TOLERANCE * absolute - short) / speed
            roots.append(root[(root > cuts[:-1]) & (root < cuts[1:])])
        cuts = self._cuts(np.concatenate([cuts, *roots]))
        middle, line = active(cuts)
        values = lines.intercept[line] + middle * lines.slope[line]
        scale = lines.absolute[line] + middle * information
        start = np.arange(len(middle)) * len(arcs)
        chosen = first_best(values.T.ravel(), scale.T.ravel(), start) - start
        turns = np.flatnonzero(np.diff(chosen)) + 1
        return cuts[turns], arcs[chosen[np.append(0, turns)]]

    def _cuts(self, weights: Array) -> Array:
        inside = weights[(weights > self.low) & (weights < self.high)]
        return np.unique(np.concatenate([inside, [self.low, self.high]]))

    def _prepare(self, nodes: Ids, depth: int) -> None:
        """Make the envelopes of `nodes` known for plans of `depth` actions."""
        layer = nodes
        layers = []
        for level in range(depth, -1, -1):
            missing = np.unique(layer[self._rows(level)[layer] < 0])
            layers.append((level, missing))
            if not missing.size:
                break
            if level:
                self.graph.expand(missing)
                layer = self.graph.children(missing)
        for level, missing in reversed(layers):
            if not level:
                graph, zeros = self.graph, np.zeros(len(missing))
                stop = graph.stop_reward[missing], graph.stop_absolute[missing]
                self._store(missing, 0, _Lines(np.arange(len(missing)), zeros, *stop, zeros.astype(np.int64)))
                continue
            table, observable = self.graph.table, self.graph.observable[missing]
            for part in chunks(table.branches[observable] + table.count[observable]):
                arcs, lines = self._arc_lines(missing[part], level)
                owners = _Lines(arcs.owner[lines.group], lines.slope, lines.intercept, lines.absolute, lines.group)
                self._store(missing[part], level, _upper_envelope(owners, self.low, self.high))

    def _rows(self, level: int) -> Ids:
        """The first line of each node at `level`, -1 where it is not known, with room for all nodes."""
        used = len(self._first[level])
        if used < self.graph.size:
            self._first[level] = grown(self._first[level], used, self.graph.size)
            self._count[level] = grown(self._count[level], used, self.graph.size)
            self._first[level][used:] = -1
        return self._first[level]

    def _store(self, nodes: Ids, level: int, lines: _Lines) -> None:
        count = np.bincount(lines.group, minlength=len(nodes))
        before, self._used = self._used, self._used + len(lines.group)
        self._rows(level)[nodes] = before + np.cumsum(count) - count
        self._count[level][nodes] = count
        for name, new in (("_slope", lines.slope), ("_intercept", lines.intercept), ("_absolute", lines.absolute)):
            setattr(self, name, grown(getattr(self, name), before, self._used))
            getattr(self, name)[before : self._used] = new

    def _arc_lines(self, nodes: Ids, depth: int) -> tuple[Arcs, _Lines]:
        """The arcs of `nodes` and the lines of each: sums over its branches of the envelopes of children."""
        graph, arcs = self.graph, self.graph.arcs(nodes)
        branches = graph.branches(arcs)
        owner, child = np.repeat(np.arange(len(arcs.node)), arcs.width), graph.child[branches].astype(np.int64)
        probability, on = graph.probability[branches], child >= 0
        owner, child, probability = owner[on], child[on], probability[on]
        first, count = self._rows(depth - 1)[child], self._count[depth - 1][child]
        # Each arc begins with the sum of its branches' first lines and changes at each of their breakpoints.
        later, part = spans(first + 1, count - 1), np.repeat(np.arange(len(child)), count - 1)
        weight = probability[part]
        steps = [weight * (held[later] - held[later - 1]) for held in (self._slope, self._intercept, self._absolute)]
        begin = -(self._intercept[later] - self._intercept[later - 1]) / (self._slope[later] - self._slope[later - 1])
        order = np.lexsort((begin, owner[part]))
        pieces = 1 + np.bincount(owner[part], minlength=len(arcs.node))
        start = np.cumsum(pieces) - pieces
        group = np.repeat(np.arange(len(arcs.node)), pieces)
        place = np.arange(len(group)) - start[group]
        ends = []
        own = arcs.information, arcs.reward, arcs.absolute
        held = self._slope, self._intercept, self._absolute
        for immediate, lines, step in zip(own, held, steps, strict=True):
            # Sums along rows of a table, arc by arc: one running sum over all would lose digits.
            table = np.zeros((len(arcs.node), int(pieces.max())))
            table[:, 0] = immediate + np.bincount(owner, probability * lines[first], minlength=len(arcs.node))
            table[group[place > 0], place[place > 0]] = step[order]
            ends.append(np.cumsum(table, axis=1)[group, place])
        slope, intercept, absolute = ends
        return arcs, _Lines(group, slope, intercept, absolute, group)


def _upper_envelope(lines: _Lines, low: float, high: float) -> _Lines:
    """The lines of each group that are the highest ones at some weight from `low` to `high`."""
    order = np.lexsort((-lines.source, lines.intercept, lines.slope, lines.group))
    lines = lines.at(order)
    same = (lines.group[1:] == lines.group[:-1]) & (lines.slope[1:] == lines.slope[:-1])
    lines = lines.at(np.flatnonzero(~np.append(same, False)))  # of parallel lines the highest
    parity = 0
    while True:
        inner = np.flatnonzero(lines.group[2:] == lines.group[:-2]) + 1
        before, after = inner - 1, inner + 1
        share = (lines.slope[inner] - lines.slope[before]) / (lines.slope[after] - lines.slope[before])
        chord = (1 - share) * lines.intercept[before] + share * lines.intercept[after]
        scale = lines.absolute[inner] + np.abs(lines.intercept[inner]) + high * np.abs(lines.slope[inner])
        beaten = inner[lines.intercept[inner] <= chord + NOISE * scale]
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


class PolicyAtWeight:
    """The policy of `lookahead` for weights just above `weight` (per nat), as `policy.PolicyOnGraph`."""

    def __init__(self, lookahead: ParametricLookahead, weight: float) -> None:
        self.lookahead, self.graph, self.weight = lookahead, lookahead.graph, weight
        self._places: Ids = np.empty(0, dtype=np.int64)

    @property
    def nodes(self) -> Ids:
        """The nodes at which the policy was asked for an action, in order."""
        return np.flatnonzero(self._places != UNDECIDED)

    @property
    def changes(self) -> Array:
        """The weights above `weight`, in order, at which the action at one of `nodes` changes."""
        found = [changes for changes, _ in self.lookahead.choices(self.nodes)]
        every = np.unique(np.concatenate(found))
        return every[every > self.weight]

    def places(self, nodes: Ids) -> Ids:
        """The place (n,) of the action at each of `nodes`."""
        fresh = np.unique(nodes[self._room()[nodes] == UNDECIDED])
        if fresh.size:
            found = self.lookahead.choices(fresh)
            chosen = [places[np.searchsorted(changes, self.weight, side="right")] for changes, places in found]
            self._room()[fresh] = np.array(chosen, dtype=np.int64)
        return self._places[nodes]

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        return np.arange(len(nodes)), self.places(nodes), np.ones(len(nodes))

    def _room(self) -> Ids:
        used = len(self._places)
        if used < self.graph.size:
            self._places = grown(self._places, used, self.graph.size)
            self._places[used:] = UNDECIDED
        return self._places
