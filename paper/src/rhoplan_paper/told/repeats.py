"""Numbers that the paper prints more than once: whether what is told again is what stands at the first place.

A cell's `repeats` refers to that place, or to two of them, `a - b`, where it is their difference.
"""

from __future__ import annotations

from rhoplan_paper.published import Cell, select


def origins(cell: Cell) -> list[Cell]:
    """The numbers that `cell` restates: one, or those of a difference; none where it stands alone."""
    return [select(reference)[0] for reference in cell.repeats.split(" - ")] if cell.repeats else []


def disagreement(cell: Cell) -> str:
    """What the first place has, where it is another number or belongs to another setting; empty where they agree."""
    if not _agrees(cell):
        return f"the paper itself has {_told(cell)} in '{cell.repeats.split()[0]}'"
    if other := _other_setting(cell):
        return f"{_told(cell)} in '{cell.repeats.split()[0]}' is {other}"
    return ""


def _told(cell: Cell) -> str:
    return " - ".join(one.text for one in origins(cell))


def _agrees(cell: Cell) -> bool:
    """Whether the values are one, as far as printed digits tell; a bound must hold of the number that it bounds."""
    first, *rest = origins(cell)
    values = [one.value for one in (cell, first, *rest)]
    if any(value is None for value in values):
        return False
    mine, one, *others = (value for value in values if value is not None)
    before = one - sum(others)
    if cell.relation in ("<", ">") and cell.relation != first.relation:
        return before < mine if cell.relation == "<" else before > mine
    # A difference may have been taken before its terms were rounded.
    slack = (
        cell.rounding + first.rounding + sum(o.rounding for o in rest) if rest else max(cell.rounding, first.rounding)
    )
    return abs(mine - before) <= slack * (1 + 1e-9)


def _other_setting(cell: Cell) -> str:
    """The setting in which the first place differs, in words; empty where all that both name is the same."""
    first, *rest = origins(cell)
    if rest:
        return ""
    differing = [key for key in cell.row if key in first.row and cell.row[key] != first.row[key]]
    return ", ".join(f"that of {key} {_plain(first.row[key])}, not {_plain(cell.row[key])}" for key in differing)


def _plain(value: str | float) -> str:
    return f"{value:g}" if isinstance(value, float) else value
