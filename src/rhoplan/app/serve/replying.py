"""What addresses have in common: where they stand, how a reply is sent and described, when nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from rhoplan.app.serve.refusals import Reply, refusal

API = "/api/v1"

LINES = "application/x-ndjson"

PRINTABLE = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""What a report may load: its own styles and figures, no script."""

Replies = dict[int | str, dict[str, Any]]


def typed(kind: Any) -> Replies:
    """What an address says of its replies that are a success: JSON of this kind."""
    return {200: {"description": "The result", "model": kind}}


HTML: Replies = {200: {"description": "The report", "content": {"text/html": {"schema": {"type": "string"}}}}}


def response(reply: Reply) -> Response:
    status, body = reply
    return Response(body, status, media_type="application/json")


async def while_there(client: Request, work: Coroutine[Any, Any, Reply]) -> Reply:
    """The reply that `work` comes to, which is given up where the client goes."""
    doing = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(disconnected(client))
    await asyncio.wait({doing, gone}, return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    if doing.done():
        return doing.result()
    doing.cancel()
    return refusal(400, None, "the client has gone", code="client-gone")


async def disconnected(client: Request) -> None:
    """Returns when the client has gone; what it sent has been read before."""
    while (await client.receive())["type"] != "http.disconnect":
        pass
