"""A process in which everything but the library is imported; it runs tests in a fork of itself, again and again.

Importing numpy, numba, pytest and the rest takes longer than most tests. Reads a line of JSON for each run: tests (what
pytest is told), folder, environment, seconds (of work after which it is ended), out (a file for what is printed).
Answers with pytest's exit code; below zero: the signal that ended it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

PRELOADED = (
    "pytest", "_pytest.assertion.rewrite", "hypothesis", "xdist", "numpy", "scipy.sparse", "scipy.optimize",
    "scipy.stats", "scipy.special", "numba", "pydantic", "fastapi", "uvicorn", "httpx", "yaml", "rich.table",
    "click", "matplotlib.figure", "multiprocessing.spawn", "concurrent.futures",
)  # fmt: skip

WAITS = 20
"""How many times longer than it may work a run may take where it waits for others, or others keep the machine busy."""


def main() -> None:
    for name in PRELOADED:
        with suppress(ImportError):
            import_module(name)
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    gc.freeze()  # forks need not look at all of this for garbage
    for line in sys.stdin:
        print(run(json.loads(line)), flush=True)


def run(asked: dict[str, Any]) -> int:
    """How pytest ended; nothing that the tests started is left behind."""
    pid = os.fork()
    if pid == 0:
        _become(asked)
    _, status = os.waitpid(pid, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status)


def _become(asked: dict[str, Any]) -> None:
    code = 3
    try:
        os.setsid()
        os.chdir(asked["folder"])
        out = os.open(asked["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, place in ((nothing, 0), (out, 1), (out, 2)):
            os.dup2(number, place)
        os.environ.update(asked["environment"])
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])
        signal.setitimer(signal.ITIMER_REAL, WAITS * asked["seconds"])
        import_module("sitecustomize").put_in()
        with suppress(ImportError):
            import_module("numba.core.config").reload_config()
        code = int(import_module("pytest").main(asked["tests"]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
