"""How far a number may be off: the distributions of uncertain numbers, around the value that the model states.

A chance, or a row of chances that sum to 1, is known as from so many cases: a Beta or Dirichlet distribution with the
stated chances as its mean, Dirichlet(cases * chances). An amount (price, loss, reward) is log-normal with the stated
amount as its mean. Intervals are turned into both by their standard deviation, a 95% interval being 3.92 of these wide
(Briggs, Claxton and Sculpher, Decision Modelling for Health Economic Evaluation, 2006, chapter 4).

Both know the chance and the mean of what lies below a point: the mean of a function of straight pieces is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

from numpy.random import Generator

from rhoplan.model.problem import Array

WIDTH = 2 * NormalDist().inv_cdf(0.975)
"""Standard deviations that a 95% interval is wide: 3.92."""

MANY_CASES = 1e6
"""Cases from which on a Beta distribution is taken as normal: they differ by less than one in a thousand of a
standard deviation, which is one in a thousand of the number itself."""

STANDARD = NormalDist()


class Spread(Protocol):
    """The distribution of one number."""

    @property
    def mean(self) -> float: ...

    def below(self, value: float) -> float:
        """The chance that the number is below `value`."""

    def mean_below(self, value: float) -> float:
        """The mean of the number where it is below `value`, counted as 0 elsewhere."""

    def draw(self, generator: Generator, count: int) -> Array: ...

    def quantile(self, share: float) -> float: ...


@dataclass(frozen=True)
class Beta:
    """A chance between 0 and 1 with this mean, known as from so many cases."""

    mean: float
    cases: float

    @property
    def _counts(self) -> tuple[float, float]:
        return self.mean * self.cases, (1 - self.mean) * self.cases

    @property
    def sd(self) -> float:
        return math.sqrt(self.mean * (1 - self.mean) / (self.cases + 1))

    def below(self, value: float) -> float:
        if not 0 < value < 1:
            return float(value >= 1)
        if self.cases > MANY_CASES:
            return STANDARD.cdf((value - self.mean) / self.sd)
        return incomplete_beta(*self._counts, value)

    def mean_below(self, value: float) -> float:
        if not 0 < value < 1:
            return self.mean * (value >= 1)
        if self.cases > MANY_CASES:
            place = (value - self.mean) / self.sd
            return self.mean * STANDARD.cdf(place) - self.sd * STANDARD.pdf(place)
        yes, no = self._counts
        return self.mean * incomplete_beta(yes + 1, no, value)

    def draw(self, generator: Generator, count: int) -> Array:
        return generator.beta(*self._counts, size=count)

    def quantile(self, share: float) -> float:
        low, high = 0.0, 1.0
        while high - low > 1e-13 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self.below(middle) >= share else (middle, high)
        return high


@dataclass(frozen=True)
class LogNormal:
    """An amount above 0 with this mean and standard deviation."""

    mean: float
    sd: float

    @property
    def _log_sd(self) -> float:
        return math.sqrt(math.log1p((self.sd / self.mean) ** 2))

    @property
    def _log_mean(self) -> float:
        return math.log(self.mean) - self._log_sd**2 / 2

    def below(self, value: float) -> float:
        return STANDARD.cdf((math.log(value) - self._log_mean) / self._log_sd) if value > 0 else 0.0

    def mean_below(self, value: float) -> float:
        if value <= 0:
            return 0.0
        return self.mean * STANDARD.cdf((math.log(value) - self._log_mean) / self._log_sd - self._log_sd)

    def draw(self, generator: Generator, count: int) -> Array:
        return generator.lognormal(self._log_mean, self._log_sd, size=count)

    def quantile(self, share: float) -> float:
        return math.exp(self._log_mean + self._log_sd * STANDARD.inv_cdf(share))


def cases_of(chance: float, low: float, high: float) -> float:
    """As from how many cases a chance is known whose 95% interval is from `low` to `high`; 0 or less: none has it."""
    return chance * (1 - chance) * (WIDTH / (high - low)) ** 2 - 1


def sd_of(low: float, high: float) -> float:
    """The standard deviation of an amount whose 95% interval is from `low` to `high`."""
    return (high - low) / WIDTH


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), 0 < x < 1: the chance that a Beta(a, b) is below x.

    By its continued fraction (DLMF 8.17.22, evaluated as Lentz did), on the side of the mean where that converges.
    """
    if x > (a + 1) / (a + b + 2):
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    tiny = 1e-300
    c, d = 1.0, 1.0 / ((1.0 - (a + b) * x / (a + 1)) or tiny)
    fraction = d
    for m in range(1, 100_000):
        for step in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):  # fmt: skip
            d = 1.0 / ((1.0 + step * d) or tiny)
            c = (1.0 + step / c) or tiny
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return math.exp(front) * fraction / a
