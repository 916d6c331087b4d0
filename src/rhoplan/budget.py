"""Limits on time, memory and nodes of a computation, and reports of how far it is.

The code that grows a data structure calls `Budget.check` with its size. A budget starts when it is made.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rhoplan.errors import LimitError

SECONDS_BETWEEN_REPORTS = 1.0


@dataclass(frozen=True)
class Progress:
    """How far a computation is: nodes of its graph, bytes that the graph takes, seconds since the start."""

    nodes: int
    memory: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.nodes:,} beliefs, {_size(self.memory)}, {self.seconds:.0f} s"


@dataclass(eq=False)
class Budget:
    """At most so many nodes, bytes of memory and seconds; no limit by default.

    progress: a function that gets a `Progress` about once a second.
    """

    nodes: float = math.inf
    memory: float = math.inf
    seconds: float = math.inf
    progress: Callable[[Progress], None] | None = None
    _start: float = field(default_factory=lambda: time.monotonic(), init=False, repr=False)
    _reported: float = field(default=0.0, init=False, repr=False)

    @property
    def elapsed(self) -> float:
        """Seconds since the budget was made."""
        return time.monotonic() - self._start

    def check(self, nodes: int, memory: int) -> None:
        """Raise LimitError if a graph of so many nodes and bytes is beyond a limit, or if time is up."""
        elapsed, advice = self.elapsed, "raise it, shorten the horizon, or use simulate"
        if nodes > self.nodes:
            needed = f"more than {self.nodes:,.0f} nodes, the limit (now {nodes:,})"
            raise LimitError(f"the belief graph needs {needed}; {advice}", field=("nodes",), code="node-limit")
        if memory > self.memory:
            now = f"{_size(memory)} for {nodes:,} nodes"
            needed = f"more than {_size(self.memory)}, the limit on memory (now {now})"
            raise LimitError(f"the belief graph needs {needed}; {advice}", field=("memory",), code="memory-limit")
        if elapsed > self.seconds:
            needed = f"longer than {self.seconds:g} s, the limit (now {nodes:,} nodes)"
            raise LimitError(f"the computation takes {needed}; {advice}", field=("seconds",), code="time-limit")
        if self.progress is not None and elapsed - self._reported >= SECONDS_BETWEEN_REPORTS:
            self._reported = elapsed
            self.progress(Progress(nodes, memory, elapsed))


def _size(memory: float) -> str:
    return f"{memory / 1e9:,.2f} GB" if memory >= 1e8 else f"{memory / 1e6:,.1f} MB"
