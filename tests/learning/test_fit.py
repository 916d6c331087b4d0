"""Likelihoods from counts: the limits that mathematics gives, and what subtypes are for."""

from __future__ import annotations

import numpy as np
import pytest

from rhoplan.learning.fit import fit


def fitted(outcomes: np.ndarray, diagnosis: np.ndarray, **settings):
    tests = outcomes.shape[1]
    given = {
        "sizes": [int(outcomes[:, t].max()) + 1 for t in range(tests)], "places": [None] * tests,
        "prior": np.array([0.5, 0.5]), "generator": np.random.default_rng(0),
    }  # fmt: skip
    return fit(outcomes, diagnosis, **(given | settings))


def shares(outcomes: np.ndarray, diagnosis: np.ndarray, of: int) -> np.ndarray:
    return np.bincount(outcomes[diagnosis == of, 0], minlength=3) / np.count_nonzero(diagnosis == of)


def drawn(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    diagnosis = generator.integers(2, size=count)
    rows = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    return np.array([[generator.choice(3, p=rows[d])] for d in diagnosis]), diagnosis


def test_many_cases_speak_for_themselves() -> None:
    outcomes, diagnosis = drawn(20_000)
    found = fitted(outcomes, diagnosis)
    for d in (0, 1):
        assert found.likelihoods[0][d] == pytest.approx(shares(outcomes, diagnosis, d), abs=0.002)


def test_shrinkage_keeps_what_chance_alone_would_give_from_counting() -> None:
    generator = np.random.default_rng(1)
    outcomes, diagnosis = generator.integers(3, size=(200, 30)), generator.integers(2, size=200)
    apart = [
        np.abs(
            np.concatenate([np.diff(one, axis=0) for one in fitted(outcomes, diagnosis, shrinkage=s).likelihoods])
        ).mean()
        for s in (0.0, 1.0, 3.0)
    ]
    assert apart[0] > 2 * apart[1] > 4 * apart[2]


def test_tempering_raises_the_ratio_to_a_power() -> None:
    outcomes, diagnosis = drawn(500)
    plain, half = (fitted(outcomes, diagnosis).tempered(t).likelihoods[0] for t in (1.0, 0.5))
    # P_t(o | s) / P_t(o | s') is the plain ratio to the power t, up to a constant of the pair of states.
    ratio = np.log(half[0] / half[1]) - 0.5 * np.log(plain[0] / plain[1])
    assert np.ptp(ratio) == pytest.approx(0.0, abs=1e-12)


def test_blanks_count_nowhere() -> None:
    outcomes, diagnosis = drawn(300)
    blanks = np.concatenate([outcomes, np.full((100, 1), -1)])
    known = np.concatenate([diagnosis, np.zeros(100, dtype=int)])
    assert fitted(blanks, known, sizes=[3]).likelihoods[0] == pytest.approx(fitted(outcomes, diagnosis).likelihoods[0])


def test_neighbours_learn_from_each_other_only_where_there_is_an_order() -> None:
    outcomes = np.array([[0], [0], [0], [2], [2], [2], [1]] * 4)
    diagnosis = np.array([0, 0, 0, 1, 1, 1, 0] * 4)
    free, ordered = (
        fitted(outcomes, diagnosis, places=[place]).likelihoods[0] for place in (None, np.array([-1.2, 0.0, 1.2]))
    )
    assert ordered[1, 1] > free[1, 1], "what lies beside a frequent outcome is less improbable"


def test_subtypes_take_up_what_tests_share() -> None:
    """Diagnosis is the exclusive or of a context and a mark: naive Bayes knows nothing, subtypes know all."""
    generator = np.random.default_rng(2)
    context, diagnosis = generator.integers(2, size=400), generator.integers(2, size=400)
    told = np.stack([context, context, context, context, context ^ diagnosis], axis=1)
    flipped = generator.random(told.shape) < 0.05
    outcomes = told ^ flipped

    def right(subtypes: int) -> float:
        found = fitted(outcomes, diagnosis, subtypes=subtypes)
        logs = np.log(found.prior) + sum(np.log(found.likelihoods[t][:, outcomes[:, t]]).T for t in range(5))
        weights = np.exp(logs)
        ill = weights[:, found.diagnosis == 1].sum(axis=1) > weights[:, found.diagnosis == 0].sum(axis=1)
        return float((ill == diagnosis).mean())

    assert right(1) < 0.65
    assert right(2) > 0.9


def test_the_same_seed_gives_the_same_fit() -> None:
    outcomes, diagnosis = drawn(200)
    one, other = (fitted(outcomes, diagnosis, subtypes=2, generator=np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(one.likelihoods[0], other.likelihoods[0])
