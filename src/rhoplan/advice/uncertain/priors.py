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

from rhoplan.model.pomdp import Array

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
        from scipy.special import betainc

        return float(betainc(*self._counts, value))

    def mean_below(self, value: float) -> float:
        if not 0 < value < 1:
            return self.mean * (value >= 1)
        from scipy.special import betainc

        yes, no = self._counts
        return self.mean * float(betainc(yes + 1, no, value))

    def draw(self, generator: Generator, count: int) -> Array:
        return generator.beta(*self._counts, size=count)

    def quantile(self, share: float) -> float:
        from scipy.special import betaincinv

        return float(betaincinv(*self._counts, share))


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
