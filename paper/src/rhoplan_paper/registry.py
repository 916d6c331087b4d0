"""The one registry: studies, measures and claims, each registered where it stands, and told in the paper's order.

A module of a folder below registers what it holds when it is imported: `add_table(...)`, `add_text(...)`,
`add_figure(...)`, `@measure`, `@claim("id")`.
The registry imports the folder when it is first asked, so a new table, figure or claim touches no list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

from rhoplan.errors import RhoplanError
from rhoplan_paper.context import Context
from rhoplan_paper.published import published, quotes_of
from rhoplan_paper.study import Build, Draw, Finding, Study
from rhoplan_paper.words import printed

Thing = TypeVar("Thing")
Check = Callable[[Context], Finding]
Measure = Callable[..., Mapping[str, Any]]


class Registry(Generic[Thing]):
    """Things by name, from the modules of some folders of this package."""

    def __init__(self, what: str, *folders: str) -> None:
        self.what = what
        self.folders = folders
        self._found: dict[str, Thing] = {}
        self._complete = False

    def add(self, name: str, thing: Thing) -> Thing:
        """Register `thing`; a second one of the same name is an error."""
        if name in self._found:
            raise ValueError(f"there are two of {self.what} '{name}'; give one of them another name")
        self._found[name] = thing
        return thing

    def every(self) -> dict[str, Thing]:
        """All of them by name, as they were registered."""
        if not self._complete:
            for folder in self.folders:
                package = import_module(f"rhoplan_paper.{folder}")
                for module in iter_modules(package.__path__):
                    import_module(f"{package.__name__}.{module.name}")
            self._complete = True
        return dict(self._found)


STUDIES: Registry[Study] = Registry("study", "tables", "told", "figures", "claims")
MEASURES: Registry[Measure] = Registry("measure", "measures")
CLAIMS: Registry[Check] = Registry("claim", "claims")


def add_study(study: Study) -> None:
    """Register a study that is made in no usual way."""
    STUDIES.add(study.id, study)


def add_table(id: str, title: str, build: Build, seconds: tuple[float, float]) -> None:
    """Register the study of one of the paper's tables."""
    about = published().tables[id]
    add_study(Study(id, "table", title, about.gist, about.place, build, None, seconds))


def add_text(id: str, title: str, build: Build, seconds: tuple[float, float], place: str = "") -> None:
    """Register the study of a part of the paper's text, at the place of its first number where none is given."""
    place = place or quotes_of(id)[0].place
    add_study(Study(id, "text", title, published().parts[id].gist, place, build, None, seconds))


def add_figure(id: str, title: str, place: str, build: Build, draw: Draw, seconds: float) -> None:
    """Register the study of one of the paper's figures."""
    part = published().parts.get(id)
    add_study(Study(id, "figure", title, part.gist if part else "", place, build, draw, (seconds, seconds)))


def claim(id: str) -> Callable[[Check], Check]:
    """Register the function that checks the paper's claim `id`."""
    if id not in published().claims:
        raise ValueError(f"the paper has no claim '{id}'")
    return lambda check: CLAIMS.add(id, wraps(check)(lambda context: on_claim(id, check(context))))


def on_claim(id: str, finding: Finding) -> Finding:
    """`finding` with the paper's words: the claim, where it stands, and what the paper prints where it does not say."""
    about = published().claims[id]
    shown = finding.published or printed(*about.shows)
    return replace(finding, id=id, place=about.place, claim=about.gist, published=shown)


MeasureFunction = TypeVar("MeasureFunction", bound=Measure)


def measure(function: MeasureFunction) -> MeasureFunction:
    """Register a function that jobs can name: plain values in, plain values out."""
    MEASURES.add(function.__name__, function)
    return function


def studies() -> dict[str, Study]:
    """Every study by id, in the paper's order."""
    return {study.id: study for study in sorted(STUDIES.every().values(), key=_place)}


def claims() -> dict[str, Check]:
    """What checks every claim, by id, in the paper's order."""
    found = CLAIMS.every()
    return {id: found[id] for id in published().claims if id in found}


def choose(ids: tuple[str, ...]) -> list[Study]:
    """The studies that `ids` name, all of them for none; an error names what is unknown."""
    every = studies()
    unknown = [name for name in ids if name not in every]
    if unknown:
        raise RhoplanError(f"there is no study '{unknown[0]}'; `rhoplan reproduce --list` shows all {len(every)}")
    return [every[name] for name in dict.fromkeys(ids)] if ids else list(every.values())


KINDS = ("table", "figure", "text", "claims")


def _place(study: Study) -> tuple[Any, ...]:
    """Sections by number, then appendices; within one tables, figures, text; what stands throughout comes last."""
    section = study.section.split()[0]
    known = re.fullmatch(r"[\d.]+|[A-Z]", section)
    numbers = tuple(int(part) for part in section.split(".")) if section[0].isdigit() else ()
    number = re.match(r"\w+ (\d+),", study.place)
    return not known, not numbers, numbers, section, KINDS.index(study.kind), int(number[1]) if number else 0
