"""The upper bound between the nodes that were backed up, on W = V - c w H, which is convex in the belief.

The vertices of a class are its known states; its points are nodes with an upper bound W_q of their own. In large
classes a node takes the best sawtooth, one point mixed with vertices,

    W(b) <= u . b + min over points q of (W_q - u . q) min over q(s) > 0 of b(s) / q(s),

in small classes the convex hull: the cheapest mixture of points and vertices that makes up b, a linear program with one
row per possible state. A node keeps its mixture (`basis`, `weight`) and the prices of the program. While no new point
lies below the plane of these prices there is nothing to do. Every basis on the way gives a bound. What rounding leaves
of the belief is paid for at the largest price there can be.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array
from rhoplan.planning.solver.blocks import LANES, append, unread
from rhoplan.planning.solver.jit import kernel
from rhoplan.planning.solver.settings import Parameters
from rhoplan.planning.solver.tabular import Tabular
from rhoplan.planning.solver.tree import CANDIDATES, Tree, class_size, unfold, weigh

PART = 1e-9
"""A point whose probabilities at the possible states of a belief sum to less than 1 by more than this lies outside."""

STATES_AT_ONCE = 8
"""States after which points that can no longer matter are ruled out."""

SMALLEST_PIVOT = 1e-13
EXACT, MOST_STARTS = 1e-9, 2
"""A mixture that misses more than this of a belief is computed once more from its basis."""

PRECISION = 1e-15
"""A point this share of the span below a plane lies on it: prices are no more exact."""


@kernel
def refresh_upper(tabular: Tabular, tree: Tree, index: int, parameters: Parameters, tolerance: float) -> None:
    """Bring the upper bound of a node up to date; a point that lowers it by less than `tolerance` may be left out."""
    node = tree.nodes[index]
    moved, total = tree.moved[node.class_], tree.points.chains[node.class_].total
    if node.vertices_read == moved and node.points_read == total:
        return
    curved = parameters.convexity * node.entropy
    if node.vertices_read != moved:
        node.vertex_value = weigh(tree, tree.vertex, tabular.classes[node.class_].first_state, index)
        node.upper = min(node.upper, node.vertex_value + curved)
    if node.size > 1 and class_size(tabular, node.class_) <= parameters.settings.hull_states:
        tolerance = max(tolerance, PRECISION * parameters.span)
        is_new = node.hull < 0 or node.vertices_read != moved  # then old points may have been lowered, too
        read = 0 if is_new else node.points_read
        listed = 0 if node.hull < 0 else points_below(tree, index, read, tolerance)
        if node.hull < 0 or listed > 0 or has_vertex_below(tabular, tree, index, tolerance):
            interpolate(tabular, tree, index, parameters, tolerance, listed, is_new)
        node.upper = min(node.upper, mixture_value(tabular, tree, index) + curved)
    elif node.size > 1 and node.points_read != total:
        drop = min(node.upper - curved - node.vertex_value, 0.0)
        drop = best_sawtooth(tabular, tree, index, node.points_read, drop)
        node.upper = min(node.upper, node.vertex_value + drop + curved)
    node.vertices_read, node.points_read = moved, total
    node.point_block = tree.points.chains[node.class_].tail


@kernel
def best_sawtooth(tabular: Tabular, tree: Tree, index: int, read: int, best: float) -> float:
    """The least of `best` (at most 0) and the drops below the vertices that other points than the first `read` ones
    imply at a node."""
    node, points = tree.nodes[index], tree.points
    size, unfolded = class_size(tabular, node.class_), False
    block, lane = unread(points, node.class_, node.point_block, read)
    while block >= 0:
        first, filled = points.blocks[block].first, points.blocks[block].filled
        drop, deepest = points.value[block, lane:filled], 0.0
        most, inside = tree.lanes[0, lane:filled], tree.lanes[1, lane:filled]
        for k in range(len(drop)):
            deepest = min(deepest, drop[k])
            most[k], inside[k] = 1.0, 0.0
        # A point q takes part in b by at most 1 / max of q(s) / b(s). Most are ruled out after a few states.
        place, end = node.first, node.first + node.size
        matters = deepest < best
        while matters and place < end:
            stop = min(place + STATES_AT_ONCE, end)
            for at in range(place, stop):
                begin, inverse = first + tree.state[at] * LANES, 1.0 / tree.mass[at]
                held = points.numbers[begin + lane : begin + filled]
                for k in range(len(drop)):
                    ratio = held[k] * inverse
                    most[k] = ratio if ratio > most[k] else most[k]
                    inside[k] += held[k]
            tree.counts[0].work += (stop - place) * (1 + len(drop) // 4)
            place, count = stop, 0
            for k in range(len(drop)):
                count += drop[k] < best * most[k]
            matters = count > 0
        if matters:
            for k in range(len(drop)):
                item = points.item[block, lane + k]
                if drop[k] < best * most[k] and inside[k] > 1.0 - PART and item != index:
                    if not unfolded:
                        unfold(tree, index, size, tree.dense)
                        unfolded = True
                    best = min(best, drop[k] * largest_share(tree, item, tree.dense))
        lane, block = 0, points.blocks[block].next
    return best


@kernel
def largest_share(tree: Tree, point: int, dense: Array) -> float:
    """The largest multiple of the belief of node `point`, at most 1, that fits under `dense`."""
    node, share = tree.nodes[point], 1.0
    for place in range(node.first, node.first + node.size):
        if dense[tree.state[place]] < share * tree.mass[place]:
            share = dense[tree.state[place]] / tree.mass[place]
    return float(share)


@kernel
def add_point(tabular: Tabular, tree: Tree, index: int, convexity: float) -> None:
    """Let the upper bound of a node count for others, as a point, or as a vertex if its state is known."""
    node, points = tree.nodes[index], tree.points
    node.point_value = node.upper - convexity * node.entropy
    if node.size == 1:
        tree.vertex[tabular.classes[node.class_].first_state + tree.state[node.first]] = node.point_value
        lower_drops(tabular, tree, node.class_)
        return
    if node.point >= 0:  # its old place no longer counts
        points.value[node.point // LANES, node.point % LANES] = 0.0
        points.item[node.point // LANES, node.point % LANES] = -1
    drop = node.point_value - node.vertex_value
    node.point = append(points, node.class_, class_size(tabular, node.class_), index, drop)
    at = points.blocks[node.point // LANES].first + node.point % LANES
    for place in range(node.first, node.first + node.size):
        points.numbers[at + tree.state[place] * LANES] = tree.mass[place]


@kernel
def lower_drops(tabular: Tabular, tree: Tree, class_: int) -> None:
    """How far the points of a class lie below its vertices, after one of these was lowered."""
    tree.moved[class_] += 1
    points, block = tree.points, tree.points.chains[class_].head
    if class_size(tabular, class_) <= tree.square.shape[0]:
        return  # these are interpolated by a linear program, which asks for values
    while block >= 0:
        for lane in range(points.blocks[block].filled):
            item = points.item[block, lane]
            if item >= 0:
                base = weigh(tree, tree.vertex, tabular.classes[class_].first_state, item)
                points.value[block, lane] = min(tree.nodes[item].point_value - base, 0.0)
        block = points.blocks[block].next


# The convex hull. Rows are the possible states of a node's belief; a column is a point (its node), or a vertex
# (-1 - row).


@kernel
def mixture_value(tabular: Tabular, tree: Tree, index: int) -> float:
    """The bound on W by the mixture that a node keeps."""
    node = tree.nodes[index]
    base, total = tabular.classes[node.class_].first_state, node.residual
    for row in range(node.size):
        share = tree.weight[node.hull + row]
        if share > 0.0:
            total += share * column_value(tree, node.first, base, tree.basis[node.hull + row])
    return float(total)


@kernel
def column_value(tree: Tree, first: int, base: int, column: int) -> float:
    if column >= 0:
        return float(tree.nodes[column].point_value)
    return float(tree.vertex[base + tree.state[first - 1 - column]])


@kernel
def has_vertex_below(tabular: Tabular, tree: Tree, index: int, tolerance: float) -> bool:
    """Whether a vertex lies below the plane of a node's prices."""
    node = tree.nodes[index]
    base = tabular.classes[node.class_].first_state
    for row in range(node.size):
        if tree.vertex[base + tree.state[node.first + row]] < tree.price[node.hull + row] - tolerance:
            return True
    return False


@kernel
def points_below(tree: Tree, index: int, read: int, tolerance: float) -> int:
    """List points of a node's class other than the first `read` ones that lie below its plane, some of those that lie
    farthest below. Their number; they are in Tree.candidate."""
    node, points = tree.nodes[index], tree.points
    found, bar = 0, -tolerance
    block, lane = unread(points, node.class_, node.point_block, read)
    while block >= 0 and found < CANDIDATES:
        first, filled = points.blocks[block].first, points.blocks[block].filled
        above, inside = tree.lanes[0, lane:filled], tree.lanes[1, lane:filled]
        for k in range(len(above)):
            above[k] = inside[k] = 0.0
        for row in range(node.size):
            at, price = first + tree.state[node.first + row] * LANES, tree.price[node.hull + row]
            held = points.numbers[at + lane : at + filled]
            for k in range(len(above)):
                above[k] -= price * held[k]
                inside[k] += held[k]
        for k in range(len(above)):
            item = points.item[block, lane + k]
            if item >= 0 and inside[k] > 1.0 - PART and found < CANDIDATES:
                depth = above[k] + tree.nodes[item].point_value
                if depth < bar:
                    tree.candidate[found] = item
                    found += 1
                    bar = min(bar, 0.3 * depth)
        tree.counts[0].work += node.size * (1 + len(above) // 4)
        lane, block = 0, points.blocks[block].next
    return found


@kernel
def interpolate(
    tabular: Tabular, tree: Tree, index: int, parameters: Parameters, tolerance: float, listed: int, is_thorough: bool
) -> None:
    """The cheapest mixture for a node, from the one that it has or from the vertices.

    listed: so many points in Tree.candidate come first; all others are looked at if it is to be thorough.
    """
    node, counts = tree.nodes[index], tree.counts[0]
    if node.hull < 0:
        node.hull = counts.hulls
        counts.hulls += node.size
        use_vertices(tree, index)
    for _ in range(MOST_STARTS):
        begin(tree, index)
        run_simplex(tabular, tree, index, tolerance, listed, is_thorough)
        if set_residual(tabular, tree, index, parameters) < EXACT:
            return


@kernel
def run_simplex(tabular: Tabular, tree: Tree, index: int, tolerance: float, listed: int, is_thorough: bool) -> None:
    """The simplex method, from the basis that `begin` has inverted, until no point lies below the plane of prices."""
    node = tree.nodes[index]
    count, base, hull = node.size, tabular.classes[node.class_].first_state, node.hull
    price, direction = tree.price[hull : hull + count], tree.line[2]
    price[:] = 0.0
    for row in range(count):
        cost = column_value(tree, node.first, base, tree.basis[hull + row])
        for other in range(count):
            price[other] += cost * tree.square[row, other]
    is_last = False
    for _ in range(10 * count + 8):
        entering, least = -1, -tolerance
        for row in range(count):
            short = tree.vertex[base + tree.state[node.first + row]] - price[row]
            if short < least:
                entering, least = -1 - row, short
        for place in range(listed):
            item = tree.candidate[place]
            depth = tree.nodes[item].point_value - priced(tree, index, item)
            if depth < least:
                entering, least = item, depth
        if least >= -tolerance:
            listed = 0 if is_last or not is_thorough else points_below(tree, index, 0, tolerance)
            if listed == 0:
                return
            is_last = True
            continue
        is_last = False
        find_direction(tree, index, entering)
        leaving, step = -1, np.inf
        for row in range(count):
            if direction[row] > SMALLEST_PIVOT and tree.weight[hull + row] < step * direction[row]:
                leaving, step = row, tree.weight[hull + row] / direction[row]
        if leaving < 0:
            return
        for row in range(count):
            tree.weight[hull + row] = max(tree.weight[hull + row] - step * direction[row], 0.0)
        tree.weight[hull + leaving], tree.basis[hull + leaving] = step, entering
        pivot(tree, leaving, count)
        for other in range(count):
            price[other] += least * tree.square[leaving, other]


@kernel
def use_vertices(tree: Tree, index: int) -> None:
    """Let the mixture of a node consist of vertices."""
    node = tree.nodes[index]
    for row in range(node.size):
        tree.basis[node.hull + row] = -1 - row


@kernel
def begin(tree: Tree, index: int) -> None:
    """Invert the basis that a node has kept, or that of the vertices if rounding has spoilt it; set its weights."""
    node = tree.nodes[index]
    count, hull, square, direction = node.size, node.hull, tree.square, tree.line[2]
    for attempt in range(2):
        for row in range(count):
            for other in range(count):
                square[row, other] = 1.0 if row == other else 0.0
            tree.free[row] = 1
        least = 0.0
        for place in range(count):
            tree.wanted[place] = -1 - place if attempt == 1 else tree.basis[hull + place]
        for place in range(count):
            find_direction(tree, index, tree.wanted[place])
            chosen, most = -1, SMALLEST_PIVOT
            for row in range(count):
                if tree.free[row] == 1 and abs(direction[row]) > most:
                    chosen, most = row, abs(direction[row])
            if chosen < 0:
                least = -1.0
                break
            tree.free[chosen] = 0
            tree.basis[hull + chosen] = tree.wanted[place]
            pivot(tree, chosen, count)
        for row in range(count):
            total = 0.0
            for other in range(count):
                total += square[row, other] * tree.mass[node.first + other]
            least = min(least, total)
            tree.weight[hull + row] = max(total, 0.0)
        if least > -1e-9:
            return


@kernel
def priced(tree: Tree, index: int, item: int) -> float:
    """What the belief of node `item` costs at the prices of node `index`; nothing is below it if it lies outside."""
    node, other, total = tree.nodes[index], tree.nodes[item], 0.0
    row = 0
    for place in range(other.first, other.first + other.size):
        while row < node.size and tree.state[node.first + row] < tree.state[place]:
            row += 1
        if row == node.size or tree.state[node.first + row] != tree.state[place]:
            return -np.inf
        total += tree.price[node.hull + row] * tree.mass[place]
    return total


@kernel
def find_direction(tree: Tree, index: int, column: int) -> None:
    """Tree.line[2] = the inverse of the basis times a column."""
    node, square, direction = tree.nodes[index], tree.square, tree.line[2]
    for row in range(node.size):
        direction[row] = square[row, -1 - column] if column < 0 else 0.0
    if column >= 0:
        other, at = tree.nodes[column], 0
        for place in range(other.first, other.first + other.size):
            while at < node.size - 1 and tree.state[node.first + at] < tree.state[place]:
                at += 1
            mass = tree.mass[place]
            for row in range(node.size):
                direction[row] += square[row, at] * mass


@kernel
def pivot(tree: Tree, leaving: int, count: int) -> None:
    """Replace row `leaving` of the basis by the column whose direction is in Tree.line[2]."""
    square, direction = tree.square, tree.line[2]
    for other in range(count):
        square[leaving, other] /= direction[leaving]
    for row in range(count):
        if row != leaving and direction[row] != 0.0:
            factor = direction[row]
            for other in range(count):
                square[row, other] -= factor * square[leaving, other]


@kernel
def set_residual(tabular: Tabular, tree: Tree, index: int, parameters: Parameters) -> float:
    """Note what the difference between a node's belief and its mixture costs at most; the sum of that difference."""
    node = tree.nodes[index]
    size = class_size(tabular, node.class_)
    unfold(tree, index, size, tree.dense)
    for row in range(node.size):
        share, column = tree.weight[node.hull + row], tree.basis[node.hull + row]
        if share > 0.0 and column < 0:
            tree.dense[tree.state[node.first - 1 - column]] -= share
        elif share > 0.0:
            other = tree.nodes[column]
            for place in range(other.first, other.first + other.size):
                tree.dense[tree.state[place]] -= share * tree.mass[place]
    node.residual, left = 0.0, 0.0
    for place in range(node.first, node.first + node.size):
        s = tree.state[place]
        price = min(parameters.penalty, parameters.loss / max(tree.mass[place], 1e-300))
        node.residual += price * abs(tree.dense[s])
        left += abs(tree.dense[s])
        tree.dense[s] = 0.0
    for s in range(size):
        node.residual += parameters.penalty * abs(tree.dense[s])
        left += abs(tree.dense[s])
    return left
