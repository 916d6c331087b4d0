"""What the commands of a page print, when they run one after the other in one folder.

`rhoplan` runs in this process; where it asks, it reads what the page says that a person types. `rhoplan serve` starts
a real server on a free port, while the page shows the usual one. `cat` and `curl` run in a shell. The page shows KEY
for the key that the server made.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any
from unittest import mock

PROMPT = "$ .venv/bin/rhoplan "
SHELL = ("$ cat ", "$ curl ")
TYPED = "> "
USUAL = "127.0.0.1:8765"
LINES = "application/x-ndjson"
CRASH = "this should not have happened"
WIDTH = 116
"""Characters in a line of JSON, as long as in the other pages."""


class Session:
    """Runs the commands of one page; the server it started ends with it."""

    def __init__(self) -> None:
        self.server: subprocess.Popen[str] | None = None
        self.address = USUAL
        self.key: str | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if self.server is not None:
            self.server.terminate()
            self.server.wait(timeout=20)
            assert self.server.stdout is not None
            self.server.stdout.close()

    def transcript(self, block: str) -> str:
        """The commands of a console block, each with what it prints now; other lines stay."""
        lines: list[str] = []
        # A command takes its further lines, after a backslash, and what stands under it.
        for command, below in re.findall(r"^(\$ (?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE):
            typed = [line.removeprefix(TYPED) for line in below.splitlines() if line.startswith(TYPED)]
            printed = self.printed(command.rstrip("\n"), typed)
            lines += [*command.splitlines(), *(below if printed is None else printed).splitlines()]
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def printed(self, command: str, typed: list[str]) -> str | None:
        """What `command` prints; None where it is not one that can be run here."""
        if command.startswith(PROMPT):
            arguments = shlex.split(command.removeprefix(PROMPT))
            return self.serve(arguments) if arguments[0] == "serve" else output_of(arguments, typed)
        if not command.startswith(SHELL) or not shutil.which(shlex.split(command)[1]):
            return None
        line = self.here(command.removeprefix("$ "))
        done = subprocess.run(
            ["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        return done.stdout

    def serve(self, arguments: list[str]) -> str:
        """The first line of a server that goes on until the page ends."""
        command = [sys.executable, "-m", "rhoplan", "serve", "--workers", "1", *arguments[1:], "--port", "0"]
        environment = {name: value for name, value in os.environ.items() if name != "RHOPLAN_KEY"}
        environment["PYTHONUNBUFFERED"] = "1"
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.server.stdout is not None
        line = self.server.stdout.readline()
        found = re.search(r"127\.0\.0\.1:\d+", line)
        assert found, f"the server said {line!r}"
        self.address = found[0]
        key = re.search(r"#key=(\S+)", line)
        self.key = key and key[1]
        return re.sub(r"#key=\S+", "#key=KEY", line.replace(self.address, USUAL))

    def here(self, text: str) -> str:
        """`text` with the address and the key of the page's own server."""
        return text.replace(USUAL, self.address).replace("Bearer KEY", f"Bearer {self.key}")

    def reply(self, request: str) -> str:
        """The reply to a request of a page, as it goes over the wire but for its layout and other headers."""
        top, _, body = request.partition("\n\n")
        first, *headers = top.splitlines()
        method, path, _ = first.split(" ")
        asked = urllib.request.Request(
            f"http://{self.address}{path}",
            method=method,
            data=body.encode() or None,
            headers=dict(line.split(": ", 1) for line in headers)
            | ({"Authorization": f"Bearer {self.key}"} if self.key else {}),
        )
        try:
            with urllib.request.urlopen(asked, timeout=60) as reply:
                status, text = reply.status, reply.read()
                if reply.headers.get_content_type() == LINES:
                    lines = "\n".join(laid_out(shortened(json.loads(line))) for line in text.splitlines())
                    return f"HTTP/1.1 {status}\nContent-Type: {LINES}\n\n{lines}\n"
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read()
        data = json.loads(text)
        data.pop("seconds", None)  # how long it took differs each time
        shown = laid_out(shortened(data))
        return f"HTTP/1.1 {status}\nContent-Type: application/json\n\n{shown}\n"


class Keyboard(io.StringIO):
    """A terminal's input: what is typed is seen on the screen."""

    def isatty(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> str:
        line = super().readline()
        print(line, end="")
        return line


def output_of(arguments: list[str], typed: list[str] | None = None) -> str:
    """What `rhoplan ARGUMENTS` prints, errors included; seconds are left out, since they differ each time."""
    from rhoplan.app.cli import _guarded

    stream, keyboard = io.StringIO(), Keyboard("".join(f"{line}\n" for line in typed or ()))
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream), mock.patch("sys.stdin", keyboard):
        _guarded(arguments)
    printed = stream.getvalue()
    if CRASH in printed:
        raise RuntimeError(f"rhoplan {' '.join(arguments)}: {printed}")  # no page may show this
    return re.sub(r", \d+\.\d s\b|\s\(and \d+\.\d s to compile the planner, once\)", "", printed)


def shortened(data: Any) -> Any:
    """`data` with six digits of each number."""
    if isinstance(data, dict):
        return {key: shortened(value) for key, value in data.items()}
    if isinstance(data, list):
        return [shortened(value) for value in data]
    return float(f"{data:.6g}") if isinstance(data, float) else data


def laid_out(data: Any, indent: int = 0, used: int = 0) -> str:
    """`data` as JSON: what fits into a line stands on one, what does not is broken up at its commas.

    indent: of the line that it stands on. used: characters of that line before it.
    """
    flat = json.dumps(data)
    if used + len(flat) <= WIDTH or not isinstance(data, dict | list) or not data:
        return flat
    margin = " " * (indent + 2)
    lines = [margin]
    pairs = data.items() if isinstance(data, dict) else ((None, value) for value in data)
    for number, (key, value) in enumerate(pairs, 1):
        name = "" if key is None else f"{json.dumps(key)}: "
        comma = "" if number == len(data) else ","
        text = json.dumps(value)
        if lines[-1].strip() and len(lines[-1]) + len(f" {name}{text}{comma}") > WIDTH:
            lines.append(margin)
        gap = " " if lines[-1].strip() else ""
        lines[-1] += f"{gap}{name}{laid_out(value, indent + 2, len(margin + name))}{comma}"
        if "\n" in lines[-1]:
            lines.append(margin)
    ends = "{}" if isinstance(data, dict) else "[]"
    return "\n".join([ends[0], *(line for line in lines if line.strip()), f"{' ' * indent}{ends[1]}"])
