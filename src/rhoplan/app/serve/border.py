"""What is refused before a request is read by anybody else, and what every reply says about safety.

A request must call the server by one of its own names, must not come from the page of another site, must know the key
where there is one, must say what it sends, and must be of a size that can be held. None of this is left to the
framework, whose versions differ. Replies allow no script, style, image or frame from elsewhere, nor being framed.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from rhoplan.app.serve.body import MOST_VALUES, json_fault, too_many_values, values
from rhoplan.app.serve.refusals import Reply, busy, refusal
from rhoplan.app.serve.settings import Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)

API = "/api/"
"""Where everything stands that starts work or tells anything."""

TABLES = "/api/v1/learn/table"
"""Where tables of cases come in."""

JSON, CSV = "application/json", "text/csv"
"""What may be sent: JSON, and to TABLES a table. A page of another site cannot send either without being allowed to."""

READING = ("GET", "HEAD", "OPTIONS", "DELETE")
"""Methods of requests without a body."""

SMALL_BYTES, SMALL_VALUES = 64_000, 2_000
"""A body up to so large is read at once; larger ones come one at a time."""

REST_PER_BYTE, REST_PER_VALUE = 2.5e-7, 5e-5
"""Seconds before the next large body: several times what one costs this process, which stays free for the others."""

Header = tuple[bytes, bytes]


class Border:
    """Wraps the app: host name, origin, key, content type, size, headers."""

    def __init__(self, app: App, settings: Settings) -> None:
        self.app, self.settings = app, settings
        self._held = 0
        self._large = asyncio.Semaphore(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = with_headers(message.get("headers", []))
            await send(message)

        refused = self.refused(scope) or await self._passed(scope, receive, guarded)
        if refused is not None:
            await _send(guarded, refused)

    def refused(self, scope: Scope) -> Reply | None:
        """Why a request goes no further, as far as its head tells."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            name = name.decode("latin-1").lower()
            if name in headers and name in ("host", "origin", "content-type", "content-length", "authorization"):
                return refusal(400, name, f"a request must have one header {name}; it has several", code="bad-request")
            headers[name] = value.decode("latin-1")
        method, path = scope["method"], scope["path"]
        host = headers.get("host", "").lower()
        if name_of(host) not in self.settings.hosts:
            return refusal(
                421,
                "host",
                "this server does not answer to that host name; see serve --allow-host",
                code="unknown-host",
            )
        if is_foreign(headers, host) and not _opens_page(method, path, headers):
            return refusal(
                403, "origin", "pages of other sites may not ask this server; open its own page", code="foreign-origin"
            )
        if path.startswith(API) and not self._has_key(headers):
            return refusal(
                401, "authorization", "this server needs its key, as Authorization: Bearer KEY", code="key-needed"
            )
        kind = CSV if path == TABLES else JSON
        if method not in READING and headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
            told = "a table must be sent as it stands in its file" if kind == CSV else "the body must be a JSON object"
            return refusal(
                415, "content-type", f"{told}, sent with the header content-type: {kind}", code="content-type"
            )
        length, most = headers.get("content-length", "0"), self._most(path)
        return _too_large(most) if length.isascii() and length.isdigit() and int(length[:20]) > most else None

    async def _passed(self, scope: Scope, receive: Receive, send: Send) -> Reply | None:
        """Read the body and pass the request on; or why not. A body without a length can be long too."""
        most, body, more = self._most(scope["path"]), bytearray(), True
        counted = 0
        try:
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > most:
                    return _too_large(most)
                if len(body) > SMALL_BYTES:
                    self._held += len(body) - counted
                    counted = len(body)
                    if self._held > self.settings.held_bytes:
                        return refusal(429, None, "too much is being sent at once; try again later", code="busy")
            data = bytes(body)
            refused = None if scope["method"] in READING else await self._looked_at(data, scope["path"])
        finally:
            self._held -= counted
        if refused is not None:
            return refused
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": data, "more_body": False}

        await self.app(scope, replay, send)
        return None

    async def _looked_at(self, data: bytes, path: str) -> Reply | None:
        """Why this body is refused; large ones wait for each other, and for a rest in between."""
        size = values(data) if path != TABLES and len(data) <= SMALL_BYTES else 0
        if len(data) <= SMALL_BYTES and size <= SMALL_VALUES:
            return None if path == TABLES else json_fault(data)
        try:
            await asyncio.wait_for(self._large.acquire(), self.settings.patience)
        except TimeoutError:
            return busy(self.settings.patience)
        refused = None
        if path != TABLES:
            size = size or values(data)
            refused = too_many_values() if size > MOST_VALUES else json_fault(data)
        rest = len(data) * REST_PER_BYTE + min(size, MOST_VALUES) * REST_PER_VALUE
        asyncio.get_running_loop().call_later(rest, self._large.release)
        return refused

    def _has_key(self, headers: dict[str, str]) -> bool:
        if self.settings.key is None:
            return True
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        return hmac.compare_digest(given.encode(), self.settings.key.encode())

    def _most(self, path: str) -> int:
        """Bytes that a request to this address may have: a table of cases is larger than a question."""
        return self.settings.table_bytes if path == TABLES else self.settings.request_bytes


def name_of(host: str) -> str:
    """The name in a Host header, without the port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def is_foreign(headers: dict[str, str], host: str) -> bool:
    """Whether a page of another site sent the request, or one on another port; programs send neither header."""
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
        return True
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def with_headers(headers: Iterable[Header]) -> list[Header]:
    """The headers of a reply with ours, where it has none of that name."""
    given = list(headers)
    own = {name.lower() for name, _ in given}
    return [*given, *(header for header in HEADERS if header[0] not in own)]


def _opens_page(method: str, path: str, headers: dict[str, str]) -> bool:
    """Whether somebody follows a link to the page, from wherever: it opens on its own and starts nothing."""
    as_page = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    return method == "GET" and path == "/" and as_page and "origin" not in headers


def _too_large(size: int) -> Reply:
    return refusal(
        413,
        None,
        f"a request to this address may have {size:,} bytes at most",
        limit={"bytes": size},
        code="request-too-large",
    )


async def _send(send: Send, reply: Reply) -> None:
    status, body = reply
    headers = [(b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
