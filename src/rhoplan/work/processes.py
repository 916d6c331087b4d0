"""Processes that work for this one: they leave ctrl-C to it, and end with it, however it ends.

Every process that the library starts begins here. A parent that is killed cannot end its children; so each child asks
the system to be ended with its parent where the system can do that, and watches its parent in any case.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

PR_SET_PDEATHSIG = 1
"""Of Linux's prctl: the signal that a process gets when the thread that started it ends."""

BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def process_pool(workers: int, prepare: Callable[..., None], *arguments: Any) -> Iterator[ProcessPoolExecutor]:
    """Processes that have called `prepare`; those still at work when the block is left by an error are ended.

    The thread that enters the block must outlive it. Jobs should be submitted inside `quiet_start`.
    """
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare, initargs=(prepare, arguments))
    try:
        yield pool
    except BaseException:
        started = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in started:  # nobody waits for their results any more
            process.kill()
        raise
    pool.shutdown(wait=True)


@contextmanager
def quiet_start() -> Iterator[None]:
    """Processes started inside use one thread each for linear algebra, and never see a ctrl-C."""
    with single_threaded_children(), without_interrupts():
        yield


@contextmanager
def single_threaded_children() -> Iterator[None]:
    """Processes started inside use one thread each for linear algebra: the cores are busy with other jobs."""
    before = {name: os.environ.get(name) for name in BLAS}
    os.environ.update(dict.fromkeys(BLAS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def without_interrupts() -> Iterator[None]:
    """A ctrl-C inside is felt at the end; processes started inside never feel one, not even while they start."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_as_child() -> None:
    """What a process does first that works for another: ctrl-C is for its parent, and it ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True, name="parent").start()
    if sys.platform == "linux":  # a compiled loop lets no other thread run, so the watch alone may come late
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _watch(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _prepare(prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    begin_as_child()
    prepare(*arguments)
