"""A plugin of pytest that writes down which functions of the library each test calls, and how long it takes."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

OUT = os.environ.get("RHOPLAN_TRACED", "traced.json")
_calls: dict[str, set[str]] = defaultdict(set)
_seconds: dict[str, float] = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    """Note the functions that are called while a test runs, its fixtures included."""
    seen: set[Any] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code)

    begin = time.perf_counter()
    sys.setprofile(note)
    threading.setprofile(note)
    yield
    sys.setprofile(None)
    threading.setprofile(None)
    _seconds[item.nodeid] = time.perf_counter() - begin
    for code in seen:
        _, found, place = code.co_filename.rpartition("/rhoplan/")
        if found and "site-packages" not in code.co_filename:
            name = getattr(code, "co_qualname", code.co_name).replace(".<locals>", "")
            _calls[f"rhoplan/{place}:{name}"].add(item.nodeid)


def pytest_sessionfinish() -> None:
    kept = {"calls": {name: sorted(tests) for name, tests in _calls.items()}, "seconds": _seconds}
    Path(OUT).write_text(json.dumps(kept), encoding="utf-8")
