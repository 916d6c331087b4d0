"""A plugin of pytest that writes down which functions of the library each test calls, and how long it takes.

Tests that fail or are skipped are left out. What is known of other tests from an earlier run stays.
"""

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
_left_out: set[str] = set()


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


def pytest_runtest_logreport(report: Any) -> None:
    if not report.passed:
        _left_out.add(report.nodeid)


def pytest_sessionfinish() -> None:
    path = Path(OUT)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"calls": {}, "seconds": {}}
    for test in _left_out:
        _seconds.pop(test, None)
    run = _seconds.keys() | _left_out
    calls = {name: {test for test in tests if test not in run} for name, tests in kept["calls"].items()}
    for name, tests in _calls.items():
        calls[name] = calls.get(name, set()) | (tests - _left_out)
    seconds = {test: spent for test, spent in kept["seconds"].items() if test not in run} | _seconds
    told = {"calls": {name: sorted(tests) for name, tests in sorted(calls.items()) if tests}, "seconds": seconds}
    path.write_text(json.dumps(told), encoding="utf-8")
