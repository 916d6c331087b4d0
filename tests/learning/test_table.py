"""Tables as people's programs write them, and faults told with column and row."""

from __future__ import annotations

import numpy as np
import pytest

from rhoplan.errors import TableError
from rhoplan.learning.table import parse_table, table_of

ROWS = "age,sex,what\n63,m,ill\n?,f,well\n41,m,well\n"


def test_a_plain_table() -> None:
    table = parse_table(ROWS.encode())
    assert {name: column.kind for name, column in table.columns.items()} == {
        "age": "number",
        "sex": "text",
        "what": "text",
    }
    assert np.array_equal(table.columns["age"].numbers, [63, np.nan, 41], equal_nan=True)
    assert table.columns["age"].blank.tolist() == [False, True, False]
    assert table.row.tolist() == [2, 3, 4]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_marks_and_delimiters_are_found(encoding: str, delimiter: str) -> None:
    table = parse_table(ROWS.replace(",", delimiter).encode(encoding))
    assert list(table.columns) == ["age", "sex", "what"]


def test_decimal_commas() -> None:
    table = parse_table(b"chol;crp;what\n1.234,5;0,3;a\n12,25;7;b\n")
    assert table.columns["chol"].numbers.tolist() == [1234.5, 12.25]
    assert table.columns["crp"].numbers.tolist() == [0.3, 7.0]
    assert table.columns["chol"].decimals == 2


def test_windows_text_is_read_with_a_warning() -> None:
    table = parse_table("größe,what\n1,a\n2,b\n".encode("cp1252"))
    assert list(table.columns) == ["größe", "what"]
    assert "Windows-1252" in table.warnings[0]


def test_limits_of_detection_are_numbers() -> None:
    assert parse_table(b"crp,what\n< 5,a\n12,b\n>200,a\n").columns["crp"].numbers.tolist() == [5.0, 12.0, 200.0]


def test_a_few_cells_that_are_no_numbers_are_blanks_with_a_warning() -> None:
    table = parse_table(("crp,what\n" + "1,a\n2,b\n" * 20 + "error,a\n").encode())
    assert table.columns["crp"].blank.sum() == 1
    assert table.warnings[0] == (
        "column 'crp' holds numbers, but for some cells: 1 of 41 cells, the first in row 42; they count as blank"
    )


def test_minus_beside_plus_is_a_result() -> None:
    assert not parse_table(b"urine,what\n+,a\n-,b\n").columns["urine"].blank.any()


def test_repeated_rows_are_told() -> None:
    assert "1 of 2 rows" in parse_table(b"x,what\n1,a\n1,a\n").warnings[0]


def test_kinds() -> None:
    count = 40
    rows = "\n".join(f"{n},P{n:03},2024-01-{n % 28 + 1:02},seen on day {n} by {n},7,{n % 3},a" for n in range(count))
    table = parse_table(f"row,patient,day,notes,same,stage,what\n{rows}\n".encode())
    kinds = {name: column.kind for name, column in table.columns.items() if name != "what"}
    assert kinds == {
        "row": "id", "patient": "id", "day": "date", "notes": "free text", "same": "constant", "stage": "number",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "the table is empty"),
        (b"63,1,2\n41,0,1\n", "row 1 must name the columns"),
        (b"age\n1\n", "two columns at least"),
        (b"age,what\n", "a header only"),
        (b"age,age\n1,2\n", "names of columns must differ"),
        (
            b"age,what\n1,a\n2,b,c\n",
            "every row must have 2 cells, as the header has; this has 3: are there decimal commas?",
        ),
        (b"PK\x03\x04 and more", "save it as CSV"),
        (b"age,what\n1,\x00\n", "bytes that no text has"),
    ],
)
def test_faults_are_one_line_with_their_place(data: bytes, told: str) -> None:
    with pytest.raises(TableError) as caught:
        parse_table(data, file="t.csv")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_first_row_of_numbers_is_the_header_where_all_columns_that_are_known_stand_in_it() -> None:
    data = b"1,2,3\n63,1,ill\n41,0,well\n"
    table = parse_table(data, named=("3", "1"))
    assert list(table.columns) == ["1", "2", "3"]
    assert table.row.tolist() == [2, 3]
    with pytest.raises(TableError, match="row 1 must name the columns"):
        parse_table(data, named=("3", "age"))


def test_columns_of_values_make_the_same_table() -> None:
    read = parse_table(b"x,what\n1.5,a\n,b\n2,a\n")
    made = table_of(["x", "what"], [[1.5, None, 2.0], ["a", "b", "a"]])
    assert np.array_equal(read.columns["x"].numbers, made.columns["x"].numbers, equal_nan=True)
