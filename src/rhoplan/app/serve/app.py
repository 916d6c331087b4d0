"""The addresses: the page at /, the API under /api/v1. This process never plans; it names, asks a worker and replies.

Requests are stateless: a case is the evidence that the page sends along. All that is kept are uploaded models, tables
to learn from, and replies to give again, all in memory with a limit.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files as resources
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import FastAPI, Path, Request
from fastapi.responses import Response, StreamingResponse

from rhoplan.advice.words import WORDS, words_of
from rhoplan.app.serve import replies, schema
from rhoplan.app.serve.border import Border
from rhoplan.app.serve.carrying import add_carrying
from rhoplan.app.serve.examples import add_examples
from rhoplan.app.serve.faults import add_errors
from rhoplan.app.serve.forms import add_forms
from rhoplan.app.serve.gallery import add_gallery
from rhoplan.app.serve.learning import add_learning
from rhoplan.app.serve.pool import Pool
from rhoplan.app.serve.refusals import Reply, success
from rhoplan.app.serve.replying import API, LINES, Replies, response, typed, while_there
from rhoplan.app.serve.saving import Files
from rhoplan.app.serve.settings import Settings
from rhoplan.app.serve.sources import NO_MODEL, Library, Source, UnknownModel, check_name, find_source
from rhoplan.app.serve.targeting import add_targets
from rhoplan.app.serve.uncertain import add_uncertainty
from rhoplan.app.serve.watching import Watch
from rhoplan.app.serve.worker import Job
from rhoplan.errors import RhoplanError
from rhoplan.problems.registry import WORKED_MODELS
from rhoplan.version import __version__

STATIC = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}

KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
"""Files of the page that have an address like their name."""

SLOW = (
    "check", "advise/batch", "evaluate", "solve", "pathway", "compare", "report", "carry", "replay", "target",
    "frontier", "uncertainty",
)  # fmt: skip
"""Tasks that may take long: they leave a worker free for the others."""

QUICK = ("catalogue", "model", "situation")
"""Tasks that plan nothing: they never wait behind those that may take long, where there are two workers or more."""

HEAVY = ("agent", "horizon", "planner", "simulations", "time", "part")
"""Fields that make the same task on the same problem take longer."""

BRISK, MOST_BRISK = 1.0, 5000
"""Seconds within which a reply shows that others of its kind need not leave a worker free; how many kinds are kept."""

UNFINISHED = (b'"not examined"', b'"kind":"missing"')
"""Stand in a reply that is not as good as it could be with more time: it is not given again."""

TOO_MUCH = (413, 429)
"""Refusals that say nothing against the request: with more time, memory or workers it would be answered."""

REFUSALS: Replies = {status: {"model": schema.Refused} for status in (400, 401, 403, 404, 413, 415, 421, 422, 429, 503)}


PLANNING: dict[str, tuple[type[schema.Request], Any, str]] = {
    "decide": (schema.Decide, replies.Decided, "What to do next, and the value of every action in parts that add up."),
    "situation": (
        schema.Situate,
        replies.Situated,
        "Where a case stands: what is visible and believed, and what each action could show.",
    ),
    "advise": (
        schema.Advise,
        replies.Advised,
        "Advice on a case: what to do next, why, what it costs, how sure we are, how much longer.",
    ),
    "advise/batch": (schema.Batch, replies.Batched, "What to do next in each of many cases, in their order."),
    "evaluate": (
        schema.Evaluate,
        replies.ScoredEach,
        "Exact score of an agent; no episode is simulated.",
    ),
    "solve": (schema.Solve, replies.Solved, "Certified bounds on the best plan with no horizon limit."),
    "pathway": (
        schema.DrawPathway,
        replies.Drawn,
        "The recommended pathway as a tree, each leaf with its share of cases.",
    ),
    "compare": (
        schema.Compare,
        replies.Comparison,
        "Ways of deciding side by side, and reward against success over the weight.",
    ),
    "what-if": (schema.WhatIf, replies.IfSo, "Advice with other numbers, and where the first action flips."),
}
"""The addresses that only ask a worker: what they take, and what they say of themselves."""

LIMITS = {
    "bytes": "request_bytes", "table_bytes": "table_bytes", "nodes": "nodes", "seconds": "seconds",
    "learn_seconds": "learn_seconds", "memory_bytes": "memory",
}  # fmt: skip
"""What the page is told of the settings, and what they are called there."""

ModelName = Annotated[str, Path(min_length=1, max_length=500)]


class Desk:
    """Takes requests to workers, and gives the same reply to the same request."""

    def __init__(self, settings: Settings, opened: Sequence[Source], files: Files | None = None) -> None:
        self.settings, self.files = settings, files or Files()
        self.library = Library(most=settings.uploads, most_bytes=settings.upload_bytes, expiry=settings.expiry)
        for source in opened:
            if source.text is not None:
                self.library.keep(source, opened=True)
        self.first = opened[0].name if len(opened) == 1 and self.files.folder is None else None
        self.pool = Pool(settings)
        self._replies: OrderedDict[str, Reply] = OrderedDict()
        self._brisk: set[str] = set()
        self._size = 0

    async def answer(self, task: str, body: schema.Request, client: Request) -> Response:
        """The reply to a request about a problem; work for a client that has gone is given up."""
        request = body.model_dump()
        named = [field for field in ("problem", "world") if request.get(field) is not None]
        request |= {field: find_source(request[field], self.library, field) for field in named}
        return response(await while_there(client, self.ask(task, request.pop("problem"), request)))

    async def stream(self, body: schema.AdviseParts, client: Request) -> Response:
        """Parts of advice, one line each as soon as it is there; a wrong request is refused before the first line."""
        request = body.model_dump()
        source = find_source(request.pop("problem"), self.library, "problem")
        names, limits, timeout = request.pop("parts"), request.pop("limits"), request.pop("timeout")
        jobs = [{**request, "part": name, "timeout": limits.get(name, timeout)} for name in dict.fromkeys(names)]
        first = await while_there(client, self.ask("part", source, jobs[0]))
        if first[0] not in (200, *TOO_MUCH):
            return response(first)

        async def lines() -> AsyncIterator[bytes]:
            yield _line(jobs[0]["part"], first)
            for job in jobs[1:]:
                yield _line(job["part"], await self.ask("part", source, dict(job)))
            yield _line("end", success({"part": "end", "kind": "exact", "words": "", "content": None}))

        return StreamingResponse(lines(), media_type=LINES)

    async def ask(self, task: str, source: Source, request: dict[str, Any]) -> Reply:
        """The reply of a worker, or the one that was given before."""
        limit = self.settings.seconds
        seconds = min(request.pop("timeout", None) or limit, limit)
        key = json.dumps([task, source.key, seconds, request], sort_keys=True, default=lambda other: other.key)
        if key in self._replies:
            self._replies.move_to_end(key)
            return self._replies[key]
        job = Job(task, source, {**request, "seconds": seconds, "memory": self.settings.memory / 2})
        kind = repr([task, source.key, *(request.get(name) for name in HEAVY)])
        shipped = source.text is None and source.name in WORKED_MODELS  # a model that was sent may have any name
        brisk = kind in self._brisk or (shipped and request.get("horizon") is None)
        slow = task in SLOW or (task == "what-if" and request["flips"]) or not (brisk or task in QUICK)
        can_be_kept = task != "solve" and request.get("time") is None

        def keep(reply: Reply) -> None:
            if can_be_kept and reply[0] == 200 and not any(mark in reply[1] for mark in UNFINISHED):
                self._keep(key, reply)

        begin = time.monotonic()
        reply = await self.pool.run(job, seconds=seconds, slow=slow, late=keep)
        if time.monotonic() - begin < BRISK:
            if len(self._brisk) >= MOST_BRISK:
                self._brisk.clear()
            self._brisk.add(kind)
        keep(reply)
        return reply

    async def knows(self, name: str, digest: str) -> bool:
        """Whether the server has the model with this digest under this name."""
        try:
            source = find_source(name, self.library)
        except RhoplanError:
            return False
        status, body = await self.ask("model", source, {})
        return status == 200 and bool(json.loads(body)["digest"] == digest)

    def _keep(self, key: str, reply: Reply) -> None:
        if key in self._replies:
            return
        self._replies[key] = reply
        self._size += len(key) + len(reply[1])
        while self._size > self.settings.reply_bytes:
            old, (_, body) = self._replies.popitem(last=False)
            self._size -= len(old) + len(body)


def create_app(
    settings: Settings | None = None,
    opened: Sequence[Source] = (),
    files: Files | None = None,
    watch: Watch | None = None,
) -> FastAPI:
    """The server with these limits.

    opened: the models it was started with. files: those it may save to. watch: looks after files that change.
    """
    desk = Desk(settings or Settings(), opened, files)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        desk.pool.start()
        watching = asyncio.ensure_future((watch or Watch()).go_on(desk.library))
        try:
            yield
        finally:
            watching.cancel()
            desk.pool.stop()

    app = FastAPI(
        title="rhoplan",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{API}/openapi.json",
        responses=REFUSALS,
        generate_unique_id_function=lambda route: route.name,  # stable: clients are made from these
    )
    app.state.desk = desk
    app.add_middleware(Border, settings=desk.settings)
    add_errors(app)
    _add_page(app)
    _add_models(app, desk)
    add_gallery(app, desk)
    add_forms(app, desk)
    _add_planning(app, desk)
    add_uncertainty(app, desk)
    _add_cases(app, desk)
    add_carrying(app, desk.answer)
    add_targets(app, desk.answer)
    add_learning(app, desk.settings, desk.pool, lambda name: find_source(name, desk.library, "name"))
    add_examples(app)
    return app


def _line(part: str, reply: Reply) -> bytes:
    """A reply as a line of a stream; a refusal is a part that is missing."""
    status, body = reply
    if status != 200:
        reason = json.loads(body)["error"]["message"]
        told = {"part": part, "kind": "missing", "words": f"not worked out: {reason}", "content": None}
        _, body = success(told)
    return body + b"\n"


def _add_page(app: FastAPI) -> None:
    """The page's files, read once: a request chooses among addresses, never among files."""

    @app.get("/health", response_model=schema.Health, tags=["server"], operation_id="health")
    async def health() -> Any:
        """Whether the server answers; asks no worker and needs no key."""
        return {"status": "ok"}

    folder = resources("rhoplan.app.serve").joinpath("static")
    named = {f"/{entry.name}": (entry.name, KINDS.get(PurePath(entry.name).suffix, "")) for entry in folder.iterdir()}
    served = STATIC | {address: (name, kind) for address, (name, kind) in sorted(named.items()) if kind}
    for address, (name, kind) in served.items():
        app.add_route(address, _fixed(folder.joinpath(name).read_bytes(), kind), include_in_schema=False)


def _fixed(content: bytes, kind: str) -> Callable[[Any], Response]:
    return lambda _: Response(content, media_type=kind)


def _add_models(app: FastAPI, desk: Desk) -> None:
    @app.get(f"{API}/models", responses=typed(replies.Catalogue), tags=["models"])
    async def list_models() -> Response:
        """Registered problems, shipped models, and those uploaded or opened."""
        status, body = await desk.ask("catalogue", NO_MODEL, {})
        if status != 200:
            return response((status, body))
        limits = {name: getattr(desk.settings, own) for name, own in LIMITS.items()}
        own = [{**row, "file": desk.files.file_of(row["name"])} for row in desk.library.listed()]
        more = {
            "report": True,
            "uploaded": own,
            "first": desk.first,
            "folder": desk.files.folder_name,
            "limits": limits,
            "words": {field: words_of(field) for field in WORDS},
        }
        return response(success({**json.loads(body), **more, "version": __version__}))

    @app.post(f"{API}/models", responses=typed(replies.Checked), tags=["models"])
    async def upload_model(body: schema.Upload, client: Request) -> Response:
        """Keep a model under a name; its text is checked first, and errors name the line and the field."""
        check_name(body.name)
        source = Source(body.name, body.text, body.language)
        status, found = await while_there(client, desk.ask("check", source, {}))
        if status == 200 and not body.check_only:
            desk.library.keep(source)
        if body.check_only and status in (200, 422):  # the question was whether it is sound, and this is the answer
            return response(success({"sound": status == 200, **json.loads(found)}))
        return response((status, found))

    @app.get(f"{API}/models/{{name}}", responses=typed(replies.Model), tags=["models"])
    async def show_model(name: ModelName) -> Response:
        """One model: its numbers, and its text where it can be written as a model file."""
        return response(await desk.ask("model", find_source(name, desk.library, "name"), {}))

    @app.delete(f"{API}/models/{{name}}", responses=typed(replies.Removed), tags=["models"])
    async def forget_model(name: ModelName) -> Response:
        """Forget an uploaded model."""
        if not desk.library.remove(name):
            raise UnknownModel("there is no uploaded model of this name", field=("name",))
        return response(success({"removed": name}))


def _add_planning(app: FastAPI, desk: Desk) -> None:
    def add(task: str, takes: type[schema.Request], gives: Any, about: str) -> None:
        async def answer(body: schema.Request, client: Request) -> Response:
            return await desk.answer(task, body, client)

        answer.__annotations__["body"] = takes
        name = task.replace("-", "_").replace("/", "_")
        app.post(f"{API}/{task}", responses=typed(gives), tags=["planning"], name=name, description=about)(answer)

    for task, row in PLANNING.items():
        add(task, *row)

    part = {LINES: {"schema": replies.Part.model_json_schema()}}
    lines: Replies = {200: {"description": "A part on each line", "content": part}}

    @app.post(f"{API}/advise/parts", responses=lines, response_class=StreamingResponse, tags=["planning"])
    async def advise_parts(body: schema.AdviseParts, client: Request) -> Response:
        """Advice part by part, a line for each as soon as it is there; closing the connection ends the work."""
        return await desk.stream(body, client)


def _add_cases(app: FastAPI, desk: Desk) -> None:
    @app.post(f"{API}/journal", responses=typed(replies.Kept), tags=["cases"])
    async def journal(body: schema.Journal, client: Request) -> Response:
        """A case as its line of the case log: the model, its digest, and the advice with its parts at each entry."""
        return await desk.answer("journal", body, client)

    @app.post(f"{API}/replay", responses=typed(replies.Replayed), tags=["cases"])
    async def replay(body: schema.Replay, client: Request) -> Response:
        """The advice in a case log computed again: the first difference, and the last case to go on with.

        `known` is the name under which the server has the very model of that case, null where it has not.
        """
        status, found = await while_there(client, desk.ask("replay", NO_MODEL, body.model_dump()))
        if status != 200:
            return response((status, found))
        reply = json.loads(found)
        last = reply["case"]
        known = last["problem"] if await desk.knows(last["problem"], last["digest"]) else None
        return response(success({**reply, "known": known}))
