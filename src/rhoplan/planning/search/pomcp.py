"""POMCP (Silver and Veness, 2010) with exact beliefs at the nodes: simulations of `TreeSearch(method="pomcp")`.

A simulation draws the hidden state from the root belief, walks down the tree of actions and outcomes by UCB1 over all
actions, ending ones included, adds one node, and finishes by a semi-informed rollout: at each step it ends with
probability 0.3 by the ending action that is best under the rollout's own belief, else takes a random action that goes
on. The true state decides what is paid and seen, never what is chosen, not even at the depth limit. Returns are
averaged. With a weight, each action that goes on also pays weight * information under the belief it is taken with.
"""

from __future__ import annotations

import numpy as np

import rhoplan.planning.search.kernels as kernels
from rhoplan.planning.machine import compiled
from rhoplan.planning.search.kernels import Model, Settings, Tree, Work

STOP_PROBABILITY = 0.3
"""How often a rollout ends at each step where it can: the paper's semi-informed rollout."""


@compiled
def pomcp(model: Model, tree: Tree, work: Work, settings: Settings, simulations: int) -> int:
    """Run up to `simulations`; how many were done. A frozen tree is searched but gets no more nodes."""
    for done in range(simulations):
        if not settings.frozen and not kernels.has_room(tree, work, settings):
            return done
        before = work.rng[0]
        if not simulate(model, tree, work, settings):
            work.rng[0] = before
            return done
    return simulations


@compiled
def simulate(model: Model, tree: Tree, work: Work, settings: Settings) -> bool:
    """One simulation; False, with no visit counted, where a menu is missing."""
    width = len(work.belief)
    for row in range(0, width, settings.states):
        work.truth[row] = kernels.draw(work.prior, row, work.rng)
    work.path[0, 0] = 0
    steps, value = 0, 0.0
    while steps < settings.depth:
        node = work.path[steps, 0]
        visible = tree.nodes[node, kernels.VISIBLE]
        if model.menus[visible, kernels.READY] == 0:
            work.counters[kernels.MISSING] = visible
            return False
        going = model.menus[visible, kernels.GOING]
        arms = going + model.menus[visible, kernels.ENDING]
        if tree.nodes[node, kernels.ARMS] < 0 and not settings.frozen:
            open_for_averages(model, tree, work, settings, node, arms)
        if arms == 0 or tree.nodes[node, kernels.ARMS] < 0:
            kernels.copy(tree.beliefs, node * width, work.belief, 0, width)
            value = rollout(model, work, settings, visible, steps)
            break
        arm = kernels.select(tree, node, arms, settings.exploration)
        action = model.menus[visible, kernels.START] + arm
        row = model.actions[action, kernels.ROW]
        taken = tree.nodes[node, kernels.ARMS] + arm
        reward = model.numbers[model.actions[action, kernels.REWARD] + work.truth[row]]
        work.path[steps, 1], work.paid[steps] = taken, reward + tree.arms[taken, kernels.PAY]
        steps += 1
        if arm >= going:
            break
        outcome = kernels.act(model, action, work)
        target = model.targets[model.actions[action, kernels.TARGET] + outcome]
        if target < 0:
            break
        slot = kernels.child_slot(model, tree, node, action) + outcome
        child = tree.children[slot]
        if child < 0:
            kernels.copy(tree.beliefs, node * width, work.belief, 0, width)
            kernels.update(model, action, outcome, work.belief, row, work.belief, row, work.rows)
            fresh = work.counters[kernels.NODES_USED]
            if not settings.frozen:
                kernels.copy(work.belief, 0, tree.beliefs, fresh * width, width)
                kernels.place_node(model, tree, fresh, target, 1.0)
            value = rollout(model, work, settings, target, steps)
            if not settings.frozen and not np.isnan(value):
                tree.children[slot] = fresh
                work.counters[kernels.NODES_USED] += 1
            break
        work.path[steps, 0] = child
        if steps == settings.depth:
            value = paid_ending(model, work, tree.nodes[child, kernels.BEST])
    if np.isnan(value):
        return False
    average(tree, work, settings.discount, steps, value)
    return True


@compiled
def open_for_averages(model: Model, tree: Tree, work: Work, settings: Settings, node: int, arms: int) -> None:
    """Open `node`; its arms pay weight * information on top of what the true state pays."""
    kernels.open_node(model, tree, work, node, arms)
    if settings.weight == 0.0:
        return
    visible = tree.nodes[node, kernels.VISIBLE]
    base, start = node * len(work.belief), model.menus[visible, kernels.START]
    for arm in range(model.menus[visible, kernels.GOING]):
        gained = kernels.information(
            model, start + arm, tree.beliefs, base + model.actions[start + arm, kernels.ROW], work.rows
        )
        tree.arms[tree.nodes[node, kernels.ARMS] + arm, kernels.PAY] = settings.weight * gained


@compiled
def average(tree: Tree, work: Work, discount: float, steps: int, value: float) -> None:
    """Count the return of a simulation of `steps` tree steps into the means along its path."""
    for step in range(steps - 1, -1, -1):
        node, arm = work.path[step, 0], work.path[step, 1]
        value = work.paid[step] + discount * value
        tree.nodes[node, kernels.VISITS] += 1
        tree.arms[arm, kernels.COUNT] += 1.0
        share = 1.0 / tree.arms[arm, kernels.COUNT]
        tree.arms[arm, kernels.MEAN] += share * (value - tree.arms[arm, kernels.MEAN])
        tree.arms[arm, kernels.WIDTH] = np.sqrt(share)


@compiled
def rollout(model: Model, work: Work, settings: Settings, visible: int, steps: int) -> float:
    """Return of a semi-informed rollout from work.belief and work.truth; not a number where a menu is missing."""
    value: float = 0.0
    scale = 1.0
    while True:
        going = model.menus[visible, kernels.GOING]
        if steps == settings.depth or going == 0:
            break
        if model.menus[visible, kernels.ENDING] > 0 and kernels.uniform(work.rng) < STOP_PROBABILITY:
            break
        if model.menus[visible, kernels.READY] == 0:
            work.counters[kernels.MISSING] = visible
            return np.nan
        action = model.menus[visible, kernels.START] + int(kernels.uniform(work.rng) * going)
        row = model.actions[action, kernels.ROW]
        value += scale * model.numbers[model.actions[action, kernels.REWARD] + work.truth[row]]
        if settings.weight != 0.0:
            value += scale * settings.weight * kernels.information(model, action, work.belief, row, work.rows)
        outcome = kernels.act(model, action, work)
        visible = model.targets[model.actions[action, kernels.TARGET] + outcome]
        if visible < 0:
            return value
        kernels.update(model, action, outcome, work.belief, row, work.belief, row, work.rows)
        scale *= settings.discount
        steps += 1
    best = kernels.best_ending(model, visible, work.belief, 0)[1]
    value += scale * paid_ending(model, work, best)
    return value


@compiled
def paid_ending(model: Model, work: Work, action: int) -> float:
    """What ending by `action` pays in the true state; 0 where no action ends."""
    if action < 0:
        return 0.0
    paid: float = model.numbers[model.actions[action, kernels.REWARD] + work.truth[model.actions[action, kernels.ROW]]]
    return paid
