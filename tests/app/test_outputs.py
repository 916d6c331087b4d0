"""What a command writes never takes the place of what it reads, and what cannot be written is told last."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rhoplan
from rhoplan.app.cli import _guarded, main
from rhoplan.io.model_file import write_model
from rhoplan.planning.certified.general import General

REFUSED = "must not take the place of what is read"


def model(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text(write_model(rhoplan.make("tiger")))
    return path


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one line with which a command refuses."""
    assert _guarded(list(map(str, arguments))) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("wish", ["--save", "--plot"])
@pytest.mark.parametrize("linked", [False, True])
def test_solve_does_not_write_over_its_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wish: str, linked: bool
) -> None:
    path = model(tmp_path, "tiger.yaml")
    out, before = tmp_path / "other.png" if linked else tmp_path / "." / "tiger.yaml", path.read_bytes()
    if linked:
        out.symlink_to(path)

    assert REFUSED in refusal(capsys, "solve", path, wish, out)
    assert path.read_bytes() == before


@pytest.mark.parametrize("ending", [".pomdp", ".pomdpx", ".drn", ".yaml", ".YML", ".json", ".toml"])
def test_a_policy_is_not_called_like_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str) -> None:
    out = tmp_path / f"policy{ending}"
    assert "--save must not end as problem files do" in refusal(capsys, "solve", "tiger", "--save", out)
    assert not out.exists()


def test_a_policy_may_be_called_like_a_problem_that_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="solving general problems needs numba")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert _guarded(["solve", "tiger", "--save", "tiger", "--gap", "10", "--json"]) == 0


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("as_json", [False, True])
def test_who_stops_before_there_is_a_policy_sees_the_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    out = tmp_path / "tiger.policy"
    monkeypatch.setattr(General, "_by_points", interrupt)

    assert _guarded(["solve", "tiger", "--save", str(out), *["--json"] * as_json]) == 2
    told, err = capsys.readouterr()
    if as_json:
        assert json.loads(told)["stopped_by"] == "interrupted"
    else:
        assert "stopped from the keyboard" in told
        assert "not enough time" not in told
    assert "--save and --plot need a policy; it was stopped before there was one" in err
    assert not out.exists()


def test_who_has_no_time_for_a_policy_sees_the_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wish = ["--save", str(tmp_path / "tiger.policy"), "--time-limit", "1e-9", "--json"]
    assert _guarded(["solve", "tiger", *wish]) == 2
    told, err = capsys.readouterr()
    assert json.loads(told)["stopped_by"] == "time"
    assert "--save and --plot need a policy; there was not enough time or memory for one: allow more" in err


def test_what_is_asked_for_is_written_where_nobody_reads_what_is_printed(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="a drawing needs it")
    reads, writes = os.pipe()
    os.close(reads)
    wish = ["--save", "tiger.policy", "--plot", "tiger.svg", "--gap", "10"]
    subprocess.run([sys.executable, "-m", "rhoplan", "solve", "tiger", *wish], stdout=writes, cwd=tmp_path, check=False)
    os.close(writes)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiger.policy", "tiger.svg"]


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt, MemoryError])
def test_bounds_are_told_whatever_goes_wrong_in_writing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr("rhoplan.app.cli.solve._save", fail)
    assert _guarded(["solve", "tiger", "--save", str(tmp_path / "tiger.policy"), "--gap", "10"]) in (1, 130)
    told, err = capsys.readouterr()
    assert "between" in told
    assert "policy written" not in told
    assert err.strip().startswith("rhoplan: ")


@pytest.mark.skipif(sys.platform != "linux", reason="there alone is a folder that takes no files from anybody")
@pytest.mark.parametrize("wish", ["--save", "--plot"])
def test_a_place_that_takes_no_files_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, wish: str
) -> None:
    monkeypatch.setattr("rhoplan.planning.certified.solve.solve", interrupt)
    assert "cannot write '/proc/tiger.png'" in refusal(capsys, "solve", "tiger", wish, "/proc/tiger.png")


@pytest.mark.parametrize("command", ["report", "carry"])
def test_pages_do_not_take_the_place_of_their_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path, page = model(tmp_path, "tiger.yaml"), tmp_path / "page.html"
    page.symlink_to(path)
    before = path.read_bytes()

    assert REFUSED in refusal(capsys, command, path, "-o", page)
    assert path.read_bytes() == before


@pytest.mark.parametrize("wish", ["--case", "--log"])
def test_cases_do_not_join_the_file_of_their_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wish: str
) -> None:
    path = model(tmp_path, "tiger.yaml")
    assert REFUSED in refusal(capsys, "advise", path, wish, path)


def test_a_case_is_not_saved_over_its_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model(tmp_path, "tiger.yaml")
    before = path.read_bytes()
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"save {path}\nquit\n"))

    assert _guarded(["advise", str(path)]) == 0
    assert "is the file of the problem; save needs the name of another" in " ".join(capsys.readouterr().out.split())
    assert path.read_bytes() == before


def test_learned_models_do_not_take_the_place_of_what_they_are_made_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = model(tmp_path, "model.yaml")
    table, page = tmp_path / "cases.yaml", tmp_path / "cases.html"
    table.write_text("a,b\n1,2\n")
    page.symlink_to(table)

    assert REFUSED in refusal(capsys, "update", path, table, "-o", path)
    assert REFUSED in refusal(capsys, "update", path, table, "-o", table)
    assert REFUSED in refusal(capsys, "learn", table, path, "-o", table)
    assert REFUSED in refusal(capsys, "learn", table, path, "--report", page)


def test_ctrl_c_after_all_is_told_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even the end of the program, which would show where it was."""
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(sys, "argv", ["rhoplan", "--version"])
    try:
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(SystemExit):
        main(["--version"])  # called by others it leaves their ctrl-C alone
    assert signal.getsignal(signal.SIGINT) is before
    assert capsys.readouterr().out.count("rhoplan") == 2
