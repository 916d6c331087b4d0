"""Dropping vectors and points that no longer help."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Ids
from rhoplan.planning.solver.blocks import LANES, compacted, positions_after
from rhoplan.planning.solver.jit import entry_point
from rhoplan.planning.solver.lower import refresh_lower
from rhoplan.planning.solver.settings import Parameters
from rhoplan.planning.solver.tabular import Tabular
from rhoplan.planning.solver.tree import ROOT, Tree, class_size
from rhoplan.planning.solver.upper import best_sawtooth, interpolate, mixture_value, use_vertices

Flags = NDArray[np.bool_]


@entry_point
def mark_reachable(tabular: Tabular, tree: Tree, starts: Ids, convexity: float, reached: Flags, queue: Ids) -> int:
    """Mark the nodes that actions which are not ruled out lead to, and let lower bounds of opened ones be up to date;
    their number. They are in `queue`."""
    count, place = 0, 0
    for at in range(len(starts)):
        if not reached[starts[at]]:
            reached[starts[at]], queue[count] = True, starts[at]
            count += 1
    while place < count:
        index = queue[place]
        place += 1
        node = tree.nodes[index]
        if node.first_action < 0:
            continue
        refresh_lower(tree, index, convexity)
        begin = tabular.classes[node.class_].first_action
        for action in range(begin, tabular.classes[node.class_ + 1].first_action):
            own = tree.actions[node.first_action + action - begin]
            if own.first_child < 0 or own.upper < node.lower:
                continue
            branches = tabular.actions[action + 1].first_branch - tabular.actions[action].first_branch
            for at in range(own.first_child, own.first_child + branches):
                child = tree.child[at]
                if child >= 0 and not reached[child]:
                    reached[child], queue[count] = True, child
                    count += 1
    return count


@entry_point
def mark_needed_points(tabular: Tabular, tree: Tree, reached: Flags, slack: float, parameters: Parameters) -> None:
    """Remove the points of nodes that are not reached, then those but the root's that the others imply up to
    `slack`."""
    points = tree.points
    for index in range(tree.counts[0].nodes):
        node = tree.nodes[index]
        if node.point >= 0 and not reached[index]:
            points.item[node.point // LANES, node.point % LANES] = -1
            points.value[node.point // LANES, node.point % LANES] = 0.0
            node.point = -1
    for index in range(tree.counts[0].nodes):
        node = tree.nodes[index]
        if node.point < 0 or index == ROOT:
            continue
        block, lane, implied = node.point // LANES, node.point % LANES, False
        if class_size(tabular, node.class_) > parameters.settings.hull_states:
            goal = points.value[block, lane] + slack
            implied = goal >= 0.0 or best_sawtooth(tabular, tree, index, 0, goal) < goal
        elif node.hull >= 0:
            points.item[block, lane] = -1
            use_vertices(tree, index)
            interpolate(tabular, tree, index, parameters, 0.1 * slack, 0, True)
            implied = mixture_value(tabular, tree, index) <= node.point_value + slack
            points.item[block, lane] = index
        if implied:
            points.item[block, lane], points.value[block, lane] = -1, 0.0
            node.point = -1


def prune(
    tabular: Tabular, tree: Tree, parameters: Parameters, starts: Ids, initial_vectors: int, slack: float
) -> Tree:
    """Drop vectors that are best at no reachable node, and points that no reachable node has or that others imply.

    initial_vectors: so many stay. slack: how much higher than its own the bound at a dropped point may be.
    """
    nodes, sizes = tree.nodes[: tree.counts[0]["nodes"]], np.diff(tabular.classes["first_state"])
    reached, queue = np.zeros(len(nodes), dtype=bool), np.empty(len(nodes), dtype=np.int64)
    mark_reachable(tabular, tree, starts, parameters.convexity, reached, queue)
    vectors = tree.vectors[: tree.counts[0]["vectors"]]
    vectors["is_alive"][initial_vectors:] = 0
    best = nodes["best_vector"]
    vectors["is_alive"][best[reached & (nodes["first_action"] >= 0) & (best >= 0)]] = 1
    items = tree.alpha.item[: tree.alpha.used[0]]
    keep = (items >= 0) & (vectors["is_alive"][items] == 1)
    alpha, places = compacted(tree.alpha, sizes, keep)
    there = vectors["place"] >= 0
    vectors["place"][there] = places[vectors["place"][there]]
    classes = nodes["class_"]
    nodes["vectors_read"], nodes["vector_block"] = positions_after(
        tree.alpha, alpha, places, classes, nodes["vectors_read"]
    )
    lost = (best >= 0) & (vectors["is_alive"][best] == 0)
    nodes["best_vector"][lost], nodes["vector_block"][lost] = -1, -1
    nodes["lower"][lost], nodes["vectors_read"][lost] = -np.inf, 0

    mark_needed_points(tabular, tree, reached, slack, parameters)
    items = tree.points.item[: tree.points.used[0]]
    points, places = compacted(tree.points, sizes, items >= 0)
    there = nodes["point"] >= 0
    nodes["point"][there] = places[nodes["point"][there]]
    nodes["points_read"], nodes["point_block"] = positions_after(
        tree.points, points, places, classes, nodes["points_read"]
    )
    return tree._replace(alpha=alpha, points=points)
