"""A published number beside ours: how far apart they are, and what follows.

A published mean scatters around the exact value by the sampling error of its own protocol, which the exact (or, beyond
the engine's reach, the simulated) distribution gives. A difference below half of the last printed digit is none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rhoplan.experiments.paper import Cell
from rhoplan.reproduction.study import CONFIRMED, CONTRADICTED, ONLY_BITS, ONLY_NATS, UNCHECKED

FAR = 4.0
"""Standard errors from which a published number is contradicted: among a thousand cells chance exceeds it in none."""


@dataclass(frozen=True)
class Number:
    """A mean, the spread of a single episode (None where unknown), and the mean's own standard error (0 if exact)."""

    mean: float
    sd: float | None
    se: float = 0.0


@dataclass(frozen=True)
class Judgement:
    verdict: str
    unit: str
    reason: str


def errors_apart(cell: Cell, ours: Number, episodes: int, scale: float = 1.0) -> float:
    """How far the printed value lies from `ours`, in standard errors; zero within its rounding.

    scale: what a printed unit is in ours (0.01 for percent).
    """
    assert cell.value is not None
    beyond = max(abs(cell.value * scale - ours.mean) - cell.rounding * scale * (1 + 1e-9), 0.0)
    error = math.hypot((ours.sd or 0.0) / math.sqrt(episodes), ours.se)
    if beyond <= 1e-9:
        return 0.0
    return beyond / error if error > 1e-12 else math.inf


def judge(cell: Cell, by_unit: Mapping[str, Number], episodes: int, scale: float = 1.0) -> Judgement:
    """The verdict on one printed number. by_unit: ours by unit of information, one entry where units do not matter."""
    if cell.value is None:
        return Judgement(UNCHECKED, "", "the paper prints no number")
    if not by_unit:
        return Judgement(UNCHECKED, "", "there is nothing to compare it with")
    apart = {unit: errors_apart(cell, ours, episodes, scale) for unit, ours in by_unit.items()}
    near = [unit for unit, far in apart.items() if far < FAR]
    told = ", ".join(f"{_errors(far)}{f' in {unit}' if len(apart) > 1 else ''}" for unit, far in apart.items())
    if len(apart) > 1 and len(near) == 1:
        verdict = ONLY_BITS if near[0] == "bits" else ONLY_NATS
        return Judgement(verdict, near[0], f"off by {told}")
    unit = "either" if len(apart) > 1 else next(iter(apart))
    if near:
        return Judgement(CONFIRMED, unit, f"off by {told}" if max(apart.values()) else "equal to the printed digits")
    return Judgement(CONTRADICTED, unit, f"off by {told}")


def _errors(far: float) -> str:
    if math.isinf(far):
        return "more than rounding, where nothing scatters"
    return f"{far:.1f} SE" if far else "nothing"
