"""The search tree that MCTS over beliefs and POMCP share: flat arrays, opening a node, and UCB1.

An arm is an action at a node: the non-terminal ones first, then the terminal ones if these are searched, too. Rows are
numbered in order of creation; Python makes room for all that simulations can add before it starts them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.machine import compiled, handed
from rhoplan.planning.tree_search import kernels
from rhoplan.planning.tree_search.kernels import Model

NODES, ARMS, CHILDREN, UNEXPLORED = range(4)
"""Places in Work.counters: used rows of the tree, and the observable state that must be explored first (-1: none)."""


@handed
class Tree(NamedTuple):
    """By node: `observable` state, `first_arm` and `first_child` (-1 until opened), `node_visits`, best terminal action
    `stop` and its expected reward `stop_reward`, `value`, `chance` of coming here by its arm, whether the value is
    `exact`; and `beliefs`, one after the other.

    By arm: `arm_visits`, `mean` value, `immediate` value (for POMCP: of information only), and whether all below
    is `solved`. By observation of an arm: `child` (-1: none yet).
    """

    observable: Ids
    first_arm: Ids
    first_child: Ids
    node_visits: Ids
    stop: Ids
    exact: Ids
    stop_reward: Array
    value: Array
    chance: Array
    beliefs: Array
    arm_visits: Array
    mean: Array
    immediate: Array
    solved: Ids
    child: Ids


BY_NODE, BY_ARM = Tree._fields[:9], Tree._fields[10:14]
"""The fields of Tree that have one number per node, and per arm."""


@handed
class Work(NamedTuple):
    """What a simulation writes on. prior: cumulative root belief. truth: the sampled state of factor f, at f * S.

    path_node, path_arm, paid: node, arm and reward of each step. belief, ahead, rows: scratch.
    """

    counters: Ids
    rng: NDArray[np.uint64]
    prior: Array
    truth: Ids
    belief: Array
    ahead: Array
    rows: Array
    path_node: Ids
    path_arm: Ids
    paid: Array


@handed
class Goal(NamedTuple):
    """What the search maximises, and how. scale: size of values, for the tie rule.

    over_beliefs: whether it is MCTS over beliefs; otherwise POMCP.
    """

    discount: float
    weight: float
    exploration: float
    scale: float
    stop_probability: float
    depth: int
    over_beliefs: bool


@compiled
def place_node(model: Model, tree: Tree, node: int, observable: int, chance: float) -> None:
    """Begin `node`, whose belief has been written."""
    stop_reward, stop = kernels.best_terminal(model, observable, tree.beliefs, node * model.width)
    tree.observable[node], tree.chance[node] = observable, chance
    tree.first_arm[node], tree.first_child[node] = -1, -1
    tree.node_visits[node], tree.exact[node] = 0, 0
    tree.stop[node], tree.stop_reward[node], tree.value[node] = stop, stop_reward, stop_reward


@compiled
def open_node(model: Model, tree: Tree, work: Work, node: int, arms: int) -> None:
    """Give `node` so many unvisited arms and no children."""
    observable = tree.observable[node]
    arm, child = work.counters[ARMS], work.counters[CHILDREN]
    tree.first_arm[node], tree.first_child[node] = arm, child
    for place in range(arm, arm + arms):
        tree.arm_visits[place], tree.mean[place], tree.immediate[place], tree.solved[place] = 0.0, 0.0, 0.0, 0
    first = model.first[observable] + model.terminal_count[observable]
    for action in range(first, model.first[observable] + model.action_count[observable]):
        for _ in range(model.observations[action]):
            tree.child[child] = -1
            child += 1
    work.counters[ARMS], work.counters[CHILDREN] = arm + arms, child


@compiled
def action_of(model: Model, observable: int, arm: int) -> int:
    """The action of an arm, which counts from the first arm of its node."""
    place = model.terminal_count[observable] + arm
    result: int = model.first[observable] + place % model.action_count[observable]
    return result


@compiled
def first_child(model: Model, tree: Tree, node: int, action: int) -> int:
    """Where the children of `node` by `action` begin in Tree.child."""
    result: int = tree.first_child[node] + model.branch_offset[action]
    return result


@compiled
def select(tree: Tree, node: int, arms: int, exploration: float) -> int:
    """UCB1 among the arms that are not solved: the first unvisited one, else the largest upper confidence bound."""
    first, best, taken = tree.first_arm[node], -np.inf, -1
    reach = exploration * np.sqrt(np.log(max(tree.node_visits[node], 1)))
    for arm in range(first, first + arms):
        if tree.solved[arm] == 1:
            continue
        if tree.arm_visits[arm] == 0.0:
            return int(arm - first)
        bound = tree.mean[arm] + reach * np.sqrt(1.0 / tree.arm_visits[arm])
        if bound > best:
            best, taken = bound, arm - first
    return taken
