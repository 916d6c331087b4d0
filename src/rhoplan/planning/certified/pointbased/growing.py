"""The arrays of a search on the Python side: made, filled with the first bounds, and enlarged when they are full."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rhoplan.model.pomdp import Array
from rhoplan.planning.certified.pointbased.below import fan_out
from rhoplan.planning.certified.pointbased.blocks import LEAST_BLOCK
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.first import First
from rhoplan.planning.certified.pointbased.graph import (
    BEGIN,
    BOUND_COLUMNS,
    CHAIN_COLUMNS,
    CHILDREN,
    CLOUDS,
    ENTRIES,
    FAN_BLOCK,
    FANS,
    FIRST_VECTOR,
    FOLLOWERS,
    INDICES,
    LAST_VECTOR,
    MOVES,
    NODE_COLUMNS,
    NODES,
    NUMBERS,
    PAUSES,
    PROBES,
    SAME,
    SLOT_COLUMNS,
    SLOTS,
    STATES,
    VALUES,
    VECTOR_COLUMNS,
    VECTORS,
    WIDE,
    WIDEST,
    Graph,
    Settings,
)
from rhoplan.planning.certified.pointbased.hull import MOST_TRIED

LONGEST_WALK = 1000
"""Steps after which a trial turns back in any case."""

AIMS = (0.9, 0.3)
"""Gaps that trials leave at the root, as shares of the gap there is, in turn. In five-second runs on four classic
problems one large share lowered the upper bound most, one small share raised the lower bound most; hence both."""

SMALL_AIMS, SMALL_COARSE = (0.9,), 5e-3
"""The same, and COARSE below, where all classes are small enough for hulls: with points settled at once, trials that
turn back soon opened 0.35 to 0.8 of the beliefs on four problems. The second lies between two values tried, 3e-3 and
1e-2, which differed by less than the machine's noise."""

PLANNED = 6
"""One trial in so many follows the plan of the lower bound, unless all classes are small enough for hulls: there the
lower bound is ahead. Tag came to -6.000 in 11 s so, and to -6.016 in 60 s without."""

COARSE, FINE = 1e-3, 1e-4
"""A point is kept if it is lower than the others imply by this share of the gap at the root, a vector if it is higher
at its node by that share. Less where the discount times the chance to go on is close to 1: one step then moves the
bounds by little."""

MIX, MIX_NOTICED, LEAST_MIX = 1e-7, 1e-3, 1e-16
"""Share of the uniform belief in the belief at which a vector is made where the weight is above 0: states that the node
rules out still have a finite number, and a step loses w MIX ln(1 / MIX), the logarithm being 37 at most. Less than MIX
where all steps together would lose more than some such share of the gap asked for."""

STEEPEST = 750
"""Largest slope of the entropy between two floats, as ln(1 / 5e-324) is 744: what is left of a belief is paid by it."""

UNIT, OPERATIONS = 2.0**-53, 10
"""What one operation on floats loses at most, as a share; and so many times that, for each state of a class and branch
of an action, is more than all that a backup loses, as a share of the largest value (theory page, What floats lose)."""

HULL_STATES, TINY_HULL_STATES, TINY = 8, 20, 64
"""Largest class whose upper bound is the hull of its points; and the same in problems whose classes have so many states
in all, as each hull looks at the points of all classes. There, a problem of 12 states with weight 0.3 closed in a fifth
of the time, and one of 9 states came within 0.03 where sawteeth left 6; at 20 states both do much the same."""

RECENT = 64
"""Nodes of a class whose hull was worked out last, of which a new node borrows points to try first."""

WORK = 300_000
"""Numbers touched between two looks at the clock: a few milliseconds."""

LONGEST = 5 * WORK
"""Numbers touched after which a trial turns back in any case."""

ROOM: dict[int, tuple[str, ...]] = {
    NODES: ("node", "bound", "price", "mixture", "level"),
    VALUES: ("value",),
    INDICES: ("where",),
    SLOTS: ("slot", "slot_child"),
    CHILDREN: ("child", "chance"),
    VECTORS: ("vector", "share"),
    NUMBERS: ("alpha",),
    FOLLOWERS: ("follower",),
    ENTRIES: ("entry", "following", "possible", "fall", "inverse"),
    CLOUDS: ("cloud_node", "prices", "cloud"),
    FANS: ("fan_vector", "depths", "fan"),
}
"""Which arrays each place in Graph.used counts for."""


def hull_states(problem: Compiled) -> int:
    """Largest class whose upper bound is the hull of its points."""
    return TINY_HULL_STATES if problem.slots <= TINY else HULL_STATES


def make_settings(
    problem: Compiled, first: First, *, weight: float, share: float, discount: float, gap: float
) -> Settings:
    """What the kernels need to know beside the arrays."""
    model = problem.model
    branches = (
        np.add.reduceat(np.diff(model.pair_branch), model.class_pair[:-1][~problem.ended]) if problem.pairs else [1]
    )
    most, largest = int(np.max(branches)) + 1, int(problem.sizes.max())
    size = max(float(np.abs(values).max(initial=0.0)) for values in (first.corner, *first.vectors))
    added = largest + int(np.diff(model.pair_branch).max(initial=1)) + 5
    rounding, logs = OPERATIONS * added * UNIT, 6 * weight * math.log(largest * added / MIX)
    span, far = spans_of(first.corner, max(float(values.min()) for values in first.vectors), weight)
    small = largest <= hull_states(problem)
    step = min(1.0, max(20 * (1 - discount * _goes_on(problem)), 1e-4))
    return Settings(
        weight=weight,
        potential=share * weight,
        discount=discount,
        gap=gap,
        outward=rounding * (far + logs) + SAME * span,
        rounding=rounding,
        logs=logs,
        penalty=penalty_of(problem, size, weight, discount),
        span=span,
        lost=span + far,
        coarse=(SMALL_COARSE if small else COARSE) * step,
        fine=FINE * step,
        mix=min(MIX, max(MIX_NOTICED * gap * max(1 - discount, 1e-4) / max(weight, 1e-9), LEAST_MIX)),
        work=WORK,
        longest=LONGEST,
        planned=0 if small else PLANNED,
        most_children=most,
        most_numbers=largest * (most + 1),
        symbols=problem.symbols,
    )


def penalty_of(problem: Compiled, size: float, weight: float, discount: float) -> float:
    """What a part of a belief that is left costs, whatever its state. size: of the largest value known."""
    most = float(np.abs(problem.model.reward).max(initial=0.0))
    return 2 * (max(size, most / (1 - discount)) if discount < 1 else size) + STEEPEST * weight


def spans_of(corner: Array, least: float, weight: float) -> tuple[float, float]:
    """How far apart two values can be, twice, from `least`, which can be had everywhere, up to the best corner; and how
    far from 0 one can be. What is left of a belief costs both at most, where its state is sure, as mass may be missing.
    """
    most = float(corner.max())
    return 2 * (most - least) + STEEPEST * weight, max(most, -least, 0.0)


def nearer(settings: Settings, corner: Array, least: float) -> Settings:
    """The settings of a search that knows more: values lie between `least` and the best corner, and are rounded less
    where that is nearer 0."""
    span, far = spans_of(corner, least, settings.weight)
    span = min(span, settings.span)  # they may have been known to be less far apart
    outward = settings.rounding * (far + settings.logs) + SAME * span
    return settings._replace(span=span, lost=span + far, outward=outward)


def _goes_on(problem: Compiled) -> float:
    """The chance that an episode goes on after an action, in the middle of all states and actions."""
    where, rows = problem.entries, len(problem.model.reward)
    ends = problem.ended[problem.model.branch_target[where.outcome]]
    return float(np.median(1 - np.bincount(where.source[ends], where.chance[ends], rows))) if rows else 1.0


def make_graph(problem: Compiled, first: First, settings: Settings) -> Graph:
    """An empty graph with the first bounds in it. The vectors of policy p stand from p * classes on."""
    model, classes, policies = problem.model, problem.classes, len(first.vectors)
    most, numbers, largest = 4 * settings.most_children, 4 * settings.most_numbers, int(problem.sizes.max())
    small = problem.sizes <= hull_states(problem)
    hull, fans = int(problem.sizes[small].max(initial=1)), int(small.sum()) * (policies + LEAST_BLOCK)
    graph = Graph(
        node=np.empty((most, NODE_COLUMNS), dtype=np.int64),
        bound=np.zeros((most, BOUND_COLUMNS)),
        value=np.empty(numbers),
        where=np.empty(numbers, dtype=np.int64),
        slot=np.empty((most, SLOT_COLUMNS)),
        slot_child=np.empty(most, dtype=np.int64),
        child=np.empty(most, dtype=np.int64),
        chance=np.empty(most),
        vector=np.empty((policies * classes + 1024, VECTOR_COLUMNS), dtype=np.int64),
        share=np.zeros(policies * classes + 1024),
        alpha=np.concatenate([*first.vectors, np.empty(numbers)]),
        follower=np.empty(most, dtype=np.int64),
        entry=np.empty((1024, 2 + PROBES), dtype=np.int64),
        following=np.empty(1024, dtype=np.int64),
        possible=np.empty(1024, dtype=np.int64),
        fall=np.empty(1024),
        inverse=np.empty((1024, PROBES)),
        chain=np.full((classes, CHAIN_COLUMNS), -1),
        corner=first.corner.copy(),
        action=first.action,
        table=np.full(1 << 12, -1),
        used=np.zeros(PAUSES + 1, dtype=np.int64),
        dense=np.zeros(largest),
        after=np.zeros(settings.most_numbers + problem.symbols),
        spread=np.zeros(largest),
        path=np.zeros(LONGEST_WALK, dtype=np.int64),
        aims=np.array(AIMS if settings.planned else SMALL_AIMS),
        price=np.empty((most, hull)),
        mixture=np.empty((most, hull), dtype=np.int64),
        level=np.empty((most, hull)),
        square=np.zeros((hull, hull)),
        line=np.zeros((5, hull)),
        support=np.zeros((3, hull), dtype=np.int64),
        cloud=np.empty((STATES + hull, 1024)),
        cloud_node=np.empty(1024, dtype=np.int64),
        prices=np.empty(1024),
        fan=np.empty((1 + hull, fans + 1024)),
        fan_vector=np.empty(fans + 1024, dtype=np.int64),
        depths=np.empty(fans + 1024),
        tried=np.zeros(max(MOST_TRIED, hull), dtype=np.int64),
        recent=np.zeros((classes, 1 + RECENT), dtype=np.int64),
    )
    graph.chain[:, MOVES:] = 0
    graph.chain[:, FIRST_VECTOR] = np.arange(classes)
    graph.chain[:, LAST_VECTOR] = (policies - 1) * classes + np.arange(classes)
    number = np.arange(policies * classes)
    policy, home = np.divmod(number, classes)
    following = np.where(policy < policies - 1, number + classes, -1)
    places = policy * problem.slots + model.class_state[home]
    none = np.full_like(number, -1)
    rows = (following, home, np.concatenate(first.taken), places, np.ones_like(number), none, none)
    graph.vector[: len(number)] = np.stack(rows, axis=1)
    graph.used[VECTORS], graph.used[NUMBERS] = len(number), policies * problem.slots
    graph.used[FANS], graph.used[WIDEST] = fans, policies + LEAST_BLOCK
    graph.chain[small, FAN_BLOCK + BEGIN] = np.arange(int(small.sum())) * (policies + LEAST_BLOCK)
    graph.chain[small, FAN_BLOCK + WIDE] = policies + LEAST_BLOCK
    fan_out(model, graph)
    return graph


def enlarged(graph: Graph, settings: Settings, most: float) -> Graph | None:
    """`graph` with room for one more backup, as `with_room`."""
    block = 2 * int(graph.used[WIDEST]) + LEAST_BLOCK
    needs = {VALUES: settings.most_numbers, INDICES: settings.most_numbers, NUMBERS: 2 * settings.most_numbers}
    needs |= {CLOUDS: block, FANS: block}
    return with_room(graph, {counted: needs.get(counted, settings.most_children + 2) for counted in ROOM}, most)


def with_room(graph: Graph, needs: dict[int, int], most: float) -> Graph | None:
    """`graph` with twice the room wherever what is needed does not fit, or as much as there may be with `most` bytes in
    all; None where that is too little. While numbers are copied old and new are there, but of the new no more than
    that: memory is taken when it is written to."""
    for counted, need in needs.items():
        arrays = {name: getattr(graph, name) for name in ROOM[counted]}
        room, size = len(arrays[ROOM[counted][0]]), sum(array.nbytes for array in arrays.values())
        if graph.used[counted] + need < room:
            continue
        left = most - size_in_bytes(graph)
        length = int(min(2 * room + need, room + max(left, 0) * room / size))
        if size > left or graph.used[counted] + need >= length:
            return None
        bigger: dict[str, Any] = {
            name: _lengthened(array, length, axis=name in ("cloud", "fan")) for name, array in arrays.items()
        }
        graph = graph._replace(**bigger)
    return graph


def size_in_bytes(graph: Graph) -> int:
    """Memory of all arrays."""
    return sum(array.nbytes for array in graph)


def _lengthened(array: Array, length: int, axis: int) -> Array:
    """The same with more room along an axis."""
    bigger = np.empty((*array.shape[:axis], length, *array.shape[axis + 1 :]), dtype=array.dtype)
    bigger[(slice(None),) * axis + (slice(array.shape[axis]),)] = array
    return bigger
