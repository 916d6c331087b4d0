"""The lower bound: the best of the vectors of a class, V(b) >= alpha . b + e c w H(b), and how a vector is made.

A vector says what a policy is worth that takes one action and continues with other vectors:

    alpha(s) = r(s) + c w ln q(s) - w sum_s' T(s' | s) ln (Tq)(s')
               + sum_{o, s'} P(s', o | s) [(w - g e_o c w) ln q_o(s') + g alpha_o(s')]

with e = 1 for vectors made here if w > 0, and e = 0 for those of the first policies. q is the belief of the node where
the vector is made, mixed with a little of all states; alpha_o and e_o belong to the vector that is best after
observation o. The value of the policy less c w H is convex, and alpha is its tangent at q, so the bound holds at every
belief.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.solver.blocks import LANES, append, unread
from rhoplan.planning.solver.jit import entry_point, kernel
from rhoplan.planning.solver.settings import Parameters
from rhoplan.planning.solver.tabular import Tabular
from rhoplan.planning.solver.tree import Tree, class_size, is_end, project, unfold


@kernel
def refresh_lower(tree: Tree, index: int, convexity: float) -> None:
    """Bring the lower bound of a node up to date with the vectors of its class."""
    node, alpha = tree.nodes[index], tree.alpha
    block, lane = unread(alpha, node.class_, node.vector_block, node.vectors_read)
    while block >= 0:
        first, filled = alpha.blocks[block].first, alpha.blocks[block].filled
        value, share = tree.lanes[0, lane:filled], alpha.value[block, lane:filled]
        for k in range(len(value)):
            value[k] = share[k] * convexity * node.entropy
        for place in range(node.first, node.first + node.size):
            mass, at = tree.mass[place], first + tree.state[place] * LANES
            numbers = alpha.numbers[at + lane : at + filled]
            for k in range(len(value)):
                value[k] += mass * numbers[k]
        for k in range(len(value)):
            if value[k] > node.lower:
                node.lower, node.best_vector = value[k], alpha.item[block, lane + k]
        tree.counts[0].work += node.size * (1 + len(value) // 4)
        node.vector_block, lane, block = block, 0, alpha.blocks[block].next
    node.vectors_read = alpha.chains[node.class_].total


@kernel
def add_vector(tabular: Tabular, tree: Tree, index: int, action: int, parameters: Parameters) -> None:
    """Add the vector of taking `action` at a node and then what is best at each child."""
    number, out = new_vector(tabular, tree, index, action, parameters.weight), tree.line[0]
    vector = tree.vectors[number]
    first_step(tabular, tree, index, action, vector.first_follower, parameters, out)
    continuation(tabular, tree, action, vector.first_follower, parameters.discount, out)
    for s in range(class_size(tabular, vector.class_)):  # penalties can make a number far larger than any value
        out[s] -= parameters.rounding * abs(out[s])
    link_vector(tabular, tree, number, out)


@kernel
def new_vector(tabular: Tabular, tree: Tree, index: int, action: int, weight: float) -> int:
    """A vector without numbers, for taking `action` at a node and then what is best at each child."""
    class_, counts = tree.nodes[index].class_, tree.counts[0]
    own = tree.nodes[index].first_action + action - tabular.classes[class_].first_action
    number = counts.vectors
    vector = tree.vectors[number]
    vector.class_, vector.action, vector.origin, vector.is_alive, vector.place = class_, action, index, 1, -1
    vector.has_entropy = 1.0 if weight > 0.0 else 0.0
    vector.first_follower = counts.followers
    begin, end = tabular.actions[action].first_branch, tabular.actions[action + 1].first_branch
    for branch in range(begin, end):
        target, follower = tabular.branches[branch].target, -1
        if not is_end(tabular, target):
            child = tree.child[tree.actions[own].first_child + branch - begin]
            follower = (
                tree.nodes[child].best_vector if child >= 0 else tree.alpha.item[tree.alpha.chains[target].head, 0]
            )
        tree.follower[vector.first_follower + branch - begin] = follower
    counts.followers += end - begin
    counts.vectors += 1
    return int(number)


@kernel
def link_vector(tabular: Tabular, tree: Tree, number: int, numbers: Array) -> None:
    """Let a vector with these numbers count."""
    vector = tree.vectors[number]
    size = class_size(tabular, vector.class_)
    vector.place = append(tree.alpha, vector.class_, size, number, vector.has_entropy)
    at = tree.alpha.blocks[vector.place // LANES].first + vector.place % LANES
    for s in range(size):
        tree.alpha.numbers[at + s * LANES] = numbers[s]


@entry_point
def link_all(tabular: Tabular, tree: Tree, made: Ids, offset: Ids, numbers: Array) -> None:
    """Let the vectors `made` count; the numbers of each begin at its offset in `numbers`."""
    for place in range(len(made)):
        link_vector(tabular, tree, made[place], numbers[offset[place] :])


@kernel
def first_step(
    tabular: Tabular, tree: Tree, index: int, action: int, first_follower: int, parameters: Parameters, out: Array
) -> None:
    """out = what the first action gives from each state: its reward, and the tangent of the information at a node."""
    size, weight = class_size(tabular, tabular.actions[action].class_), parameters.weight
    first = tabular.actions[action].first_reward
    for s in range(size):
        out[s] = tabular.reward[first + s] - parameters.outward
    if weight == 0.0:
        return
    belief = tree.line[1]
    unfold(tree, index, size, belief)
    for s in range(size):
        belief[s] = (1.0 - parameters.settings.mix) * belief[s] + parameters.settings.mix / size
        out[s] += parameters.convexity * np.log(belief[s])
    begin, end = tabular.actions[action].first_branch, tabular.actions[action + 1].first_branch
    tree.predicted[:] = 0.0
    for branch in range(begin, end):
        target = tabular.branches[branch].target
        project(tabular, tree, branch, belief, size, tree.after)
        for s in range(class_size(tabular, target)):
            tree.predicted[tabular.label[tabular.classes[target].first_state + s]] += tree.after[s]
    for branch in range(begin, end):
        target = tabular.branches[branch].target
        base, follower = tabular.classes[target].first_state, tree.follower[first_follower + branch - begin]
        total = project(tabular, tree, branch, belief, size, tree.after)
        left = weight
        if follower >= 0:
            left -= parameters.discount * parameters.convexity * tree.vectors[follower].has_entropy
        for s in range(class_size(tabular, target)):
            if tree.after[s] > 0.0:
                known = weight * np.log(tree.predicted[tabular.label[base + s]])
                tree.after[s] = left * np.log(tree.after[s] / total) - known
        add_expectation(tabular, tree, branch, size, 1.0, tree.after, out)


@kernel
def continuation(tabular: Tabular, tree: Tree, action: int, first_follower: int, discount: float, out: Array) -> None:
    """Add to `out` what the vectors from `first_follower` on are worth one step later."""
    size, begin = class_size(tabular, tabular.actions[action].class_), tabular.actions[action].first_branch
    for branch in range(begin, tabular.actions[action + 1].first_branch):
        follower = tree.follower[first_follower + branch - begin]
        if follower >= 0:
            place, wide = tree.vectors[follower].place, class_size(tabular, tabular.branches[branch].target)
            at = tree.alpha.blocks[place // LANES].first + place % LANES
            for s in range(wide):
                tree.after[s] = tree.alpha.numbers[at + s * LANES]
            add_expectation(tabular, tree, branch, size, discount, tree.after, out)


@kernel
def add_expectation(
    tabular: Tabular, tree: Tree, branch: int, size: int, factor: float, numbers: Array, out: Array
) -> None:
    """out[s] += factor * sum over s' of P(s', o | s) numbers[s'], for the observation o of `branch`."""
    begin = tabular.branches[branch].first_row
    for s in range(size):
        total = 0.0
        for place in range(tabular.row[begin + s], tabular.row[begin + s + 1]):
            total += tabular.probability[place] * numbers[tabular.column[place]]
        out[s] += factor * total
    tree.counts[0].work += size + tabular.row[begin + size] - tabular.row[begin]
