"""Errors of requests as replies: each names its field, in our words."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from rhoplan.app.serve.border import with_headers
from rhoplan.app.serve.refusals import refusal, refused
from rhoplan.app.serve.replying import response
from rhoplan.errors import RhoplanError

NAME_OR_MODEL = "a problem must be a name, or a whole model as an object"


def add_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(_: Any, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = [part for part in first["loc"] if part not in ("body", "path", "query")]
        known = [
            str(part) for part in place if isinstance(part, int) or not str(part).startswith(("function", "dict["))
        ]
        field = ".".join(part for part in known if part not in ("str", "constrained-str", "tuple", "list[float]"))
        either = [fault["type"] for fault in error.errors() if fault["loc"][:-1] == first["loc"][:-1]]
        told = NAME_OR_MODEL if either == ["string_type", "dict_type"] else _sentence(first)
        return response(refusal(422, field or None, told, code="invalid-request"))

    @app.exception_handler(RhoplanError)
    async def broken(_: Any, error: RhoplanError) -> Response:
        return response(refused(error))

    @app.exception_handler(Exception)
    async def fault(_: Any, error: Exception) -> Response:  # goes past the border: the framework answers last
        told = response(refusal(500, None, f"this should not have happened ({type(error).__name__})", code="internal"))
        told.raw_headers = with_headers(told.raw_headers)
        return told

    @app.exception_handler(HTTPException)
    async def failed(_: Any, error: HTTPException) -> Response:
        message = {404: "there is nothing at this address", 405: "this address takes another method"}
        told = message.get(error.status_code, str(error.detail))
        return response(refusal(error.status_code, None, told, code="wrong-address"))


def _sentence(fault: Any) -> str:
    """What is wrong with a field, in our words where the checker's own do not help."""
    if fault["type"] == "model_attributes_type":
        return "the body must be a JSON object, sent with the header content-type: application/json"
    if fault["type"] == "extra_forbidden":
        return "this address takes no such field; see openapi.json"
    return str(fault["msg"]).removeprefix("Value error, ")
