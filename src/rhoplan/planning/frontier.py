"""Pareto frontiers of expected totals: all vertices of what deterministic policies and their mixtures can reach.

The totals of all policies form a convex set. A policy that minimises a weighted sum of criteria is a vertex of its
lower boundary. For two criteria, the weights that make two known vertices equal either find a new vertex between them,
or prove that the line between them is an edge (Aneja and Nair 1979). For three, the weights of the vertices of the dual
(the least weighted sum as a function of the weights, which is concave) take the place of lines (Benson 1998).

Shapes: n points, f weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.constrained import ConstrainedProblem, TabularPolicy

DECIMALS = 9
"""Faces and vertices, as shares of the largest total of each criterion, are the same if they agree after rounding."""


@dataclass(frozen=True)
class FrontierSettings:
    """vertices: computed at most. work: nodes of all backups for them together, some seconds. on_face: distance, as a
    share of the largest total of each criterion, within which a point lies on a face."""

    vertices: int = 400
    work: int = 10_000_000
    on_face: float = 1e-11


@dataclass(frozen=True, eq=False)
class FrontierVertex:
    """A policy that is optimal at every price of a unit of the axis from `low` to `high` (infinity at the last one)."""

    policy: TabularPolicy
    cost: float
    axis: float
    low: float
    high: float


def pareto_frontier(problem: ConstrainedProblem, cost: Array, axis: Array) -> tuple[tuple[FrontierVertex, ...], bool]:
    """The vertices of `cost` against `axis`, by cost, and whether these are all."""
    settings = FrontierSettings()

    def point(criterion: Array) -> tuple[float, float, TabularPolicy]:
        found = problem.best(criterion)
        return found.total(cost), found.total(axis), found

    first, last = point(cost), point(axis)
    waiting, found, is_complete = [(first, last)], [first, last], True
    most = min(settings.vertices, max(10, settings.work // problem.size))
    while waiting:
        left, right = waiting.pop()
        if _same(left[1], right[1], last[1]) or _same(left[0], right[0], first[0]):
            continue
        if len(found) >= most:
            is_complete = False
            break
        price = (right[0] - left[0]) / (left[1] - right[1])
        fresh = point(cost + price * axis)
        line, size = left[0] + price * left[1], abs(left[0]) + price * abs(left[1])
        if fresh[0] + price * fresh[1] < line - 4 * RELATIVE_TOLERANCE * size:
            found.append(fresh)
            waiting += [(left, fresh), (fresh, right)]
    return _vertices(found), is_complete


def _same(one: float, other: float, size: float) -> bool:
    return abs(one - other) <= RELATIVE_TOLERANCE * max(abs(one), abs(other), abs(size))


def _vertices(points: list[tuple[float, float, TabularPolicy]]) -> tuple[FrontierVertex, ...]:
    """The vertices among `points`, without dominated ones, with the prices between them."""
    kept: list[tuple[float, float, TabularPolicy]] = []
    for one in sorted(points, key=lambda point: (point[1], point[0])):
        if kept and (one[0] >= kept[-1][0] or _same(one[0], kept[-1][0], 0.0)):
            continue
        if kept and _same(one[1], kept[-1][1], 0.0):
            kept.pop()  # as much of the axis at a lower cost
        kept.append(one)
    kept.reverse()
    prices = [(right[0] - left[0]) / (left[1] - right[1]) for left, right in pairwise(kept)]
    ranges = zip([0.0, *prices], [*prices, math.inf], strict=True)
    return tuple(FrontierVertex(one[2], one[0], one[1], *pair) for one, pair in zip(kept, ranges, strict=True))


def lower_convex_set(
    problem: ConstrainedProblem, criteria: tuple[Array, Array, Array]
) -> tuple[tuple[TabularPolicy, ...], bool]:
    """The policies at the vertices of the lower boundary of three criteria, and whether these are all."""
    settings = FrontierSettings()
    size = np.array([problem.largest(one) or 1.0 for one in criteria])

    def least(weights: Array) -> tuple[TabularPolicy, Array]:
        policy = problem.best(weights / size @ np.stack(criteria))
        return policy, np.array([policy.total(one) for one in criteria]) / size

    policies, rows = map(list, zip(*(least(weights) for weights in (*np.eye(3), np.ones(3))), strict=True))
    proven: set[bytes] = set()
    while True:
        points = np.array(rows)
        faces = _faces(points)
        fresh = next((face for face in faces if np.round(face, DECIMALS).tobytes() not in proven), None)
        if fresh is None or len(rows) >= settings.vertices:
            return tuple(policies[place] for place in _extreme(points, faces, 10 * settings.on_face)), fresh is None
        policy, found = least(fresh[:3])
        if fresh[:3] @ found >= fresh[3] - settings.on_face:
            proven.add(np.round(fresh, DECIMALS).tobytes())
            continue
        policies.append(policy)
        rows.append(found)


def _faces(points: Array) -> Array:
    """Faces (f, 4) of the lower boundary of `points` (n, 3): weights that sum to 1, and the least weighted sum.

    They are the vertices of {(u, v, t): t <= u x + v y + (1 - u - v) z at all points, u, v, 1 - u - v >= 0}.
    """
    from scipy.spatial import HalfspaceIntersection

    points = np.unique(np.round(points, 13), axis=0)
    below = np.column_stack(
        [points[:, 2] - points[:, 0], points[:, 2] - points[:, 1], np.ones(len(points)), -points[:, 2]]
    )
    inside = np.array([[-1.0, 0, 0, 0], [0, -1, 0, 0], [1, 1, 0, -1], [0, 0, -1, -1]])
    centre = np.append(np.full(2, 1 / 3), points.mean(axis=1).min() - 0.5)
    found = HalfspaceIntersection(np.vstack([below, inside]), centre).intersections
    found = found[found[:, 2] > -0.5]  # totals are not negative: the others lie on the last half-space
    weights = np.column_stack([found[:, :2], 1 - found[:, 0] - found[:, 1]]).clip(0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    faces = np.column_stack([weights, (weights @ points.T).min(axis=1)])
    _, first = np.unique(np.round(faces, DECIMALS), axis=0, return_index=True)
    result: Array = faces[first]
    return result


def _extreme(points: Array, faces: Array, close: float) -> Ids:
    """Places of the points (n, 3) at which three faces meet that do not share a line; of equal ones the first."""
    on = np.abs(points @ faces[:, :3].T - faces[:, 3]) <= close
    found = [place for place in range(len(points)) if np.linalg.matrix_rank(faces[on[place], :3], tol=1e-9) == 3]
    _, first = np.unique(np.round(points[found], DECIMALS), axis=0, return_index=True)
    return np.array(found, dtype=np.int64)[np.sort(first)]
