"""Plugins: what installed distributions add by entry points, and tables of built-in things that they extend.

Entry points are read from the files that installers write. `importlib.metadata` does that too, but importing it takes
longer than everything else in `rhoplan --help`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from rhoplan.errors import AgentError

Row = TypeVar("Row")


@dataclass(frozen=True)
class Deferred:
    """Something that is imported when it is first used. where: `module:attribute`."""

    where: str

    def load(self) -> Any:
        """The thing itself."""
        module, _, attribute = self.where.partition(":")
        return getattr(import_module(module), attribute)


class Registry(MutableMapping[str, Row]):
    """Things of one kind by name: those built in, those of entry points of `group`, and those registered at run time.

    row: makes a row of a name and of what an entry point refers to. Entry points are imported when they are first used;
    a built-in name cannot be replaced by one.
    """

    def __init__(self, group: str, built_in: Mapping[str, Row], row: Callable[[str, Any], Row]) -> None:
        self.kind, self.built_in, self._row = group, tuple(built_in), row
        added = {name: Deferred(where) for name, where in declared(f"rhoplan.{group}", sys.path).items()}
        self._rows: dict[str, Row | Deferred] = {**added, **built_in}
        self._rows = {name: self._rows[name] for name in (*built_in, *(n for n in added if n not in built_in))}

    def add(self, name: str, thing: Any) -> None:
        """Add `thing`, in the form that an entry point refers to."""
        if name in self.built_in:
            raise AgentError(f"'{name}' is built in; register it under another name", field=("name",))
        self._rows[name] = self._row(name, thing)

    def __getitem__(self, name: str) -> Row:
        found = self._rows[name]
        if isinstance(found, Deferred):
            where = found.where
            try:
                found = self._row(name, found.load())
            except Exception as error:
                raise AgentError(
                    f"'{name}' of {where} cannot be loaded: install its package again "
                    f"({type(error).__name__}: {error})",
                    field=("name",),
                ) from error
            self._rows[name] = found
        return found

    def __setitem__(self, name: str, row: Row) -> None:
        self._rows[name] = row

    def __delitem__(self, name: str) -> None:
        del self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def declared(group: str, folders: Iterable[str]) -> dict[str, str]:
    """The entry points of `group` in distributions installed in `folders`: `module:attribute` by name.

    Of two with one name the first folder's counts. Not covered: distributions inside archives.
    """
    found: dict[str, str] = {}
    for folder in dict.fromkeys(folders):
        for name, where in _lines(group, folder or os.curdir):
            found.setdefault(name, where)
    return found


def _lines(group: str, folder: str) -> Iterator[tuple[str, str]]:
    try:
        inside = sorted(os.listdir(folder))
    except OSError:
        return
    for name in inside:
        if not name.endswith((".dist-info", ".egg-info")):
            continue
        try:
            with open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8") as file:
                text = file.read()
        except OSError:
            continue
        section = ""
        for line in map(str.strip, text.splitlines() if group in text else ()):
            if line.startswith("["):
                section = line.strip("[]").strip()
            elif section == group and "=" in line and not line.startswith(("#", ";")):
                word, _, where = line.partition("=")
                yield word.strip(), where.partition("[")[0].strip()
