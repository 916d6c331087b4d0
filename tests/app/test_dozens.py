"""Dozens of tests at the terminal and over HTTP: bounds and what they prove are told, and work can be stopped."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from rhoplan.advice.case import Adviser
from rhoplan.advice.part import Part
from rhoplan.app.cli import main
from rhoplan.app.serve.app import create_app
from rhoplan.app.serve.refusals import Reply, success
from rhoplan.app.serve.settings import Settings
from rhoplan.app.serve.worker import Job
from rhoplan.io.model_file import write_model
from rhoplan.planning.many.search import Search
from serving import PATIENCE
from weak import weak_tests


@pytest.fixture
def dozens(tmp_path: Path) -> str:
    """A model file with forty weak tests."""
    path = tmp_path / "dozens.yaml"
    path.write_text(write_model(weak_tests(40)))
    return str(path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Exit code, output and errors of a command, which finds its input at an end."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        return int(end.value.code or 0), *capsys.readouterr()

    return call


def test_decide_tells_bounds_and_whether_the_first_action_is_proven(run: Any, dozens: str) -> None:
    code, text, _ = run("decide", dozens, "--json")
    told = json.loads(text)
    assert (code, told["kind"], told["planner"]) == (0, "bounded", "many")
    values = {action["name"]: action["value"] for action in told["actions"]}
    assert set(told["bounds"]) == set(values)
    for name, (lower, upper) in told["bounds"].items():
        assert lower == pytest.approx(values[name])
        assert lower <= upper
    lower = told["bounds"][told["choice"]][0]
    others = max(upper for name, (_, upper) in told["bounds"].items() if name != told["choice"])
    assert told["proven"] == (told["choice"] if others <= lower + 1e-9 else None)
    assert told["margin"] == pytest.approx(max(lower - others, 0.0))
    _, text, _ = run("decide", dozens)
    sure = "proven best" if told["proven"] else "not proven best: the bounds leave others open"
    assert f"Do next: {told['choice']} ({sure})" in text
    assert "at most" in text
    assert told["beside"].split(";")[0] in text.replace("\n", " ")


def test_decide_proves_what_a_small_model_is(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "eight.yaml"
    path.write_text(write_model(weak_tests(8)))
    _, text, _ = run("decide", str(path), "--planner", "many", "--agent", "planning", "--json")
    told = json.loads(text)
    assert told["proven"] == told["choice"]
    assert "(proven best)" in run("decide", str(path), "--planner", "many", "--agent", "planning")[1]


def interrupted(*_: Any, **__: Any) -> Part:
    raise KeyboardInterrupt


def test_what_was_told_stands_when_the_rest_is_stopped(run: Any, dozens: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adviser, "_ahead", interrupted)
    code, text, errors = run("advise", dozens)
    assert code == 0
    assert "DO NEXT" in text
    assert "the rest was not worked out: stopped" in text
    assert "Traceback" not in text + errors
    code, text, _ = run("advise", dozens, "--json")
    assert (code, [part["part"] for part in json.loads(text)["parts"]]) == (0, ["first"])


def test_stopping_before_anything_is_told_is_one_line(run: Any, dozens: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Search, "run", interrupted)
    code, text, errors = run("advise", dozens)
    assert (code, errors.splitlines()[-1]) == (130, "rhoplan: stopped")
    assert "DO NEXT" not in text
    code, text, errors = run("advise", dozens, "--json")
    assert (code, json.loads(errors.splitlines()[-1])["error"]["code"], text) == (130, "stopped", "")


def test_solve_that_is_stopped_says_so_with_its_bounds(run: Any, dozens: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = sys.modules[Search.__module__]
    monkeypatch.setattr(trials, "run_trials", interrupted)
    code, text, _ = run("solve", dozens)
    assert code == 0
    assert "value    between" in text
    assert "the bounds did not meet within 0.001: stopped from the keyboard" in text


def test_ctrl_c_while_parts_are_worked_out_ends_without_a_traceback(dozens: str) -> None:
    command = [sys.executable, "-m", "rhoplan", "advise", dozens]
    settings = {**os.environ, "PYTHONUNBUFFERED": "1"}
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, env=settings, **pipes) as process:
        assert process.stdout is not None
        assert any("DO NEXT" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate("", timeout=PATIENCE)
    assert process.returncode in (0, 130), "130 where it met the moment between two things"
    assert "Traceback" not in errors


def test_a_client_that_goes_away_stops_the_part_at_hand() -> None:
    jobs, stopped = list[str](), list[str]()

    async def stream() -> None:
        app, begun = create_app(Settings()), asyncio.Event()

        async def work(job: Job, **_: Any) -> Reply:
            name = job.request["part"]
            jobs.append(name)
            if name == "first":
                return success({"part": name, "kind": "exact", "words": "", "content": {}})
            begun.set()
            try:
                await asyncio.sleep(PATIENCE)
            except asyncio.CancelledError:
                stopped.append(name)
                raise
            raise AssertionError("nobody waits for this any more")

        app.state.desk.pool.run = work
        body = json.dumps({"problem": "tiger", "parts": ["first", "ahead", "pathway"]}).encode()
        asked = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if asked:
                return asked.pop()
            await begun.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            assert message["type"].startswith("http.response")

        path = "/api/v1/advise/parts"
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "POST",
            "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers,
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "root_path": "",
        }  # fmt: skip
        await asyncio.wait_for(app(scope, receive, send), PATIENCE)  # type: ignore[arg-type]

    asyncio.run(stream())
    assert (jobs, stopped) == (["first", "ahead"], ["ahead"])
