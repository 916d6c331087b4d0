"""What a study is, and what comes out of one: a table, findings with verdicts, a figure.

A study is data: an id, where it stands in the paper, and a function that builds its outcome from the results of jobs
(`context`). `published | simulated | exact` of every number goes through one record, `Compared`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from rhoplan_paper.context import Context

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIRMED = "confirmed"
NO_DIFFERENCE = "within noise, but the claimed difference is not there"
ONLY_BITS = "holds only in bits"
ONLY_NATS = "holds only in nats"
IN_PART = "holds in part"
"""Of a claim that says several things: its core holds, some of the rest does not."""

CONTRADICTED = "contradicted"
UNCHECKED = "cannot be checked as stated"
SETTING = "setting"
"""What a computation is given, not what comes out: the printed number is the one that is used here."""

REPEATED = "told again"
"""A number that the paper prints elsewhere, where it is judged."""

VERDICTS = (CONFIRMED, IN_PART, NO_DIFFERENCE, ONLY_BITS, ONLY_NATS, CONTRADICTED, UNCHECKED, SETTING, REPEATED)

NOT_JUDGED = (SETTING, REPEATED)
"""Verdicts on printed numbers that are no results, or not new ones: they are counted apart."""


@dataclass(frozen=True)
class Part:
    """One of several things that a claim says. holds: `yes`, `no`, `in bits` or `in nats`. core: all rests on it."""

    words: str
    holds: str
    core: bool = False

    def __str__(self) -> str:
        return f"{self.words}: {self.holds}{' (the core)' if self.core else ''}"


@dataclass(frozen=True)
class Verdict:
    """One of VERDICTS, the unit of information it belongs to (`either`; empty where none matters), and the parts."""

    word: str
    unit: str = ""
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        if self.word not in VERDICTS:
            raise ValueError(f"'{self.word}' is no verdict")


@dataclass(frozen=True)
class Headline:
    """A finding that matters in one number and one sentence, for the first screen of the report."""

    number: str
    sentence: str


@dataclass(frozen=True)
class Finding:
    """One line of verdicts.csv. Numbers are text as they should be read; empty where there is none."""

    id: str
    place: str
    claim: str
    published: str
    simulated: str
    exact: str
    unit: str
    verdict: str
    reason: str
    parts: tuple[Part, ...] = ()
    headline: Headline | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"'{self.verdict}' is no verdict")


@dataclass(frozen=True)
class Found:
    """What a claim function gives: the verdict, and the values that the claim's sentences name (`reasons.json`).

    words: the entry of that file, where it is not the claim's own.
    """

    verdict: Verdict
    words: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Sheet:
    """A table of the report: headings and rows of text; `notes` say what is ours."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def in_unit(self, unit: str) -> Sheet:
        """Without the columns of the other unit of information; all of it for `both`."""
        other = {"nats": "per bit", "bits": "per nat"}.get(unit)
        kept = [place for place, heading in enumerate(self.headings) if not other or other not in heading]
        headings = tuple(self.headings[place] for place in kept)
        return Sheet(headings, tuple(tuple(row[place] for place in kept) for row in self.rows), self.notes)


@dataclass(frozen=True)
class Outcome:
    """What a study found. data: numbers behind the figure, for `draw`."""

    sheet: Sheet | None = None
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)


Build: TypeAlias = Callable[[Context], Outcome]
Drawing: TypeAlias = "Figure"
Draw: TypeAlias = "Callable[[Outcome], Figure]"


@dataclass(frozen=True)
class Study:
    """A table, a figure or a result told in the text, with a title for people and a sentence about it.

    seconds: what it takes on two cores, quick and full, about.
    """

    id: str
    kind: str
    title: str
    about: str
    place: str
    build: Build
    draw: Draw | None = None
    seconds: tuple[float, float] = (5.0, 60.0)

    @property
    def section(self) -> str:
        """The section of the paper it belongs to: `5.1 Core environments`."""
        words = self.place.split(", ")
        return words[1] if words[0].startswith(("Table", "Figure")) else words[0]

    @property
    def command(self) -> str:
        return f"rhoplan reproduce {self.id}"
