"""Who is asked, in which lane, and which replies are given again: the desk between the addresses and the workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")

from rhoplan.advice.case import Adviser
from rhoplan.app.serve import app as desks
from rhoplan.app.serve import replying, tasks
from rhoplan.app.serve.app import BRISK, QUICK, SLOW, Desk
from rhoplan.app.serve.refusals import Reply, refusal, success
from rhoplan.app.serve.settings import Settings
from rhoplan.app.serve.sources import Source, find_source
from rhoplan.app.serve.worker import Job, Shelf

TIGER, WORKED = Source("tiger"), Source("chest-pain")


class Asked:
    """A desk whose workers do nothing. jobs: what they were asked, and whether in the slow lane."""

    def __init__(self, *, reply: Reply | None = None, **settings: Any) -> None:
        self.desk, self.reply = Desk(Settings(**settings), []), reply
        self.jobs: list[tuple[Job, float, bool]] = []
        self.desk.pool.run = self.run  # type: ignore[method-assign,assignment]

    async def run(self, job: Job, *, seconds: float, slow: bool, late: Callable[[Reply], None]) -> Reply:
        self.jobs.append((job, seconds, slow))
        self.late = late
        return self.reply or success({"weight": job.request.get("weight")})

    def __call__(self, task: str, source: Source = TIGER, **request: Any) -> Reply:
        return asyncio.run(self.desk.ask(task, source, request))

    def is_new(self, task: str, **request: Any) -> bool:
        """Whether a worker is asked, instead of giving the reply of before."""
        before = len(self.jobs)
        self(task, **request)
        return len(self.jobs) > before

    def is_slow(self, task: str, source: Source = TIGER, **request: Any) -> bool:
        self(task, source, **request)
        return self.jobs[-1][2]


def test_replies_are_kept_while_they_fit_and_the_longest_unused_goes_first() -> None:
    asked = Asked()
    asked("advise", weight=1.25)
    one = asked.desk._size
    asked("advise", weight=2.25)
    asked("advise", weight=3.25)
    assert asked.desk._size == 3 * one

    asked = Asked(reply_bytes=2 * one)
    assert [asked.is_new("advise", weight=weight) for weight in (1.25, 2.25, 1.25)] == [True, True, False]
    assert asked.is_new("advise", weight=3.25)  # instead of 2.25, which nobody asked for since
    assert not asked.is_new("advise", weight=1.25)
    assert asked.is_new("advise", weight=2.25)
    assert asked.desk._size == 2 * one

    asked = Asked(reply_bytes=2 * one - 1)
    assert [asked.is_new("advise", weight=weight) for weight in (1.25, 2.25, 1.25)] == [True, True, True]


def test_a_reply_that_comes_when_its_client_has_gone_is_kept_as_any_other() -> None:
    asked = Asked(reply=refusal(503, None, "later", code="busy"))
    assert [asked.is_new("advise", weight=1.25) for _ in range(2)] == [True, True]
    asked.late(refusal(503, None, "later", code="busy"))
    assert asked.is_new("advise", weight=1.25)
    asked.late(success({"weight": 1.25}))
    assert asked("advise", weight=1.25) == success({"weight": 1.25})
    assert asked.is_new("advise", weight=1.25, time=1.0)
    asked.late(success({"weight": 1.25}))
    assert asked.is_new("advise", weight=1.25, time=1.0), "what depends on the clock is worked out each time"


def test_a_reply_that_cannot_fit_is_not_kept() -> None:
    asked = Asked(reply_bytes=10)
    assert [asked.is_new("advise") for _ in range(2)] == [True, True]
    assert asked.desk._size == 0


def test_only_the_same_request_has_the_same_reply() -> None:
    asked = Asked()
    assert asked.is_new("advise", weight=1.0)
    assert not asked.is_new("advise", weight=1.0)
    assert not asked.is_new("advise", weight=1.0, timeout=None)
    assert asked.is_new("decide", weight=1.0)
    assert asked.is_new("advise", weight=1.0, timeout=3.0)
    assert asked.is_new("advise", weight=1.0, time=0.1)
    assert asked.is_new("advise", weight=1.0, time=0.1), "what takes a time of its own differs each time"
    assert all(asked.is_new("solve") for _ in range(2))


def test_refusals_are_not_given_again() -> None:
    asked = Asked(reply=refusal(413, None, "too large", code="too-large"))
    assert all(asked.is_new("advise") for _ in range(2))


def test_a_request_may_take_less_time_than_the_server_allows_but_not_more() -> None:
    asked = Asked(seconds=20.0, memory=1000)
    for timeout, given in ((None, 20.0), (3.0, 3.0), (20.0, 20.0), (50.0, 20.0)):
        asked("solve", timeout=timeout)
        job, seconds, _ = asked.jobs[-1]
        assert (seconds, job.request["seconds"], job.request["memory"]) == (given, given, 500.0)


def test_advice_takes_half_of_the_time_that_work_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is for what comes beside it; together they end before the limit does."""
    given: list[float] = []

    class Noted(Adviser):
        def advice(self, **settings: Any) -> Any:
            given.append(settings["seconds"])
            return super().advice(**settings)

    monkeypatch.setattr(tasks, "Adviser", Noted)
    asked = tasks.Asked(TIGER, {"agent": "efe", "seconds": 8.0, "memory": 1e8}, Shelf(10_000))
    assert asked.advice(asked.problem, asked.key, asked.agent)["do"] == "listen"
    assert given == [asked.seconds / 2]
    assert 0 < asked.seconds < 8


def test_what_may_take_long_leaves_a_worker_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known tasks, changed models with their flips, and whatever nobody has seen to be quick."""
    now, lasts = [0.0], [BRISK]

    def monotonic() -> float:
        now[0] += lasts[0]
        return now[0]

    monkeypatch.setattr(desks, "time", SimpleNamespace(monotonic=monotonic))
    asked = Asked(reply_bytes=0)
    assert all(asked.is_slow(task, source) for task in SLOW for source in (TIGER, WORKED))
    assert asked.is_slow("what-if", WORKED, flips=True)
    assert not asked.is_slow("what-if", WORKED, flips=False)
    assert not asked.is_slow("decide", WORKED)
    assert asked.is_slow("decide", WORKED, horizon=9)
    assert all(asked.is_slow("decide") for _ in range(2))
    lasts[0] = BRISK / 2
    assert [asked.is_slow("decide") for _ in range(2)] == [True, False]
    assert not asked.is_slow("decide", weight=2.0)
    assert asked.is_slow("decide", horizon=3)
    assert asked.is_slow("advise")
    lasts[0] = BRISK
    assert not any(asked.is_slow(task) for task in QUICK for _ in range(2))
    sent = find_source({"name": WORKED.name, "states": ["a", "b"]}, asked.desk.library)
    assert asked.is_slow("decide", sent), "a model that was sent is no worked one, whatever its name"


def test_few_kinds_are_remembered_to_be_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "time", SimpleNamespace(monotonic=lambda: 0.0))
    monkeypatch.setattr(desks, "MOST_BRISK", 2)
    asked = Asked(reply_bytes=0)
    assert [asked.is_slow("decide", horizon=horizon) for horizon in (1, 2, 1)] == [True, True, False]
    for horizon in range(9):
        asked("decide", horizon=horizon)
        assert len(asked.desk._brisk) <= 2


def test_a_model_is_known_by_its_digest_under_its_name() -> None:
    asked = Asked(reply=success({"digest": "abc"}))
    for name, digest, known in (("tiger", "abc", True), ("tiger", "abd", False), ("no-such-model", "abc", False)):
        assert asyncio.run(asked.desk.knows(name, digest)) is known
    asked.reply = refusal(413, None, "too large", code="too-large")
    assert not asyncio.run(asked.desk.knows("chest-pain", "abc"))


def test_a_model_in_a_request_has_its_own_name_or_none() -> None:
    library = Asked().desk.library
    for name, label in (("mine", "mine"), ("", "model"), (5, "model"), (None, "model")):
        assert find_source({"name": name}, library).name == label
    assert find_source({}, library).name == "model"


def test_a_client_has_gone_when_it_says_so_and_not_before() -> None:
    said = ["http.request", "http.request", "http.disconnect", "http.request"]

    async def receive() -> dict[str, str]:
        return {"type": said.pop(0)}

    asyncio.run(replying.disconnected(SimpleNamespace(receive=receive)))  # type: ignore[arg-type]
    assert said == ["http.request"]
