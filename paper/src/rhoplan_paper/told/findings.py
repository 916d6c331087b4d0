"""Findings on numbers that captions and text give: one for each, and whether what is told twice is told alike.

A cell's `repeats` refers to where its number stands first, or to two places, `a - b`, where it is their difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from rhoplan_paper.compare import Number, judge
from rhoplan_paper.published import Cell, Quote, quotes_of, select
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, SETTING, Finding, Verdict

Check = Callable[[Quote, Cell], Finding]


def each_quoted(part: str, check: Check) -> tuple[Finding, ...]:
    """What `check` finds on each number that the paper prints about `part`."""
    return tuple(check(quote, one) for quote in quotes_of(part) for one in quote.cells)


def setting(quote: Quote, cell: Cell, used: float, what: str) -> Finding:
    """A printed setting beside the one that our computation uses: no result, so nothing is confirmed by it."""
    same = cell.value is not None and math.isclose(cell.value, used, rel_tol=1e-12)
    reason = f"the one used here: {what}" if same else f"{what}: here it is {used:g}"
    return told(quote, cell, SETTING if same else CONTRADICTED, reason, exact=f"{used:g}")


def counted(quote: Quote, cell: Cell, count: float, what: str) -> Finding:
    """A printed number of things beside the count of what our computation builds: a check, if a small one."""
    same = cell.value is not None and math.isclose(cell.value, count, rel_tol=1e-12)
    return told(quote, cell, CONFIRMED if same else CONTRADICTED, f"counted: {what}", exact=f"{count:g}")


def mean(
    quote: Quote, cell: Cell, by_unit: Mapping[str, Number], episodes: int, simulated: str = "", scale: float = 1.0
) -> Finding:
    """A printed mean of so many episodes beside the exact ones by unit of information."""
    judged = judge(cell, by_unit, episodes, scale)
    percent = scale != 1.0
    exact = "; ".join(
        (f"{100 * one.mean:.2f}%" if percent else f"{one.mean:.4f}") + (f" ({unit})" if len(by_unit) > 1 else "")
        for unit, one in by_unit.items()
    )
    return told(quote, cell, Verdict(judged.verdict, judged.unit), judged.reason, simulated=simulated, exact=exact)


def told(
    quote: Quote, cell: Cell, verdict: Verdict | str, reason: str, *, simulated: str = "", exact: str = ""
) -> Finding:
    """The finding on one printed number, named by its quote, its column and its row."""
    found = Verdict(verdict) if isinstance(verdict, str) else verdict
    row = [f"{value:g}" if isinstance(value, float) else value for value in cell.row.values()]
    name = "/".join([quote.part, quote.id, "-".join([cell.column, *row]).replace(",", "-")])
    about = ", ".join(f"{key} {value}" for key, value in zip(cell.row, row, strict=True))
    claim = f"{quote.gist.rstrip('.')}: {cell.column.replace('_', ' ')}{f' ({about})' if about else ''}"
    return Finding(name, quote.place, claim, cell.text, simulated, exact, found.unit, found.word, reason)


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
