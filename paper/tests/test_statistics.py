"""Statistics against SciPy, and what happens at the edges."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rhoplan.evaluation.simulate import wilson
from rhoplan_paper import statistics as ours

SAME = 1e-10
SIZES = [(2, 2), (2, 9), (5, 5), (30, 7), (1000, 1000), (5000, 3)]


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def two_samples(seed: int, sizes: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Rewards like Tiger's: a few values, far apart, with something added."""
    rng = generator(seed)
    first = rng.choice([10.0, -100.0], size=sizes[0], p=[0.9, 0.1]) - rng.integers(1, 9, size=sizes[0])
    second = rng.normal(rng.normal(), 10 ** rng.uniform(-2, 2), size=sizes[1])
    return first + 1e-3 * rng.normal(size=sizes[0]), second


def close(value: float) -> object:
    return pytest.approx(value, rel=SAME, abs=1e-300)


# Student's t


@pytest.mark.parametrize("degrees", [0.3, 1.7, 2.0, 4.0, 7.3, 49.9, 50.0, 50.1, 998.0, 9998.0, 1e5, 1e6])
def test_student_tails_agree_with_scipy(degrees):
    for t in [1e-9, 1e-3, 0.1, 0.7, 1.0, 1.5, 1.7, 1.75, 2.0, 3.0, 5.0, 10.0, 30.0]:
        assert ours.student_p(t, degrees) == pytest.approx(2 * scipy_stats.t.sf(t, degrees), rel=SAME, abs=1e-290)
        assert ours.student_p(-t, degrees) == ours.student_p(t, degrees)


@pytest.mark.parametrize("t", [1e-12, 1e-6, 0.3, 1.0, 12.0, 1e6])
def test_student_with_one_degree_is_cauchy(t):
    """The closed form; SciPy is off by up to 6e-10 close to zero."""
    assert ours.student_p(t, 1.0) == pytest.approx(2 / math.pi * math.atan(1 / t), rel=1e-9)


def test_student_at_the_edges():
    assert ours.student_p(0.0, 3.0) == 1.0
    assert ours.student_p(math.inf, 3.0) == 0.0
    assert math.isnan(ours.student_p(math.nan, 3.0))
    with pytest.raises(ValueError, match="above 0"):
        ours.student_p(1.0, 0.0)


# Effects


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("seed", range(4))
def test_effect_size_is_in_units_of_the_pooled_spread(seed, sizes):
    first, second = two_samples(seed, sizes)
    pooled = ((sizes[0] - 1) * first.var(ddof=1) + (sizes[1] - 1) * second.var(ddof=1)) / (sum(sizes) - 2)
    assert ours.cohens_d(first, second) == close((first.mean() - second.mean()) / math.sqrt(pooled))


def test_samples_that_are_equal_show_no_effect():
    rewards = [10.0, -100.0, 9.0, 9.0]
    assert ours.cohens_d(rewards, rewards) == 0.0
    assert ours.cohens_d([0.1] * 7, [0.1] * 3) == 0.0


def test_samples_without_spread_that_differ_do_so_for_certain():
    assert ours.cohens_d([2.0, 2.0], [5.0, 5.0]) == -math.inf


def test_one_observation_has_no_spread():
    assert math.isnan(ours.cohens_d([4.0], [1.0]))
    assert ours.cohens_d([4.0], [1.0, 3.0]) == pytest.approx(2 / math.sqrt(2))


def test_samples_that_are_none_are_refused():
    for bad in ([], [[1.0, 2.0]], [1.0, math.nan], [math.inf]):
        with pytest.raises(ValueError, match="a sample must"):
            ours.cohens_d(bad, [1.0, 2.0])


@pytest.mark.parametrize(
    ("d", "label"),
    [
        (0.0, "negligible"),
        (-0.199, "negligible"),
        (0.2, "small"),
        (-0.5, "medium"),
        (0.8, "large"),
        (-math.inf, "large"),
    ],
)
def test_effect_sizes_have_their_usual_names(d, label):
    assert ours.effect_label(d) == label
    assert ours.effect_label(math.nan) == "undefined"


# Shares, resampling


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (0, 20), (20, 20), (7, 20), (4973, 5000), (1, 2)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_agrees_with_scipy(successes, n, confidence):
    found = wilson(successes, n, confidence=confidence)
    expected = scipy_stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert found == pytest.approx((expected.low, expected.high), abs=SAME)
    assert 0 <= found[0] < found[1] <= 1


def test_wilson_refuses_more_successes_than_trials():
    with pytest.raises(ValueError, match="between 0 and n"):
        wilson(3, 2)


@pytest.mark.parametrize("size", [1, 2, 30, 700])
def test_bootstrap_draws_what_scipy_draws(size):
    sample = two_samples(3, (size, 2))[0]
    found = ours.bootstrap(sample, resamples=2000, seed=11)
    if size == 1:
        assert (found.lower, found.upper) == (sample[0], sample[0])
        return
    expected = scipy_stats.bootstrap(
        (sample,), np.mean, n_resamples=2000, method="percentile", rng=generator(11)
    ).confidence_interval
    assert (found.lower, found.upper) == (close(expected.low), close(expected.high))


def test_bootstrap_takes_any_statistic_of_rows():
    sample = two_samples(5, (80, 2))[0]
    found = ours.bootstrap(sample, statistic=np.median, resamples=999, confidence=0.9, seed=2)
    expected = scipy_stats.bootstrap(
        (sample,), np.median, n_resamples=999, confidence_level=0.9, method="percentile", rng=generator(2)
    ).confidence_interval
    assert (found.lower, found.upper) == (close(expected.low), close(expected.high))


def test_bootstrap_does_not_depend_on_how_much_fits_in_memory(monkeypatch):
    sample = generator(1).normal(size=101)
    whole = ours.bootstrap(sample)
    monkeypatch.setattr(ours, "CHUNK_NUMBERS", 1000)
    assert ours.bootstrap(sample) == whole
    assert whole.lower < sample.mean() < whole.upper
    with pytest.raises(ValueError, match="at least one resample"):
        ours.bootstrap(sample, resamples=0)
