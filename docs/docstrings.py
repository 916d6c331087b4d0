"""Docstrings and signatures for Sphinx: they are written for readers of the code, not in its markup.

In a docstring a line that begins with the name of a field or an argument (`horizon: ...`, `lower, upper: ...`) becomes
a paragraph of its own, and characters that mean something to the markup are taken as they are, outside of backticks.
Sections in NumPy style (`Parameters` with a line of hyphens below) are markup. In a signature, types are called by
their short names.
"""

from __future__ import annotations

import re
from typing import Any

FIELD = re.compile(r"^([a-z_]+(?:, [a-z_]+)*(?: \([^)]*\))?): ", re.IGNORECASE)

INDENTED = " " * 4

UNDERLINE = re.compile(r"-{3,}$")
"""What stands below the title of a section in NumPy style."""


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


def short_types(signature: str | None) -> str | None:
    """A signature without the modules of its types; a default that is made afresh each time is `...`."""
    if signature is None:
        return None
    signature = re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", signature)
    signature = re.sub(r"~[\w.]*\.(\w+)", r"\1", signature).replace("<factory>", "...")
    return re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[\w+\]\]", "Array", signature)


def _plain(text: str) -> str:
    return re.sub(r"([*|\\]|_(?!\w))", r"\\\1", text)


def _docstring(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    from sphinx.ext.napoleon import Config, NumpyDocstring  # not installed where only tests run

    place = next((place for place in range(1, len(lines)) if UNDERLINE.match(lines[place])), len(lines) + 1) - 1
    sections = NumpyDocstring(lines[place:], Config(napoleon_use_rtype=False), app, what, name, obj, options)
    lines[:] = [*as_markup(lines[:place]), *(sections.lines() if place < len(lines) else [])]


def _signature(
    app: Any, what: str, name: str, obj: object, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    return short_types(signature), short_types(returned)


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
