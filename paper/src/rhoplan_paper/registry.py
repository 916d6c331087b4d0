"""The one registry: studies, measures and claims, each registered where it stands, and told in the paper's order.

A module of a folder below registers what it holds when it is imported: `study("id", build, draw)`, `@measure`,
`@claim("id")`; titles of studies are data (`studies.json`), words of claims too (`published.json`, and `reasons.json`
for what was found). The registry imports the folders when it is first asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, wraps
from importlib import import_module
from importlib.resources import files
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

from rhoplan.errors import RhoplanError
from rhoplan_paper.context import Context
from rhoplan_paper.published import published, quotes_of
from rhoplan_paper.study import Build, Draw, Finding, Found, Headline, Study
from rhoplan_paper.words import printed, tell

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


def study(id: str, build: Build, draw: Draw | None = None) -> None:
    """Register what builds study `id` of `studies.json`, and what draws it where it is a figure.

    Its sentence and its place are those of the paper's table or part where the file has none of its own.
    """
    told, paper = titles()[id], published()
    about = paper.tables.get(id) or paper.parts.get(id)
    place = told.get("place") or (paper.tables[id] if id in paper.tables else quotes_of(id)[0]).place
    gist = told.get("about") or (about.gist if about else "")
    quick, full = told["seconds"]
    STUDIES.add(id, Study(id, told["kind"], told["title"], gist, place, build, draw, (quick, full)))


@cache
def titles() -> dict[str, dict[str, Any]]:
    """What studies are called, of what kind they are and how long they take, by id in the paper's order."""
    found: dict[str, dict[str, Any]] = json.loads(files("rhoplan_paper").joinpath("studies.json").read_text("utf-8"))
    return found


def claim(id: str) -> Callable[[Callable[[Context], Found]], Check]:
    """Register the function that checks the paper's claim `id`."""
    if id not in published().claims:
        raise ValueError(f"the paper has no claim '{id}'")
    return lambda check: CLAIMS.add(id, wraps(check)(lambda context: on_claim(id, check(context))))


def on_claim(id: str, found: Found) -> Finding:
    """What was found about claim `id` in words: the paper's, and ours with the values filled in.

    What the paper prints are the numbers that the claim `shows`, where our words do not say.
    """
    about, verdict = published().claims[id], found.verdict
    told = tell(reasons()[found.words or id], found.values)
    shown = told.get("published") or printed(*about.shows)
    numbers = (shown, told.get("simulated", ""), told.get("exact", ""))
    first = Headline(told["number"], told["sentence"]) if "number" in told else None
    return Finding(
        id, about.place, about.gist, *numbers, verdict.unit, verdict.word, told["reason"], verdict.parts, headline=first
    )


@cache
def reasons() -> dict[str, dict[str, str]]:
    """Our sentences about each claim, with names where values go: the reason, and where there are any what the paper
    prints, simulated and exact numbers, and the number and sentence of a headline.
    """
    found: dict[str, dict[str, str]] = json.loads(files("rhoplan_paper").joinpath("reasons.json").read_text("utf-8"))
    return found


MeasureFunction = TypeVar("MeasureFunction", bound=Measure)


def measure(function: MeasureFunction) -> MeasureFunction:
    """Register a function that jobs can name: plain values in, plain values out."""
    MEASURES.add(function.__name__, function)
    return function


def studies() -> dict[str, Study]:
    """Every study by id, in the paper's order."""
    found = STUDIES.every()
    return {id: found[id] for id in titles()}


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
