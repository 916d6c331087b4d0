"""Solving for the API: bounds come in time, whatever reading takes, and what cannot be stopped says what would help."""

from __future__ import annotations

import json
import math
import time
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
pytest.importorskip("numba", reason="solving general problems needs numba")

from rhoplan.app.serve import plan_tasks, schema, tasks
from rhoplan.app.serve.refusals import over_memory, over_time
from rhoplan.app.serve.sources import Source
from rhoplan.app.serve.worker import Shelf
from rhoplan.planning import clock
from rhoplan.planning.certified.solution import SolveResult


def asked(name: str, begin: float | None = None, seconds: float = 600.0, **request: Any) -> tasks.Asked:
    """A request to solve, on which work began at `begin`: now, if nobody says."""
    said = schema.Solve.model_validate({"problem": name, **request}).model_dump()
    told = {**said, "seconds": seconds, "memory": 1e9}
    return tasks.Asked(Source(name), told, Shelf(10_000), begin=time.monotonic() if begin is None else begin)


@pytest.mark.parametrize("name", ["rocksample:n=3,k=1", "navigation", "inspection:n=2", "diagnosis:n=8"])
@pytest.mark.parametrize("check", [False, True])
def test_whose_time_is_up_gets_the_bounds_there_are(name: str, check: bool) -> None:
    found = plan_tasks.solution(asked(name, begin=-math.inf, check=check))
    assert (found["stopped_by"], found["converged"]) == ("time", False)
    assert found["lower"] <= found["upper"]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the solver is told, and whether its clock stands still while machine code is loaded."""
    calls: list[dict[str, Any]] = []

    def noted(problem: Any, **settings: Any) -> SolveResult:
        calls.append({**settings, "counts": clock.COMPILING.counts})
        work = {"nodes": 1, "symmetries": 1, "rounds": 1, "seconds": 0.0, "method": "points"}
        score = dict.fromkeys(("reward", "tests", "success", "truncated"), math.nan)
        return SolveResult(lower=0.0, upper=1.0, gap=0.1, stopped_by="time", first="wait", **score, **work)

    monkeypatch.setattr(plan_tasks, "solve", noted)
    return calls


def test_reading_and_loading_take_their_part_of_the_time(
    given: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "time", SimpleNamespace(monotonic=lambda: 103.0))
    for limit, check, left in ((10.0, False, 4.0), (10.0, True, 2.0), (2.0, False, 0.0)):
        plan_tasks.solution(asked("tiger", begin=100.0, seconds=limit, check=check))
        assert given[-1]["seconds"] == pytest.approx(left)
        assert given[-1]["counts"]
    plan_tasks.solution(asked("tiger", begin=100.0, seconds=10.0, time_limit=0.5))
    assert given[-1]["seconds"] == 0.5
    assert not clock.COMPILING.counts


@pytest.mark.parametrize(
    ("request_", "method"),
    [
        ({}, None),
        ({"check": True}, "points"),
        ({"check": True, "horizon": 3}, None),
        ({"method": "grids"}, "grids"),
        ({"check": True, "method": "reveal"}, "reveal"),
    ],
)
def test_a_check_takes_a_method_that_can_be_checked(
    given: list[dict[str, Any]], request_: dict[str, Any], method: str | None
) -> None:
    plan_tasks.solution(asked("tiger", **request_))
    assert (given[-1]["method"], given[-1]["check"]) == (method, request_.get("check", False))


@pytest.mark.parametrize(
    ("task", "request_", "remedy"),
    [
        ("check", {}, "make the problem smaller"),
        ("model", {}, "make the problem smaller"),
        ("solve", {"horizon": None, "check": False}, "make the problem smaller"),
        ("solve", {"horizon": None, "check": True}, "leave out check or make the problem smaller"),
        ("solve", {"horizon": 9, "check": False}, "shorten the horizon or make the problem smaller"),
        ("decide", {"horizon": None}, "shorten the horizon or make the problem smaller"),
        ("learn", {}, "use fewer folds, or fewer rows and columns"),
    ],
)
def test_limits_say_what_would_help(task: str, request_: dict[str, Any], remedy: str) -> None:
    for status, body in (over_time(2.0, task, request_), over_memory(10**9, task, request_)):
        assert status == 413
        assert json.loads(body)["error"]["message"].endswith(f", the limit; {remedy}")
