"""What a request may hold is part of what version 1 of the API promises: fields, defaults and limits stay.

`promised.json` has them, one line per field with the requests that have it so. Who changes one on purpose writes the
file anew: `python tests/app/test_promised.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")

from rhoplan.app.serve.app import create_app

PROMISED = Path(__file__).with_name("promised.json")
WORDS = {"title", "description", "example", "examples"}
"""What may be said better at any time."""


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


if __name__ == "__main__":
    rows = [dict(zip(("field", "is", "of"), (*json.loads(text), of), strict=True)) for text, of in requests().items()]
    PROMISED.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
