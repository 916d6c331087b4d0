"""Test and treatment thresholds: the chances of the state looked for between which testing is worth it.

The classic rule of a two-state model. Below the test threshold nobody tests and one commit is right, above the
treatment threshold nobody tests and another is, in between one tests. They are read from the bands of belief (see
`bands`), for the tests that are left in the case.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from rhoplan.advice.bands import Band, bands
from rhoplan.advice.pathway import looked_for
from rhoplan.advice.words import RARE, one_in, percent, words_of
from rhoplan.agents.agent import BoundAgent
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP, Observable


@dataclass(frozen=True)
class Stretch:
    """Chances of the state looked for between which one stops with `commit`, or tests where that is None.

    tests: what is run first, from low chances to high ones.
    """

    lower: float
    upper: float
    commit: str | None
    tests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Thresholds:
    """about: the state looked for. stretches: from 0 to 1. fresh: whether no test was run or left out before.

    test, treat: the ends of where one tests; None where one never does. field: whose words are used (see `words`).
    """

    about: str
    stretches: tuple[Stretch, ...]
    fresh: bool
    field: str = ""

    @property
    def test(self) -> float | None:
        return min((one.lower for one in self.stretches if one.commit is None), default=None)

    @property
    def treat(self) -> float | None:
        return max((one.upper for one in self.stretches if one.commit is None), default=None)

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Each stretch in words: where it is, and what to do there."""
        test = words_of(self.field)["test"]
        return [
            (_where(one), f"{one.commit} without a {test}" if one.commit else f"{test} first") for one in self.stretches
        ]

    @property
    def words(self) -> str:
        """All of it in a sentence."""
        left = "" if self.fresh else f" (with the {words_of(self.field)['tests']} that are left)"
        told = "; ".join(f"{where}, {does}" for where, does in self.rows)
        return f"if the chance of {self.about} is {told}{left}"

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain objects, lists, text and numbers, ready for JSON."""
        told = {
            "about": self.about,
            "fresh": self.fresh,
            "field": self.field,
            "test": self.test,
            "treat": self.treat,
            "words": self.words,
        }
        stretches = [{**asdict(one), "tests": list(one.tests), "where": where, "do": do}
                     for one, (where, do) in zip(self.stretches, self.rows, strict=True)]  # fmt: skip
        return {**told, "stretches": stretches}


def thresholds(
    problem: POMDP, agent: BoundAgent, *, done: Observable = None, seconds: float = 20.0
) -> Thresholds | None:
    """The thresholds of a two-state model once `done` was done, nothing by default; None for other models.

    A stretch narrower than `bands` can tell apart may be missed.
    """
    here = problem if done is None else replace(problem, start=done)
    return merged(problem, bands(here, agent, seconds=seconds), fresh=here.start == Done())


def merged(problem: POMDP, found: tuple[Band, ...], *, fresh: bool = True) -> Thresholds | None:
    """Thresholds from bands that are known; tests side by side are one stretch. None where there are no bands."""
    stretches: list[Stretch] = []
    for band in found:
        last = stretches[-1] if stretches else None
        if last is not None and last.commit is None and not band.stops:
            stretches[-1] = replace(last, upper=band.upper, tests=(*last.tests, band.action))
        else:
            commit = band.action if band.stops else None
            stretches.append(Stretch(band.lower, band.upper, commit, () if band.stops else (band.action,)))
    field = problem.details.get("field") or ""
    return Thresholds(looked_for(problem), tuple(stretches), fresh, field) if stretches else None


def _where(one: Stretch) -> str:
    if one.lower <= 0:
        rare = f" ({one_in(one.upper)})" if one.upper < RARE else ""
        return "anything" if one.upper >= 1 else f"below {percent(one.upper)}{rare}"
    return f"above {percent(one.lower)}" if one.upper >= 1 else f"from {percent(one.lower)} to {percent(one.upper)}"
