"""The lower set of three criteria: every corner of what all plans and their mixtures can come to at least.

As the frontier of two (`corners`), with faces in place of lines: the plan that is least by the weights of a face of
what is known either lies below it, and is a new point, or proves that the face is one of the whole set. Beside
the points there are three directions, for more of one criterion is never wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.tradeoffs.ground import Course, Criterion, Ground, weighed

NEAR = 1e-11
"""Share of the largest amount of each criterion by which points lie on a face."""

FLAT = 1e-15
"""Size of a triangle, in these shares, below which its three points lie on a line."""

MOST_CORNERS = 400


def lower_set(
    ground: Ground, criteria: tuple[Criterion, Criterion, Criterion], *, most: int = MOST_CORNERS
) -> tuple[tuple[Course, ...], bool]:
    """The plans at the corners of the lower set of `criteria`, and whether these are all: the search ends at `most`."""
    # What each can come to at most, so that faces are measured alike.
    size = np.array([ground.most(one) or 1.0 for one in criteria])

    def least(weights: Array) -> tuple[Course, Array]:
        course = ground.best(weighed(criteria, (weights / size).tolist()))
        return course, np.array([course.by(one) for one in criteria]) / size

    courses, rows = map(list, zip(*(least(weights) for weights in (*np.eye(3), np.ones(3))), strict=True))
    held = np.concatenate([DIRECTIONS, _points(rows)])
    faces = _faces(held, np.array(list(combinations(range(len(held)), 3))))
    proven: set[bytes] = set()
    while True:
        fresh = next((face for face in faces if np.round(face, 9).tobytes() not in proven), None)
        if fresh is None or len(rows) >= most:
            return tuple(courses[place] for place in _corners(np.array(rows), faces)), fresh is None
        course, found = least(fresh[:3])
        if fresh[:3] @ found + fresh[3] >= -NEAR:
            proven.add(np.round(fresh, 9).tobytes())
            continue
        courses.append(course)
        rows.append(found)
        held = np.concatenate([held, _points([found])])
        faces = _with_last(held, faces)


DIRECTIONS = np.eye(4)[:3]
"""More of one criterion, beside the points of plans, whose last coordinate is 1."""


def _points(rows: Sequence[Array]) -> Array:
    result: Array = np.append(np.array(rows), np.ones((len(rows), 1)), axis=1)
    return result


def _with_last(held: Array, faces: Array) -> Array:
    """The faces of all of `held`, where `faces` are those without the last one.

    Those that it lies below are gone. What takes their place goes through it and two that lie on one of them.
    """
    height = faces @ held[-1]
    gone = height < -NEAR
    on = (np.abs(faces[gone] @ held[:-1].T) <= 10 * NEAR).any(axis=0)
    pairs = combinations(np.flatnonzero(on).tolist(), 2)
    made = _faces(held, np.array([(*pair, len(held) - 1) for pair in pairs]))
    return _unlike(np.concatenate([faces[~gone], made]))


def _faces(held: Array, triples: Ids) -> Array:
    """Of the planes (f, 4) through `triples` (t, 3) of `held` (n, 4) those that none of `held` lies below: weights w
    that sum to 1, and d with w x + d = 0 on the face."""
    a, b, c = (held[triples[:, place]] for place in range(3))
    minors = [np.delete(np.stack([a, b, c], axis=1), column, axis=2) for column in range(4)]
    planes = np.stack([(-1) ** column * np.linalg.det(minor) for column, minor in enumerate(minors)], axis=1)
    total = planes[:, :3].sum(axis=1)
    flat = np.abs(total) > FLAT
    planes = planes[flat] / total[flat][:, None]
    planes = planes[(planes @ held.T >= -NEAR).all(axis=1)]
    planes[:, :3] = np.maximum(planes[:, :3], 0.0)
    return _unlike(planes)


def _unlike(planes: Array) -> Array:
    _, first = np.unique(np.round(planes, 9), axis=0, return_index=True)
    result: Array = planes[first]
    return result


def _corners(points: Array, faces: Array) -> Ids:
    """Places of the points (n, 3) at which three faces meet that do not share a line; of equal ones the first."""
    on = np.abs(points @ faces[:, :3].T + faces[:, 3]) <= 10 * NEAR
    found = [place for place in range(len(points)) if np.linalg.matrix_rank(faces[on[place], :3], tol=1e-9) == 3]
    _, first = np.unique(np.round(points[found], 9), axis=0, return_index=True)
    return np.array(found, dtype=np.int64)[np.sort(first)]
