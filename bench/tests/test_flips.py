"""Flipped bits: that they are flipped, and that what they changed would be told."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rhoplan_bench import flips, kills


def test_one_bit_is_another(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for seed in range(20):
        path.write_bytes(b"content")
        flips.flip(path, random.Random(seed))
        differs = int.from_bytes(path.read_bytes(), "big") ^ int.from_bytes(b"content", "big")
        assert differs.bit_count() == 1


@pytest.mark.parametrize("damage", ['{"result": 3333}', '{"resul4": 2222}', '{"result" 2222}', "[]"])
def test_what_is_not_computed_again_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    """A command that computes one of its two results again, whatever was flipped, and believes the other."""
    folder = tmp_path / "out" / "results"

    def in_peace(*_: object) -> float:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "checked.json").write_text('{"result": 1111}')
        if not (folder / "believed.json").exists():
            (folder / "believed.json").write_text('{"result": 2222}')
        return 0.0

    monkeypatch.setattr(kills.Ground, "in_peace", in_peace)
    monkeypatch.setattr(flips, "flip", lambda path, _: path.write_text(damage))
    found = flips.flipped(4, folder=tmp_path)
    assert (found.files, found.flips, found.rounds) == (2, 4, 2)
    assert found.faults == [f"round {number}: believed.json is not what it was" for number in (1, 2)]
