"""Result files: CSV rows whose floats read back exactly, written under a temporary name and renamed."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well; otherwise nothing changes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
