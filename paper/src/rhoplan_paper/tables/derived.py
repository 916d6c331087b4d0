"""Columns of tables that no agent's episodes make: sizes, mismatches, and differences of two rows of the same table."""

from __future__ import annotations

import math

from rhoplan.problems.registry import make
from rhoplan_paper.published import Cell, Table
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, REPEATED, SETTING, Finding


def derived(table: Table, cell: Cell, name: str, label: tuple[str, str]) -> Finding:
    """The finding `name` on a number that follows from the problem, from its row, or from other printed numbers."""
    column = cell.column.split()[0]
    value, verdict, reason = SOURCES[column](table, cell)
    slack = 2 * cell.rounding if verdict == REPEATED else 0.0
    fits = math.isclose(cell.number, value, rel_tol=0, abs_tol=slack + 1e-9)
    claim = f"{' '.join(label)}: {column.replace('_', ' ')}"
    return Finding(name, table.place, claim, cell.text, "", f"{value:g}", "", verdict if fits else CONTRADICTED, reason)


def _size(table: Table, cell: Cell) -> tuple[float, str, str]:
    return float(len(make(str(cell.row["problem"])).states)), CONFIRMED, "counted in the problem"


def _mismatch(table: Table, cell: Cell) -> tuple[float, str, str]:
    true = float(make(str(cell.row["problem"])).flat.tests[0].likelihood.max())
    believed = float(cell.row["believed_accuracy"])
    return (
        round(believed - true, 9),
        SETTING,
        f"the one used here: the agent believes {believed:g}, the truth is {true:g}",
    )


def _gap(table: Table, cell: Cell) -> tuple[float, str, str]:
    """EFE's printed success less Planning's in the row below; both are judged on their own."""
    shared = {key: value for key, value in cell.row.items() if key in ("problem", "discount")}
    printed = {
        str(one.row["agent"]): one.number
        for one in table.cells
        if one.column == "success" and shared.items() <= one.row.items()
    }
    efe, planning = printed["efe"], printed["planning"]
    return round(efe - planning, 9), REPEATED, f"the difference of {efe:g}% and {planning:g}%, judged there"


SOURCES = {"states": _size, "mismatch": _mismatch, "success_gap": _gap}
"""By column: the value that follows, the verdict where it is the printed one, and the reason."""
