"""Files that models are saved to: only those that `serve` was given, and new ones in a folder that it was given.

A name never becomes a path: names that the server was started with have one, and a new name is checked to be the name
of a file and nothing more. The old text is kept beside the file under a name of its own, and the new one replaces it
in one step. What a server that was killed had begun to write is removed when the next one starts.

No symbolic link is followed: neither one that has the name of a file, nor one that has come to be part of the path to
it since the server started.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rhoplan.app.serve.sources import check_name
from rhoplan.errors import ProblemError
from rhoplan.files import sweep, write_bytes

WRITTEN = (".yaml", ".yml")
"""Endings of files that a model can be saved to; what is saved is YAML."""

NEW_MODE = 0o644
"""Who may read a new file."""

MOST_KEPT = 1000
"""Old texts that are kept of one file."""


@dataclass(frozen=True)
class Saved:
    """What was written. backup: the name of the file that has the old text, None where there was none."""

    file: str
    backup: str | None


@dataclass
class Files:
    """The files of models by name, and the folder for new ones, None where there is none."""

    paths: dict[str, Path] = field(default_factory=dict)
    folder: Path | None = None

    @classmethod
    def of(cls, paths: Mapping[str, Path], folder: Path | None = None) -> Files:
        """Files that can be saved to, among those that were opened. Where their folders are is settled now."""
        written = {name: path for name, path in paths.items() if path.suffix.lower() in WRITTEN}
        real = {name: path.parent.resolve() / path.name for name, path in written.items()}
        return cls(real, None if folder is None else folder.resolve())

    def remove_begun(self) -> None:
        """Remove what servers that were killed had begun to write to these files, and to the folder."""
        for path in self.paths.values():
            sweep(path.parent, _written_for(re.escape(path.name)))
        if self.folder is not None:
            sweep(self.folder, _written_for(rf".+(?i:{'|'.join(map(re.escape, WRITTEN))})"))

    @property
    def folder_name(self) -> str | None:
        return None if self.folder is None else self.folder.name

    def file_of(self, name: str) -> str | None:
        """The file, without its folder, that the model called `name` came from."""
        return self.paths[name].name if name in self.paths else None

    def save(self, name: str, text: str) -> Saved:
        """Write `text` to the file of the model called `name`; a new one goes into the folder."""
        known = name in self.paths
        path = self.paths[name] if known else self._new(name)
        if path.parent.resolve() != path.parent:
            raise ProblemError(
                "the folder has become a link, which is not followed: download the model instead", field=("name",)
            )
        backup, mode = None, NEW_MODE
        try:
            data, old = text.encode(), None
            if os.path.lexists(path):
                old, mode = _read(path)
            if old == data:
                return Saved(path.name, None)
            if old is not None:
                backup = _free(path)
                write_bytes(backup, old, mode, follow=False, new=True)  # who may not read the file may not read this
            write_bytes(path, data, mode, follow=False, new=old is None)
        except UnicodeEncodeError:
            raise ProblemError(
                "a model must be whole characters to be saved; this has half of one", field=("text",)
            ) from None
        except FileExistsError:
            raise _taken(path) from None
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ProblemError(f"'{path.name}' could not be written: {why}; download it instead") from None
        self.paths[name] = path
        return Saved(path.name, backup.name if backup else None)

    def _new(self, name: str) -> Path:
        if self.folder is None:
            raise ProblemError(
                f"'{name}' came from no file, and no folder is served to save it in: download it, or start "
                "rhoplan serve FOLDER, with --save where others can reach it",
                field=("name",),
            )
        check_name(name)
        path = self.folder / f"{name}.yaml"
        if os.path.lexists(path):  # also a link that leads nowhere
            raise _taken(path)
        return path


def _taken(path: Path) -> ProblemError:
    return ProblemError(f"the folder has a file '{path.name}' already: choose another name", field=("name",))


def _read(path: Path) -> tuple[bytes, int]:
    """What stands in a file, and who may read it; a link is refused."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ProblemError(
            f"'{path.name}' is a link or no plain file, which is not saved to: download the model instead",
            field=("name",),
        )
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:
        return file.read(), stat.S_IMODE(os.fstat(handle).st_mode)


def _written_for(files: str) -> Callable[[str], bool]:
    """Whether a name is that of one of `files`, a pattern of names, or of an old text that is kept of it (`_free`)."""
    pattern = re.compile(rf"(?:{files})(?:(?:\.[0-9]+)?\.bak)?", re.DOTALL)
    return lambda name: pattern.fullmatch(name) is not None


def _free(path: Path) -> Path:
    """A name beside `path` that no file has: NAME.yaml.bak, then NAME.yaml.2.bak and so on."""
    for number in range(1, MOST_KEPT + 1):
        found = path.with_name(f"{path.name}.bak" if number == 1 else f"{path.name}.{number}.bak")
        if not os.path.lexists(found):
            return found
    raise ProblemError(f"{MOST_KEPT} old texts of '{path.name}' are kept already: take some away")
