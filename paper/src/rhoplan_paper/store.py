"""The folder of a reproduction: results of jobs, written at once and whole, and one owner at a time.

A result is a small JSON file under a temporary name that is then renamed, so a run that is killed, or a full disk,
leaves either the whole result or none. A file that cannot be read counts as none.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rhoplan.errors import RhoplanError
from rhoplan.files import write_text
from rhoplan_paper.jobs import Job


class FolderInUse(RhoplanError):
    """Another reproduction is writing to the same folder."""


class Store:
    """Results of jobs under `folder`/results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Own the folder while the block runs; FolderInUse where another process does. The system frees it on death."""
        self.results.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("a+") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise FolderInUse(
                    f"another reproduction is writing to '{self.folder}': wait for it, or give another --out"
                ) from None
            self._sweep()
            yield

    def get(self, job: Job) -> dict[str, Any] | None:
        """What `job` gave before: its result and its seconds; None where there is nothing (readable)."""
        try:
            kept = json.loads(self._path(job).read_text(encoding="utf-8"))
            return kept if kept["job"] == [job.measure, job.settings] else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, job: Job, outcome: dict[str, Any]) -> None:
        record = {"job": [job.measure, job.settings], **outcome}
        write_text(self._path(job), json.dumps(record, sort_keys=True, separators=(",", ":")) + "\n")

    def _path(self, job: Job) -> Path:
        return self.results / f"{job.key}.json"

    def _sweep(self) -> None:
        """Remove what runs that were killed left half written."""
        for path in (*self.folder.glob(".*-*"), *self.results.glob(".*-*")):
            if path.is_file():
                os.unlink(path)
