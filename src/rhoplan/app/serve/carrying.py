"""The addresses of pages to print and to carry away: the report, the interactive plan, the card."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Annotated

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import Response

from rhoplan.app.serve import schema
from rhoplan.app.serve.replying import API, HTML, PRINTABLE
from rhoplan.report.carry.page import policy

ModelName = Annotated[str, Path(min_length=1, max_length=500)]
Weight = Annotated[float | None, Query(ge=0, allow_inf_nan=False)]
Horizon = Annotated[int | None, Query(ge=1, le=10_000)]
Near = Annotated[float | None, Query(ge=0, le=1, allow_inf_nan=False)]
Author = Annotated[str, Query(max_length=200, description="Who answers for the page.")]

Answer = Callable[[str, schema.Request, Request], Awaitable[Response]]
"""The reply of a worker to a task on what a client asks for."""


def add_carrying(app: FastAPI, answer: Answer) -> None:
    """Add the addresses to `app`."""

    async def page(task: str, client: Request, headers: dict[str, str], **asked: object) -> Response:
        body = schema.Printed.model_validate({**asked, "date": date.today().isoformat()})
        found = await answer(task, body, client)
        if found.status_code != 200:
            return found
        return Response(json.loads(bytes(found.body))["html"], media_type="text/html", headers=headers)

    @app.get(f"{API}/report/{{name}}", responses=HTML, response_class=Response, tags=["models"])
    async def report(
        client: Request,
        name: ModelName,
        weight: Weight = None,
        horizon: Horizon = None,
        near: Near = None,
        author: Author = "",
    ) -> Response:
        """The printable report on a model, as a page."""
        said = {"problem": name, "weight": weight, "horizon": horizon, "near": near, "author": author}
        return await page("report", client, {"content-security-policy": PRINTABLE}, **said)

    @app.get(f"{API}/carry/{{name}}", responses=HTML, response_class=Response, tags=["models"])
    async def carry(
        client: Request,
        name: ModelName,
        weight: Weight = None,
        horizon: Horizon = None,
        near: Near = None,
        author: Author = "",
        card: Annotated[bool, Query(description="One page of A4 to print instead.")] = False,
    ) -> Response:
        """The whole plan as one interactive file that needs no server, to be saved; or the card."""
        said = {"problem": name, "weight": weight, "horizon": horizon, "near": near, "author": author}
        headers = {"content-security-policy": PRINTABLE if card else policy()}
        if not card:
            file = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "plan"
            headers["content-disposition"] = f'attachment; filename="{file}.html"'
        return await page("carry", client, headers, card=card, **said)
