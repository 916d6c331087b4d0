"""Errors as replies: a status and {"error": {"field", "message"}}, with the line or the limit where there is one.

400 and 422: the request is wrong. 404: no such name. 413: it needs more than a limit allows. 429: every worker is busy.
"""

from __future__ import annotations

import json
import re
from typing import Any

from rhoplan.agents.settings import SETTINGS
from rhoplan.app.records import finite
from rhoplan.errors import AgentError, EvidenceError, LimitError, ModelFileError, RhoplanError
from rhoplan.io.reader import MODEL_FIELDS

Reply = tuple[int, bytes]

_PLACE = re.compile(
    rf"((?:{'|'.join(MODEL_FIELDS)})(?:[.\[].*?)?):? (?:must|has|may|names|needs|goes|waits|the test)\b"
)
_AGENT_FIELDS = (*SETTINGS, "gap", "cap")


class FieldError(RhoplanError):
    """A fault in a field of the request that the error itself does not tell."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def success(record: Any) -> Reply:
    """The reply to a request that went well; ASCII only, so that no text can break the encoding."""
    return 200, json.dumps(finite(record), separators=(",", ":")).encode()


def refusal(status: int, field: str | None, message: str, **more: Any) -> Reply:
    """The reply to a request that is refused."""
    error = {"field": field, "message": message, **more}
    return status, json.dumps({"error": error}, separators=(",", ":")).encode()


def refused(error: RhoplanError, *, inline: bool = False) -> Reply:
    """The reply to a request that broke a rule of the engine; `inline` where the model was an object in it."""
    if isinstance(error, FieldError):
        return refusal(422, error.field, str(error))
    if isinstance(error, ModelFileError):
        return _model_refusal(error, inline=inline)
    if isinstance(error, LimitError):
        return refusal(413, "problem", str(error))
    if isinstance(error, EvidenceError):
        return refusal(422, "unavailable" if "unavailable" in str(error) else "given", str(error))
    if isinstance(error, AgentError):
        first = str(error).split(" ", 1)[0]
        return refusal(422, first if first in _AGENT_FIELDS else "agent", str(error))
    return refusal(422, "problem", str(error))


def over_time(seconds: float) -> Reply:
    return refusal(
        413,
        "timeout",
        f"this takes longer than {seconds:g} seconds, the limit; shorten the horizon or make the problem smaller",
        limit={"seconds": seconds},
    )


def over_memory(memory: int) -> Reply:
    return refusal(
        413,
        "problem",
        f"this needs more memory than {memory / 1e9:g} GB, the limit; shorten the horizon or make the problem smaller",
        limit={"memory_bytes": memory},
    )


def over_nodes(nodes: int, message: str) -> Reply:
    return refusal(413, "problem", message, limit={"nodes": nodes})


def busy(seconds: float) -> Reply:
    return refusal(
        429, None, f"every worker was busy for {seconds:g} seconds; try again later", limit={"wait_seconds": seconds}
    )


def _model_refusal(error: ModelFileError, *, inline: bool) -> Reply:
    place = f" ({error.file}, line {error.line})" if error.line is not None else f" ({error.file})"
    message = str(error).removesuffix(place)
    found = _PLACE.match(message)
    field = found.group(1) if found else None
    if inline:
        return refusal(422, f"problem.{field}" if field else "problem", message)
    return refusal(422, field or "text", message, line=error.line)
