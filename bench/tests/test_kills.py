"""Kills at random moments: a few here, to see that they are done and that what is left would be found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rhoplan_bench import kills

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")


def test_a_log_outlives_those_who_write_to_it(tmp_path: Path) -> None:
    found = kills.killed("advise", 2, folder=tmp_path)
    assert (found.kills, found.faults) == (2, [])
    assert 2 <= len((tmp_path / "cases.jsonl").read_text().splitlines()) <= 4


def test_whoever_and_whatever_is_left_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "PATIENCE", 0.0)
    ground = kills.Ground(tmp_path)
    (tmp_path / "temporary").mkdir()
    (tmp_path / "temporary" / "half").touch()
    env = {**os.environ, "RHOPLAN_MARK": ground.mark}
    with subprocess.Popen(["cat"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"here\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"here\n"  # only now Linux shows its environment for sure
        told = list(ground.left())
        process.kill()
    assert told == [f"process {process.pid} is left", "temporary file half is left"]


def test_what_is_lost_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command whose second run gives something else than the first, whatever it is."""
    made, results = tmp_path / "made", iter(["in peace", "another"])

    def in_peace(*_: str) -> float:
        made.touch()
        return 0.0

    ground, found = kills.Ground(tmp_path), kills.Killed("it")
    monkeypatch.setattr(ground, "in_peace", in_peace)
    kills._again(ground, found, 0, kills.random.Random(0), ("it",), "made", lambda folder: next(results))
    assert found.faults == ["after 0 kills made is not what it is in peace"]
