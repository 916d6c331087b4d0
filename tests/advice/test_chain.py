"""Lines of a log hold on to each other: every way of forging one that we could think of is found."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridge import HASH, append, faults, hash_of, import_line, path_of, read_lines, read_log, read_seal, seal_of

Lines = list[dict[str, Any]]
CASES = [{"agent": {"weight": float(k)}, "version": "1", "entries": [{"why": f"reason {k}", "n": k}]} for k in range(5)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    for case in CASES:
        append(path, case, by="A. Reader" if case is CASES[2] else None)
    return path


def found(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    return faults(text, list(read_lines(text)), read_seal(path))


def forged(log: Path, change: Callable[[Lines], Any]) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines = change(lines) or lines
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return found(log)


def test_a_log_as_it_was_written_is_sound(log: Path) -> None:
    assert found(log) == []
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["by"] for line in lines if "by" in line] == ["A. Reader"]
    assert all(line["time"].endswith("+00:00") for line in lines)
    assert read_seal(log) == {"lines": 5, HASH: lines[-1][HASH]}


def rehashed(line: dict[str, Any], **changes: Any) -> dict[str, Any]:
    whole = {**line, **changes}
    return {**whole, HASH: hash_of(whole)}


FORGERIES: dict[str, Callable[[Lines], Any]] = {
    "weight": lambda lines: lines[1]["agent"].update(weight=9.0),
    "version": lambda lines: lines[1].update(version="2"),
    "reason": lambda lines: lines[3]["entries"][0].update(why="another"),
    "reason taken out": lambda lines: lines[3]["entries"][0].pop("why"),
    "time": lambda lines: lines[0].update(time="2001-01-01T00:00:00+00:00"),
    "time taken out": lambda lines: lines[0].pop("time"),
    "name": lambda lines: lines[2].update(by="B. Writer"),
    "name taken out": lambda lines: lines[2].pop("by"),
    "name added": lambda lines: lines[1].update(by="B. Writer"),
    "extra field": lambda lines: lines[4].update(more=1),
    "extra field inside": lambda lines: lines[4]["entries"][0].update(more=None),
    "number as text": lambda lines: lines[4]["entries"][0].update(n="4"),
    "whole number as another kind": lambda lines: lines[4]["agent"].update(weight=4),
    "order": lambda lines: [lines[1], lines[0], *lines[2:]],
    "order of the last two": lambda lines: [*lines[:3], lines[4], lines[3]],
    "reversed": lambda lines: lines[::-1],
    "first missing": lambda lines: lines[1:],
    "middle missing": lambda lines: [*lines[:2], *lines[3:]],
    "last missing": lambda lines: lines[:-1],
    "last two missing": lambda lines: lines[:-2],
    "only one left": lambda lines: lines[2:3],
    "first doubled": lambda lines: [lines[0], *lines],
    "middle doubled": lambda lines: [*lines[:3], *lines[2:]],
    "last doubled": lambda lines: [*lines, lines[-1]],
    "added at the end": lambda lines: [*lines, {**lines[-1], "version": "3"}],
    "added with a hash of its own": lambda lines: [*lines, rehashed(lines[-1], version="3")],
    "added and chained": lambda lines: [*lines, rehashed(lines[0], previous=lines[-1][HASH])],
    "added without a hash": lambda lines: [*lines, {"agent": {}, "version": "1", "entries": []}],
    "changed and hashed again": lambda lines: [*lines[:2], rehashed(lines[2], version="9"), *lines[3:]],
    "last changed and hashed again": lambda lines: [*lines[:4], rehashed(lines[4], version="9")],
    "hash changed": lambda lines: lines[2].update({HASH: "0" * 64}),
    "hash taken out": lambda lines: lines[2].pop(HASH),
    "hash of the first taken out": lambda lines: lines[0].pop(HASH),
    "first changed, hash taken out": lambda lines: [{**CASES[0], "version": "2"}, *lines[1:]],
    "added in front without a hash": lambda lines: [CASES[4], *lines],
    "all hashes taken out": lambda lines: CASES,
    "all hashes but the last taken out": lambda lines: [*CASES[:4], lines[4]],
    "chain changed": lambda lines: lines[2].update(previous="0" * 64),
    "chain taken out": lambda lines: lines[2].pop("previous"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_every_forgery_is_found(log: Path, name: str) -> None:
    assert forged(log, FORGERIES[name])


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-30],
        lambda text: text.replace('"version": "1"', '"version": "1" "', 1),
        lambda text: text.replace("reason 3", "reason \x00", 1),
        lambda text: text.replace('"n": 1', '"n": 1, "n": 1', 1),
        lambda text: "half a line\n" + text,
        lambda text: text + '{"agent": ',
        lambda text: text.replace("\n", "\n[1, 2]\n", 1),
    ],
)
def test_a_damaged_line_is_told_and_the_others_are_read(log: Path, damage: Callable[[str], str]) -> None:
    log.write_text(damage(log.read_text()))
    lines = list(read_lines(log.read_text()))
    assert sum(line.record is not None for line in lines) >= 4
    assert found(log)


def test_a_case_added_to_a_log_that_was_cut_does_not_hide_the_cut(log: Path) -> None:
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:3]))
    append(log, CASES[0])
    assert any("missing" in one["what"] for one in found(log))


def test_a_line_begins_after_half_a_line(log: Path) -> None:
    log.write_text(log.read_text() + '{"half')
    append(log, CASES[0])
    assert [line.record is None for line in read_lines(log.read_text())] == [False] * 5 + [True, False]


def test_logs_of_earlier_versions_go_on(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in CASES[:2]))
    assert found(path) == []
    append(path, CASES[2])
    append(path, CASES[3])
    assert found(path) == []
    text = path.read_text()
    path.write_text(text.replace("reason 1", "reason 9", 1))  # what was written before there was a chain
    assert [one["line"] for one in found(path)] == [3]


@pytest.mark.parametrize("begin", ["\ufeff", ""])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_logs_of_earlier_versions_go_on_however_they_were_kept(tmp_path: Path, begin: str, end: str) -> None:
    path = tmp_path / "old.jsonl"
    path.write_bytes((begin + json.dumps(CASES[0]) + end).encode())
    append(path, CASES[1])
    text = read_log(path)
    assert faults(text, list(read_lines(text)), read_seal(path)) == []


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", b'{"lines": "5"}', b"[" * 100_000])
def test_a_damaged_seal_is_told(log: Path, damage: bytes) -> None:
    seal_of(log).write_bytes(damage)
    assert any("seal" in one["what"] for one in found(log))
    append(log, CASES[0])
    assert found(log) == []


def test_an_append_that_fails_leaves_the_log_as_it_was(log: Path) -> None:
    before, seal = log.read_bytes(), seal_of(log).read_bytes()
    limit = len(before) + 40  # a full disk, as far as this file goes: room for a part of a line
    code = (
        f"import json, sys; from pathlib import Path; {import_line('append')}\n"
        "try:\n    append(Path(sys.argv[1]), json.loads(sys.argv[2]))\n"
        "except OSError as error:\n    print('failed', error.errno)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(log), json.dumps(CASES[0])], capture_output=True, text=True, check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert run.stdout.startswith("failed")
    assert (log.read_bytes(), seal_of(log).read_bytes()) == (before, seal)


def test_several_writers_keep_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "shared.jsonl"
    code = (
        f"import sys; from pathlib import Path; {import_line('append')}\n"
        "for k in range(20): append(Path(sys.argv[1]), {'who': sys.argv[2], 'k': k})"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), str(number)]) for number in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(path.read_text().splitlines()) == 60
    assert found(path) == []


class Killed(BaseException):
    """Stands for the end of the process: nothing is put right after it."""


@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize(("what", "comes"), [("first seal", False), ("line", True), ("second seal", True)])
def test_who_is_killed_leaves_a_line_or_none_and_the_chain_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, comes: bool, lines: int
) -> None:
    path, before = tmp_path / "cases.jsonl", CASES[:lines]
    for case in before:
        append(path, case)
    seals: list[Path] = []

    def seal(place: Path, text: str) -> None:
        seals.append(place)
        if len(seals) == (2 if what == "second seal" else 1 if what == "first seal" else 0):
            raise Killed
        place.write_text(text)

    with monkeypatch.context() as patch, pytest.raises(Killed):  # noqa: PT012
        patch.setattr(path_of("chain_write_text"), seal)
        if what == "line":
            patch.setattr(os, "fsync", killed)
        append(path, CASES[2])
    assert found(path) == []
    append(path, CASES[3])
    assert found(path) == []
    written = [line.record["agent"] for line in read_lines(path.read_text()) if line.record]
    assert written == [case["agent"] for case in (*before, *CASES[2 : 3 if comes else 2], CASES[3])]


def killed(_: object) -> None:
    raise Killed


def test_half_a_line_of_one_who_was_killed_is_taken_away(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin, lines = log.stat().st_size, len(log.read_text().splitlines())
    with monkeypatch.context() as patch, pytest.raises(Killed):  # noqa: PT012
        patch.setattr(os, "fsync", killed)
        append(log, CASES[0])
    whole, seal = log.read_bytes(), seal_of(log).read_bytes()
    for size in range(begin, len(whole) + 1, 7):
        log.write_bytes(whole[:size])
        seal_of(log).write_bytes(seal)
        append(log, CASES[1])
        assert found(log) == [], f"{size - begin} bytes of the line were written"
        assert len(log.read_text().splitlines()) == lines + 1 + (size >= len(whole) - 1)


def test_what_others_add_after_a_kill_is_still_found(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(Killed):  # noqa: PT012
        patch.setattr(os, "fsync", killed)
        append(log, CASES[0])
    *kept, last = log.read_text().splitlines(keepends=True)
    record = json.loads(last)
    for forgery in ({**record, "version": "2"}, rehashed(record, version="2")):
        log.write_text("".join([*kept, json.dumps(forgery) + "\n"]))
        assert found(log)
        append(log, CASES[1])
        assert found(log)
