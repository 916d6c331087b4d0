"""The addresses of pages to print and to carry away: the report, the interactive plan, the card."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from rhoplan.app.serve import replies, schema
from rhoplan.app.serve.replying import API, HTML, PRINTABLE, typed
from rhoplan.present.carry.page import policy

ModelName = Annotated[str, Path(min_length=1, max_length=500)]


class Pages(BaseModel):
    """What may be said of a page to print or to carry away."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    weight: float | None = Field(None, ge=0)
    horizon: int | None = Field(None, ge=1, le=10_000)
    near: float | None = Field(None, ge=0, le=1)
    author: str = Field("", max_length=200, description="Who answers for the page.")


class Carried(Pages):
    """Also whether it is the card."""

    card: bool = Field(False, description="One page of A4 to print instead.")


Answer = Callable[[str, schema.Request, Request], Awaitable[Response]]
"""The reply of a worker to a task on what a client asks for."""


def add_carrying(app: FastAPI, answer: Answer) -> None:
    """Add the addresses to `app`."""

    def dated(asked: dict[str, Any]) -> schema.Printed:
        return schema.Printed.model_validate({**asked, "date": date.today().isoformat()})

    async def page(task: str, client: Request, name: str, asked: Pages, **headers: str) -> Response:
        found = await answer(task, dated({**asked.model_dump(), "problem": name}), client)
        if found.status_code != 200:
            return found
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return Response(json.loads(bytes(found.body))["html"], media_type="text/html", headers=named)

    @app.get(f"{API}/report/{{name}}", responses=HTML, response_class=Response, tags=["models"])
    async def report(client: Request, name: ModelName, asked: Annotated[Pages, Query()]) -> Response:
        """The printable report on a model, as a page."""
        return await page("report", client, name, asked, content_security_policy=PRINTABLE)

    @app.get(f"{API}/carry/{{name}}", responses=HTML, response_class=Response, tags=["models"])
    async def carry(client: Request, name: ModelName, asked: Annotated[Carried, Query()]) -> Response:
        """The whole plan as one interactive file that needs no server, to be saved; or the card."""
        if asked.card:
            return await page("carry", client, name, asked, content_security_policy=PRINTABLE)
        file = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "plan"
        kept = f'attachment; filename="{file}.html"'
        return await page("carry", client, name, asked, content_security_policy=policy(), content_disposition=kept)

    @app.post(f"{API}/carry", responses=typed(replies.Page), tags=["cases"])
    async def carry_case(body: schema.Carry, client: Request) -> Response:
        """The plan from where a case stands on, as one interactive file that needs no server; or the card."""
        return await answer("carry", dated(body.model_dump()), client)
