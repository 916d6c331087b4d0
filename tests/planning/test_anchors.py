"""Bounds carried over from other beliefs: known by hand, the same in pieces, and above what is convex."""

from __future__ import annotations

import numpy as np
import pytest

from rhoplan.belief_math.information import entropy
from rhoplan.planning.certified import convex
from rhoplan.planning.certified.convex import SCORE, VALUE, Anchors

CORNERS = np.array([4.0, 0.0])
BELIEFS = np.array([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0.0, 1.0]])


def plan(value: list[float], score: list[float]) -> np.ndarray:
    found = np.zeros((5, len(value)))
    found[VALUE], found[SCORE] = value, score
    return found


@pytest.mark.parametrize("chunk", [convex.CHUNK_NUMBERS, 1])
@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_between_an_anchor_and_the_corners_the_bound_is_a_line(
    weight: float, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the middle 1 is known, and at a quarter nothing that is of use; the entropy comes on top."""
    monkeypatch.setattr(convex, "CHUNK_NUMBERS", chunk)
    anchors, own = Anchors(CORNERS, weight), entropy(BELIEFS)
    assert anchors.upper(BELIEFS, own) == pytest.approx([4, 3, 2, 1, 0] + weight * own)
    anchors.set_points(BELIEFS[[3]], np.array([1.5]) + weight * entropy(BELIEFS[[3]]), entropy(BELIEFS[[3]]))
    assert anchors.upper(BELIEFS, own) == pytest.approx([4, 3, 2, 1, 0] + weight * own)
    points = BELIEFS[[2, 3, 1]]
    anchors.set_points(points, np.array([1.0, 1.5, 2.9]) + weight * entropy(points), entropy(points))
    assert anchors.upper(BELIEFS, own) == pytest.approx([4, 2.5, 1, 0.5, 0] + weight * own)


@pytest.mark.parametrize("chunk", [convex.CHUNK_NUMBERS, 1])
@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_the_best_of_the_plans_compared_counts(weight: float, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the first two one is best on each side; one without a value is none; what comes later is compared alone."""
    monkeypatch.setattr(convex, "CHUNK_NUMBERS", chunk)
    anchors, own = Anchors(CORNERS, weight), entropy(BELIEFS)
    value, taken = anchors.lower(BELIEFS, own)
    assert np.isneginf(value).all()
    assert taken.tolist() == [-1] * 5
    plans = np.array([plan([3, -2], [0, 0]), plan([np.nan, 9], [0, 0]), plan([-1, 0], [0, 0])])
    anchors.add_plans(plans, np.array([7, 8, 9]))
    value, taken = anchors.lower(BELIEFS, own)
    assert value == pytest.approx([3, 1.75, 0.5, -0.25, 0] + weight * own)
    assert taken.tolist() == [0, 0, 0, 1, 1]
    assert anchors.first.tolist() == [7, 9]
    anchors.add_plans(np.array([plan([1, 1], [-0.5, 0.5])]), np.array([-1]))
    value, taken = anchors.lower(BELIEFS, own)
    assert value == pytest.approx(1 + weight * (BELIEFS @ [-0.5, 0.5]) + weight * own)
    assert taken.tolist() == [2] * 5


def test_no_bound_is_below_a_convex_function_that_has_the_known_values() -> None:
    """The largest of some planes, known at the corners and at a few beliefs."""
    rng = np.random.default_rng(6)
    planes = rng.normal(size=(4, 5))
    points, beliefs = rng.dirichlet(np.ones(4), 30), rng.dirichlet(np.ones(4), 200)
    anchors = Anchors(planes.max(axis=1), 0.0)
    loose = anchors.upper(beliefs, np.zeros(200))
    anchors.set_points(points, (points @ planes).max(axis=1), np.zeros(30))
    found = anchors.upper(beliefs, np.zeros(200))
    assert (found >= (beliefs @ planes).max(axis=1) - 1e-12).all()
    assert (found <= loose + 1e-12).all()
    assert anchors.upper(points, np.zeros(30)) == pytest.approx((points @ planes).max(axis=1))
