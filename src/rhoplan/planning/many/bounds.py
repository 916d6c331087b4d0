"""The upper bound at a belief, as kernels look it up: which tests are left, what they allow, and the ceilings there."""

from __future__ import annotations

from typing import NamedTuple

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.many.ceilings import Ceilings, cell_of
from rhoplan.planning.many.machine import Model, compiled, wide

TESTS, SPENT, ROW = range(3)
"""Places in Standing.so_far: tests run and ticks spent since the root, and the row of the ceilings."""


NONE = wide(-1)
"""No kind of test, and no arm."""


class Standing(NamedTuple):
    """What a key of evidence comes to; scratch that kernels fill for one node after the other.

    runs (C,): of each kind since the root. left (C,): how often it can still be run. paid (G,): 1 where a first price
    is paid. so_far: see above. free (P,): what raised prices allow outside groups, within (P, G): in each group, allows
    (P,): in all. chosen (P,): the pairs in use, `using` of them. reliefs (P,), taken (S,): scratch.
    """

    runs: Ids
    left: Ids
    paid: Ids
    so_far: Ids
    free: Array
    within: Array
    allows: Array
    chosen: Ids
    using: Ids
    reliefs: Array
    taken: Ids


@compiled
def read_key(model: Model, ceilings: Ceilings, key: Ids, standing: Standing) -> None:
    """What may still be run after the evidence `key`, and what was paid for it."""
    tests, spent, row = 0, 0, 0
    for group in range(len(model.entry)):
        standing.paid[group] = 1 if model.paid[group] else 0
    for kind in range(len(model.price)):
        runs = 0
        for q in range(model.first[kind], model.first[kind + 1]):
            runs += (key[model.word[q]] >> model.shift[q]) & model.mask[q]
        left = model.copies[kind] - model.had[kind] - runs
        standing.runs[kind], standing.left[kind] = runs, left
        row += left * ceilings.radix[kind]
        tests += runs
        spent += runs * model.ticks[kind]
        group = model.group[kind]
        if runs > 0 and group >= 0 and standing.paid[group] == 0:
            standing.paid[group] = 1
            spent += model.entry_ticks[group]
    for kind in range(len(model.price)):
        for place in range(model.against[kind], model.against[kind + 1]):
            if standing.runs[model.rivals[place]] > 0:
                standing.left[kind] = 0
    standing.so_far[TESTS], standing.so_far[SPENT], standing.so_far[ROW] = tests, spent, row


@compiled
def may_run(model: Model, standing: Standing, kind: int) -> bool:
    """Whether a test of `kind` may be run now."""
    if standing.left[kind] <= 0:
        return False
    if model.caps[0] >= 0 and standing.so_far[TESTS] >= model.caps[0]:
        return False
    for need in range(model.before[kind], model.before[kind + 1]):
        met = False
        for place in range(model.either[need], model.either[need + 1]):
            met = met or standing.runs[model.needed[place]] > 0
        if not met:
            return False
    if model.caps[1] > 0:
        ticks, group = model.ticks[kind], model.group[kind]
        if group >= 0 and standing.paid[group] == 0:
            ticks += model.entry_ticks[group]
        if standing.so_far[SPENT] + ticks > model.caps[2]:
            return False
    return True


@compiled
def price_now(model: Model, standing: Standing, kind: int) -> float:
    """What a run of `kind` costs now."""
    group = model.group[kind]
    first: float = model.entry[group] if group >= 0 and standing.paid[group] == 0 else 0.0
    return first + float(model.price[kind])


@compiled
def add_up(model: Model, ceilings: Ceilings, standing: Standing) -> None:
    """Fill what raised prices allow, from what is left."""
    for pair in range(len(ceilings.states)):
        standing.free[pair] = 0.0
        for group in range(len(model.entry)):
            standing.within[pair, group] = 0.0
        for kind in range(len(model.price)):
            if standing.left[kind] <= 0:
                continue
            raised, group = ceilings.raised[pair, kind], model.group[kind]
            if raised > 0.0 and group < 0:
                standing.free[pair] += standing.left[kind] * raised
            elif raised > 0.0:
                standing.within[pair, group] += standing.left[kind] * raised


@compiled
def allow(model: Model, ceilings: Ceilings, standing: Standing, kind: int) -> None:
    """Fill `allows` for the pairs in use, for when one test of `kind` has been run too (-1 for none)."""
    group = model.group[kind] if kind >= 0 else -1
    for place in range(standing.using[0]):
        pair = standing.chosen[place]
        total = standing.free[pair] - (ceilings.raised[pair, kind] if kind >= 0 else 0.0)
        for other in range(len(model.entry)):
            within = standing.within[pair, other]
            total += within if standing.paid[other] > 0 or other == group else max(within - model.entry[other], 0.0)
        if model.caps[0] >= 0:
            tests = model.caps[0] - standing.so_far[TESTS] - (1 if kind >= 0 else 0)
            total = min(total, tests * ceilings.largest[pair])
        standing.allows[pair] = max(total, 0.0)


@compiled
def relief(model: Model, ceilings: Ceilings, standing: Standing, pair: int, kind: int, x: float, y: float) -> float:
    """How far below knowing everything for nothing the bound lies for weights x, y of the states of `pair`.

    After one run of `kind` more, or none where it is -1.
    """
    both = x + y
    if both <= 0.0:
        return 0.0
    known = x * ceilings.corner[ceilings.states[pair, 0]] + y * ceilings.corner[ceilings.states[pair, 1]]
    row = standing.so_far[ROW] - (ceilings.radix[kind] if kind >= 0 else 0)
    cell = cell_of(x, y, len(ceilings.width))
    low, high = ceilings.value[pair, row, cell], ceilings.value[pair, row, cell + 1]
    part = min(max((x / both - ceilings.share[cell]) * ceilings.width[cell], 0.0), 1.0)
    best = known - both * (standing.allows[pair] + low + part * (high - low))
    return float(max(best, 0.0))


@compiled
def choose_pairs(model: Model, ceilings: Ceilings, standing: Standing, belief: Array) -> None:
    """Pair the states up where that lowers the bound most, the largest relief first."""
    pairs = len(ceilings.states)
    standing.using[0] = pairs
    for pair in range(pairs):
        standing.chosen[pair] = pair
    if pairs <= 1:
        return
    allow(model, ceilings, standing, NONE)
    for pair in range(pairs):
        x, y = belief[ceilings.states[pair, 0]], belief[ceilings.states[pair, 1]]
        standing.reliefs[pair] = relief(model, ceilings, standing, pair, NONE, x, y) if x > 0.0 and y > 0.0 else 0.0
    for s in range(len(belief)):
        standing.taken[s] = 0
    standing.using[0] = 0
    while True:
        best, found = 0.0, -1
        for pair in range(pairs):
            free = standing.taken[ceilings.states[pair, 0]] + standing.taken[ceilings.states[pair, 1]] == 0
            if free and standing.reliefs[pair] > best:
                best, found = standing.reliefs[pair], pair
        if found < 0:
            return
        standing.taken[ceilings.states[found, 0]] = standing.taken[ceilings.states[found, 1]] = 1
        standing.chosen[standing.using[0]] = found
        standing.using[0] += 1


@compiled
def ceiling(model: Model, ceilings: Ceilings, standing: Standing, kind: int, belief: Array) -> float:
    """Upper bound on V - w H at `belief` after one run of `kind` more (-1 for none); `allow` was called for it."""
    total = 0.0
    for s in range(len(belief)):
        total += belief[s] * ceilings.corner[s]
    for place in range(standing.using[0]):
        pair = standing.chosen[place]
        x, y = belief[ceilings.states[pair, 0]], belief[ceilings.states[pair, 1]]
        total -= relief(model, ceilings, standing, pair, kind, x, y)
    return total
