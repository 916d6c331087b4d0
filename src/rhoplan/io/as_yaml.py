"""Maps, lists, text and numbers as YAML that people like to read."""

from __future__ import annotations

import re
from typing import Any


class Flow(dict[str, Any]):
    """A map that is written on one line, whatever it holds."""


class Bare(str):
    """Text that is written as it is: a number as somebody typed it, 95%, 9 of 10."""

    __slots__ = ()


def yaml_lines(record: dict[str, Any], margin: str = "") -> list[str]:
    """The lines of a map: what holds more than numbers is indented below its name, the rest stands beside it."""
    lines = []
    for name, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = [yaml_lines(part, margin + "    ") for part in value]
            lines.append(f"{margin}{_word(name)}:")
            lines += [f"{margin}  - {item[0].lstrip()}" if line == 0 else text
                      for item in items for line, text in enumerate(item)]  # fmt: skip
        elif _is_block(value):
            lines += [f"{margin}{_word(name)}:", *yaml_lines(value, margin + "  ")]
        else:
            lines.append(f"{margin}{_word(name)}: {_flow(value)}")
    return lines


def _is_block(value: Any) -> bool:
    if not isinstance(value, dict) or isinstance(value, Flow):
        return False
    return any(not isinstance(part, int | float | Bare) for part in value.values())


def _flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_word(name)}: {_flow(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, Bare):
        return str(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _word(value) if isinstance(value, str) else _number(value)


def _word(text: str) -> str:
    """Text as YAML: bare where that is safe, quoted otherwise."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", text) and text.lower() not in ("null", "true", "false", "yes", "no")
    return text if plain else '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    """A character between quotes; what a YAML reader would fold or refuse is written as its number."""
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
