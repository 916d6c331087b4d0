"""Golden results: recorded answers of rhoplan's commands and API, and how new answers are held against them.

`python3 run.py record` runs every case of `commands.py`, writes `data/quick.jsonl.xz` and `data/full.jsonl.xz`, and
prints what differs from the answers recorded before, by kind. `python3 run.py golden` compares without writing. A
recorded case carries its command and its input files, so an old recording can be compared after `commands.py` changed.

If a rebuild renames options, keys or values on purpose, the three tables below map the recorded names to the new ones.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import lzma
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from contract.commands import Case

DATA = Path(__file__).with_name("data")
SETS = {"quick": DATA / "quick.jsonl.xz", "full": DATA / "full.jsonl.xz"}

RENAMED_OPTIONS: dict[str, str] = {}
"""Options and values of commands that a later version calls otherwise."""

RENAMED_KEYS: dict[str, str] = {}
"""Keys of results that a later version calls otherwise."""

RENAMED_VALUES: dict[str, str] = {}
"""Values of results, such as the name of a method, that a later version calls otherwise."""

RELATIVE, FLOOR = 1e-9, 1e-12
"""Numbers are equal if they differ by at most this share of the larger one, or by at most the floor."""

NOT_COMPARED = {"nodes", "dropped", "rounds", "seconds", "compiling", "version", "symmetries", "digest", "date"}
SENTENCES = {"beside", "reason", "words", "notes", "why", "text", "about", "summary", "sentence", "message", "detail"}
DISTRIBUTIONS = {"tests_distribution"}
"""Keys of probabilities of 0, 1, 2, ... tests."""

CHOICES = {"choice", "first", "do", "runner_up", "action", "commit"}
"""Keys whose value names an action."""

SLACK = 1.25
"""A CPU second of a busy machine, whose processes share memory and caches, does less than one of a quiet machine."""

STANDARD_ERRORS = 5
"""How far an estimated value may lie outside the certified bounds."""

BOUNDS = {"lower", "upper", "gap", "stopped_by", "converged", "certificate"}
OF_THE_PLAN = {"reward", "tests", "success", "truncated", "first", "method", "score", "information"}
"""Keys of `solve` that depend on which of the plans within the bounds was found."""


@dataclass(frozen=True)
class Recorded:
    """A case with its answer and the CPU seconds that it took."""

    case: Case
    answer: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Difference:
    """kind: number, choice, tie, text, missing, added, bounds, exit, or speed: the bounds found in the same time."""

    kind: str
    case: str
    where: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.kind}: rhoplan {self.case}: {self.where}: {_short(self.old)} became {_short(self.new)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


# Running


def run_command(arguments: Sequence[str], folder: Path) -> tuple[int, str]:
    """Exit code and standard output of a command of rhoplan that is run in this process, in `folder`.

    Time limits are in CPU seconds, so that results do not depend on what else the machine does.
    """
    from rhoplan.app.cli import main

    out, before, code = io.StringIO(), Path.cwd(), 0
    os.chdir(folder)
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            cpu = time.process_time
            stack.enter_context(patch.multiple(time, monotonic=cpu, perf_counter=cpu))
            main(list(arguments))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        os.chdir(before)
    return code, out.getvalue()


class Runner:
    """Runs cases in one folder that holds all input files; the API is started when a request comes."""

    def __init__(self, files: dict[str, str]) -> None:
        self._stack = contextlib.ExitStack()
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="golden-")))
        for name, text in files.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        self._client: Any = None

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, case: Case) -> Recorded:
        begin = time.process_time()
        answer = self._request(case) if case.command[0] == "POST" else self._command(case)
        return Recorded(case, answer, round(time.process_time() - begin, 4))

    def _command(self, case: Case) -> dict[str, Any]:
        code, out = run_command([RENAMED_OPTIONS.get(word, word) for word in case.command], self.folder)
        answer: dict[str, Any] = {"exit": code}
        if "--json" in case.command and out:
            answer["out"] = json.loads(out)
        elif "--yaml" in case.command or "--format" in case.command:
            answer["out"] = out.split()
        for name in case.reads:
            path = self.folder / name
            answer[name] = _content(path) if path.exists() else None
            path.unlink(missing_ok=True)
        return answer

    def _request(self, case: Case) -> dict[str, Any]:
        if self._client is None:
            from fastapi.testclient import TestClient

            from rhoplan.app.serve.app import create_app

            self._client = self._stack.enter_context(TestClient(create_app(), base_url="http://localhost"))
        reply = self._client.post(case.command[1], json=case.body)
        lines = (
            [json.loads(line) for line in reply.text.splitlines()]
            if "ndjson" in reply.headers["content-type"]
            else None
        )
        return {"exit": reply.status_code, "out": lines or reply.json()}


def _content(path: Path) -> Any:
    """What a written file says: the plan inside a page to carry, the words of a model file, the numbers of a text."""
    text = path.read_text(encoding="utf-8")
    if plan := re.search(r"<script type='application/json' id='plan'>(.*?)</script>", text, flags=re.DOTALL):
        return json.loads(plan.group(1))
    if path.suffix == ".yaml":
        return text.split()
    if path.suffix == ".csv":
        return list(csv.reader(io.StringIO(text)))
    return re.findall(r"\d[\d,]*(?:\.\d+)?", text)


def run_cases(cases: Sequence[Case], files: dict[str, str]) -> list[Recorded]:
    with Runner(files) as runner:
        return [runner.run(case) for case in cases]


def compare_rows(rows: Sequence[Recorded], files: dict[str, str]) -> list[Difference]:
    with Runner(files) as runner:
        return [one for row in rows for one in compared(runner, row)]


# Keeping


def save(path: Path, files: dict[str, str], rows: Iterable[Recorded]) -> None:
    path.parent.mkdir(exist_ok=True)
    rows = list(rows)
    needed = {name for row in rows for name in row.case.files}
    lines = [json.dumps({name: text for name, text in files.items() if name in needed})]
    lines += [json.dumps({"case": asdict(row.case), "answer": row.answer, "seconds": row.seconds}) for row in rows]
    path.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9))


def load(path: Path) -> tuple[dict[str, str], list[Recorded]]:
    """The input files, and the recorded cases."""
    files, *rows = (json.loads(line) for line in lzma.decompress(path.read_bytes()).decode().split("\n"))
    return files, [Recorded(_case(row["case"]), row["answer"], row["seconds"]) for row in rows]


def _case(row: dict[str, Any]) -> Case:
    limits = tuple(row["limits"]) if row["limits"] else None
    return Case(tuple(row["command"]), tuple(row["files"]), tuple(row["reads"]), row["body"], limits, row["is_quick"])


# Comparing


def compared(runner: Runner, old: Recorded, slack: float = SLACK) -> list[Difference]:
    """Run a recorded case again and compare; a search that reached its gap has `slack` times its CPU seconds."""
    command = list(old.case.command)
    if "--time-limit" in command:
        place = command.index("--time-limit") + 1
        command[place] = str((SLACK if ended_by_time(old) else slack) * float(command[place]))
    return differences(old, runner.run(replace(old.case, command=tuple(command))))


def ended_by_time(row: Recorded) -> bool:
    """Whether this is a search whose bounds depend on the speed of the machine."""
    out = row.answer.get("out")
    return isinstance(out, dict) and out.get("stopped_by") == "time"


def differences(old: Recorded, new: Recorded) -> list[Difference]:
    """What differs between two answers to the same case."""
    name = old.case.name
    if old.case.command[0] == "solve" and old.answer["exit"] == new.answer["exit"] == 0:
        return list(_bounds(old, new))
    found = [Difference(kind, name, where, *pair) for kind, where, *pair in _walk(old.answer, new.answer, "")]
    if any(one.kind == "choice" for one in found) and all(
        _is_tie(old.answer, one.where) for one in found if one.kind == "choice"
    ):
        return [Difference("tie", one.case, one.where, one.old, one.new) for one in found]
    return found


def _bounds(old: Recorded, new: Recorded) -> Iterator[Difference]:
    """Both intervals hold the optimal value; the new one is about as narrow, and reaches the gap if the old one did."""
    before, after = (_renamed(row.answer["out"]) for row in (old, new))
    gap = float(old.case.command[old.case.command.index("--gap") + 1])
    wide, scale = after["upper"] - after["lower"], max(abs(after["lower"]), abs(after["upper"]))
    hair = RELATIVE * scale + FLOOR
    what = f"bounds [{after['lower']}, {after['upper']}]"

    def told(where: str, wanted: Any, kind: str = "bounds") -> Difference:
        return Difference(kind, old.case.name, where, wanted, what)

    if after["lower"] > before["upper"] + hair or before["lower"] > after["upper"] + hair:
        yield told("the intervals do not overlap", [before["lower"], before["upper"]])
    limits = old.case.limits
    if limits and (after["lower"] > limits[1] + hair or after["upper"] < limits[0] - hair):
        yield told("the exact value lies outside", limits)
    if after["lower"] > after["upper"] + hair:
        yield told("the lower bound exceeds the upper one", None)
    if before["stopped_by"] == "gap" and after["stopped_by"] != "gap":
        yield told(f"the gap is not reached ({after['stopped_by']})", gap)
    if wide > max(gap, 1.5 * (before["upper"] - before["lower"])) + hair:
        kind = "speed" if ended_by_time(old) else "bounds"
        yield told("the gap is more than 1.5 times the old one", before["upper"] - before["lower"], kind)
    ignored = BOUNDS | OF_THE_PLAN | NOT_COMPARED
    rest = [{key: value for key, value in one.items() if key not in ignored} for one in (before, after)]
    yield from (Difference(kind, old.case.name, where, *pair) for kind, where, *pair in _walk(*rest, ""))
    reward = after.get("reward")
    if (
        reward is not None
        and after.get("weight") == 0
        and after.get("discount") == 1
        and reward > after["upper"] + hair
    ):
        yield told("the plan earns more than the upper bound", reward)
    estimate = after.get("score") or {}
    if estimate.get("kind") == "estimated":
        error, known = estimate["value_se"], [after["lower"] - hair, after["upper"] + hair]
        spread = STANDARD_ERRORS * error + estimate["value_tail"]
        if not (error >= 0 and known[0] - spread <= estimate["value"] <= known[1] + spread):
            yield told("the estimated value is not within the bounds", [estimate["value"], error])


def _renamed(record: dict[str, Any]) -> dict[str, Any]:
    return {RENAMED_KEYS.get(key, key): value for key, value in record.items()}


def _walk(old: Any, new: Any, where: str) -> Iterator[tuple[str, str, Any, Any]]:
    """Kind, place, old and new value of everything that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        old = _renamed(old)
        located, new = _located(old, new), _aligned(old, new)
        for key in old.keys() | new.keys():
            place = f"{where}.{key}".lstrip(".")
            if key in NOT_COMPARED or key in SENTENCES or key in located:
                continue
            if key not in new or key not in old:
                yield ("missing" if key in old else "added"), place, old.get(key), new.get(key)
            else:
                yield from _walk(old[key], new[key], place)
    elif isinstance(old, list) and isinstance(new, list):
        if where.rpartition(".")[2] in DISTRIBUTIONS:  # those that end earlier end with probability 0
            longest = max(len(old), len(new))
            old, new = (one + [0.0] * (longest - len(one)) for one in (old, new))
        if len(old) != len(new):
            yield "number", f"{where} (length)", len(old), len(new)
        for place, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from _walk(one, other, f"{where}[{place}]")
    elif _is_number(old) and _is_number(new):
        if not abs(old - new) <= RELATIVE * max(abs(old), abs(new)) + FLOOR and old != new:
            yield "number", where, old, new
    elif RENAMED_VALUES.get(str(old), old) != new and not (
        isinstance(old, str) and isinstance(new, str) and same_text(old, new)
    ):
        kind = "exit" if where == "exit" else "choice" if where.rpartition(".")[2] in CHOICES else "text"
        yield kind, where, old, new


def _aligned(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """`new`, the weights at which a frontier changes as in `old` where they agree within the search's resolution."""
    if "points" not in old or "high" not in old or len(old["points"]) != len(new.get("points", ())):
        return new
    points = [
        point | {end: one[end] for end in ("lower", "upper") if abs(one[end] - point[end]) <= 2e-9 * old["high"]}
        for one, point in zip(old["points"], new["points"], strict=True)
    ]
    return new | {"points": points}


def _located(old: dict[str, Any], new: dict[str, Any]) -> set[str]:
    """Keys of a change that a search has enclosed between `before` and `beyond`, if the two brackets overlap.

    Where in its bracket the search ends depends on the last digits of values.
    """
    if all(isinstance(one.get("up"), dict) and isinstance(one.get("down"), dict) for one in (old, new)):
        return {"nearest"} if any(_located(old[side], new[side]) for side in ("up", "down")) else set()
    ends = [(one.get("before"), one.get("beyond")) for one in (old, new)]
    if not all(_is_number(end) for pair in ends for end in pair):
        return set()
    (low, high), (other_low, other_high) = (sorted(pair) for pair in ends)
    return {"before", "beyond", "value", "distance"} if low <= other_high and other_low <= high else set()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same_text(old: str, new: str) -> bool:
    """Whether both are sentences, which are not compared, or numbers written out that are equal."""
    if old.count(" ") >= 3 and new.count(" ") >= 3:
        return True
    try:
        one, other = float(old.rstrip(",]}")), float(new.rstrip(",]}"))
    except ValueError:
        return False
    return abs(one - other) <= RELATIVE * max(abs(one), abs(other)) + FLOOR


def _is_tie(answer: dict[str, Any], where: str) -> bool:
    """Whether the record in which a choice stands says that the best two actions are equally good."""
    record: Any = answer
    for step in re.findall(r"[^.\[\]]+", where.rpartition(".")[0]):
        record = record[int(step)] if isinstance(record, list) else record[step]
    margin = record.get("margin") if isinstance(record, dict) else None
    scale = (
        max([1e-300, *(abs(row["value"]) for row in record.get("actions", []) if "value" in row)])
        if margin is not None
        else 1
    )
    return margin is not None and margin <= RELATIVE * scale


def summary(found: Sequence[Difference]) -> Iterator[str]:
    """Counts by kind, then some differences of each kind."""
    kinds = sorted({one.kind for one in found})
    for kind in kinds:
        its = [one for one in found if one.kind == kind]
        yield f"{kind}: {len(its)} in {len({one.case for one in its})} cases"
    for kind in kinds:
        yield from (f"  {one}" for one in [one for one in found if one.kind == kind][:10])
