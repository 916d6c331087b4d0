"""The store of results: whatever happens to its files, a result that is used is the one that was kept."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from rhoplan.work.store import Store


@dataclass(frozen=True)
class Square:
    """A job that is done at once. code: stands for what a key depends on besides what the job is about."""

    number: int
    code: str = "code"

    @property
    def key(self) -> str:
        return f"{self.code}-{self.number}"

    @property
    def about(self) -> list[Any]:
        return ["square", self.number]


def outcome(job: Square) -> dict[str, Any]:
    return {"result": {"square": job.number**2 / 7, "rows": [[0.1, job.number], ["a", None]]}, "seconds": 0.25}


JOBS = [Square(number) for number in range(4)]


def kept(folder: Path) -> Store:
    store = Store(folder)
    with store.locked():
        for job in JOBS:
            store.put(job, outcome(job))
    return store


def damaged(data: bytes, kind: str, draw: np.random.Generator) -> bytes:
    if kind == "flip":
        place = int(draw.integers(8 * len(data)))
        return bytes(byte ^ (1 << place % 8) if at == place // 8 else byte for at, byte in enumerate(data))
    if kind == "digit":
        digits = [at for at, byte in enumerate(data) if chr(byte).isdigit()]
        at = digits[int(draw.integers(len(digits)))]
        return data[:at] + str((int(chr(data[at])) + int(draw.integers(1, 10))) % 10).encode() + data[at + 1 :]
    return data[: int(draw.integers(len(data)))]


@given(seed=some.integers(0, 2**32), kind=some.sampled_from(["flip", "digit", "cut"]))
@settings(max_examples=300, deadline=None)
def test_a_damaged_result_is_never_used(tmp_path_factory: pytest.TempPathFactory, seed: int, kind: str) -> None:
    folder, draw = tmp_path_factory.mktemp("store"), np.random.default_rng(seed)
    store = kept(folder)
    victim = JOBS[int(draw.integers(len(JOBS)))]
    path = folder / "results" / f"{victim.key}.json"
    path.write_bytes(damaged(path.read_bytes(), kind, draw))
    for job in JOBS:
        found = store.get(job)
        assert found is None or found == {"job": job.about, **outcome(job)}
        assert found or job == victim
    if store.get(victim) is None:
        assert store.damaged == {path.name}


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b'{"sha256": 1}', b"\xff", b"[" * 100_000])
def test_what_is_no_result_is_computed_again_and_told(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    store = kept(tmp_path)
    (tmp_path / "results" / f"{JOBS[1].key}.json").write_bytes(content)
    with caplog.at_level(logging.WARNING), store.locked():
        assert [store.get(job) is None for job in JOBS] == [False, True, False, False]
        store.put(JOBS[1], outcome(JOBS[1]))
        assert store.get(JOBS[1]) == store.get(JOBS[1]) is not None
    assert caplog.messages == [f"1 saved result in '{tmp_path / 'results'}' failed the check: computed again"]


def test_the_result_of_another_job_is_not_taken(tmp_path: Path) -> None:
    store, results = kept(tmp_path), tmp_path / "results"
    (results / f"{JOBS[0].key}.json").replace(results / f"{JOBS[1].key}.json")
    assert store.get(JOBS[1]) is None
    older = Square(2, "older code")
    (results / f"{JOBS[2].key}.json").replace(results / f"{older.key}.json")
    assert older.about == JOBS[2].about
    assert store.get(older) is None, "what it is about is the same, what made it is not"
    assert store.get(JOBS[3]) is not None


def test_nothing_is_told_of_a_sound_store(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = kept(tmp_path)
    with caplog.at_level(logging.WARNING), store.locked():
        assert all(store.get(job) for job in JOBS)
        assert store.get(Square(99)) is None
    assert not caplog.messages
