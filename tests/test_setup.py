"""`run.py` in the order of the README: the second command finds what the first one left."""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest

import rhoplan

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent.parent
SPEC = importlib.util.spec_from_file_location("run", HERE / "run.py")
assert SPEC
assert SPEC.loader
run = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What pip was asked to install; nothing is."""
    targets: list[str] = []

    def make(place: Path, **_: object) -> None:
        run.python(place).parent.mkdir(parents=True)
        run.python(place).touch()

    def install(arguments: list[str], place: Path) -> None:
        targets.append(" ".join(arguments[arguments.index("-e") :]))

    monkeypatch.setattr(run, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(run, "OTHER", tmp_path / ".venv-rhoplan")
    monkeypatch.setattr(run.venv, "create", make)
    monkeypatch.setattr(run, "install", install)
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


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("content", ["bin/python", "pyvenv.cfg", "notes.txt"])
def test_an_environment_of_another_tool_is_left_alone(content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (run.VENV / content).parent.mkdir(parents=True)
    (run.VENV / content).write_text("somebody else's")
    run.set_up("dev")
    assert "left alone" in capsys.readouterr().out
    assert (run.VENV / content).read_text() == "somebody else's"
    assert run.environment() == run.OTHER
    assert run.python(run.OTHER).exists()
    run.set_up("dev")
    assert capsys.readouterr().out == "", "what is set up is told once"


def test_an_empty_folder_is_used(installed: list[str]) -> None:
    run.VENV.mkdir()
    run.set_up("")
    assert run.environment() == run.VENV
    assert len(installed) == 1


def test_a_half_made_environment_is_made_anew(installed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(place: Path, **_: object) -> None:
        (place / "half").mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run.venv, "create", killed)
        with pytest.raises(KeyboardInterrupt):
            run.set_up("")
    assert (run.VENV / "half").exists()
    run.set_up("")
    assert run.environment() == run.VENV
    assert not (run.VENV / "half").exists()
    assert len(installed) == 1


@pytest.mark.parametrize("damage", ["another Python", "no Python", "a stamp of bytes"])
def test_an_environment_of_ours_that_does_not_fit_is_replaced(installed: list[str], damage: str) -> None:
    run.set_up("")
    (run.VENV / "old").touch()
    if damage == "another Python":
        (run.VENV / run.STAMP).write_text("another digest\n\n3.9.0 (old)")
    elif damage == "no Python":
        run.python(run.VENV).unlink()
    else:
        (run.VENV / run.STAMP).write_bytes(b"\xff\xfe")
    run.set_up("")
    assert not (run.VENV / "old").exists()
    assert len(installed) == 2


def test_a_folder_that_cannot_be_written_to_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(run, "VENV", tmp_path / "file" / ".venv")  # no folder can be made in a file, not even by root
    with pytest.raises(SystemExit):
        run.set_up("")
    assert capsys.readouterr().err.count("\n") == 1


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
    monkeypatch.setattr(run, "python", lambda place: Path(sys.executable))
    assert run.main(["adversary", "--models", "2", "--kinds", "decide", "--out", str(tmp_path)]) == 0
    assert "2 models" in capfd.readouterr().out


def test_nothing_that_gets_installed_is_unpinned() -> None:
    requirements = pytest.importorskip("packaging.requirements", reason="pytest brings it")
    lines = [one for one in (HERE / "constraints.txt").read_text().splitlines() if not one.startswith("#")]
    pinned = {_plain(line.partition("==")[0]) for line in lines if "==" in line}
    assert len(lines) == sum("==" in line for line in lines), "a pin names one version"
    waiting, seen = [], set[tuple[str, str]]()
    for folder in (".", *run.BESIDE):
        project = tomllib.loads((HERE / folder / "pyproject.toml").read_text())
        extras = project["project"].get("optional-dependencies", {}).values()
        waiting += [*project["build-system"]["requires"], *project["project"]["dependencies"]]
        waiting += [one for extra in extras for one in extra]
    while waiting:
        wanted = requirements.Requirement(waiting.pop())
        name = _plain(wanted.name)
        if name == "rhoplan" or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        assert name in pinned, f"constraints.txt must pin {name}"
        for extra in {"", *wanted.extras} - {extra for known, extra in seen if known == name}:
            seen.add((name, extra))
            try:
                needs = requires(name) or []
            except PackageNotFoundError:  # an extra that is not installed here
                continue
            parsed = [(one, requirements.Requirement(one).marker) for one in needs]
            waiting += [
                one.partition(";")[0] for one, marker in parsed if not marker or marker.evaluate({"extra": extra})
            ]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def test_machine_code_is_made_before_the_tests_unless_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(run, "set_up", lambda extras: None)
    monkeypatch.setattr(run, "run", lambda arguments, **_: asked.append(arguments) or 0)
    assert run.main(["test"]) == 0
    assert sorted(asked[:2]) == [["-m", "warm", "0"], ["-m", "warm", "1"]]
    assert [one[:2] for one in asked[2:]] == [["-m", "pytest"]]
    asked.clear()
    assert run.main(["test", "tests/test_laws.py"]) == 0
    assert [one[:2] for one in asked] == [["-m", "pytest"]]
