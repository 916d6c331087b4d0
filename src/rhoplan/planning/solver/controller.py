"""The lower bound's policy, evaluated exactly.

The vectors are a finite-state controller: each takes an action at the node where it was made and continues with the
vector that is best there now. Its value is a linear system; what one sweep finds missing at the end is taken off, so
that every claim is at most its own backup (policy iteration; Hansen 1998).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rhoplan.graph.row_index import spans
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.solver.blocks import LANES
from rhoplan.planning.solver.fixed_point import solve_linear
from rhoplan.planning.solver.hsvi import back_up_lower_action
from rhoplan.planning.solver.jit import entry_point
from rhoplan.planning.solver.lower import first_step, link_all, new_vector
from rhoplan.planning.solver.settings import Parameters
from rhoplan.planning.solver.tabular import Tabular
from rhoplan.planning.solver.tree import Tree, class_size

MOST_ENTRIES = 5_000_000
UNIT = 2.0**-53
"""What one operation on floats loses at most, as a share."""


@entry_point
def improve_controller(tabular: Tabular, tree: Tree, parameters: Parameters, origins: Ids, copies: Ids) -> None:
    """Make a vector at each of `origins` by the action that is best there now, without numbers; its number."""
    for place in range(len(origins)):
        index = origins[place]
        node = tree.nodes[index]
        begin, best = tabular.classes[node.class_].first_action, -1
        for action in range(begin, tabular.classes[node.class_ + 1].first_action):
            own = node.first_action + action - begin
            if tree.actions[own].first_child >= 0 and (best < 0 or tree.actions[own].upper >= node.lower):
                back_up_lower_action(tabular, tree, own, action, parameters)
                if best < 0 or tree.actions[own].lower > tree.actions[node.first_action + best - begin].lower:
                    best = action
        copies[place] = new_vector(tabular, tree, index, best, parameters.weight)


@entry_point
def first_steps(tabular: Tabular, tree: Tree, parameters: Parameters, made: Ids, offset: Ids, out: Array) -> None:
    """What the first action of each of the vectors `made` pays, from offset[i] on in `out`."""
    for place in range(len(made)):
        vector = tree.vectors[made[place]]
        size = class_size(tabular, vector.class_)
        mine = out[offset[place] : offset[place] + size]
        first_step(tabular, tree, vector.origin, vector.action, vector.first_follower, parameters, mine)


def evaluate_controller(
    tabular: Tabular, tree: Tree, parameters: Parameters, initial_vectors: int, steps: Array, tolerance: float
) -> None:
    """Add the vectors that count once more, at the value of the controller that they are. There must be room. Nothing
    is done if the equations have more than MOST_ENTRIES numbers.

    steps (N,): a number above that of the (discounted) steps to come, per state. tolerance: of the linear system.
    """
    count = int(tree.counts[0]["vectors"])
    old = np.flatnonzero(tree.vectors["is_alive"][initial_vectors:count]) + initial_vectors
    first_entry = tabular.row[np.minimum(tabular.branches["first_row"], len(tabular.row) - 1)]
    entries = np.diff(first_entry[tabular.actions["first_branch"]])[tree.vectors["action"][old]]
    if not len(old) or entries.sum() > MOST_ENTRIES:
        return
    made = np.empty(len(old), dtype=np.int64)
    improve_controller(tabular, tree, parameters, tree.vectors["origin"][old], made)
    copy = np.arange(int(tree.counts[0]["vectors"]))
    copy[old] = made
    last = int(tree.counts[0]["followers"])
    begin = int(tree.vectors["first_follower"][made[0]])
    followers = tree.follower[begin:last]
    followers[followers >= 0] = copy[followers[followers >= 0]]

    classes = tree.vectors["class_"][made]
    first_state = tabular.classes["first_state"]
    size = first_state[classes + 1] - first_state[classes]
    end = np.cumsum(size)
    offset = end - size
    paid = np.empty(int(end[-1]))
    first_steps(tabular, tree, parameters, made, offset, paid)
    paid += parameters.outward  # what the last sweep loses is taken off once, in the end
    matrix, known, largest, terms = controller_rows(tabular, tree, parameters.discount, made, offset, size)
    largest += np.abs(paid)
    paid += known
    values = solve_linear(matrix, paid, paid, tolerance)
    for _ in range(2):
        values = paid + matrix @ values
    fall = max(float((values - paid - matrix @ values).max()), 0.0)
    rounding = max(2 * parameters.rounding, 2 * (terms + 5) * UNIT)
    fall += rounding * float((np.abs(matrix) @ np.abs(values) + largest).max()) + parameters.outward
    if not np.isfinite(fall):
        return
    values -= fall * steps[spans(first_state[classes], size)]
    link_all(tabular, tree, made, offset, values)


def controller_rows(
    tabular: Tabular, tree: Tree, discount: float, made: Ids, offset: Ids, size: Ids
) -> tuple[sp.csr_array, Array, Array, int]:
    """The vectors `made` as equations x = paid + known + matrix @ x, a row per vector and state: what they take of each
    other (matrix), of the vectors before them (known), the sums of the absolute values of the latter, and the most
    terms of a row."""
    action = tree.vectors["action"][made]
    begin = tabular.actions["first_branch"][action]
    branches = tabular.actions["first_branch"][action + 1] - begin
    owner, branch = np.repeat(np.arange(len(made)), branches), spans(begin, branches)
    follower = tree.follower[spans(tree.vectors["first_follower"][made], branches)]
    owner, branch, follower = (values[follower >= 0] for values in (owner, branch, follower))
    # One line per branch and state, then one entry per successor.
    line = spans(tabular.branches["first_row"][branch], size[owner])
    row = spans(offset[owner], size[owner])
    target = np.repeat(follower, size[owner])
    count = tabular.row[line + 1] - tabular.row[line]
    entry = spans(tabular.row[line], count)
    row, target, column = np.repeat(row, count), np.repeat(target, count), tabular.column[entry]
    share = discount * tabular.probability[entry]
    place = np.full(int(tree.counts[0]["vectors"]), -1)
    place[made] = offset
    own = place[target] >= 0
    total = int(offset[-1] + size[-1])
    matrix = sp.csr_array((share[own], (row[own], place[target[own]] + column[own])), shape=(total, total))
    other = tree.vectors["place"][target[~own]]
    at = tree.alpha.blocks["first"][other // LANES] + column[~own] * LANES + other % LANES
    parts = share[~own] * tree.alpha.numbers[at]
    known, largest = (np.bincount(row[~own], one, total).astype(float) for one in (parts, np.abs(parts)))
    return matrix, known, largest, int(np.bincount(row).max(initial=0))
