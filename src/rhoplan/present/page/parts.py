"""What the sections of the report are made of: tables of ready cells, and names that are safe in a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from rhoplan.advice.words import plain

if TYPE_CHECKING:
    from rhoplan.present.content import Report

NONE = "<span class='soft'>–</span>"

MANY = 12
"""States beyond which a table has no column for each."""

LONG = 14
"""Rows up to which a table is kept on one page."""


def safe(text: object) -> str:
    """`text` as it may stand in a page."""
    return escape(plain(str(text)))


def mark(report: Report, name: str) -> str:
    """What kind of numbers a section has, where it is not plainly exact; why it is missing, where it is."""
    found = report.marks.get(name)
    if found is None:
        return ""
    if found.kind == "missing":
        return f"<p class='soft'>{safe(found.words[:1].upper() + found.words[1:])}.</p>"
    return f"<p class='soft'><b>{found.kind.capitalize()}</b>: {safe(found.words)}.</p>"


SCROLLED = "<div class='scroll' tabindex='0' role='group' aria-label='Table'>"
"""Opens what holds a table: where it is moved sideways on a narrow screen, the keyboard must reach it too."""


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 1, marked: int = -1, kind: str = ""
) -> str:
    """An HTML table of ready cells; columns from `numbers` on are right-aligned, row `marked` stands out."""
    top = "".join(f"<th{_n(k >= numbers)}>{head}</th>" for k, head in enumerate(heads))
    body = "".join(
        f"<tr{' class=mine' if place == marked else ''}>"
        + "".join(f"<td{_n(k >= numbers)}>{cell}</td>" for k, cell in enumerate(row))
        + "</tr>"
        for place, row in enumerate(rows)
    )
    kinds = " ".join(filter(None, [kind, "" if len(rows) > LONG else "whole"]))
    open_ = f"<table class='{kinds}'>" if kinds else "<table>"
    return f"{SCROLLED}{open_}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def grouped(
    heads: Sequence[str], groups: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]], *, numbers: int, kind: str
) -> str:
    """A table whose rows come in groups: the cells that a group shares, and its rows; groups are kept on one page."""
    top = "".join(f"<th{_n(k >= numbers)}>{head}</th>" for k, head in enumerate(heads))
    bodies = []
    for shared, rows in groups:
        first = "".join(f"<td rowspan='{len(rows)}'>{cell}</td>" for cell in shared)
        lines = []
        for place, row in enumerate(rows):
            cells = "".join(f"<td{_n(k + len(shared) >= numbers)}>{cell}</td>" for k, cell in enumerate(row))
            lines.append(f"<tr>{first if place == 0 else ''}{cells}</tr>")
        bodies.append(f"<tbody>{''.join(lines)}</tbody>")
    return f"{SCROLLED}<table class='{kind}'><thead><tr>{top}</tr></thead>{''.join(bodies)}</table></div>"


def _n(right: bool) -> str:
    return " class='n'" if right else ""
