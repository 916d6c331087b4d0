"""MCTS-EFE: UCB1 over beliefs with all outcomes enumerated: simulations of `TreeSearch(method="mcts")`.

    Q(k) = r_k(b) + w * I_k(b) + discount * sum_o P(o | b, k) V(b_o),   V(b) = max( best ending, best expanded arm )

The recursion of `planning.exact`, grown where UCB1 looks. Ending actions are not arms: their expected reward is known.
A simulation goes down by UCB1 and, past an expanded arm, to an outcome by its probability, until it meets an arm that
is not expanded; it makes all children of that arm, values each by one greedy rollout, and takes maxima on the way back.
A node is solved when it stands at the depth limit, or when all children of all its arms are solved. Solved parts are
not visited again, and once the root is solved every value is that of the exact planner.
"""

from __future__ import annotations

import numpy as np

import rhoplan.planning.search.kernels as kernels
from rhoplan.model.pomdp import Array
from rhoplan.planning.machine import compiled
from rhoplan.planning.search.kernels import Model, Settings, Tree, Work


@compiled
def mcts(model: Model, tree: Tree, work: Work, settings: Settings, simulations: int) -> int:
    """Run up to `simulations`; how many were done."""
    for done in range(simulations):
        if tree.nodes[0, kernels.SOLVED] == 1 or not kernels.has_room(tree, work, settings):
            return done
        before = work.rng[0]
        if not deepen(model, tree, work, settings):
            work.rng[0] = before
            return done
    return simulations


@compiled
def deepen(model: Model, tree: Tree, work: Work, settings: Settings) -> bool:
    """One simulation: expand one arm somewhere. False, with no visit counted, where a menu is missing."""
    work.path[0, 0] = 0
    steps = 0
    while True:
        node = work.path[steps, 0]
        visible = tree.nodes[node, kernels.VISIBLE]
        if model.menus[visible, kernels.READY] == 0:
            work.counters[kernels.MISSING] = visible
            return False
        going = model.menus[visible, kernels.GOING]
        if tree.nodes[node, kernels.ARMS] < 0:
            kernels.open_node(model, tree, work, node, going)
        arm = kernels.select(tree, node, going, settings.exploration)
        work.path[steps, 1] = arm
        steps += 1
        action = model.menus[visible, kernels.START] + arm
        if tree.arms[tree.nodes[node, kernels.ARMS] + arm, kernels.COUNT] == 0.0:
            if not expand(model, tree, work, settings, node, action, steps):
                return False
            break
        slot = kernels.child_slot(model, tree, node, action)
        work.path[steps, 0] = unsolved_child(
            tree, slot, model.actions[action, kernels.OUTCOMES], kernels.uniform(work.rng)
        )
    for step in range(steps - 1, -1, -1):
        back_up(model, tree, work.path[step, 0], work.path[step, 1], settings.discount)
    return True


@compiled
def unsolved_child(tree: Tree, slot: int, outcomes: int, chance: float) -> int:
    """The unsolved one of the children at `slot` that `chance` in [0, 1) picks, in proportion to their probability."""
    total = 0.0
    for place in range(slot, slot + outcomes):
        child = tree.children[place]
        if child >= 0 and tree.nodes[child, kernels.SOLVED] == 0:
            total += tree.worth[child, kernels.CHANCE]
    left, picked = chance * total, -1
    for place in range(slot, slot + outcomes):
        child = tree.children[place]
        if child >= 0 and tree.nodes[child, kernels.SOLVED] == 0:
            picked = child
            left -= tree.worth[child, kernels.CHANCE]
            if left < 0.0:
                break
    return int(picked)


@compiled
def expand(model: Model, tree: Tree, work: Work, settings: Settings, node: int, action: int, steps: int) -> bool:
    """Make a child, `steps` actions below the root, for each outcome of `action` that is possible and goes on."""
    width = len(work.belief)
    base, row = node * width, model.actions[action, kernels.ROW]
    slot, target = kernels.child_slot(model, tree, node, action), model.actions[action, kernels.TARGET]
    fresh = work.counters[kernels.NODES_USED]
    for outcome in range(model.actions[action, kernels.OUTCOMES]):
        tree.children[slot + outcome] = -1
        visible, start = model.targets[target + outcome], fresh * width
        if visible < 0:
            continue
        kernels.copy(tree.beliefs, base, tree.beliefs, start, width)
        chance = kernels.update(model, action, outcome, tree.beliefs, base + row, tree.beliefs, start + row, work.rows)
        if chance <= 0.0:
            continue
        kernels.place_node(model, tree, fresh, visible, chance)
        stop = tree.worth[fresh, kernels.STOP]
        if steps == settings.depth or model.menus[visible, kernels.GOING] == 0:
            tree.nodes[fresh, kernels.SOLVED] = 1
            tree.worth[fresh, kernels.VALUE] = stop if tree.nodes[fresh, kernels.BEST] >= 0 else 0.0
        else:
            kernels.copy(tree.beliefs, start, work.belief, 0, width)
            guess = rollout(model, work, settings, visible, steps)
            if np.isnan(guess):
                return False
            tree.worth[fresh, kernels.VALUE] = max(stop, guess)
        tree.children[slot + outcome] = fresh
        fresh += 1
    work.counters[kernels.NODES_USED] = fresh
    arm = tree.nodes[node, kernels.ARMS] + action - model.menus[tree.nodes[node, kernels.VISIBLE], kernels.START]
    tree.arms[arm, kernels.PAY] = pay(model, action, tree.beliefs, base, settings.weight, work.rows)
    return True


@compiled
def back_up(model: Model, tree: Tree, node: int, arm: int, discount: float) -> None:
    """Count a visit of `arm`, and bring its value and that of `node` up to date with what lies below."""
    visible, first = tree.nodes[node, kernels.VISIBLE], tree.nodes[node, kernels.ARMS]
    action, going = model.menus[visible, kernels.START] + arm, model.menus[visible, kernels.GOING]
    slot, taken = kernels.child_slot(model, tree, node, action), first + arm
    later, closed = 0.0, 1
    for place in range(slot, slot + model.actions[action, kernels.OUTCOMES]):
        child = tree.children[place]
        if child >= 0:
            later += tree.worth[child, kernels.CHANCE] * tree.worth[child, kernels.VALUE]
            closed &= tree.nodes[child, kernels.SOLVED]
    tree.arms[taken, kernels.MEAN], tree.arms[taken, kernels.CLOSED] = (
        tree.arms[taken, kernels.PAY] + discount * later,
        closed,
    )
    tree.arms[taken, kernels.COUNT] += 1.0
    tree.arms[taken, kernels.WIDTH] = 1.0 / np.sqrt(tree.arms[taken, kernels.COUNT])
    value, solved = tree.worth[node, kernels.STOP], 1
    for other in range(first, first + going):
        if tree.arms[other, kernels.COUNT] > 0.0:
            value = max(value, tree.arms[other, kernels.MEAN])
        if tree.arms[other, kernels.CLOSED] == 0.0:
            solved = 0
    tree.worth[node, kernels.VALUE], tree.nodes[node, kernels.SOLVED] = value, solved
    tree.nodes[node, kernels.VISITS] += 1


@compiled
def rollout(model: Model, work: Work, settings: Settings, visible: int, steps: int) -> float:
    """Value of one greedy walk from work.belief: each step takes what is best if the next one had to end.

    Outcomes are drawn from the belief, rewards are expected ones. Not a number where a menu is missing.
    """
    value, scale = 0.0, 1.0
    while True:
        best, taken = kernels.best_ending(model, visible, work.belief, 0)[0], -1
        stop = best if best > -np.inf else 0.0
        if steps == settings.depth or model.menus[visible, kernels.GOING] == 0:
            return value + scale * stop
        if model.menus[visible, kernels.READY] == 0:
            work.counters[kernels.MISSING] = visible
            return np.nan
        start, paid = model.menus[visible, kernels.START], 0.0
        kernels.copy(work.belief, 0, work.ahead, 0, len(work.belief))
        for action in range(start, start + model.menus[visible, kernels.GOING]):
            now = pay(model, action, work.belief, 0, settings.weight, work.rows)
            worth = now + settings.discount * ending_after(model, work, action)
            if worth > best + kernels.HAIR * (abs(worth) + 2.0 * settings.gains):
                best, taken, paid = worth, action, now
        if taken < 0:
            return value + scale * stop
        value += scale * paid
        visible = follow(model, work, taken)
        if visible < 0:
            return value
        scale *= settings.discount
        steps += 1


@compiled
def pay(model: Model, action: int, beliefs: Array, base: int, weight: float, rows: Array) -> float:
    """What `action` is worth at once under the belief that starts at beliefs[base]: reward + weight * information."""
    reward = kernels.expected(model, action, beliefs, base)
    if weight == 0.0:
        return reward
    return reward + weight * kernels.information(
        model, action, beliefs, base + model.actions[action, kernels.ROW], rows
    )


@compiled
def ending_after(model: Model, work: Work, action: int) -> float:
    """Expected reward of the best ending action after `action`; 0 where none ends. work.ahead equals work.belief."""
    row, states, total = model.actions[action, kernels.ROW], model.actions[action, kernels.STATES], 0.0
    for outcome in range(model.actions[action, kernels.OUTCOMES]):
        visible = model.targets[model.actions[action, kernels.TARGET] + outcome]
        if visible < 0 or model.menus[visible, kernels.ENDING] == 0:
            continue
        chance = kernels.update(model, action, outcome, work.belief, row, work.ahead, row, work.rows)
        total += chance * kernels.best_ending(model, visible, work.ahead, 0)[0]
    kernels.copy(work.belief, row, work.ahead, row, states)
    return total


@compiled
def follow(model: Model, work: Work, action: int) -> int:
    """Draw an outcome of `action` from work.belief, update that belief, and return the visible state it leads to."""
    row, left, taken = model.actions[action, kernels.ROW], kernels.uniform(work.rng), -1
    for outcome in range(model.actions[action, kernels.OUTCOMES]):
        chance = kernels.update(model, action, outcome, work.belief, row, work.ahead, row, work.rows)
        if chance > 0.0:
            taken = outcome
            left -= chance
        if left < 0.0:
            break
    kernels.update(model, action, taken, work.belief, row, work.belief, row, work.rows)
    visible: int = model.targets[model.actions[action, kernels.TARGET] + taken]
    return visible
