"""Tiny problems, which should be solved at once: CPU seconds to a small gap, for each file of a folder and each weight.

The file is read before; what is measured is solving, in this process, after a warm-up that loads compiled code; where
more had to be made or loaded meanwhile, once more. A pair of file and weight is stopped once it has taken a given time,
many times what it should take.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rhoplan.errors import RhoplanError
from rhoplan.io.formats import read_problem
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.certified.solve import solve
from rhoplan_bench.sarsop import PRECISION
from rhoplan_bench.solvers import ENDINGS, warm, warm_up

MOST_STATES = 20
"""What counts as tiny."""

WEIGHTS = (0.0, 0.3, 1.0, 5.0)
"""Prices of information, per nat."""

AT_ONCE = 0.2
"""CPU seconds in which a tiny problem should be solved."""


@dataclass(frozen=True)
class Pair:
    """One file with one weight: the bounds reached, and CPU seconds. said: why there are none, else empty."""

    file: str
    states: int
    weight: float
    lower: float
    upper: float
    cpu_seconds: float
    said: str = ""

    @property
    def gap(self) -> float:
        return self.upper - self.lower

    @property
    def at_once(self) -> bool:
        """Whether the bounds met in the time there should be."""
        return self.gap <= PRECISION and self.cpu_seconds <= AT_ONCE

    def record(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "gap": self.gap, "at_once": self.at_once}


def tiny_pairs(folder: Path, *, seconds: float) -> Iterator[Pair]:
    """All weights of each file in `folder` that is tiny, files by name; `seconds` at most for each."""
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS)
    warm_up(WEIGHTS[-1])
    for path in files:
        try:
            problem = read_problem(path)
        except RhoplanError:  # what cannot be read is told by --solvers
            continue
        if len(problem.factors) == 1 and len(problem.states) <= MOST_STATES:
            gc.collect()  # what reading larger files has left behind
            for weight in WEIGHTS:
                yield warm(partial(_pair, path.name, problem, weight, seconds))


def farthest(pairs: list[Pair]) -> list[Pair]:
    """The pairs that were not solved at once, those first that took longest, then by what their gap is of the value."""
    late = [pair for pair in pairs if not pair.at_once]
    return sorted(late, key=lambda pair: (-pair.cpu_seconds if pair.gap <= PRECISION else -1e9, -_share(pair)))


def _share(pair: Pair) -> float:
    return pair.gap / max(abs(pair.lower), abs(pair.upper), PRECISION)


def _pair(file: str, problem: POMDP, weight: float, seconds: float) -> Pair:
    begin, states = time.process_time(), len(problem.states)

    def stop_in_time(lower: float, upper: float, nodes: int) -> None:
        if time.process_time() - begin > seconds:
            raise KeyboardInterrupt  # as a person would: the bounds reached come back

    try:
        found = solve(problem, weight=weight, gap=PRECISION, seconds=100 * seconds, progress=stop_in_time)
    except RhoplanError as error:
        return Pair(file, states, weight, float("nan"), float("nan"), time.process_time() - begin, str(error))
    return Pair(file, states, weight, found.lower, found.upper, time.process_time() - begin)
