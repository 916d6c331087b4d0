"""Trials: walks down the belief graph to where the bounds are furthest apart, and backups on the way back.

At each node the action is the one of the largest upper bound; an action is worked out (its children made) only once it
is that. The outcome is the one whose child leaves most open, weighed by its probability; no walk goes in circles, for
what a circle gives is carried on by `settle`. A walk ends where the gap is no more than what the root can bear, then
each node on the way back is backed up: from above its best actions, from below by a new vector where that is better
than all there are.

In larger problems some trials follow the plan of the lower bound instead: else it stays where it is. Some of these look
at all actions on their way, for the best from below may be one that the upper bound never asks for, and draw outcomes
as they would fall. Where a trial has become long, the next may begin at a leaner belief than its last: see `lean`.
"""

from __future__ import annotations

import numpy as np

from rhoplan.planning.certified.pointbased.above import add_point, lower_upper, taken_again
from rhoplan.planning.certified.pointbased.below import raise_lower
from rhoplan.planning.certified.pointbased.blocks import LEAST_BLOCK
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.graph import (
    ABOVE,
    BACKUPS,
    BEGUN,
    BELOW,
    BEST,
    CHILDREN,
    CLOUDS,
    ENTRIES,
    ENTROPY,
    FANS,
    FOLLOWERS,
    GAP,
    HOME,
    INDICES,
    LOWER,
    NODES,
    NUMBERS,
    PAID,
    ROOT,
    SLOT,
    SLOTS,
    START,
    TRIALS,
    UPPER,
    VALUES,
    VECTOR_PAIR,
    VECTORS,
    WALKED,
    WIDEST,
    WORK,
    Graph,
    Settings,
    find_node,
    unfold,
    weigh,
)
from rhoplan.planning.certified.pointbased.hull import lower_by_hull
from rhoplan.planning.certified.pointbased.lean import choose_start, refreshed_gap
from rhoplan.planning.certified.pointbased.machine import compiled, entropy
from rhoplan.planning.certified.pointbased.vectors import link_vector, make_vector, project

WORTH_A_HULL = 10
"""A child's hull is worked out where it can matter by this many times what makes a new point."""

SLACK = 0.1
"""A point that lies below a hull by less than this share of what makes a new point is not mixed in."""

PLAN_AIM = 0.1
"""The gap that a trial which follows the plan leaves at the root, as a share of the gap there is."""

LOOK_AROUND, HOPEFUL = 2, 0.15
"""One in so many of these trials looks at all actions on its way, and so often takes the one of the largest upper bound
all the same. In eight seconds Tag came to -6.000 so, and to -6.054 without."""

DONE, PAUSED, FULL = range(3)
"""What a call came to: the gap is reached, the work allowed is done, or an array is full."""


@compiled
def has_room(graph: Graph, settings: Settings) -> bool:
    """Whether one more backup fits into the arrays, whatever it adds."""
    used = graph.used
    fits: bool = (
        used[NODES] + settings.most_children + 2 < len(graph.node)
        and used[VALUES] + settings.most_numbers < len(graph.value)
        and used[INDICES] + settings.most_numbers < len(graph.where)
        and used[SLOTS] + settings.most_children + 2 < len(graph.slot)
        and used[CHILDREN] + settings.most_children + 2 < len(graph.child)
        and used[VECTORS] + settings.most_children + 2 < len(graph.vector)
        and used[NUMBERS] + 2 * settings.most_numbers < len(graph.alpha)
        and used[FOLLOWERS] + settings.most_children + 2 < len(graph.follower)
        and used[ENTRIES] + settings.most_children + 2 < len(graph.entry)
        and used[CLOUDS] + 2 * used[WIDEST] + LEAST_BLOCK < len(graph.cloud_node)
        and used[FANS] + 2 * used[WIDEST] + LEAST_BLOCK < len(graph.fan_vector)
    )
    return fits


@compiled
def open_node(model: Model, graph: Graph, node: int, potential: float) -> None:
    """Give `node` its slots: each action worth what the first bounds say."""
    home, first = graph.node[node, HOME], graph.used[SLOTS]
    graph.node[node, SLOT] = first
    for pair in range(model.class_pair[home], model.class_pair[home + 1]):
        slot = first + pair - model.class_pair[home]
        above = weigh(graph, graph.action, model.pair_reward[pair], node)
        graph.slot[slot, ABOVE] = above + potential * graph.bound[node, ENTROPY]
        graph.slot[slot, BELOW] = -np.inf
        graph.slot_child[slot] = -1
    graph.used[SLOTS] += model.class_pair[home + 1] - model.class_pair[home]


@compiled
def expand(model: Model, graph: Graph, node: int, pair: int, settings: Settings) -> None:
    """Make the children of `node` by `pair`."""
    home = graph.node[node, HOME]
    size = model.class_state[home + 1] - model.class_state[home]
    slot, weight = graph.node[node, SLOT] + pair - model.class_pair[home], settings.weight
    first = graph.used[CHILDREN]
    graph.slot_child[slot] = first
    graph.slot[slot, PAID] = weigh(graph, model.reward, model.pair_reward[pair], node)
    unfold(graph, node, graph.spread, size)
    ahead, later, only, tells = 0.0, 0.0, -2, False
    predicted = settings.most_numbers
    if weight > 0.0:
        for symbol in range(settings.symbols):
            graph.after[predicted + symbol] = 0.0
    for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
        target = model.branch_target[branch]
        place = first + branch - model.pair_branch[pair]
        over = model.class_pair[target] == model.class_pair[target + 1]
        graph.child[place], graph.chance[place] = -1, 0.0
        if over and weight == 0.0:
            continue
        wide, base = model.class_state[target + 1] - model.class_state[target], model.class_state[target]
        total = project(model, graph, branch, graph.spread, size, graph.after)
        if total <= 0.0:
            continue
        if weight > 0.0:
            for s in range(wide):
                graph.after[predicted + model.symbol[base + s]] += graph.after[s]
        for s in range(wide):
            graph.after[s] /= total
        graph.chance[place] = total
        child = -1
        if over:
            later += total * entropy(graph.after, 0, wide)
        else:
            child = find_node(model, graph, target, graph.after, settings.potential)
            graph.child[place] = child
            later += total * graph.bound[child, ENTROPY]
        tells = tells or only == -1 or (only >= 0 and child != only)
        only = child
    graph.used[CHILDREN] += model.pair_branch[pair + 1] - model.pair_branch[pair]
    if weight > 0.0 and tells:  # what always leads to the same belief pays nothing, not even by rounding
        ahead = entropy(graph.after, predicted, settings.symbols)
        graph.slot[slot, PAID] += weight * max(ahead - later, 0.0)


@compiled
def look_up(model: Model, graph: Graph, node: int, pair: int, slot: int, settings: Settings) -> float:
    """The upper bound of an expanded action of `node`, its children brought up to date."""
    total, stays = graph.slot[slot, PAID] + settings.outward, 0.0
    slack = SLACK * settings.coarse * graph.bound[ROOT, GAP]
    first = graph.slot_child[slot]
    for place in range(first, first + model.pair_branch[pair + 1] - model.pair_branch[pair]):
        child = graph.child[place]
        if child == node and graph.node[node, BEGUN] == 1:  # elsewhere it is settled now and then
            stays += settings.discount * graph.chance[place]
        elif child >= 0:
            lower_upper(model, graph, child, settings.potential)
            apart = graph.bound[child, UPPER] - graph.bound[child, LOWER]
            if graph.chance[place] * apart > WORTH_A_HULL * settings.coarse * graph.bound[ROOT, GAP]:
                lower_by_hull(model, graph, child, settings, slack)
            total += settings.discount * graph.chance[place] * graph.bound[child, UPPER]
    total = taken_again(total, stays, graph.bound[node, UPPER], settings.rounding)
    graph.slot[slot, ABOVE] = min(graph.slot[slot, ABOVE], total)
    return float(graph.slot[slot, ABOVE])


@compiled
def look_down(model: Model, graph: Graph, pair: int, slot: int, settings: Settings) -> float:
    """The lower bound of an expanded action, its children brought up to date."""
    total = graph.slot[slot, PAID] - settings.outward
    first = graph.slot_child[slot]
    for place in range(first, first + model.pair_branch[pair + 1] - model.pair_branch[pair]):
        child = graph.child[place]
        if child >= 0:
            raise_lower(model, graph, child, settings.potential)
            total += settings.discount * graph.chance[place] * graph.bound[child, LOWER]
    graph.slot[slot, BELOW] = total
    return float(total)


@compiled
def backup_above(model: Model, graph: Graph, node: int, settings: Settings) -> int:
    """Back the upper bound of `node` up; the pair of the largest upper bound, which is expanded."""
    home = graph.node[node, HOME]
    if graph.node[node, SLOT] < 0:
        open_node(model, graph, node, settings.potential)
    first, pairs = graph.node[node, SLOT], model.class_pair[home + 1] - model.class_pair[home]
    settled, best = -1, 0
    while True:
        best = 0
        for action in range(1, pairs):
            if graph.slot[first + action, ABOVE] > graph.slot[first + best, ABOVE]:
                best = action
        if best == settled:
            break
        if graph.slot_child[first + best] < 0:
            expand(model, graph, node, model.class_pair[home] + best, settings)
        look_up(model, graph, node, model.class_pair[home] + best, first + best, settings)
        settled = best
    bound = graph.bound[node]
    lower_upper(model, graph, node, settings.potential)
    lower_by_hull(model, graph, node, settings, SLACK * settings.coarse * graph.bound[ROOT, GAP])
    if graph.slot[first + best, ABOVE] < bound[UPPER]:
        fall = bound[UPPER] - graph.slot[first + best, ABOVE]
        bound[UPPER] = graph.slot[first + best, ABOVE]
        if fall > settings.coarse * graph.bound[ROOT, GAP]:
            add_point(model, graph, node, settings.potential)
    return int(model.class_pair[home] + best)


@compiled
def backup_below(model: Model, graph: Graph, node: int, likely: int, settings: Settings) -> None:
    """Back the lower bound of `node` up by the better of `likely` and the action that was best so far."""
    home, first = graph.node[node, HOME], graph.node[node, SLOT]
    raise_lower(model, graph, node, settings.potential)
    pairs = model.class_pair[home + 1] - model.class_pair[home]
    best = likely - model.class_pair[home]
    look_down(model, graph, likely, first + best, settings)
    other = best
    for action in range(pairs):
        if graph.slot[first + action, BELOW] > graph.slot[first + other, BELOW]:
            other = action
    if other != best:
        look_down(model, graph, model.class_pair[home] + other, first + other, settings)
        if graph.slot[first + other, BELOW] > graph.slot[first + best, BELOW]:
            best = other
    if graph.slot[first + best, BELOW] > graph.bound[node, LOWER] + settings.fine * graph.bound[ROOT, GAP]:
        link_vector(model, graph, make_vector(model, graph, node, model.class_pair[home] + best, settings))
        raise_lower(model, graph, node, settings.potential)


@compiled
def planned(model: Model, graph: Graph, node: int, likely: int, settings: Settings) -> int:
    """The pair that the plan of the lower bound takes at `node`, which is expanded; `likely` where it has no choice."""
    raise_lower(model, graph, node, settings.potential)
    pair = graph.vector[graph.node[node, BEST], VECTOR_PAIR]
    if pair < 0:
        return likely
    slot = graph.node[node, SLOT] + pair - model.class_pair[graph.node[node, HOME]]
    if graph.slot_child[slot] < 0:
        expand(model, graph, node, pair, settings)
    look_down(model, graph, pair, slot, settings)
    return int(pair)


@compiled
def drawn(trial: int, number: int) -> float:
    """A number from 0 to 1 as if by chance, always the same for the same two."""
    mixed = np.uint64(trial) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(number) * np.uint64(0xD1B54A32D192ED03)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float(np.int64((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11))) * 2.0**-53


@compiled
def look_at_all(model: Model, graph: Graph, node: int, likely: int, settings: Settings) -> int:
    """The pair of the largest lower bound at `node`; all that are not ruled out are expanded for it, `likely` is."""
    home, first = graph.node[node, HOME], graph.node[node, SLOT]
    best = likely - model.class_pair[home]
    raise_lower(model, graph, node, settings.potential)
    for action in range(model.class_pair[home + 1] - model.class_pair[home]):
        if graph.slot[first + action, ABOVE] >= graph.bound[node, LOWER]:
            pair = model.class_pair[home] + action
            if graph.slot_child[first + action] < 0:
                expand(model, graph, node, pair, settings)
            look_down(model, graph, pair, first + action, settings)
        if graph.slot[first + action, BELOW] > graph.slot[first + best, BELOW]:
            best = action
    return int(model.class_pair[home] + best)


@compiled
def run_trials(model: Model, graph: Graph, settings: Settings) -> int:
    """Trials until the gap of the root is reached, the work allowed is done, or there is no more room."""
    graph.used[WORK] = 0
    while graph.used[WORK] < settings.work:
        if not has_room(graph, settings):
            return FULL
        open_gap = refreshed_gap(model, graph, ROOT, settings.potential)
        if open_gap <= settings.gap:
            return DONE
        graph.bound[ROOT, GAP] = open_gap
        trial = graph.used[TRIALS] + 1
        start = graph.used[START]
        apart = refreshed_gap(model, graph, start, settings.potential)
        follows = start == ROOT and settings.planned > 0 and trial % settings.planned == 0
        looks_around = follows and trial % (LOOK_AROUND * settings.planned) == 0
        bear = (PLAN_AIM if follows else graph.aims[graph.used[TRIALS] % len(graph.aims)]) * apart
        nodes, upper, lower = graph.used[NODES], graph.bound[ROOT, UPPER], graph.bound[ROOT, LOWER]
        depth = walk(model, graph, settings, start, bear, follows, looks_around)
        if depth < 0 or not has_room(graph, settings):
            return FULL
        if not follows:
            graph.used[START] = choose_start(model, graph, settings, start, apart, depth)
        still = nodes == graph.used[NODES] and (upper, lower) == (graph.bound[ROOT, UPPER], graph.bound[ROOT, LOWER])
        if still and settings.discount == 1.0:  # it may have gone round for nothing, and so may all others
            return PAUSED
    return PAUSED


@compiled
def walk(
    model: Model, graph: Graph, settings: Settings, start: int, bear: float, follows: bool, looks_around: bool
) -> int:
    """One trial from node `start`, which ends where the gap is no more than it can bear; its steps, -1 where there was
    no room."""
    node, depth, trial = start, 0, graph.used[TRIALS] + 1
    while depth < len(graph.path) - 1 and graph.used[WORK] < settings.longest:
        if not has_room(graph, settings):
            return -1
        graph.path[depth], graph.node[node, WALKED] = node, trial
        graph.used[WORK] += 100
        depth += 1
        pair = backup_above(model, graph, node, settings)
        if looks_around:
            best = look_at_all(model, graph, node, pair, settings)
            pair = pair if drawn(trial, 2 * depth) < HOPEFUL else best
        elif follows:
            pair = planned(model, graph, node, pair, settings)
        home = graph.node[node, HOME]
        first = graph.slot_child[graph.node[node, SLOT] + pair - model.class_pair[home]]
        going = 0.0
        for place in range(first, first + model.pair_branch[pair + 1] - model.pair_branch[pair]):
            if graph.child[place] >= 0:
                going += graph.chance[place]
        bear /= settings.discount * max(going, 1e-9)
        most, follow, draw = 0.0, -1, going * drawn(trial, 2 * depth + 1)
        for place in range(first, first + model.pair_branch[pair + 1] - model.pair_branch[pair]):
            child = graph.child[place]
            much = graph.chance[place]
            if child >= 0 and looks_around:  # the one that the draw falls on, and no other
                draw -= much
                much = 1.0 if draw <= 0.0 < draw + much else 0.0
            if child >= 0 and much > 0.0 and graph.node[child, WALKED] != trial:
                raise_lower(model, graph, child, settings.potential)
                excess = much * (graph.bound[child, UPPER] - graph.bound[child, LOWER] - bear)
                if excess > most:
                    most, follow = excess, child
        if follow < 0:
            break
        node = follow
    for step in range(depth - 1, -1, -1):
        if not has_room(graph, settings):
            return -1
        pair = backup_above(model, graph, graph.path[step], settings)
        if looks_around:
            pair = look_at_all(model, graph, graph.path[step], pair, settings)
        backup_below(model, graph, graph.path[step], pair, settings)
        graph.used[BACKUPS] += 1
    graph.used[TRIALS] += 1
    return depth
