"""What the readers of files share: getting what is in them, and what tables may hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rhoplan.errors import ModelFileError
from rhoplan.io.tree import not_printable
from rhoplan.model.pomdp import Array

LARGEST_FILE = 200_000_000
"""Bytes that a file of others may have; RockSample[7,8] with every state written out takes some twenty million."""

MOST_NUMBERS = 60_000_000
"""Numbers that one table of a problem may hold: half a gigabyte."""


UNWRITTEN = 4_000_000
"""Numbers that a file may stand for without writing them (`*`, `uniform`, a count of states): a second of work."""

FACTORED = 100_000_000
"""The same of a file that writes states as factors, which is there to be short, and is gone through by arrays:
RockSample[11,11], with a quarter of a million states, stands for 77 million in 340,000 characters: five
seconds."""

PER_CHARACTER = 4
"""How many more for every character that it has."""

PER_ACTION = 500
"""What making an action costs, counted in such numbers."""

PER_CELL = 8
"""Cells of an array that are written in the time that one such number takes."""

LONGEST_COUNT = 9
"""Digits of a number that counts something."""


class Budget:
    """How many numbers a file may stand for: a short text must not make for long work."""

    def __init__(self, text: str, file: str, unwritten: int = UNWRITTEN) -> None:
        self.most = unwritten + PER_CHARACTER * len(text)
        self._left: float = self.most
        self._file = file

    def spend(self, numbers: float, line: int | None = None) -> None:
        """Count `numbers` that must be gone through; ModelFileError where that makes too many."""
        self._left -= numbers
        if self._left < 0:
            raise ModelFileError(
                f"a problem file of this length may stand for {self.most:,} numbers at most; this one stands for more: "
                "write fewer states and actions, or fewer lines that are about all of them",
                file=self._file,
                line=line,
                code="too-many-numbers",
            )

    @property
    def left(self) -> float:
        """How many more it may be."""
        return self._left

    def close(self) -> None:
        """The file is read: what comes now, somebody asks for."""
        self._left = math.inf


def counted(word: str) -> int | None:
    """The whole number that `word` writes, where it is one that counts something."""
    return int(word) if len(word) <= LONGEST_COUNT and word.isascii() and word.isdigit() else None


def number_of(word: str) -> float:
    """The number that `word` writes as files do; NaN where it writes none, or one without end."""
    try:
        found = float(word)
    except ValueError:
        return math.nan
    return found if math.isfinite(found) and word.isascii() and "_" not in word else math.nan


def numbers_of(words: Sequence[str]) -> Array | None:
    """The numbers that all `words` write; None where one does not."""
    together = "".join(words)
    try:
        found = np.array(words, dtype=float)
    except ValueError:
        return None
    return found if np.isfinite(found).all() and together.isascii() and "_" not in together else None


def lines_of(text: str) -> list[str]:
    """The lines of `text`, ended by what ends a line in a file, not by all that could end one on a page."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def bare_lines(text: str, comment: str, *, file: str) -> Iterator[str]:
    """The lines of `text` without what follows `comment`; ModelFileError if a word of them cannot be printed."""
    for number, line in enumerate(lines_of(text), 1):
        bare = line.partition(comment)[0]
        if not (bare.isascii() and bare.isprintable()):
            check_words(bare.split(), file=file, line=number)
        yield bare


def read_data(path: Path | str, *, what: str, largest: int) -> bytes:
    """What is in the file at `path`, called `what`; ModelFileError where it cannot be read or is too large."""
    file, path = str(path), Path(path)
    try:
        if path.exists() and not path.is_file():
            raise ModelFileError(f"{what} must be a regular file; this is not", file=file, code="file-expected")
        size = path.stat().st_size
        if size > largest:
            raise ModelFileError(
                f"{what} may have {largest:,} bytes at most; this one has {size / 1e6:.1f} MB",
                file=file,
                code="file-too-large",
            )
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(
            f"the file cannot be read: {error.strerror or error}", file=file, code="file-unreadable"
        ) from None


def read_text(path: Path | str) -> str:
    """The text of the problem file of others at `path`."""
    data = read_data(path, what="a problem file", largest=LARGEST_FILE)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")  # names and comments of the nineties


def check_words(words: Sequence[str], *, file: str, line: int) -> None:
    """Raise ModelFileError if one of the `words` of a line cannot be printed."""
    for word in words if not_printable("a word", "".join(words)) else ():
        if wrong := not_printable("a word", word):
            raise ModelFileError(wrong, file=file, line=line, code="not-printable")


def check_size(what: str, numbers: int, *, file: str, line: int | None = None) -> None:
    """Raise ModelFileError where a table of `numbers` would not fit."""
    if numbers > MOST_NUMBERS:
        raise ModelFileError(
            f"{what} may hold {MOST_NUMBERS:,} numbers at most; it would hold {numbers:,}",
            file=file,
            line=line,
            code="too-many-numbers",
        )
