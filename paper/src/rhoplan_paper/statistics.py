"""The statistics of the studies: how large an effect is, and how far a count or a mean may be off.

SciPy computes; here is what happens at the edges, everywhere alike: an empty sample or a number that is not finite is
an error. One observation has no spread, so what needs one is NaN. Of samples without any spread an effect is infinite,
or 0 where they are equal: two agents with one policy give identical rows, and that is no evidence of a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Sample: TypeAlias = Sequence[float] | NDArray[np.generic]

BOOTSTRAP_SEED = 20240608

CHUNK_NUMBERS = 2_000_000
"""How many resampled values are held at once: 32 MB with their places."""

EFFECT_SIZES = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))


@dataclass(frozen=True)
class Interval:
    """An interval that is meant to hold the true value with probability `confidence`."""

    lower: float
    upper: float
    confidence: float


def bootstrap(
    sample: Sample,
    *,
    statistic: Callable[..., Any] = np.mean,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = BOOTSTRAP_SEED,
) -> Interval:
    """Percentile bootstrap interval of `statistic`, a function of an array and an axis.

    The same seed gives the same interval. For a paired comparison pass the differences.
    """
    values = _checked(sample)
    if resamples < 1 or not 0 < confidence < 1:
        raise ValueError("a bootstrap must have at least one resample and a confidence between 0 and 1")
    if len(values) == 1:
        return Interval(float(values[0]), float(values[0]), confidence)
    from scipy import stats  # half of what it takes to start a worker, and most never need it

    found = stats.bootstrap(
        (values,), statistic, n_resamples=resamples, confidence_level=confidence, method="percentile",
        batch=max(1, CHUNK_NUMBERS // len(values)), rng=np.random.Generator(np.random.PCG64(seed)),
    ).confidence_interval  # fmt: skip
    return Interval(float(found.low), float(found.high), confidence)


def chance_of_count(low: int, high: int, n: int, *, share: float, counted: int = 0) -> float:
    """Chance that `n` episodes give a count of successes as far out as one between `low` and `high`, or farther.

    share: the success of one episode; exact, or (counted > 0) itself the share of successes among `counted` episodes.
    Then the count of n further episodes is beta-binomial (the predictive distribution under Jeffreys' prior), which is
    wider than the binomial by what the counted episodes leave open, also where they were all alike.

    The chance is twice that of the smaller tail. Not so where the count is none or all: nothing lies beyond, and such a
    count can only speak for a smaller (larger) share, so its tail counts once.
    """
    if not (0 <= low <= high <= n and n >= 1 and 0 <= share <= 1):
        raise ValueError(
            f"counts must lie between 0 and n, and a share between 0 and 1; got {low}, {high}, {n}, {share}"
        )
    weights = binomial(n, share, counted=counted)
    below, above = math.fsum(weights[: high + 1]), math.fsum(weights[low:])
    at_the_end = low == 0 if below < above else high == n
    return min(min(below, above) * (1 if at_the_end else 2), 1.0)


def binomial(n: int, share: float, *, counted: int = 0) -> Array:
    """Chances of 0, 1, ... n successes (n+1,); beta-binomial where the share was itself counted in so many episodes."""
    from scipy import stats

    counts = np.arange(n + 1)
    if not counted:
        return np.asarray(stats.binom.pmf(counts, n, share))
    return np.asarray(stats.betabinom.pmf(counts, n, counted * share + 0.5, counted * (1 - share) + 0.5))


def cohens_d(first: Sample, second: Sample) -> float:
    """Difference of means in units of the pooled standard deviation (ddof = 1); NaN for two samples of one."""
    one, two = _checked(first), _checked(second)
    degrees = len(one) + len(two) - 2
    if not degrees:
        return math.nan
    squares = sum((len(part) - 1) * _variance(part) for part in (one, two) if len(part) > 1)
    return _ratio(_mean(one) - _mean(two), math.sqrt(squares / degrees))


def effect_label(d: float) -> str:
    """The usual word for the size of Cohen's d: below .2 negligible, below .5 small, below .8 medium, else large."""
    if math.isnan(d):
        return "undefined"
    return next((label for limit, label in EFFECT_SIZES if abs(d) < limit), "large")


def student_p(statistic: float, degrees: float) -> float:
    """Probability that Student's t with `degrees` of freedom is at least as far from 0 as `statistic`."""
    if degrees <= 0:
        raise ValueError(f"degrees of freedom must be above 0; they are {degrees:g}")
    from scipy import stats

    return float(2 * stats.t.sf(abs(statistic), degrees))


def _checked(sample: Sample) -> Array:
    values = np.asarray(sample, dtype=float)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"a sample must be a list of at least one number; its shape is {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ValueError("a sample must hold finite numbers only")
    return values


def _mean(values: Array) -> float:
    """The mean; of equal numbers exactly the number, where rounding might leave another."""
    return float(values[0] if np.ptp(values) == 0 else values.mean())


def _variance(values: Array) -> float:
    """Of one observation NaN; of equal numbers exactly 0."""
    if len(values) == 1:
        return math.nan
    return 0.0 if np.ptp(values) == 0 else float(values.var(ddof=1))


def _ratio(difference: float, spread: float) -> float:
    """difference / spread; where nothing varies, 0 for no difference and an infinity of its sign for any other."""
    if spread == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / spread
