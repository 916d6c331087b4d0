"""The server's workers: a job survives the end of its worker, checks have a lane, and the pool ends at once."""

from __future__ import annotations

import asyncio
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")

from rhoplan.app.serve import pool as pools
from rhoplan.app.serve.pool import CHECK, Pool
from rhoplan.app.serve.refusals import Reply, success
from rhoplan.app.serve.settings import Settings
from rhoplan.app.serve.sources import Source
from rhoplan.app.serve.worker import Answer, Job, Shelf, answer
from rhoplan.errors import LimitError, RhoplanError
from rhoplan.parallel import begin_as_child
from serving import PATIENCE

MEMORY = 800_000_000
SETTINGS = Settings(workers=1, patience=PATIENCE, memory=MEMORY)


def does_as_told(connection: Connection, _: Settings) -> None:
    """A worker without an engine. The request has a folder to leave marks in, and how often the worker is to end."""
    begin_as_child(os.getppid())
    connection.send(None)
    while True:
        job: Job = connection.recv()
        marks = Path(job.request["marks"])
        (marks / f"{job.task}-{os.getpid()}").touch()
        if job.task == "wait":
            time.sleep(PATIENCE)
        if len(list(marks.iterdir())) <= job.request.get("ends", 0):
            if job.request.get("large"):
                held = mmap.mmap(-1, MEMORY)  # noqa: F841  (address space is what the limit is about)
                time.sleep(3 * pools.LOOK)
            os.kill(os.getpid(), signal.SIGKILL)
        connection.send(Answer(success({"task": job.task}), frozenset(), worn=False))


@pytest.mark.parametrize(
    ("error", "status", "worn"),
    [
        (LimitError("too many situations"), 413, False),
        (RhoplanError("no such test"), 422, False),
        (MemoryError(), 413, True),
        (ValueError("not a number"), 422, False),
        (KeyError("nobody thought of"), 500, True),
    ],
)
def test_a_worker_is_replaced_where_memory_ran_out_or_nobody_knows_what_happened(
    error: Exception, status: int, worn: bool
) -> None:
    def fails(job: Job, shelf: Shelf) -> None:
        raise error

    (told, _), replaced = answer(fails, Job("solve", Source("tiger"), {}), Shelf(SETTINGS.nodes), SETTINGS)
    assert (told, replaced) == (status, worn)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(pools, "work", does_as_told)

    def job(pool: Pool, task: str, **request: Any) -> Any:
        told = {"marks": str(tmp_path), **request}
        return pool.run(Job(task, Source("tiger"), told), seconds=PATIENCE, slow=True)

    return job


@contextmanager
def started() -> Iterator[Pool]:
    pool = Pool(SETTINGS)
    pool.start()
    try:
        yield pool
    finally:
        pool.stop()
        assert not any(worker.process.is_alive() for worker in pool._workers)


def ask(run: Any, task: str, **request: Any) -> Reply:
    async def asked() -> Reply:
        with started() as pool:
            reply: Reply = await run(pool, task, **request)
            return reply

    return asyncio.run(asked())


def test_a_job_whose_worker_was_killed_is_done_by_another(run: Any) -> None:
    assert ask(run, "plan", ends=1) == success({"task": "plan"})


@pytest.mark.parametrize(
    ("given_up", "closed", "tries"), [(False, False, pools.TRIES), (True, False, 1), (False, True, 1)]
)
def test_a_lost_job_is_begun_again_unless_nobody_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, given_up: bool, closed: bool, tries: int
) -> None:
    begun: list[str] = []

    def loses(self: pools.Worker, job: Job, *_: Any) -> Reply:
        begun.append(job.task)
        self.given_up, self.closed = given_up, closed
        raise pools.Lost

    monkeypatch.setattr(pools.Worker, "start", lambda self: None)
    monkeypatch.setattr(pools.Worker, "_call", loses)
    worker = pools.Worker(SETTINGS)
    status, _ = worker.call(Job("plan", Source("tiger"), {}), PATIENCE)
    assert (status, begun) == (503, ["plan"] * tries)


def test_a_lane_without_workers_gets_one_of_its_own(run: Any) -> None:
    async def workers() -> None:
        with started() as pool:
            before = list(pool._workers)
            fresh = pool._chosen([], "tiger")
            assert fresh not in before
            assert pool._workers == [*before, fresh]

    asyncio.run(workers())


def test_nobody_who_ends_waits_for_workers(run: Any) -> None:
    async def kinds() -> list[bool]:
        with started() as pool:
            await run(pool, "plan")
            return [worker.process.daemon for worker in pool._workers]

    found = asyncio.run(kinds())
    assert found
    assert all(found)


def test_workers_that_are_killed_are_not_said_to_need_memory(run: Any) -> None:
    status, told = ask(run, "plan", ends=100)
    assert status == 503
    assert b"memory" not in told


def test_a_worker_that_ends_at_its_memory_limit_is_said_to(run: Any) -> None:
    status, told = ask(run, "plan", ends=100, large=True)
    assert status == 413
    assert b"needs more memory than 0.8 GB" in told


def test_a_check_waits_for_no_plan(run: Any) -> None:
    """The worker is at slow work, and more is in line: eight checks are done meanwhile."""

    async def checks() -> list[Reply]:
        with started() as pool:
            slow = [asyncio.ensure_future(run(pool, "wait")) for _ in range(3)]
            await asyncio.sleep(0)
            found = await asyncio.gather(*(run(pool, CHECK) for _ in range(8)))
            assert not any(one.done() for one in slow)
            pool.stop()
            assert [status for status, _ in await asyncio.gather(*slow)] == [503, 503, 503]
            return list(found)

    assert asyncio.run(checks()) == [success({"task": CHECK})] * 8


def test_work_that_nobody_waits_for_is_not_begun_again(run: Any, tmp_path: Path) -> None:
    async def gone() -> None:
        with started() as pool:
            doing = asyncio.ensure_future(run(pool, "wait"))
            while not list(tmp_path.iterdir()):
                await asyncio.sleep(0.01)
            doing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await doing
            assert await run(pool, "plan") == success({"task": "plan"})

    asyncio.run(gone())
    assert sorted(mark.name.partition("-")[0] for mark in tmp_path.iterdir()) == ["plan", "wait"]


def test_quick_work_that_nobody_waits_for_is_done_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "work", does_as_told)

    async def gone() -> Reply:
        with started() as pool:
            told: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            job = Job("plan", Source("tiger"), {"marks": str(tmp_path)})
            doing = asyncio.ensure_future(pool.run(job, seconds=PATIENCE, slow=False, late=told.set_result))
            while not pool._workers[0].working:
                await asyncio.sleep(0)
            doing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await doing
            return await told

    assert asyncio.run(gone()) == success({"task": "plan"})


def test_a_worker_loads_nothing_that_only_the_server_needs() -> None:
    """Workers are started anew whenever one is ended, and whoever asks next waits for that."""
    code = "import sys, rhoplan.app.serve.tasks; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"fastapi", "pydantic", "starlette", "uvicorn", "numba", "scipy", "sklearn"} & set(loaded)
