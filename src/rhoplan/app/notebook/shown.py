"""What every result in a notebook can do: show itself as text and as HTML, and give its rows as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rhoplan.errors import MissingExtra
from rhoplan.present.page.parts import safe, table

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

STYLE = (
    ".rhoplan{font:14px/1.45 system-ui,sans-serif;max-width:60rem}"
    ".rhoplan table{border-collapse:collapse;font-size:inherit}"
    ".rhoplan td,.rhoplan th{padding:.15rem .7rem .15rem 0;text-align:left;vertical-align:top}"
    ".rhoplan .n{text-align:right;font-variant-numeric:tabular-nums}.rhoplan .soft{opacity:.7}"
    ".rhoplan .bar{display:inline-block;height:.7em;background:#0072b2}"
    ".rhoplan svg{max-width:100%;height:auto;background:#fff}"
)
"""Works on light and dark backgrounds: text and lines take the notebook's own colour."""


class Shown:
    """A result that shows itself. Subclasses say it in lines of text, as HTML, and as rows."""

    def lines(self) -> Sequence[str]:
        """What it says, a few lines of plain text."""
        raise NotImplementedError

    def html(self) -> str:
        """The same as HTML that is safe to show."""
        return "".join(f"<div>{safe(line)}</div>" for line in self.lines())

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """What it consists of, one map each, with the same keys."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """The rows as a DataFrame of pandas."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise MissingExtra("a DataFrame", "pandas") from None
        return pd.DataFrame([dict(row) for row in self.rows()])

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<div class='rhoplan'><style>{STYLE}</style>{self.html()}</div>"


def cells(heads: Sequence[str], rows: Sequence[Sequence[object]], *, numbers: int = 1, marked: int = -1) -> str:
    """A table of cells that are made safe here."""
    return table(
        [safe(head) for head in heads], [[safe(cell) for cell in row] for row in rows], numbers=numbers, marked=marked
    )


def bars(shares: Mapping[str, float], chances: Sequence[str]) -> str:
    """Chances as bars with their numbers."""
    rows = [
        [safe(name), f"<span class='bar' style='width:{120 * share:.1f}px'></span>", safe(chance)]
        for (name, share), chance in zip(shares.items(), chances, strict=True)
    ]
    return table(["", "", ""], rows, numbers=2)
