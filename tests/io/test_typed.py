"""Numbers as a person types them: what they are, and what is refused because it has two readings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rhoplan.io.typed import Where, read_typed, unmistakable

ROWS = json.loads((Path(__file__).parents[1] / "typed_numbers.json").read_text(encoding="utf-8"))
"""Text, what is expected there, and the number or the refusal. The page is tested with the same rows."""


@pytest.mark.parametrize(("text", "where", "expected"), ROWS)
def test_a_typed_number_has_one_reading_or_is_refused(text: str, where: Where, expected: float | str) -> None:
    if isinstance(expected, str):
        with pytest.raises(ValueError) as refusal:  # noqa: PT011  (its whole text is compared)
            read_typed(text, where)
        assert str(refusal.value) == expected
    else:
        assert read_typed(text, where) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("text", ["20.000", "1.125", "-3.250", "0.125", "17", "2.5e3", "19 of 20", "95%"])
def test_a_number_of_a_file_is_written_so_that_it_can_be_typed(text: str) -> None:
    written = unmistakable(text)
    where: Where = "number" if text[-1].isdigit() and " " not in text else "probability"
    assert read_typed(written, where) == pytest.approx(float(text) if where == "number" else 0.95)
