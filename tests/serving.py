"""A real server in a process of its own, for the tests of the API and of the page."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator

PATIENCE = 600
"""Seconds after which a test gives up waiting: far more than anything takes, also beside many busy processes."""


@contextlib.contextmanager
def server(*options: str) -> Iterator[str]:
    """The address of `rhoplan serve` on a free port, while it runs; on a busy machine it is in no hurry."""
    patient = ("--seconds", str(PATIENCE), "--patience", str(PATIENCE))
    command = [sys.executable, "-m", "rhoplan", "serve", "--port", "0", *patient, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"the server said {line!r}"
        yield found.group(0).rstrip("/")
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
        process.stdout.close()
