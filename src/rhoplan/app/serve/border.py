"""What is refused before a request is read, and what every reply says about safety.

A request must be of a size that can be held and must call the server by one of its own names: a page on another host
that points its name at this machine gets nothing. Replies allow no script, style or image from elsewhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from rhoplan.app.serve.refusals import Reply, refusal
from rhoplan.app.serve.settings import Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


TABLES = "/api/v1/learn/table"
"""Where tables of cases come in."""


class Border:
    """Wraps the app: size, host name, headers."""

    def __init__(self, app: App, settings: Settings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        if not self._knows(headers.get(b"host", b"").decode("latin-1")):
            await _send(send, refusal(421, "host", "this server does not answer to that host name"))
            return
        length, most = headers.get(b"content-length", b"0"), self._most(scope["path"])
        if length.isdigit() and int(length) > most:
            await _send(send, _too_large(most))
            return
        await self._limited(scope, receive, send, most)

    async def _limited(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        """Pass the request on, counting bytes: a body without a length can be long too."""
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > most:
                await _send(send, _too_large(most))
                return
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message.get("headers", [])}
                missing = [header for header in HEADERS if header[0] not in own]
                message["headers"] = [*message.get("headers", []), *missing]
            await send(message)

        await self.app(scope, replay, guarded)

    def _knows(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        return not self.settings.hosts or name.lower() in self.settings.hosts

    def _most(self, path: str) -> int:
        """Bytes that a request to this address may have: a table of cases is larger than a question."""
        return self.settings.table_bytes if path == TABLES else self.settings.request_bytes


def _too_large(size: int) -> Reply:
    return refusal(413, None, f"a request to this address may have {size:,} bytes at most", limit={"bytes": size})


async def _send(send: Send, reply: Reply) -> None:
    status, body = reply
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
