"""A connection by itself, on a wire and a clock that are made up: who has to go, what is said, and when time is out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the server comes with the extra rhoplan[serve]")

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rhoplan.app.serve.door import AT_ONCE, ENDING, FILES, FILES_PER_WORKER, Door, most_connections
from rhoplan.app.serve.settings import Settings

SETTINGS = Settings(connections=3, header_bytes=100, send_seconds=7.0)


class Timer(SimpleNamespace):
    """Something that is to happen; `cancelled` once it is not."""

    cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """A clock that stands still, and what it was asked to do later."""

    def __init__(self) -> None:
        self.now, self.timers = 100.0, []  # type: ignore[var-annotated]

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, what: Any) -> Timer:
        self.timers.append(Timer(seconds=seconds, what=what))
        return self.timers[-1]

    @property
    def due(self) -> list[float]:
        return [one.seconds for one in self.timers if not one.cancelled]


class Wire:
    """What was sent, and how it ended."""

    def __init__(self) -> None:
        self.sent, self.end, self.unread = b"", "", 0

    def write(self, data: bytes) -> None:
        self.sent += data

    def close(self) -> None:
        self.end = "closed"

    def abort(self) -> None:
        self.end = "aborted"

    def is_closing(self) -> bool:
        return bool(self.end)

    def get_write_buffer_size(self) -> int:
        return self.unread


def cycle(*, started: bool = False, complete: bool = False, more: bool = False) -> Any:
    return SimpleNamespace(response_started=started, response_complete=complete, more_body=more)


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> set[Any]:
    """The connections that are open. What uvicorn does with them by itself is left out."""
    for name in ("connection_made", "on_response_complete", "pause_writing", "resume_writing", "shutdown",
                 "timeout_keep_alive_handler", "on_message_begin", "on_url", "on_header", "on_headers_complete",
                 "on_body", "on_message_complete", "data_received", "connection_lost"):  # fmt: skip
        monkeypatch.setattr(HttpToolsProtocol, name, lambda *_, **__: None)

    def begin(self: Any, *, loop: Loop, connections: set[Any]) -> None:
        self.loop, self.connections, self.cycle, self.transport = loop, connections, None, Wire()
        connections.add(self)

    monkeypatch.setattr(HttpToolsProtocol, "__init__", begin)
    return set()


def door(others: set[Any], loop: Loop | None = None) -> Any:
    return Door(settings=SETTINGS, most=3, loop=loop or Loop(), connections=others)


@pytest.mark.parametrize(
    ("now", "waits"),
    [
        (None, True),
        (cycle(), False),
        (cycle(more=True), True),
        (cycle(started=True), False),
        (cycle(started=True, complete=True), True),
    ],
)
def test_a_client_is_waited_for_before_between_and_within_requests(others: set[Any], now: Any, waits: bool) -> None:
    one = door(others)
    one.cycle = now
    assert one.waits is waits
    one.shutdown()
    assert (one.transport.end, one.loop.due) == (("aborted", []) if waits else ("", [ENDING]))


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (None, True),
        (cycle(more=True), True),
        (cycle(started=True, more=True), False),
        (cycle(started=True), False),
        (cycle(started=True, complete=True, more=True), False),
        (cycle(started=True, complete=True), True),
    ],
)
def test_a_refusal_never_stands_in_the_middle_of_a_reply(others: set[Any], now: Any, told: bool) -> None:
    one = door(others)
    one.cycle = now
    one.refuse((431, b'{"error": 1}'))
    if told:
        head, _, body = one.transport.sent.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
        assert b"content-length: 12" in head
        assert b"connection: close" in head
        assert (body, one.transport.end) == (b'{"error": 1}', "closed")
    else:
        assert (one.transport.sent, one.transport.end) == (b"", "aborted")
        assert one not in others


def test_who_has_waited_longest_and_was_never_served_goes_first(others: set[Any]) -> None:
    loop = Loop()
    served, first, second = (door(others, loop) for _ in range(3))
    served.served, served.since, first.since, second.since = True, 1.0, 50.0, 60.0
    new = door(others, loop)
    new.connection_made(new.transport)
    assert [one.transport.end for one in (served, first, second, new)] == ["", "aborted", "", ""]
    assert others == {served, second, new}
    new.connection_made(new.transport)
    assert others == {served, second, new}  # as many as there may be
    busy = cycle()
    for one in others:
        one.cycle = busy
    late = door(others, loop)
    late.connection_made(late.transport)
    assert late.transport.sent.startswith(b"HTTP/1.1 503 ")
    assert b"all 3 connections" in late.transport.sent
    assert [one.transport.end for one in (served, second, new)] == ["", "", ""]


def test_an_answer_makes_a_connection_worth_keeping(others: set[Any]) -> None:
    one = door(others)
    one.loop.now = 250.0
    one.on_response_complete()
    assert (one.served, one.since) == (True, 250.0)


def test_the_head_of_a_request_is_counted_from_its_beginning(others: set[Any]) -> None:
    one = door(others)
    one.on_message_begin()
    one.on_url(b"u" * 40)
    one.on_header(b"n" * 30, b"v" * 30)
    with pytest.raises(ValueError, match="too large"):
        one.on_header(b"n", b"")
    one.send_400_response("whatever")
    assert one.transport.sent.startswith(b"HTTP/1.1 431 ")
    assert b"100 bytes" in one.transport.sent
    again = door(others)
    for _ in range(2):  # the second request counts from 0
        again.on_message_begin()
        again.on_header(b"n" * 50, b"v" * 50)
    again.send_400_response("whatever")
    assert again.transport.sent.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("heard", [None, "on_headers_complete", "on_body", "on_message_complete"])
def test_what_the_parser_holds_back_is_counted_until_it_is_heard_of(others: set[Any], heard: str | None) -> None:
    one = door(others)
    one.data_received(b"x" * 100)
    assert one.transport.end == ""
    if heard:
        getattr(one, heard)(*([b""] if heard == "on_body" else []))
    one.data_received(b"x")
    assert one.transport.end == ("" if heard else "closed")
    said = one.transport.sent
    one.data_received(b"x")
    assert one.transport.sent == said  # told once


def test_half_a_request_is_told_that_it_is_late_and_silence_is_cut_off(others: set[Any]) -> None:
    silent, half, whole = (door(others) for _ in range(3))
    for one in (silent, half, whole):
        one.connection_made(one.transport)
        assert one.loop.due == [7.0]
    for one in (half, whole):
        one.on_message_begin()
        one.on_url(b"/")
        assert one.loop.due == [7.0]  # anew for each request
    whole.on_message_complete()
    assert whole.loop.due == []
    silent.loop.timers[-1].what()
    assert (silent.transport.sent, silent.transport.end) == (b"", "aborted")
    half.loop.timers[-1].what()
    assert half.transport.sent.startswith(b"HTTP/1.1 408 ")
    assert b"within 7 seconds" in half.transport.sent


def test_a_reply_that_nobody_reads_is_given_up(others: set[Any]) -> None:
    one = door(others)
    one.pause_writing()
    assert one.loop.due == [7.0]
    one.resume_writing()
    assert one.loop.due == []
    one.timeout_keep_alive_handler()
    assert one.loop.due == []
    one.transport.unread = 1
    one.timeout_keep_alive_handler()
    assert one.loop.due == [7.0]
    one.loop.timers[-1].what()
    assert one.transport.end == "aborted"
    other = door(others)
    other.connection_made(other.transport)
    other.pause_writing()
    other.connection_lost(None)
    assert other.loop.due == []


@pytest.mark.parametrize(("files", "most"), [(-1, 50), (10_000, 50), (100, 20), (10, AT_ONCE)])
def test_files_are_left_for_the_server_itself(monkeypatch: pytest.MonkeyPatch, files: int, most: int) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    monkeypatch.setattr(resource, "RLIM_INFINITY", -1)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (files, files))
    assert most_connections(Settings(connections=50, workers=2)) == most
    assert (FILES, FILES_PER_WORKER) == (64, 8)
