"""A published number beside ours: how far apart they are, and what follows.

A published mean scatters around the exact value by the sampling error of its own protocol, which the exact (or, beyond
the engine's reach, the simulated) distribution gives: normally, since thousands of episodes make it. A published share
is a count of episodes, which is binomial; that matters where successes are rare or sure. A difference below half of the
last printed digit is none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

from rhoplan_paper.published import Cell
from rhoplan_paper.statistics import chance_of_count
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, ONLY_BITS, ONLY_NATS, UNCHECKED

CHANCE = 1e-4
"""A published number that chance would put so far from ours, or farther, with less probability is contradicted.

Seven hundred numbers are judged, so chance alone contradicts one of them in about one of ten such papers (a count of
none or all has one tail, so for a share the chance of a false alarm is at most 1.5 times the level). The level was set
when shares came to be judged by their counts: four standard errors, 6.3e-5, was the one before. What lies between the
two is called contradicted here and would not have been there; it is a convention, and the reason tells the chance.
"""

FAR = NormalDist().inv_cdf(1 - CHANCE / 2)
"""The same level for means: standard errors that chance exceeds, either way, with that probability (3.89)."""


@dataclass(frozen=True)
class Number:
    """A mean, the spread of a single episode (None where unknown), and the mean's own standard error (0 if exact).

    counted: for the share of episodes that have some property, in how many it was counted, 0 where it is exact; None
    for any other mean.
    """

    mean: float
    sd: float | None
    se: float = 0.0
    counted: int | None = None


@dataclass(frozen=True)
class Judgement:
    verdict: str
    unit: str
    reason: str


def judge(cell: Cell, by_unit: Mapping[str, Number], episodes: int, scale: float = 1.0) -> Judgement:
    """The verdict on one printed number. by_unit: ours by unit of information, one entry where units do not matter.

    scale: what a printed unit is in ours (0.01 for percent).
    """
    if cell.value is None:
        return Judgement(UNCHECKED, "", "the paper prints no number")
    if not by_unit:
        return Judgement(UNCHECKED, "", "there is nothing to compare it with")
    apart = {unit: _apart(cell, ours, episodes, scale) for unit, ours in by_unit.items()}
    near = [unit for unit, (fits, _) in apart.items() if fits]
    told = ", ".join(f"{text}{f' in {unit}' if len(apart) > 1 else ''}" for unit, (_, text) in apart.items())
    if len(apart) > 1 and len(near) == 1:
        return Judgement(ONLY_BITS if near[0] == "bits" else ONLY_NATS, near[0], told)
    unit = "either" if len(apart) > 1 else next(iter(apart))
    if near:
        same = all(text == SAME for _, text in apart.values())
        return Judgement(CONFIRMED, unit, "equal to the printed digits" if same else told)
    return Judgement(CONTRADICTED, unit, told)


SAME = "off by nothing"


def _apart(cell: Cell, ours: Number, episodes: int, scale: float) -> tuple[bool, str]:
    """Whether the printed value can be ours, and how far off it is, in words."""
    if _beyond(cell, ours, scale) <= 1e-9:
        return True, SAME
    if ours.counted is not None:
        chance = share_chance(cell, ours, episodes, scale)
        return chance >= CHANCE, f"so far off with chance {chance_text(chance)}"
    far = errors_apart(cell, ours, episodes, scale)
    return far < FAR, "off by more than rounding, where nothing scatters" if math.isinf(far) else f"off by {far:.1f} SE"


def errors_apart(cell: Cell, ours: Number, episodes: int, scale: float = 1.0) -> float:
    """How far the printed mean lies from `ours`, in standard errors; zero within its rounding."""
    beyond = _beyond(cell, ours, scale)
    error = math.hypot((ours.sd or 0.0) / math.sqrt(episodes), ours.se)
    if beyond <= 1e-9:
        return 0.0
    return beyond / error if error > 1e-12 else math.inf


def share_chance(cell: Cell, ours: Number, episodes: int, scale: float = 0.01) -> float:
    """Chance of a share as far from `ours` as the printed one, or farther, among so many episodes.

    A printed share stands for every count that rounds to it: 0.0% of 600 for none, of 5,000 for none to two. Where no
    count does, it stands for the two next to it.
    """
    centre, slack = cell.number * scale * episodes, cell.rounding * scale * episodes
    low, high = math.ceil(centre - slack - 1e-6), math.floor(centre + slack + 1e-6)
    low, high = (max(0, min(end, episodes)) for end in sorted((low, high)))
    return chance_of_count(low, high, episodes, share=ours.mean, counted=ours.counted or 0)


def chance_text(chance: float) -> str:
    return f"{chance:.2g}" if chance >= 1e-12 else "below 1e-12"


def _beyond(cell: Cell, ours: Number, scale: float) -> float:
    """By how much the printed value is off, beyond its rounding."""
    return max(abs(cell.number * scale - ours.mean) - cell.rounding * scale * (1 + 1e-9), 0.0)
