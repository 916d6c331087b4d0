"""A second opinion: gradient boosting that sees what the policy has acquired, and nothing else.

It is fitted to cases as the policy leaves them (scikit-learn), and kept in the model file as plain numbers: small trees
that ask for outcomes by their place among those of a test, -1 where the test was not run. What they add up to, one sum
for each diagnosis (one for two diagnoses), makes chances by the logistic function; no scikit-learn is needed for that.
It is told where it would end a case in another way than the policy; it takes no part in planning.

Shapes: n, m cases, T tests, D diagnoses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rhoplan.model.pomdp import Array, Ids

ROUNDS, RATE, DEPTH, LEAST = 80, 0.1, 2, 5
"""Trees for each sum, how much of each counts, how many questions it asks at most, cases at each of its ends."""

NOT_RUN = -1

Record = dict[str, Any]


def fit_opinion(
    outcomes: Ids, diagnosis: Ids, weight: Array, tests: Sequence[str], states: int, *, seed: int
) -> Record:
    """The opinion that cases make, as plain data. outcomes (n, T): NOT_RUN where the policy did not ask for a test."""
    from sklearn.ensemble import GradientBoostingClassifier

    seen = np.unique(diagnosis)
    if len(seen) < 2 or not outcomes.shape[1]:
        return {"tests": list(tests), "diagnoses": seen.tolist(), "states": states, "trees": []}
    model = GradientBoostingClassifier(
        n_estimators=ROUNDS, learning_rate=RATE, max_depth=DEPTH, min_samples_leaf=LEAST, init="zero", random_state=seed
    )
    model.fit(outcomes, diagnosis, sample_weight=weight)
    trees = [[_plain(one.tree_) for one in row] for row in model.estimators_]
    return {"tests": list(tests), "diagnoses": seen.tolist(), "states": states, "trees": trees}


def chances(opinion: Mapping[str, Any], outcomes: Ids) -> Array:
    """The chances (m, D) of diagnoses by `opinion`, for outcomes (m, T) in the order of its tests."""
    seen, found = opinion["diagnoses"], np.zeros((len(outcomes), opinion["states"]))
    if not opinion["trees"]:
        found[:, seen] = 1.0 / len(seen)
        return found
    sums = np.zeros((len(outcomes), len(opinion["trees"][0])))
    for row in opinion["trees"]:
        for place, tree in enumerate(row):
            sums[:, place] += RATE * _added(tree, outcomes)
    if sums.shape[1] == 1:
        sums = np.concatenate([np.zeros_like(sums), sums], axis=1)
    odds = np.exp(sums - sums.max(axis=1, keepdims=True))
    found[:, seen] = odds / odds.sum(axis=1, keepdims=True)
    return found


def _plain(tree: Any) -> Record:
    """A tree as lists, a place for each question and each end: which test (-1 at an end), the largest outcome that goes
    `low`, where to go on, and what an end adds."""
    ends = tree.children_left < 0
    return {
        "test": np.where(ends, -1, tree.feature).tolist(),
        "most": np.where(ends, 0, np.floor(tree.threshold)).astype(int).tolist(),
        "low": np.where(ends, 0, tree.children_left).tolist(),
        "high": np.where(ends, 0, tree.children_right).tolist(),
        "adds": [round(float(value), 6) if end else 0 for value, end in zip(tree.value[:, 0, 0], ends, strict=True)],
    }


def _added(tree: Mapping[str, Sequence[float]], outcomes: Ids) -> Array:
    """What a tree adds (m,) for each case."""
    test, most = np.asarray(tree["test"], dtype=int), np.asarray(tree["most"])
    low, high = np.asarray(tree["low"], dtype=int), np.asarray(tree["high"], dtype=int)
    place, cases = np.zeros(len(outcomes), dtype=int), np.arange(len(outcomes))
    while (asks := test[place] >= 0).any():
        here = place[asks]
        goes_low = outcomes[cases[asks], test[here]] <= most[here]
        place[asks] = np.where(goes_low, low[here], high[here])
    adds: Array = np.asarray(tree["adds"], dtype=float)[place]
    return adds
