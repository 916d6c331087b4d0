"""What is left when commands are killed (kill -9) at random moments: nobody, nothing half, and nothing lost.

Each command is run once in peace, which says what it gives and how long it takes; then it is killed within that time,
run again on what is left, and killed again, until all kills are done. Only the process itself is killed: whoever works
for it must find out. Linux only, since it looks at processes as Linux shows them.
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rhoplan.advice.chain import faults, read_lines, read_seal
from rhoplan.errors import RhoplanError

PATIENCE = 600.0
"""Seconds after which somebody who has not ended counts as left behind."""

STUDIES = ("testbed", "misspecification-tiger")
"""Studies that take seconds: a kill falls on any part of the run, not only on its longest."""

CASES, PLAN = (
    150,
    "target: outcome\ntests: {good: {cost: 1}, fair: {cost: 1}}\nlosses:\n"
    + ("  call-well: {well: 0, ill: 40}\n  call-ill: {well: 40, ill: 0}\n"),
)
MODEL = (
    "states: [a, b]\nhorizon: {}\ntests: {{t: {{cost: 1, outcomes: [x, y], likelihood: {{a: [1, 0], b: [0, 1]}}}}}}\n"
    + ("commits: {{left: {{a: 1, b: 0}}, right: {{a: 0, b: 1}}}}\n")
)


@dataclass
class Killed:
    """How often a command was killed and how often it was done before that; and what was wrong afterwards."""

    what: str
    kills: int = 0
    ended: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass
class Ground:
    """A folder, and processes that can be told from all others by what they were started with."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def start(self, *arguments: str, typed: bool = False) -> subprocess.Popen[str]:
        (self.folder / "temporary").mkdir(parents=True, exist_ok=True)
        variables = {**os.environ, "RHOPLAN_MARK": self.mark, "TMPDIR": str(self.folder / "temporary")}
        return subprocess.Popen(
            [sys.executable, "-m", "rhoplan", *arguments], cwd=self.folder, env=variables, start_new_session=True,
            stdin=subprocess.PIPE if typed else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip

    def in_peace(self, *arguments: str) -> float:
        """Seconds that the command takes; it must end well."""
        begin = time.monotonic()
        process = self.start(*arguments)
        process.communicate()
        if process.returncode:
            raise RhoplanError(f"`rhoplan {arguments[0]}` must end well before it is killed; try it")
        return time.monotonic() - begin

    def left(self) -> Iterator[str]:
        """Processes that have not ended, and files where temporary ones are made."""
        end = time.monotonic() + PATIENCE
        while (alive := self._alive()) and time.monotonic() < end:
            time.sleep(0.05)
        yield from (f"process {one} is left" for one in alive)
        for path in (self.folder / "temporary").iterdir():
            yield f"temporary file {path.name} is left"

    def _alive(self) -> list[int]:
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):
                dead = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
                if not dead and f"RHOPLAN_MARK={self.mark}".encode() in Path(f"/proc/{process}/environ").read_bytes():
                    found.append(int(process))
        return found


def kill(process: subprocess.Popen[str], after: float) -> bool:
    """Whether the process had ended well by itself; it is killed `after` some seconds if it has not."""
    try:
        ended = process.wait(timeout=after) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        ended = False
    for pipe in filter(None, (process.stdin, process.stdout)):
        with suppress(OSError):
            pipe.close()
    return ended


def killed(what: str, kills: int, *, seed: int = 0, folder: Path) -> Killed:
    """Kill one of COMMANDS `kills` times. folder: an empty one to work in."""
    if sys.platform != "linux":
        raise RhoplanError("kills are counted on Linux only: it shows who is left")
    ground, found = Ground(folder), Killed(what)
    COMMANDS[what](ground, found, kills, random.Random(seed))
    return found


def _again(
    ground: Ground, found: Killed, kills: int, draw: random.Random, arguments: tuple[str, ...], made: str,
    read: Callable[[Path], object],
) -> None:  # fmt: skip
    """Kill a command that writes `made` until it is done, begin anew, and so on; the end is the same as in peace."""
    place = ground.folder / made
    seconds = ground.in_peace(*arguments)
    meant = read(ground.folder)

    def empty() -> None:
        for path in (*ground.folder.glob("kept"), place):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def compare() -> None:
        if read(ground.folder) != meant:
            found.faults.append(f"after {found.kills} kills {made} is not what it is in peace")
        found.faults += [f"{path.name} is left" for path in ground.folder.rglob(".*") if path.name != ".lock"]
        empty()

    empty()
    while found.kills < kills:
        if kill(ground.start(*arguments), draw.uniform(0, seconds)):
            found.ended += 1
            compare()
        else:
            found.kills += 1
        found.faults += ground.left()
    ground.in_peace(*arguments)
    compare()


def _reproduce(ground: Ground, found: Killed, kills: int, draw: random.Random) -> None:
    arguments = ("reproduce", *STUDIES, "--out", "out", "--jobs", "2")
    _again(ground, found, kills, draw, arguments, "out", lambda folder: results(folder / "out"))


def results(folder: Path) -> dict[str, object]:
    """Every file of a reproduction, but for how long it took."""
    files: dict[str, object] = {}
    for path in folder.rglob("*"):
        if not path.is_file() or path.name == ".lock":
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.parent.name == "results":
            try:
                files[path.name] = json.loads(text)["result"]
            except (ValueError, KeyError, TypeError):  # damaged: it differs from whatever it was
                files[path.name] = f"damaged: {text}"
        elif path.name == "manifest.json":
            files[path.name] = {**json.loads(text), "timing": None}
        else:
            files[str(path.relative_to(folder))] = re.sub(r"<span id='timing'>.*?</span>", "", text)
    return files


def _learn(ground: Ground, found: Killed, kills: int, draw: random.Random) -> None:
    with (ground.folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["good", "fair", "outcome"])
        for _ in range(CASES):
            ill = draw.random() < 0.4
            numbers = [round(draw.gauss(far * ill, 1), 2) for far in (3, 1.5)]
            table.writerow([*numbers, "ill" if ill else "well"])
    (ground.folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
    arguments = ("learn", "table.csv", "plan.yaml", "--out", "model.yaml", "--keep", "kept", "--jobs", "2")
    _again(ground, found, kills, draw, arguments, "model.yaml", lambda folder: (folder / "model.yaml").read_bytes())


def _advise(ground: Ground, found: Killed, kills: int, draw: random.Random) -> None:
    """One log for all cases. Every other kill falls between the last word of a case and its end: there it is kept."""
    log, typed, begun = ground.folder / "cases.jsonl", "1\n1\n1\n", time.monotonic()

    def case() -> subprocess.Popen[str]:
        process = ground.start("advise", "tiger", "--log", log.name, typed=True)
        assert process.stdin is not None
        process.stdin.write(typed)
        process.stdin.flush()
        return process

    def last_word(process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        while "COMMIT" not in process.stdout.readline():
            if process.poll() is not None:
                return
        with suppress(OSError):
            process.stdin.write("stop\n")
            process.stdin.flush()

    process = case()
    last_word(process)
    said = time.monotonic()
    if not kill(process, PATIENCE) or not log.exists():
        raise RhoplanError("`rhoplan advise tiger --log` must end well before it is killed; try it")
    whole, end, cases = said - begun, time.monotonic() - said, 1
    for number in range(kills):
        process = case()
        if number % 2:
            ended = kill(process, draw.uniform(0, whole))
        else:
            last_word(process)
            ended = kill(process, draw.uniform(0, end))
        found.kills, found.ended = found.kills + 1, found.ended + ended
        found.faults += ground.left()
        text = log.read_text(encoding="utf-8")
        lines = list(read_lines(text))
        found.faults += [str(fault["what"]) for fault in faults(text, lines, read_seal(log))]
        if not cases + ended <= len(lines) <= cases + 1:
            found.faults.append(f"kill {found.kills}: the log has {len(lines)} cases, {cases} were there before")
        cases = len(lines)
    process = case()
    last_word(process)
    kill(process, PATIENCE)
    ground.in_peace("replay", log.name)
    found.faults += [f"{path.name} is left" for path in ground.folder.glob(".*")]


def _serve(ground: Ground, found: Killed, kills: int, draw: random.Random) -> None:
    """Somebody saves a model again and again while the server is killed; the next one removes what was half written."""
    folder = ground.folder / "models"
    folder.mkdir()
    model, texts = folder / "model.yaml", [MODEL.format(horizon) for horizon in range(1, 100)]
    model.write_text(texts[0], encoding="utf-8")
    at, port = 0, 0
    while found.kills < kills:
        process = ground.start("serve", folder.name, "--port", str(port), "--workers", "1", "--no-key")
        assert process.stdout is not None
        told = re.search(r":(\d+)/", process.stdout.readline())
        if told is None:
            found.faults.append(f"after {found.kills} kills the server does not start on port {port}")
            kill(process, 0)
            break
        port = int(told.group(1))
        found.faults += [f"after {found.kills} kills {path.name} is left" for path in folder.glob(".*")]
        saved = [at]
        saving = threading.Thread(target=_save, args=(port, texts, saved))
        saving.start()
        kill(process, draw.uniform(0, 3))
        saving.join()
        found.kills += 1
        found.faults += ground.left()
        now = model.read_text(encoding="utf-8")
        if now not in (texts[saved[-1] % len(texts)], texts[(saved[-1] + 1) % len(texts)]):
            found.faults.append(f"kill {found.kills}: what was saved last is lost")
        at = texts.index(now) if now in texts else 0
        for path in folder.glob("[!.]*.bak"):
            if path.read_text(encoding="utf-8") not in texts:
                found.faults.append(f"kill {found.kills}: {path.name} is half an old text")
            path.unlink()


def _save(port: int, texts: list[str], saved: list[int]) -> None:
    """Save one text after another, beginning after `saved`, until the server is gone; those that it took are told."""
    with suppress(OSError, ValueError):
        while True:
            text = texts[(saved[-1] + 1) % len(texts)]
            _post(port, "save", {"name": "model", "text": text})
            saved.append(saved[-1] + 1)
            _post(port, "advise", {"problem": "tiger"})


def _post(port: int, address: str, body: dict[str, str]) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/{address}", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        json.loads(reply.read())


COMMANDS: dict[str, Callable[[Ground, Killed, int, random.Random], None]] = {
    "reproduce": _reproduce, "serve": _serve, "learn": _learn, "advise": _advise,
}  # fmt: skip
