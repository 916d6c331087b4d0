"""MCTS over beliefs (MCTS-EFE): UCB1 with all observations of an action enumerated.

    Q(a) = r(b, a) + w * I(b, a) + discount * sum_o P(o | b, a) V(b_o),   V(b) = max(best terminal action, max_a Q(a))

The Bellman recursion of `planning.backup`, expanded where UCB1 looks. Terminal actions are not arms: their expected
reward is known. A simulation goes down by UCB1 and, below an expanded arm, to an observation by its probability, until
it meets an arm that is not expanded. It makes all children of that arm, values each by one greedy rollout, and takes
maxima on the way back. A value is exact at the depth limit, and where the values below all arms are exact. Exact arms
are not visited again; once the root is exact, every value is that of exact look-ahead.
"""

from __future__ import annotations

import numpy as np

from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.planning.machine import compiled
from rhoplan.planning.tree_search import kernels
from rhoplan.planning.tree_search import tree as nodes
from rhoplan.planning.tree_search.model import Model
from rhoplan.planning.tree_search.tree import Goal, Tree


@compiled
def descend(model: Model, tree: Tree, goal: Goal, node: int, taken: int, steps: int) -> int:
    """The child below an arm to go on from; -1 if the arm has just been expanded."""
    if tree.arms[taken].visits == 0:
        expand(model, tree, goal, node, taken, steps)
        return -1
    return inexact_child(model, tree, taken, kernels.uniform(tree.rng))


@compiled
def inexact_child(model: Model, tree: Tree, taken: int, chance: float) -> int:
    """The child with an inexact value that `chance` in [0, 1) picks, in proportion to the children's probabilities."""
    arm, total = tree.arms[taken], 0.0
    end = arm.first_child + model.observations[arm.action]
    for place in range(arm.first_child, end):
        child = tree.child[place]
        if child >= 0 and tree.nodes[child].is_exact == 0:
            total += tree.nodes[child].chance
    left, picked = chance * total, -1
    for place in range(arm.first_child, end):
        child = tree.child[place]
        if child >= 0 and tree.nodes[child].is_exact == 0:
            picked = child
            left -= tree.nodes[child].chance
            if left < 0.0:
                break
    return int(picked)


@compiled
def expand(model: Model, tree: Tree, goal: Goal, node: int, taken: int, steps: int) -> None:
    """Make a child, `steps` actions below the root, for each possible observation of an arm that does not end."""
    arm, fresh = tree.arms[taken], tree.counters[nodes.NODES]
    factor = model.factor[arm.action]
    for observation in range(model.observations[arm.action]):
        tree.child[arm.first_child + observation] = -1
        observable = kernels.target(model, arm.action, observation)
        if observable < 0:
            continue
        before, after = tree.beliefs[node], tree.beliefs[fresh]
        kernels.copy(before, after)
        chance = kernels.update(model, arm.action, observation, before[factor], after[factor], tree.rows[0])
        if chance <= 0.0:
            continue
        nodes.place_node(model, tree, fresh, observable, chance)
        child = tree.nodes[fresh]
        if steps == goal.depth or model.going[observable] == model.end[observable]:
            child.is_exact = 1
            child.value = child.stop_reward if child.stop >= 0 else 0.0
        else:
            kernels.copy(after, tree.belief)
            child.value = max(child.stop_reward, greedy_rollout(model, tree, goal, observable, steps))
            if tree.counters[nodes.UNEXPLORED] >= 0:
                return
        tree.child[arm.first_child + observation] = fresh
        fresh += 1
    tree.counters[nodes.NODES] = fresh


@compiled
def back_up(model: Model, tree: Tree, goal: Goal, steps: int) -> None:
    """Count a visit of each arm along the path, and recompute values from those below."""
    for step in range(steps - 1, -1, -1):
        node, arm = tree.nodes[tree.path_node[step]], tree.arms[tree.path_arm[step]]
        later, arm.is_exact = 0.0, 1
        for place in range(arm.first_child, arm.first_child + model.observations[arm.action]):
            child = tree.child[place]
            if child >= 0:
                later += tree.nodes[child].chance * tree.nodes[child].value
                arm.is_exact &= tree.nodes[child].is_exact
        arm.value = arm.immediate + goal.discount * later
        arm.visits += 1
        node.visits += 1
        node.value, node.is_exact = node.stop_reward, 1
        for place in range(node.first_arm, node.first_arm + node.arms):
            other = tree.arms[place]
            if other.visits > 0:
                node.value = max(node.value, other.value)
            node.is_exact &= other.is_exact


@compiled
def greedy_rollout(model: Model, tree: Tree, goal: Goal, observable: int, steps: int) -> float:
    """Value of a rollout from tree.belief that takes the action which is best if the next one had to be terminal.

    Observations are drawn from the belief, rewards are expected ones.
    """
    value, scale = 0.0, 1.0
    while observable >= 0:
        best, taken, paid = kernels.best_terminal(model, observable, tree.belief)[0], -1, 0.0
        stop = best if best > -np.inf else 0.0
        if steps == goal.depth or nodes.must_explore(model, tree, observable):
            return value + scale * stop
        for action in range(model.going[observable], model.end[observable]):
            now = kernels.expected_reward(model, action, tree.belief)[0]
            now += nodes.weighted_information(model, tree, goal, action, tree.belief)
            worth = now + goal.discount * terminal_after(model, tree, action)
            if worth > best + RELATIVE_TOLERANCE * (abs(worth) + goal.scale):
                best, taken, paid = worth, action, now
        if taken < 0:
            return value + scale * stop
        value += scale * paid
        observable = follow(model, tree, taken)
        scale *= goal.discount
        steps += 1
    return value


@compiled
def terminal_after(model: Model, tree: Tree, action: int) -> float:
    """Expected reward of the best terminal action after `action`; 0 where there is none."""
    factor, total = model.factor[action], 0.0
    kernels.copy(tree.belief, tree.ahead)
    for observation in range(model.observations[action]):
        observable = kernels.target(model, action, observation)
        if observable < 0 or model.first[observable] == model.going[observable]:
            continue
        chance = kernels.update(model, action, observation, tree.belief[factor], tree.ahead[factor], tree.rows[0])
        total += chance * kernels.best_terminal(model, observable, tree.ahead)[0]
    return total


@compiled
def follow(model: Model, tree: Tree, action: int) -> int:
    """Draw an observation of `action` from tree.belief, update that belief, and return the observable state after."""
    left, taken, belief = kernels.uniform(tree.rng), -1, tree.belief[model.factor[action]]
    for observation in range(model.observations[action]):
        chance = kernels.update(model, action, observation, belief, tree.rows[1], tree.rows[0])
        if chance > 0.0:
            taken = observation
            left -= chance
        if left < 0.0:
            break
    kernels.update(model, action, taken, belief, belief, tree.rows[0])
    return kernels.target(model, action, taken)
