"""The lower set of three criteria: every corner of what all plans and their mixtures can come to at least.

As the frontier of two (`corners`), with faces in place of lines: the plan that is least by the weights of a face of
what is known either lies below it, and is a new point, or proves that the face is one of the whole set. Faces are read
off all triples of points; beside the points there are three directions, for more of one criterion is never wanted.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from rhoplan.model.problem import Array, Ids
from rhoplan.planning.tradeoffs.ground import Course, Criterion, Ground, weighed

NEAR = 1e-11
"""Share of the largest amount of each criterion by which points lie on a face."""

MOST_CORNERS = 60
"""Points of which all triples are looked at in a tenth of a second."""


def lower_set(
    ground: Ground, criteria: tuple[Criterion, Criterion, Criterion], *, most: int = MOST_CORNERS
) -> tuple[tuple[Course, ...], bool]:
    """The plans at the corners of the lower set of `criteria`, and whether these are all: the search ends at `most`."""
    courses: list[Course] = []
    rows: list[list[float]] = []

    def add(weights: Array) -> None:
        courses.append(ground.best(weighed(criteria, weights.tolist())))
        rows.append([courses[-1].by(one) for one in criteria])

    # What each can come to at most, so that faces are measured alike.
    size = np.array([ground.most(one) or 1.0 for one in criteria])
    for weights in (*np.eye(3), 1 / size):
        add(weights)
    proven: set[bytes] = set()
    while True:
        points = np.array(rows) / size
        faces = _faces(points)
        fresh = [face for face in faces if np.round(face, 9).tobytes() not in proven]
        if not fresh or len(rows) >= most:
            return tuple(courses[place] for place in _corners(points, faces)), not fresh
        for face in fresh:
            course = ground.best(weighed(criteria, (face[:3] / size).tolist()))
            found = np.array([course.by(one) for one in criteria]) / size
            if face[:3] @ found + face[3] < -NEAR and len(rows) < most:
                courses.append(course)
                rows.append((found * size).tolist())
            else:
                proven.add(np.round(face, 9).tobytes())


def _faces(points: Array) -> Array:
    """The faces (f, 4) that the points (n, 3) and the three directions span, none of which lies below: weights w that
    sum to 1 and d with w x + d = 0 on the face."""
    unlike = points[np.unique(np.round(points, 10), axis=0, return_index=True)[1]]
    held = np.concatenate([np.append(unlike, np.ones((len(unlike), 1)), axis=1), np.eye(4)[:3]])
    triples = np.array([one for one in combinations(range(len(held)), 3) if one[0] < len(unlike)])
    a, b, c = (held[triples[:, place]] for place in range(3))
    minors = [np.delete(np.stack([a, b, c], axis=1), column, axis=2) for column in range(4)]
    planes = np.stack([(-1) ** column * np.linalg.det(minor) for column, minor in enumerate(minors)], axis=1)
    total = planes[:, :3].sum(axis=1)
    planes = planes[np.abs(total) > 1e-13] / total[np.abs(total) > 1e-13][:, None]
    sound = (planes @ held.T >= -NEAR).all(axis=1)
    planes = planes[sound]
    planes[:, :3] = np.maximum(planes[:, :3], 0.0)
    _, first = np.unique(np.round(planes, 9), axis=0, return_index=True)
    result: Array = planes[first]
    return result


def _corners(points: Array, faces: Array) -> Ids:
    """Places of the points (n, 3) at which three faces meet that do not share a line; of equal ones the first."""
    on = np.abs(points @ faces[:, :3].T + faces[:, 3]) <= 10 * NEAR
    found = [place for place in range(len(points)) if np.linalg.matrix_rank(faces[on[place], :3], tol=1e-9) == 3]
    _, first = np.unique(np.round(points[found], 9), axis=0, return_index=True)
    return np.array(found, dtype=np.int64)[np.sort(first)]
