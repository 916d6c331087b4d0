"""`run.py` in the order of the README: the second command finds what the first one left."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import rhoplan

SPEC = importlib.util.spec_from_file_location("run", Path(__file__).resolve().parent.parent / "run.py")
assert SPEC
assert SPEC.loader
run = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What pip was asked to install; nothing is."""
    targets: list[str] = []
    monkeypatch.setattr(run, "VENV", tmp_path)
    monkeypatch.setattr(run, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(run, "PYTHON", tmp_path / "python")
    monkeypatch.setattr(run, "make_environment", lambda: (tmp_path.mkdir(exist_ok=True), run.PYTHON.touch()))
    monkeypatch.setattr(run, "install", lambda arguments: targets.append(" ".join(arguments[arguments.index("-e") :])))
    return targets


def test_extras_add_up_over_commands(installed: list[str]) -> None:
    run.set_up("")
    run.set_up("dev,validation")
    run.set_up("dev")
    run.set_up("")
    assert installed == [f"-e {one} -e paper -e bench" for one in (".", ".[dev,validation]")]


def test_a_changed_project_is_installed_again(installed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run.set_up("dev")
    monkeypatch.setattr(run, "fingerprint", lambda: "another")
    run.set_up("dev")
    assert installed == ["-e .[dev] -e paper -e bench"] * 2


@pytest.mark.parametrize("name", ["constraints.txt", "pyproject.toml", "paper/pyproject.toml", "bench/pyproject.toml"])
def test_fingerprint_covers_what_decides_the_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for one in ("constraints.txt", "pyproject.toml", "paper/pyproject.toml", "bench/pyproject.toml"):
        (tmp_path / one).parent.mkdir(exist_ok=True)
        (tmp_path / one).write_text("as it was")
    monkeypatch.setattr(run, "HERE", tmp_path)
    before = run.fingerprint()
    (tmp_path / name).write_text("changed")
    assert run.fingerprint() != before


def test_versions_are_one() -> None:
    paper, bench = (pytest.importorskip(f"rhoplan_{name}") for name in ("paper", "bench"))
    assert paper.__version__ == bench.__version__ == rhoplan.__version__


def test_unknown_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["frobnicate"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_adversary_runs_from_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "set_up", lambda extras: None)
    monkeypatch.setattr(run, "PYTHON", Path(sys.executable))
    assert run.main(["adversary", "--models", "2", "--kinds", "decide", "--out", str(tmp_path)]) == 0
    assert "2 models" in capfd.readouterr().out
