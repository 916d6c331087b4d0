"""The search: heuristic search value iteration (HSVI2; Smith and Simmons 2005) on W = V - c w H.

A trial walks down from the start. At each node it takes the action of the largest upper bound and the observation whose
child has the largest excess gap; on its way back it backs up both bounds of every node. One trial in `planned` follows
the policy of the lower bound instead, and every second one of these looks at all actions and draws the observations:
the lower bound would otherwise stay where it is in large problems. After a long trial, others begin at the belief where
it ended, without the states that hardly matter there.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array
from rhoplan.planning.solver.blocks import LANES
from rhoplan.planning.solver.jit import entry_point, kernel
from rhoplan.planning.solver.lower import add_vector, refresh_lower
from rhoplan.planning.solver.settings import Parameters
from rhoplan.planning.solver.tabular import Tabular
from rhoplan.planning.solver.tree import ROOT, Tree, class_size, expand, find_node, open_node, unfold
from rhoplan.planning.solver.upper import add_point, refresh_upper

DONE, PAUSED, FULL = range(3)
"""How a call ended: the gap is reached, the work of a slice is done, or an array is full."""


@kernel
def has_room(tree: Tree, parameters: Parameters) -> bool:
    """Whether the arrays hold what one more backup adds at most."""
    counts, rows, numbers = tree.counts[0], parameters.most_children + 2, parameters.most_numbers
    return bool(
        counts.nodes + rows < len(tree.nodes)
        and counts.beliefs + numbers < len(tree.mass)
        and counts.actions + rows < len(tree.actions)
        and counts.children + rows < len(tree.child)
        and counts.vectors + rows < len(tree.vectors)
        and counts.followers + rows < len(tree.follower)
        and counts.hulls + numbers < len(tree.basis)
        and tree.alpha.used[0] + 2 < len(tree.alpha.blocks)
        and tree.alpha.used[1] + LANES * len(tree.dense) < len(tree.alpha.numbers)
        and tree.points.used[0] + 2 < len(tree.points.blocks)
        and tree.points.used[1] + LANES * len(tree.dense) < len(tree.points.numbers)
    )


@kernel
def back_up_upper_action(
    tabular: Tabular, tree: Tree, own: int, action: int, parameters: Parameters, gap: float
) -> None:
    """Back up the upper bound of an expanded action."""
    total, least = tree.actions[own].reward + parameters.outward, parameters.settings.point_share * gap
    place = tree.actions[own].first_child
    for _ in range(tabular.actions[action].first_branch, tabular.actions[action + 1].first_branch):
        child = tree.child[place]
        if child >= 0:
            node = tree.nodes[child]
            is_open = tree.probability[place] * (node.upper - node.lower) > parameters.settings.worth_a_hull * least
            if is_open or class_size(tabular, node.class_) > parameters.settings.hull_states:
                refresh_upper(tabular, tree, child, parameters, parameters.settings.slack * least)
            total += parameters.discount * tree.probability[place] * node.upper
        place += 1
    tree.actions[own].upper = min(tree.actions[own].upper, total)


@kernel
def back_up_lower_action(tabular: Tabular, tree: Tree, own: int, action: int, parameters: Parameters) -> float:
    """The lower bound of an expanded action, its children brought up to date."""
    total = tree.actions[own].reward - parameters.outward
    place = tree.actions[own].first_child
    for _ in range(tabular.actions[action].first_branch, tabular.actions[action + 1].first_branch):
        child = tree.child[place]
        if child >= 0:
            refresh_lower(tree, child, parameters.convexity)
            total += parameters.discount * tree.probability[place] * tree.nodes[child].lower
        place += 1
    tree.actions[own].lower = total
    return float(total)


@kernel
def back_up_upper(tabular: Tabular, tree: Tree, index: int, parameters: Parameters, gap: float) -> int:
    """Back up the upper bound of a node; the action of the largest upper bound, which is expanded."""
    node = tree.nodes[index]
    if node.first_action < 0:
        open_node(tabular, tree, index, parameters.convexity)
    first, begin = node.first_action, tabular.classes[node.class_].first_action
    count, settled, best = tabular.classes[node.class_ + 1].first_action - begin, -1, 0
    while True:
        best = 0
        for place in range(1, count):
            if tree.actions[first + place].upper > tree.actions[first + best].upper:
                best = place
        if best == settled:
            break
        if tree.actions[first + best].first_child < 0:
            expand(tabular, tree, index, begin + best, parameters)
        back_up_upper_action(tabular, tree, first + best, begin + best, parameters, gap)
        settled = best
    refresh_upper(tabular, tree, index, parameters, parameters.settings.slack * parameters.settings.point_share * gap)
    drop = node.upper - tree.actions[first + best].upper
    if drop > 0.0:
        node.upper = tree.actions[first + best].upper
        if drop > parameters.settings.point_share * gap:
            add_point(tabular, tree, index, parameters.convexity)
    return int(begin + best)


@kernel
def back_up_lower(tabular: Tabular, tree: Tree, index: int, action: int, parameters: Parameters, gap: float) -> None:
    """Back up the lower bound of a node by the better of `action` and the action that was best so far."""
    node = tree.nodes[index]
    refresh_lower(tree, index, parameters.convexity)
    first, begin = node.first_action, tabular.classes[node.class_].first_action
    best, value = action, back_up_lower_action(tabular, tree, first + action - begin, action, parameters)
    other, most = action, value
    for candidate in range(begin, tabular.classes[node.class_ + 1].first_action):
        if tree.actions[first + candidate - begin].lower > most:
            other, most = candidate, tree.actions[first + candidate - begin].lower
    if other != action:
        most = back_up_lower_action(tabular, tree, first + other - begin, other, parameters)
        if most > value:
            best, value = other, most
    if value > node.lower + parameters.settings.vector_share * gap:
        add_vector(tabular, tree, index, best, parameters)
        refresh_lower(tree, index, parameters.convexity)


@kernel
def planned_action(tabular: Tabular, tree: Tree, index: int, likely: int, parameters: Parameters) -> int:
    """The action of the best vector at a node, which is expanded; `likely` if that vector takes any action."""
    refresh_lower(tree, index, parameters.convexity)
    node = tree.nodes[index]
    action = tree.vectors[node.best_vector].action
    if action < 0:
        return likely
    own = node.first_action + action - tabular.classes[node.class_].first_action
    if tree.actions[own].first_child < 0:
        expand(tabular, tree, index, action, parameters)
    back_up_lower_action(tabular, tree, own, action, parameters)
    return int(action)


@kernel
def best_lower_action(tabular: Tabular, tree: Tree, index: int, likely: int, parameters: Parameters) -> int:
    """The action of the largest lower bound at a node, after all that are not ruled out were expanded."""
    refresh_lower(tree, index, parameters.convexity)
    node = tree.nodes[index]
    begin, best = tabular.classes[node.class_].first_action, likely
    for action in range(begin, tabular.classes[node.class_ + 1].first_action):
        own = node.first_action + action - begin
        if tree.actions[own].upper >= node.lower:
            if tree.actions[own].first_child < 0:
                expand(tabular, tree, index, action, parameters)
            back_up_lower_action(tabular, tree, own, action, parameters)
        if tree.actions[own].lower > tree.actions[node.first_action + best - begin].lower:
            best = action
    return int(best)


@kernel
def pseudo_random(trial: int, number: int) -> float:
    """A number between 0 and 1, the same for the same arguments."""
    mixed = np.uint64(trial) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(number) * np.uint64(0xD1B54A32D192ED03)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float(np.int64((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11))) * 2.0**-53


@kernel
def run_trial(
    tabular: Tabular, tree: Tree, start: int, parameters: Parameters, gap: float, aim: float, follows: bool, looks: bool
) -> int:
    """One trial from node `start` that leaves a gap of `aim` there; its length, -1 if an array was full."""
    counts, index, depth = tree.counts[0], start, 0
    trial, end = counts.trials + 1, counts.work + parameters.settings.trial_work
    while depth < len(tree.path) and counts.work < end:
        if not has_room(tree, parameters):
            counts.trials += 1  # the next one may come through these nodes again
            return -1
        tree.path[depth], tree.nodes[index].trial = index, trial
        depth += 1
        counts.work += 100
        action = back_up_upper(tabular, tree, index, parameters, gap)
        if looks:
            best = best_lower_action(tabular, tree, index, action, parameters)
            action = action if pseudo_random(trial, 2 * depth) < parameters.settings.hopeful else best
        elif follows:
            action = planned_action(tabular, tree, index, action, parameters)
        class_ = tree.nodes[index].class_
        first = tree.actions[tree.nodes[index].first_action + action - tabular.classes[class_].first_action].first_child
        end_child = first + tabular.actions[action + 1].first_branch - tabular.actions[action].first_branch
        going = 0.0
        for place in range(first, end_child):
            if tree.child[place] >= 0:
                going += tree.probability[place]
        aim /= parameters.discount * max(going, 1e-9)
        most, following, draw = 0.0, -1, going * pseudo_random(trial, 2 * depth + 1)
        for place in range(first, end_child):
            child, chance = tree.child[place], tree.probability[place]
            if child < 0:
                continue
            if looks:  # only the observation on which the draw falls
                draw -= chance
                chance = 1.0 if draw <= 0.0 < draw + chance else 0.0
            if chance > 0.0 and tree.nodes[child].trial != trial:
                refresh_lower(tree, child, parameters.convexity)
                excess = chance * (tree.nodes[child].upper - tree.nodes[child].lower - aim)
                if excess > most:
                    most, following = excess, child
        if following < 0:
            break
        index = following
    for step in range(depth - 1, -1, -1):
        if not has_room(tree, parameters):
            counts.trials += 1
            return -1
        action = back_up_upper(tabular, tree, tree.path[step], parameters, gap)
        if looks:
            action = best_lower_action(tabular, tree, tree.path[step], action, parameters)
        back_up_lower(tabular, tree, tree.path[step], action, parameters, gap)
        counts.backups += 1
    counts.trials += 1
    return depth


@kernel
def refreshed_gap(tabular: Tabular, tree: Tree, index: int, parameters: Parameters) -> float:
    """The gap of a node after both bounds were brought up to date."""
    refresh_upper(tabular, tree, index, parameters, 0.0)
    refresh_lower(tree, index, parameters.convexity)
    return float(tree.nodes[index].upper - tree.nodes[index].lower)


@kernel
def next_start(tabular: Tabular, tree: Tree, parameters: Parameters, start: int, before: float, depth: int) -> int:
    """Where the next trial begins, after one of `depth` steps from `start`, where the gap was `before`: at the root, or
    after a long trial at the belief where it ended, without the states that hardly matter there."""
    counts = tree.counts[0]
    if start != ROOT:
        if refreshed_gap(tabular, tree, start, parameters) > parameters.settings.pays * before:
            counts.pauses = min(2 * counts.pauses + 1, 3)
            counts.pause = counts.pauses
            return ROOT
        counts.pauses = 0
    elif counts.pause > 0:
        counts.pause -= 1
        return ROOT
    return (
        truncated(tabular, tree, parameters, tree.path[depth - 1]) if depth > parameters.settings.long_trial else ROOT
    )


@kernel
def truncated(tabular: Tabular, tree: Tree, parameters: Parameters, index: int) -> int:
    """The belief of a node without the states that together hardly count for its gap; the root if every one counts."""
    class_ = tree.nodes[index].class_
    size = class_size(tabular, class_)
    gap = refreshed_gap(tabular, tree, index, parameters)
    most = parameters.settings.left_out * min(gap / max(parameters.span, 1e-300), 1.0)
    belief = tree.line[1]
    unfold(tree, index, size, belief)
    least, left_out = 2.0 * most, 2.0 * most
    while left_out > most:
        least *= 0.5
        left_out = 0.0
        for s in range(size):
            left_out += belief[s] if belief[s] < least else 0.0
    if left_out <= 0.0:
        return ROOT
    for s in range(size):
        belief[s] = belief[s] / (1.0 - left_out) if belief[s] >= least else 0.0
    found = find_node(tabular, tree, class_, belief, parameters.convexity)
    tree.nodes[found].is_start = 1
    return int(found)


@entry_point
def run_trials(tabular: Tabular, tree: Tree, parameters: Parameters) -> int:
    """Trials until the gap is reached, the work of a slice is done, or an array is full."""
    counts = tree.counts[0]
    counts.work = 0
    while counts.work < parameters.settings.slice_work:
        if not has_room(tree, parameters):
            return FULL
        gap = refreshed_gap(tabular, tree, ROOT, parameters)
        if gap <= parameters.gap:
            return DONE
        trial, start = counts.trials + 1, counts.start
        before = gap if start == ROOT else refreshed_gap(tabular, tree, start, parameters)
        follows = start == ROOT and parameters.settings.planned > 0 and trial % parameters.settings.planned == 0
        looks = follows and trial % (2 * parameters.settings.planned) == 0
        aim = before * (parameters.settings.aims[0] if trial % 2 == 1 else parameters.settings.aims[1])
        if follows:
            aim = before * parameters.settings.planned_aim
        depth = run_trial(tabular, tree, start, parameters, gap, aim, follows, looks)
        if depth < 0 or not has_room(tree, parameters):
            return FULL
        if not follows:
            counts.start = next_start(tabular, tree, parameters, start, before, depth)
    return PAUSED


@entry_point
def start_at(tabular: Tabular, tree: Tree, class_: int, belief: Array, parameters: Parameters) -> int:
    """The node of a belief. There must be room for it."""
    return find_node(tabular, tree, class_, belief, parameters.convexity)


@entry_point
def refresh(tabular: Tabular, tree: Tree, index: int, parameters: Parameters) -> None:
    """Bring both bounds of a node up to date."""
    refreshed_gap(tabular, tree, index, parameters)
