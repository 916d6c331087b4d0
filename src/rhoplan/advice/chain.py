"""A log whose lines hold on to each other: every line has the hash of what it says and that of the line before it.

Changing, leaving out, doubling, adding or moving a line breaks the chain where it happened. Beside the log stands its
seal, a small file with the number of lines and the last hash: it tells when lines at the end are gone. Whoever can
write both can write another history; the chain tells accidents and quiet changes, it is no signature.

An append that fails leaves the log as it was. Before a line is written the seal says which one comes, so that one who
is killed in the middle leaves either the line or none, and the next append finds out which.
"""

from __future__ import annotations

import hashlib
import json
import os
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

from rhoplan.errors import ModelFileError
from rhoplan.files import write_text

Record = dict[str, Any]

HASH, PREVIOUS, TIME, BY = "sha256", "previous", "time", "by"
"""Of a line: its hash, that of the line before, when it was written, and by whom where somebody says so."""

NEXT, SIZE = "next", "size"
"""Of a seal while a line is added: the hash of that line, and the bytes of the log without it."""


@dataclass(frozen=True)
class Line:
    """A record of a log and where it stands; `record` is None where the text is none, `fault` says why.

    begin: the characters of the log in front of it.
    """

    number: int
    record: Record | None
    fault: str = ""
    begin: int = 0


def hash_of(record: Record) -> str:
    """The hash of everything that a record says, but for its own hash."""
    said = {name: value for name, value in record.items() if name != HASH}
    text = json.dumps(said, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sealed(record: Record, *, previous: str = "", by: str | None = None, now: datetime | None = None) -> Record:
    """`record` with the time, who wrote it, the hash of the line before, and its own."""
    when = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    whole = {**record, TIME: when, **({BY: by} if by else {}), PREVIOUS: previous}
    return {**whole, HASH: hash_of(whole)}


def as_line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def append(path: Path, record: Record, *, by: str | None = None) -> None:
    """Add `record` to the log at `path`, and renew its seal; where that fails, nothing has changed.

    The new line holds on to what the seal says the last line was: where lines at the end are gone, that stays visible.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b", buffering=0) as handle, _alone(handle):  # what is not written must not be written later
        known = read_seal(path)
        seal = _settled(handle, known) if known and (known["lines"] or _adds(known)) else _seal_now(handle)
        size = handle.seek(0, os.SEEK_END)
        line = sealed(record, previous=seal[HASH], by=by)
        ends = size == 0 or _last_byte(handle, size) == b"\n"
        write_text(seal_of(path), as_line({**seal, NEXT: line[HASH], SIZE: size}))
        try:
            left = (b"" if ends else b"\n") + as_line(line).encode("utf-8", "surrogatepass")
            while left:
                left = left[handle.write(left) :]
            os.fsync(handle.fileno())
            write_text(seal_of(path), as_line({"lines": seal["lines"] + 1, HASH: line[HASH]}))
        except OSError:
            with suppress(OSError):
                handle.truncate(size)
                write_text(seal_of(path), as_line(seal)) if known else seal_of(path).unlink()
            raise


def _settled(handle: FileIO, seal: Record) -> Record:
    """The seal without what it says of a line to come, whose append has ended: it is there, or what is there of it
    is taken away."""
    rest = {"lines": seal["lines"], HASH: seal[HASH]}
    if not _adds(seal):
        return rest
    handle.seek(seal[SIZE])
    left = handle.read()
    if _came([line.record for line in read_lines(left.decode("utf-8", "replace"))], seal):
        return {"lines": seal["lines"] + 1, HASH: seal[NEXT]}
    if left and b"\n" not in left.removeprefix(b"\n"):  # half a line; whole ones are somebody's
        handle.truncate(seal[SIZE])
    return rest


def _adds(seal: Record) -> bool:
    return isinstance(seal.get(NEXT), str) and isinstance(seal.get(SIZE), int) and seal[SIZE] >= 0


def _came(records: list[Record | None], seal: Record) -> bool:
    """Whether the last of `records` is the line that `seal` says comes."""
    last = records[-1] if records else None
    return _adds(seal) and last is not None and last.get(HASH) == seal[NEXT] == hash_of(last)


def _seal_now(handle: FileIO) -> Record:
    """The seal of a log without one: of its last line, or of all its text where that line has no hash."""
    handle.seek(0)
    before = handle.read()
    lines = list(read_lines(before.decode("utf-8-sig", "replace")))
    last = lines[-1].record if lines else None
    known = str(last[HASH]) if last is not None and HASH in last else ""
    return {"lines": len(lines), HASH: known or (hashlib.sha256(before).hexdigest() if lines else "")}


def _last_byte(handle: FileIO, size: int) -> bytes:
    handle.seek(size - 1)
    return handle.read(1)


def seal_of(path: Path) -> Path:
    """Where the seal of a log stands."""
    return path.with_name(path.name + ".seal")


def read_seal(path: Path) -> Record | None:
    """The seal of the log at `path`; None where there is none. One that is damaged is the seal of no lines."""
    try:
        found = json.loads(seal_of(path).read_bytes())
    except OSError:
        return None
    except (ValueError, RecursionError):
        found = None
    sound = isinstance(found, dict) and isinstance(found.get("lines"), int) and isinstance(found.get(HASH), str)
    return found if sound else {"lines": 0, HASH: ""}


def read_lines(text: str) -> Iterator[Line]:
    """The records in the text of a log; one may go over several lines, and text that is none ends with its line."""
    decoder, place, number = json.JSONDecoder(object_pairs_hook=_no_doubles), 0, 1
    while place < len(text):
        if text[place].isspace():
            number, place = number + (text[place] == "\n"), place + 1
            continue
        begin, first = place, number
        try:
            record, place = decoder.raw_decode(text, begin)
            fault = "" if isinstance(record, dict) else "it is no case"
        except (ValueError, RecursionError) as error:
            end = text.find("\n", begin)
            place = len(text) if end < 0 else end
            record, fault = None, str(error) if isinstance(error, _Doubled) else "it is damaged"
        number += text.count("\n", begin, place)
        yield Line(first, record if isinstance(record, dict) else None, fault, begin)


def faults(text: str, lines: list[Line], seal: Record | None) -> list[Record]:
    """What is wrong with the chain of the `lines` in a log's text: the case (None: of the log), its line, and what."""
    found: list[Record] = []
    previous: str | None = None  # not known: after damage, and before lines of versions that kept no chain
    chained = False
    for place, line in enumerate(lines, 1):
        record = line.record

        def tell(what: str, place: int = place, line: Line = line) -> None:
            found.append({"case": place, "line": line.number, "what": what})

        if record is None:
            tell(f"{line.fault}; it is left out")
            previous = None
            continue
        if HASH not in record:
            if chained:
                tell("it has no hash, and lines before it have")
            previous = None
            continue
        if record[HASH] != hash_of(record):
            tell("it was changed: what it says has another hash than it was written with")
        if not chained and place == 1 and record.get(PREVIOUS):
            tell("lines before it are missing")
        if not chained and place > 1 and record.get(PREVIOUS) not in _hashes(text[: line.begin]):
            tell("what stands before it, without a hash, is not what it was written after")
        if previous is not None and record.get(PREVIOUS) != previous:
            tell("it does not follow the line before it: one was left out, doubled, added or moved")
        previous, chained = str(record[HASH]), True
    if seal is not None and _came([line.record for line in lines], seal):
        seal = {"lines": seal["lines"] + 1, HASH: seal[NEXT]}
    if seal is not None and lines:
        last = next((line.record for line in reversed(lines) if line.record), {}) or {}
        gone = seal["lines"] - len(lines)
        if gone > 0:
            found.append(_whole(f"{gone} of {seal['lines']} lines that the seal counts are missing"))
        elif len(lines) > seal["lines"] or last.get(HASH) != seal[HASH]:
            found.append(_whole("the seal is not that of the last line: lines were added or changed"))
    return found


def _hashes(before: str) -> set[str]:
    """What `_seal_now` can have made of a log with this text; a mark in front, or a line's end, is no difference."""
    whole = before.encode("utf-8", "surrogatepass")
    return {hashlib.sha256(mark + text).hexdigest() for mark in (b"", BOM_UTF8) for text in (whole, whole[:-1])}


def _whole(what: str) -> Record:
    return {"case": None, "line": None, "what": what}


class _Doubled(ValueError):
    """A key that stands twice: readers would not agree on what the line says."""


def _no_doubles(pairs: list[tuple[str, Any]]) -> Record:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Doubled("a key stands twice in it")
    return found


@contextmanager
def _alone(handle: FileIO) -> Iterator[None]:
    """Nobody else appends meanwhile, where the system can say so."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        raise ModelFileError(f"the log cannot be locked: {error.strerror}", file=str(handle.name)) from None
    yield
