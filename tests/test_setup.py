"""`run.py` in the order of the README: the second command finds what the first one left."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from types import ModuleType

import pytest

import rhoplan

HERE = Path(__file__).resolve().parent.parent
LOCK = HERE / "requirements.lock"
DECIDES = (LOCK.name, "pyproject.toml", "paper/pyproject.toml", "bench/pyproject.toml")


def loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run = loaded("run", HERE / "run.py")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What pip was asked to install; nothing is."""
    targets: list[str] = []

    def make(place: Path, **_: object) -> None:
        run.python(place).parent.mkdir(parents=True)
        run.python(place).touch()

    def pip_install(arguments: list[str], place: Path) -> int:
        if "-e" in arguments:
            targets.append(" ".join(arguments[arguments.index("-e") :]))
        return 0

    monkeypatch.setattr(run, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(run, "OTHER", tmp_path / ".venv-rhoplan")
    monkeypatch.setattr(run.venv, "create", make)
    monkeypatch.setattr(run, "pip_install", pip_install)
    monkeypatch.setattr(run, "compile_modules", lambda place: None)
    monkeypatch.delenv("RHOPLAN_PINS", raising=False)
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


@pytest.mark.parametrize(
    "name", ["requirements.lock", "pyproject.toml", "paper/pyproject.toml", "bench/pyproject.toml"]
)
def test_fingerprint_covers_what_decides_the_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for one in DECIDES:
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


def lock_script() -> ModuleType:
    pytest.importorskip("pip", reason="an environment that another pip has filled")
    return loaded("lock", HERE / ".ci" / "lock.py")


def entries() -> list[tuple[set[str], str, list[str]]]:
    """Groups, requirement and hashes of each version in the lock."""
    found = []
    for users, lines in re.findall(r"^# for (.+)\n((?:(?!# ).*\n)+)", LOCK.read_text(), re.MULTILINE):
        wanted, *hashes = [line.strip() for line in lines.split("\\\n")]
        found.append((set(users.split(", ")), wanted, hashes))
    return found


def test_every_version_is_one_and_has_hashes() -> None:
    assert len(entries()) > 100
    for _, wanted, hashes in entries():
        assert re.fullmatch(r"[a-z0-9-]+==[^\s,*]+( ; .+)?", wanted)
        assert hashes, f"{wanted} must have hashes"
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), wanted


def test_the_lock_has_what_each_group_asks_for_and_what_that_needs() -> None:
    requirements = pytest.importorskip("packaging.requirements", reason="pytest brings it")
    groups = lock_script().asked()
    for group, asked in groups.items():
        parsed = [(users, requirements.Requirement(wanted)) for users, wanted, _ in entries() if group in users]
        here = {_plain(one.name): one.specifier for _, one in parsed if not one.marker or one.marker.evaluate()}
        waiting, seen = [(one, "") for one in asked], set[tuple[str, str]]()
        while waiting:
            text, given = waiting.pop()
            wanted = requirements.Requirement(text)
            name = _plain(wanted.name)
            if wanted.marker and not wanted.marker.evaluate({"extra": given}):
                continue
            if name == "rhoplan":
                waiting += [(one, "") for part in ("core", *wanted.extras) for one in groups[part]]
                continue
            assert name in here, f"requirements.lock must have {name} for {group} (python3 .ci/lock.py)"
            (version,) = here[name]
            assert wanted.specifier.contains(version.version, prereleases=True), f"{wanted}, locked: {version}"
            for extra in {"", *wanted.extras} - {extra for known, extra in seen if known == name}:
                seen.add((name, extra))
                with contextlib.suppress(PackageNotFoundError):  # an extra that is not installed here
                    waiting += [(one, extra) for one in requires(name) or []]


def test_only_what_is_asked_for_is_taken_from_the_lock() -> None:
    one, two = "a==1 \\\n    --hash=sha256:aa\n", "b==2 ; python_version < '3.11' \\\n    --hash=sha256:bb\n"
    text = f"# head\n# for core, docs\n{one}# for dev\n{two}"
    assert run.locked(text, {"core"}) == run.locked(text, {"docs", "paper"}) == one
    assert run.locked(text, {"dev", "core"}) == one + two
    assert run.locked(text, {"doc"}) == ""


@pytest.mark.parametrize(("wheels", "sources"), [(True, True), (False, True), (False, False)])
def test_sources_are_tried_with_a_word_where_a_wheel_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wheels: bool, sources: bool
) -> None:
    asked: list[list[str]] = []

    def pip_install(arguments: list[str], place: Path) -> int:
        asked.append(arguments)
        return int(not (wheels if "--only-binary" in arguments else sources))

    monkeypatch.setattr(run, "pip_install", pip_install)
    with contextlib.nullcontext() if sources else pytest.raises(SystemExit):
        run.install_locked({"core"}, tmp_path)
    assert all("--require-hashes" in one for one in asked)
    assert len(asked) == (1 if wheels else 2)
    told = capsys.readouterr()
    assert ("sources are tried" in told.out) == (not wheels)
    assert ("RHOPLAN_PINS=0" in told.err) == (not sources)


@pytest.mark.parametrize("pins", ["0", "1"])
def test_everything_is_pinned_unless_asked_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: list[str], pins: str
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(run, "pip_install", lambda arguments, place: asked.append(arguments) or 0)
    monkeypatch.setenv("RHOPLAN_PINS", pins)
    run.set_up("serve")
    assert [("--require-hashes" in one, "--no-index" in one) for one in asked] == (
        [(True, False), (False, True)] if pins == "1" else [(False, False)]
    )
    monkeypatch.setenv("RHOPLAN_PINS", "1" if pins == "0" else "0")
    before = len(asked)
    run.set_up("serve")
    assert len(asked) > before, "what was set up the other way is set up again"


def test_hashes_are_those_of_files_that_fit() -> None:
    lock = lock_script()
    for file, fits in {
        "a_b-1.2.tar.gz": True, "a_b-1.2-py3-none-any.whl": True, "a_b-1.2-py2.py3-none-any.whl": True,
        "a_b-1.2-cp311-cp311-manylinux_2_28_aarch64.whl": True, "a_b-1.2-cp39-abi3-win_amd64.whl": True,
        "a_b-1.2-cp312-abi3-win_amd64.whl": False, "a_b-1.2-cp312-cp312-win_amd64.whl": False,
        "a_b-1.2-cp313-cp313t-win_amd64.whl": False, "a_b-1.2-pp311-pypy311_pp73-win_amd64.whl": False,
        "a_b-1.2.1.tar.gz": False, "a_b-1.2.1-py3-none-any.whl": False, "a_b-1.2.zip": False,
    }.items():  # fmt: skip
        assert lock.fits(file, "1.2", {"3.11"}) == fits, file
    text = f'<a href="x/a-1.2.tar.gz#sha256={"a" * 64}">a</a><a href="x/a-1.2-py3-none-any.whl">no hash</a>'
    assert list(lock.hashes_of(text, "1.2", {"3.11"})) == [f"    --hash=sha256:{'a' * 64}"]


@pytest.mark.parametrize("first", range(3))
@pytest.mark.parametrize("last", range(3))
def test_a_version_is_installed_where_it_is_needed(first: int, last: int) -> None:
    markers = pytest.importorskip("packaging.markers", reason="pytest brings it")
    lock = lock_script()
    pythons = lock.PYTHONS[first : last + 1]
    for systems in (["win32"], ["linux", "darwin"], list(lock.SYSTEMS)):
        if not pythons:
            continue
        text = lock.marker({(python, system) for python in pythons for system in systems})
        for python in lock.PYTHONS:
            for system in lock.SYSTEMS:
                there = {"python_version": python, "sys_platform": system}
                found = not text or markers.Marker(text.removeprefix(" ; ")).evaluate(there)
                assert found == (python in pythons and system in systems)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def test_machine_code_is_made_before_the_tests_unless_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(run, "set_up", lambda extras: None)
    monkeypatch.setattr(run, "run", lambda arguments, **_: asked.append(arguments) or 0)
    assert run.main(["test"]) == 0
    assert sorted(asked[:2]) == [["-m", "machine_code", "0"], ["-m", "machine_code", "1"]]
    assert [one[:2] for one in asked[2:]] == [["-m", "pytest"]]
    asked.clear()
    assert run.main(["test", "tests/test_laws.py"]) == 0
    assert [one[:2] for one in asked] == [["-m", "pytest"]]


def test_tests_keep_compiled_modules_and_other_commands_do_as_the_caller_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled when packages are installed; without this each process of the tests would compile them."""
    seen: list[tuple[str, bool]] = []

    def started(command: list[str], *, env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        seen.append((command[2], "PYTHONDONTWRITEBYTECODE" in env))
        assert env["OTHER"] == "kept"
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("OTHER", "kept")
    monkeypatch.setattr(run, "set_up", lambda extras: None)
    monkeypatch.setattr(run.subprocess, "run", started)
    for command in ("test", "cli"):
        assert run.main([command]) == 0
    assert sorted(seen) == [("machine_code", False), ("machine_code", False), ("pytest", False), ("rhoplan", True)]


def test_modules_are_kept_compiled_where_python_is_told_to_keep_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "STARTED", ())
    for name in ("src/ours.py", "src/tests/left_out.py", "src/broken.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1 +" if "broken" in name else "x = 1\n")

    run.compile_modules(Path(sys.prefix))

    kept = {path.name.partition(".")[0] for path in tmp_path.rglob("*.pyc")}
    assert kept == {"ours"}


def test_setting_up_brings_what_every_other_command_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then none of them installs anything while another works."""
    asked: list[str] = []
    monkeypatch.setattr(run, "set_up", asked.append)
    monkeypatch.setattr(run, "run", lambda *_, **__: pytest.fail("setting up does no more"))
    assert run.main(["setup"]) == 0
    brought = {*asked[0].split(","), *wanted_by("dev")}
    assert brought >= {extra for extras in run.EXTRAS.values() for extra in extras.split(",") if extra}


def wanted_by(extra: str) -> set[str]:
    """The extras of rhoplan that `extra` asks for."""
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(rf'^{extra} = \[\n?\s*"rhoplan\[([a-z,]+)\]"', text, re.M)
    assert listed
    return set(listed[1].split(","))
