"""`rhoplan serve`: the advisor as a local web page and HTTP API."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import option
from rhoplan.app.serve.settings import LOOPBACK, Settings
from rhoplan.errors import RhoplanError

if TYPE_CHECKING:
    import socket

    from rhoplan.app.serve.saving import Files
    from rhoplan.app.serve.sources import Source

USUAL = Settings()


@click.command("serve")
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@option("--host", default="127.0.0.1", help="Address to listen on: this machine only.")
@option("--port", type=click.IntRange(0, 65535), default=8765, help="0 for any free one.")
@option("--seconds", type=click.FloatRange(0.01), default=USUAL.seconds, help="Planning time per request.")
@option(
    "--patience",
    type=click.FloatRange(0.01),
    default=USUAL.patience,
    help="Seconds that a request waits for a free worker.",
)
@option("--learn-seconds", type=click.FloatRange(0.01), default=USUAL.learn_seconds, help="Learning time per table.")
@option("--nodes", type=click.IntRange(1), default=USUAL.nodes, help="Size of a plan.")
@option("--memory", type=click.FloatRange(0.5), default=USUAL.memory / 1e9, help="GB per worker process.")
@option("--bytes", "size", type=click.IntRange(1000), default=USUAL.request_bytes, help="Request size.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes that plan.  [default: one per core, 3 to 8]")
def serve_command(
    models: tuple[str, ...], host: str, port: int, memory: float, size: int, workers: int | None, **limits: Any
) -> None:
    """Open the advisor in a browser, and its API under /api/v1. Each MODEL is a file, a folder of them or a name.

    The page saves a model to the file it came from, keeping the old one beside it, and a new one into the folder.

    Everything stays on this machine: the page asks no other host, and nobody else can reach it unless --host says so.
    """
    try:
        import uvicorn

        from rhoplan.app.serve.app import create_app
    except ModuleNotFoundError as error:
        from rhoplan.errors import EXTRAS, MissingExtra

        if error.name not in EXTRAS:
            raise
        raise MissingExtra("serve", error.name) from None
    local = host in LOOPBACK
    opened, files = open_models(models, saving=local)
    limits |= {"memory": int(memory * 1e9), "request_bytes": size, "hosts": LOOPBACK if local else ()}
    settings = Settings(workers=workers or USUAL.workers, **limits)
    listening = listen(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"
    click.echo(f"rhoplan is at {address} (ctrl-c ends it)")
    if not local:
        click.echo("note: everyone who can reach this address can use it; there is no login", err=True)
        click.echo("note: so the page saves no model to a file", err=True)
    app = create_app(settings, opened, files)
    config = uvicorn.Config(app, log_level="warning", server_header=False, access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


def open_models(models: Sequence[str], *, saving: bool) -> tuple[list[Source], Files]:
    """What the page shows for each MODEL, and where it is saved to: nowhere unless `saving`.

    A file of a folder that is no sound model is left out, and a line says so.
    """
    from rhoplan.app.serve.saving import Files

    opened: dict[str, Source] = {}
    paths, folder = dict[str, Path](), None
    for model in models:
        inside = models_in(Path(model)) if is_folder(model) else None
        folder = folder or (Path(model) if inside is not None else None)
        for text in [model] if inside is None else inside:
            try:
                source = open_model(text)
            except RhoplanError as error:
                if inside is None:
                    raise
                click.echo(f"left out: {error}", err=True)
                continue
            if opened.get(source.name, source) != source:
                raise click.UsageError(f"two models are called '{source.name}': serve one of them, or rename its file")
            opened[source.name] = source
            if source.text is not None:
                paths[source.name] = Path(text)
    return list(opened.values()), Files.of(paths, folder) if saving else Files()


def is_folder(text: str) -> bool:
    """Whether a MODEL is a folder; what is also the name of a problem is the problem."""
    from rhoplan.problems.registry import PROBLEMS, WORKED_MODELS

    return Path(text).is_dir() and text not in PROBLEMS and text not in WORKED_MODELS


def models_in(folder: Path) -> list[str]:
    """The model files of `folder`, not of folders inside it."""
    from rhoplan.io.formats import FORMATS

    found = (path for path in folder.iterdir() if path.suffix.lower() in FORMATS and not path.name.startswith("."))
    return sorted(str(path) for path in found if path.is_file())


def open_model(text: str) -> Source:
    """What the page shows for a MODEL of the command line: a file's text, or a name; errors are found here."""
    from rhoplan.app.serve.sources import Source, check_name
    from rhoplan.io.foreign import read_text
    from rhoplan.io.formats import FORMATS
    from rhoplan.problems.registry import FILE_ENDINGS, make

    make(text)
    if not text.lower().endswith(FILE_ENDINGS):
        return Source(text)
    path = Path(text)
    check_name(path.stem)
    return Source(path.stem, read_text(path), FORMATS[path.suffix.lower()])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at the address; one line of complaint where it cannot."""
    import socket

    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)  # who comes before the server is ready waits in line
    except OSError as error:
        raise click.ClickException(f"cannot listen at {host} port {port}: {error.strerror or error}") from None
    return listening
