"""POMCP (Silver and Veness, 2010): UCB1 over histories with sampled states, and the exact belief at each node.

A simulation draws the hidden state from the root belief, walks down the tree of actions and observations by UCB1 over
all actions, terminal ones included, adds one node, and finishes by a semi-informed rollout: at each step it ends with a
fixed probability by the terminal action that is best under the rollout's own belief, otherwise it takes a random
non-terminal action. The hidden state determines rewards and observations, never actions. Returns are averaged. With a
weight, each non-terminal action also pays weight * information under the belief it is taken with.
"""

from __future__ import annotations

from rhoplan.planning.machine import compiled
from rhoplan.planning.tree_search import kernels
from rhoplan.planning.tree_search import tree as nodes
from rhoplan.planning.tree_search.model import Model
from rhoplan.planning.tree_search.tree import Goal, Tree


@compiled
def draw_state(tree: Tree) -> None:
    """Draw the hidden state of a simulation from the root belief."""
    for factor in range(len(tree.truth)):
        belief = tree.beliefs[0][factor]
        tree.truth[factor] = kernels.draw(belief, 0, len(belief), 1, kernels.uniform(tree.rng))


@compiled
def descend(model: Model, tree: Tree, goal: Goal, node: int, taken: int, steps: int) -> tuple[int, float]:
    """Take an arm as the last one of `steps` actions: the child to go on from, or -1 and the return from there on."""
    arm = tree.arms[taken]
    tree.paid[steps - 1] = kernels.reward_in(model, arm.action, tree.truth) + arm.immediate
    if model.observations[arm.action] == 0:
        return -1, 0.0
    observation = kernels.sample_observation(model, arm.action, tree.truth, tree.rng)
    observable, place = kernels.target(model, arm.action, observation), arm.first_child + observation
    if observable < 0:
        return -1, 0.0
    child = tree.child[place]
    if child >= 0 and steps < goal.depth:
        return int(child), 0.0
    if child >= 0:
        return -1, kernels.reward_in(model, tree.nodes[child].stop, tree.truth)
    belief, fresh = tree.belief[model.factor[arm.action]], tree.counters[nodes.NODES]
    kernels.copy(tree.beliefs[node], tree.belief)
    kernels.update(model, arm.action, observation, belief, belief, tree.rows[0])
    kernels.copy(tree.belief, tree.beliefs[fresh])
    nodes.place_node(model, tree, fresh, observable, 1.0)
    value = random_rollout(model, tree, goal, observable, steps)
    if tree.counters[nodes.UNEXPLORED] < 0:
        tree.child[place] = fresh
        tree.counters[nodes.NODES] += 1
    return -1, value


@compiled
def average(tree: Tree, goal: Goal, steps: int, value: float) -> None:
    """Count the return of a simulation, `value` after its last tree step, into the means along its path."""
    for step in range(steps - 1, -1, -1):
        arm = tree.arms[tree.path_arm[step]]
        value = tree.paid[step] + goal.discount * value
        tree.nodes[tree.path_node[step]].visits += 1
        arm.visits += 1
        arm.value += 1.0 / arm.visits * (value - arm.value)


@compiled
def random_rollout(model: Model, tree: Tree, goal: Goal, observable: int, steps: int) -> float:
    """Return of a semi-informed rollout from tree.belief and tree.truth."""
    value, scale = 0.0, 1.0
    while steps < goal.depth and model.going[observable] < model.end[observable]:
        first = model.going[observable]
        if model.first[observable] < first and kernels.uniform(tree.rng) < goal.stop_probability:
            break
        if nodes.must_explore(model, tree, observable):
            break
        action = first + int(kernels.uniform(tree.rng) * (model.end[observable] - first))
        value += scale * kernels.reward_in(model, action, tree.truth)
        value += scale * nodes.weighted_information(model, tree, goal, action, tree.belief)
        observation = kernels.sample_observation(model, action, tree.truth, tree.rng)
        observable = kernels.target(model, action, observation)
        if observable < 0:
            return value
        belief = tree.belief[model.factor[action]]
        kernels.update(model, action, observation, belief, belief, tree.rows[0])
        scale *= goal.discount
        steps += 1
    best = kernels.best_terminal(model, observable, tree.belief)[1]
    return value + scale * kernels.reward_in(model, best, tree.truth)
