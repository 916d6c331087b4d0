"""A worker process: builds problems, keeps the hot ones, and answers one job after another within its memory.

The process that started it ends it when a job takes too long; a worker that runs out of memory says so and asks to be
replaced. It ends by itself when the connection closes, and with the process that started it, however that one ends.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from rhoplan.app.serve.refusals import Reply, over_memory, refusal, refused, success
from rhoplan.app.serve.settings import Settings
from rhoplan.app.serve.sources import Source
from rhoplan.parallel import begin_as_child

if TYPE_CHECKING:
    from rhoplan.advice.case import Adviser
    from rhoplan.model.pomdp import POMDP

MOST_PROBLEMS = 24
"""Problems a worker keeps with their graphs; the longest unused one goes first, what-ifs before whole models."""

DERIVED = "|"
"""Stands in the key of a problem that was made from another, with other numbers or fewer tests."""


@dataclass(frozen=True)
class Job:
    """What to compute, for which problem, with what the request said."""

    task: str
    source: Source
    request: dict[str, Any]


@dataclass(frozen=True)
class Progress:
    """How much of a job is done, in parts; sent while it is at work."""

    done: int
    of: int


Tell = Callable[[int, int], None]
"""Is told how many parts of a job are done, of how many."""


@dataclass(frozen=True)
class Answer:
    """The reply to a job, which problems the worker has at hand now, and whether it should be replaced."""

    reply: Reply
    hot: frozenset[str]
    worn: bool


class Shelf:
    """Problems with their graphs, the longest unused one last. latest: who advised last, and on what."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self._problems: OrderedDict[str, POMDP] = OrderedDict()
        self.latest: tuple[str, Adviser] | None = None

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(self._problems)

    def problem(self, source: Source) -> POMDP:
        """The problem of `source`, with a graph that has a limit."""
        return self.get(source.key, lambda: build(source))

    def get(self, key: str, make: Callable[[], POMDP]) -> POMDP:
        """The problem called `key`, made if it is not at hand."""
        from rhoplan._old.graph import Graph

        if key not in self._problems:
            problem = make()
            problem.__dict__["_graph"] = Graph(problem, node_limit=self.nodes)  # what shared_graph finds
            self._problems[key] = problem
            while len(self._problems) > MOST_PROBLEMS:
                derived = (old for old in self._problems if DERIVED in old and old != key)
                self._problems.pop(next(derived, next(iter(self._problems))))
        self._problems.move_to_end(key)
        return self._problems[key]

    def drop(self, source: Source) -> None:
        """Forget a problem, whose graph may have stopped half grown, and what was made from it."""
        self.latest = None
        for key in [key for key in self._problems if key.startswith(source.key)]:
            del self._problems[key]


def build(source: Source) -> POMDP:
    """The problem that `source` means."""
    if source.text is None:
        from rhoplan.problems.registry import make

        return make(source.name)
    from rhoplan.io.formats import parse_problem

    return parse_problem(source.text, file=source.name, language=source.language)


def work(connection: Connection, settings: Settings) -> None:
    """Answer jobs until the connection closes."""
    begin_as_child(os.getppid())
    limit_memory(settings.memory)
    from rhoplan.app.serve import tasks

    def tell(done: int, of: int) -> None:
        connection.send(Progress(done, of))

    run, shelf = partial(tasks.run, tell=tell), Shelf(settings.nodes)
    connection.send(None)
    while True:
        try:
            job: Job = connection.recv()
        except (EOFError, OSError):
            return
        reply, worn = answer(run, job, shelf, settings)
        worn = worn or resident_bytes() > settings.memory / 2
        connection.send(Answer(reply, shelf.keys, worn))


def answer(run: Callable[[Job, Shelf], Any], job: Job, shelf: Shelf, settings: Settings) -> tuple[Reply, bool]:
    """The reply to `job`, and whether memory ran out on the way."""
    from rhoplan.errors import LimitError, RhoplanError

    try:
        return success(run(job, shelf)), False
    except LimitError as error:
        shelf.drop(job.source)
        return refusal(413, "problem", str(error), limit={"nodes": settings.nodes}, code=error.code), False
    except RhoplanError as error:
        return refused(error), False
    except MemoryError:
        return over_memory(settings.memory, job.task, job.request), True
    except (ArithmeticError, RecursionError, ValueError) as error:
        shelf.drop(job.source)
        return refusal(
            422, "problem", f"this cannot be computed: {' '.join(str(error).split())[:200]}", code="not-computable"
        ), False
    except Exception as error:
        shelf.drop(job.source)
        return refusal(500, None, f"this should not have happened ({type(error).__name__})", code="internal"), True


def limit_memory(size: int) -> None:
    """Hold this process to `size` bytes of address space, where the system can."""
    if sys.platform in ("linux", "darwin"):
        import resource

        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))


def resident_bytes() -> int:
    """Memory that this process holds now; 0 where the system does not tell."""
    return _pages("self", 1)


def address_space(process: int | None) -> int:
    """Bytes of address space that a process has now, which is what its memory limit is about; 0 where not told."""
    return _pages(str(process), 0)


def _pages(process: str, place: int) -> int:
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return int(file.read().split()[place]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
