"""Docstrings for Sphinx: they are written as plain text for readers of the code, not in its markup.

A line that begins with the name of a field or an argument (`horizon: ...`, `lower, upper: ...`) becomes a paragraph of
its own, and characters that mean something to the markup are taken as they are, outside of backticks.
"""

from __future__ import annotations

import re
from typing import Any

FIELD = re.compile(r"^([a-z_]+(?:, [a-z_]+)*(?: \([^)]*\))?): ", re.IGNORECASE)

INDENTED = " " * 4


def as_markup(lines: list[str]) -> list[str]:
    """The lines of a docstring in reStructuredText."""
    result: list[str] = []
    for number, line in enumerate(lines):
        field = FIELD.match(line)
        if field and number:
            result.append("")
            line = f"`{field[1]}`: {line[field.end() :]}"
        elif line.startswith(INDENTED) and result and result[-1].strip():
            line = line.strip()
        result.append("`".join(_plain(part) if i % 2 == 0 else part for i, part in enumerate(line.split("`"))))
    return result


def _plain(text: str) -> str:
    return re.sub(r"([*|\\]|_(?!\w))", r"\\\1", text)


def _process(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    lines[:] = as_markup(lines)


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
