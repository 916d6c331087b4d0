"""Bounds that carry over from one belief to another, because the best value is convex in the belief.

With V the best value of reward + w * information, V - w * H is convex (with discount 1 it is the value of optimal
stopping with payoff "best commit - w * entropy"; below 1 each step adds a term that is convex too). Hence

    lower   a plan worked out at one belief, followed blindly from another, is worth what its vector of values per true
            state says there. What it pays for information is a log score of the beliefs it was made with: never more
            than the information of the beliefs really held (the log score is proper).
    upper   between known values the function lies below any interpolation: the corners (state known) and one anchor
            (the sawtooth bound).

Shapes: n beliefs, S states, P anchor points, A plans.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array, Ids

VALUE, SCORE, REWARD, TESTS, SUCCESS = range(5)
"""What is kept of a plan for each true state: discounted reward and log score of its beliefs, which bound; and reward,
number of tests and success, which are reported."""

CHUNK_NUMBERS = 4_000_000


class Anchors:
    """Known upper values at some beliefs, and known plans.

    corners (S,): upper value where the state is known. plans (A, 5, S): every plan ever kept, and first (A,): the slot
    of its first test, or -1 - i for commit i; `newest` counts the plans that `lower` still compares.
    """

    def __init__(self, corners: Array, weight: float) -> None:
        self.corners, self.weight = corners, weight
        self.plans: Array = np.empty((0, 5, len(corners)))
        self.first: Ids = np.empty(0, dtype=np.int64)
        self.newest = 0
        self._points: Array = np.empty((0, len(corners)))
        self._drops: Array = np.empty(0)

    def set_points(self, points: Array, upper: Array, entropy: Array) -> None:
        """Anchor the upper bound at beliefs `points` (P, S) with upper values (P,)."""
        drops = upper - self.weight * entropy - points @ self.corners
        useful = drops < 0
        self._points, self._drops = points[useful], drops[useful]

    def add_plans(self, plans: Array, first: Ids) -> None:
        """Keep `plans` (A, 5, S) and compare with these from now on; those without a finite value are left out."""
        finite = np.isfinite(self._values(plans)).all(axis=1)
        self.plans = np.concatenate([self.plans, plans[finite]])
        self.first = np.concatenate([self.first, first[finite]])
        self.newest = int(np.count_nonzero(finite))

    def upper(self, beliefs: Array, entropy: Array) -> Array:
        """Upper bound (n,) at beliefs (n, S) with entropies (n,)."""
        result = beliefs @ self.corners
        step = max(1, CHUNK_NUMBERS // max(len(self._points), 1))
        for start in range(0, len(beliefs) if len(self._points) else 0, step):
            part = slice(start, start + step)
            share = np.full((len(beliefs[part]), len(self._points)), np.inf)
            for state in range(beliefs.shape[1]):
                held = self._points[:, state] > 0
                ratio = beliefs[part, state][:, None] / self._points[held, state]
                share[:, held] = np.minimum(share[:, held], ratio)
            result[part] += (share * self._drops).min(axis=1)
        return result + self.weight * entropy

    def lower(self, beliefs: Array, entropy: Array) -> tuple[Array, Ids]:
        """Lower bound (n,) at beliefs (n, S) with entropies (n,), and the plan (n,) that reaches it; -1 for none."""
        value = np.full(len(beliefs), -np.inf)
        plan = np.full(len(beliefs), -1, dtype=np.int64)
        if not self.newest:
            return value, plan
        first = len(self.plans) - self.newest
        vectors = self._values(self.plans[first:]).T
        step = max(1, CHUNK_NUMBERS // self.newest)
        for start in range(0, len(beliefs), step):
            worth = beliefs[start : start + step] @ vectors
            best = worth.argmax(axis=1)
            plan[start : start + step] = first + best
            value[start : start + step] = worth[np.arange(len(best)), best]
        return value + self.weight * entropy, plan

    def _values(self, plans: Array) -> Array:
        if not self.weight:
            return plans[:, VALUE]
        return plans[:, VALUE] + self.weight * plans[:, SCORE]
