"""What a page says of itself in its last line, and whether that is still true: a digest of the page, of the model, and
the settings of who advises.

The digest is of everything before the line and of what else the line tells. It tells that a page was changed since it
was written, by accident or by somebody who does not care to make a new line; it is no proof of who wrote it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rhoplan.advice.journal import digest
from rhoplan.model.pomdp import POMDP
from rhoplan.version import __version__

BEGIN, END = "<!-- rhoplan ", " -->\n"


def signed(page: str, problem: POMDP, settings: Mapping[str, Any] | None = None) -> str:
    """`page` with a last line that tells its digest, that of `problem`, and the settings."""
    told = {"version": __version__, "problem": problem.name, "model": digest(problem), "settings": dict(settings or {})}
    text = json.dumps({**told, "sha256": _digest(page, told)}, sort_keys=True)
    for character in "<>-":  # nothing in it can end the comment
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f"{page}{BEGIN}{text}{END}"


def read_signed(text: str) -> tuple[dict[str, Any] | None, bool]:
    """What the last line of a page tells, None where there is none; and whether the page is as it was written."""
    page, begin, line = text.rpartition(BEGIN)
    if not begin or not line.endswith(END):
        return None, False
    try:
        told = json.loads(line.removesuffix(END))
    except ValueError:
        return None, False
    if not isinstance(told, dict) or not all(isinstance(told.get(name), str) for name in ("sha256", "model")):
        return None, False
    return told, told["sha256"] == _digest(page, told)


def _digest(page: str, told: Mapping[str, Any]) -> str:
    said = json.dumps({name: value for name, value in told.items() if name != "sha256"}, sort_keys=True)
    return hashlib.sha256(f"{page}{said}".encode("utf-8", "surrogatepass")).hexdigest()
