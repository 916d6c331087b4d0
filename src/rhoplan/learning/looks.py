"""What the table and the model made of it look like, in aggregates: tests that depend on one another within a
diagnosis, what marks subtypes, blanks that go with the diagnosis, columns that settle it alone.

Shapes: n cases, T tests, S states.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from rhoplan.learning.build import Learned
from rhoplan.learning.cases import GIVES_AWAY, SURPRISING, Cases, blanks_by_diagnosis, settled_alone
from rhoplan.learning.findings import FEWEST
from rhoplan.model.pomdp import Array, Ids

MOST_PAIRS, MOST_MARKS = 10, 3

MARKS = 0.01
"""Nats by which the results of a test must differ from those of the whole diagnosis to mark a subtype."""

CHANCE = 0.05
"""Chance, shared among all pairs, below which two tests are said to depend on one another."""


def looks(cases: Cases, learned: Learned) -> dict[str, Any]:
    """What is found in the table and in the model, as JSON holds it."""
    alone = settled_alone(cases.table, cases.plan, cases.diagnosis)
    return {
        "dependence": dependence(cases, learned),
        "subtypes": subtypes(cases, learned),
        "blanks": blanks(cases),
        "alone": alone,
        "suspects": [name for name, share in alone.items() if share >= GIVES_AWAY],
    }


def dependence(cases: Cases, learned: Learned) -> dict[str, Any]:
    """Pairs of tests that depend on one another though the diagnosis is known, the strongest first.

    A pair is one that a G test says so of, with a chance of `CHANCE` shared among all pairs. told: how much of the
    other's doubt the better told of the two loses, beyond what chance alone would take; model: the same in the model.
    """
    from scipy.stats import chi2

    outcomes, problem = learned.outcomes(cases.table, np.arange(cases.size)), learned.problem
    tests, found, looked = problem.flat.tests, [], 0
    for a, b in combinations(range(len(tests)), 2):
        sizes = (len(tests[a].outcomes), len(tests[b].outcomes))
        counts = _counts(outcomes[:, a], outcomes[:, b], cases.diagnosis, (len(cases.plan.states), *sizes))
        if counts.sum() == 0:
            continue
        looked += 1
        total, freedom = 2 * counts.sum() * _information(counts), _freedom(counts)
        chance = float(chi2.sf(total, freedom)) if freedom else 1.0
        rest = min(_doubt(counts.sum(axis=2)), _doubt(counts.sum(axis=1)))
        beyond = max(_information(counts) - freedom / (2 * counts.sum()), 0.0)
        if rest > 0:
            model = _model_joint(learned, a, b, len(cases.plan.states))
            in_model = _information(model) / max(min(_doubt(model.sum(axis=2)), _doubt(model.sum(axis=1))), 1e-12)
            found.append((chance, {"tests": [tests[a].name, tests[b].name], "told": beyond / rest, "model": in_model}))
    sure = [one for chance, one in found if chance < CHANCE / max(looked, 1)]
    return {
        "looked": looked,
        "found": len(sure),
        "pairs": sorted(sure, key=lambda one: -one["told"])[:MOST_PAIRS],
    }


def _counts(one: Ids, other: Ids, diagnosis: Ids, shape: tuple[int, ...]) -> Array:
    """How many cases (D, A, B) have a diagnosis and an outcome of each test."""
    seen = (one >= 0) & (other >= 0)
    place = np.ravel_multi_index((diagnosis[seen], one[seen], other[seen]), shape)
    return np.bincount(place, minlength=int(np.prod(shape))).reshape(shape).astype(float)


def _information(counts: Array) -> float:
    """Nats that two tests tell of one another, given the diagnosis, where `counts` (D, A, B) are shares."""
    joint = counts / counts.sum()
    expected = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    expected = expected / np.maximum(joint.sum(axis=(1, 2), keepdims=True), 1e-300)
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / expected[there])).sum())


def _doubt(counts: Array) -> float:
    """Nats of doubt about a test, given the diagnosis, from counts (D, O)."""
    joint = counts / counts.sum()
    within = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    there = joint > 0
    return float(-(joint[there] * np.log(within[there])).sum())


def _freedom(counts: Array) -> int:
    rows, columns = (counts.sum(axis=2) > 0).sum(axis=1), (counts.sum(axis=1) > 0).sum(axis=1)
    return int(((rows - 1).clip(0) * (columns - 1).clip(0)).sum())


def _model_joint(learned: Learned, a: int, b: int, diagnoses: int) -> Array:
    """What the model says (D, A, B) of a diagnosis and two tests."""
    problem = learned.problem
    one, other = (problem.flat.tests[place].likelihood for place in (a, b))
    joint = problem.prior[:, None, None] * one[:, :, None] * other[:, None, :]
    return np.stack([joint[learned.diagnosis == d].sum(axis=0) for d in range(diagnoses)])


def subtypes(cases: Cases, learned: Learned) -> list[dict[str, Any]]:
    """The subtypes of each diagnosis that has several, with their shares of it and the results that mark them most."""
    problem, found = learned.problem, []
    for d, diagnosis in enumerate(cases.plan.states):
        places = np.flatnonzero(learned.diagnosis == d)
        if len(places) < 2:
            continue
        shares = problem.prior[places] / problem.prior[places].sum()
        for place, share in zip(places.tolist(), shares.tolist(), strict=True):
            marks = []
            for test in problem.flat.tests:
                here, within = test.likelihood[place], shares @ test.likelihood[places]
                result = int(np.argmax(here * np.log(here / within)))
                marks.append(
                    (
                        float((here * np.log(here / within)).sum()),
                        {
                            "test": test.name, "result": test.outcomes[result], "here": float(here[result]),
                            "within": float(within[result]),
                        },
                    )
                )  # fmt: skip
            ranked = sorted(marks, key=lambda pair: -pair[0])[:MOST_MARKS]
            best = [one for told, one in ranked if told > MARKS]
            found.append({"diagnosis": diagnosis, "name": problem.states[place], "share": share, "marks": best})
    return found


def blanks(cases: Cases) -> dict[str, Any]:
    """Tests with blanks: their share among all cases and in each diagnosis, and whether it goes with the diagnosis.

    Where fewer than five are blank in all, only that there are a few.
    """
    found: dict[str, Any] = {}
    for name, (counts, chance) in blanks_by_diagnosis(cases.table, cases.plan, cases.diagnosis).items():
        blank = int(counts[1].sum())
        if blank == 0:
            continue
        if blank < FEWEST:
            found[name] = {"fewer_than": FEWEST}
            continue
        shares = (counts[1] / counts.sum(axis=0)).round(3).tolist()
        found[name] = {
            "share": round(blank / cases.size, 3),
            "by_diagnosis": dict(zip(cases.plan.states, shares, strict=True)),
            "goes_with_diagnosis": chance < SURPRISING / len(cases.plan.tests),
        }
    return found
