"""Errors as replies: a status and {"error": {"code", "field", "message"}}, with the line or the limit if there is one.

400 and 422: the request is wrong. 404: no such name. 413: it needs more than a limit allows. 429: every worker is busy.
503: the worker was lost, or the server ends.
"""

from __future__ import annotations

import json
from typing import Any

from rhoplan.app.records import finite
from rhoplan.app.serve.sources import UnknownModel
from rhoplan.errors import (
    AgentError,
    EvidenceError,
    LimitError,
    ModelFileError,
    ProblemError,
    RhoplanError,
    TableError,
    dotted,
)

Reply = tuple[int, bytes]

ABOUT: dict[type[RhoplanError], str] = {
    ModelFileError: "text",
    ProblemError: "problem",
    LimitError: "problem",
    AgentError: "agent",
    EvidenceError: "given",
}
"""The field of a request that an error is about as a whole, where it names none."""


TABLES = "table", "draft", "learn"
"""Tasks that work on a table of cases."""


def success(record: Any) -> Reply:
    """The reply to a request that went well; ASCII only, so that no text can break the encoding."""
    return 200, json.dumps(finite(record), separators=(",", ":")).encode()


def refusal(status: int, field: str | None, message: str, *, code: str, **more: Any) -> Reply:
    """The reply to a request that is refused."""
    error = {"code": code, "field": field, "message": message, **more}
    return status, json.dumps({"error": error}, separators=(",", ":")).encode()


def refused(error: RhoplanError) -> Reply:
    """The reply to a request that broke a rule of the engine."""
    whole = next((field for kind, field in ABOUT.items() if isinstance(error, kind)), None)
    more = {"line": error.line} if isinstance(error, ModelFileError) else {}
    status = 413 if isinstance(error, LimitError) else 404 if isinstance(error, UnknownModel) else 422
    message = error.message
    if isinstance(error, TableError):  # where it stands is what one looks for
        more, message = {"row": error.row}, str(error)
    return refusal(status, dotted(error.field) if error.field else whole, message, **more, code=error.code)


def over_time(seconds: float, task: str, request: dict[str, Any]) -> Reply:
    told = f"this takes longer than {seconds:g} seconds, the limit; {_remedy(task, request)}"
    return refusal(413, "timeout", told, limit={"seconds": seconds}, code="time-limit")


def over_memory(memory: int, task: str, request: dict[str, Any]) -> Reply:
    told = f"this needs more memory than {memory / 1e9:g} GB, the limit; {_remedy(task, request)}"
    return refusal(
        413, "table" if task in TABLES else "problem", told, limit={"memory_bytes": memory}, code="memory-limit"
    )


def _remedy(task: str, request: dict[str, Any]) -> str:
    """What to do about a limit; who plans has a horizon, also where the request leaves it to the problem."""
    if task in TABLES:
        return "use fewer folds, or fewer rows and columns"
    plans = "horizon" in request and (task != "solve" or request["horizon"] is not None)
    first = "shorten the horizon or " if plans else "leave out check or " if request.get("check") else ""
    return f"{first}make the problem smaller"


def busy(seconds: float) -> Reply:
    told = f"every worker was busy for {seconds:g} seconds; try again later"
    return refusal(429, None, told, limit={"wait_seconds": seconds}, code="busy")


def lost() -> Reply:
    return refusal(
        503, None, "the process that worked on this was ended twice, not by us; try again later", code="worker-lost"
    )


def ending() -> Reply:
    return refusal(503, None, "the server ends; start it again with rhoplan serve", code="server-ending")
