"""Light and dark colours of the page: text and controls keep the contrast that WCAG 2.2 AA asks for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rhoplan

STATIC = Path(rhoplan.__file__).parent / "app" / "serve" / "static"
TEXT, CONTROL = 4.5, 3.0
"""Least contrast of text and of what one must see to use a control (1.4.3, 1.4.11)."""

PAIRS = [
    *[
        (ink, ground, TEXT)
        for ink in ("ink", "soft")
        for ground in ("paper", "back", "main-soft", "warn", "alarm", "hover")
    ],
    *[("main", ground, TEXT) for ground in ("paper", "main-soft")],
    ("on-main", "main", TEXT),
    *[("bad", ground, TEXT) for ground in ("paper", "alarm", "main-soft")],
    *[("good", ground, TEXT) for ground in ("paper", "main-soft")],
    *[("flip", "paper", CONTROL), ("rust", "paper", CONTROL), ("main", "trough", CONTROL), ("edge", "paper", CONTROL)],
]


def colours(theme: str) -> dict[str, tuple[int, ...]]:
    """The colours by name; those of the dark theme stand instead of the others."""
    text = (STATIC / "style.css").read_text().split("}")[0]
    text += (STATIC / "dark.css").read_text() if theme == "dark" else ""
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", text))
    whole = {
        name: "".join(2 * digit for digit in code[1:]) if len(code) == 4 else code[1:] for name, code in found.items()
    }
    return {name: tuple(bytes.fromhex(code)) for name, code in whole.items()}


def luminance(colour: tuple[int, ...]) -> float:
    linear = [part / 3294.6 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("front", "ground", "least"), PAIRS)
def test_colours_can_be_told_apart(theme: str, front: str, ground: str, least: float) -> None:
    found = colours(theme)
    high, low = sorted((luminance(found[front]), luminance(found[ground])), reverse=True)
    assert (high + 0.05) / (low + 0.05) >= least


def test_no_rule_has_a_colour_of_its_own_that_dark_cannot_change() -> None:
    """But for maps and what is printed, which stay light."""
    rules = (STATIC / "style.css").read_text().split("}", 1)[1].split("@media print")[0]
    rules += (STATIC / "form.css").read_text()
    own = [line for line in rules.splitlines() if re.search(r"#[0-9a-f]{3}(?:[0-9a-f]{3})?[;\s]", line)]
    allowed = (".map", ".chart .point.best", ".lines .bad")
    assert [line for line in own if not line.startswith(allowed)] == []
