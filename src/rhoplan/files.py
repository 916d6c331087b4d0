"""Result files: written under a temporary name and renamed, so that a file is there whole or not at all.

A writer holds a lock on its temporary file. The next writer of the same file removes those without a lock, which killed
processes have left; `sweep` does so for a whole folder.
"""

from __future__ import annotations

import csv
import io
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

try:
    import fcntl
except ModuleNotFoundError:  # Windows: nothing is removed there
    fcntl = None  # type: ignore[assignment]

_UNFINISHED = "being-written"
_BEGUN = re.compile(rf"\.(?P<stem>.+)-{_UNFINISHED}-[a-z0-9_]{{8}}(?P<suffix>\.[^.]*)?", re.DOTALL)
"""Name of the temporary file that is renamed to stem and suffix; its eight characters are those of `tempfile`."""


@contextmanager
def replacing(path: Path, mode: int = 0o644, *, follow: bool = True, new: bool = False) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well; otherwise nothing changes.

    follow: write to where a link points, and into a device or pipe, which is never replaced. Without it the name
    `path` itself is replaced, whatever it is. new: raise FileExistsError if anything has that name, even a link.
    """
    if follow and path.exists() and not path.is_file():
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder) / path.name
            yield temporary
            path.write_bytes(temporary.read_bytes())
        return
    path = path.resolve() if follow else path
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path.parent, lambda name: name == path.name)
    handle, temporary = _temporary(path)
    try:
        yield temporary
        temporary.chmod(mode)
        if new:
            _name_new(temporary, path)
        else:
            temporary.replace(path)
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


def sweep(folder: Path, wanted: Callable[[str], bool]) -> None:
    """Remove what killed processes left of the files of `folder` whose names are `wanted`.

    What is no plain file, cannot be removed or is being written stays; so does everything where there are no locks.
    """
    entries: list[os.DirEntry[str]] = []
    with suppress(OSError):
        entries = list(os.scandir(folder)) if fcntl else []
    for entry in entries:
        begun = _BEGUN.fullmatch(entry.name)
        if begun and wanted(begun["stem"] + (begun["suffix"] or "")) and entry.is_file(follow_symlinks=False):
            with suppress(OSError), open(entry.path, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError if its writer lives
                os.unlink(entry.path)


def begin_and_drop(path: Path) -> None:
    """Raise OSError if `path` cannot be replaced, whatever rights say. Nothing is left or changed."""
    if not path.exists() or path.is_file():
        handle, temporary = _temporary(path)
        os.close(handle)
        temporary.unlink()


def _temporary(path: Path) -> tuple[int, Path]:
    """A new file beside `path`, and an open handle that holds its lock."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-{_UNFINISHED}-", suffix=path.suffix)
        with suppress(OSError):  # some file systems have no locks
            if fcntl:
                fcntl.flock(handle, fcntl.LOCK_EX)
        if not fcntl or os.fstat(handle).st_nlink:  # nobody removed it before it was locked
            return handle, Path(name)
        os.close(handle)


def _name_new(temporary: Path, path: Path) -> None:
    """Give a whole file the name `path`, which nothing may have yet."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # the file system has no hard links
        path.open("xb").close()
        temporary.replace(path)


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """`rows` as CSV with a header; floats are written so that they read back exactly."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: repr(value) if isinstance(value, float) else value for key, value in row.items()})
    write_text(path, text.getvalue())


def write_text(path: Path, text: str, mode: int = 0o644) -> None:
    write_bytes(path, text.encode(), mode)


def write_bytes(path: Path, data: bytes, mode: int = 0o644, *, follow: bool = True, new: bool = False) -> None:
    """Write a file whole or not at all; `follow` and `new` as `replacing` has them."""
    with replacing(path, mode, follow=follow, new=new) as temporary:
        temporary.write_bytes(data)
