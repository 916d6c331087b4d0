"""Running the server on a socket: doors for connections, a log that stays short, and an end within seconds.

On ctrl-C or SIGTERM the workers end first, so that everybody who waits for one gets a reply; then half-sent requests
are dropped, and what is left has a moment to be sent.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI

from rhoplan.app.serve.door import AT_ONCE, Door, most_connections
from rhoplan.app.serve.settings import Settings

QUEUE = 2048
"""Clients that wait in line before they are taken on."""

GRACE = 2
"""Seconds for an end in good order; nothing that we know of takes them."""

MOST_LINES, LINES_SECONDS = 20, 60.0
"""Entries of the log within so many seconds: who sends rubbish must not fill a disk."""


class FewLines(logging.Filter):
    """Lets `most` entries through in each stretch of `seconds`; the last of them says that more were left out."""

    def __init__(
        self, most: int = MOST_LINES, seconds: float = LINES_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self.most, self.seconds, self.clock = most, seconds, clock
        self._begin, self._count = clock(), 0

    def filter(self, record: logging.LogRecord) -> bool:
        if self.clock() - self._begin >= self.seconds:
            self._begin, self._count = self.clock(), 0
        self._count += 1
        if self._count == self.most:
            record.msg, record.args = f"{record.getMessage().rstrip()} (what follows is left out for a while)", ()
        return self._count <= self.most


class Server(uvicorn.Server):
    """Uvicorn's, with a longer queue and an end that waits for nobody. ending: ends what requests wait for."""

    def __init__(self, config: uvicorn.Config, ending: Callable[[], None]) -> None:
        super().__init__(config)
        self.ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        for one in sockets or []:
            one.listen(QUEUE)  # asyncio takes for the queue's length what is the number of clients taken on at once

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.ending()
        await super().shutdown(sockets=sockets)


def run(app: FastAPI, settings: Settings, listening: socket.socket) -> None:
    """Serve `app` on a socket that listens, until a signal ends it."""
    log_few_lines()
    door: Any = partial(Door, settings=settings, most=most_connections(settings))
    config = uvicorn.Config(
        app, http=door, ws="none", backlog=AT_ONCE, log_config=None, access_log=False, server_header=False,
        timeout_graceful_shutdown=GRACE,
    )  # fmt: skip
    Server(config, app.state.desk.pool.stop).run(sockets=[listening])


def log_few_lines() -> None:
    """Warnings and faults of the server go to the terminal, and never flood it."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("rhoplan: %(message)s"))
    handler.addFilter(FewLines())
    for name in ("uvicorn", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING)
