"""Jobs: the measurements that studies are made of, each a name and plain settings, so that results can be kept.

A job's result depends on its settings and on the code that computes it, on nothing else: seeds are settings, and no
worker has any. Its key is a digest of all that, so a result on disk is used again exactly as long as it still holds.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from rhoplan.version import __version__
from rhoplan.work.fingerprint import fingerprint


@dataclass(frozen=True)
class Job:
    """One measurement: the function of `measures` that makes it, and its settings as canonical JSON."""

    measure: str
    text: str

    @property
    def settings(self) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.text)
        return result

    @property
    def key(self) -> str:
        parts = (self.measure, self.text, __version__, code())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

    @property
    def about(self) -> list[Any]:
        return [self.measure, self.settings]

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.settings.items() if value is not None)
        return f"{self.measure}({shown})"


def job(measure: str, **settings: Any) -> Job:
    """The job that runs `measure` with `settings`; those that are None are left out."""
    given = {name: value for name, value in settings.items() if value is not None}
    return Job(measure, json.dumps(given, sort_keys=True, separators=(",", ":")))


def run_job(wanted: Job) -> dict[str, Any]:
    """Do the job, wherever this is called: its result, and the seconds it took under `seconds`."""
    begin = time.perf_counter()
    result: Mapping[str, Any] = find_measure(wanted.measure)(**wanted.settings)
    return {"result": dict(result), "seconds": time.perf_counter() - begin}


def find_measure(name: str) -> Callable[..., Mapping[str, Any]]:
    """The function of `measures` with that name."""
    from rhoplan_paper.registry import MEASURES  # which knows studies, which ask for jobs

    found = MEASURES.every().get(name)
    if found is None:
        raise LookupError(f"there is no measure '{name}'")
    return found


@cache
def code() -> str:
    """A digest of the code that decides results."""
    paper = Path(str(files("rhoplan_paper")))
    return fingerprint((*sorted(paper.joinpath("measures").glob("*.py")), paper / "statistics.py"))
