"""Where a page comes from: who made it, when, of which model, by which command; and what it must not be taken for."""

from __future__ import annotations

from dataclasses import dataclass

from rhoplan.advice.journal import digest
from rhoplan.model.pomdp import POMDP
from rhoplan.version import __version__

DISCLAIMER = (
    "This is what a model says, and it is no better than its numbers. It helps whoever is responsible for the "
    "decision to make it; it does not make it for them."
)


@dataclass(frozen=True)
class Origin:
    """What a page tells of itself. command: what makes it again; date: as it is printed. Empty where nobody said."""

    title: str
    digest: str
    author: str = ""
    date: str = ""
    command: str = ""

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What there is to tell, each with its name."""
        known = [("Author", self.author), ("Date", self.date), ("Model digest (sha-256)", self.digest)]
        known += [("Made by", f"rhoplan {__version__}"), ("Made again by", self.command)]
        return [(name, value) for name, value in known if value]


def origin_of(problem: POMDP, *, author: str = "", date: str = "", command: str = "") -> Origin:
    """Where a page on `problem` comes from; the author is the file's where nobody is named."""
    info = problem.details.get("info")
    written = str(info.get("author", "")) if isinstance(info, dict) else ""
    name = problem.name.replace("-", " ").replace("_", " ").strip() or problem.name
    return Origin(name[:1].upper() + name[1:], digest(problem), author or written, date, command)
