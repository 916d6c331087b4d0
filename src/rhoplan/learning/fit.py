"""Likelihoods of tests from past cases: hidden states are a diagnosis and, within it, a subtype.

Tests are independent given the hidden state, which real tests are not given the diagnosis: subtypes take up what they
share. Subtypes begin as clusters of all cases, whatever their diagnosis (a mixture of products, by EM from several
starts); EM within the diagnoses then moves them apart. Every distribution is a reference times a smoothed ratio:

    r_s(o) = (sum_j W_oj n_s(j) + 1/2) / (sum_j W_oj n_s m(j) + 1/2),      P(o | s) proportional to m(o) r_s(o)^k

n_s(o): cases of state s with outcome o, n_s: all of them. m: the reference, all cases for a diagnosis, and for a
subtype what diagnosis and cluster say together. W: weights along the order of ordered outcomes, else the identity; a
neighbour with more cases weighs as much less, or what most cases have would be learned of all that lies beside it.
k = max(0, 1 - c E / G), James and Stein's rule: G = sum_o (n_s(o) - n_s m(o)) ln r_s(o) is what the test tells of the
state, E = sum_o W_oo m(o) / (W m)(o) - 1 what it would tell by chance alone, c the shrinkage. Tempering raises ratios
to all cases to one more power, afterwards. A blank is a test that was not run and counts nowhere.

Shapes: n cases, T tests, Q outcomes of all tests in a row, D diagnoses, K subtypes, S = D K states.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids

STARTS = 5
"""Beginnings of the clusters; the likeliest is kept."""

ROUNDS = 40
"""Steps of EM at most: it is stopped here rather than followed to the last digit, which restrains it too."""

PINCH = 0.5
"""Cases added on both sides of a ratio: what nobody had is not impossible."""

SMOOTHING = 0.6
"""Width of the weights along the order of outcomes, in standard deviations."""

SETTLED = 1e-4
"""Gain in log likelihood per case below which EM has settled."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """prior (S,), likelihoods: (S, O) for each test. diagnosis, subtype (S,): of each state. cases (S,): how many cases
    each state stands for. counts: (S, O) for each test, how many of them had each outcome."""

    prior: Array
    likelihoods: tuple[Array, ...]
    diagnosis: Ids
    subtype: Ids
    cases: Array
    counts: tuple[Array, ...]

    def tempered(self, power: float) -> Fitted:
        """The same with the ratios of its likelihoods to all cases raised to `power`."""
        if power == 1.0:
            return self
        found = []
        for rows, counts in zip(self.likelihoods, self.counts, strict=True):
            everybody = counts.sum(axis=0) + 0.5
            everybody = everybody / everybody.sum()
            raised = everybody * (rows / everybody) ** power
            found.append(raised / raised.sum(axis=1, keepdims=True))
        return replace(self, likelihoods=tuple(found))


def fit(
    outcomes: Ids,
    diagnosis: Ids,
    *,
    sizes: Sequence[int],
    places: Sequence[Array | None],
    prior: Array,
    subtypes: int = 1,
    shrinkage: float = 2.0,
    smoothing: float = SMOOTHING,
    generator: np.random.Generator,
) -> Fitted:
    """Likelihoods from `outcomes` (n, T), -1 for a blank, of cases whose `diagnosis` (n,) is known.

    places: for each test where its outcomes lie along their order, in standard deviations; None where they have none.
    prior (D,): of diagnoses, which need not be their share in the table. smoothing: width of the weights there.
    """
    tests = Tests(sizes, places, smoothing, shrinkage)
    marks = tests.marks(outcomes)
    of_diagnosis = (diagnosis[:, None] == np.arange(len(prior))).astype(float)
    if subtypes == 1:
        counts, cases = (of_diagnosis.T @ marks)[:, None, :], of_diagnosis.sum(axis=0)[:, None]
    else:
        belongs = _clusters(tests, marks, subtypes, generator)
        counts, cases = _within(tests, marks, of_diagnosis, belongs)
    return from_counts(tests, counts, cases, prior=prior)


def from_counts(tests: Tests, counts: Array, cases: Array, *, prior: Array, tempering: float = 1.0) -> Fitted:
    """What counts (D, K, Q) of outcomes in `cases` (D, K) make; all that `fit` finds goes through them."""
    diagnoses, subtypes = cases.shape
    share, likelihood = _shares(tests, counts, cases)
    rows = counts.reshape(len(likelihood), -1)
    return Fitted(
        prior=(prior[:, None] * share).ravel(),
        likelihoods=tuple(likelihood[:, first:last] for first, last in tests.spans),
        diagnosis=np.repeat(np.arange(diagnoses), subtypes),
        subtype=np.tile(np.arange(subtypes), diagnoses),
        cases=cases.ravel(),
        counts=tuple(rows[:, first:last] for first, last in tests.spans),
    ).tempered(tempering)


def _shares(tests: Tests, counts: Array, cases: Array) -> tuple[Array, Array]:
    """Shares (D, K) of subtypes and likelihood (D K, Q), before tempering."""
    subtypes = cases.shape[1]
    share = (cases + 1.0) / (cases.sum(axis=1, keepdims=True) + subtypes)
    everybody = tests.everybody(counts.sum(axis=(0, 1)))
    tests = tests.balanced(everybody)
    by_diagnosis = tests.shares(counts.sum(axis=1), everybody)
    if subtypes == 1:
        return share, by_diagnosis
    by_cluster = tests.shares(counts.sum(axis=0), everybody)
    reference = by_diagnosis[:, None, :] * by_cluster[None, :, :] / everybody
    reference = tests.normal(reference.reshape(-1, len(everybody)))
    return share, tests.shares(counts.reshape(len(reference), -1), reference)


class Tests:
    """The tests as columns of one matrix, and how counts become distributions."""

    def __init__(
        self, sizes: Sequence[int], places: Sequence[Array | None], smoothing: float, shrinkage: float
    ) -> None:
        ends = np.cumsum([0, *sizes]).tolist()
        self.spans = list(itertools.pairwise(ends))
        self.shrinkage = shrinkage
        self.weights = np.eye(ends[-1])
        for (first, last), place in zip(self.spans, places, strict=True):
            if place is not None and smoothing > 0:
                apart = np.subtract.outer(place, place) / smoothing
                self.weights[first:last, first:last] = np.exp(-0.5 * apart**2)
        self.together = np.zeros((ends[-1], ends[-1]))
        for first, last in self.spans:
            self.together[first:last, first:last] = 1.0

    def marks(self, outcomes: Ids) -> NDArray[np.float32]:
        """1 where a case (row) has an outcome (column), else 0."""
        found = np.zeros((len(outcomes), len(self.weights)), dtype=np.float32)
        for test, (first, _) in enumerate(self.spans):
            seen = np.flatnonzero(outcomes[:, test] >= 0)
            found[seen, first + outcomes[seen, test]] = 1.0
        return found

    def everybody(self, counts: Array) -> Array:
        """The share (Q,) of each outcome among all cases that have the test; half a case is added to each outcome."""
        counts = counts + 0.5
        shares: Array = counts / (counts @ self.together)
        return shares

    def balanced(self, everybody: Array) -> Tests:
        """The same tests, where no neighbour counts for more cases than an outcome has itself, by shares (Q,)."""
        found = copy(self)
        found.weights = self.weights * np.minimum(1.0, everybody[None, :] / everybody[:, None])
        return found

    def shares(self, counts: Array, reference: Array, shrinkage: float | None = None) -> Array:
        """Distributions (s, Q) from counts (s, Q) and what they are shrunk to (s, Q) or (Q,)."""
        shrinkage = self.shrinkage if shrinkage is None else shrinkage
        expected = counts @ self.together * reference
        logs = np.log((counts @ self.weights + PINCH) / (expected @ self.weights + PINCH))
        told = ((counts - expected) * logs) @ self.together
        chance = (reference / (reference @ self.weights)) @ self.together - 1
        kept = np.maximum(1 - shrinkage * chance / np.maximum(told, 1e-12), 0.0)
        return self.normal(reference * np.exp(kept * logs))

    def normal(self, likelihood: Array) -> Array:
        shares: Array = likelihood / (likelihood @ self.together)
        return shares


def _clusters(tests: Tests, marks: NDArray[np.float32], subtypes: int, generator: np.random.Generator) -> Array:
    """How much (n, K) each case belongs to each of K clusters of all cases."""
    best, likeliest, everybody = None, -np.inf, tests.everybody(marks.sum(axis=0, dtype=float))
    balanced = tests.balanced(everybody)
    for _ in range(STARTS):
        seeds = generator.choice(len(marks), size=subtypes, replace=False)
        belongs, before = _softmax(marks @ tests.weights @ marks[seeds].T.astype(float))[0], -np.inf
        for _ in range(ROUNDS):
            share = (belongs.sum(axis=0) + 1.0) / (len(marks) + subtypes)
            likelihood = balanced.shares(belongs.T @ marks, everybody, min(tests.shrinkage, 1.0))
            belongs, total = _softmax(marks @ np.log(likelihood).T + np.log(share))
            if total - before < SETTLED * len(marks):
                break
            before = total
        if total > likeliest:
            best, likeliest = belongs, total
    assert best is not None
    return best


def _within(tests: Tests, marks: NDArray[np.float32], of_diagnosis: Array, belongs: Array) -> tuple[Array, Array]:
    """Counts (D, K, Q) and cases (D, K) of subtypes that begin as clusters."""
    shape, before = (of_diagnosis.shape[1], belongs.shape[1]), -np.inf
    for _ in range(ROUNDS):
        both = of_diagnosis[:, :, None] * belongs[:, None, :]
        cases, counts = both.sum(axis=0), (both.reshape(len(marks), -1).T @ marks).reshape(*shape, -1)
        share, likelihood = _shares(tests, counts, cases)
        logs = (marks @ np.log(likelihood).T).reshape(-1, *shape) + np.log(share)
        belongs, total = _softmax(np.einsum("nd,ndk->nk", of_diagnosis, logs))
        if total - before < SETTLED * len(marks):
            break
        before = total
    return counts, cases


def _softmax(logs: Array) -> tuple[Array, float]:
    """Each row (n, K) of logs as shares that sum to 1, and the sum of the logs of the rows' totals."""
    top = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - top)
    totals = weights.sum(axis=1, keepdims=True)
    return weights / totals, float((np.log(totals) + top).sum())
