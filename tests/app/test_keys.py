"""Who needs the key of a server, and what is saved where others can reach it or where files are links."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
httpx = pytest.importorskip("httpx")

from rhoplan.app.serve.saving import Files  # noqa: E402
from rhoplan.errors import ProblemError  # noqa: E402
from serving import PATIENCE, server  # noqa: E402

MODEL = """\
states: [a, b]
tests: {t: {cost: 1, outcomes: [x, y], likelihood: {a: [1, 0], b: [0, 1]}}}
commits: {left: {a: 1, b: 0}, right: {a: 0, b: 1}}
"""
OTHER = MODEL.replace("cost: 1", "cost: 2")
KEY = "correct horse battery"

NO_LINKS = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "models"
    path.mkdir()
    (path / "screen.yaml").write_text(MODEL)
    (tmp_path / "outside").mkdir()
    return path


def answer(address: str, method: str, path: str, *, host: str | None = None, **more: Any) -> Any:
    """The reply to a request with the key of the address, to a server that is called `host`."""
    base, _, key = address.partition("/#key=")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    headers |= {"host": host} if host else {}
    return httpx.request(method, f"{base}{path}", headers=headers, timeout=PATIENCE, **more)


def status(*asked: Any, **more: Any) -> int:
    return int(answer(*asked, **more).status_code)


# -- who needs a key --------------------------------------------------------------------------------------------------


def test_a_server_on_this_machine_makes_a_key(folder: Path) -> None:
    with server("--workers", "1", str(folder), makes_key=True) as address:
        base, _, key = address.partition("/#key=")
        assert len(key) >= 32
        for path in ("/api/v1/models", "/api/v1/models/screen", "/api/v1/openapi.json"):
            assert status(base, "GET", path) == 401
            assert status(f"{base}/#key={key[:-1]}", "GET", path) == 401
            assert status(address, "GET", path) == 200
        assert status(base, "POST", "/api/v1/save", json={"name": "screen", "text": OTHER}) == 401
        assert (folder / "screen.yaml").read_text() == MODEL
        assert {status(base, "GET", path) for path in ("/", "/key.js", "/health")} == {200}
        assert answer(base, "GET", "/").headers["referrer-policy"] == "no-referrer"
        assert status(address, "POST", "/api/v1/save", json={"name": "screen", "text": OTHER}) == 200
        assert (folder / "screen.yaml").read_text() == OTHER


def test_a_key_can_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    with server("--workers", "1", "--key-file", str(tmp_path / "key")) as address:
        assert KEY not in address
        assert status(address, "GET", "/api/v1/openapi.json") == 401
        assert status(f"{address}/#key={KEY}", "GET", "/api/v1/openapi.json") == 200


@pytest.fixture(params=[(), ("--save",)], ids=["", "save"])
def proxied(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[str, bool]]:
    """The address of a server on this machine that a proxy passes requests on to, and whether it may save."""
    options = ("--workers", "1", "--allow-host", "plan.example", *request.param)
    with server(*options, str(folder), makes_key=True) as address:
        yield address, bool(request.param)


def test_behind_a_proxy_a_key_is_needed_and_saving_is_asked_for(proxied: tuple[str, bool], folder: Path) -> None:
    address, saves = proxied
    base, before = address.partition("/#key=")[0], sorted(folder.iterdir())
    for host in ("plan.example", None):
        assert status(base, "GET", "/api/v1/models/screen", host=host) == 401
        assert status(base, "POST", "/api/v1/save", host=host, json={"name": "screen", "text": OTHER}) == 401
        assert status(address, "GET", "/api/v1/models/screen", host=host) == 200
    for name in ("screen", "fresh"):
        asked = {"name": name, "text": OTHER}
        assert status(address, "POST", "/api/v1/save", host="plan.example", json=asked) == (200 if saves else 422)
    assert (folder / "screen.yaml").read_text() == (OTHER if saves else MODEL)
    assert (sorted(folder.iterdir()) == before) is not saves


def test_names_of_this_machine_change_nothing(folder: Path) -> None:
    with server("--workers", "1", "--allow-host", "127.0.0.1", "--allow-host", "LOCALHOST", str(folder)) as address:
        assert status(address, "POST", "/api/v1/save", json={"name": "screen", "text": OTHER}) == 200


# -- links ------------------------------------------------------------------------------------------------------------


def opened(folder: Path) -> Files:
    return Files.of({path.stem: path for path in folder.glob("*.yaml")}, folder)


@NO_LINKS
@pytest.mark.parametrize("leads_to", ["a file", "nothing"])
@pytest.mark.parametrize("is_known", [True, False])
def test_no_model_is_saved_through_a_link(folder: Path, leads_to: str, is_known: bool) -> None:
    outside, link = folder.parent / "outside" / "theirs.yaml", folder / "linked.yaml"
    if leads_to == "a file":
        outside.write_text(MODEL)
    link.symlink_to(outside)
    files = opened(folder)
    if not is_known:
        files.paths.pop("linked", None)
    else:
        files.paths.setdefault("linked", link)
    with pytest.raises(ProblemError, match="linked"):
        files.save("linked", OTHER)
    assert outside.exists() == (leads_to == "a file")
    assert not outside.exists() or outside.read_text() == MODEL
    assert link.is_symlink()
    assert len(list(outside.parent.iterdir())) == outside.exists()


@NO_LINKS
def test_a_file_that_becomes_a_link_is_saved_to_no_more(folder: Path) -> None:
    files, outside = opened(folder), folder.parent / "outside" / "theirs.yaml"
    (folder / "screen.yaml").rename(outside)
    (folder / "screen.yaml").symlink_to(outside)
    with pytest.raises(ProblemError, match="is a link"):
        files.save("screen", OTHER)
    assert outside.read_text() == MODEL


@NO_LINKS
def test_an_old_text_is_not_kept_through_a_link(folder: Path) -> None:
    outside = folder.parent / "outside" / "backup"
    (folder / "screen.yaml.bak").symlink_to(outside)
    assert opened(folder).save("screen", OTHER).backup == "screen.yaml.2.bak"
    assert not outside.exists()
    assert (folder / "screen.yaml.2.bak").read_text() == MODEL


@NO_LINKS
@pytest.mark.parametrize("name", ["screen", "fresh"])
@pytest.mark.parametrize("which", ["folder", "its parent"])
def test_a_folder_that_becomes_a_link_is_not_followed(tmp_path: Path, folder: Path, name: str, which: str) -> None:
    served = folder if which == "folder" else tmp_path / "above" / "models"
    if which != "folder":
        served.parent.mkdir()
        folder.rename(served)
    files = opened(served)
    moved = served if which == "folder" else served.parent
    moved.rename(tmp_path / "was")
    moved.symlink_to(tmp_path / "was")
    with pytest.raises(ProblemError, match="has become a link"):
        files.save(name, OTHER)
    assert [path.read_text() for path in (tmp_path / "was").rglob("*.yaml")] == [MODEL]


@NO_LINKS
def test_a_folder_may_be_named_by_a_link(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "short").symlink_to(folder)
    files = opened(tmp_path / "short")
    assert [files.save(name, OTHER).file for name in ("screen", "fresh")] == ["screen.yaml", "fresh.yaml"]
    assert (folder / "fresh.yaml").read_text() == OTHER
