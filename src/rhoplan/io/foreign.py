"""What the readers of files share: getting what is in them, and what tables may hold."""

from __future__ import annotations

from pathlib import Path

from rhoplan.errors import ModelFileError

LARGEST_FILE = 200_000_000
"""Bytes that a file of others may have; RockSample[7,8] with every state written out takes some twenty million."""

MOST_NUMBERS = 60_000_000
"""Numbers that one table of a problem may hold: half a gigabyte."""


def read_data(path: Path | str, *, what: str, largest: int) -> bytes:
    """What is in the file at `path`, called `what`; ModelFileError where it cannot be read or is too large."""
    file, path = str(path), Path(path)
    try:
        if path.exists() and not path.is_file():
            raise ModelFileError(f"{what} must be a regular file; this is not", file=file)
        size = path.stat().st_size
        if size > largest:
            raise ModelFileError(
                f"{what} may have {largest:,} bytes at most; this one has {size / 1e6:.1f} MB", file=file
            )
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"the file cannot be read: {error.strerror or error}", file=file) from None


def read_text(path: Path | str) -> str:
    """The text of the problem file of others at `path`."""
    data = read_data(path, what="a problem file", largest=LARGEST_FILE)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")  # names and comments of the nineties


def check_size(what: str, numbers: int, *, file: str, line: int | None = None) -> None:
    """Raise ModelFileError where a table of `numbers` would not fit."""
    if numbers > MOST_NUMBERS:
        raise ModelFileError(
            f"{what} may hold {MOST_NUMBERS:,} numbers at most; it would hold {numbers:,}", file=file, line=line
        )
