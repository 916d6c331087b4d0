"""Numbers as people read them: percentages that do not round to certainty, money, beliefs, counts in a thousand."""

from __future__ import annotations

import math
from collections.abc import Mapping

MOST_STATES = 3
"""How many states of a belief are named; the rest are summed."""


def percent(share: float) -> str:
    """`share` as a percentage with enough digits that only 0 reads 0% and only 1 reads 100%."""
    away = min(share, 1.0 - share)
    if away <= 1e-12:
        return "100%" if share > 0.5 else "0%"
    digits = 1 if away >= 0.0095 else min(9, 1 - math.floor(math.log10(100 * away)))
    return f"{100 * share:.{digits}f}%"


def money(amount: float, unit: str = "") -> str:
    """`amount` with thousands separated and the digits that matter, then its unit."""
    size = abs(amount)
    if size < 1e-12:
        text = "0"
    elif size >= 1e7 or size < 1e-3:
        text = f"{amount:.4g}"
    else:
        digits = 0 if size >= 10_000 or abs(amount - round(amount)) < 1e-9 else 2 if size >= 1 else 3
        text = f"{amount:,.{digits}f}"
    return f"{text} {unit}".rstrip()


def belief_words(belief: Mapping[str, float], most: int = MOST_STATES) -> str:
    """The likeliest states with their probabilities; those of a two-state model in the model's order."""
    if len(belief) <= 2:
        return ", ".join(f"{state} {percent(share)}" for state, share in belief.items())
    ranked = sorted(belief.items(), key=lambda pair: -pair[1])
    shown = [f"{state} {percent(share)}" for state, share in ranked[:most] if share > 0]
    rest = sum(share for _, share in ranked[most:])
    if rest > 1e-9:
        shown.append(f"{'other' if len(ranked) - most == 1 else 'others'} {percent(rest)}")
    return ", ".join(shown)


def in_thousand(share: float) -> str:
    """How many of a thousand cases `share` is; with a decimal below ten, and `under 0.1` rather than 0.0."""
    count = 1000 * share
    if count == 0:
        return "0"
    if count < 0.1:
        return "under 0.1"
    return f"{count:.1f}" if count < 9.95 or 1e-9 < 1000 - count < 9.95 else f"{count:,.0f}"


def shortened(text: str, most: int) -> str:
    """`text`, or its beginning and an ellipsis where it is longer than `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"
