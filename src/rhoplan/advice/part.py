"""A part of an answer: what it is about, what it says, and what kind of number that is.

exact: as the model has it. bounded: a plan that was found, with certified bounds on what the best one is worth.
estimated: means over sampled cases. missing: not worked out, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["exact", "bounded", "estimated", "missing"]

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Sampled:
    """Where an estimate comes from: so many cases drawn with a seed, and the standard errors of its means."""

    episodes: int
    seed: int
    se: dict[str, float]


@dataclass(frozen=True)
class Part:
    """One part. words: what kind of answer it is, for people; of a missing one the reason; empty where it is plain.

    bounds: on what the best plan is worth, where it is bounded. sampled: where it is estimated.
    """

    name: str
    kind: Kind
    content: Any
    words: str = ""
    bounds: Bounds | None = None
    sampled: Sampled | None = None


def missing(name: str, reason: object) -> Part:
    """The part that could not be had."""
    return Part(name, "missing", None, f"not worked out: {reason}")
