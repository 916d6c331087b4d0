"""A folder of results: each written whole or not at all, and one owner of the folder at a time.

A result is a small JSON file. It carries a digest of its job's key and of all it says: a file that does not agree with
its digest (a bit flipped, a digit changed, the file of another job) counts as none, and the log says so.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from rhoplan.errors import RhoplanError
from rhoplan.files import sweep, write_text

DIGEST = "sha256"
"""The field of a saved result by which the others are checked."""


class Job(Protocol):
    """A piece of work. key: a digest of all that its result depends on. about: what it is, as JSON holds it."""

    @property
    def key(self) -> str: ...

    @property
    def about(self) -> Any: ...


class FolderInUse(RhoplanError):
    """Another run is writing to the same folder."""

    code = "folder-in-use"


class Store:
    """Results of jobs under `folder`/results. what, option: what errors call the work, and the folder's option."""

    what, option = "run", "--keep"

    def __init__(self, folder: Path) -> None:
        self.folder, self.results = folder, folder / "results"
        self.damaged: set[str] = set()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Own the folder while the block runs; FolderInUse if another process does. The system frees it on death."""
        self.results.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("a+") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise FolderInUse(
                    f"another {self.what} is writing to '{self.folder}': wait for it, or give another {self.option}"
                ) from None
            self.sweep(self.results)
            try:
                yield
            finally:
                if self.damaged:
                    count = "1 saved result" if len(self.damaged) == 1 else f"{len(self.damaged)} saved results"
                    message = "%s in '%s' failed the check: computed again"
                    logging.getLogger(__name__).warning(message, count, self.results)
                    self.damaged.clear()

    def get(self, job: Job) -> dict[str, Any] | None:
        """The outcome of `job` as `put` was given it; None if there is none or it cannot be trusted."""
        path = self._path(job)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            if record.pop(DIGEST) == _digest(job, record) and record["job"] == job.about:
                return dict(record)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        self.damaged.add(path.name)
        return None

    def put(self, job: Job, outcome: dict[str, Any]) -> None:
        """Save the outcome of `job`."""
        record = {"job": job.about, **outcome}
        write_text(self._path(job), _plain({DIGEST: _digest(job, record), **record}) + "\n")

    def sweep(self, folder: Path) -> None:
        """Remove what killed runs left half-written in `folder`, which must be the store's own."""
        sweep(folder, lambda name: True)

    def _path(self, job: Job) -> Path:
        return self.results / f"{job.key}.json"


def _digest(job: Job, record: dict[str, Any]) -> str:
    return hashlib.sha256(f"{job.key}\n{_plain(record)}".encode("utf-8", "surrogatepass")).hexdigest()


def _plain(record: dict[str, Any]) -> str:
    """`record` as JSON, always the same for the same content."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"))
