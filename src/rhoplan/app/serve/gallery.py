"""The gallery that the page opens on: a card for each model, one's own, the worked ones and the paper's apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import Response
from pydantic import BaseModel, Field

from rhoplan.app.serve.refusals import success
from rhoplan.app.serve.replying import API, response
from rhoplan.app.serve.sources import Source
from rhoplan.problems.registry import PROBLEMS, WORKED_MODELS

if TYPE_CHECKING:
    from rhoplan.app.serve.app import Desk


class Card(BaseModel):
    """A model in a few words."""

    name: str = Field(description="What requests call it.")
    title: str = Field(description="What people call it.")
    about: str = Field("", description="What it is about, in one line.")
    tests: int | None = Field(None, description="How many tests it has; null where it is not a list of tests.")
    file: str | None = Field(None, description="The file it is saved to, where there is one.")


class Gallery(BaseModel):
    """All models that the server knows."""

    own: list[Card] = Field(description="Opened with the server, uploaded or made in the form.")
    worked: list[Card] = Field(description="Worked models that ship with rhoplan.")
    paper: list[Card] = Field(description="The problems of the paper.")
    folder: str | None = Field(None, description="The folder that new models are saved to, where one is served.")


def add_gallery(app: FastAPI, desk: Desk) -> None:
    async def cards(sources: list[Source]) -> list[Card]:
        found = []
        for source in sources:
            status, body = await desk.ask("card", source, {})
            told = json.loads(body) if status == 200 else {"title": source.name}
            found.append(Card(name=source.name, file=desk.files.file_of(source.name), **told))
        return found

    @app.get(f"{API}/gallery", tags=["models"], responses={200: {"model": Gallery}}, operation_id="gallery")
    async def gallery() -> Response:
        """A card for each model: one's own, the worked ones, and the problems of the paper."""
        own = [source for row in desk.library.listed() if (source := desk.library.find(row["name"], use=False))]
        found = Gallery(
            own=await cards(own),
            worked=await cards([Source(name) for name in WORKED_MODELS]),
            paper=await cards([Source(name) for name in PROBLEMS]),
            folder=desk.files.folder_name,
        )
        return response(success(found.model_dump()))
