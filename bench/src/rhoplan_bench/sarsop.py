"""SARSOP (`pomdpsol`) on one file: its last bounds, and the CPU seconds it took to reach them.

It prints a table of time, trials, backups, lower bound, upper bound, gap, vectors and beliefs, one line every now and
then. Its CPU seconds are those that the system counted for the process, less what it spent, by its own clock, after the
last gap was first printed. It may go on for ever after its time is up: the system then ends it.
"""

from __future__ import annotations

import math
import os
import re
import resource
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

PRECISION = 1e-4
"""The gap that every solver is asked for."""

NUMBER = r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|inf|nan)"
LINE = re.compile(rf"\s*({NUMBER})\s+\d+\s+\d+\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+\d+\s+\d+\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Reached:
    """What a solver came to: bounds, and the CPU seconds until then. said: why there are none, else empty."""

    lower: float = math.nan
    upper: float = math.nan
    seconds: float = math.nan
    said: str = ""

    @property
    def gap(self) -> float:
        return self.upper - self.lower


def find_sarsop(path: Path | None) -> str | None:
    """The program at `path`, or the one on the search path; None where there is none."""
    return str(path.resolve()) if path else shutil.which("pomdpsol")


def table_of(text: str) -> list[tuple[float, float, float, float]]:
    """Time, lower bound, upper bound and gap of each whole line of the table that SARSOP prints."""
    found = []
    for line in text.splitlines(keepends=True):
        match = LINE.fullmatch(line.rstrip("\n")) if line.endswith("\n") else None
        if match:
            found.append((float(match[1]), float(match[2]), float(match[3]), float(match[4])))
    return found


def run_sarsop(program: str, file: Path, seconds: float) -> Reached:
    """What SARSOP comes to on `file` when it is given `seconds`."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told"
        command = [program, "-p", str(PRECISION), "--timeout", str(seconds), "-o", f"{folder}/policy", str(file)]
        with told.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
            allow(process.pid, seconds + 5)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return reached(told.read_text(errors="replace"), usage.ru_utime + usage.ru_stime, process.returncode)


def allow(process: int, seconds: float) -> None:
    """Let a process take `seconds` of CPU and 4 GB at most: the system ends it after that, where it can be told so."""
    if hasattr(resource, "prlimit"):
        resource.prlimit(process, resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
        resource.prlimit(process, resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))


def reached(text: str, used: float, code: int) -> Reached:
    """What SARSOP came to when it printed `text`, took `used` CPU seconds and ended with `code`."""
    table = [row for row in table_of(text) if all(map(math.isfinite, row))]
    if not table:
        last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "nothing")
        return Reached(said=f"no bounds (exit code {code}); its last words: {last}")
    final, lower, upper, gap = table[-1]
    first = next(at for at, _, _, apart in table if apart <= gap)
    return Reached(lower, upper, max(used - (final - first), 0.0))
