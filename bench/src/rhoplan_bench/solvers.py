"""rhoplan beside SARSOP and Storm on every problem file of a folder, in CPU seconds, one run after the other.

SARSOP goes first, for a given time. Then rhoplan works until its gap is SARSOP's last one, or its CPU time is up. CPU
seconds of SARSOP are those of its process; rhoplan's are those of this process for reading the file and solving, after
a warm-up that loads its compiled code, and once more where some was missing. Storm is asked for bounds in the time it
has, without a race.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rhoplan.errors import RhoplanError
from rhoplan.io.arrays import from_arrays
from rhoplan.io.formats import read_problem
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.clock import COMPILING
from rhoplan_bench.sarsop import PRECISION, Reached, run_sarsop
from rhoplan_bench.storm import has_storm, run_storm

ENDINGS = (".pomdp", ".pomdpx", ".drn")

READ_BY_SARSOP = (".pomdp", ".pomdpx")

NOT_INSTALLED = Reached(said="not installed")

LOADED = 1e-3
"""Seconds for machine code after which a run is made once more: looking whether it is there takes far less."""

Measured = TypeVar("Measured")


@dataclass(frozen=True)
class Row:
    """One file, read by each solver as it is (Storm is told rhoplan's reading of it). within: whether rhoplan's gap is
    the one it was asked for."""

    file: str
    states: int
    sarsop: Reached
    storm: Reached
    rhoplan: Reached
    within: bool

    @property
    def ratio(self) -> float:
        """SARSOP's seconds in rhoplan's; no more than that where rhoplan was not done. NaN where there are none."""
        return self.sarsop.seconds / self.rhoplan.seconds

    @property
    def contradicts(self) -> tuple[str, ...]:
        """The solvers whose bounds cannot be true together with rhoplan's."""
        found = []
        for name, other in (("sarsop", self.sarsop), ("storm", self.storm)):
            slack = 1e-5 * max(abs(other.lower), abs(other.upper), 1e-9)  # SARSOP prints six digits
            if other.lower > self.rhoplan.upper + slack or other.upper < self.rhoplan.lower - slack:
                found.append(name)
        return tuple(found)

    def record(self) -> dict[str, Any]:
        """As plain values."""
        told: dict[str, Any] = {"file": self.file, "states": self.states}
        for name, one in (("sarsop", self.sarsop), ("storm", self.storm), ("rhoplan", self.rhoplan)):
            numbers = {"lower": one.lower, "upper": one.upper, "gap": one.gap, "cpu_seconds": one.seconds}
            told[name] = {**numbers, "said": one.said or None}
        return told | {"within": self.within, "ratio": self.ratio, "contradicts": list(self.contradicts)}


def compare(folder: Path, *, sarsop: str | None, seconds: float) -> Iterator[Row]:
    """A row for each problem file in `folder`, smallest file first."""
    files = [path for path in folder.iterdir() if path.suffix.lower() in ENDINGS]
    warm_up()
    for path in sorted(files, key=lambda path: (path.stat().st_size, path.name)):
        yield _row(path, sarsop, seconds)


def median_ratio(rows: list[Row]) -> float | None:
    """The median of the ratios there are."""
    ratios = [row.ratio for row in rows if math.isfinite(row.ratio)]
    return statistics.median(ratios) if ratios else None


def _row(path: Path, sarsop: str | None, seconds: float) -> Row:
    try:
        problem = read_problem(path)
        compiled = compile_problem(problem)
    except RhoplanError as error:
        failed = Reached(said=str(error))
        return Row(path.name, 0, Reached(), Reached(), failed, False)
    theirs = _sarsop(path, problem, sarsop, seconds)
    gap = max(theirs.gap, PRECISION) if math.isfinite(theirs.gap) else PRECISION
    ours = warm(lambda: _rhoplan(path, gap, seconds))
    storm = run_storm(compiled, problem.discount, seconds) if has_storm() else NOT_INSTALLED
    if problem.looks_first:  # which takes a step in what Storm is told
        storm = replace(storm, lower=storm.lower / problem.discount, upper=storm.upper / problem.discount)
    return Row(path.name, len(set(compiled.state.tolist())), theirs, storm, ours, ours.gap <= gap)


def _sarsop(path: Path, problem: POMDP, program: str | None, seconds: float) -> Reached:
    if program is None:
        return NOT_INSTALLED
    if path.suffix.lower() not in READ_BY_SARSOP:
        return Reached(said=f"does not read {path.suffix} files")
    if problem.discount == 1:
        return Reached(said="needs a discount below 1")
    return run_sarsop(program, path, seconds)


def warm(measured: Callable[[], Measured]) -> Measured:
    """What is measured, once more where machine code had to be made or loaded for it."""
    before = COMPILING.seconds
    found = measured()
    return measured() if COMPILING.seconds - before > LOADED else found


def _rhoplan(path: Path, gap: float, seconds: float) -> Reached:
    begin = time.process_time()

    def stop_in_time(lower: float, upper: float, nodes: int) -> None:
        if time.process_time() - begin > seconds:
            raise KeyboardInterrupt  # as a person would: the bounds reached come back

    try:
        found = solve(read_problem(path), gap=gap, seconds=4 * seconds, progress=stop_in_time, method="points")
    except RhoplanError as error:
        return Reached(said=str(error))
    return Reached(found.lower, found.upper, time.process_time() - begin)


def warm_up(weight: float = 0.0) -> None:
    """Load what is compiled, and compile what is not yet."""
    moved = np.array([[[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]], np.eye(3)])
    shown = np.array([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])
    paid = np.array([[1, -1], [0, 2], [-2, 1]])
    solve(from_arrays(moved, shown, paid, discount=0.9), weight=weight, gap=1e-2, method="points")
