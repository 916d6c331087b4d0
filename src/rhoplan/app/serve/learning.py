"""The addresses under /api/v1/learn: a table comes in and is held in memory, a worker learns from it, it is forgotten.

The table is a file's bytes, which this process does not look at; requests name it by a token that nobody can guess.
Nothing of it is written anywhere: a model that was learned has counts, and goes to whoever asked.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import FastAPI, Path, Request
from fastapi.responses import Response, StreamingResponse

from rhoplan.app.serve import replies, schema
from rhoplan.app.serve.border import CSV
from rhoplan.app.serve.learn_tasks import table_source
from rhoplan.app.serve.pool import Pool
from rhoplan.app.serve.refusals import Reply, refusal, success
from rhoplan.app.serve.replying import (
    API,
    HTML,
    LINES,
    PRINTABLE,
    Replies,
    disconnected,
    response,
    typed,
    while_there,
)
from rhoplan.app.serve.settings import Settings
from rhoplan.app.serve.sources import Library, Source, UnknownModel, check_name
from rhoplan.app.serve.worker import Job

TableName = Annotated[str, Path(min_length=1, max_length=60)]
ModelName = Annotated[str, Path(min_length=1, max_length=500)]


class Tables:
    """The tables that are held, and the work on them."""

    def __init__(self, settings: Settings, pool: Pool) -> None:
        self.settings, self.pool = settings, pool
        most_bytes = settings.tables * settings.table_bytes
        self.held = Library(most=settings.tables, most_bytes=most_bytes, expiry=settings.table_expiry)

    def keep(self, source: Source) -> None:
        self.held.keep(source)
        self._forget_in_time()

    def find(self, name: str) -> Source:
        """The table of this name; it is kept as long again from now on."""
        found = self.held.find(name)
        if found is None:
            raise UnknownModel("there is no such table, or it has been forgotten: send it again", field=("table",))
        self._forget_in_time()
        return found

    def _forget_in_time(self) -> None:
        """A table goes when its time is over, not when somebody asks for another one."""
        asyncio.get_running_loop().call_later(self.settings.table_expiry + 1, self.held.drop_old)

    async def ask(self, task: str, source: Source, request: dict[str, Any]) -> Reply:
        """The reply of a worker; no reply about a table is kept."""
        return await self.pool.run(Job(task, source, request), seconds=self.settings.learn_seconds, slow=True)

    async def learn(self, source: Source, request: dict[str, Any], client: Request) -> Response:
        """Progress line by line, then the result. What is refused before there is progress is no stream.

        Whether the client goes before the first line or after it: the work is given up.
        """
        most = self.settings.learn_seconds
        seconds = min(request.pop("timeout") or most, most)
        told: asyncio.Queue[tuple[int, int]] = asyncio.Queue()
        run = self.pool.run(
            Job("learn", source, request), seconds=seconds, slow=True, long=True,
            tell=lambda done, of: told.put_nowait((done, of)),
        )  # fmt: skip
        work = asyncio.ensure_future(run)
        gone = asyncio.ensure_future(disconnected(client))

        async def steps() -> AsyncGenerator[tuple[int, int], None]:
            """How far the work is, until it is done or nobody waits for it."""
            try:
                while not (work.done() and told.empty()) and not gone.done():
                    step = asyncio.ensure_future(told.get())
                    await asyncio.wait({work, gone, step}, return_when=asyncio.FIRST_COMPLETED)
                    if step.done():
                        yield step.result()
                    step.cancel()
            finally:
                gone.cancel()
                work.cancel()  # nothing happens to work that is done

        going = steps()
        first = await anext(going, None)
        if first is None:
            return response(
                work.result() if work.done() else refusal(400, None, "the client has gone", code="client-gone")
            )

        async def lines() -> AsyncIterator[bytes]:
            try:
                yield _line(progress=_record(first))
                async for step in going:
                    yield _line(progress=_record(step))
                if work.done() and not work.cancelled():
                    status, body = work.result()
                    yield _line(result=json.loads(body)) if status == 200 else _line(**json.loads(body))
            finally:
                await going.aclose()

        return StreamingResponse(lines(), media_type=LINES)


def _record(step: tuple[int, int]) -> dict[str, int]:
    return dict(zip(("done", "of"), step, strict=True))


def _line(**said: Any) -> bytes:
    return success(said)[1] + b"\n"


def add_learning(app: FastAPI, settings: Settings, pool: Pool, model: Callable[[str], Source]) -> None:
    """Add the addresses to `app`. model: the source of a model by its name."""
    tables = Tables(settings, pool)
    file = {"required": True, "content": {CSV: {"schema": {"type": "string", "format": "binary"}}}}

    @app.post(
        f"{API}/learn/table", responses=typed(replies.TableTold), tags=["learn"], openapi_extra={"requestBody": file}
    )
    async def send_table(client: Request) -> Response:
        """Hold a CSV file of past cases in memory, under a token: what its columns are, and what it warns of."""
        source = table_source(secrets.token_urlsafe(18), await client.body())
        status, found = await while_there(client, tables.ask("table", source, {}))
        if status != 200:
            return response((status, found))
        tables.keep(source)
        return response(success({"table": source.name, "expires_in": settings.table_expiry, **json.loads(found)}))

    @app.delete(f"{API}/learn/table/{{name}}", responses=typed(replies.Removed), tags=["learn"])
    async def forget_table(name: TableName) -> Response:
        """Forget a table."""
        if not tables.held.remove(name):
            raise UnknownModel("there is no such table, or it has been forgotten", field=("name",))
        return response(success({"removed": name}))

    @app.post(f"{API}/learn/draft", responses=typed(replies.Drafted), tags=["learn"])
    async def draft_plan(body: schema.Draft, client: Request) -> Response:
        """A plan for a table, as an object to fill in: every price and every loss is 1."""
        source = tables.find(body.table)
        return response(await while_there(client, tables.ask("draft", source, {"target": body.target})))

    line = {LINES: {"schema": schema.Told.model_json_schema()}}
    lines: Replies = {200: {"description": "Progress line by line, then the result", "content": line}}

    @app.post(f"{API}/learn", responses=lines, response_class=StreamingResponse, tags=["learn"])
    async def learn(body: schema.Learn, client: Request) -> Response:
        """A model from a table and a plan, and its bill. Lines tell how far it is; closing the connection ends it."""
        check_name(body.name)
        request = body.model_dump()
        return await tables.learn(tables.find(request.pop("table")), request, client)

    @app.get(f"{API}/learn/report/{{name}}", responses=HTML, response_class=Response, tags=["learn"])
    async def learned_report(name: ModelName, client: Request) -> Response:
        """The report on a model that was learned, as a page."""
        source, most = model(name), settings.seconds
        job = Job("learned", source, {"seconds": most, "memory": settings.memory / 2})
        status, found = await while_there(client, pool.run(job, seconds=most, slow=True))
        if status != 200:
            return response((status, found))
        headers = {"content-security-policy": PRINTABLE}
        return Response(json.loads(found)["html"], media_type="text/html", headers=headers)
