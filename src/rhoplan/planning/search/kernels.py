"""The compiled part that both tree searches share: plain loops over flat arrays, with no Python objects in sight.

`update` and `information` are the scalar forms of `belief.information`, and tests hold them equal; `select` is UCB1.
`pomcp` and `mcts` run simulations with them on a tree that Python prepared, and return how many they did. They stop
early where the arrays are full, where the root is solved, or where they meet a visible state whose menu Python has not
built: that simulation is undone, random numbers included, so an interruption never changes a result.

Shapes: F hidden factors, S states of the largest one. A belief is F * S numbers in a row, factor f from f * S on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhoplan.belief.information import FLOOR, SMALLEST
from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.machine import compiled, entropy, handed

START, GOING, ENDING, READY = range(4)
"""Columns of Model.menus: first action (-1 where the menu is not built), how many go on, how many end, and whether the
menus of all visible states one action away are built too."""

ROW, STATES, OUTCOMES, REWARD, LIKELIHOOD, CUMULATIVE, TRANSITION, TARGET = range(8)
"""Columns of Model.actions: the factor's place in a belief, two sizes, places in Model.numbers (-1: no transition), and
the place in Model.targets."""

VISIBLE, ARMS, CHILDREN, VISITS, BEST, SOLVED = range(6)
"""Columns of Tree.nodes: visible state, first arm and first child (-1 until opened), visits, best ending action (-1:
none), and whether the value is exact."""

VALUE, STOP, CHANCE = range(3)
"""Columns of Tree.worth: value, expected reward of the best ending action, probability of coming here by its arm."""

COUNT, MEAN, WIDTH, PAY, CLOSED = range(5)
"""Columns of Tree.arms: visits, value, 1 / sqrt(visits), what is paid at once (`pomcp`: the information term only), and
whether everything below is solved."""

NODES_USED, ARMS_USED, CHILDREN_USED, MISSING = range(4)
"""Places in Work.counters: how much of the tree is filled, and the visible state whose menu is wanted (-1: none)."""


@handed
class Model(NamedTuple):
    """The part of a problem explored so far. An action's likelihood is stored outcome by outcome, (O, S); `cumulative`
    is (S, O). A transition has a row for each outcome and state: where the rows begin (O * S + 1 numbers), then for all
    entries the states after it, their probabilities, and these summed up along a row. Targets are -1 at END."""

    menus: Ids
    actions: Ids
    targets: Ids
    numbers: Array


@handed
class Tree(NamedTuple):
    """Nodes, their beliefs, the arms of opened nodes (actions that go on, then those that end), and for each outcome of
    an action that goes on the child, -1 where there is none."""

    nodes: Ids
    worth: Array
    beliefs: Array
    arms: Array
    children: Ids


@handed
class Work(NamedTuple):
    """What a simulation writes on. prior: cumulative root belief. truth: the sampled state of factor f, at f * S.

    path: the node after each step and the arm taken there. paid: what that arm paid. belief, ahead, rows: scratch.
    """

    counters: Ids
    rng: NDArray[np.uint64]
    prior: Array
    truth: Ids
    belief: Array
    ahead: Array
    rows: Array
    path: Ids
    paid: Array


@handed
class Settings(NamedTuple):
    """What the search maximises, and how; most_*: what one simulation can add to the tree."""

    discount: float
    weight: float
    exploration: float
    gains: float
    depth: int
    states: int
    most_nodes: int
    most_arms: int
    most_children: int
    frozen: bool


ROOT_LOG = np.sqrt(np.log(np.maximum(np.arange(4096), 1)))
"""The square root of ln n, looked up for small n: it is needed at every step down a tree."""

HAIR = RELATIVE_TOLERANCE
"""The tie rule's, as a number that compiled code can hold."""

# -- chance and belief ------------------------------------------------------------------------------------------------


@compiled
def uniform(rng: NDArray[np.uint64]) -> float:
    """A number in [0, 1) from the generator splitmix64, whose whole state is rng[0]."""
    rng[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = rng[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((bits ^ (bits >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@compiled
def draw(cumulative: Array, at: int, rng: NDArray[np.uint64]) -> int:
    """A position drawn from the cumulative probabilities that start at `at` and reach exactly 1."""
    chance, place = uniform(rng), 0
    while cumulative[at + place] <= chance:
        place += 1
    return place


@compiled
def act(model: Model, action: int, work: Work) -> int:
    """The outcome of `action` in the sampled true state, which then moves on."""
    states, outcomes = model.actions[action, STATES], model.actions[action, OUTCOMES]
    row, transition = model.actions[action, ROW], model.actions[action, TRANSITION]
    outcome = 0
    if outcomes > 1:
        outcome = draw(model.numbers, model.actions[action, CUMULATIVE] + work.truth[row] * outcomes, work.rng)
    if transition >= 0:
        columns = transition + outcomes * states + 1
        entries = int(model.numbers[columns - 1])
        first = columns + int(model.numbers[transition + outcome * states + work.truth[row]])
        work.truth[row] = int(model.numbers[first + draw(model.numbers, first + 2 * entries, work.rng)])
    return outcome


@compiled
def update(
    model: Model, action: int, outcome: int, before: Array, at: int, after: Array, to: int, joint: Array
) -> float:
    """Probability of `outcome`; the belief row at before[at] as `action` and outcome leave it is written to after[to].

    The two may be the same place. joint: room for S numbers. Zeros are written where the outcome is impossible;
    possible states keep a probability of at least FLOOR, as in `belief.information.update`.
    """
    states, transition = model.actions[action, STATES], model.actions[action, TRANSITION]
    likelihood = model.actions[action, LIKELIHOOD] + outcome * states
    total = 0.0
    for s in range(states):
        held, chance = before[at + s], model.numbers[likelihood + s]
        joint[s] = max(held * chance, SMALLEST) if held > 0.0 and chance > 0.0 else 0.0
        total += joint[s]
    divisor = total if total > 0.0 else 1.0
    if transition < 0:
        for s in range(states):
            after[to + s] = max(joint[s] / divisor, FLOOR) if joint[s] > 0.0 else 0.0
        return total
    columns = transition + model.actions[action, OUTCOMES] * states + 1
    entries = int(model.numbers[columns - 1])
    for t in range(states):
        after[to + t] = 0.0
    for s in range(states):
        if joint[s] > 0.0:
            row = transition + outcome * states + s
            for entry in range(columns + int(model.numbers[row]), columns + int(model.numbers[row + 1])):
                after[to + int(model.numbers[entry])] += max(joint[s] * model.numbers[entry + entries], SMALLEST)
    for t in range(states):
        after[to + t] = max(after[to + t] / divisor, FLOOR) if after[to + t] > 0.0 else 0.0
    return total


@compiled
def copy(source: Array, at: int, target: Array, to: int, count: int) -> None:
    """Copy `count` numbers; for the few of a belief a loop is faster than slices."""
    for place in range(count):
        target[to + place] = source[at + place]


@compiled
def information(model: Model, action: int, beliefs: Array, at: int, rows: Array) -> float:
    """Expected information in nats from `action` under the belief row at beliefs[at]. rows: room for 3 S numbers."""
    states, outcomes = model.actions[action, STATES], model.actions[action, OUTCOMES]
    if outcomes == 1:
        return 0.0
    posterior, predicted = states, 2 * states
    rows[predicted : predicted + states] = 0.0
    after = 0.0
    for outcome in range(outcomes):
        chance = update(model, action, outcome, beliefs, at, rows, posterior, rows)
        after += chance * entropy(rows, posterior, states)
        for s in range(states):
            rows[predicted + s] += chance * max(rows[posterior + s], 0.0)
    if model.actions[action, TRANSITION] < 0:
        return max(entropy(beliefs, at, states) - after, 0.0)
    return max(entropy(rows, predicted, states) - after, 0.0)


@compiled
def expected(model: Model, action: int, belief: Array, base: int) -> float:
    """Expected reward of `action` under the belief that starts at belief[base]."""
    row, reward = base + model.actions[action, ROW], model.actions[action, REWARD]
    total = 0.0
    for s in range(model.actions[action, STATES]):
        if belief[row + s] > 0.0:
            total += belief[row + s] * model.numbers[reward + s]
    return total


@compiled
def best_ending(model: Model, visible: int, belief: Array, base: int) -> tuple[float, int]:
    """Expected reward of the best ending action and its number; minus infinity and -1 where none ends."""
    best, taken = -np.inf, -1
    first = model.menus[visible, START] + model.menus[visible, GOING]
    for action in range(first, first + model.menus[visible, ENDING]):
        value = expected(model, action, belief, base)
        if value > best + HAIR * abs(value):
            best, taken = value, action
    return best, taken


# -- what both trees share --------------------------------------------------------------------------------------------


@compiled
def has_room(tree: Tree, work: Work, settings: Settings) -> bool:
    """Whether one more simulation fits into the arrays, whatever it adds."""
    fits: bool = (
        work.counters[NODES_USED] + settings.most_nodes <= len(tree.nodes)
        and work.counters[ARMS_USED] + settings.most_arms <= len(tree.arms)
        and work.counters[CHILDREN_USED] + settings.most_children <= len(tree.children)
    )
    return fits


@compiled
def place_node(model: Model, tree: Tree, node: int, visible: int, chance: float) -> None:
    """Begin `node`, whose belief is there already."""
    stop, best = best_ending(model, visible, tree.beliefs, node * (len(tree.beliefs) // len(tree.nodes)))
    tree.nodes[node, VISIBLE], tree.nodes[node, BEST] = visible, best
    tree.nodes[node, ARMS], tree.nodes[node, CHILDREN] = -1, -1
    tree.nodes[node, VISITS], tree.nodes[node, SOLVED] = 0, 0
    tree.worth[node, VALUE], tree.worth[node, STOP], tree.worth[node, CHANCE] = stop, stop, chance


@compiled
def open_node(model: Model, tree: Tree, work: Work, node: int, arms: int) -> None:
    """Give `node` its first `arms` actions as arms, unvisited, and no children."""
    visible = tree.nodes[node, VISIBLE]
    start, going = model.menus[visible, START], model.menus[visible, GOING]
    first, child = work.counters[ARMS_USED], work.counters[CHILDREN_USED]
    tree.nodes[node, ARMS], tree.nodes[node, CHILDREN] = first, child
    tree.arms[first : first + arms] = 0.0
    for action in range(start, start + going):
        for _ in range(model.actions[action, OUTCOMES]):
            tree.children[child] = -1
            child += 1
    work.counters[ARMS_USED], work.counters[CHILDREN_USED] = first + arms, child


@compiled
def child_slot(model: Model, tree: Tree, node: int, action: int) -> int:
    """Where the children by the outcomes of `action` stand in Tree.children."""
    start = model.menus[tree.nodes[node, VISIBLE], START]
    place: int = tree.nodes[node, CHILDREN] + model.actions[action, TARGET] - model.actions[start, TARGET]
    return place


@compiled
def select(tree: Tree, node: int, arms: int, exploration: float) -> int:
    """UCB1 among the arms that are not closed: the first unvisited one, else the largest upper confidence bound."""
    first = tree.nodes[node, ARMS]
    visits = tree.nodes[node, VISITS]
    reach = exploration * (ROOT_LOG[visits] if visits < len(ROOT_LOG) else np.sqrt(np.log(visits)))
    best, taken = -np.inf, -1
    for arm in range(first, first + arms):
        if tree.arms[arm, CLOSED] > 0.0:
            continue
        if tree.arms[arm, COUNT] == 0.0:
            return int(arm - first)
        bound = tree.arms[arm, MEAN] + reach * tree.arms[arm, WIDTH]
        if bound > best:
            best, taken = bound, arm - first
    return taken
