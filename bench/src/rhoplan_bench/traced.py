"""A plugin of pytest that writes down which functions of the library each test calls, and how long it takes.

Tests that fail or are skipped are left out. What is known of other tests from an earlier run stays. The tests may be
shared out among workers (`-n`). From Python 3.12 on a function is told once per test, which takes hardly any time;
before, every call is looked at.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

OUT = os.environ.get("RHOPLAN_TRACED", "traced.json")
_calls: dict[str, set[str]] = defaultdict(set)
_seconds: dict[str, float] = {}
_left_out: set[str] = set()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    """Note the functions that are called while a test runs, its fixtures included."""
    begin = time.perf_counter()
    with _called() as seen:
        yield
    _seconds[item.nodeid] = time.perf_counter() - begin
    for code in seen:
        _, found, place = code.co_filename.rpartition("/rhoplan/")
        if found and "site-packages" not in code.co_filename:
            name = code.co_qualname.replace(".<locals>", "")
            _calls[f"rhoplan/{place}:{name}"].add(item.nodeid)


@contextmanager
def _called() -> Iterator[set[CodeType]]:
    """The functions that are called meanwhile, in every thread."""
    seen: set[CodeType] = set()
    if sys.version_info >= (3, 12):
        watch, tool = sys.monitoring, sys.monitoring.PROFILER_ID

        def once(code: CodeType, _: int) -> Any:
            seen.add(code)
            return watch.DISABLE

        watch.use_tool_id(tool, __name__)
        watch.register_callback(tool, watch.events.PY_START, once)
        watch.set_events(tool, watch.events.PY_START)
        watch.restart_events()
        yield seen
        watch.set_events(tool, watch.events.NO_EVENTS)
        watch.free_tool_id(tool)
        return

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code)

    sys.setprofile(note)
    threading.setprofile(note)
    yield seen
    sys.setprofile(None)
    threading.setprofile(None)


def pytest_runtest_logreport(report: Any) -> None:
    if not report.passed:
        _left_out.add(report.nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker has seen."""
    told = getattr(node, "workeroutput", {}).get("traced")
    if told is not None:
        _seconds.update(told["seconds"])
        for name, tests in told["calls"].items():
            _calls[name].update(tests)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: Any) -> None:
    if hasattr(session.config, "workeroutput"):  # a worker: whoever shares out the tests writes for all
        told = {"calls": {name: sorted(tests) for name, tests in _calls.items()}, "seconds": _seconds}
        session.config.workeroutput["traced"] = told
        return
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
