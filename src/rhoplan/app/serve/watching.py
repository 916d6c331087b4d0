"""Models whose files change while the server runs.

They are read again, new ones in a served folder are found, and those whose file is gone are forgotten. A text that is
no sound model stays what it is: requests about it say what is wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

from rhoplan.app.serve.sources import Library, Source, check_name
from rhoplan.errors import RhoplanError
from rhoplan.io.foreign import read_text
from rhoplan.io.formats import FORMATS

EVERY = 1.0
"""Seconds between two looks."""

Mark = tuple[int, int]


class Watch:
    """Looks after the files of models by name, and after a folder of them."""

    def __init__(self, paths: Mapping[str, Path] | None = None, folder: Path | None = None) -> None:
        self.folder = folder
        named = {path.stem: path for path in models_in(folder)} | dict(
            paths or {}
        )  # also what was left out at the start
        self._seen = {name: (path, _mark(path)) for name, path in named.items()}

    def look(self, library: Library) -> list[str]:
        """Bring `library` up to date; the names of models that changed, came or went."""
        known = {path for path, _ in self._seen.values()}
        fresh = [path for path in models_in(self.folder) if path not in known and path.stem not in self._seen]
        self._seen |= {path.stem: (path, None) for path in fresh if _may_be_called(path.stem)}
        changed = []
        for name, (path, mark) in list(self._seen.items()):
            now = _mark(path)
            if now == mark:
                continue
            self._seen[name] = path, now
            if now is None:
                library.forget(name)
            else:
                try:
                    text = read_text(path)
                except RhoplanError:
                    continue
                library.renew(Source(name, text, FORMATS[path.suffix.lower()]))
            changed.append(name)
        return changed

    async def go_on(self, library: Library) -> None:
        """Look again and again, until it is cancelled."""
        while self._seen or self.folder:
            await asyncio.sleep(EVERY)
            self.look(library)


def models_in(folder: Path | None) -> Iterator[Path]:
    """The model files of `folder` by name, not of folders inside it."""
    try:
        entries = sorted(folder.iterdir()) if folder is not None else []
    except OSError:
        return
    for path in entries:
        if path.suffix.lower() in FORMATS and not path.name.startswith(".") and path.is_file():
            yield path


def _mark(path: Path) -> Mark | None:
    """What tells a text from a later one; None where there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _may_be_called(name: str) -> bool:
    try:
        check_name(name)
    except RhoplanError:
        return False
    return True
