"""Numbers as people quote them: each conversion, turned back, gives what it was made from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rhoplan.errors import ProblemError
from rhoplan.io.accuracy import (
    from_counts,
    from_groups,
    from_predictive,
    from_ratios,
    threshold_losses,
    utility_losses,
)

inside = st.floats(0.01, 0.99)
weights = st.lists(st.floats(0.05, 1), min_size=2, max_size=4)


@given(prevalence=inside, sensitivity=inside, specificity=inside)
def test_predictive_values_turn_back_into_rates_and_prevalence(
    prevalence: float, sensitivity: float, specificity: float
) -> None:
    positive = prevalence * sensitivity + (1 - prevalence) * (1 - specificity)
    ppv = prevalence * sensitivity / positive
    npv = (1 - prevalence) * specificity / (1 - positive)
    found = from_predictive(ppv, npv, positive)
    assert found.prior == pytest.approx([1 - prevalence, prevalence], abs=1e-9)
    rows = [[specificity, 1 - specificity], [1 - sensitivity, sensitivity]]
    assert found.likelihood == pytest.approx(np.array(rows), abs=1e-9)


@given(states=weights, data=st.data())
def test_groups_turn_back_into_likelihood_and_prior(states: list[float], data: st.DataObject) -> None:
    prior = np.array(states) / sum(states)
    rows = st.lists(st.floats(0.05, 1), min_size=3, max_size=3)
    likelihood = np.array([data.draw(rows) for _ in prior])
    likelihood /= likelihood.sum(axis=1, keepdims=True)
    joint = prior[:, None] * likelihood
    shares = joint.sum(axis=0)
    found = from_groups(shares / shares.sum(), (joint / shares).T, tuple("abcd"[: len(prior)]))
    assert found.prior == pytest.approx(prior, abs=1e-12)
    assert found.likelihood == pytest.approx(likelihood, abs=1e-12)


def test_the_published_wells_groups_by_hand() -> None:
    """40, 40 and 20 in 100 people, of whom 2, 8 and 12 have it: 22 in 100."""
    found = from_groups(np.array([0.4, 0.4, 0.2]), np.array([[0.95, 0.05], [0.8, 0.2], [0.4, 0.6]]), ("no", "yes"))
    assert found.prior == pytest.approx([0.78, 0.22])
    assert found.likelihood == pytest.approx(np.array([[38 / 78, 32 / 78, 8 / 78], [2 / 22, 8 / 22, 12 / 22]]))


def test_counts_and_ratios_agree() -> None:
    rows = from_counts(90, 10, 20, 180)
    assert rows == pytest.approx(np.array([[0.9, 0.1], [0.1, 0.9]]))
    assert from_ratios(9, 1 / 9) == pytest.approx(rows)


@given(threshold=inside, amount=st.floats(0.01, 1e6))
def test_at_the_threshold_acting_and_waiting_cost_the_same(threshold: float, amount: float) -> None:
    for known in ({"false_alarm": amount}, {"miss": amount}):
        false_alarm, miss = threshold_losses(threshold, **known)
        assert threshold * miss == pytest.approx((1 - threshold) * false_alarm)
        assert amount in (false_alarm, miss)


def test_utilities_become_losses_beside_the_best_of_each_state() -> None:
    losses = utility_losses(np.array([[0.95, 0.9], [1.0, 0.2]]), worth=1000)
    assert losses == pytest.approx(np.array([[50, 0], [0, 700]]))


@pytest.mark.parametrize(
    ("convert", "field"),
    [
        (lambda: from_ratios(1.0, 0.5), "lr_positive"),
        (lambda: from_ratios(2.0, 1.0), "lr_negative"),
        (lambda: from_counts(0, 0, 1, 1), "tp"),
        (lambda: from_counts(1, 1, 0, 0), "fp"),
        (lambda: from_predictive(0.5, 0.5, 0.0), "share_positive"),
        (lambda: from_predictive(0.0, 1.0, 0.5), "ppv"),
        (lambda: from_predictive(1.0, 0.0, 0.5), "ppv"),
        (lambda: from_groups(np.array([0.5, 0.4]), np.full((2, 2), 0.5), ("a", "b")), "shares"),
        (lambda: from_groups(np.array([0.5, 0.5]), np.array([[1.0, 0.0]] * 2), ("a", "b")), "chances"),
        (lambda: threshold_losses(1.0, miss=1.0), "at"),
        (lambda: threshold_losses(0.5), "miss"),
        (lambda: threshold_losses(0.5, miss=1.0, false_alarm=1.0), "miss"),
        (lambda: threshold_losses(0.5, false_alarm=0.0), "false_alarm"),
        (lambda: utility_losses(np.zeros((2, 2)), worth=0.0), "worth"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field_first_in_the_sentence(convert: object, field: str) -> None:
    assert callable(convert)
    with pytest.raises(ProblemError) as caught:
        convert()
    assert caught.value.field == (field,)
    first = caught.value.message.split()[0]
    assert first == field or field in caught.value.message.split(" must ")[0]
