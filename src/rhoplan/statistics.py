"""The statistics of the studies: how far an estimate may be off, and whether two agents differ.

Samples are plain sequences of numbers: one per episode, or one per seed (`seed_means`). Agents share the episodes'
random streams, so a comparison may be paired. Everything is computed here from NumPy alone; tests hold it equal to
SciPy and statsmodels.

What happens at the edges, everywhere: an empty sample or a number that is not finite is an error. One observation has
no spread, so what needs one is NaN. Samples without any spread differ for certain (statistic infinite, p = 0) or not at
all (statistic 0, p = 1): two agents with one policy give identical rows, and that is no evidence of a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Sample: TypeAlias = Sequence[float] | NDArray[np.generic]

BOOTSTRAP_SEED = 20240608

CHUNK_NUMBERS = 2_000_000
"""How many resampled values are held at once: 32 MB with their places."""

EFFECT_SIZES = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))

MOST_TERMS = 1000
"""Of the continued fraction; fifty are enough up to a million degrees of freedom."""

NO_SPREAD = 1e-9
"""A standard deviation below this is rounding of a quantity that does not vary."""


@dataclass(frozen=True)
class Mean:
    """A mean, its standard error, the standard deviation (ddof = 1) of one observation, and how many there are."""

    mean: float
    se: float
    sd: float
    n: int


@dataclass(frozen=True)
class TTest:
    """A difference of means (first minus second), its standard error, Student's t, degrees of freedom, two-sided p."""

    difference: float
    se: float
    statistic: float
    degrees: float
    p: float


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided t tests of |difference| < margin: p below alpha supports equivalence at level alpha.

    above: p of "the difference is -margin or less", below: p of "the difference is margin or more"; p is the larger.
    """

    difference: float
    se: float
    degrees: float
    margin: float
    above: float
    below: float
    p: float


@dataclass(frozen=True)
class Interval:
    """An interval that is meant to hold the true value with probability `confidence`."""

    lower: float
    upper: float
    confidence: float


def mean_with_error(sample: Sample) -> Mean:
    """Mean of `sample` with its standard error; NaN for the error of a single observation."""
    values = _checked(sample)
    return _mean(values)


def seed_means(sample: Sample, seeds: Sequence[int] | NDArray[np.generic]) -> Array:
    """Mean of the episodes of each seed, in order of first appearance; `seeds` names the seed of each episode."""
    values, labels = _checked(sample), np.asarray(seeds)
    if labels.shape != values.shape:
        raise ValueError(f"there must be one seed per episode; there are {labels.size} for {values.size}")
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    means: Array = np.bincount(group, weights=values) / np.bincount(group)
    return means[np.argsort(first)]


def welch(first: Sample, second: Sample) -> TTest:
    """Welch's t test of two independent samples, of episodes or of seed means."""
    return _t_test(*_welch_parts(_checked(first), _checked(second)))


def paired(first: Sample, second: Sample) -> TTest:
    """t test of the differences of two samples whose members belong together: same seed, same episode."""
    return _t_test(*_paired_parts(first, second))


def equivalence(first: Sample, second: Sample, *, margin: float, pairs: bool = False) -> Equivalence:
    """TOST of whether two means differ by less than `margin`; Welch's, or on differences where samples are pairs."""
    if not 0 < margin < math.inf:
        raise ValueError(f"the margin of an equivalence test must be a number above 0; it is {margin:g}")
    parts = _paired_parts(first, second) if pairs else _welch_parts(_checked(first), _checked(second))
    difference, se, degrees = parts
    above, below = (
        _upper_tail(_ratio(distance, se), degrees) for distance in (difference + margin, margin - difference)
    )
    p = math.nan if math.isnan(se) else max(above, below)
    return Equivalence(difference, se, degrees, margin, above, below, p)


def holm(p_values: Sample) -> Array:
    """p values adjusted by Holm-Bonferroni, in the order given. NaN (no test was possible) stays and does not count."""
    values = np.asarray(p_values, dtype=float)
    adjusted = np.full(values.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(values))
    if np.any((values[tested] < 0) | (values[tested] > 1)):
        raise ValueError("p values must lie between 0 and 1")
    order = tested[np.argsort(values[tested], kind="stable")]
    steps = values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def bootstrap(
    sample: Sample,
    *,
    statistic: Callable[[Array], Array] | None = None,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = BOOTSTRAP_SEED,
) -> Interval:
    """Percentile bootstrap interval of `statistic`: rows of resamples (r, n) to (r,); the mean where none is given.

    The same seed gives the same interval. For a paired comparison pass the differences.
    """
    values = _checked(sample)
    if resamples < 1 or not 0 < confidence < 1:
        raise ValueError("a bootstrap must have at least one resample and a confidence between 0 and 1")
    rng = np.random.Generator(np.random.PCG64(seed))
    rows = max(1, CHUNK_NUMBERS // len(values))
    found = np.empty(resamples)
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        drawn = values[rng.integers(0, len(values), size=(count, len(values)))]
        found[start : start + count] = drawn.mean(axis=1) if statistic is None else statistic(drawn)
    lower, upper = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(lower), float(upper), confidence)


def wilson(successes: float, n: int, *, confidence: float = 0.95) -> Interval:
    """Wilson's interval for the share behind `successes` out of `n`; it is never empty, even at 0 or n successes."""
    if n < 1 or not 0 <= successes <= n or not 0 < confidence < 1:
        raise ValueError(f"successes must lie between 0 and n, and n be at least 1; they are {successes:g} and {n}")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = successes / n, z * z / n
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    # At the ends of the scale the formula gives exactly 0 and 1, up to rounding.
    lower = 0.0 if successes == 0 else centre - half
    upper = 1.0 if successes == n else centre + half
    return Interval(lower, upper, confidence)


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
    if not counted and share in (0.0, 1.0):
        return np.asarray(np.arange(n + 1) == round(share * n), dtype=float)
    steps = np.arange(n)
    if counted:
        right, wrong = counted * share + 0.5, counted * (1 - share) + 0.5
        factors = np.log(right + steps), np.log(wrong + steps)
    else:
        factors = np.full(n, math.log(share)), np.full(n, math.log1p(-share))
    yes, no, ranks = (np.concatenate([[0.0], np.cumsum(one)]) for one in (*factors, np.log(1.0 + steps)))
    logs = yes + no[::-1] - ranks - ranks[::-1]
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / math.fsum(weights))


def cohens_d(first: Sample, second: Sample) -> float:
    """Difference of means in units of the pooled standard deviation (ddof = 1); NaN for two samples of one."""
    one, two = _mean(_checked(first)), _mean(_checked(second))
    degrees = one.n + two.n - 2
    if not degrees:
        return math.nan
    squares = sum((part.n - 1) * part.sd**2 for part in (one, two) if part.n > 1)
    return _ratio(one.mean - two.mean, math.sqrt(squares / degrees))


def effect_label(d: float) -> str:
    """The usual word for the size of Cohen's d: below .2 negligible, below .5 small, below .8 medium, else large."""
    if math.isnan(d):
        return "undefined"
    return next((label for limit, label in EFFECT_SIZES if abs(d) < limit), "large")


def distance_in_se(published: float, exact: float, *, sd: float, n: int, decimals: int) -> float:
    """How many standard errors of its own protocol a published mean of `n` episodes lies from the exact value.

    `sd` is the exact standard deviation of one episode. The published value was rounded to `decimals`, so half a unit
    of the last printed digit is free. Infinite where the quantity does not vary and the difference is not rounding.
    """
    beyond = max(abs(published - exact) - 0.5 * 10.0**-decimals, 0.0)
    if sd > NO_SPREAD:
        return beyond / (sd / math.sqrt(n))
    return math.inf if beyond > NO_SPREAD else 0.0


def student_p(statistic: float, degrees: float) -> float:
    """Probability that Student's t with `degrees` of freedom is at least as far from 0 as `statistic`.

    Relative error below 1e-10 up to a million degrees of freedom; it grows in proportion to them.
    """
    if math.isnan(statistic) or math.isnan(degrees):
        return math.nan
    if not degrees > 0:
        raise ValueError(f"degrees of freedom must be above 0; they are {degrees:g}")
    if math.isinf(statistic):
        return 0.0
    return _beta_share(statistic * statistic / degrees, degrees / 2)


def _checked(sample: Sample) -> Array:
    values = np.asarray(sample, dtype=float)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"a sample must be a list of at least one number; its shape is {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ValueError("a sample must hold finite numbers only")
    return values


def _mean(values: Array) -> Mean:
    if np.all(values == values[0]):
        # The mean of equal numbers may be off by a rounding; their spread is zero all the same.
        sd = 0.0 if len(values) > 1 else math.nan
        return Mean(float(values[0]), sd, sd, len(values))
    sd = float(values.std(ddof=1))
    return Mean(float(values.mean()), sd / math.sqrt(len(values)), sd, len(values))


def _welch_parts(first: Array, second: Array) -> tuple[float, float, float]:
    """Difference, its standard error, and the degrees of freedom of Welch and Satterthwaite."""
    one, two = _mean(first), _mean(second)
    squares = one.se**2 + two.se**2
    if math.isnan(squares):
        return one.mean - two.mean, math.nan, math.nan
    if not squares:
        return one.mean - two.mean, 0.0, one.n + two.n - 2.0
    shares = one.se**2 / squares, two.se**2 / squares
    degrees = 1 / (shares[0] ** 2 / (one.n - 1) + shares[1] ** 2 / (two.n - 1))
    return one.mean - two.mean, math.sqrt(squares), degrees


def _paired_parts(first: Sample, second: Sample) -> tuple[float, float, float]:
    values, others = _checked(first), _checked(second)
    if len(values) != len(others):
        raise ValueError(f"paired samples must be equally long; they have {len(values)} and {len(others)} members")
    found = _mean(values - others)
    return found.mean, found.se, found.n - 1.0 if found.n > 1 else math.nan


def _t_test(difference: float, se: float, degrees: float) -> TTest:
    statistic = _ratio(difference, se)
    return TTest(difference, se, statistic, degrees, student_p(statistic, degrees))


def _ratio(difference: float, spread: float) -> float:
    """difference / spread; where nothing varies, 0 for no difference and an infinity of its sign for any other."""
    if spread == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / spread


def _upper_tail(statistic: float, degrees: float) -> float:
    """Probability that Student's t is at least `statistic`."""
    tail = student_p(statistic, degrees) / 2
    return tail if statistic > 0 else 1 - tail


def _beta_share(odds: float, a: float) -> float:
    """Regularised incomplete beta function I_x(a, 1/2) at x = 1 / (1 + odds): the tails of Student's t.

    By its continued fraction, which converges fast on one side of the mean a / (a + 1/2); the other side is reached
    through I_x(a, b) = 1 - I_{1-x}(b, a). `odds` = t^2 / degrees keeps 1 - x exact where x is close to 1.
    """
    if odds == 0:
        return 1.0
    x, rest = 1 / (1 + odds), odds / (1 + odds)
    front = math.exp(_log_gamma_ratio(a) - 0.5 * math.log(math.pi) - a * math.log1p(odds)) * math.sqrt(rest)
    if x < (a + 1) / (a + 2.5):
        return front / a * _beta_fraction(x, a, 0.5)
    return 1 - front / 0.5 * _beta_fraction(rest, 0.5, a)


def _log_gamma_ratio(a: float) -> float:
    """log(Gamma(a + 1/2) / Gamma(a)); for large a by its asymptotic series, since the two logs would cancel."""
    if a < 25:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return 0.5 * math.log(a) - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5) + 17 / (14336 * a**7)


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Continued fraction of the incomplete beta function, evaluated forwards (Lentz's method)."""
    tiny = 1e-300  # stands in for a zero that would be divided by
    ratio, inverse = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = inverse
    for m in range(1, MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            inverse = 1 / (1 + term * inverse or tiny)
            ratio = 1 + term / ratio or tiny
            value *= inverse * ratio
        if abs(value - before) <= 1e-15 * abs(value):
            return value
    raise ArithmeticError(f"the incomplete beta function did not converge for a = {a:g}, b = {b:g}, x = {x:g}")
