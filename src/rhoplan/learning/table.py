"""A table of past cases, read from CSV: one row a case, one column a test, one column what it turned out to be.

What people's programs write is read as it stands: byte-order marks, Windows-1252, semicolons and tabs, decimal commas,
many ways to leave a cell blank. What cannot be read is refused in one line that names column and row; what was
understood in one way though it could have been meant in another is a warning. Rows are counted as a spreadsheet shows
them: the header is row 1.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rhoplan.errors import TableError
from rhoplan.io.foreign import read_data
from rhoplan.io.tree import shown
from rhoplan.learning.cells import BLANKS, FAILED, LARGEST_NUMBER, as_dates, as_numbers, decimals
from rhoplan.model.pomdp import Array, Ids

LARGEST_TABLE = 500_000_000
"""Bytes that a table may have."""

DELIMITERS = (",", ";", "\t", "|")

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x19\x1b-\x1f]")

MIXED = 0.05
"""Share of numbers in a column of texts from which on that is told."""

FEWEST_IDS = 20
"""Rows from which a column whose values all differ is called an id or free text: of five texts all may well differ."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column. kind: number, text, date, id, free text or constant (one value, or none).

    cells (n,): what stands there, without spaces around it, empty where blank. numbers (n,): NaN where blank; dates are
    days; None for text. decimals: digits behind the point, as written.
    """

    name: str
    kind: str
    cells: NDArray[np.object_]
    blank: NDArray[np.bool_]
    numbers: Array | None = None
    decimals: int = 0

    @cached_property
    def coded(self) -> tuple[list[str], NDArray[np.int64]]:
        """The different texts, and the number (n,) of each cell's among them."""
        names, codes = np.unique(self.cells.astype(str), return_inverse=True)
        return names.tolist(), codes.ravel().astype(np.int64)

    @property
    def values(self) -> Counter[str]:
        """How often each text stands there; blanks are left out."""
        return Counter(self.cells[~self.blank].tolist())


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name; row (n,): where each case stands in the file. digest: SHA-256 of the file, in hex."""

    file: str
    columns: dict[str, Column]
    row: NDArray[np.int64]
    digest: str
    warnings: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many cases there are."""
        return len(self.row)

    def column(self, name: str, what: str) -> Column:
        """The column `name`; TableError says what there is. what: what it is wanted for."""
        if name not in self.columns:
            known = ", ".join(list(self.columns)[:20]) + (", ..." if len(self.columns) > 20 else "")
            raise TableError(f"the table must have the column '{shown(name)}' ({what}); it has {known}", file=self.file)
        return self.columns[name]

    def fault(self, message: str, column: str, case: int | None = None) -> TableError:
        """The error to raise about a column, and a case in it (counted from 0)."""
        row = None if case is None else int(self.row[case])
        return TableError(message, file=self.file, column=column, row=row)


def read_table(path: Path | str, *, named: Collection[str] = ()) -> Table:
    """The table in the CSV file at `path`. named: columns that it is known to have."""
    data = read_data(path, what="a table of cases", largest=LARGEST_TABLE)
    return parse_table(data, file=str(path), named=named)


def parse_table(data: bytes, *, file: str = "table", named: Collection[str] = ()) -> Table:
    """The table that `data` holds; `file` is what errors call it.

    named: columns that it is known to have. A first row that has all of them is the header, even if they are numbers.
    """
    text, warnings = _decoded(data, file)
    lines, delimiter = _rows(text, file)
    header, rows, number = _checked(lines, delimiter, file, warnings, named)
    cells = np.array(rows, dtype=object).T
    columns = {
        name: make_column(name, values, file, number, warnings) for name, values in zip(header, cells, strict=True)
    }
    repeated = len(rows) - len(set(map(tuple, rows)))
    if repeated:
        warnings.append(
            f"{repeated:,} of {len(rows):,} rows repeat an earlier one: cases counted twice make all look surer"
        )
    return Table(file, columns, number, hashlib.sha256(data).hexdigest(), tuple(warnings))


def table_of(names: Sequence[str], columns: Iterable[Sequence[object]], *, file: str = "the data") -> Table:
    """A table from columns of values; None and NaN are blanks."""
    warnings: list[str] = []
    made, size = dict[str, Column](), 0
    for name, values in zip(names, columns, strict=True):
        cells = np.array([_written(value) for value in values], dtype=object)
        size = len(cells)
        made[str(name)] = make_column(str(name), cells, file, np.arange(size) + 2, warnings)
    joined = "\n".join("\x1f".join([name, *column.cells]) for name, column in made.items())
    return Table(file, made, np.arange(size) + 2, hashlib.sha256(joined.encode()).hexdigest(), tuple(warnings))


def _written(value: object) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float | np.floating):
        return repr(float(value)).removesuffix(".0")
    return str(value)


def make_column(
    name: str, cells: NDArray[np.object_], file: str, row: NDArray[np.int64], warnings: list[str]
) -> Column:
    """A column with its kind; cells are text."""
    cells = np.array([str(cell).strip() for cell in cells], dtype=object)
    blanks = BLANKS - {"-", "--"} if "+" in cells else BLANKS
    blank = np.array([cell.lower() in blanks for cell in cells], dtype=bool)

    def leave_out(places: Ids, why: str) -> None:
        if places.size:
            warnings.append(
                f"column '{shown(name)}' {why}: {len(places):,} of {len(cells):,} cells, the first in row "
                f"{row[places[0]]}; they count as blank"
            )
            blank[places] = True

    leave_out(np.array([n for n, cell in enumerate(cells) if cell.lower() in FAILED], dtype=np.int64), "has errors")
    cells[blank] = ""
    numbers, odd = as_numbers(cells[~blank].tolist())
    if numbers is None:
        return _text_column(name, cells, blank, warnings)
    full = _spread(numbers, blank)
    leave_out(np.flatnonzero(~blank)[odd], "holds numbers, but for some cells")
    leave_out(np.flatnonzero(np.abs(full) > LARGEST_NUMBER), f"has numbers above {LARGEST_NUMBER:g}")
    cells[blank], full[blank] = "", np.nan
    different = len(set(cells[~blank].tolist()))
    kind = "constant" if different <= 1 else "id" if _counts_up(full, different) else "number"
    return Column(name, kind, cells, blank, full, decimals(cells[~blank].tolist()))


def _text_column(name: str, cells: NDArray[np.object_], blank: NDArray[np.bool_], warnings: list[str]) -> Column:
    seen = cells[~blank].tolist()
    different, dates = len(set(seen)), as_dates(seen)
    kind = "constant" if different <= 1 else "date" if dates is not None else _kind_of_text(seen, different)
    mixed = float(np.mean([as_numbers([cell])[0] is not None for cell in seen])) if kind == "text" else 0.0
    if mixed > MIXED:
        warnings.append(
            f"column '{shown(name)}' mixes numbers ({mixed:.0%} of its cells) and texts; all count as texts, the rare "
            "ones together"
        )
    return Column(name, kind, cells, blank, None if dates is None else _spread(dates, blank))


def _spread(values: Array, blank: NDArray[np.bool_]) -> Array:
    full = np.full(len(blank), np.nan)
    full[~blank] = values
    return full


def _counts_up(numbers: Array, different: int) -> bool:
    """Whether numbers are whole and go up by one from row to row: a number of the row, not of the case."""
    return different >= FEWEST_IDS and bool(np.all(np.diff(numbers) == 1))


def _kind_of_text(cells: list[str], different: int) -> str:
    if different >= FEWEST_IDS and different == len(cells):
        return "free text" if np.mean([" " in cell for cell in cells]) > 0.5 else "id"
    long = np.mean([len(cell.split()) >= 4 for cell in cells]) > 0.5
    many = different > max(FEWEST_IDS, len(cells) // 3)
    return "free text" if many or (long and different >= FEWEST_IDS) else "text"


def _decoded(data: bytes, file: str) -> tuple[str, list[str]]:
    if data[:4] == b"PK\x03\x04" or data[:4] == b"\xd0\xcf\x11\xe0":
        raise TableError("a table of cases must be CSV text; this is a spreadsheet file: save it as CSV", file=file)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return data.decode("utf-16"), []
        except UnicodeDecodeError:
            raise TableError(
                "a table of cases must be text; this is not UTF-16, though it begins like it", file=file
            ) from None
    for order, zeros in (("utf-16-le", data[1:40:2]), ("utf-16-be", data[0:40:2])):
        if zeros and not any(zeros):
            text = data.decode(order, errors="replace")
            return text, ["the file has no byte-order mark; it is read as UTF-16: check names with accents"]
    if control := _CONTROL.search(data):
        row = data[: control.start()].count(b"\n") + 1
        raise TableError("a table of cases must be text; this holds bytes that no text has", file=file, row=row)
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        row = data[: error.start].count(b"\n") + 1
        text = data.decode("cp1252", errors="replace")
        return text, [f"the file is not UTF-8 (row {row}); it is read as Windows-1252: check names with accents"]


def _rows(text: str, file: str) -> tuple[list[tuple[int, list[str]]], str]:
    """The rows of the table that are not empty, with their numbers; and what parts their cells."""
    if not text.strip():
        raise TableError("the table is empty; it must have a header and a row for each case", file=file)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    csv.field_size_limit(10_000_000)
    best: tuple[int, int, str] = (0, 0, ",")
    for place, delimiter in enumerate(DELIMITERS):
        sample = list(csv.reader(io.StringIO(text[:50_000]), delimiter=delimiter))[:50]
        widths = Counter(len(line) for line in sample if any(line))
        width, often = max(widths.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
        best = max(best, (often if width > 1 else 0, -place, delimiter))
    reader, found = csv.reader(io.StringIO(text), delimiter=best[2]), list[tuple[int, list[str]]]()
    try:
        for number, line in enumerate(reader, 1):
            if any(cell.strip() for cell in line):
                found.append((number, line))
    except csv.Error as error:
        raise TableError(f"the table cannot be read: {error}", file=file, row=len(found) + 1) from None
    return found, best[2]


def _checked(
    lines: list[tuple[int, list[str]]], delimiter: str, file: str, warnings: list[str], known: Collection[str]
) -> tuple[list[str], list[list[str]], NDArray[np.int64]]:
    """Header, rows and their numbers; all rows are as long as the header."""
    (top, header), *rest = lines
    header = [name.strip() for name in header]
    named = [name for name in header if name.lower() not in BLANKS]
    numbers = sum(as_numbers([name])[0] is not None for name in named)
    is_known = bool(known) and set(known) <= set(header)
    if not is_known and 2 * numbers >= max(len(named), 1):
        raise TableError(
            f"row {top} must name the columns; {numbers} of {len(header)} names are numbers, as in a case: add names",
            file=file, row=top,
        )  # fmt: skip
    if len(header) < 2:
        raise TableError(
            f"a table of cases must have a test and a diagnosis, two columns at least; it has "
            f"'{shown(header[0])}' alone (commas, semicolons, tabs and | part columns)", file=file, row=1,
        )  # fmt: skip
    if not rest:
        raise TableError("the table must have a row for each case; it has a header only", file=file)
    if not header[-1] and not any(line[-1].strip() for _, line in rest if len(line) == len(header)):
        header = header[:-1]  # every line ends with a delimiter
        rest = [(number, line[:-1] if len(line) == len(header) + 1 else line) for number, line in rest]
    for place, name in enumerate(header):
        if not name:
            header[place] = f"column {place + 1}"
            warnings.append(f"column {place + 1} has no name in row 1; it is called '{header[place]}'")
    for name, count in Counter(header).items():
        if count > 1:
            raise TableError(
                f"names of columns must differ; '{shown(name)}' stands there {count} times",
                file=file,
                column=name,
                row=1,
            )
    for number, line in rest:
        if len(line) != len(header):
            raise TableError(
                f"every row must have {len(header)} cells, as the header has; this has {len(line)}"
                + _hint(line, len(header), delimiter),
                file=file,
                row=number,
            )
    return header, [line for _, line in rest], np.array([number for number, _ in rest], dtype=np.int64)


def _hint(line: list[str], width: int, delimiter: str) -> str:
    """What may be wrong with a row that has not `width` cells."""
    if any("\n" in cell for cell in line):
        return ": is a quote not closed?"
    if len(line) > width and delimiter == ",":
        return ": are there decimal commas? Then part cells by semicolons"
    return ""
