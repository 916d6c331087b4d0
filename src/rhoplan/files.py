"""Result files: CSV rows whose floats read back exactly, written under a temporary name and renamed.

Who is killed meanwhile leaves a temporary file. Whoever lives holds a lock on theirs, so the next one who writes the
same file can tell, and removes what is left; `sweep` does so for whoever looks after a folder.
"""

from __future__ import annotations

import csv
import io
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


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
    handle, temporary = _begin(path)
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


def _name_new(temporary: Path, path: Path) -> None:
    """Give a whole file the name `path`, which nothing may have yet."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # the file system has no hard links
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)))
        temporary.replace(path)


_UNFINISHED = "being-written"
_BEGUN = re.compile(rf"\.(?P<stem>.+)-{_UNFINISHED}-[a-z0-9_]{{8}}(?P<suffix>\.[^.]*)?", re.DOTALL)
"""What the file is called that is renamed to stem and suffix; its eight characters are those of `tempfile`."""


def sweep(folder: Path, wanted: Callable[[str], bool]) -> None:
    """Remove what those who have ended had begun to write to the files of `folder` whose names are `wanted`.

    What is no plain file, what somebody else owns and what a living process writes stay; and everything does where the
    system has no locks.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        begun = _BEGUN.fullmatch(name)
        if begun and wanted(begun["stem"] + (begun["suffix"] or "")):
            with suppress(OSError):
                _remove_left(folder / name)


def _remove_left(path: Path) -> None:
    """Remove a file that was begun, unless its writer lives."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        found = os.fstat(handle)
        is_ours = stat.S_ISREG(found.st_mode) and (os.name == "nt" or found.st_uid == os.geteuid())
        if is_ours and _locked(handle):
            path.unlink()
    finally:
        os.close(handle)


def _begin(path: Path) -> tuple[int, Path]:
    """A new file beside `path`, and the open handle that holds its lock."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-{_UNFINISHED}-", suffix=path.suffix)
        _locked(handle, wait=True)  # for one who is sweeping just now, and lets go after a moment
        if os.name == "nt" or os.fstat(handle).st_nlink:  # nobody swept it away before it was locked
            return handle, Path(name)
        os.close(handle)


def begin_and_drop(path: Path) -> None:
    """Raise OSError where `path` could not be replaced in the end: who may write everywhere cannot where the system
    keeps no files. Nothing is left, and what is there stays."""
    if not path.exists() or path.is_file():
        handle, temporary = _begin(path)
        os.close(handle)
        temporary.unlink()


def _locked(handle: int, *, wait: bool = False) -> bool:
    """Whether nobody else held the file's lock, which is held from now on; no where the system has no locks.

    wait: until nobody holds it.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


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
