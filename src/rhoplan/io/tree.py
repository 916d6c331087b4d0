"""A YAML, JSON or TOML text as a tree that remembers the line of every value, so that errors can name it.

The tree holds text only: no tag of a YAML file constructs an object, and what is a number is decided by the reader.
Time grows with the text: what could unfold (aliases, nesting, keys of many parts) is counted and refused.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NoReturn

import yaml

from rhoplan.errors import Field, ModelFileError

LARGEST_FILE = 2_000_000
"""Bytes a model file may have; a 16 x 16 Tileworld, with 256 states, takes 0.83 million."""

MOST_REPEATED = 20_000
"""Values that the aliases of a YAML file may stand for together; what is written out has no such limit."""

DEEPEST_TREE = 20

MOST_DIRECTIVES = 100
"""Lines of a YAML file that may begin with a percent sign."""


class NotYaml(ModelFileError):
    """A text that a YAML reader does not take."""

    code = "not-yaml"


NO_ITEMS: Mapping[str, Tree] = MappingProxyType({})
"""The children of what has none: one for all, since most values are such."""


@dataclass(slots=True)
class Tree:
    """A value and the line it stands on (from 1; None where the format does not tell).

    kind: map, list, number, text, truth or nothing. text: a scalar as written. items: the children of a map by key.
    field: where it stands in the file, from the top.
    """

    kind: str
    line: int | None
    text: str = ""
    field: Field = ()
    items: Mapping[str, Tree] = dataclasses.field(default_factory=lambda: NO_ITEMS)
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
        raise ModelFileError(
            f"the file is nested more than {DEEPEST_TREE} deep", file=file, code="nested-too-deep"
        ) from None


def label(field: Field) -> str:
    """What people call a field: names with points between, numbers in a list counted from 1."""
    parts = (f"[{part + 1}]" if isinstance(part, int) else f".{_printable(part)}" for part in field)
    return "".join(parts).removeprefix(".") or "the model"


def shown(text: str) -> str:
    """`text` on one line, for a message: cut where it is long, without what cannot be printed."""
    short = text if len(text) <= 40 else text[:37] + "..."
    return " ".join(_printable(short).split())


def not_printable(what: str, text: str) -> str:
    """The fault of `text`, called `what`, if it has control characters, line breaks or halves of characters, else "".

    Control characters act on a terminal.
    """
    if text.isascii() and text.isprintable():
        return ""
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        return f"{what} must be printable text; it is {text[:40]!r}"
    return ""


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is a hundred times as fast; wheels have it

_UNACCEPTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_NUMBER = re.compile(
    r"[-+]?(?:\d[\d_]*(?:\.[\d_]*)?(?:[eE][-+]?\d+)?|\.[\d_]+(?:[eE][-+]?\d+)?|\.(?:inf|Inf|INF)|0o[0-7_]+|0x[\da-fA-F_]+)"
    r"|\.(?:nan|NaN|NAN)",
    re.ASCII,
)
_WORDS = {
    **dict.fromkeys(("true", "True", "TRUE", "false", "False", "FALSE"), "truth"),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), "nothing"),
}
_TAGGED = {"int": "number", "float": "number", "bool": "truth", "null": "nothing"}


def _yaml_tree(text: str, file: str) -> Tree:
    def not_yaml(what: str, line: int | None) -> NoReturn:
        raise NotYaml(f"this is not valid YAML: {' '.join(what.split())[:160]}", file=file, line=line)

    if wrong := _UNACCEPTABLE.search(text):
        line = text.count("\n", 0, wrong.start()) + 1
        not_yaml(f"unacceptable character #x{ord(wrong[0]):04x}: special characters are not allowed", line)
    if sum(1 for _ in re.finditer("^%", text, re.MULTILINE)) > MOST_DIRECTIVES:
        not_yaml(f"it may have {MOST_DIRECTIVES} directives (lines that begin with %) at most", None)
    try:
        return _YamlReader(file).tree(_LOADER(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = str(error.problem or error.context or "it cannot be read")
        if mark and re.search(r"\d%?\s*\[", "".join(text.split("\n")[mark.line : mark.line + 1])):
            what += "; inside { } and [ ] write a number and its interval as 0.83 (0.76 to 0.89)"
        not_yaml(what, mark.line + 1 if mark else None)
    except (yaml.YAMLError, ValueError) as error:
        not_yaml(str(error), None)


@dataclass(slots=True)
class _Open:
    """A list or map whose end has not come yet. key: of the value that comes next, with its line."""

    tree: Tree
    anchor: str | None
    items: dict[str, Tree]
    list: list[Tree]
    key: str | None = None
    key_line: int = 0


class _YamlReader:
    """Makes a tree of the events of a YAML text, one after the other, so that nothing is nested but the tree."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._open: list[_Open] = []
        self._anchors: dict[str, Tree | None] = {}
        self._repeated = 0

    def tree(self, loader: Any) -> Tree:
        """The one document of a YAML loader."""
        top: Tree | None = None
        next_event, begun, value, scalar = loader.get_event, self._begin, self._value, self._scalar
        while (kind := type(event := next_event())) is not yaml.StreamEndEvent:
            line = event.start_mark.line + 1
            if kind is yaml.ScalarEvent:
                top = value(scalar(event, line), event.anchor, line, top)
            elif kind is yaml.MappingStartEvent:
                begun("map", event.anchor, line)
            elif kind is yaml.SequenceStartEvent:
                begun("list", event.anchor, line)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                ended = self._open.pop()
                if ended.list:
                    ended.tree.list = tuple(ended.list)
                top = value(ended.tree, ended.anchor, ended.tree.line or line, top)
            elif kind is yaml.AliasEvent:
                top = value(self._alias(event.anchor, line), None, line, top)
            elif kind is yaml.DocumentStartEvent and top is not None:
                raise NotYaml("this is not valid YAML: expected a single document", file=self.file, line=line)
        if top is None or (top.kind == "nothing" and not top.text):
            raise ModelFileError(
                "the file is empty; a model needs at least states and commits", file=self.file, code="empty-file"
            )
        return top

    def _scalar(self, event: Any, line: int) -> Tree:
        text, tag = event.value, event.tag
        if tag is None and event.implicit[0]:
            kind = _WORDS.get(text) or ("number" if _NUMBER.fullmatch(text) else "text")
        else:
            kind = _TAGGED.get(str(tag).rsplit(":", 1)[-1], "text")
        return Tree(kind, line, text, self._checked(self._place(), line), NO_ITEMS)

    def _begin(self, kind: str, anchor: str | None, line: int) -> None:
        above = self._open[-1] if self._open else None
        if above and above.tree.kind == "map" and above.key is None:
            raise ModelFileError(
                "a name must be plain text, not a list or a map", file=self.file, line=line, code="text-expected"
            )
        if anchor is not None:
            self._anchors[anchor] = None
        items: dict[str, Tree] = {}
        self._open.append(_Open(Tree(kind, line, "", self._checked(self._place(), line), items), anchor, items, []))

    def _place(self) -> Field:
        """Where the next value stands."""
        if not self._open:
            return ()
        above = self._open[-1]
        if above.tree.kind == "list":
            return (*above.tree.field, len(above.list))
        return above.tree.field if above.key is None else (*above.tree.field, above.key)

    def _checked(self, place: Field, line: int) -> Field:
        if len(place) > DEEPEST_TREE:
            raise ModelFileError(
                f"the file is nested more than {DEEPEST_TREE} deep", file=self.file, line=line, code="nested-too-deep"
            )
        return place

    def _value(self, tree: Tree, anchor: str | None, line: int, top: Tree | None) -> Tree | None:
        """Put `tree` where it belongs; what comes back is the outermost value, once it is there."""
        if anchor is not None:
            self._anchors[anchor] = tree
        if not self._open:
            return tree
        above = self._open[-1]
        if above.tree.kind == "list":
            above.list.append(tree)
        elif above.key is None:
            if tree.kind in ("list", "map"):
                raise ModelFileError(
                    "a name must be plain text, not a list or a map", file=self.file, line=line, code="text-expected"
                )
            if tree.text in above.items:
                raise _twice(tree.text, self.file, line, above.tree.field)
            above.key, above.key_line = tree.text, line
        else:
            tree.line = line if line >= above.key_line else above.key_line
            above.items[above.key] = tree
            above.key = None
        return top

    def _alias(self, name: str, line: int) -> Tree:
        if name not in self._anchors:
            raise NotYaml(f"this is not valid YAML: found undefined alias '{shown(name)}'", file=self.file, line=line)
        meant = self._anchors[name]
        if meant is None:  # it stands inside of what it names
            raise ModelFileError(
                f"the file is nested more than {DEEPEST_TREE} deep", file=self.file, line=line, code="nested-too-deep"
            )
        return self._copy(meant, self._place(), line)

    def _copy(self, tree: Tree, place: Field, line: int) -> Tree:
        self._checked(place, line)
        self._repeated += 1
        if self._repeated > MOST_REPEATED:
            raise ModelFileError(
                f"aliases may stand for {MOST_REPEATED:,} values at most; write them out",
                file=self.file,
                line=line,
                code="too-many-aliases",
            )
        return replace(
            tree,
            field=place,
            items={key: self._copy(one, (*place, key), line) for key, one in tree.items.items()},
            list=tuple(self._copy(one, (*place, number), line) for number, one in enumerate(tree.list)),
        )


def _twice(name: str, file: str, line: int | None, place: Field) -> ModelFileError:
    return ModelFileError(
        f"'{shown(name)}' stands twice in the same place",
        file=file,
        line=line,
        field=(*place, name),
        code="duplicate-field",
    )


def _json_tree(text: str, file: str) -> Tree:
    """JSON is checked by the standard reader; line numbers come from reading it as YAML, of which it is a part."""
    if not text.strip():
        raise ModelFileError(
            "the file is empty; a model needs at least states and commits", file=file, code="empty-file"
        )
    try:
        data = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        raise ModelFileError(
            f"this is not valid JSON: {error.msg}", file=file, line=error.lineno, code="not-json"
        ) from None
    except ValueError as error:
        raise ModelFileError(f"this is not valid JSON: {error}", file=file, code="not-json") from None
    if not isinstance(data, dict):  # it will be refused, however long it is
        return _from_data(data[:1] if isinstance(data, list) else data, file, {})
    try:
        return _yaml_tree(text.replace("\t", " "), file)
    except NotYaml:
        return _from_data(data, file, {})


class _Pairs(dict[str, Any]):
    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        twice = (key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        self.repeated = next(twice, None) if len(self) < len(pairs) else None


_TOML_TEXT = re.compile(
    r""""{3}(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{3}|'{3}(?:[^']|'{1,2}(?!'))*'{3}"""
    r"""|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\#[^\n]*"""
)
"""Strings and comments."""
_MANY_PARTS = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{DEEPEST_TREE + 1}}}")


def _toml_tree(text: str, file: str) -> Tree:
    bare = _TOML_TEXT.sub(lambda found: "_" if found[0][0] != "#" else "", text)
    if deep := _MANY_PARTS.search(bare):  # the reader's time would grow with the square of the parts
        rule = f"a key may have {DEEPEST_TREE} parts with points between at most"
        raise ModelFileError(f"{rule}; '{shown(deep[0])}' has more", file=file, code="nested-too-deep")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        what = re.sub(r"\s*\(at .*\)", "", str(error))
        line = int(found.group(1)) if found else None
        raise ModelFileError(f"this is not valid TOML: {what}", file=file, line=line, code="not-toml") from None
    except ValueError as error:
        raise ModelFileError(f"this is not valid TOML: {error}", file=file, code="not-toml") from None
    if not data:
        raise ModelFileError(
            "the file is empty; a model needs at least states and commits", file=file, code="empty-file"
        )
    return _from_data(data, file, _toml_lines(text))


def _toml_lines(text: str) -> dict[Field, int]:
    """Line of each key that stands at the start of a line, by its path from the top."""
    lines: dict[Field, int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        written = line.strip()
        if written.startswith("["):
            header = written.lstrip("[").partition("]")[0]
            if header and "[" not in header and not written.startswith("[["):
                table = _toml_path(header)
                lines.setdefault(table, number)
        elif entry := _TOML_KEY.match(written):
            lines.setdefault((*table, *_toml_path(entry.group(1))), number)
    return lines


_TOML_KEY = re.compile(r"""((?:[\w-]+|"[^"]*"|'[^']*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"[^"]*"|'[^']*'))*)[ \t]*=""")


def _toml_path(text: str) -> tuple[str, ...]:
    if "." not in text and '"' not in text and "'" not in text:
        return (text.strip(),)
    return tuple(part.strip("\"'") for part in re.findall(r"""[\w-]+|"[^"]*"|'[^']*'""", text))


def _from_data(data: Any, file: str, lines: dict[Field, int], place: Field = (), line: int | None = None) -> Tree:
    """The tree of what another reader has read; `line` is that of what it stands in."""
    if len(place) > DEEPEST_TREE:
        raise ModelFileError(f"the file is nested more than {DEEPEST_TREE} deep", file=file, code="nested-too-deep")
    line = lines.get(place, line)
    if isinstance(data, dict):
        repeated = getattr(data, "repeated", None)
        if repeated is not None:
            raise _twice(repeated, file, line, place)
        items = {str(key): _from_data(value, file, lines, (*place, str(key)), line) for key, value in data.items()}
        return Tree("map", line, field=place, items=items)
    if isinstance(data, list):
        children = (_from_data(value, file, lines, (*place, number), line) for number, value in enumerate(data))
        return Tree("list", line, field=place, list=tuple(children))
    if isinstance(data, bool):
        return Tree("truth", line, str(data).lower(), place)
    if data is None:
        return Tree("nothing", line, field=place)
    return Tree("number" if isinstance(data, int | float) else "text", line, str(data), place)
