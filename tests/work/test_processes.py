"""Processes that work for another: nobody is left behind when it ends, and ctrl-C ends it in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from rhoplan.parallel import run_jobs
from serving import PATIENCE, children, eventually, is_alive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")


@dataclass(frozen=True)
class Marked:
    """A job that leaves a mark when it begins, and has no end."""

    key: str
    about: str


def works_for_ever(much: str, job: Marked) -> dict[str, str]:
    Path(job.about, job.key).touch()
    sum(range(10**12))  # lets no other thread of its process run, as compiled code does
    return {}


def begin(folder: str) -> None:
    """Two jobs without an end, each in a process of its own, with more to hand on than a pipe holds."""
    run = partial(works_for_ever, "much" * 10**6)
    for _ in run_jobs(run, [Marked("a", folder), Marked("b", folder)], workers=2):
        pass


@pytest.mark.parametrize("at", ["start", "work"])
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_processes_end_with_the_one_they_work_for(sign: int, at: str, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    script = "import sys; from test_processes import begin; begin(sys.argv[1])"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with (tmp_path / "errors").open("w") as errors:
        command = [sys.executable, "-c", script, str(marks)]
        with subprocess.Popen(command, env=env, stderr=errors, start_new_session=True) as process:
            try:
                if at == "work":
                    assert eventually(lambda: len(list(marks.iterdir())) == 2)
                assert eventually(lambda: len(children(process.pid)) >= 2)
                started = children(process.pid)
                if sign == signal.SIGINT:
                    os.killpg(process.pid, sign)  # as ctrl-C does
                else:
                    process.send_signal(sign)
                process.wait(timeout=PATIENCE)
                assert eventually(lambda: not any(map(is_alive, started)))
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # a failure leaves nobody behind who works for ever
    told = (tmp_path / "errors").read_text()
    if (
        sign != signal.SIGKILL or at == "work"
    ):  # who is killed while it starts another leaves that one with half a letter
        assert told.count("Traceback") == (sign == signal.SIGINT), told  # the script's own, where it is stopped
