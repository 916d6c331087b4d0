"""The limits of a server: what it refuses to hold, to wait for and to plan."""

from __future__ import annotations

import os
from dataclasses import dataclass

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


@dataclass(frozen=True)
class Settings:
    """What one server allows.

    seconds: how long planning for one request may take. patience: how long a request waits for a free worker. nodes:
    situations that one model's plan may hold. memory: bytes of address space per worker. request_bytes: largest
    request. uploads, upload_bytes, expiry: models kept in memory, together at most so large, for so many seconds after
    they were last used. table_bytes, tables, table_expiry: largest table of cases, how many are kept to learn from, and
    for how many seconds after they were last used. learn_seconds: how long learning may take. reply_bytes: answers kept
    to give them again. header_bytes, send_seconds: largest head of a request, and how long a client may take to send
    one. connections: how many may be open. held_bytes: requests that are being sent, together. hosts: names by which
    the server may be called. key: what a request must know; None where it need not.
    """

    workers: int = max(3, min(8, os.cpu_count() or 1))
    seconds: float = 20.0
    patience: float = 30.0
    nodes: int = 1_000_000
    memory: int = 2_000_000_000
    request_bytes: int = 2_000_000
    uploads: int = 50
    upload_bytes: int = 20_000_000
    expiry: float = 12 * 3600.0
    table_bytes: int = 20_000_000
    tables: int = 5
    table_expiry: float = 3600.0
    learn_seconds: float = 900.0
    reply_bytes: int = 32_000_000
    header_bytes: int = 32_000
    send_seconds: float = 30.0
    connections: int = 250
    held_bytes: int = 100_000_000
    hosts: tuple[str, ...] = LOOPBACK
    key: str | None = None
