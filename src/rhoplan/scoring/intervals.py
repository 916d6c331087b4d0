"""How far a share counted in episodes may be off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True)
class Interval:
    """An interval that is meant to hold the true value with probability `confidence`."""

    lower: float
    upper: float
    confidence: float


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
