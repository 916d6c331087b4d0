"""Numbers as a person types them. A number that can be read in two ways is refused, and both readings are named.

The decimals of a number follow a point. Commas may part thousands in counts (1 in 1,000) and nowhere else. The page has
the same rule in typed.js. Files have their own rules.
"""

from __future__ import annotations

import re
from typing import Literal

Where = Literal["number", "probability", "percent"]
"""What is expected. percent: a number in a field that has a % sign beside it."""

_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_TWO_READINGS = re.compile(r"([-+]?[1-9][0-9]{0,2})[.,]([0-9]{3})")
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(,[0-9]{3})+")
_GROUPS = re.compile(r"([-+]?[1-9][0-9]{0,2}([.,])[0-9]{3}(?:\2[0-9]{3})*)(?:(?!\2)[.,]([0-9]+))?")
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]*,[0-9]+")
_WITH_COMMAS = re.compile(r"[-+0-9.]*,[-+0-9.,]*")
_COUNT = re.compile(r"([0-9.,]+)\s*(?:in|of|per|out of|/|:)\s*([0-9.,]+)", re.IGNORECASE)


def read_typed(text: str, where: Where) -> float:
    """The number that `text` is; a probability may also be 40%, or a count such as 1 in 1,000.

    ValueError where it is none, or can be read in two ways.
    """
    text = text.strip()
    check_typed(text, where)
    counted = _COUNT.fullmatch(text) if where == "probability" else None
    body, percent = (text, False) if where == "number" else _without_percent(text)
    try:
        if counted:
            part, whole = (float(number.replace(",", "")) for number in counted.groups())
            value = part / whole if whole > 0 and part <= whole else None
        else:
            value = float(body) if _NUMBER.fullmatch(body) else None
    except ValueError:
        value = None
    if value is None:
        expected = {"number": "a number", "probability": "a probability such as 0.4, 40% or 2 in 5"}
        raise ValueError(f"{expected.get(where, 'a percentage such as 40')} is expected; this is '{text[:60]}'")
    return value / 100 if percent or where == "percent" else value


def check_typed(text: str, where: Where) -> None:
    """Raise ValueError where `text` can be read in two ways, has a decimal comma, or is above 1 as a probability.

    Texts that are no number in any way pass.
    """
    text = text.strip()
    counted = _COUNT.fullmatch(text) if where == "probability" else None
    if counted:
        for part in counted.groups():
            if not _THOUSANDS.fullmatch(part):
                _check_number(part)
        return
    body, percent = (text, False) if where == "number" else _without_percent(text)
    sign = "%" if percent else ""
    if where == "number" or "," in body or body.count(".") > 1:
        _check_number(body, sign, is_probability=where == "probability")
    if where == "probability" and not percent and _NUMBER.fullmatch(body) and float(body) > 1:
        meant = f": write {text}%" if float(body) <= 100 else ""
        raise ValueError(f"a probability lies between 0 and 1; this is '{text}'{meant}")


def unmistakable(text: str) -> str:
    """`text`, a number with a point before its decimals, written so that it has one reading: 20 for 20.000."""
    found = _TWO_READINGS.fullmatch(text.strip())
    return _decimal(*found.groups())[1] if found and "," not in text else text


def _check_number(text: str, sign: str = "", *, is_probability: bool = False) -> None:
    """Raise ValueError unless points and commas in `text` leave one reading; sign: what follows it."""
    found = _TWO_READINGS.fullmatch(text)
    if found:
        whole, rest = found.groups()
        value, written = _decimal(whole, rest)
        raise ValueError(
            f"'{text}{sign}' can be {value}{sign} or {whole},{rest}{sign}: write {written}{sign} or {whole}{rest}{sign}"
        )
    if _DECIMAL_COMMA.fullmatch(text):
        meant = text.replace(",", ".")
        in_hundred = is_probability and 1 < float(meant) <= 100
        raise ValueError(f"'{text}{sign}' has a decimal comma: write {meant}{'%' if in_hundred else sign}")
    groups = _GROUPS.fullmatch(text)
    if groups and ("," in text or text.count(".") > 1):
        whole, _, rest = groups.groups()
        meant = re.sub("[.,]", "", whole) + (f".{rest}" if rest else "")
        raise ValueError(f"'{text}{sign}' has marks between thousands: write {meant}{sign}")
    if _WITH_COMMAS.fullmatch(text):
        raise ValueError(f"'{text}{sign}' is no number: its commas do not part thousands")


def _decimal(whole: str, rest: str) -> tuple[str, str]:
    """The number with the decimals `rest` as it is told, and as it is written so that it has one reading."""
    decimals = rest.rstrip("0")
    value = f"{whole}.{decimals}" if decimals else whole
    return value, f"{value}0" if len(decimals) == 3 else value


def _without_percent(text: str) -> tuple[str, bool]:
    """`text` without the % sign at its end, and whether it had one."""
    return text.removesuffix("%").rstrip(), text.endswith("%")
