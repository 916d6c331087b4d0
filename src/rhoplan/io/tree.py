"""A YAML, JSON or TOML text as a tree that remembers the line of every value, so that errors can name it.

The tree holds text only: no tag of a YAML file constructs an object, and what is a number is decided by the reader.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from rhoplan.errors import Field, ModelFileError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST_FILE = 2_000_000
"""Bytes a model file may have; a 16 x 16 Tileworld, with 256 states, takes 0.83 million."""

LARGEST_TREE = 1_000_000
"""Values a file may hold once its aliases are written out."""

DEEPEST_TREE = 20

LONGEST_WITH_LINES = 200_000
"""Characters of a JSON text up to which it is read a second time for its line numbers, which takes a second."""


class NotYaml(ModelFileError):
    """A text that a YAML reader does not take."""


@dataclass
class Tree:
    """A value and the line it stands on (from 1; None where the format does not tell).

    kind: map, list, number, text, truth or nothing. text: a scalar as written. items: the children of a map by key.
    field: where it stands in the file, from the top.
    """

    kind: str
    line: int | None
    text: str = ""
    field: Field = ()
    items: dict[str, Tree] = dataclasses.field(default_factory=dict)
    list: tuple[Tree, ...] = ()

    @property
    def label(self) -> str:
        return label(self.field)

    def at(self, field: Field) -> Tree:
        """The value at `field`, or as far towards it as the tree goes."""
        found = self
        for part in field:
            if isinstance(part, str) and part in found.items:
                found = found.items[part]
            elif isinstance(part, int) and part < len(found.list):
                found = found.list[part]
            else:
                break
        return found


def parse_tree(text: str, *, file: str, language: str) -> Tree:
    """The tree of `text` in `language` (yaml, json or toml); ModelFileError where it does not parse."""
    try:
        if language == "toml":
            return _toml_tree(text, file)
        if language == "json":
            return _json_tree(text, file)
        return _yaml_tree(text, file)
    except RecursionError:
        raise ModelFileError("the file is nested too deeply to be a model", file=file) from None


def label(field: Field) -> str:
    """What people call a field: names with points between, numbers in a list counted from 1."""
    parts = (f"[{part + 1}]" if isinstance(part, int) else f".{_printable(part)}" for part in field)
    return "".join(parts).removeprefix(".") or "the model"


def shown(text: str) -> str:
    """`text` on one line, for a message: cut where it is long, without what cannot be printed."""
    short = text if len(text) <= 40 else text[:37] + "..."
    return " ".join(_printable(short).split())


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def _yaml_tree(text: str, file: str) -> Tree:
    first = re.search(r"^[ \t]*(-[ \t]|\[)", re.sub(r"^(#.*|---.*|[ \t]*)\n", "", text[:4000], flags=re.MULTILINE))
    if first and len(text) > LONGEST_WITH_LINES:
        raise ModelFileError("the model must be a map of fields; it is a list", file=file, line=1)
    try:
        node = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(str(error.problem or error.context or "it cannot be read").split())
        line = mark.line + 1 if mark else None
        if line and re.search(r"\d%?\s*\[", "".join(text.split("\n")[line - 1 : line])):
            what += "; inside { } and [ ] write a number and its interval as 0.83 (0.76 to 0.89)"
        raise NotYaml(f"this is not valid YAML: {what}", file=file, line=line) from None
    except (YAMLError, ValueError) as error:
        what = " ".join(str(error).split()).partition(' in "')[0][:160]
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else None
        raise NotYaml(f"this is not valid YAML: {what}", file=file, line=line) from None
    if node is None:
        raise ModelFileError("the file is empty; a model needs at least states and commits", file=file)
    return _from_yaml(node, file, (), iter(range(LARGEST_TREE)))


def _from_yaml(node: Any, file: str, place: Field, budget: Iterator[int]) -> Tree:
    line = node.start_mark.line + 1
    if len(place) > DEEPEST_TREE:
        raise ModelFileError(f"the file is nested more than {DEEPEST_TREE} deep", file=file, line=line)
    if next(budget, None) is None:
        raise ModelFileError(f"the file holds more than {LARGEST_TREE:,} values", file=file, line=line)
    if isinstance(node, ScalarNode):
        tag = str(node.tag).rsplit(":", 1)[-1]
        kind = {"int": "number", "float": "number", "bool": "truth", "null": "nothing"}.get(tag, "text")
        return Tree(kind, line, str(node.value), place)
    if isinstance(node, SequenceNode):
        children = (_from_yaml(child, file, (*place, number), budget) for number, child in enumerate(node.value))
        return Tree("list", line, field=place, list=tuple(children))
    assert isinstance(node, MappingNode)
    items: dict[str, Tree] = {}
    for key, value in node.value:
        key_line = key.start_mark.line + 1
        if not isinstance(key, ScalarNode):
            raise ModelFileError("a name must be plain text, not a list or a map", file=file, line=key_line)
        if key.value in items:
            twice = f"'{shown(key.value)}' stands twice in the same place"
            raise ModelFileError(twice, file=file, line=key_line, field=(*place, str(key.value)))
        items[str(key.value)] = _from_yaml(value, file, (*place, str(key.value)), budget)
        items[str(key.value)].line = (
            key_line if value.start_mark.line < key.start_mark.line else value.start_mark.line + 1
        )
    return Tree("map", line, field=place, items=items)


def _json_tree(text: str, file: str) -> Tree:
    """JSON is checked by the standard reader; line numbers come from reading it as YAML, of which it is a part."""
    if not text.strip():
        raise ModelFileError("the file is empty; a model needs at least states and commits", file=file)
    try:
        data = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        raise ModelFileError(f"this is not valid JSON: {error.msg}", file=file, line=error.lineno) from None
    except ValueError as error:
        raise ModelFileError(f"this is not valid JSON: {error}", file=file) from None
    if not isinstance(data, dict) or len(text) > LONGEST_WITH_LINES:
        return _from_data(data, file, {})
    try:
        return _yaml_tree(text.replace("\t", " "), file)
    except NotYaml:
        return _from_data(data, file, {})


class _Pairs(dict[str, Any]):
    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.repeated = next((key for key in keys if keys.count(key) > 1), None) if len(self) < len(keys) else None


def _toml_tree(text: str, file: str) -> Tree:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        what = re.sub(r"\s*\(at .*\)", "", str(error))
        line = int(found.group(1)) if found else None
        raise ModelFileError(f"this is not valid TOML: {what}", file=file, line=line) from None
    except ValueError as error:
        raise ModelFileError(f"this is not valid TOML: {error}", file=file) from None
    if not data:
        raise ModelFileError("the file is empty; a model needs at least states and commits", file=file)
    return _from_data(data, file, _toml_lines(text))


def _toml_lines(text: str) -> dict[Field, int]:
    """Line of each key that stands at the start of a line, by its path from the top."""
    lines: dict[Field, int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line)
        entry = re.match(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""", line)
        if header:
            table = _toml_path(header.group(1))
            lines.setdefault(table, number)
        elif entry:
            lines.setdefault((*table, *_toml_path(entry.group(1))), number)
    return lines


def _toml_path(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(r"""[\w-]+|"[^"]*"|'[^']*'""", text))


def _from_data(data: Any, file: str, lines: dict[Field, int], place: Field = ()) -> Tree:
    line = next((lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in lines), None)
    if isinstance(data, dict):
        repeated = getattr(data, "repeated", None)
        if repeated is not None:
            twice = f"'{shown(repeated)}' stands twice in the same place"
            raise ModelFileError(twice, file=file, line=line, field=(*place, repeated))
        items = {str(key): _from_data(value, file, lines, (*place, str(key))) for key, value in data.items()}
        return Tree("map", line, field=place, items=items)
    if isinstance(data, list):
        children = (_from_data(value, file, lines, (*place, number)) for number, value in enumerate(data))
        return Tree("list", line, field=place, list=tuple(children))
    if isinstance(data, bool):
        return Tree("truth", line, str(data).lower(), place)
    if data is None:
        return Tree("nothing", line, field=place)
    return Tree("number" if isinstance(data, int | float) else "text", line, str(data), place)
