"""POMCP (Silver and Veness, 2010): UCB1 over histories with sampled states, and the exact belief at each node.

A simulation draws the hidden state from the root belief, walks down the tree of actions and observations by UCB1 over
all actions, terminal ones included, adds one node, and finishes by a semi-informed rollout: at each step it ends with a
fixed probability by the terminal action that is best under the rollout's own belief, otherwise it takes a random
non-terminal action. The hidden state determines rewards and observations, never actions. Returns are averaged. With a
weight, each non-terminal action also pays weight * information under the belief it is taken with.
"""

from __future__ import annotations

import numpy as np

from rhoplan.planning.machine import compiled
from rhoplan.planning.tree_search import kernels, nodes
from rhoplan.planning.tree_search.kernels import Model
from rhoplan.planning.tree_search.nodes import Goal, Tree, Work


@compiled
def sample(model: Model, tree: Tree, work: Work, goal: Goal) -> bool:
    """One simulation; False, with no visit counted, if an observable state must be explored first."""
    width = model.width
    for row in range(0, width, model.stride):
        work.truth[row] = kernels.draw(work.prior, row, work.rng)
    node, steps, value = 0, 0, 0.0
    while steps < goal.depth:
        observable = tree.observable[node]
        if not kernels.is_explored(model, observable):
            work.counters[nodes.UNEXPLORED] = observable
            return False
        arms = model.action_count[observable]
        if tree.first_arm[node] < 0:
            open_for_averages(model, tree, work, goal, node)
        if arms == 0:
            kernels.copy(tree.beliefs, node * width, work.belief, 0, width)
            value = random_rollout(model, work, goal, observable, steps)
            break
        arm = nodes.select(tree, node, arms, goal.exploration)
        action, taken = nodes.action_of(model, observable, arm), tree.first_arm[node] + arm
        work.path_node[steps], work.path_arm[steps] = node, taken
        work.paid[steps] = kernels.reward_in(model, action, work.truth) + tree.immediate[taken]
        steps += 1
        if arm >= kernels.going(model, observable):
            break
        observation = kernels.sample_observation(model, action, work.truth, work.rng)
        following = kernels.target(model, action, observation)
        if following < 0:
            break
        place = nodes.first_child(model, tree, node, action) + observation
        if tree.child[place] < 0:
            row, fresh = kernels.row_of(model, action), work.counters[nodes.NODES]
            kernels.copy(tree.beliefs, node * width, work.belief, 0, width)
            kernels.update(model, action, observation, work.belief, row, work.belief, row, work.rows)
            kernels.copy(work.belief, 0, tree.beliefs, fresh * width, width)
            nodes.place_node(model, tree, fresh, following, 1.0)
            value = random_rollout(model, work, goal, following, steps)
            if not np.isnan(value):
                tree.child[place] = fresh
                work.counters[nodes.NODES] += 1
            break
        node = tree.child[place]
        if steps == goal.depth:
            value = terminal_reward(model, work, tree.stop[node])
    if np.isnan(value):
        return False
    average(tree, work, goal.discount, steps, value)
    return True


@compiled
def open_for_averages(model: Model, tree: Tree, work: Work, goal: Goal, node: int) -> None:
    """Open `node`; its arms pay weight * information on top of the reward in the sampled state."""
    observable = tree.observable[node]
    nodes.open_node(model, tree, work, node, model.action_count[observable])
    if goal.weight != 0.0:
        for arm in range(kernels.going(model, observable)):
            action, base = nodes.action_of(model, observable, arm), node * model.width
            gained = kernels.information(model, action, tree.beliefs, base, work.rows)
            tree.immediate[tree.first_arm[node] + arm] = goal.weight * gained


@compiled
def average(tree: Tree, work: Work, discount: float, steps: int, value: float) -> None:
    """Count the return of a simulation of `steps` tree steps into the means along its path."""
    for step in range(steps - 1, -1, -1):
        arm = work.path_arm[step]
        value = work.paid[step] + discount * value
        tree.node_visits[work.path_node[step]] += 1
        tree.arm_visits[arm] += 1.0
        share = 1.0 / tree.arm_visits[arm]
        tree.mean[arm] += share * (value - tree.mean[arm])


@compiled
def random_rollout(model: Model, work: Work, goal: Goal, observable: int, steps: int) -> float:
    """Return of a semi-informed rollout from work.belief and work.truth; not a number if it must be explored first."""
    value: float = 0.0
    scale = 1.0
    while True:
        going = kernels.going(model, observable)
        if steps == goal.depth or going == 0:
            break
        if model.terminal_count[observable] > 0 and kernels.uniform(work.rng) < goal.stop_probability:
            break
        if not kernels.is_explored(model, observable):
            work.counters[nodes.UNEXPLORED] = observable
            return np.nan
        action = nodes.action_of(model, observable, int(kernels.uniform(work.rng) * going))
        value += scale * kernels.reward_in(model, action, work.truth)
        if goal.weight != 0.0:
            value += scale * goal.weight * kernels.information(model, action, work.belief, 0, work.rows)
        observation = kernels.sample_observation(model, action, work.truth, work.rng)
        observable = kernels.target(model, action, observation)
        if observable < 0:
            return value
        row = kernels.row_of(model, action)
        kernels.update(model, action, observation, work.belief, row, work.belief, row, work.rows)
        scale *= goal.discount
        steps += 1
    best = kernels.best_terminal(model, observable, work.belief, 0)[1]
    return value + scale * terminal_reward(model, work, best)


@compiled
def terminal_reward(model: Model, work: Work, action: int) -> float:
    """The reward of a terminal action in the sampled state; 0 if there is none."""
    return kernels.reward_in(model, action, work.truth) if action >= 0 else 0.0
