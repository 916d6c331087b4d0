"""How the server holds up: many clients step through cases of the worked models, without a pause, for a minute.

Each client follows the advice most of the time and runs some other test now and then, with results drawn from the
model's own probabilities. Clients are one process with plain sockets, so that most of the machine is the server's.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rhoplan.errors import RhoplanError
from rhoplan.problems.registry import WORKED_MODELS
from rhoplan_bench.hostile import ATTACKS

MEDIAN_LIMIT = 0.1
"""Seconds within which half of the replies are promised, on two cores."""

FIRST_LIMIT = 5.0
"""Seconds from the command to the first advice."""

REFUSED_LIMIT, TIMEOUT = 2.0, 0.5
"""Seconds within which a request is refused that would take longer than the `timeout` it asks for."""

BESIDE_LIMIT = 2.5
"""Seconds that advice may wait where requests for minutes of work came before."""

BESIDE_HOSTILE = 2
"""How many times as long a reply may take while hostile clients do what they can."""

STRAYS = 0.2
"""How often a client runs another test than the recommended one."""


@dataclass
class Load:
    """What clients saw: seconds of every reply, errors, and the server's memory in bytes as time went by."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    cases: int = 0


def serve_rows(*, seconds: float = 60.0, clients: int = 50, cases: int | None = None) -> Iterator[dict[str, Any]]:
    """Rows in the shape of `speed.run_benchmarks`; the last two are for the median reply,
    alone and beside hostile clients.

    cases: how many each client brings, however long they take; as many as `seconds` allow where None.
    """
    started = time.monotonic()
    with _server() as (process, port):
        asyncio.run(_alone(port, [("advise", {"problem": "chest-pain"})]))
        yield _promise("`rhoplan serve`, from the command to the first advice", started, FIRST_LIMIT)
        yield from _slow_rows(port)
        alone = _load_row(process.pid, port, seconds, clients, cases)
        yield alone
        hostile = subprocess.Popen(
            [sys.executable, "-m", "rhoplan_bench.hostile", str(port)], stdout=subprocess.DEVNULL
        )
        try:
            beside = _load_row(process.pid, port, seconds, clients, cases)
        finally:
            hostile.kill()
            hostile.wait()
    what = f"{beside['what']}, beside {len(ATTACKS)} hostile clients"
    yield {**beside, "what": what, "limit": BESIDE_HOSTILE * alone["seconds"]}


def _load_row(pid: int, port: int, seconds: float, clients: int, cases: int | None) -> dict[str, Any]:
    begin, front, workers = time.monotonic(), _worked(pid), _workers_worked(pid)
    load = asyncio.run(_run(pid, port, math.inf if cases else begin + seconds, clients, cases))
    seconds = time.monotonic() - begin
    front, workers = _worked(pid) - front, _workers_worked(pid) - workers
    half, nine, most = np.quantile(load.seconds, [0.5, 0.9, 0.99])
    early, late = load.memory[len(load.memory) // 4], load.memory[-1]
    detail = (
        f": {len(load.seconds):,} replies in {load.cases:,} cases, {len(load.seconds) / seconds:,.0f} a second, "
        f"{len(load.errors)} errors{f' ({load.errors[0]})' if load.errors else ''}; 9 in 10 within {nine:.3f} s, "
        f"99 in 100 within {most:.3f} s; each costs {1e3 * front / len(load.seconds):.2f} ms of processors in front, "
        f"{1e3 * workers / len(load.seconds):.2f} ms in workers; "
        f"memory of all processes {early / 1e6:.0f} MB after a quarter of the time, "
        f"{late / 1e6:.0f} MB at the end"
    )
    return {
        "what": f"median reply to {clients} clients that step through "
        + (f"{cases} cases each" if cases else f"cases for {seconds:.0f} s"),
        "seconds": float(half),
        "limit": MEDIAN_LIMIT,
        "ratio": None,
        "detail": detail,
        "replies": len(load.seconds),
        "cases": load.cases,
        "errors": len(load.errors),
        "front_seconds": front / len(load.seconds),
    }


def _slow_rows(port: int) -> Iterator[dict[str, Any]]:
    """Rows about requests for minutes of work: they are refused in time, and do not stand before quick ones."""
    large = [("decide", {"problem": f"tileworld:n={n}", "horizon": 8, "timeout": 4}) for n in range(12, 16)]
    waited = asyncio.run(_beside(port, large))
    what = "advice while four requests for minutes of work are there"
    yield {"what": what, "seconds": waited, "limit": BESIDE_LIMIT, "ratio": None, "detail": ""}
    begin, slow = time.monotonic(), {"problem": "tileworld:n=16", "horizon": 6, "timeout": TIMEOUT}
    ((status, _),) = asyncio.run(_alone(port, [("decide", slow)]))
    what = f"a decision that takes minutes, {TIMEOUT:g} s allowed: refused"
    yield _promise(what, begin, REFUSED_LIMIT, "" if status == 413 else f": it was not (status {status})")


def _promise(what: str, begin: float, limit: float, detail: str = "") -> dict[str, Any]:
    return {"what": what, "seconds": time.monotonic() - begin, "limit": limit, "ratio": None, "detail": detail}


async def _alone(port: int, asked: list[tuple[str, dict[str, Any]]]) -> list[tuple[int, dict[str, Any]]]:
    """Replies to requests, each on a connection of its own, all at once."""

    async def one(address: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
        try:
            return await _post(reader, writer, address, body)
        finally:
            writer.close()
            await writer.wait_closed()

    return await asyncio.gather(*(one(*request) for request in asked))


async def _beside(port: int, large: list[tuple[str, dict[str, Any]]]) -> float:
    """Seconds for advice that is asked for after `large` requests."""
    work = asyncio.create_task(_alone(port, large))
    await asyncio.sleep(0.5)
    begin = time.monotonic()
    await _alone(port, [("advise", {"problem": "screening-cascade", "given": [["strip", "positive"]]})])
    waited = time.monotonic() - begin
    await work
    return waited


@contextmanager
def _server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "rhoplan", "serve", "--port", "0", "--no-key"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = re.search(r":(\d+)/", process.stdout.readline())
        if told is None:
            raise RhoplanError("the server did not start; try `rhoplan serve`")
        yield process, int(told.group(1))
    finally:
        process.terminate()
        process.communicate()


async def _run(pid: int, port: int, end: float, clients: int, cases: int | None) -> Load:
    load = Load()

    async def watch() -> None:
        while True:
            load.memory.append(_resident(pid))
            await asyncio.sleep(0.5)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(_client(random.Random(number), port, end, cases, load) for number in range(clients)))
    watching.cancel()
    load.memory.append(_resident(pid))
    return load


async def _client(draw: random.Random, port: int, end: float, cases: int | None, load: Load) -> None:
    """One person after another who brings a case and follows it to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    brought = itertools.count()
    while time.monotonic() < end and (cases is None or next(brought) < cases):
        problem, given = draw.choice(list(WORKED_MODELS)), list[list[str]]()
        while time.monotonic() < end:
            begin = time.perf_counter()
            status, reply = await _post(reader, writer, "advise", {"problem": problem, "given": given})
            load.seconds.append(time.perf_counter() - begin)
            if status != 200:
                load.errors.append(f"{status} {reply}")
                break
            if not reply["is_test"]:
                break
            test, results = reply["do"], reply["results"]
            if draw.random() < STRAYS:
                _, here = await _post(reader, writer, "situation", {"problem": problem, "given": given})
                tests = [action for action in here["actions"] if action["kind"] == "test"]
                other = draw.choice(tests)
                test, results = other["name"], other["outcomes"]
            chances = [result["probability"] for result in results]
            given = [*given, [test, draw.choices([result["outcome"] for result in results], chances)[0]]]
        load.cases += 1
    writer.close()
    await writer.wait_closed()


async def _post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str, body: dict[str, Any]
) -> tuple[int, dict[str, Any]]:
    data = json.dumps(body).encode()
    head = f"POST /api/v1/{address} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    writer.write(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)
    told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = re.search(r"content-length: (\d+)", told, re.IGNORECASE)
    assert length is not None
    return int(told.split(" ", 2)[1]), json.loads(await reader.readexactly(int(length.group(1))))


def _worked(pid: int) -> float:
    """Seconds of processors that a process has used; 0 where the system does not tell. A busy machine changes them
    far less than it changes how long replies take."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            numbers = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def _workers_worked(pid: int) -> float:
    return sum(_worked(child) + _workers_worked(child) for child in _children(pid))


def _children(pid: int) -> set[int]:
    children: set[int] = set()
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                children |= {int(child) for child in file.read().split()}
    return children


def _resident(pid: int) -> int:
    """Memory of a process and those it started; 0 where the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            own = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
    return own + sum(map(_resident, _children(pid)))
