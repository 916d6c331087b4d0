"""A folder of results: written at once and whole, and one owner at a time.

A result is a small JSON file under a temporary name that is then renamed, so a run that is killed, or a full disk,
leaves either the whole result or none. It carries a digest of its job's key and of all it says: a file that does not
agree with its digest (a bit flipped, a digit changed, the file of another job) counts as none, and the log says so.
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
from rhoplan.files import write_text

DIGEST = "sha256"
"""The field of a kept result that the others are checked by."""


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
        self.folder = folder
        self.results = folder / "results"
        self.damaged: set[str] = set()

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
            try:
                yield
            finally:
                self._tell()

    def get(self, job: Job) -> dict[str, Any] | None:
        """What `job` gave before: its outcome as `put` was given it; None where nothing can be trusted."""
        path = self._path(job)
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept.pop(DIGEST) == _digest(job, kept) and kept["job"] == job.about:
                return dict(kept)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        self.damaged.add(path.name)
        return None

    def put(self, job: Job, outcome: dict[str, Any]) -> None:
        record = {"job": job.about, **outcome}
        write_text(self._path(job), _plain({DIGEST: _digest(job, record), **record}) + "\n")

    def _tell(self) -> None:
        if self.damaged:
            count = "1 kept result" if len(self.damaged) == 1 else f"{len(self.damaged)} kept results"
            logging.getLogger(__name__).warning("%s in '%s' did not check: computed again", count, self.results)
            self.damaged.clear()

    def _path(self, job: Job) -> Path:
        return self.results / f"{job.key}.json"

    def sweep(self, folder: Path) -> None:
        """Remove what runs that were killed left half written in `folder`, which must be the store's own."""
        for path in folder.glob(".*-*"):
            if path.is_file():
                path.unlink()


def _digest(job: Job, record: dict[str, Any]) -> str:
    return hashlib.sha256(f"{job.key}\n{_plain(record)}".encode("utf-8", "surrogatepass")).hexdigest()


def _plain(record: dict[str, Any]) -> str:
    """`record` as JSON, always the same for the same content."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"))
