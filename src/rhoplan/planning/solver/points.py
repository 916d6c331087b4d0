"""The points of the upper bound as a Markov decision problem (GapMin; Poupart et al. 2011).

Each child of a point is a mixture of points and vertices. With the mixtures as they are, the best actions are those of
a Markov decision problem whose states are the points and vertices: policy iteration finds its value x. Nothing of this
needs to be exact. Let N be numbers of the points of which each row, an action of one point q, passes on less than N(q),
and y = x + m N with T y <= y for one sweep T: then y lies above the optimum. For let d N be the most by which the
optimum lies above y, d > 0; as it is convex, it is at most the mixture of points, plus d times that of N: it lies less
than d N above T y, and so above y.

An action that was not expanded counts for its first bound; if that is the best, it is expanded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from rhoplan.graph.row_index import spans
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.solver.fixed_point import solve_linear
from rhoplan.planning.solver.hsvi import back_up_lower, back_up_upper, has_room
from rhoplan.planning.solver.jit import entry_point, kernel
from rhoplan.planning.solver.settings import Parameters
from rhoplan.planning.solver.tabular import Tabular
from rhoplan.planning.solver.tree import Tree, expand, find_node
from rhoplan.planning.solver.upper import lower_drops, refresh_upper

MOST_ROUNDS = 30
"""Rounds of policy iteration; a handful is the rule."""


class Rows(NamedTuple):
    """Rows known[k] + sum of share[i] x[member[i]] over i from begin[k] to begin[k + 1], at most most[k]; action: of
    row k, -1 - action if it is not expanded."""

    begin: Ids
    member: Ids
    share: Array
    known: Array
    most: Array
    action: Ids

    def matrix(self, members: int) -> sp.csr_array:
        """The shares as a matrix, a row for each row and a column for each member."""
        parts = self.share, self.member, self.begin
        return sp.csr_array(parts, shape=(len(self.known), members), copy=True)  # SciPy sums duplicates in place


def members_of(tree: Tree) -> Ids:
    """The opened nodes that have a point or know their state."""
    nodes = tree.nodes[: tree.counts[0]["nodes"]]
    return np.flatnonzero((nodes["first_action"] >= 0) & ((nodes["point"] >= 0) | (nodes["size"] == 1)))


@entry_point
def mix_children(tabular: Tabular, tree: Tree, parameters: Parameters, members: Ids, slack: float) -> None:
    """Bring the interpolation of all children of `members` up to date."""
    for i in range(len(members)):
        node = tree.nodes[members[i]]
        begin = tabular.classes[node.class_].first_action
        for action in range(begin, tabular.classes[node.class_ + 1].first_action):
            own = tree.actions[node.first_action + action - begin]
            if own.first_child >= 0 and own.upper >= node.lower:
                branches = tabular.actions[action + 1].first_branch - tabular.actions[action].first_branch
                for at in range(own.first_child, own.first_child + branches):
                    if tree.child[at] >= 0:
                        refresh_upper(tabular, tree, tree.child[at], parameters, slack)


@kernel
def add_child(
    tabular: Tabular,
    tree: Tree,
    index: int,
    place: Ids,
    vertex: Ids,
    much: float,
    convexity: float,
    rows: Rows,
    at: int,
) -> tuple[float, int]:
    """Write `much` of the mixture of a node into `rows` from `at` on; the known part of its value, the next place."""
    node = tree.nodes[index]
    base = tabular.classes[node.class_].first_state
    if node.size == 1:
        state = base + tree.state[node.first]
        if vertex[state] >= 0:
            rows.member[at], rows.share[at] = vertex[state], much
            return 0.0, at + 1
        return much * min(tree.vertex[state], node.upper), at
    if place[index] >= 0:
        rows.member[at], rows.share[at] = place[index], much
        return much * convexity * node.entropy, at + 1
    if node.hull < 0:
        return much * node.upper, at
    known = node.residual + convexity * node.entropy
    for row in range(node.size):
        weight, column = tree.weight[node.hull + row], tree.basis[node.hull + row]
        if weight > 0.0:
            state = base + tree.state[node.first - 1 - column] if column < 0 else 0
            member = place[column] if column >= 0 else vertex[state]
            if member >= 0:
                rows.member[at], rows.share[at] = member, much * weight
                at += 1
            else:
                known += weight * (tree.nodes[column].point_value if column >= 0 else tree.vertex[state])
    return much * known, at


@entry_point
def write_rows(
    tabular: Tabular, tree: Tree, parameters: Parameters, members: Ids, place: Ids, vertex: Ids, rows: Rows
) -> int:
    """Every action of every member as a row, of W; the number of shares. place, vertex: the member of each node and of
    each state, or -1."""
    row, at = 0, 0
    rows.begin[0] = 0
    for i in range(len(members)):
        index = members[i]
        node = tree.nodes[index]
        less, begin = parameters.convexity * node.entropy, tabular.classes[node.class_].first_action
        for action in range(begin, tabular.classes[node.class_ + 1].first_action):
            own = tree.actions[node.first_action + action - begin]
            rows.action[row] = action if own.first_child >= 0 else -1 - action
            rows.known[row] = rows.most[row] = own.upper - less
            if own.first_child >= 0 and own.upper >= node.lower:
                rows.known[row] = own.reward + parameters.outward - less
                branches = tabular.actions[action + 1].first_branch - tabular.actions[action].first_branch
                for child in range(own.first_child, own.first_child + branches):
                    if tree.child[child] >= 0:
                        much = parameters.discount * tree.probability[child]
                        known, at = add_child(
                            tabular, tree, tree.child[child], place, vertex, much, parameters.convexity, rows, at
                        )
                        rows.known[row] += known
            row += 1
            rows.begin[row] = at
    return at


@entry_point
def lower_points(tabular: Tabular, tree: Tree, convexity: float, members: Ids, values: Array) -> None:
    """Let the members be worth no more than `values`."""
    for i in range(len(members)):
        node = tree.nodes[members[i]]
        if node.size == 1:
            state = tabular.classes[node.class_].first_state + tree.state[node.first]
            tree.vertex[state] = min(tree.vertex[state], values[i])
        node.point_value = min(node.point_value, values[i])
        node.upper = min(node.upper, values[i] + convexity * node.entropy)
    for class_ in range(len(tree.moved)):
        lower_drops(tabular, tree, class_)


@entry_point
def expand_all(tabular: Tabular, tree: Tree, parameters: Parameters, nodes: Ids, actions: Ids, begin: int) -> int:
    """Expand actions at the nodes beside them, from place `begin` on; the place at which there was no room."""
    for place in range(begin, len(nodes)):
        if not has_room(tree, parameters):
            return place
        node = tree.nodes[nodes[place]]
        own = node.first_action + actions[place] - tabular.classes[node.class_].first_action
        if tree.actions[own].first_child < 0:
            expand(tabular, tree, nodes[place], actions[place], parameters)
    return len(nodes)


@entry_point
def back_up_all(
    tabular: Tabular, tree: Tree, parameters: Parameters, nodes: Ids, gap: float, both: bool, begin: int
) -> int:
    """Back up nodes, from place `begin` on, above or on both sides; the place at which there was no room."""
    for place in range(begin, len(nodes)):
        if not has_room(tree, parameters):
            return place
        action = back_up_upper(tabular, tree, nodes[place], parameters, gap)
        if both:
            back_up_lower(tabular, tree, nodes[place], action, parameters, gap)
    return len(nodes)


@entry_point
def add_vertices(tabular: Tabular, tree: Tree, parameters: Parameters, begin: int, nodes: Ids) -> int:
    """Nodes for the known states from `begin` on, in `nodes`; the state at which there was no room."""
    class_ = 0
    for state in range(begin, len(tree.vertex)):
        if not has_room(tree, parameters):
            return state
        while tabular.classes[class_ + 1].first_state <= state:
            class_ += 1
        nodes[state] = -1
        if tabular.classes[class_].first_action < tabular.classes[class_ + 1].first_action:
            first = tabular.classes[class_].first_state
            tree.dense[: tabular.classes[class_ + 1].first_state - first] = 0.0
            tree.dense[state - first] = 1.0
            nodes[state] = find_node(tabular, tree, class_, tree.dense, parameters.convexity)
    return len(tree.vertex)


def rows_of(tabular: Tabular, tree: Tree, parameters: Parameters, members: Ids) -> tuple[Rows, Ids]:
    """The actions of `members` as rows, and the first row of each member."""
    nodes = tree.nodes[members]
    actions = np.diff(tabular.classes["first_action"])[nodes["class_"]]
    first = np.cumsum(actions) - actions
    branches = np.diff(tabular.actions["first_branch"][tabular.classes["first_action"]])[nodes["class_"]]
    count, shares = int(actions.sum()), int(branches.sum()) * max(tree.square.shape[0], 1)
    place, vertex = np.full(int(tree.counts[0]["nodes"]), -1), np.full(len(tree.vertex), -1)
    known = nodes["size"] == 1
    place[members[~known]] = np.flatnonzero(~known)
    states = tabular.classes["first_state"][nodes["class_"]] + tree.state[nodes["first"]]
    vertex[states[known]] = np.flatnonzero(known)
    rows = Rows(np.empty(count + 1, np.int64), np.empty(shares, np.int64), np.empty(shares), np.empty(count),
                np.empty(count), np.empty(count, np.int64))  # fmt: skip
    used = write_rows(tabular, tree, parameters, members, place, vertex, rows)
    return rows._replace(member=rows.member[:used], share=rows.share[:used]), first


def values_of(tabular: Tabular, tree: Tree, members: Ids) -> Array:
    """The upper bounds on W that the members have as points, or as vertices."""
    nodes = tree.nodes[members]
    states = tabular.classes["first_state"][nodes["class_"]] + tree.state[nodes["first"]]
    result: Array = np.where(nodes["size"] == 1, tree.vertex[states], nodes["point_value"])
    return result


def steps_at(tabular: Tabular, tree: Tree, members: Ids, steps: Array) -> Array:
    """The mean of `steps` (N,), a number per state, at the beliefs of `members`."""
    nodes = tree.nodes[members]
    at = spans(nodes["first"], nodes["size"])
    states = np.repeat(tabular.classes["first_state"][nodes["class_"]], nodes["size"]) + tree.state[at]
    return np.add.reduceat(tree.mass[at] * steps[states], np.cumsum(nodes["size"]) - nodes["size"])


def best_values(
    guess: Array, rows: Rows, first: Ids, steps: Array, *, rounding: float, more: float, tolerance: float
) -> tuple[Array, Ids]:
    """What the members are worth at most, and the row that is best for each. guess: what they are worth so far.

    steps: N. rounding: what sums lose, as a share of what is added up. more: what a row may be worth more. tolerance:
    of the linear systems.
    """
    matrix, values = rows.matrix(len(guess)), guess
    owner = np.repeat(np.arange(len(values)), np.diff(np.append(first, len(rows.known))))
    chosen = np.full(len(values), -1)

    def best_rows(worth: Array) -> Ids:
        top = np.maximum.reduceat(worth, first)
        held = np.where(chosen >= 0, worth[chosen], -np.inf) >= top - 1e-15 * np.abs(worth).max()
        place = np.flatnonzero(worth == top[owner])
        return np.where(held, chosen, place[np.searchsorted(owner[place], np.arange(len(values)))])

    for _ in range(MOST_ROUNDS):
        free = rows.known + matrix @ values
        best = best_rows(np.minimum(free, rows.most))
        if (best == chosen).all():
            break
        chosen = best
        taken, limited = matrix[chosen], free[chosen] > rows.most[chosen]
        known = np.where(limited, rows.most[chosen], rows.known[chosen])
        taken = sp.diags_array(np.where(limited, 0.0, 1.0)) @ taken
        values = solve_linear(taken, known, values, tolerance)
    size = np.abs(matrix) @ np.abs(values)
    worth = np.minimum(rows.known + matrix @ values, rows.most) + rounding * (np.abs(rows.known) + size) + more
    left = steps[owner] - (1 + rounding) * (matrix @ steps)
    if not (left > 0).all():
        return guess, chosen
    return values + max(float(((worth - values[owner]) / left).max()), 0.0) * steps, chosen


def visits(rows: Rows, chosen: Ids, member: int) -> Array:
    """How much the value of each member counts for that of `member` if these rows are taken."""
    matrix = rows.matrix(len(chosen))[chosen]
    known = np.zeros(len(chosen))
    known[member] = 1.0
    return np.maximum(solve_linear(sp.csr_array(matrix.T), known, known, 1e-6), 0.0)


def open_children(
    tabular: Tabular, tree: Tree, parameters: Parameters, members: Ids, actions: Ids, weights: Array
) -> Array:
    """For each node how much it counts as a child of `members` by `actions`, times its gap, if it has no point and
    more than one possible state."""
    nodes = tree.nodes[members]
    own = nodes["first_action"] + actions - tabular.classes["first_action"][nodes["class_"]]
    first = tree.actions["first_child"][own]
    branches = np.where(first >= 0, np.diff(tabular.actions["first_branch"])[actions], 0)
    at = spans(first, branches)
    child, count = tree.child[at], int(tree.counts[0]["nodes"])
    there = child >= 0
    share = np.repeat(weights, branches) * tree.probability[at] * parameters.discount
    result = np.bincount(child[there], share[there], count)
    every = tree.nodes[:count]
    gap = np.where(np.isfinite(every["lower"]), every["upper"] - every["lower"], parameters.span)
    return np.where((every["point"] < 0) & (every["size"] > 1), result * gap, 0.0)
