"""How numbers are put into words, the same everywhere: signs, percentages, what the paper prints."""

from __future__ import annotations

from collections.abc import Iterable

from rhoplan_paper.published import select


def signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}"


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def rates(shares: Iterable[float]) -> str:
    """Shares in whole percent."""
    return ", ".join(percent(share, 0) for share in shares)


def points(share: float, digits: int = 1) -> str:
    """A difference of shares in percentage points."""
    return f"{100 * share:+.{digits}f} pp"


def printed(*references: str) -> str:
    """What the paper prints at these references, each number after what tells it from the others."""
    cells = [cell for reference in references for cell in select(reference)]
    names = ("problem", "agent", "partition")
    return listed(" ".join([*(str(one.row[name]) for name in names if name in one.row), one.text]) for one in cells)


def listed(texts: Iterable[str]) -> str:
    return "; ".join(texts)
