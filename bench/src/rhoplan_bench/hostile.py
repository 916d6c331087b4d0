"""Hostile clients, one of each kind, for the load test: they run in a process of their own, on loopback only.

`python -m rhoplan_bench.hostile PORT` runs all of them until it is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

HALF_SENT = 400
"""Half-sent requests that are held open at a time."""

PAUSE = 0.02
"""Seconds between two attempts of one client: they share the machine with those who behave."""

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Attack = Callable[[int], Awaitable[None]]


def _head(address: str, length: int, *more: str) -> bytes:
    lines = (f"POST /api/v1/{address} HTTP/1.1", "host: localhost", "content-type: application/json", *more)
    return "\r\n".join([*lines, f"content-length: {length}", "", ""]).encode()


TEXT = json.dumps({"name": "long", "text": "[" * 1_900_000, "check_only": True}).encode()
VALUES = b'{"problem": [' + b"1," * 900_000 + b"1]}"
FAULTS = b'{"problem": "tiger", "costs": [' + b"{}," * 9000 + b"{}]}"


async def half_sent(port: int) -> None:
    """Opens connections and sends half a request on each."""
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(HALF_SENT):
            _, writer = await stack.enter_async_context(_connected(port))
            writer.write(b"GET / HTTP/1.1\r\nhost: loc")
            await asyncio.sleep(0)
        await asyncio.sleep(1)


async def endless_header(port: int) -> None:
    """Sends a header that does not end."""
    async with _connected(port) as (_, writer):
        writer.write(b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ")
        for _ in range(1000):
            writer.write(b"a" * 100_000)
            await writer.drain()


async def slow_body(port: int) -> None:
    """Sends a body a byte at a time."""
    async with _connected(port) as (_, writer):
        writer.write(_head("decide", 1000))
        for _ in range(1000):
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.1)


async def rubbish(port: int) -> None:
    """Sends what is no request."""
    await _send(port, b"\x16\x03\x01 rubbish\r\n\r\n")


async def foreign_page(port: int) -> None:
    """Asks for work from a page of another site."""
    body = b'{"problem": "tileworld:n=12", "horizon": 8}'
    await _send(port, _head("decide", len(body), "origin: http://evil.example") + body)


async def unread(port: int) -> None:
    """Asks a thousand times and reads no answer."""
    async with _connected(port) as (_, writer):
        writer.write(b"GET /style.css HTTP/1.1\r\nhost: localhost\r\n\r\n" * 1000)
        await writer.drain()
        await asyncio.sleep(10)


async def large_text(port: int) -> None:
    """Sends a model that is as large as may be."""
    await _send(port, _head("models", len(TEXT)) + TEXT)


async def many_values(port: int) -> None:
    """Sends a body of nearly a million values."""
    await _send(port, _head("decide", len(VALUES)) + VALUES)


async def many_faults(port: int) -> None:
    """Sends a body with thousands of faults."""
    await _send(port, _head("what-if", len(FAULTS)) + FAULTS)


ATTACKS: tuple[Attack, ...] = (
    half_sent, endless_header, slow_body, rubbish, foreign_page, unread, large_text, many_values, many_faults,
)  # fmt: skip


@contextlib.asynccontextmanager
async def _connected(port: int) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def _send(port: int, data: bytes) -> None:
    """Send all of it and wait for the beginning of an answer."""
    async with _connected(port) as (reader, writer):
        writer.write(data)
        await writer.drain()
        await reader.read(1)


async def attack(port: int) -> None:
    """Every attack again and again, without an end."""

    async def again(one: Attack) -> None:
        while True:
            with contextlib.suppress(OSError):
                await one(port)
            await asyncio.sleep(PAUSE)

    await asyncio.gather(*map(again, ATTACKS))


if __name__ == "__main__":
    asyncio.run(attack(int(sys.argv[1])))
