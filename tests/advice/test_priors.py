"""Distributions of uncertain numbers against closed forms, sums and draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rhoplan.advice.uncertain.priors import Beta, LogNormal, Spread
from rhoplan.io.accuracy import cases_of, sd_of

SPREADS: tuple[Spread, ...] = (Beta(0.83, 127.0), Beta(0.02, 40.0), Beta(0.5, 3e6), LogNormal(50.0, 9.0))


@pytest.mark.parametrize(("yes", "of", "chance"), [(3, 10, 0.2), (91, 110, 0.83), (1, 4, 0.9), (400, 1000, 0.41)])
def test_a_beta_is_a_sum_of_binomials(yes: int, of: int, chance: float) -> None:
    tail = math.fsum(math.comb(of, k) * chance**k * (1 - chance) ** (of - k) for k in range(yes, of + 1))
    beta = Beta(yes / (of + 1), of + 1)
    assert beta.below(chance) == pytest.approx(tail, rel=1e-10)


def test_a_beta_of_halves_is_an_arc() -> None:
    for x in (0.001, 0.3, 0.5, 0.99):
        assert Beta(0.5, 1.0).below(x) == pytest.approx(2 / math.pi * math.asin(math.sqrt(x)), rel=1e-12)


@pytest.mark.parametrize("spread", SPREADS, ids=str)
def test_draws_agree_with_what_lies_below(spread: Spread) -> None:
    drawn, at = spread.draw(np.random.default_rng(5), 20_000), spread.quantile(0.3)
    assert spread.below(at) == pytest.approx(0.3, abs=1e-9)
    assert np.mean(drawn < at) == pytest.approx(0.3, abs=5 * math.sqrt(0.21 / 20_000))
    for values, mean in ((drawn, spread.mean), (np.where(drawn < at, drawn, 0.0), spread.mean_below(at))):
        assert values.mean() == pytest.approx(mean, abs=5 * float(values.std()) / math.sqrt(20_000))


def test_interval_comes_back() -> None:
    chance = Beta(0.83, cases_of(0.83, 0.76, 0.89))
    assert [chance.quantile(0.025), chance.quantile(0.975)] == pytest.approx([0.76, 0.89], abs=0.002)
    price = LogNormal(75.0, sd_of(60, 90))
    assert [price.quantile(0.025), price.quantile(0.975)] == pytest.approx([60, 90], abs=2)


@pytest.mark.parametrize("spread", [Beta(0.83, 127.0), Beta(0.5, 3e6)], ids=str)
def test_all_of_a_chance_lies_between_0_and_1(spread: Beta) -> None:
    for value in (1.0, 1.5):
        assert (spread.below(value), spread.mean_below(value)) == (1.0, spread.mean)
    for value in (0.0, -0.5):
        assert (spread.below(value), spread.mean_below(value)) == (0.0, 0.0)
