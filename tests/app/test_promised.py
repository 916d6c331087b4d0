"""What a request may hold is part of what version 1 of the API promises: fields, defaults and limits stay.

`promised.json` has them, one line per field with the requests that have it so. Who changes one on purpose writes the
file anew: `python tests/app/test_promised.py`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")

from bridge import Settings, create_app

PROMISED = Path(__file__).with_name("promised.json")
WORDS = {"title", "description", "example", "examples"}
"""What may be said better at any time."""


ALLOWED = {
    "seconds": 20.0,
    "patience": 30.0,
    "nodes": 1000000,
    "memory": 2000000000,
    "request_bytes": 2000000,
    "uploads": 50,
    "upload_bytes": 20000000,
    "expiry": 43200.0,
    "table_bytes": 20000000,
    "tables": 5,
    "table_expiry": 3600.0,
    "learn_seconds": 900.0,
    "reply_bytes": 32000000,
    "header_bytes": 32000,
    "send_seconds": 30.0,
    "connections": 250,
    "held_bytes": 100000000,
    "hosts": ("127.0.0.1", "localhost", "[::1]", "::1"),
    "key": None,
}
"""Settings of a server where nobody says, but for its processes."""


def requests() -> dict[str, list[str]]:
    """What each field of a request may be, without words about it, and the requests that have it so."""
    written = create_app().openapi()
    schemas = written["components"]["schemas"]
    found: dict[str, list[str]] = {}
    asked: set[str] = set()
    for path, methods in written["paths"].items():
        for method, what in methods.items():
            for one in what.get("parameters", ()):
                found.setdefault(line(one["name"], one), []).append(f"{method} {path}")
            asked |= set(named(what.get("requestBody", {}), schemas))
    for name in sorted(asked):
        needed = schemas[name].get("required", ())
        for field, said in schemas[name].get("properties", {}).items():
            found.setdefault(line(field, {"needed": field in needed, **said}), []).append(name)
        rest = {key: value for key, value in schemas[name].items() if key not in ("properties", "required")}
        found.setdefault(line("", rest), []).append(name)
    return {text: found[text] for text in sorted(found)}


def line(field: str, said: Any) -> str:
    return json.dumps([field, without_words(said)], sort_keys=True)


def without_words(said: Any) -> Any:
    if isinstance(said, dict):
        return {key: without_words(value) for key, value in said.items() if key not in WORDS or isinstance(value, dict)}
    return [without_words(one) for one in said] if isinstance(said, list) else said


def named(said: Any, schemas: dict[str, Any], seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """The schemas that `said` refers to, and those that these do."""
    if isinstance(said, list):
        for one in said:
            yield from named(one, schemas, seen)
    elif isinstance(said, dict):
        name = str(said.get("$ref", "")).rpartition("/")[2]
        if name and name not in seen:
            yield name
            yield from named(schemas[name], schemas, seen | {name})
        for one in said.values():
            yield from named(one, schemas, seen)


def test_requests_are_as_promised() -> None:
    rows = json.loads(PROMISED.read_text(encoding="utf-8"))
    promised, found = {line(row["field"], row["is"]): row["of"] for row in rows}, requests()
    told = "; if that is meant, it breaks who relies on it: say so in the changelog, and write promised.json anew"
    assert sorted(promised.keys() - found.keys()) == [], f"no longer there{told}"
    assert sorted(found.keys() - promised.keys()) == [], f"new{told}"
    assert found == promised


def test_what_a_server_allows_where_nobody_says() -> None:
    told = {field.name: getattr(Settings(), field.name) for field in dataclasses.fields(Settings)}
    assert 3 <= told.pop("workers") <= 8
    assert told == ALLOWED


if __name__ == "__main__":
    rows = [dict(zip(("field", "is", "of"), (*json.loads(text), of), strict=True)) for text, of in requests().items()]
    PROMISED.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
