"""What the paper prints, as data: every table, every figure in its running text, every claim, each with its place.

`published.json` holds the text of each number as printed, so that its digits are kept; rows are named by keys such as
`problem=tiger agent=efe weight=1`, and the same words, after a table's or quote's id, refer to numbers anywhere
(`select`). Nothing here judges: a claim says only which printed numbers it rests on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

Row = Mapping[str, str | float]

NUMBER = re.compile(
    r"(?P<relation>[<>≥≤≈~])? ?(?P<number>[+-]?\d[\d,]*(?:\.(?P<decimals>\d+))?)(?:%|pp|s|×)?"
    r"(?: ± (?P<error>[\d.]+))?(?: \([a-z]+\))?"
)


@dataclass(frozen=True)
class Cell:
    """One printed number, or the words or dash in its stead. Percentages stay percentages: 84.6% has the value 84.6."""

    row: Row
    column: str
    unit: str
    text: str
    repeats: str = ""
    """Reference to what this number restates; `a - b` where it is a difference. Empty if it stands alone."""

    @property
    def value(self) -> float | None:
        return float(self._match["number"].replace(",", "")) if self._match else None

    @property
    def number(self) -> float:
        """The value of a cell that has one; an error where it does not."""
        if self.value is None:
            raise ValueError(f"'{self.text}' is no number")
        return self.value

    @property
    def error(self) -> float | None:
        """What follows the ±; the table says what it is (`Table.error`)."""
        return float(self._match["error"]) if self._match and self._match["error"] else None

    @property
    def relation(self) -> str:
        """`>`, `≥`, `≈` and the like, where the text bounds a number instead of giving it; empty otherwise."""
        return (self._match["relation"] or "") if self._match else ""

    @property
    def rounding(self) -> float:
        """Half of the last printed digit."""
        return 0.5 * 10.0 ** -len((self._match["decimals"] or "") if self._match else "")

    @property
    def _match(self) -> re.Match[str] | None:
        return NUMBER.fullmatch(self.text.removeprefix("±"))


@dataclass(frozen=True)
class Table:
    """A table of the paper. `label` is its LaTeX label or empty; `columns` maps our names to the printed headings."""

    id: str
    label: str
    place: str
    gist: str
    protocol: tuple[Row, ...]
    error: str
    columns: Mapping[str, str]
    labels: tuple[tuple[str, ...], ...]
    """The printed row heads, in order, one tuple per row; `cells` has len(columns) cells per row in the same order."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Part:
    """A figure, a result told in the text, or a section: what quotes belong to."""

    id: str
    kind: str
    label: str
    gist: str
    protocol: tuple[Row, ...]


@dataclass(frozen=True)
class Quote:
    """Numbers that one place of the running text or a caption gives. `near` are words of the paper that stand by."""

    id: str
    part: str
    place: str
    near: str
    gist: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Claim:
    """What the paper says in words, retold. References to printed numbers, for `select`: `rests_on` and those shown."""

    id: str
    part: str
    place: str
    near: str
    gist: str
    rests_on: Sequence[str]
    shows: Sequence[str] = ()


@dataclass(frozen=True)
class Published:
    """All of it, by id, in the paper's order."""

    tables: Mapping[str, Table]
    parts: Mapping[str, Part]
    quotes: Mapping[str, Quote]
    claims: Mapping[str, Claim]


@cache
def published() -> Published:
    """Every published number and claim."""
    data = json.loads(files("rhoplan_paper").joinpath("published.json").read_text(encoding="utf-8"))
    units: dict[str, str] = data["units"]
    return Published(
        tables={item["id"]: _table(item, units) for item in data["tables"]},
        parts={item["id"]: Part(**{**item, "protocol": _rows(item["protocol"])}) for item in data["parts"]},
        quotes={item["id"]: _quote(item, units) for item in data["quotes"]},
        claims={item["id"]: Claim(**item) for item in data["claims"]},
    )


def cell(where: str, column: str, **row: str | float) -> Cell:
    """The one cell of table or quote `where` in `column` with these row keys: cell("tiger", "reward", agent="efe").

    A LookupError tells if there is none or more than one.
    """
    found = [one for one in _cells(where) if one.column == column and row.items() <= one.row.items()]
    if len(found) != 1:
        raise LookupError(f"'{where}' has {len(found)} cells in column '{column}' with {row}; name exactly one")
    return found[0]


def select(reference: str) -> tuple[Cell, ...]:
    """The cells a reference names: an id, then any column names and row keys, as in `main reward agent=efe`.

    The id is that of a table, a quote, or a part, which stands for all its quotes. A reference to nothing is an error.
    """
    where, *words = reference.split()
    columns = {word for word in words if "=" not in word}
    row = parse_row(" ".join(word for word in words if "=" in word))
    found = tuple(
        one for one in _cells(where) if (not columns or one.column in columns) and row.items() <= one.row.items()
    )
    if not found:
        raise LookupError(f"no published number is '{reference}'")
    return found


def quotes_of(part: str) -> tuple[Quote, ...]:
    """The quotes that belong to a part, in the paper's order."""
    return tuple(quote for quote in published().quotes.values() if quote.part == part)


def parse_row(text: str) -> dict[str, str | float]:
    """`agent=efe weight=1` as a mapping; what reads as a number becomes one."""
    pairs = (word.partition("=") for word in text.split())
    return {key: _number_or_word(value) for key, _, value in pairs}


def _cells(where: str) -> tuple[Cell, ...]:
    paper = published()
    if where in paper.tables:
        return paper.tables[where].cells
    if where in paper.quotes:
        return paper.quotes[where].cells
    if where in paper.parts:
        return tuple(one for quote in quotes_of(where) for one in quote.cells)
    raise LookupError(f"there is no table, quote or part '{where}'")


def _table(item: dict[str, Any], units: dict[str, str]) -> Table:
    heads = [(column, parse_row(more)) for column, _, more in (head.partition(" ") for head in item["columns"])]
    rows = [parse_row(line["row"]) for line in item["rows"]]
    cells = tuple(
        Cell({**row, **more}, column, units[column], text)
        for row, line in zip(rows, item["rows"], strict=True)
        for (column, more), text in zip(heads, line["cells"], strict=True)
    )
    labels = tuple(tuple(line["label"]) for line in item["rows"])
    rest = {key: value for key, value in item.items() if key not in ("rows", "protocol")}
    return Table(**rest, protocol=_rows(item["protocol"]), labels=labels, cells=cells)


def _quote(item: dict[str, Any], units: dict[str, str]) -> Quote:
    cells = []
    for line in item["cells"]:
        column, _, row = line["of"].partition(" ")
        cells.append(Cell(parse_row(row), column, units[column], line["text"], line.get("repeats", "")))
    return Quote(**{**item, "cells": tuple(cells)})


def _rows(lines: list[str]) -> tuple[Row, ...]:
    return tuple(parse_row(line) for line in lines)


@cache
def _number_or_word(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
