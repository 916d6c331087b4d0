"""A real server in a process of its own, for the tests of the API and of the page."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PATIENCE = 600
"""Seconds after which a test gives up waiting: far more than anything takes, also beside many busy processes."""


KEYS = "--key", "--key-file"


@contextlib.contextmanager
def server(*options: str, **how: Any) -> Iterator[str]:
    """The address of `rhoplan serve` on a free port, while it runs; on a busy machine it is in no hurry."""
    with serving(*options, **how) as (_, address):
        yield address


@contextlib.contextmanager
def serving(
    *options: str, files: int | None = None, makes_key: bool = False, **how: Any
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of `rhoplan serve` and its address.

    It needs no key unless an option gives one. makes_key: it makes one, which the address has. files: how many it may
    open. how: as Popen has it.
    """
    patient = ("--seconds", str(PATIENCE), "--patience", str(PATIENCE))
    free = () if makes_key or set(KEYS) & set(options) else ("--no-key",)
    command = [sys.executable, "-m", "rhoplan", "serve", "--port", "0", *patient, *free, *options]
    if files is not None:
        command = ["sh", "-c", f'ulimit -n {files} && exec "$@"', "sh", *command]
    env = {name: value for name, value in os.environ.items() if name != "RHOPLAN_KEY"} | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env, **how)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"the server said {line!r}"
        yield process, found.group(0).rstrip("/")
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
        process.stdout.close()


def children(process: int) -> list[int]:
    """The processes that a process has started and that have not ended; Linux only."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread may end meanwhile
            found += map(int, (task / "children").read_text().split())
    return found


def is_alive(process: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked about does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(claim: Callable[[], bool]) -> bool:
    """Whether something comes true while there is patience."""
    for _ in range(20 * PATIENCE):
        if claim():
            return True
        time.sleep(0.05)
    return False
