"""Files that are written whole or not at all, by those who live and those who are killed."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rhoplan.app.serve.saving import Files
from rhoplan.files import begin_and_drop, replacing, sweep, write_bytes, write_text

NO_LINKS = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")

KILLED = """
import os, signal, sys
from contextlib import ExitStack
from pathlib import Path
from rhoplan.files import replacing
with ExitStack() as writing:
    for path in sys.argv[1:]:
        temporary = writing.enter_context(replacing(Path(path)))
        temporary.write_text("half")
        print(temporary, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_while_writing(*paths: Path) -> list[Path]:
    """What somebody leaves who is killed while he writes `paths`."""
    told = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, paths)], check=False, stdout=subprocess.PIPE, text=True
    )
    assert told.returncode == -9
    return [Path(line) for line in told.stdout.splitlines()]


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can tell there whether a writer lives")
def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    write_text(path, "whole")
    (left,) = killed_while_writing(path)
    assert set(tmp_path.iterdir()) == {path, left}
    assert (path.read_text(), left.read_text()) == ("whole", "half")
    write_text(tmp_path / "other.yaml", "another")
    assert left.exists(), "it is for those who write the same file"
    write_text(path, "again")
    assert {one.name for one in tmp_path.iterdir()} == {"model.yaml", "other.yaml"}
    assert path.read_text() == "again"


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can tell there whether a writer lives")
def test_what_a_killed_server_left_goes_when_the_next_one_starts(tmp_path: Path) -> None:
    served, alone = tmp_path / "served", tmp_path / "alone"
    for folder in (served, alone):
        folder.mkdir()
    one = alone / "one.yml"
    one.write_text("whole")
    ours = [served / "new.yaml", served / "model.YML.bak", served / "model.yaml.12.bak", one, alone / "one.yml.bak"]
    others = [served / "table.csv", served / "model.bak", alone / "other.yaml", alone / "one.yml.x.bak"]
    left = dict(zip((*ours, *others), killed_while_writing(*ours, *others), strict=True))
    Files({"one": one}, served).remove_begun()
    assert [path.name for path in ours if left[path].exists()] == []
    assert [path.name for path in others if not left[path].exists()] == []
    assert one.read_text() == "whole"


def test_what_is_not_ours_or_somebody_writes_is_not_swept_away(tmp_path: Path) -> None:
    begun = "-being-written-"
    mine = [
        f".model{begun}short.yaml",
        f".model{begun}toolong99.yaml",
        f"model{begun}abcdefgh.yaml",
        ".model-abcdefgh.yaml",
    ]
    for name in mine:
        (tmp_path / name).write_text("not ours")
    (tmp_path / f".folder{begun}abcdefgh.yaml").mkdir()
    if sys.platform != "win32":
        (tmp_path / "there").write_text("not ours")
        (tmp_path / f".link{begun}abcdefgh.yaml").symlink_to(tmp_path / "there")
        os.mkfifo(tmp_path / f".pipe{begun}abcdefgh.yaml")  # nobody waits for one who writes to it
    before = sorted(tmp_path.iterdir())
    with replacing(tmp_path / "model.yaml") as alive:
        alive.write_text("whole")
        sweep(tmp_path, lambda name: True)
        assert sorted({*tmp_path.iterdir()} - {alive}) == before
    assert (tmp_path / "model.yaml").read_text() == "whole"
    sweep(tmp_path / "nowhere", lambda name: True)


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can tell there whether a writer lives")
def test_one_who_sweeps_while_somebody_begins_takes_nothing_from_him(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweeper holds the lock of a file that was made this instant: its maker waits, and makes another."""
    import fcntl

    made, plain = [], fcntl.flock

    def flock(handle: int, how: int) -> None:
        if not made and not how & fcntl.LOCK_NB:
            made.extend(tmp_path.iterdir())
            sweep(tmp_path, lambda name: True)
        plain(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    write_text(tmp_path / "model.yaml", "whole")
    assert len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["model.yaml"]
    assert (tmp_path / "model.yaml").read_text() == "whole"


def test_one_who_writes_meanwhile_is_not_disturbed(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    (tmp_path / ".model-personal.yaml").write_text("not ours")
    with replacing(path) as mine:
        mine.write_text("mine")
        write_text(path, "theirs")
        assert path.read_text() == "theirs"
    assert path.read_text() == "mine"
    assert {one.name for one in tmp_path.iterdir()} == {"model.yaml", ".model-personal.yaml"}


def test_looking_whether_a_file_can_be_written_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    begin_and_drop(path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("whole")
    begin_and_drop(path)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("model.yaml", "whole")]
    begin_and_drop(Path(os.devnull))
    with pytest.raises(OSError, match="too long"):
        begin_and_drop(tmp_path / f"{'a' * 250}.yaml")


def test_a_writer_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    write_text(path, "whole")
    with pytest.raises(RuntimeError), replacing(path) as mine:  # noqa: PT012
        mine.write_text("half")
        raise RuntimeError
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_links_are_followed_and_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    there, link = tmp_path / "there.txt", tmp_path / "link.txt"
    there.write_text("old")
    link.symlink_to(there)
    write_text(link, "new")
    assert link.is_symlink()
    assert there.read_text() == "new"
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(pipe.read_text)
        write_text(pipe, "through")
        assert read.result() == "through"
    assert pipe.is_fifo()


@NO_LINKS
def test_a_link_is_followed_replaced_or_left_as_the_caller_says(tmp_path: Path) -> None:
    away, link = tmp_path / "away", tmp_path / "link"
    link.symlink_to(away)
    with pytest.raises(FileExistsError):
        write_bytes(link, b"new", follow=False, new=True)
    assert link.is_symlink()
    write_bytes(link, b"one")
    assert away.read_bytes() == b"one"
    write_bytes(link, b"two", follow=False)
    assert (away.read_bytes(), link.read_bytes(), link.is_symlink()) == (b"one", b"two", False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["away", "link"]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_new_file_never_takes_the_place_of_another(
    tmp_path: Path, has_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_links:
        monkeypatch.setattr(os, "link", _no_hard_links)
    path = tmp_path / "new.txt"
    write_bytes(path, b"first", 0o600, new=True)
    with pytest.raises(FileExistsError):
        write_bytes(path, b"second", new=True)
    assert path.read_bytes() == b"first"
    assert sys.platform == "win32" or path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def _no_hard_links(*_: object) -> None:
    raise PermissionError
