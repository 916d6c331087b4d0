"""Worker processes that plan for the server: each request has a time limit, and whoever exceeds it is replaced.

Requests that may take long leave one worker free for quick ones, so advice on a case does not wait behind a solve.
Those that take minutes come one at a time. Models are checked by a worker of its own where the others are busy: who
brings one does not wait behind plans. A job whose worker was ended by somebody else is begun once more.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from rhoplan.app.serve.refusals import Reply, busy, ending, lost, over_memory, over_time
from rhoplan.app.serve.settings import Settings
from rhoplan.app.serve.worker import Answer, Job, Progress, Tell, address_space, work
from rhoplan.parallel import without_interrupts

CHECK = "check"
"""The task that only reads a model."""

STARTING = 300.0
"""Seconds that a new process may take to be ready: it imports the engine, on a busy machine slowly."""

TRIES = 2
"""How often a job is begun whose worker somebody else ends."""

LOOK, NEARLY = 0.25, 0.9
"""Seconds between looks at how much memory a worker has, and the part of the limit from which memory ended it."""


class Lost(Exception):
    """The process ended in the middle of a job."""


class Worker:
    """One process and the connection to it. given_up: nobody waits for its job any more."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.hot: frozenset[str] = frozenset()
        self.ready = self.closed = self.working = self.given_up = False
        self._lock = threading.Lock()
        self.connection: Connection
        self.process: BaseProcess
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, there = context.Pipe()
        self.process = context.Process(target=work, args=(there, self.settings), daemon=True)
        with without_interrupts():
            self.process.start()
        there.close()
        self.hot, self.ready = frozenset(), False

    def call(self, job: Job, seconds: float, tell: Tell = lambda done, of: None) -> Reply:
        """The reply to `job`; the process is replaced where it takes longer than `seconds`, dies or is worn.

        `tell` is told how far it is, where the job says so.
        """
        self.working = True
        try:
            for _ in range(TRIES):
                try:
                    return self._call(job, seconds, tell)
                except Lost:
                    if self.given_up or self.closed:
                        break
            return lost() if not self.closed else ending()
        finally:
            with self._lock:
                self.working = self.given_up = False

    def give_up(self) -> None:
        """End the job at hand, for which nobody waits any more; the process is replaced."""
        with self._lock:
            if self.working:
                self.given_up = True
                self.process.kill()

    def _call(self, job: Job, seconds: float, tell: Tell) -> Reply:
        most = 0
        try:
            if not self.ready:
                if not self.connection.poll(STARTING):
                    self.replace()
                    return busy(STARTING)
                self.connection.recv()
                self.ready = True
            self.connection.send(job)
            end = time.monotonic() + seconds
            while True:
                left = end - time.monotonic()
                if not self.connection.poll(max(0.0, min(left, LOOK))):
                    most = max(most, address_space(self.process.pid))
                    if left > LOOK:
                        continue
                    self.replace()
                    return over_time(seconds, job.task, job.request)
                answer: Answer | Progress = self.connection.recv()
                if isinstance(answer, Answer):
                    break
                tell(answer.done, answer.of)
        except (EOFError, OSError):
            self.replace()
            if most >= NEARLY * self.settings.memory:  # a library that is refused memory may end the whole process
                return over_memory(self.settings.memory, job.task, job.request)
            raise Lost from None
        self.hot = answer.hot
        if answer.worn:
            self.replace()
        return answer.reply

    def replace(self) -> None:
        with self._lock:
            self._end()
            if not self.closed:
                self.start()

    def close(self) -> None:
        """End the process for good, whatever it is doing."""
        with self._lock:
            self.closed = True
            self.process.kill()

    def end(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


class Pool:
    """Workers, and who gets one next."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._threads = ThreadPoolExecutor(settings.workers + 1, thread_name_prefix="worker")
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self._checkers: list[Worker] = []
        self._free = asyncio.Semaphore(settings.workers)
        self._slow = asyncio.Semaphore(max(1, settings.workers - 1))
        self._long = asyncio.Semaphore(1)
        self._checks = asyncio.Semaphore(1)
        self._stopped = False

    def start(self) -> None:
        """Start the processes; they get ready while the server already answers."""
        self._workers = [Worker(self.settings) for _ in range(self.settings.workers)]
        self._idle = list(self._workers)

    def stop(self) -> None:
        """End the processes, whatever they are doing; who waits for one is told so. May be called again."""
        self._stopped = True
        for worker in self._workers:
            worker.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._workers:
            with suppress(OSError):
                worker.end()

    async def run(
        self, job: Job, *, seconds: float, slow: bool, long: bool = False, tell: Tell = lambda done, of: None,
        late: Callable[[Reply], None] = lambda reply: None,
    ) -> Reply:  # fmt: skip
        """The reply to `job`, which may work for `seconds`; `slow` where others should not have to wait for it.

        long: it is slow and takes minutes, so that two of its kind would stand before all other slow ones. tell: is
        told how far it is, in the loop. late: is given the reply to a quick job that nobody waited for to the end.
        """
        lanes = [*[self._long] * long, *[self._slow] * slow, self._free]
        idle = self._idle
        if job.task == CHECK and any(lane.locked() for lane in lanes):
            lanes, idle = [self._checks], self._checkers
        taken: list[asyncio.Semaphore] = []
        try:
            for lane in lanes:
                await asyncio.wait_for(lane.acquire(), self.settings.patience)
                taken.append(lane)
        except TimeoutError:
            self._release(taken)
            return busy(self.settings.patience)
        except asyncio.CancelledError:
            self._release(taken)
            raise
        if self._stopped:
            self._release(taken)
            return ending()
        worker = self._chosen(idle, job.source.key)
        worker.working = True  # before anybody can give the job up
        loop = asyncio.get_running_loop()

        def told(done: int, of: int) -> None:  # in the thread of the call
            loop.call_soon_threadsafe(tell, done, of)

        call = loop.run_in_executor(self._threads, worker.call, job, seconds, told)

        def done(_: object) -> None:
            idle.append(worker)
            self._release(taken)

        call.add_done_callback(done)
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            if self._stopped and call.cancelled():
                return ending()
            if slow:  # a quick job is done sooner than a new process would be ready
                worker.give_up()
            else:
                call.add_done_callback(lambda made: None if made.cancelled() else late(made.result()))
            raise

    def _chosen(self, idle: list[Worker], key: str) -> Worker:
        """An idle worker: one that has the problem at hand, else one that is ready, else any; a first one if none."""
        if not idle:
            self._workers.append(Worker(self.settings))
            return self._workers[-1]
        best = max(idle, key=lambda worker: (key in worker.hot, worker.ready, -idle.index(worker)))
        idle.remove(best)
        return best

    @staticmethod
    def _release(lanes: list[asyncio.Semaphore]) -> None:
        for lane in reversed(lanes):
            lane.release()
