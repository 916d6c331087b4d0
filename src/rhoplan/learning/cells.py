"""Cells of a table as numbers and as days, all of a column or none: a column is understood in one way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import numpy as np

from rhoplan.model.pomdp import Array

BLANKS = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "?", "-", "--", ".", "..", "missing", "k.a."))
"""How people leave a cell blank, in lower case; a minus beside a plus is a result."""

FAILED = frozenset(
    ("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "#div/0!", "#value!", "#ref!", "#num!", "#name?",
     "#null!")
)  # fmt: skip
"""What programs write where they could not work out a number, in lower case; it counts as blank, with a warning."""

LARGEST_NUMBER = 1e100
"""Size that a number may have: sums of squares of larger ones are none. Others count as blank, with a warning."""

FEW_ODD = 0.05
"""Share of cells that may be no numbers in a column of numbers."""

_POINT = re.compile(r"[<>]?=?\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*%?")
_COMMA = re.compile(r"[<>]?=?\s*[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d*)?([eE][+-]?\d+)?\s*%?")
_THOUSANDS = re.compile(r"[<>]?=?\s*[+-]?\d{1,3}(,\d{3})+(\.\d*)?\s*%?")
_DATES = (
    (re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})([T ].*)?"), (0, 1, 2)),
    (re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})( .*)?"), (0, 1, 2)),
    (re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})( .*)?"), (2, 1, 0)),
    (re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})( .*)?"), (2, 1, 0)),
    (re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})( .*)?"), (2, 0, 1)),
)


def as_numbers(cells: Sequence[str]) -> tuple[Array | None, list[int]]:
    """Numbers (n,), and the places of cells that are none: NaN there; None where too many are none.

    Points or commas before the decimals, whichever suits all of them; `< 5` counts as 5.
    """
    if not cells:
        return None, []
    distinct = dict.fromkeys(cells)
    ways = ((_POINT, _plain), (_THOUSANDS, lambda text: _plain(text.replace(",", ""))), (_COMMA, _german))
    fits = [[cell for cell in distinct if not pattern.fullmatch(cell)] for pattern, _ in ways]
    way = min(range(len(ways)), key=lambda place: len(fits[place]))
    refused = set(fits[way])
    odd = [place for place, cell in enumerate(cells) if cell in refused]
    if len(odd) > FEW_ODD * len(cells):
        return None, []
    value = {cell: np.nan if cell in refused else ways[way][1](cell) for cell in distinct}
    return np.array([value[cell] for cell in cells]), odd


def decimals(cells: Sequence[str]) -> int:
    """The most digits behind the point or comma; 9 where a cell has an exponent."""
    distinct = set(cells)
    if any("e" in cell.lower() for cell in distinct):
        return 9
    parts = (re.split(r"[.,]", cell.rstrip("% ")) for cell in distinct)
    return max((len(part[-1]) for part in parts if len(part) > 1), default=0)


def as_dates(cells: Sequence[str]) -> Array | None:
    """Days (n,) counted from the year 1 on, None unless all cells are days written in one way."""
    for pattern, (year, month, day) in _DATES:
        found = [pattern.fullmatch(cell) for cell in cells]
        if not cells or not all(found):
            continue
        try:
            parts = [tuple(map(int, match.groups()[:3])) for match in found if match]
            return np.array([float(date(part[year], part[month], part[day]).toordinal()) for part in parts])
        except ValueError:
            continue
    return None


def _plain(text: str) -> float:
    return float(text.lstrip("<>= ").rstrip("% "))


def _german(text: str) -> float:
    return _plain(text.replace(".", "").replace(",", "."))
