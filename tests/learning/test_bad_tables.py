"""Tables as they come: one line that names column and row and exit 2, or a warning where work can go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bridge import Grid, _guarded, learn_from_table
from drawn import PLAN, signal_table

pytest.importorskip("sklearn", reason="learning comes with the extra rhoplan[learn]")

CELLS = [column.cells.tolist() for column in signal_table(60).columns.values()]
HEADER, ROWS = ["good", "fair", "noise", "outcome"], [list(row) for row in zip(*CELLS, strict=True)]
Written = Callable[[int, list[str]], str]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little to choose from: seconds, not minutes."""
    grid = Grid((5,), (0.5,), (1,), (0.1,), (1,), (1.0,))
    monkeypatch.setattr(learn_from_table, "__kwdefaults__", {**learn_from_table.__kwdefaults__, "grid": grid})


def text(rows: list[list[str]] = ROWS, header: list[str] | None = HEADER, delimiter: str = ",") -> str:
    lines = [header, *rows] if header else rows
    return "\n".join(delimiter.join(line) for line in lines) + "\n"


def with_cells(written: Written, column: str = "noise") -> str:
    at = HEADER.index(column)
    return text([[*row[:at], written(place, row), *row[at + 1 :]] for place, row in enumerate(ROWS)])


def run(table: str | bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, what is printed, and what is told, of `rhoplan learn` on `table`."""
    (folder / "cases.csv").write_bytes(table if isinstance(table, bytes) else table.encode())
    (folder / "plan.yaml").write_text(PLAN)
    model = folder / "model.yaml"
    arguments = ["learn", str(folder / "cases.csv"), str(folder / "plan.yaml"), "-o", str(model)]
    code = _guarded([*arguments, "--folds", "2", "--repeats", "1"])
    captured = capsys.readouterr()
    assert set(folder.iterdir()) == {folder / "cases.csv", folder / "plan.yaml", *([] if code else [model])}
    return code, captured.out, captured.err


REFUSED: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    "no header": (text(header=None), ("row 1 must name the columns", "row 1)")),
    "no header, texts": (text([["a", "b", "c", "ill"]] * 30, None), ("must have the column 'outcome'",)),
    "one class": (with_cells(lambda n, row: "ill", "outcome"), ("two diagnoses", "column 'outcome'")),
    "no diagnosis": (with_cells(lambda n, row: "", "outcome"), ("has nothing", "column 'outcome'")),
    "free text": (
        with_cells(lambda n, row: f"Jane Doe number {n} came in with pain"), ("free text", "column 'noise', row 2)")),
    "dates": (with_cells(lambda n, row: f"2024-05-{n % 28 + 1:02}"), ("kind date", "column 'noise', row 2)")),
    "ids": (with_cells(lambda n, row: f"P{n:04}"), ("kind id", "column 'noise', row 2)")),
    "row numbers": (with_cells(lambda n, row: str(1000 + n)), ("kind id", "column 'noise', row 2)")),
    "too many texts": (with_cells(lambda n, row: f"v{n % 30}"), ("free text", "column 'noise', row 2)")),
    "five rows": (text(ROWS[:5]), ("at least 10 cases", "column 'outcome'")),
    "decimal commas between commas": (
        text([[cell.replace(".", ",") for cell in row] for row in ROWS]), ("semicolons", "row 2)")),
    "a column is missing": (text([[*row[:2], row[3]] for row in ROWS], ["good", "fair", "outcome"]), ("tests.noise",)),
    "the target is missing": (text([row[:3] for row in ROWS], HEADER[:3]), ("the column 'outcome'",)),
    "empty": ("", ("the table is empty",)),
    "blank lines": ("\n  \n\n", ("the table is empty",)),
    "header only": (text([]), ("a header only",)),
    "a short row": (text([*ROWS[:10], ROWS[10][:3], *ROWS[11:]]), ("must have 4 cells", "row 12)")),
    "a long row": (text([*ROWS[:10], [*ROWS[10], "9"], *ROWS[11:]]), ("must have 4 cells", "row 12)")),
    "an open quote": (text([*ROWS[:10], ['"1', "2", "3", "ill"], *ROWS[11:]]), ("is a quote not closed?", "row 12)")),
    "two names alike": (text(header=["good", "good", "noise", "outcome"]), ("'good' stands there 2 times", "row 1)")),
    "no text": (b"\x89PNG\r\n\x1a\n" + bytes(range(1, 200)), ("bytes that no text has", "row 3)")),
    "zero bytes": (text().encode() + b"1,2,\x00,ill\n", ("bytes that no text has", "row 62)")),
    "a spreadsheet": (b"PK\x03\x04 and so on", ("save it as CSV",)),
    "an unknown diagnosis": (text([*ROWS, ["1", "2", "3", "odd"]]), ("'odd' has none", "column 'outcome', row 62)")),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_worked_with_is_refused_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, told = REFUSED[name]
    code, printed, error = run(table, tmp_path, capsys)
    assert (code, printed, error.count("\n")) == (2, "", 1)
    for words in told:
        assert words in error
    assert "Jane" not in error, "no more of a cell is shown than is needed"


WARNED: dict[str, tuple[str | bytes, str]] = {
    "a target with blanks": (with_cells(lambda n, row: row[3] if n % 7 else "", "outcome"), "9 rows without 'outcome'"),
    "a constant": (with_cells(lambda n, row: "7"), "'noise' is the same in all cases"),
    "an empty column": (with_cells(lambda n, row: "NA"), "'noise' is the same in all cases"),
    "rows twice": (text([*ROWS, *ROWS]), "60 of 120 rows repeat an earlier one"),
    "Windows-1252": (with_cells(lambda n, row: "über" if n % 2 else "unter").encode("cp1252"), "not UTF-8 (row 3)"),
    "UTF-16 without a mark": (text().encode("utf-16-le"), "it is read as UTF-16"),
    "a word among numbers": (with_cells(lambda n, row: row[2] if n != 5 else "Jane"), "column 'noise' holds numbers"),
    "words and numbers": (with_cells(lambda n, row: "none" if n % 3 else row[2]), "column 'noise' mixes numbers"),
    "infinite": (with_cells(lambda n, row: row[2] if n > 6 else "-inf"), "'noise' has errors: 7 of 60 cells"),
    "huge numbers": (with_cells(lambda n, row: "1e999" if n % 2 else row[2]), "numbers above 1e+100: 30 of 60 cells"),
    "numbers of cases": (with_cells(lambda n, row: str(100 + n * 7919 % 60)), "column 'noise' holds whole numbers"),
    "a column that gives the answer away": (with_cells(lambda n, row: row[3][:1]), "column 'noise' alone settles 100%"),
    "blanks that tell": (
        with_cells(lambda n, row: row[2] if row[3] == "ill" else ""), "blanks of 'noise' go together"),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNED)
def test_what_can_be_worked_with_is_a_warning(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, told = WARNED[name]
    code, printed, error = run(table, tmp_path, capsys)
    assert code == 0
    assert printed.startswith("The data ")
    assert told in error
    assert all(line.startswith("warning: ") for line in error.splitlines())
    assert "Jane" not in error + printed + (tmp_path / "model.yaml").read_text()


@pytest.mark.parametrize(
    "table",
    [
        text().encode("utf-8-sig"),
        text().encode("utf-16"),
        text(delimiter="\t").encode(),
        text([[cell.replace(".", ",") for cell in row] for row in ROWS], delimiter=";").encode(),
        text([[f'"{cell.replace(".", ",")}"' for cell in row] for row in ROWS]).encode(),
        text().replace("\n", "\r\n").encode(),
        text().replace("\n", "\r").encode(),
        text([[*row[:2], '"a\nb"' if n % 2 else "c", row[3]] for n, row in enumerate(ROWS)]).encode(),
    ],
    ids=["mark", "utf-16", "tabs", "semicolons", "quotes", "windows", "old mac", "newlines in quotes"],
)
def test_what_programs_write_is_read_without_a_word(
    table: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, printed, error = run(table, tmp_path, capsys)
    assert (code, error) == (0, "")
    assert printed.startswith("The data ")


def test_what_one_case_alone_has_is_not_in_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = with_cells(lambda n, row: "Jane" if n == 5 else ("yes", "no")[n % 2])
    assert run(table, tmp_path, capsys)[0] == 0
    written = (tmp_path / "model.yaml").read_text()
    assert "Jane" not in written
    assert "other" in written
