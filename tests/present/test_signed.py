"""A page tells in its last line what it is about; whatever was changed in it since is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rhoplan
from bridge import Case, _guarded, digest, make_agent, read_signed, signed


def verify(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    try:
        code = _guarded(["verify", *words, "--json"])
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def model() -> rhoplan.POMDP:
    return rhoplan.make("screening-cascade")


def test_a_page_is_known_until_one_letter_changes(model: rhoplan.POMDP) -> None:
    text = signed("<html>--> <b>page</b> é</html>\n", model, {"horizon": 3, "agent": "--><script>"})
    told, whole = read_signed(text)
    assert whole
    assert told is not None
    assert (told["model"], told["settings"]["agent"]) == (digest(model), "--><script>")
    assert text.count("-->") == 2, "what a page or a setting says cannot end the line"
    for place, character in enumerate(text):  # of what the line says too: model, version, settings
        assert not read_signed(text[:place] + chr(ord(character) ^ 1) + text[place + 1 :])[1], text[place:]
    assert read_signed(text[:-5]) == (None, False)
    assert read_signed(text + "more") == (None, False)
    assert read_signed("<html></html>") == (None, False)


def test_reports_and_what_is_carried_can_be_verified(
    tmp_path: Path, model: rhoplan.POMDP, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["report"], ["carry"], ["carry", "--card"]):
        path = tmp_path / "page.html"
        assert _guarded([words[0], "screening-cascade", *words[1:], "-o", str(path)]) == 0
        capsys.readouterr()
        code, found = verify(capsys, str(path), "--model", "screening-cascade")
        assert (code, found["unchanged"], found["same_model"]) == (0, True, True)
        assert found["told"]["model"] == digest(model)
        assert verify(capsys, str(path), "--model", "tiger-doors")[0] == 1
        text = path.read_text()
        path.write_text(text.replace("strip", "stript", 1))
        code, found = verify(capsys, str(path))
        assert (code, found["unchanged"]) == (1, False)


def test_logs_can_be_verified(tmp_path: Path, model: rhoplan.POMDP, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    for _ in range(2):
        case = Case(model, make_agent("planning", model))
        case.stop()
        case.append_to(log)
    assert verify(capsys, str(log))[0] == 0
    log.write_text(log.read_text().splitlines(keepends=True)[0])
    code, found = verify(capsys, str(log))
    assert code == 1
    assert found["told"]["faults"]


def test_what_is_neither_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other, page = tmp_path / "x.txt", tmp_path / "x.html"
    other.write_text("hello")
    page.write_text("<p>hello</p>")
    assert _guarded(["verify", str(other)]) == 2
    assert "no case log" in capsys.readouterr().err
    code, found = verify(capsys, str(page))
    assert code == 1
    assert "nothing can be told" in found["words"][0]
