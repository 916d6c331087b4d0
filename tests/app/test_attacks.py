"""Hostile clients, on loopback and bounded: none stops service for others, fills memory or log, or puts off the end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")

from serving import PATIENCE, children, eventually, is_alive, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")

FILES, HALF_SENT = 256, 400
HEAD = b"POST /api/v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
MOST_LOG = 10_000
"""Bytes of log that hostile clients may cause."""


class Target:
    """A server that may open few files, what it says, and a client who behaves."""

    def __init__(self, process: int, address: str, log: Path) -> None:
        self.process, self.address, self.log = process, address, log
        self.place = (str(urlsplit(address).hostname), int(urlsplit(address).port or 0))

    def is_up(self) -> bool:
        """Whether the front process answers by itself."""
        return b"ok" in urlopen(f"{self.address}/health", timeout=PATIENCE).read()

    def connect(self) -> socket.socket:
        return socket.create_connection(self.place, timeout=PATIENCE)

    def serves(self) -> bool:
        """Whether a client who behaves gets advice, on a new connection."""
        asked = Request(f"{self.address}/api/v1/decide", b'{"problem": "tiger"}', {"content-type": "application/json"})
        return b'"choice":"listen"' in urlopen(asked, timeout=PATIENCE).read()

    def memory(self) -> int:
        pages = int(Path(f"/proc/{self.process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def sockets(self) -> int:
        found = 0
        for entry in Path(f"/proc/{self.process}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # it may be closed meanwhile
                found += os.readlink(entry).startswith("socket:")
        return found


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    log = tmp_path_factory.mktemp("log") / "errors"
    with log.open("w") as errors:
        options = ("--workers", "1", "--send-seconds", "3")
        with serving(*options, files=FILES, stderr=errors) as (process, address):
            yield Target(process.pid, address, log)


def answer(line: socket.socket) -> tuple[int, bytes]:
    """What the server says before it closes the connection: status and all of it; 0 where it says nothing."""
    told = b""
    with contextlib.suppress(ConnectionError):
        while part := line.recv(65536):
            told += part
    return int(told.split(b" ", 2)[1]) if told else 0, told


@contextlib.contextmanager
def opened(target: Target, number: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections on which something was sent, while the block runs."""
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(target.connect()) for _ in range(number)]
        for line in lines:
            with contextlib.suppress(ConnectionError):
                line.sendall(sent)
        yield lines


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\nhost: loc", b"", HEAD + b"content-length: 9\r\n\r\n{"])
def test_half_sent_requests_do_not_use_up_the_files(target: Target, sent: bytes) -> None:
    with opened(target, HALF_SENT, sent):
        assert target.serves()
        assert target.is_up()
    assert "Traceback" not in target.log.read_text(), "the files were used up"


def test_an_endless_header_is_not_held(target: Target) -> None:
    assert target.serves()
    before = target.memory()
    for start in (
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ",
        b"GET /",
        HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\nx: ",
    ):
        with target.connect() as line, contextlib.suppress(ConnectionError):
            line.sendall(start)
            for _ in range(200):
                line.sendall(b"a" * 100_000)
            pytest.fail("20 MB of a header were taken")
    assert target.memory() - before < 10_000_000
    assert target.serves()


def test_a_head_that_is_too_large_is_told_so(target: Target) -> None:
    for many in (b"x: " + b"a" * 40_000 + b"\r\n", b"x: a\r\n" * 20_000):
        with target.connect() as line:
            line.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n" + many + b"\r\n")
            assert answer(line)[0] in (0, 431)


def test_who_takes_too_long_to_send_is_told_so_with_our_headers(target: Target) -> None:
    with contextlib.ExitStack() as stack:
        half = {HEAD: 408, HEAD + b"content-length: 9\r\n\r\n{": 408, b"": 0}
        lines = {sent: stack.enter_context(opened(target, 1, sent))[0] for sent in half}
        for sent, status in half.items():
            found, told = answer(lines[sent])
            assert found == status
            assert not told or b"frame-ancestors 'none'" in told


def test_rubbish_is_refused_and_fills_no_log(target: Target) -> None:
    for _ in range(60):
        with target.connect() as line:
            line.sendall(b"\x16\x03\x01 rubbish\r\n\r\n")
            status, told = answer(line)
            assert status == 400
            assert b"frame-ancestors 'none'" in told
    assert target.serves()
    assert target.log.stat().st_size < MOST_LOG
    assert "Traceback" not in target.log.read_text()


@pytest.mark.parametrize(
    "body",
    [
        b'{"problem": "tiger", "prior": [' + b'"x",' * 400_000 + b'"x"]}',
        b'{"problem": "tiger", "costs": [' + b"{}," * 5000 + b"{}]}",
        json.dumps({"name": "long", "text": "[" * 1_900_000, "check_only": True}).encode(),
    ],
    ids=["values", "faults", "text"],
)
def test_large_bodies_do_not_hold_the_others_up(target: Target, body: bytes) -> None:
    """While one client sends nothing but large bodies, the others are answered in turn."""
    ended, statuses = threading.Event(), set[int]()
    asked = Request(f"{target.address}/api/v1/models", body, {"content-type": "application/json"})

    def attack() -> None:
        while not ended.is_set():
            try:
                statuses.add(urlopen(asked, timeout=PATIENCE).status)
            except HTTPError as error:
                statuses.add(error.code)
                error.close()

    attacker = threading.Thread(target=attack)
    attacker.start()
    try:
        assert all(target.is_up() for _ in range(20))
        assert target.serves()
    finally:
        ended.set()
        attacker.join()
    assert statuses <= {200, 413, 422}


def test_replies_that_nobody_reads_are_dropped(target: Target) -> None:
    """A thousand requests in one go, and no look at the answers: the connection ends, though the client does not."""
    before = target.sockets()
    with target.connect() as line:
        line.sendall(b"GET /style.css HTTP/1.1\r\nhost: localhost\r\n\r\n" * 1000)
        assert target.serves()
        assert eventually(lambda: target.sockets() <= before)


# -- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)])
def test_the_server_ends_whatever_is_half_done_and_leaves_nobody(sign: int, code: int, tmp_path: Path) -> None:
    """Half-sent requests, one that is worked on and one in line. As ctrl-C does, SIGINT goes to all processes."""
    large = [json.dumps({"problem": f"tileworld:n={n}", "horizon": 8}).encode() for n in (14, 15)]
    with (
        (tmp_path / "errors").open("w") as errors,
        serving("--workers", "1", stderr=errors, start_new_session=True) as (process, address),
        contextlib.ExitStack() as stack,
    ):
        target = Target(process.pid, address, tmp_path / "errors")
        assert target.serves()
        for sent in (b"GET / HT", HEAD + b"content-length: 9\r\n\r\n{"):
            stack.enter_context(opened(target, 5, sent))
        lines = [stack.enter_context(target.connect()) for _ in large]
        for line, body in zip(lines, large, strict=True):
            line.sendall(HEAD + f"content-length: {len(body)}\r\n\r\n".encode() + body)
        assert target.is_up()
        started = children(process.pid)
        assert started
        if sign == signal.SIGINT:
            os.killpg(process.pid, sign)
        else:
            process.send_signal(sign)
        assert process.wait(timeout=PATIENCE) == code
        assert eventually(lambda: not any(map(is_alive, started)))
        if sign != signal.SIGKILL:
            assert [answer(line)[0] for line in lines] == [503, 503]
    assert "Traceback" not in (tmp_path / "errors").read_text()
