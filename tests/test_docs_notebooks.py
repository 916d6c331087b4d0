"""The notebooks of the documentation run, and show what is committed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

DOCS = Path(__file__).resolve().parent.parent / "docs"
sys.path.insert(0, str(DOCS))

import notebooks  # noqa: E402


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_says(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert notebooks.said(notebooks.run(kept)) == notebooks.said(kept)


def test_there_are_three() -> None:
    assert [path.stem for path in notebooks.NOTEBOOKS] == ["advice", "learning", "solving"]
