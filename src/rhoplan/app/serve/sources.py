"""What a request may mean by "problem", and the models kept in memory: no name ever becomes a path.

A Source is all a worker needs to build a problem: a registered or shipped name, or the text of a model.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rhoplan.errors import ProblemError
from rhoplan.problems.registry import FILE_ENDINGS, PROBLEMS, WORKED_MODELS

LONGEST_NAME = 60
NAME = re.compile(r"\w[\w .-]*")
"""What an uploaded model may be called: letters, digits, spaces, points and dashes."""


@dataclass(frozen=True)
class Source:
    """Where a problem comes from. text: a model as `language` says; None where `name` is registered or shipped."""

    name: str
    text: str | None = None
    language: str = "yaml"

    @property
    def key(self) -> str:
        """The same for the same problem, different for different ones."""
        if self.text is None:
            return self.name
        content = f"{self.name}\0{self.language}\0{self.text}".encode("utf-8", "surrogatepass")
        return "text:" + hashlib.sha256(content).hexdigest()


NO_MODEL = Source("tiger")
"""Stands for the problem in jobs that are about none."""


class UnknownModel(ProblemError):
    """A name that no model has."""

    code = "unknown-model"


@dataclass
class Kept:
    """A model in memory. opened: it came with the command that started the server, and never expires."""

    source: Source
    used: float
    opened: bool = False

    @property
    def size(self) -> int:
        return len(self.source.text or "")


class Library:
    """The models that were uploaded or opened, by name; the longest unused ones go when there are too many."""

    def __init__(
        self, *, most: int, most_bytes: int, expiry: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.most, self.most_bytes, self.expiry, self.clock = most, most_bytes, expiry, clock
        self._kept: OrderedDict[str, Kept] = OrderedDict()

    def keep(self, source: Source, *, opened: bool = False) -> None:
        """Keep the model of `source`, instead of one of the same name that was uploaded before."""
        self.drop_old()
        if source.name in self._kept and self._kept[source.name].opened:
            raise ProblemError(
                f"a model called '{source.name}' was opened with the server: choose another name", field=("name",)
            )
        self._kept.pop(source.name, None)
        self._kept[source.name] = Kept(source, self.clock(), opened)
        loose = [name for name, kept in self._kept.items() if not kept.opened and name != source.name]
        while loose and (
            len(loose) >= self.most
            or sum(kept.size for kept in self._kept.values() if not kept.opened) > self.most_bytes
        ):
            del self._kept[loose.pop(0)]

    def find(self, name: str, *, use: bool = True) -> Source | None:
        """The model called `name`, which counts as used now unless `use` says no."""
        self.drop_old()
        if name not in self._kept:
            return None
        kept = self._kept[name]
        if use:
            kept.used = self.clock()
            self._kept.move_to_end(name)
        return kept.source

    def renew(self, source: Source) -> None:
        """Keep `source`, which stands in a file by now, like a model that was opened with the server."""
        self._kept[source.name] = Kept(source, self.clock(), opened=True)

    def remove(self, name: str) -> bool:
        """Forget an uploaded model; False where there is none."""
        if name not in self._kept or self._kept[name].opened:
            return False
        del self._kept[name]
        return True

    def forget(self, name: str) -> None:
        """Forget a model, however it came."""
        self._kept.pop(name, None)

    def listed(self) -> list[dict[str, Any]]:
        """Name and kind of every model kept, and for how many seconds it will be if nobody uses it."""
        self.drop_old()
        now = self.clock()
        return [
            {
                "name": name,
                "opened": kept.opened,
                "expires_in": None if kept.opened else round(kept.used + self.expiry - now),
            }
            for name, kept in sorted(self._kept.items())
        ]

    def drop_old(self) -> None:
        """Forget what nobody has used for too long; this happens with every other call, too."""
        limit = self.clock() - self.expiry
        for name in [name for name, kept in self._kept.items() if not kept.opened and kept.used < limit]:
            del self._kept[name]


def find_source(problem: str | dict[str, Any], library: Library, field: str = "problem") -> Source:
    """The source that `field` of a request means: a name, or a whole model as an object."""
    if isinstance(problem, dict):
        name = problem.get("name")
        label = name if isinstance(name, str) and name else "model"
        return Source(label, json.dumps(problem), "json")
    kept = library.find(problem)
    if kept is not None:
        return kept
    name, colon, _ = problem.partition(":")
    if problem.lower().endswith(FILE_ENDINGS) or "/" in name or "\\" in name or "\0" in problem:
        raise UnknownModel(
            "a problem must be a registered name, a shipped or uploaded model, or a model as an object; "
            "the server opens no files",
            field=(field,),
        )
    if name in PROBLEMS or (name in WORKED_MODELS and not colon):
        return Source(problem)
    told = f"there is no problem '{_shown(name)}': GET /api/v1/models lists those there are"
    raise UnknownModel(told, field=(field,))


def check_name(name: str) -> None:
    """Raise ProblemError unless an uploaded model may be called `name`."""
    if len(name) > LONGEST_NAME or not NAME.fullmatch(name) or name.lower().endswith(FILE_ENDINGS):
        raise ProblemError(
            f"a model's name must have letters, digits, spaces, points and dashes, {LONGEST_NAME} at most, and not end "
            f"like a file; it is '{_shown(name)}'",
            field=("name",),
        )
    if name in PROBLEMS or name in WORKED_MODELS:
        raise ProblemError(f"'{name}' is a model that ships with rhoplan: choose another name", field=("name",))


def _shown(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text[:40])
