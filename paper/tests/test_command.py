"""`rhoplan reproduce` as people meet it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rhoplan.app.cli import _guarded


def test_reproduce_a_study(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert _guarded(["reproduce", "testbed", "--out", str(tmp_path), "--jobs", "1", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["verdicts"] == {"confirmed": 13, "holds only in bits": 2}
    assert Path(summary["report"]).read_text().startswith("<!doctype html>")


def test_studies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert _guarded(["reproduce", "--list"]) == 0
    assert "testbed" in capsys.readouterr().out


def test_unknown_study_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert _guarded(["reproduce", "tigre"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "no study 'tigre'" in error


def test_a_cluster_without_dask_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    assert _guarded(["reproduce", "testbed", "--out", str(tmp_path), "--cluster", "localhost:1"]) == 2
    assert capsys.readouterr().err.endswith("--cluster needs distributed: pip install 'rhoplan[cluster]'\n")
