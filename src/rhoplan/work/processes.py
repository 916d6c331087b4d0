"""Processes that work for this one: they leave ctrl-C to it, and end with it, however it ends.

Every process that the library starts begins here. A parent that is killed cannot end its children; so each child asks
the system to be ended with its parent where the system can do that, and watches its parent in any case.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.synchronize import Lock
from typing import Any

PR_SET_PDEATHSIG = 1
"""Of Linux's prctl: the signal that a process gets when the thread that started it ends."""

ENDING = (signal.SIGINT, signal.SIGTERM)

BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def process_pool(workers: int, prepare: Callable[..., None], *arguments: Any) -> Iterator[ProcessPoolExecutor]:
    """Processes that have called `prepare`; those still at work when the block is left by an error are ended.

    The thread that enters the block must outlive it. Jobs should be submitted inside `quiet_start`. The arguments may
    be large: they go to each process when it is up, so that starting one is short, and whole or not at all.
    """
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_prepare, initargs=(reader, context.Lock(), prepare)
    )
    feed = threading.Thread(target=_feed, args=(writer, pickle.dumps(arguments), workers), daemon=True, name="feed")
    feed.start()
    try:
        with _ended_in_order():
            yield pool
    except BaseException:
        started = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in started:  # nobody waits for their results any more
            process.kill()
        raise
    finally:
        reader.close()  # so that nothing is sent to processes that were never started
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
    """Ctrl-C and SIGTERM inside are felt at the end; processes started inside never feel a ctrl-C.

    A process that is ended while it hands on to another what that one needs would leave it with half of it. Children
    inherit what is blocked; here a signal may reach another thread, so it is put off as well.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    felt: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    own = {one: signal.signal(one, lambda number, _: felt.append(number)) for one in ENDING} if main else {}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for one, handler in own.items():
            signal.signal(one, signal.SIG_DFL if handler is None else handler)
        for number in felt:
            signal.raise_signal(number)


def begin_as_child() -> None:
    """What a process does first that works for another: ctrl-C is for its parent, and it ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # see `without_interrupts`
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


def _feed(writer: Connection, arguments: bytes, times: int) -> None:
    with writer, suppress(OSError):
        for _ in range(times):
            writer.send_bytes(arguments)


def _prepare(reader: Connection, lock: Lock, prepare: Callable[..., None]) -> None:
    begin_as_child()
    with lock:
        arguments = reader.recv_bytes()
    reader.close()
    prepare(*pickle.loads(arguments))


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """SIGTERM ends what is inside as an error does, where nobody else has said what it does."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
