"""How numbers are put into words, the same everywhere: signs, percentages, what the paper prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any

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


def tell(sentences: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, str]:
    """`sentences` with `values` where they name them, `{gaps[bits]:+.2f}`; each value must be named somewhere.

    The usual formats hold for numbers; `pp` makes percentage points of a share. A list is told item by item, a mapping
    name by name, with commas between them, or semicolons where the format begins with `;`. Words after `|` stand for an
    empty one. Of the words `one/other` a truth value takes the first if it is true.
    """
    named = {field.partition("[")[0] for text in sentences.values() for _, field, _, _ in WORDS.parse(text) if field}
    if unused := values.keys() - {name.partition(".")[0] for name in named}:
        raise ValueError(f"no sentence names {', '.join(sorted(unused))}")
    return {part: WORDS.vformat(text, (), values) for part, text in sentences.items()}


class Words(Formatter):
    """See `tell`."""

    def format_field(self, value: Any, form: str) -> str:
        form, _, none = form.partition("|")
        if isinstance(value, bool):
            return form.split("/")[0 if value else 1]
        if isinstance(value, Mapping | list | tuple):
            mark, form = ("; ", form[1:]) if form.startswith(";") else (", ", form)
            if isinstance(value, Mapping):
                texts = [f"{name} {self.format_field(one, form)}" for name, one in value.items()]
            else:
                texts = [self.format_field(one, form) for one in value]
            return mark.join(texts) or none
        return points(value, int(form[:-2] or 1)) if form.endswith("pp") else format(value, form) or none


WORDS = Words()
