"""Wilson's interval: its ends are as far from the share as chance allows, and what is no share is refused."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from rhoplan.evaluation.simulate import wilson


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (1, 2), (3, 10), (2.5, 10), (10, 10), (499, 1000)])
def test_ends_are_where_the_share_is_as_far_off_as_chance_allows(successes: float, n: int, confidence: float) -> None:
    low, high = wilson(successes, n, confidence=confidence)
    z, share = NormalDist().inv_cdf((1 + confidence) / 2), successes / n
    assert (low == 0, high == 1) == (successes == 0, successes == n)
    for end in (low, high):
        if 0 < end < 1:
            assert abs(share - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n))
    assert wilson(successes, n) == wilson(successes, n, confidence=0.95)


@pytest.mark.parametrize(
    ("successes", "n", "confidence"), [(0, 0, 0.9), (-1e-9, 5, 0.9), (5.1, 5, 0.9), (1, 5, 0.0), (1, 5, 1.0)]
)
def test_what_is_no_share_is_refused(successes: float, n: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="successes must lie between 0 and n"):
        wilson(successes, n, confidence=confidence)
