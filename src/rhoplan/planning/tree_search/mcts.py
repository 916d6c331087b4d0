"""MCTS over beliefs (MCTS-EFE): UCB1 with all observations of an action enumerated.

    Q(a) = r(b, a) + w * I(b, a) + discount * sum_o P(o | b, a) V(b_o),   V(b) = max(best terminal action, max_a Q(a))

The Bellman recursion of `planning.backup`, expanded where UCB1 looks. Terminal actions are not arms: their expected
reward is known. A simulation goes down by UCB1 and, below an expanded arm, to an observation by its probability, until
it meets an arm that is not expanded. It makes all children of that arm, values each by one greedy rollout, and takes
maxima on the way back. A value is exact at the depth limit, and where the values below all arms are exact. Solved arms
are not visited again; once the root is exact, every value is that of exact look-ahead.
"""

from __future__ import annotations

import numpy as np

from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.model.pomdp import Array
from rhoplan.planning.machine import compiled
from rhoplan.planning.tree_search import kernels, nodes
from rhoplan.planning.tree_search.kernels import Model
from rhoplan.planning.tree_search.nodes import Goal, Tree, Work


@compiled
def enumerate_observations(model: Model, tree: Tree, work: Work, goal: Goal) -> bool:
    """One simulation: expand one arm. False, with no visit counted, if an observable state must be explored first."""
    node, steps = 0, 0
    while True:
        observable = tree.observable[node]
        if not kernels.is_explored(model, observable):
            work.counters[nodes.UNEXPLORED] = observable
            return False
        arms = kernels.going(model, observable)
        if tree.first_arm[node] < 0:
            nodes.open_node(model, tree, work, node, arms)
        arm = nodes.select(tree, node, arms, goal.exploration)
        work.path_node[steps], work.path_arm[steps] = node, arm
        steps += 1
        action = nodes.action_of(model, observable, arm)
        if tree.arm_visits[tree.first_arm[node] + arm] == 0.0:
            if not expand(model, tree, work, goal, node, arm, steps):
                return False
            break
        first = nodes.first_child(model, tree, node, action)
        node = inexact_child(tree, first, model.observations[action], kernels.uniform(work.rng))
    for step in range(steps - 1, -1, -1):
        back_up(model, tree, work.path_node[step], work.path_arm[step], goal.discount)
    return True


@compiled
def inexact_child(tree: Tree, first: int, observations: int, chance: float) -> int:
    """The child with an inexact value that `chance` in [0, 1) picks, in proportion to the children's probabilities."""
    total = 0.0
    for place in range(first, first + observations):
        child = tree.child[place]
        if child >= 0 and tree.exact[child] == 0:
            total += tree.chance[child]
    left, picked = chance * total, -1
    for place in range(first, first + observations):
        child = tree.child[place]
        if child >= 0 and tree.exact[child] == 0:
            picked = child
            left -= tree.chance[child]
            if left < 0.0:
                break
    return int(picked)


@compiled
def expand(model: Model, tree: Tree, work: Work, goal: Goal, node: int, arm: int, steps: int) -> bool:
    """Make a child, `steps` actions below the root, for each possible observation of `arm` that does not end."""
    width, action = model.width, nodes.action_of(model, tree.observable[node], arm)
    base, row = node * width, kernels.row_of(model, action)
    first, fresh = nodes.first_child(model, tree, node, action), work.counters[nodes.NODES]
    for observation in range(model.observations[action]):
        tree.child[first + observation] = -1
        observable, start = kernels.target(model, action, observation), fresh * width
        if observable < 0:
            continue
        kernels.copy(tree.beliefs, base, tree.beliefs, start, width)
        chance = kernels.update(
            model, action, observation, tree.beliefs, base + row, tree.beliefs, start + row, work.rows
        )
        if chance <= 0.0:
            continue
        nodes.place_node(model, tree, fresh, observable, chance)
        if steps == goal.depth or kernels.going(model, observable) == 0:
            tree.exact[fresh] = 1
            if tree.stop[fresh] < 0:
                tree.value[fresh] = 0.0
        else:
            kernels.copy(tree.beliefs, start, work.belief, 0, width)
            guess = greedy_rollout(model, work, goal, observable, steps)
            if np.isnan(guess):
                return False
            tree.value[fresh] = max(tree.stop_reward[fresh], guess)
        tree.child[first + observation] = fresh
        fresh += 1
    work.counters[nodes.NODES] = fresh
    taken = tree.first_arm[node] + arm
    tree.immediate[taken] = immediate_value(model, action, tree.beliefs, base, goal.weight, work.rows)
    return True


@compiled
def back_up(model: Model, tree: Tree, node: int, arm: int, discount: float) -> None:
    """Count a visit of `arm`, and recompute its value and that of `node` from those below."""
    observable, first = tree.observable[node], tree.first_arm[node]
    action, taken = nodes.action_of(model, observable, arm), first + arm
    children = nodes.first_child(model, tree, node, action)
    later, solved = 0.0, 1
    for place in range(children, children + model.observations[action]):
        child = tree.child[place]
        if child >= 0:
            later += tree.chance[child] * tree.value[child]
            solved &= tree.exact[child]
    tree.mean[taken], tree.solved[taken] = tree.immediate[taken] + discount * later, solved
    tree.arm_visits[taken] += 1.0
    value, exact = tree.stop_reward[node], 1
    for other in range(first, first + kernels.going(model, observable)):
        if tree.arm_visits[other] > 0.0:
            value = max(value, tree.mean[other])
        exact &= tree.solved[other]
    tree.value[node], tree.exact[node] = value, exact
    tree.node_visits[node] += 1


@compiled
def greedy_rollout(model: Model, work: Work, goal: Goal, observable: int, steps: int) -> float:
    """Value of a rollout from work.belief that takes the action which is best if the next one had to be terminal.

    Observations are drawn from the belief, rewards are expected ones. Not a number if a state must be explored first.
    """
    value, scale = 0.0, 1.0
    while True:
        best, taken = kernels.best_terminal(model, observable, work.belief, 0)[0], -1
        stop = best if best > -np.inf else 0.0
        if steps == goal.depth or kernels.going(model, observable) == 0:
            return value + scale * stop
        if not kernels.is_explored(model, observable):
            work.counters[nodes.UNEXPLORED] = observable
            return np.nan
        paid = 0.0
        kernels.copy(work.belief, 0, work.ahead, 0, model.width)
        for arm in range(kernels.going(model, observable)):
            action = nodes.action_of(model, observable, arm)
            now = immediate_value(model, action, work.belief, 0, goal.weight, work.rows)
            worth = now + goal.discount * terminal_after(model, work, action)
            if worth > best + RELATIVE_TOLERANCE * (abs(worth) + goal.scale):
                best, taken, paid = worth, action, now
        if taken < 0:
            return value + scale * stop
        value += scale * paid
        observable = follow(model, work, taken)
        if observable < 0:
            return value
        scale *= goal.discount
        steps += 1


@compiled
def immediate_value(model: Model, action: int, beliefs: Array, base: int, weight: float, rows: Array) -> float:
    """Expected reward + weight * information of `action` under the belief at beliefs[base]."""
    reward = kernels.expected_reward(model, action, beliefs, base)
    return reward + weight * kernels.information(model, action, beliefs, base, rows) if weight != 0.0 else reward


@compiled
def terminal_after(model: Model, work: Work, action: int) -> float:
    """Expected reward of the best terminal action after `action`; 0 where there is none. work.ahead is work.belief."""
    row, total = kernels.row_of(model, action), 0.0
    for observation in range(model.observations[action]):
        observable = kernels.target(model, action, observation)
        if observable < 0 or model.terminal_count[observable] == 0:
            continue
        chance = kernels.update(model, action, observation, work.belief, row, work.ahead, row, work.rows)
        total += chance * kernels.best_terminal(model, observable, work.ahead, 0)[0]
    kernels.copy(work.belief, row, work.ahead, row, model.states[model.kernel[action]])
    return total


@compiled
def follow(model: Model, work: Work, action: int) -> int:
    """Draw an observation of `action` from work.belief, update that belief, and return the observable state after."""
    row, left, taken = kernels.row_of(model, action), kernels.uniform(work.rng), -1
    for observation in range(model.observations[action]):
        chance = kernels.update(model, action, observation, work.belief, row, work.ahead, row, work.rows)
        if chance > 0.0:
            taken = observation
            left -= chance
        if left < 0.0:
            break
    kernels.update(model, action, taken, work.belief, row, work.belief, row, work.rows)
    return kernels.target(model, action, taken)
