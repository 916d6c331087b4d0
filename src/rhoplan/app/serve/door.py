"""A connection to the server: what it may send, in what time, and who has to go when there are too many.

Stands between the sockets and the border: whatever is here has not become a request yet. A client that sends half a
request holds a connection, not the server; the longest waiting one goes when a new one comes and there is no room, and
there are always files left for the server's own use.
"""

from __future__ import annotations

import asyncio
import sys
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rhoplan.app.serve.border import with_headers
from rhoplan.app.serve.refusals import Reply, refusal
from rhoplan.app.serve.settings import Settings

FILES, FILES_PER_WORKER = 64, 8
"""Open files that are kept for the server itself: listening, reading, starting processes, and pipes to them."""

AT_ONCE = 16
"""Connections taken from the queue before the next look at those that are there; far fewer than FILES."""

ENDING = 0.5
"""Seconds that a reply may take to be sent once the server ends."""


def most_connections(settings: Settings) -> int:
    """How many connections may be open: what the settings say, or as many as the system's limit on files allows."""
    if sys.platform == "win32":
        return settings.connections
    import resource

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return settings.connections
    return max(AT_ONCE, min(settings.connections, files - FILES - FILES_PER_WORKER * settings.workers))


class Door(HttpToolsProtocol):
    """One connection. served: a request has been answered on it. since: when it began to wait for its client."""

    def __init__(self, *, settings: Settings, most: int, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self.settings, self.most = settings, most
        self.served, self.since = False, self.loop.time()
        self._head = self._unheard = 0
        self._fault: Reply | None = None
        self._late: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether the client is to act: it has sent nothing, or half a request."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()
        if len(self.connections) <= self.most:
            return
        others = [one for one in self.connections if isinstance(one, Door) and one is not self and one.waits]
        if others:
            min(others, key=lambda one: (one.served, one.since)).drop()
        else:
            self.refuse(refusal(503, None, f"all {self.most} connections are in use; try again later", code="busy"))

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._late, self._stuck)
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close the connection at once; it no longer counts."""
        self.connections.discard(self)
        self.transport.abort()

    def refuse(self, reply: Reply) -> None:
        """Send `reply`, unless the client is in the middle of another, and close the connection."""
        now = self.cycle
        if now is not None and now.response_started and (now.more_body or not now.response_complete):
            self.drop()
            return
        self.transport.write(raw(reply))
        self.transport.close()

    # -- what comes in ----------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._unheard += len(data)  # the parser holds back what is not complete: an endless header is never heard of
        super().data_received(data)
        if self._unheard > self.settings.header_bytes and not self.transport.is_closing():
            self.refuse(self._too_large())

    def on_message_begin(self) -> None:
        self._head = 0
        self._expect()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unheard = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unheard = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unheard = 0
        _cancel(self._late)
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self.refuse(self._fault or refusal(400, None, "this is not a request as HTTP has them", code="bad-request"))

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > self.settings.header_bytes:
            self._fault = self._too_large()
            raise ValueError("the head of a request is too large")  # ends the parser, which then asks for the refusal

    def _too_large(self) -> Reply:
        most = self.settings.header_bytes
        return refusal(
            431,
            None,
            f"the head of a request may have {most:,} bytes at most",
            limit={"bytes": most},
            code="request-too-large",
        )

    # -- time ---------------------------------------------------------------------------------------------------------

    def _expect(self) -> None:
        """A whole request within the time there is for one."""
        _cancel(self._late)
        self._late = self.loop.call_later(self.settings.send_seconds, self._is_late)

    def _is_late(self) -> None:
        if not self._head:
            self.drop()
            return
        most = self.settings.send_seconds
        told = f"a request must be sent within {most:g} seconds; this one was not"
        self.refuse(refusal(408, None, told, limit={"seconds": most}, code="request-timeout"))

    def on_response_complete(self) -> None:
        self.served, self.since = True, self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        _cancel(self._stuck)
        self._stuck = self.loop.call_later(self.settings.send_seconds, self.drop)  # nobody reads the reply
        super().pause_writing()

    def resume_writing(self) -> None:
        _cancel(self._stuck)
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        if self.transport.get_write_buffer_size():
            self._stuck = self.loop.call_later(self.settings.send_seconds, self.drop)

    def shutdown(self) -> None:
        if self.waits:
            self.drop()
            return
        super().shutdown()
        self._stuck = self.loop.call_later(ENDING, self.drop)


def raw(reply: Reply) -> bytes:
    """A reply as it stands on the wire, with which the connection ends."""
    status, body = reply
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    return head + b"".join(name + b": " + value + b"\r\n" for name, value in with_headers(headers)) + b"\r\n" + body


def _cancel(*timers: asyncio.TimerHandle | None) -> None:
    for timer in timers:
        if timer is not None:
            timer.cancel()
