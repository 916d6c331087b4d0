"""Doing jobs on this machine's cores or on a Dask cluster; results come as they are done.

`run` does one job; what all jobs need may be in it (a partial function): it is sent to each worker once. A worker that
dies takes nothing finished with it: its jobs are done again, on the cluster by Dask itself, here by a fresh pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, TypeVar

from rhoplan.errors import MissingExtra, RhoplanError
from rhoplan.work.processes import process_pool, quiet_start
from rhoplan.work.store import Job

TRIES = 3
"""How often a job is begun again after a worker died under it."""

ANSWERS_WITHIN = 20
"""Seconds in which the scheduler of a cluster must answer."""

J = TypeVar("J", bound=Job)
Outcome = dict[str, Any]


class WorkerLost(RhoplanError):
    """Workers kept dying under a job."""

    code = "worker-lost"


def on_this_machine(workers: int, run: Callable[[J], Outcome]) -> Callable[[list[J]], Iterator[tuple[J, Outcome]]]:
    """Execute jobs in `workers` processes, or in this one where there is one worker."""

    def execute(jobs: list[J]) -> Iterator[tuple[J, Outcome]]:
        if workers == 1:
            yield from ((one, run(one)) for one in jobs)
            return
        left, tries = dict.fromkeys(jobs), dict.fromkeys(jobs, 0)
        while left:
            try:
                for finished, outcome in _pooled(list(left), workers, run):
                    del left[finished]
                    yield finished, outcome
            except BrokenProcessPool:
                first = next(iter(left))
                tries[first] += 1
                if tries[first] >= TRIES:
                    raise WorkerLost(
                        f"a worker died {TRIES} times while {len(left)} jobs were left, such as {first}"
                    ) from None

    return execute


def _pooled(jobs: list[J], workers: int, run: Callable[[J], Outcome]) -> Iterator[tuple[J, Outcome]]:
    with process_pool(min(workers, len(jobs)), _start, run) as pool:
        with quiet_start():
            running: dict[Future[Outcome], J] = {pool.submit(_work, one): one for one in jobs}
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                outcome = future.result()
                yield running.pop(future), outcome


_run: Callable[[Any], Outcome] | None = None


def _start(run: Callable[[Any], Outcome]) -> None:
    global _run
    _run = run


def _work(job: Any) -> Outcome:
    assert _run is not None
    return _run(job)


def _do(run: Callable[[Any], Outcome], job: Any) -> Outcome:
    return run(job)


def on_cluster(address: str, run: Callable[[J], Outcome]) -> Callable[[list[J]], Iterator[tuple[J, Outcome]]]:
    """Execute jobs on the Dask cluster whose scheduler listens at `address`."""
    try:
        from dask.distributed import Client, as_completed
    except ModuleNotFoundError:
        raise MissingExtra("--cluster", "distributed") from None

    def execute(jobs: list[J]) -> Iterator[tuple[J, Outcome]]:
        try:
            client = Client(address, timeout=ANSWERS_WITHIN)
        except (OSError, ValueError) as error:
            raise RhoplanError(f"there is no Dask scheduler at '{address}': {error}") from None
        with client:
            sent = client.scatter(run, broadcast=True) if isinstance(run, partial) else run
            futures = {client.submit(_do, sent, one, key=one.key, retries=TRIES, pure=True): one for one in jobs}
            for future, outcome in as_completed(futures, with_results=True):
                yield futures[future], outcome

    return execute
