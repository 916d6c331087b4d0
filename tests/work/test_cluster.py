"""Simulation on a Dask cluster: the same episodes, also where a worker is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rhoplan
from bridge import RolloutSettings, episodes_on_graphs, make_agent

pytest.importorskip("distributed", reason="needs the extra `cluster`")


def begin(*command: str) -> subprocess.Popen[bytes]:
    """A Dask process in a group of its own."""
    environment = {
        **os.environ,
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "5",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    module = [sys.executable, "-m", *command, "--no-dashboard", "--host", "127.0.0.1"]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(module, stdout=nowhere, stderr=nowhere, env=environment, start_new_session=True)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler, and its two workers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    scheduler = begin("distributed.cli.dask_scheduler", "--port", str(port))
    options = ("--nthreads", "1", "--no-nanny", "--local-directory")
    workers = [begin("distributed.cli.dask_worker", address, *options, str(tmp_path / str(n))) for n in range(2)]
    yield address, workers
    for process in (*workers, scheduler):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_episodes_on_a_cluster_are_the_same_when_a_worker_is_killed(cluster) -> None:
    address, workers = cluster
    problem = rhoplan.make("diagnosis")
    policy = make_agent("efe", problem).policy(problem)
    settings, done = RolloutSettings(batch=50), []

    def advanced(count: int) -> None:
        done.append(count)
        if len(done) == 3:
            os.killpg(workers[0].pid, signal.SIGKILL)

    how = {"seeds": [1, 2], "episodes": 500, "settings": settings}
    found = episodes_on_graphs(problem, policy, cluster=address, progress=advanced, **how)
    assert workers[0].wait() == -signal.SIGKILL
    assert done == [50] * 20
    assert repr(found.to_frame()) == repr(episodes_on_graphs(problem, policy, **how).to_frame())
    assert found.reward.tolist() == episodes_on_graphs(problem, policy, **how).reward.tolist()
