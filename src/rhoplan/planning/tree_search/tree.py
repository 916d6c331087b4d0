"""The search tree that MCTS over beliefs and POMCP share: records of nodes and arms, opening a node, and UCB1.

An arm is an action at a node: the non-terminal ones first, then the terminal ones if these are searched, too. Nodes and
arms are numbered in order of creation; Python makes room for all that simulations can add before it starts them.

Shapes: F hidden factors, S states of the largest one, D actions from the root to the depth limit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhoplan.graph.action_table import UNKNOWN
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.machine import compiled, handed
from rhoplan.planning.tree_search import kernels
from rhoplan.planning.tree_search.model import Model

NODES, ARMS, CHILDREN, UNEXPLORED = range(4)
"""Places in Tree.counters: used rows, and the observable state that must be explored first (-1: none)."""

WHOLE, REAL = np.int64, np.float64
NODE = np.dtype(
    (np.record, [
        ("observable", WHOLE), ("first_arm", WHOLE), ("arms", WHOLE), ("visits", WHOLE), ("stop", WHOLE),
        ("is_exact", WHOLE), ("stop_reward", REAL), ("value", REAL), ("chance", REAL),
    ])
)  # fmt: skip
"""A node: its observable state, its arms (first_arm is -1 until it is opened), visits, the best terminal action `stop`
(-1: none) and its expected reward; value, whether it is exact, and the probability of coming here by its arm."""

ARM = np.dtype(
    (np.record, [
        ("action", WHOLE), ("first_child", WHOLE), ("visits", WHOLE), ("is_exact", WHOLE), ("value", REAL),
        ("immediate", REAL),
    ])
)  # fmt: skip
"""An arm: its action, where its children begin, visits, value, whether that is exact, and what the action itself
is worth by the belief: for MCTS reward and weighted information, for POMCP the latter only."""


@handed
class Tree(NamedTuple):
    """The tree, and what simulations write on.

    nodes, arms: records. beliefs (., F, S): by node. child: node by observation of an arm; -1: none yet. path_node,
    path_arm, paid (D,): node, arm and reward of each step of a simulation. truth (F,): the sampled hidden state of a
    simulation of POMCP. belief, ahead (F, S), rows (3, S): scratch.
    """

    nodes: NDArray[Any]
    arms: NDArray[Any]
    beliefs: Array
    child: Ids
    counters: Ids
    rng: NDArray[np.uint64]
    path_node: Ids
    path_arm: Ids
    paid: Array
    truth: Ids
    belief: Array
    ahead: Array
    rows: Array

    @classmethod
    def empty(cls, factors: int, states: int, depth: int) -> Tree:
        """A tree without nodes."""
        nothing, whole, real = np.empty((0, factors, states)), np.zeros(depth, WHOLE), np.zeros(depth)
        belief = np.zeros((factors, states))
        return cls(
            np.empty(0, NODE), np.empty(0, ARM), nothing, np.empty(0, WHOLE), np.zeros(4, WHOLE),
            np.zeros(1, np.uint64), whole, whole.copy(), real, np.zeros(factors, WHOLE), belief, belief.copy(),
            np.zeros((3, states)),
        )  # fmt: skip


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
def must_explore(model: Model, tree: Tree, observable: int) -> bool:
    """Whether what follows an observable state is not known: the simulation then must wait, and leaves no trace."""
    action = model.going[observable]
    if action == model.end[observable] or kernels.target(model, action, 0) != UNKNOWN:
        return False
    tree.counters[UNEXPLORED] = observable
    return True


@compiled
def place_node(model: Model, tree: Tree, number: int, observable: int, chance: float) -> None:
    """Begin a node, whose belief has been written."""
    node = tree.nodes[number]
    stop_reward, stop = kernels.best_terminal(model, observable, tree.beliefs[number])
    node.observable, node.first_arm, node.arms, node.visits, node.stop = observable, -1, 0, 0, stop
    node.is_exact, node.stop_reward, node.value, node.chance = 0, stop_reward, stop_reward, chance


@compiled
def open_node(model: Model, tree: Tree, number: int, arms: int) -> None:
    """Give a node so many unvisited arms without children."""
    node, counters = tree.nodes[number], tree.counters
    node.first_arm, node.arms = counters[ARMS], arms
    first, going = model.first[node.observable], model.going[node.observable]
    for place in range(arms):
        arm = tree.arms[node.first_arm + place]
        arm.action = first + (going - first + place) % (model.end[node.observable] - first)
        arm.first_child, arm.visits, arm.is_exact, arm.value, arm.immediate = counters[CHILDREN], 0, 0, 0.0, 0.0
        for _ in range(model.observations[arm.action]):
            tree.child[counters[CHILDREN]] = -1
            counters[CHILDREN] += 1
    counters[ARMS] += arms


@compiled
def enter(model: Model, tree: Tree, goal: Goal, number: int) -> int:
    """The arm that UCB1 takes at a node; -1 if there is none, or if its observable state must be explored first."""
    node = tree.nodes[number]
    if must_explore(model, tree, node.observable):
        return -1
    if node.first_arm < 0:
        first = model.going[node.observable] if goal.over_beliefs else model.first[node.observable]
        open_node(model, tree, number, model.end[node.observable] - first)
    taken = select(tree, number, goal.exploration)
    if taken >= 0 and tree.arms[taken].visits == 0:
        arm, beliefs = tree.arms[taken], tree.beliefs[number]
        arm.immediate = weighted_information(model, tree, goal, arm.action, beliefs)
        if goal.over_beliefs:
            arm.immediate += kernels.expected_reward(model, arm.action, beliefs)[0]
    return taken


@compiled
def weighted_information(model: Model, tree: Tree, goal: Goal, action: int, beliefs: Array) -> float:
    """Weight * information of `action`."""
    return goal.weight * kernels.information(model, action, beliefs, tree.rows) if goal.weight != 0.0 else 0.0


@compiled
def select(tree: Tree, number: int, exploration: float) -> int:
    """UCB1 among the arms that are not exact: the first unvisited one, else the largest upper confidence bound."""
    node, best, taken = tree.nodes[number], -np.inf, -1
    reach = exploration * np.sqrt(np.log(max(node.visits, 1)))
    for place in range(node.first_arm, node.first_arm + node.arms):
        arm = tree.arms[place]
        if arm.is_exact == 1:
            continue
        if arm.visits == 0:
            return place
        bound = arm.value + reach * np.sqrt(1.0 / arm.visits)
        if bound > best:
            best, taken = bound, place
    return taken
