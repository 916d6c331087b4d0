"""Who may ask, for what, and with what: the border refuses by itself, and every answer carries its headers."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
httpx = pytest.importorskip("httpx")

import uvicorn  # noqa: E402
from pydantic import ValidationError  # noqa: E402

from rhoplan.app.cli import main  # noqa: E402
from rhoplan.app.serve.app import create_app  # noqa: E402
from rhoplan.app.serve.body import MOST_VALUES, json_fault, values  # noqa: E402
from rhoplan.app.serve.border import HEADERS, JSON, SMALL_BYTES, SMALL_VALUES, TABLES, Border, Send  # noqa: E402
from rhoplan.app.serve.carrying import Pages  # noqa: E402
from rhoplan.app.serve.door import AT_ONCE  # noqa: E402
from rhoplan.app.serve.refusals import Reply, success  # noqa: E402
from rhoplan.app.serve.running import QUEUE, FewLines, Server, log_few_lines  # noqa: E402
from rhoplan.app.serve.settings import LOOPBACK, Settings  # noqa: E402
from rhoplan.app.serve.worker import Job  # noqa: E402

SENT = {"content-type": JSON}
TIGER = b'{"problem": "tiger"}'
KEY = "correct horse battery"


class Site:
    """The server without processes: asked has the tasks that reached a worker."""

    made: ClassVar[list[Site]] = []

    def __init__(self, **settings: Any) -> None:
        self.app = create_app(Settings(**settings))
        self.asked: list[str] = []
        self.loop = asyncio.new_event_loop()  # one for all requests: some leave work that goes on
        self.made.append(self)
        self.app.state.desk.pool.run = self._run

    async def _run(self, job: Job, **_: Any) -> Reply:
        self.asked.append(job.task)
        if job.task == "solve":
            raise ZeroDivisionError
        return success({"html": "<p>"} if job.task == "report" else {})

    def __call__(self, method: str, path: str, content: bytes = b"", **headers: str) -> Any:
        async def call() -> Any:
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8765") as client:
                named = {name.replace("_", "-"): value for name, value in headers.items()}
                return await client.request(method, path, content=content, headers=named)

        return self.loop.run_until_complete(call())

    def close(self) -> None:
        async def end() -> None:
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

        self.loop.run_until_complete(end())
        self.loop.close()

    def decide(self, content: bytes = TIGER, **headers: str) -> Any:
        return self("POST", "/api/v1/decide", content, **{"content_type": JSON, **headers})


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    """No loop is left open: it would warn of that when it is forgotten, in whatever test runs just then."""
    yield
    while Site.made:
        Site.made.pop().close()


@pytest.fixture(scope="module")
def site() -> Site:
    return Site()


@pytest.fixture(scope="module")
def named() -> Site:
    """A server that others can reach."""
    return Site(hosts=(*LOOPBACK, "plan.example"))


# -- who asks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": ""}, {"origin": "http://localhost:9"},
        {"origin": "http://localhost"}, {"origin": "http://localhost:8765.evil.example"},
        {"origin": "http://127.0.0.1:8765"}, {"origin": "file://localhost:8765"}, {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"}, {"sec_fetch_site": "same-origin", "origin": "http://evil.example"},
    ],
)  # fmt: skip
def test_pages_of_others_start_nothing(site: Site, headers: dict[str, str]) -> None:
    navigates = {"sec_fetch_mode": "navigate", "sec_fetch_dest": "document", **headers}
    before = list(site.asked)
    for path in ("/api/v1/models", "/api/v1/report/tiger", "/api/v1/models/tiger", "/api/v1/openapi.json", "/app.js"):
        assert site("GET", path, **headers).status_code == 403
        assert site("GET", path, **navigates).status_code == 403
    assert site("DELETE", "/api/v1/models/tiger", **headers).status_code == 403
    assert site.decide(**headers).status_code == 403
    assert site.asked == before


def test_the_own_page_people_and_programs_may_ask(site: Site) -> None:
    for headers in (
        {},
        {"origin": "http://localhost:8765"},
        {"sec_fetch_site": "same-origin"},
        {"sec_fetch_site": "none"},
    ):
        assert site.decide(**headers).status_code == 200
        assert site("GET", "/api/v1/report/tiger", **headers).status_code == 200
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert site("GET", "/", **link).status_code == 200, "a link may open the page"
    assert site("GET", "/", **{**link, "sec_fetch_dest": "iframe"}).status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        "localhost.evil.com", "127.0.0.1.evil", "evil.localhost", "localhost.", "localhost:80:80", "localhost@evil.com",
        "evil.example", "l", "127.0.0.1:", "[::1].evil", "0.0.0.0",
    ],
)  # fmt: skip
def test_only_whole_names_are_known(site: Site, named: Site, host: str) -> None:
    assert site("GET", "/health", host=host).status_code == 421
    assert site("GET", "/", host=host).status_code == 421
    assert named("GET", "/health", host=host).status_code == 421


def test_allowed_hosts_are_known_off_loopback_and_no_others(named: Site) -> None:
    for host, status in {
        "plan.example": 200,
        "PLAN.example:80": 200,
        "a.plan.example": 421,
        "plan.example.org": 421,
    }.items():
        assert named("GET", "/health", host=host).status_code == status
    for host in ("localhost", "127.0.0.1:9", "[::1]:9", "LOCALHOST"):
        assert named("GET", "/health", host=host).status_code == 200


def test_a_key_is_needed_where_there_is_one() -> None:
    site = Site(key=KEY)
    for headers in (
        {}, {"authorization": KEY}, {"authorization": f"Basic {KEY}"}, {"authorization": "Bearer"},
        {"authorization": f"Bearer {KEY[:-1]}"}, {"authorization": f"Bearer {KEY}x"}, {"x_api_key": KEY.upper()},
        {"x_api_key": ""}, {"authorization": "Bearer wrong", "x_api_key": KEY},
    ):  # fmt: skip
        reply = site.decide(**headers)
        assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
        assert site("GET", "/api/v1/openapi.json", **headers).status_code == 401
    assert site.asked == []
    assert site.decide(authorization=f"Bearer {KEY}").status_code == 200
    assert site.decide(authorization=f"bearer  {KEY}").status_code == 200
    assert site.decide(x_api_key=KEY).status_code == 200
    assert site("GET", "/health").json() == {"status": "ok"}
    assert site("GET", "/").status_code == 200, "the page can ask for the key"


# -- what is sent -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["text/plain", "", "application/x-www-form-urlencoded", "text/csv", "application/jsonx"]
)
def test_the_border_checks_the_content_type_itself(kind: str) -> None:
    async def takes_all(scope: Any, receive: Any, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"taken"})

    async def status(path: str, kind: str) -> int:
        transport = httpx.ASGITransport(app=Border(takes_all, Settings()))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return int((await client.post(path, content=b"{}", headers={"content-type": kind})).status_code)

    assert asyncio.run(status("/api/v1/models", kind)) == 415
    assert asyncio.run(status("/anywhere", kind)) == 415
    assert asyncio.run(status("/api/v1/models", "Application/JSON; charset=utf-8")) == 200
    assert asyncio.run(status(TABLES, JSON)) == 415
    assert asyncio.run(status(TABLES, "text/csv")) == 200


@pytest.mark.parametrize(
    ("content", "status", "told"),
    [
        (b'{"problem": "tiger", "problem": "bandit"}', 422, "'problem' stands twice"),
        (b'{"problem": {"states": {"a": 1, "b": 2, "a": 3}}}', 422, "'a' stands twice"),
        (b'{"problem": "tiger", "weight": 1' + b"0" * 500 + b"}", 422, "400 characters at most"),
        (b'{"problem": "tiger", "weight": 1.' + b"0" * 500 + b"}", 422, "400 characters at most"),
        (b"[" * 15_000, 422, "nested too deeply"),
        (b"[" * 2_000_000, 413, "50,000 values"),
        (b'{"problem": {"a": [' + b"1," * 60_000 + b"1]}}", 413, "50,000 values"),
        (b'{"problem": {"a": ["' + b'","' * 60_000 + b'"]}}', 413, "50,000 values"),
        (b'{"problem": "\xff"}', 422, "UTF-8"),
        ('{"problem": "tiger"}'.encode("utf-16"), 422, "UTF-8"),
        ('{"problem": "tiger"}'.encode("utf-16-le"), 422, "not JSON"),
    ],
)  # fmt: skip
def test_bodies_that_cost_much_or_mean_two_things_are_refused(
    site: Site, content: bytes, status: int, told: str
) -> None:
    before = list(site.asked)
    reply = site.decide(content)
    assert (reply.status_code, told in reply.json()["error"]["message"]) == (status, True), reply.text
    assert site.asked == before


def test_a_large_text_is_one_value_whatever_is_in_it(site: Site) -> None:
    text = 'a: [1, 2, "x", {b: "\\"}]\n' * 40_000
    content = json.dumps({"name": "long", "text": text}).encode()
    assert values(content) < 10
    assert json_fault(content) is None
    assert site("POST", "/api/v1/models", content, **SENT).status_code == 200
    assert values(b'{"a": [1, 2], "b": {"c": "[,"}}') <= MOST_VALUES


def test_what_is_being_sent_has_a_limit_together() -> None:
    """Two clients that send much, and not to the end, do not fill the memory; small requests still pass."""
    border = Border(Site().app, Settings(held_bytes=150_000))
    headers = [(b"host", b"localhost"), (b"content-type", JSON.encode())]
    scope = {"type": "http", "method": "POST", "path": "/api/v1/decide", "headers": headers, "query_string": b""}

    async def status(*parts: bytes, more: asyncio.Event | None = None) -> int:
        left, found = list(parts), [0]

        async def receive() -> Any:
            if left:
                return {"type": "http.request", "body": left.pop(0), "more_body": bool(left) or more is not None}
            assert more is not None
            await more.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            found.append(message.get("status", 0))

        await border(dict(scope), receive, send)
        return max(found)

    async def attack() -> list[int]:
        gone = asyncio.Event()
        first = asyncio.ensure_future(status(b" " * 100_000, more=gone))
        await asyncio.sleep(0)
        told = [await status(b" " * 100_000, more=gone), await status(b"[]")]
        gone.set()
        await first
        return [*told, await status(b" " * 100_000)]

    assert asyncio.run(attack()) == [429, 422, 422]


# -- what every answer says -------------------------------------------------------------------------------------------


def test_every_answer_says_what_it_allows() -> None:
    site = Site(request_bytes=1000)
    found = {
        200: [site("GET", "/"), site("GET", "/app.js"), site("GET", "/icon.svg"), site("GET", "/health"), site.decide(),
              site("GET", "/api/v1/report/tiger"), site("GET", "/api/v1/openapi.json")],
        403: [site.decide(origin="http://evil")],
        404: [site("GET", "/nothing"), site("GET", "/api/v1/models/none")],
        405: [site("GET", "/api/v1/decide")],
        413: [site.decide(b" " * 2000)],
        415: [site.decide(content_type="text/plain")],
        421: [site("GET", "/", host="evil")],
        422: [site.decide(b"{"), site.decide(b"[]")],
        401: [Site(key=KEY).decide()],
        500: [site("POST", "/api/v1/solve", TIGER, **SENT)],
    }  # fmt: skip
    for status, answers in found.items():
        for answer in answers:
            assert answer.status_code == status, answer.text
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            for name, value in HEADERS[1:]:
                assert answer.headers[name.decode()] == value.decode()
            if status != 200:
                assert answer.json()["error"]["message"]


# -- how it is started ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--host", "0.0.0.0"), "--allow-host NAME"),
        (("--host", "::"), "--allow-host NAME"),
        (("--host", "192.168.1.9", "--key", KEY), "--allow-host NAME"),
        (("--host", "0.0.0.0", "--allow-host", "http://x"), "without port or scheme"),
        (("--host", "0.0.0.0", "--allow-host", "x:80"), "without port or scheme"),
        (("--host", "0.0.0.0", "--allow-host", "*"), "without port or scheme"),
        (("--host", "0.0.0.0", "--allow-host", "x", "--key", "short"), "16 characters"),
        (("--key", "not-ascii-\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"), "ASCII"),
        (("--no-key", "--allow-host", "plan.example"), "only this machine can reach"),
        (("--no-key", "--host", "0.0.0.0", "--allow-host", "localhost"), "only this machine can reach"),
        (("--no-key", "--key", KEY), "one of"),
    ],
)  # fmt: skip
def test_others_are_let_in_by_name_and_key_only(
    arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["serve", "--port", "0", *arguments])
    said = capsys.readouterr().err
    assert (end.value.code, said.count("\n")) == (2, 1)
    assert told in said


def test_a_log_that_is_flooded_stays_short() -> None:
    now = [0.0]
    few = FewLines(3, 60, lambda: now[0])

    def told(number: int) -> list[str]:
        records = [logging.makeLogRecord({"msg": "fault %d", "args": (one,)}) for one in range(number)]
        return [record.getMessage() for record in records if few.filter(record)]

    assert told(10) == ["fault 0", "fault 1", "fault 2 (what follows is left out for a while)"]
    now[0] = 59
    assert told(1) == []
    now[0] = 60
    assert told(2) == ["fault 0", "fault 1"]


def test_the_server_tells_of_faults_and_not_of_requests() -> None:
    loggers = [logging.getLogger(name) for name in ("uvicorn", "asyncio")]
    before = [(one.handlers, one.propagate, one.level) for one in loggers]
    try:
        for one in loggers:
            one.setLevel(logging.DEBUG)
        log_few_lines()
        assert [one.isEnabledFor(logging.INFO) for one in loggers] == [False, False]
        assert [one.isEnabledFor(logging.WARNING) for one in loggers] == [True, True]
    finally:
        for one, (handlers, propagate, level) in zip(loggers, before, strict=True):
            one.handlers, one.propagate = handlers, propagate
            one.setLevel(level)


def test_more_may_wait_in_line_than_are_taken_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[int] = []

    async def starts(self: uvicorn.Server, sockets: Any = None) -> None:
        lines.append(AT_ONCE)

    monkeypatch.setattr(uvicorn.Server, "startup", starts)
    server = Server(uvicorn.Config(lambda: None), lambda: None)
    asyncio.run(server.startup([SimpleNamespace(listen=lines.append)]))  # type: ignore[list-item]
    assert lines == [AT_ONCE, QUEUE]
    assert QUEUE > AT_ONCE


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_pages_are_made_of_numbers_that_are_some(number: float) -> None:
    for name in ("weight", "near"):
        with pytest.raises(ValidationError):
            Pages.model_validate({name: number})


@pytest.mark.parametrize(("more", "waits"), [(0, False), (1, True)])
def test_small_bodies_of_many_values_wait_for_large_ones_too(more: int, waits: bool) -> None:
    body = b"[" + b",".join([b"1"] * (SMALL_VALUES + more)) + b"]"
    assert len(body) < SMALL_BYTES
    assert values(body) == SMALL_VALUES + more

    async def looked_at() -> Reply | None:
        border = Border(lambda *_: None, Settings(patience=0.01))  # type: ignore[arg-type,return-value]
        await border._large.acquire()  # a large body is at work, and stays
        return await border._looked_at(body, "/api/v1/decide")

    refused = asyncio.run(looked_at())
    assert (refused is not None and refused[0] == 429) == waits


@pytest.mark.parametrize("name", ["host", "origin", "content-type", "content-length", "authorization"])
def test_a_header_that_decides_may_come_once(name: str) -> None:
    border = Border(lambda *_: None, Settings())  # type: ignore[arg-type,return-value]
    once = [(name.encode(), b"1"), (b"accept", b"a"), (b"accept", b"b")]
    refused = border.refused({"headers": [*once, (name.upper().encode(), b"2")], "method": "GET", "path": "/"})
    assert refused is not None
    assert (refused[0], json.loads(refused[1])["error"]["field"]) == (400, name)
    other = border.refused({"headers": once, "method": "GET", "path": "/"})
    assert other is not None
    assert other[0] == 421
