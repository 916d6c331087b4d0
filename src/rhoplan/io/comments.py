"""A changed model in the text it came from: comments, order and layout stay where nothing was changed.

The new text says what the file means; the old one how it was laid out. What comes out says
what the new text says, value for value, or it is not used.
"""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from rhoplan.errors import ModelFileError
from rhoplan.io.tree import Tree, parse_tree

LONGEST = 200_000
"""Characters of a text up to which its comments are kept: reading it with them takes a second."""

WIDEST = 4000
"""Columns after which a line is folded: never, for people break their lines themselves."""

ORDERED = ("tests", "panels", "commits", "losses", "utilities")
"""Maps in which the order of names is that of the model."""

ROWS = ("commits", "losses", "utilities")
"""Maps of rows that may be lists in the order of states, or maps."""


def with_comments(old: str, new: str) -> str:
    """The YAML text `new`, laid out like the YAML text `old` as far as they agree; `new` itself where that fails."""
    if len(old) > LONGEST:
        return new
    yaml = YAML(typ="rt")
    yaml.preserve_quotes, yaml.width = True, WIDEST
    try:
        before, after = _said(old), _said(new)
        kept = yaml.load(old)
        _follow(kept, yaml.load(new), before, after)
        text = io.StringIO()
        yaml.dump(kept, text)
        found = _said(text.getvalue())
        same = found == after and all(list(found.get(name, ())) == list(after.get(name, ())) for name in ORDERED)
    except (YAMLError, ModelFileError, ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        return new
    return text.getvalue() if same else new


def _follow(kept: CommentedMap, wanted: CommentedMap, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Make the map `kept`, which says `before`, say `after` as `wanted` does; what is the same is not touched."""
    for name in [name for name in kept if str(name) not in after]:
        del kept[name]
    keys: dict[str, Any] = {str(name): name for name in kept}
    for place, name in enumerate(wanted):
        word = str(name)
        if word in before and before[word] == after[word]:
            continue
        if word not in keys:
            kept.insert(min(place, len(kept)), name, wanted[name])
            continue
        own = kept[keys[word]]
        if isinstance(own, CommentedMap) and isinstance(wanted[name], CommentedMap):
            _follow(own, wanted[name], before[word], after[word])
        elif isinstance(own, CommentedMap) and word == "prevalence":
            own[next(iter(own))] = wanted[name]
        elif isinstance(own, CommentedSeq) and isinstance(wanted[name], CommentedMap) and len(own) == len(wanted[name]):
            own[:] = list(wanted[name].values())
        else:
            kept[keys[word]] = wanted[name]


def _said(text: str) -> dict[str, Any]:
    """What a model file says, however it says it: rows as maps, and the positive state by itself."""
    tree = parse_tree(text, file="model", language="yaml")
    said: dict[str, Any] = _plain(tree)
    states = [one.text for one in tree.items["states"].list] if "states" in tree.items else []
    share = said.get("prevalence")
    if isinstance(share, dict) and len(share) == 1:
        ((positive, said["prevalence"]),) = share.items()
        said["positive"] = ("text", positive)
    said |= {name: _named(said[name], states) for name in ("prior",) if name in said}
    for name in ROWS:
        if isinstance(said.get(name), dict):
            said[name] = {decision: _named(row, states) for decision, row in said[name].items()}
    return said


def _named(row: Any, states: list[str]) -> Any:
    return dict(zip(states, row, strict=True)) if isinstance(row, list) else row


def _plain(tree: Tree) -> Any:
    """What a tree says, without where it stands."""
    if tree.kind == "map":
        return {name: _plain(one) for name, one in tree.items.items()}
    if tree.kind == "list":
        return [_plain(one) for one in tree.list]
    return tree.kind, " ".join(tree.text.split())
