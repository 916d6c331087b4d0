"""The example package outside the library: its planner and utility work by name in all front ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from serving import PATIENCE, server

PACKAGE = Path(__file__).parents[2] / "examples" / "package"
SETTINGS = {"agent": "planning-ig", "weight": 2.0, "planner": "threshold", "utility": "confidence"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An environment in which the package is on `sys.path`, with the metadata that an installer writes."""
    about = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = tmp_path_factory.mktemp("site")
    folder = site / f"rhoplan_example-{about['version']}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n")
    lines = [
        line
        for group, points in about["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {where}" for name, where in points.items()))
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines))
    path = os.pathsep.join([str(PACKAGE / "src"), str(site), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        yield {**os.environ, "PYTHONPATH": path}


def command(installed: dict[str, str], *words: str, typed: str | None = None) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "rhoplan", *words],
        env=installed,
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def options() -> list[str]:
    return [word for name, value in SETTINGS.items() for word in (f"--{name}", str(value))]


def test_its_sources_are_short() -> None:
    for name in ("planner", "utility"):
        text = (PACKAGE / "src" / "rhoplan_example" / f"{name}.py").read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 25


def test_the_command_line_the_server_and_the_replay_know_it(installed: dict[str, str], tmp_path: Path) -> None:
    told = json.loads(command(installed, "decide", "tiger", *options(), "--given", "listen=hear-left", "--json"))
    assert (told["planner"], told["utility"], told["choice"]) == ("threshold", "confidence", "listen")
    value = {one["name"]: one["weighted_information"] for one in told["actions"]}
    assert value["open-left"] == pytest.approx(2 * 0.85)

    with server() as address:
        body: dict[str, Any] = {"problem": "tiger", "given": [["listen", "hear-left"]], **SETTINGS}
        request = Request(f"{address}/api/v1/decide", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urlopen(request, timeout=PATIENCE) as reply:
            assert json.load(reply) == told

    log = tmp_path / "cases.jsonl"
    command(installed, "advise", "tiger", *options(), "--log", str(log), typed="1\n1\nstop\n")
    kept = json.loads(log.read_text(encoding="utf-8").splitlines()[0])
    assert (kept["agent"]["planner"], kept["agent"]["utility"]) == ("threshold", "confidence")
    assert json.loads(command(installed, "replay", str(log), "--json"))["difference"] is None


def test_the_planner_keeps_the_promises_of_planners(installed: dict[str, str]) -> None:
    code = (
        "import rhoplan as rp; from rhoplan_example.planner import Threshold\n"
        "rp.check_planner(Threshold(), problems=[rp.make('tiger')])"
    )
    subprocess.run([sys.executable, "-c", code], env=installed, check=True)
