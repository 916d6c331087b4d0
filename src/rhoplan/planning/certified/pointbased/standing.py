"""What a search knows at a moment: its arrays, the bounds of the start, and room and time for more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased.above import lower_upper
from rhoplan.planning.certified.pointbased.below import raise_lower
from rhoplan.planning.certified.pointbased.blocks import LEAST_BLOCK
from rhoplan.planning.certified.pointbased.centred import (
    best_somewhere,
    first_moved,
    graph_moved,
    had_everywhere,
    middle,
    wants_centre,
    without,
)
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.first import first_bounds
from rhoplan.planning.certified.pointbased.found import GeneralSolution
from rhoplan.planning.certified.pointbased.graph import (
    ENTRY,
    FAN_BLOCK,
    FANS,
    FILLED,
    FOLLOWERS,
    LOWER,
    NODES,
    NUMBERS,
    ROOT,
    TRIALS,
    UPPER,
    VECTORS,
    WIDE,
    find_node,
    rehash,
)
from rhoplan.planning.certified.pointbased.growing import (
    enlarged,
    hull_states,
    make_graph,
    make_settings,
    nearer,
    with_room,
)
from rhoplan.planning.certified.pointbased.lasting import lasting
from rhoplan.planning.certified.pointbased.plan import plan_of
from rhoplan.planning.certified.pointbased.potential import least_share

PRUNE_GROWTH, SMALL_GROWTH, FIRST_PRUNE = 1.5, 1.2, 100
"""Backups after which to forget and settle: the first time, and then whenever there are this many times as many; sooner
where all classes are small enough for hulls (there, four problems took 0.6 to 0.9 of the time)."""

SOME = 200
"""Points that are looked at between two looks at the clock while they are settled at once."""

FAR = 4
"""Values are centred anew where the middle of the bounds is so many times as far from 0 as they are apart."""

SHARE_OF_MEMORY, KEPT_PER_ENTRY = 0.9, 110
"""What of the memory allowed the problem and the arrays of a search may take, as reading, settling and Python itself
take some; and the bytes that one probability P(s', o | s) keeps: measured with seven million of them."""

LEAST_SWEEPS = 4
"""How often settling a plan goes through all of its numbers at least: to make the vectors, to pay, and two sweeps."""


class Standing:
    """Both bounds hold after every call."""

    def __init__(
        self, problem: Compiled, *, weight: float, discount: float, gap: float, seconds: float, memory: float
    ) -> None:
        self.begin = clock.now()
        weight, discount, gap = float(weight), float(discount), float(gap)  # kernels are compiled once per type
        self.deadline = self.begin + seconds
        self.memory = SHARE_OF_MEMORY * memory - KEPT_PER_ENTRY * len(problem.model.chance)
        self.given, self.gap = problem, gap
        share = least_share(problem, discount) if weight > 0 else 1.0
        self.lasting = lasting(problem, discount, self.deadline)
        self.settles = bool(np.isfinite(self.lasting).all())
        first = first_bounds(
            problem, weight=weight, share=share, discount=discount, steps=self.lasting, deadline=self.deadline
        )
        self.taken_off = self.error = self.pause = 0.0
        if wants_centre(problem, middle(problem, first), discount, gap):
            self.taken_off = middle(problem, first)
            problem, self.error = without(problem, self.taken_off, discount)
            first = first_moved(best_somewhere(first), -self.taken_off, self.error)
            gap = max(gap - 8 * self.error, 0.0)
        self.problem, self.model, self.first = problem, problem.model, first
        settings = make_settings(problem, self.first, weight=weight, share=share, discount=discount, gap=gap)
        self.settings = settings._replace(gap=max(gap - 2 * settings.outward, 0.5 * gap))
        self.graph = make_graph(problem, self.first, self.settings)
        self.small = bool(problem.sizes.max() <= hull_states(problem))
        self.kept = self.vectors = int(self.graph.used[VECTORS])
        self.growth = SMALL_GROWTH if self.small else PRUNE_GROWTH
        self.next_prune: float = FIRST_PRUNE
        self.corners = self.spread = self.nodes = self.met = self.worked = 0
        self.apart = self.left = np.inf
        self.node_at(problem.start_class, problem.start)
        raise_lower(self.model, self.graph, ROOT, self.settings.potential)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound on the value of the start."""
        lower, upper = float(self.graph.bound[ROOT, LOWER]), float(self.graph.bound[ROOT, UPPER])
        error = self.error + self.settings.outward  # looking them up is rounded too
        return lower + self.taken_off - error, upper + self.taken_off + error

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return clock.now() > self.deadline

    def make_room(self) -> bool:
        """Enlarge what is full; whether the memory allows it."""
        bigger = enlarged(self.graph, self.settings, self.memory)
        if bigger is None:
            return False
        self.graph = bigger
        if self.graph.used[NODES] > len(self.graph.table):
            self.graph = self.graph._replace(table=np.full(8 * len(self.graph.table), -1))
            rehash(self.model, self.graph)
        return True

    def node_at(self, home: int, belief: Array) -> int:
        """The node of `belief`, of class `home`. There must be room for it, as there is at first."""
        whole = np.zeros(int(self.problem.sizes.max()))
        whole[: len(belief)] = belief
        return int(find_node(self.model, self.graph, home, whole, self.settings.potential))

    def has_room_for(self, homes: Ids, pace: float) -> bool:
        """Make room for one more vector of each of these classes; whether there is any to make, with time left."""
        sweep = len(homes) * (len(self.model.chance) / self.problem.pairs + 1)
        if not len(homes) or clock.now() + LEAST_SWEEPS * sweep * pace > self.deadline:
            return False
        branches = int(np.diff(self.model.pair_branch).max())
        numbers = int(self.problem.sizes[homes].sum())
        added = np.bincount(homes, minlength=self.problem.classes)
        filled, wide = self.graph.chain[:, FAN_BLOCK + FILLED] + added, self.graph.chain[:, FAN_BLOCK + WIDE]
        moved = 4 * int(filled[(added > 0) & (wide > 0) & (filled > wide)].sum())  # by doubling: less than that in all
        needs = {VECTORS: len(homes) + 2, NUMBERS: numbers, FOLLOWERS: len(homes) * branches, FANS: moved + LEAST_BLOCK}
        bigger = with_room(self.graph, needs, self.memory)
        if bigger is None:
            return False
        self.graph = bigger
        return True

    def in_time(self, nodes: Ids) -> Iterator[Ids]:
        """Some of `nodes` after others, until it is too late."""
        for begin in range(0, len(nodes), SOME):
            if self.late:
                return
            yield nodes[begin : begin + SOME]

    def refresh(self) -> None:
        """Bring the bounds at the root up to date."""
        raise_lower(self.model, self.graph, ROOT, self.settings.potential)
        lower_upper(self.model, self.graph, ROOT, self.settings.potential)

    def recentre(self) -> None:
        """Take more off the values where they have come to lie far from 0, and know how far apart they can be now."""
        if self.taken_off == 0:
            return
        settings, (lower, upper) = self.settings, self.bounds
        by = 0.5 * (lower + upper) - self.taken_off
        if abs(by) > FAR * (upper - lower) and wants_centre(self.problem, by, settings.discount, self.gap):
            self.problem, error = without(self.problem, by, settings.discount)
            self.model = self.problem.model
            self.graph = graph_moved(self.graph, -by, error, settings.discount, min(settings.lost, settings.penalty))
            self.first = first_moved(self.first, -by, error)
            self.taken_off, self.error = self.taken_off + by, self.error + error
        self.settings = nearer(settings, self.graph.corner, had_everywhere(self.problem, self.graph))

    def solution(self, stopped_by: str) -> GeneralSolution:
        """What has been found so far."""
        lower, upper = self.bounds
        nodes = int(self.graph.used[NODES])
        graph, first = self.graph, self.first
        if self.taken_off != 0:
            price = min(self.settings.lost, self.settings.penalty)
            graph = graph_moved(graph, self.taken_off, self.error, self.settings.discount, price)
            first = first_moved(first, self.taken_off, self.error)
        plan = plan_of(self.given, graph, first, self.settings)
        return GeneralSolution(
            lower,
            upper,
            self.gap,
            stopped_by,
            plan.first_action,
            clock.now() - self.begin,
            int(self.graph.used[TRIALS]),
            nodes,
            self.vectors,
            int(np.count_nonzero(self.graph.node[:nodes, ENTRY] >= 0)),
            plan,
        )
