"""A folder of results: written at once and whole, and one owner at a time.

A result is a small JSON file under a temporary name that is then renamed, so a run that is killed, or a full disk,
leaves either the whole result or none. A file that cannot be read counts as none.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from rhoplan.errors import RhoplanError
from rhoplan.files import write_text


class Job(Protocol):
    """A piece of work. key: a digest of all that its result depends on. about: what it is, as JSON holds it."""

    @property
    def key(self) -> str: ...

    @property
    def about(self) -> Any: ...


class FolderInUse(RhoplanError):
    """Another run is writing to the same folder."""


class Store:
    """Results of jobs under `folder`/results. what, option: what errors call the work, and the folder's option."""

    what, option = "run", "--keep"

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
                    f"another {self.what} is writing to '{self.folder}': wait for it, or give another {self.option}"
                ) from None
            self.sweep(self.results)
            yield

    def get(self, job: Job) -> dict[str, Any] | None:
        """What `job` gave before: its outcome as `put` was given it; None where there is nothing (readable)."""
        try:
            kept = json.loads(self._path(job).read_text(encoding="utf-8"))
            return kept if kept["job"] == job.about else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, job: Job, outcome: dict[str, Any]) -> None:
        record = {"job": job.about, **outcome}
        write_text(self._path(job), json.dumps(record, sort_keys=True, separators=(",", ":")) + "\n")

    def _path(self, job: Job) -> Path:
        return self.results / f"{job.key}.json"

    def sweep(self, folder: Path) -> None:
        """Remove what runs that were killed left half written in `folder`, which must be the store's own."""
        for path in folder.glob(".*-*"):
            if path.is_file():
                path.unlink()
