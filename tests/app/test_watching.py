"""Files of models that change while the server runs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")

from rhoplan.app.serve import watching
from rhoplan.app.serve.sources import Library
from rhoplan.app.serve.watching import Watch

MODEL = "states: [a, b]\ncommits: {x: [1, 0], y: [0, %d]}\n"


def write(path: Path, text: str, when: int) -> None:
    path.write_text(text)
    os.utime(path, (when, when))


def test_what_changes_comes_or_goes_is_noticed(tmp_path: Path) -> None:
    own, other = tmp_path / "own.yaml", tmp_path / "folder"
    other.mkdir()
    write(own, MODEL % 1, 1)
    write(other / "there.yaml", "states: [a\n", 1)  # left out at the start, since it is no model
    library, watch = Library(most=9, most_bytes=9999, expiry=9.0), Watch({"own": own}, other)
    assert watch.look(library) == []
    write(own, MODEL % 2, 2)
    write(other / "new.json", "{}", 2)
    write(other / "notes.txt", "no model", 2)
    write(other / ".hidden.yaml", MODEL % 1, 2)
    write(other / "there.yaml", MODEL % 3, 2)
    assert sorted(watch.look(library)) == ["new", "own", "there"]
    found = {name: library.find(name) for name in ("own", "there", "new")}
    assert {name: source and source.text for name, source in found.items()} == {
        "own": MODEL % 2, "there": MODEL % 3, "new": "{}",
    }  # fmt: skip
    assert found["new"] is not None
    assert found["new"].language == "json"
    assert watch.look(library) == []
    own.unlink()
    assert watch.look(library) == ["own"]
    assert library.find("own") is None
    write(own, MODEL % 4, 3)
    assert watch.look(library) == ["own"], "an editor may take a file away for a moment"


def test_a_folder_that_is_gone_is_no_end(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    watch = Watch({}, folder)
    folder.rmdir()
    assert watch.look(Library(most=9, most_bytes=9999, expiry=9.0)) == []


@pytest.mark.parametrize("what", ["a file", "an empty folder", "nothing"])
def test_it_looks_again_and_again_where_there_is_something_to_look_at(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "own.yaml", MODEL % 1, 1)
    (tmp_path / "folder").mkdir()
    watch = Watch(
        {"own": tmp_path / "own.yaml"} if what == "a file" else {},
        tmp_path / "folder" if what == "an empty folder" else None,
    )
    looks: list[str] = []

    def look(library: Library) -> list[str]:
        looks.append("again")
        if len(looks) == 3:
            raise asyncio.CancelledError  # as the server does when it ends
        return []

    monkeypatch.setattr(watching, "EVERY", 0.0)
    monkeypatch.setattr(watch, "look", look)
    going = watch.go_on(Library(most=9, most_bytes=9999, expiry=9.0))
    if what == "nothing":
        asyncio.run(going)
        assert looks == []
    else:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(going)
        assert len(looks) == 3
