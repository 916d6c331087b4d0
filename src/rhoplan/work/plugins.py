"""Entry points of installed distributions, and registries of named things that they extend.

Entry points are read from the files that installers write. `importlib.metadata` does that too, but importing it takes
longer than everything else in `rhoplan --help`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from configparser import RawConfigParser
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from rhoplan.errors import AgentError

Row = TypeVar("Row")


class Registry(MutableMapping[str, Row]):
    """Things of one kind by name: those built in, those of entry points of `group`, and those registered at run time.

    row: makes a row of a name and of what an entry point refers to; no row is a str. Entry points are imported when
    they are first used. None replaces a built-in name.
    """

    def __init__(self, group: str, built_in: Mapping[str, Row], row: Callable[[str, Any], Row]) -> None:
        self.built_in, self._row = tuple(built_in), row
        self._rows: dict[str, Row | str] = {**built_in}
        for name, where in declared(f"rhoplan.{group}", sys.path).items():
            self._rows.setdefault(name, where)

    def add(self, name: str, thing: Any) -> None:
        """Add `thing`, in the form that an entry point refers to."""
        if name in self.built_in:
            raise AgentError(f"'{name}' is built in; register it under another name", field=("name",))
        self._rows[name] = self._row(name, thing)

    def __getitem__(self, name: str) -> Row:
        found = self._rows[name]
        if isinstance(found, str):
            try:
                self._rows[name] = found = self._row(name, loaded(found))
            except Exception as error:
                raise AgentError(
                    f"'{name}' of {found} cannot be loaded: install its package again "
                    f"({type(error).__name__}: {error})",
                    field=("name",),
                ) from error
        return found

    def __setitem__(self, name: str, row: Row) -> None:
        self._rows[name] = row

    def __delitem__(self, name: str) -> None:
        del self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def loaded(where: str) -> Any:
    """The object at `where`, which is `module:attribute`."""
    module, _, attribute = where.partition(":")
    return getattr(import_module(module), attribute)


def declared(group: str, folders: Iterable[str]) -> dict[str, str]:
    """The entry points of `group` in distributions installed in `folders`: `module:attribute` by name.

    Of two with one name the first folder's counts. Not covered: distributions inside archives.
    """
    found: dict[str, str] = {}
    for folder in dict.fromkeys(folders):
        for path in sorted(Path(folder).glob("*-info/entry_points.txt")):
            if group in (text := path.read_text(encoding="utf-8")):
                sections = RawConfigParser(delimiters="=", strict=False)
                sections.optionxform = str  # type: ignore[method-assign, assignment]
                sections.read_string(text)
                for name, where in sections.items(group) if sections.has_section(group) else ():
                    found.setdefault(name, where.partition("[")[0].strip())
    return found
