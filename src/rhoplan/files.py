"""Result files: CSV rows whose floats read back exactly, written under a temporary name and renamed.

Who is killed meanwhile leaves a temporary file. Whoever lives holds a lock on theirs, so the next one who writes the
same file can tell, and removes what is left.
"""

from __future__ import annotations

import csv
import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well; otherwise nothing changes.

    What is a link is followed. A device or a pipe is written to, and never replaced.
    """
    if path.exists() and not path.is_file():
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder) / path.name
            yield temporary
            path.write_bytes(temporary.read_bytes())
        return
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    handle, temporary = _begin(path)
    try:
        yield temporary
        temporary.chmod(mode)
        temporary.replace(path)
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


_UNFINISHED = "being-written"


def _begin(path: Path) -> tuple[int, Path]:
    """A new file beside `path`, and the open handle that holds its lock."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-{_UNFINISHED}-", suffix=path.suffix)
        _locked(handle)
        if os.name == "nt" or os.fstat(handle).st_nlink:  # nobody swept it away before it was locked
            return handle, Path(name)
        os.close(handle)


def _sweep(path: Path) -> None:
    """Remove what was begun to be written to `path` by those who have ended."""
    begun = re.compile(rf"\.{re.escape(path.stem)}-{_UNFINISHED}-\w+{re.escape(path.suffix)}")
    for name in filter(begun.fullmatch, os.listdir(path.parent)):
        with suppress(OSError), (path.parent / name).open("rb") as left:
            if _locked(left.fileno()):
                (path.parent / name).unlink()


def _locked(handle: int) -> bool:
    """Whether nobody else held the file's lock, which is held from now on; no where the system has no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
    with replacing(path, mode) as temporary:
        temporary.write_bytes(text.encode())
