"""Learning over HTTP: a table in, progress, a bill and a model out; faults in a line; what is to be forgotten is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
pytest.importorskip("sklearn", reason="learning comes with the extra rhoplan[learn]")
httpx = pytest.importorskip("httpx")

from bridge import (  # noqa: E402
    TABLES,
    Pool,
    Settings,
    Tables,
    UnknownModel,
    create_app,
    describe_table,
    parse_plan,
    parse_problem,
    parse_table,
    table_source,
)
from bridge import learn_from_table as learn  # noqa: E402
from rhoplan import MissingExtra  # noqa: E402
from serving import PATIENCE, server  # noqa: E402

CSV = {"content-type": "text/csv"}
MARK = "Zwölfaxing"
"""Stands in the table, as Windows writes it, and is looked for afterwards."""


def drawn(cases: int = 80, tests: int = 1) -> bytes:
    """A table in which `scan0` tells two diagnoses apart, with a place that is no test."""
    generator = np.random.default_rng(4)
    ill = np.arange(cases) % 2 == 1
    scans = generator.normal(3.0 * ill[:, None] * (np.arange(tests) == 0), 1.0).round(2)
    head = ",".join([*(f"scan{number}" for number in range(tests)), "place", "found"])
    rows = [
        ",".join([*map(str, scan), MARK if number == 5 else "Wien", "ill" if one else "well"])
        for number, (scan, one) in enumerate(zip(scans.tolist(), ill, strict=True))
    ]
    return "\n".join([head, *rows, ""]).encode("cp1252")


def plan_of(tests: int = 1) -> dict[str, Any]:
    losses = {"call-well": {"well": 0, "ill": 40}, "call-ill": {"well": 40, "ill": 0}}
    prices = {f"scan{number}": {"cost": 5 if number else 1} for number in range(tests)}
    return {"target": "found", "unit": "EUR", "tests": prices, "losses": losses}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The only place for files that the server is told of."""
    return tmp_path_factory.mktemp("places")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TMPDIR", "HOME", "XDG_CACHE_HOME"):
            patch.setenv(name, str(folder))
        with (
            server("--workers", "3") as address,
            httpx.Client(base_url=f"{address}/api/v1", timeout=PATIENCE) as session,
        ):
            yield session


def send(client: Any, data: bytes) -> Any:
    reply = client.post("learn/table", content=data, headers=CSV)
    assert reply.status_code == 200, reply.text
    return reply.json()


def fault(reply: Any, status: int = 422) -> dict[str, Any]:
    assert reply.status_code == status, reply.text
    error: dict[str, Any] = reply.json()["error"]
    assert "\n" not in error["message"]
    return error


def test_a_table_is_described(client: Any) -> None:
    found = send(client, drawn())
    assert found["cases"] == 80
    assert [column["name"] for column in found["columns"]] == ["scan0", "place", "found"]
    scan, place, target = found["columns"]
    assert (scan["kind"], scan["target"], scan["test"], scan["blanks"]) == ("number", False, True, 0)
    assert (place["kind"], place["distinct"]) == ("text", 2)
    assert (target["target"], target["distinct"]) == (True, 2)
    assert any("Windows-1252" in warning for warning in found["warnings"])


def test_a_draft_has_a_price_for_each_test_and_a_loss_for_each_error(client: Any) -> None:
    token = send(client, drawn())["table"]
    found = client.post("learn/draft", json={"table": token, "target": "found"}).json()
    assert found["plan"]["tests"] == {"scan0": {"cost": 1}, "place": {"cost": 1}}
    assert found["plan"]["losses"] == {"call-well": {"well": 0, "ill": 1}, "call-ill": {"well": 1, "ill": 0}}
    assert found["diagnoses"] == {"well": 40, "ill": 40}
    assert "few diagnoses" in fault(client.post("learn/draft", json={"table": token, "target": "scan0"}))["message"]


def test_learning_tells_how_far_it_is_and_gives_what_the_library_does(client: Any, folder: Path) -> None:
    table, plan = drawn(80, 2), plan_of(2)
    token = send(client, table)["table"]
    body = {"table": token, "plan": plan, "name": "scans", "folds": 2, "seed": 3}
    with client.stream("POST", "learn", json=body) as reply:
        assert reply.headers["content-type"] == "application/x-ndjson"
        *steps, last = [json.loads(line) for line in reply.iter_lines()]
    assert [step["progress"] for step in steps] == [{"done": done, "of": 3} for done in range(4)]
    own = learn(parse_table(table), parse_plan(json.dumps(plan), language="json"), folds=2, repeats=1, seed=3)
    found = last["result"]
    assert found["verdict"] == "carries"
    assert {name: found[name] for name in own.bill.record} == json.loads(json.dumps(own.bill.record))
    assert found["words"][0].startswith("The data carry the model")
    assert (
        parse_problem(found["model"], file="scans", language="yaml").details["learned"]["heldout"] == found["heldout"]
    )

    uploaded = client.post("models", json={"name": found["name"], "text": found["model"]})
    assert uploaded.status_code == 200
    assert client.post("advise", json={"problem": "scans"}).json()["do"] == "scan0"
    report = client.get("learn/report/scans")
    assert report.headers["content-type"].startswith("text/html")
    assert found["words"][0][:40] in report.text
    assert "was not learned" in fault(client.get("learn/report/tiger"))["message"]

    marks = [MARK.encode(code) for code in ("cp1252", "utf-8", "utf-16-le", "unicode_escape")]
    for path in folder.rglob("*"):
        assert not path.is_file() or not any(mark in path.read_bytes() for mark in marks), path


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"scan,found\n1,well\n2\n", "row 3"),
        (b"scan,scan\n1,2\n", "column 'scan', row 1"),
        (b"1,2\n3,4\n", "row 1"),
        (b"", "empty"),
        (b"PK\x03\x04rest", "spreadsheet"),
    ],
    ids=["short row", "name twice", "no header", "empty", "spreadsheet"],
)
def test_a_fault_in_a_table_is_a_line_with_its_place(client: Any, data: bytes, words: str) -> None:
    assert words in fault(client.post("learn/table", content=data, headers=CSV))["message"]


def test_a_fault_in_what_is_asked_is_refused_before_any_line(client: Any) -> None:
    token, plan = send(client, drawn())["table"], plan_of()

    def refused(**changes: Any) -> dict[str, Any]:
        return fault(client.post("learn", json={"table": token, "plan": plan, "folds": 2, **changes}))

    assert refused(plan={**plan, "tests": {"scan0": {"cost": -1}}})["field"] == "plan.tests.scan0.cost"
    assert "column" in refused(plan={**plan, "tests": {"scan9": {"cost": 1}}})["message"]
    rare = refused(plan={**plan, "target": "place", "losses": {"keep": {"Wien": 0, MARK: 1}}})
    assert "column 'place'" in rare["message"]
    assert refused(name="tiger")["field"] == "name"
    assert refused(folds=1)["field"] == "folds"
    assert "blanks" not in refused(group="nobody")["message"]
    reply = client.post("learn/table", content=drawn(), headers={"content-type": "application/json"})
    assert "text/csv" in fault(reply, 415)["message"]


def test_a_table_that_is_told_to_go_is_gone(client: Any) -> None:
    token = send(client, drawn())["table"]
    assert client.delete(f"learn/table/{token}").json() == {"removed": token}
    assert fault(client.delete(f"learn/table/{token}"), 404)["field"] == "name"
    for path, more in (("learn", {"plan": plan_of()}), ("learn/draft", {"target": "found"})):
        error = fault(client.post(path, json={"table": token, **more}), 404)
        assert (error["field"], "forgotten" in error["message"]) == ("table", True)


def test_a_table_goes_by_itself_when_nobody_uses_it() -> None:
    async def held() -> list[int]:
        settings = Settings(table_expiry=0.01)
        tables = Tables(settings, Pool(settings))
        tables.keep(table_source("one", drawn()))
        found = [len(tables.held.listed())]
        while tables.held._kept:
            await asyncio.sleep(0.05)
        with pytest.raises(UnknownModel):
            tables.find("one")
        return [*found, len(tables.held._kept)]

    assert asyncio.run(held()) == [1, 0]


def test_closing_the_connection_ends_the_work(client: Any) -> None:
    """One learns at a time: what comes after would wait for the whole of the work that was given up."""
    wide = 30
    token = send(client, drawn(1500, wide))["table"]
    url = client.base_url

    def begin(stack: contextlib.ExitStack, body: dict[str, Any]) -> socket.socket:
        data = json.dumps(body).encode()
        line = stack.enter_context(socket.create_connection((url.host, url.port), timeout=PATIENCE))
        head = f"POST {url.path}learn HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        line.sendall(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)
        return line

    with contextlib.ExitStack() as stack:
        line = begin(stack, {"table": token, "plan": plan_of(wide), "folds": 20, "repeats": 20})
        read = b""
        while b'"done":0,"of":401' not in read:
            part = line.recv(100_000)
            assert part, read
            read += part
    small = send(client, drawn())["table"]
    with contextlib.ExitStack() as stack:
        line = begin(stack, {"table": small, "plan": plan_of(), "folds": 2})
        assert select.select([line], [], [], PATIENCE / 4)[0], "work for a client that has gone goes on"


def test_a_table_has_a_limit_of_its_own() -> None:
    async def sent(path: str, size: int, kind: str, *, chunked: bool = False) -> Any:
        async def chunks() -> Any:
            for _ in range(size // 100):
                yield b" " * 100

        app = create_app(Settings(table_bytes=5000, request_bytes=1000))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as session:
            content = chunks() if chunked else b" " * size
            return await session.post(path, content=content, headers={"content-type": kind})

    for chunked in (False, True):
        error = fault(asyncio.run(sent(TABLES, 5100, "text/csv", chunked=chunked)), 413)
        assert (error["limit"], "5,000 bytes" in error["message"]) == ({"bytes": 5000}, True)
        reply = asyncio.run(sent("/api/v1/learn", 1100, "application/json", chunked=chunked))
        assert fault(reply, 413)["limit"] == {"bytes": 1000}
    fault(asyncio.run(sent(TABLES, 4900, "text/plain")), 415)


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match=r"pip install 'rhoplan\[learn\]'"):
        describe_table(table_source("one", drawn()))
