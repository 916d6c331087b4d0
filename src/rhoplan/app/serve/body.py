"""JSON bodies, looked at before anybody reads them: bounded work, one meaning, and a sentence about what is wrong.

This process answers everybody, so what it reads must cost it little. Counting brackets and commas outside of strings
costs next to nothing; a body that has too many values is refused before it is parsed. A large model is one value: its
text. A key that stands twice in an object would mean one thing to one reader and another to the next.
"""

from __future__ import annotations

import json
from typing import Any

from rhoplan.app.serve.refusals import Reply, refusal

MOST_VALUES = 50_000
"""Keys and values in one body: a thousand cases of a dozen results; to read that many takes some tenths of a second."""

LONGEST_NUMBER = 400
"""Characters of a number; the largest that a machine number holds has 309 digits before the point."""


class _Fault(Exception):
    """What is wrong with a body that is JSON otherwise."""


def too_many_values() -> Reply:
    told = f"a body may have {MOST_VALUES:,} values at most; send a large model as text to /api/v1/models"
    return refusal(413, None, told, limit={"values": MOST_VALUES}, code="request-too-large")


def json_fault(data: bytes) -> Reply | None:
    """The refusal of a body that is not JSON as we take it; None where it is, or where there is none."""
    if not data:
        return None
    try:
        json.loads(data.decode(), object_pairs_hook=_once, parse_int=_integer, parse_float=_real)
    except json.JSONDecodeError as error:
        return refusal(422, None, f"the body is not JSON: {error.msg} at character {error.pos}", code="not-json")
    except UnicodeDecodeError as error:
        return refusal(
            422, None, f"the body is not JSON: it must be UTF-8, and is not at byte {error.start}", code="not-text"
        )
    except RecursionError:
        return refusal(
            422,
            None,
            "the body is nested too deeply; lists and objects may hold a few hundred levels",
            code="nested-too-deep",
        )
    except _Fault as error:
        return refusal(422, None, str(error), code="not-json")
    return None


def values(data: bytes) -> int:
    """How many keys and values a JSON text has, or nearly; of other texts some number. Linear, and quick.

    Without what is escaped, every quotation mark begins or ends a string; the pieces outside are every other one.
    """
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = data.count(b'"')
    if quotes > 2 * MOST_VALUES:
        return quotes // 2
    outside = b"".join(data.split(b'"')[::2])
    return sum(map(outside.count, (b",", b":", b"[", b"{")))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Fault(f"a key must stand once in an object: '{twice[:60]}' stands twice")
    return found


def _integer(text: str) -> int:
    return int(_short(text))


def _real(text: str) -> float:
    return float(_short(text))


def _short(text: str) -> str:
    if len(text) > LONGEST_NUMBER:
        raise _Fault(f"a number may have {LONGEST_NUMBER} characters at most; one has {len(text):,}")
    return text
