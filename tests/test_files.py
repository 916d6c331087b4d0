"""Files that are written whole or not at all, by those who live and those who are killed."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rhoplan.files import replacing, write_text

KILLED = """
import os, signal, sys
from pathlib import Path
from rhoplan.files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can tell there whether a writer lives")
def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    write_text(path, "whole")
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == -9
    (left,) = set(tmp_path.iterdir()) - {path}
    assert (path.read_text(), left.read_text()) == ("whole", "half")
    write_text(tmp_path / "other.yaml", "another")
    assert left.exists(), "it is for those who write the same file"
    write_text(path, "again")
    assert {one.name for one in tmp_path.iterdir()} == {"model.yaml", "other.yaml"}
    assert path.read_text() == "again"


def test_one_who_writes_meanwhile_is_not_disturbed(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    (tmp_path / ".model-personal.yaml").write_text("not ours")
    with replacing(path) as mine:
        mine.write_text("mine")
        write_text(path, "theirs")
        assert path.read_text() == "theirs"
    assert path.read_text() == "mine"
    assert {one.name for one in tmp_path.iterdir()} == {"model.yaml", ".model-personal.yaml"}


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
