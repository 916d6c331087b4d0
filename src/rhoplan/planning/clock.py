"""The clock of planners: seconds of work, without those in which machine code is made or loaded.

A time limit is on planning. Kernels are compiled on their first use (once per machine, then loaded), which can take
longer than the whole limit and says nothing about the problem; so the clock stands still meanwhile, and what it left
out is told apart. `planning.machine` reports to `Compiling`. The same goes for importing modules with kernels.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

AGES = 1e9
"""Seconds after which every deadline is past."""


class Compiling:
    """How long machine code has been made or loaded so far; those phases may lie within one another.

    counts: whether it counts as work for now, and is not told apart.
    """

    def __init__(self) -> None:
        self._depth, self._since, self._total = 0, 0.0, 0.0
        self.counts = False
        self.tell: Callable[[], None] | None = None

    def begins(self) -> None:
        if self.counts:
            return
        if not self._depth:
            self._since = time.monotonic()
        self._depth += 1

    def ends(self) -> None:
        if self.counts:
            return
        self._depth -= 1
        if not self._depth:
            self._total += time.monotonic() - self._since

    def leap(self, seconds: float) -> None:
        """The clock goes on by so many seconds at once."""
        self._total -= seconds

    def makes_anew(self) -> None:
        """Machine code is being made, not loaded: whoever waits is told."""
        if self.tell is not None:
            self.tell()

    @property
    def seconds(self) -> float:
        return self._total + (time.monotonic() - self._since if self._depth else 0.0)


COMPILING = Compiling()


def now() -> float:
    """Seconds of work; only differences mean something."""
    return time.monotonic() - COMPILING.seconds


def check(deadline: float) -> None:
    """Raise TimeoutError once `deadline` is past."""
    if now() > deadline:
        raise TimeoutError


@contextmanager
def loading() -> Iterator[None]:
    """Within the block the clock stands still: modules, and Numba with them, are being imported."""
    COMPILING.begins()
    try:
        yield
    finally:
        COMPILING.ends()


@contextmanager
def never_standing() -> Iterator[None]:
    """Within the block the clock never stands still: who is ended at a certain time must be done by then."""
    before, COMPILING.counts = COMPILING.counts, True
    try:
        yield
    finally:
        COMPILING.counts = before


@contextmanager
def telling(compiles: Callable[[], None]) -> Iterator[None]:
    """Within the block, `compiles` is called each time that machine code has to be made."""
    before, COMPILING.tell = COMPILING.tell, compiles
    try:
        yield
    finally:
        COMPILING.tell = before


class Hurry:
    """Whether somebody has pressed ctrl-C within the block of `hurrying`."""

    def __init__(self) -> None:
        self.pressed = False


@contextmanager
def hurrying() -> Iterator[Hurry]:
    """Within the block the first ctrl-C makes every deadline pass, so that what is under way ends with what it has; the
    next stops it at once. Nothing changes where ctrl-C means something else, or another thread hears of it."""
    hurry, before = Hurry(), signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield hurry
        return

    def press(number: int, frame: FrameType | None) -> None:
        if hurry.pressed:
            raise KeyboardInterrupt
        hurry.pressed = True
        COMPILING.leap(AGES)

    signal.signal(signal.SIGINT, press)
    try:
        yield hurry
    finally:
        signal.signal(signal.SIGINT, before)
        if hurry.pressed:
            COMPILING.leap(-AGES)
