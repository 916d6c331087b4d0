"""Jobs on the processes of this machine (joblib with loky) or on a Dask cluster, results as they are done.

Workers ignore ctrl-C, which is for the process that started them, and end when that process ends. A process that is
killed cannot end its children: each worker asks Linux to be killed with its parent, and checks on every system whether
its parent is alive.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rhoplan.errors import MissingExtra, RhoplanError

PR_SET_PDEATHSIG = 1
"""Of Linux's prctl: the signal that a process gets when the thread that started it ends."""

ENDING = (signal.SIGINT, signal.SIGTERM)

TRIES = 3
"""How often a worker may die before its jobs are given up."""

ANSWERS_WITHIN = 20
"""Seconds in which the scheduler of a cluster must answer."""

WATCH_SECONDS = 1.0
"""Seconds between two checks of a worker whether its parent is alive."""

Job = TypeVar("Job")
Result = TypeVar("Result")


class WorkerLost(RhoplanError):
    """Workers kept dying under a job."""

    code = "worker-lost"


def run_jobs(
    run: Callable[[Job], Result], jobs: Sequence[Job], *, workers: int = 1, cluster: str | None = None
) -> Iterator[tuple[Job, Result]]:
    """Each of `jobs`, which are distinct and hashable, with what `run` returns for it, in the order they are done.

    run: a function, or a partial one that holds what all jobs need. workers: processes on this machine; with 1 the jobs
    run in this process, in order. cluster: address of the scheduler of a Dask cluster to use instead. If a worker dies,
    its unfinished jobs are run again.
    """
    if cluster is not None:
        yield from _on_cluster(run, jobs, cluster)
    elif workers == 1 or len(jobs) == 1:
        yield from ((job, run(job)) for job in jobs)
    else:
        yield from _on_this_machine(run, jobs, workers)


def _on_this_machine(run: Callable[[Job], Result], jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Result]]:
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import BrokenProcessPool

    _start_trackers()
    left, tries = dict.fromkeys(jobs), dict.fromkeys(jobs, 0)
    while left:
        settings = {"initializer": begin_as_child, "initargs": (os.getpid(),), "inner_max_num_threads": 1}
        with parallel_config("loky", n_jobs=min(workers, len(left)), **settings):
            pool = Parallel(return_as="generator_unordered", batch_size=1)
        try:
            with without_interrupts():
                results = pool(delayed(_job_and_result)(run, job) for job in list(left))
            for job, result in results:
                del left[job]
                yield job, result
        except KeyboardInterrupt:  # it may have come before the loop: joblib then waits for the jobs under way
            results.close()
            raise
        except BrokenProcessPool:
            first = next(iter(left))
            tries[first] += 1
            if tries[first] >= TRIES:
                raise WorkerLost(
                    f"a worker died {TRIES} times while {len(left)} jobs were left, such as {first}"
                ) from None


def _start_trackers() -> None:
    """Start the processes that clean up after others; starting them unblocks ctrl-C (see `without_interrupts`)."""
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker

        from joblib.externals.loky.backend import resource_tracker as loky_tracker

        resource_tracker.ensure_running()
        loky_tracker.ensure_running()


def _on_cluster(run: Callable[[Job], Result], jobs: Sequence[Job], address: str) -> Iterator[tuple[Job, Result]]:
    try:
        from dask.distributed import Client
    except ModuleNotFoundError:
        raise MissingExtra("--cluster", "distributed") from None
    from joblib import Parallel, delayed, parallel_config

    try:
        client = Client(address, timeout=ANSWERS_WITHIN)
    except (OSError, ValueError) as error:
        raise RhoplanError(f"there is no Dask scheduler at '{address}': {error}") from None
    with client, parallel_config("dask", client=client, scatter=[run], retries=TRIES):
        yield from Parallel(n_jobs=-1, return_as="generator_unordered", batch_size=1)(
            delayed(_job_and_result)(run, job) for job in jobs
        )


def _job_and_result(run: Callable[[Job], Result], job: Job) -> tuple[Job, Result]:
    return job, run(job)


def begin_as_child(parent: int) -> None:
    """Leave ctrl-C to the process `parent`, which started this one, and end when it ends; it may have ended already."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # see `without_interrupts`
    threading.Thread(target=_watch, args=(parent,), daemon=True, name="parent").start()
    if sys.platform == "linux":  # a compiled loop lets no other thread run: the watching thread may be late
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before this process could ask
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Defer ctrl-C and SIGTERM to the end of the block; processes started inside never receive a ctrl-C.

    A process that ends while it sends data to a worker would leave the worker with half of it. Children inherit the
    blocked signals. In this process a signal may reach another thread, so it is recorded and raised at the end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    received: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    own = {one: signal.signal(one, lambda number, _: received.append(number)) for one in ENDING} if main else {}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for one, handler in own.items():
            signal.signal(one, signal.SIG_DFL if handler is None else handler)
        for number in received:
            signal.raise_signal(number)
