"""`rhoplan serve`: the advisor as a local web page and HTTP API."""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import option
from rhoplan.app.serve.settings import LOOPBACK, Settings
from rhoplan.errors import RhoplanError

if TYPE_CHECKING:
    import socket

    from rhoplan.app.serve.saving import Files
    from rhoplan.app.serve.sources import Source
    from rhoplan.app.serve.watching import Watch

USUAL = Settings()

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
"""What a Host header may call a server: a name, an address, or an IPv6 address in brackets."""

SHORTEST_KEY = 16


@click.command("serve")
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@option("--host", default="127.0.0.1", help="Address to listen on: this machine only. Others need --allow-host.")
@option("--port", type=click.IntRange(0, 65535), default=8765, help="0 for any free one.")
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Name or address by which it may be called; repeatable.",
)
@click.option(
    "--key",
    envvar="RHOPLAN_KEY",
    show_envvar=True,
    metavar="TEXT",
    help="Key that requests must send. Other users can read it in the list of processes: prefer RHOPLAN_KEY or "
    "--key-file.  [default: a random one, printed]",
)
@click.option("--key-file", type=click.File(errors="replace"), metavar="FILE", help="Read the key from this file.")
@click.option("--no-key", is_flag=True, help="Need no key: every user of this machine can read and save models.")
@click.option("--save", is_flag=True, help="Save models to files even if others can reach the server.")
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
@option("--send-seconds", type=click.FloatRange(0.01), default=USUAL.send_seconds, help="Time to send a request.")
@option("--connections", type=click.IntRange(1), default=USUAL.connections, help="Connections open at once.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes that plan.  [default: one per core, 3 to 8]")
def serve_command(
    models: tuple[str, ...], host: str, port: int, names: tuple[str, ...], key: str | None, key_file: IO[str] | None,
    no_key: bool, save: bool, memory: float, size: int, workers: int | None, **limits: Any,
) -> None:  # fmt: skip
    """Open the advisor in a browser, and its API under /api/v1. Each MODEL is a file, a folder of them or a name.

    The page saves a model to the file it came from, keeping the old one beside it, and a new one into the folder.
    Files that change, come or go are read again.

    Everything stays on this machine: the page asks no other host. Others can reach the server only if --host is an
    address of the network, or if a proxy passes on what they send to a name of --allow-host. It then saves models only
    with --save.

    Requests need a key. The printed address carries it, and the page takes it from there.
    """
    try:
        import uvicorn  # noqa: F401  (what is missing is told here)

        from rhoplan.app.serve.app import create_app
        from rhoplan.app.serve.running import run
    except ModuleNotFoundError as error:
        from rhoplan.errors import EXTRAS, MissingExtra

        if error.name not in EXTRAS:
            raise
        raise MissingExtra("serve", error.name) from None
    hosts = names_of(host, names)
    exposed = not all(map(is_local, (host, *hosts)))
    key = given_key(key, key_file, no_key, exposed=exposed)
    made = secrets.token_urlsafe(24) if key is None and not no_key else None
    key = key or made
    opened, files, watch = open_models(models, saving=save or not exposed)
    limits |= {"memory": int(memory * 1e9), "request_bytes": size, "hosts": hosts, "key": key}
    settings = Settings(workers=workers or USUAL.workers, **limits)
    listening = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown if is_local(host) else names[0]}:{listening.getsockname()[1]}/"
    click.echo(f"rhoplan is at {address}{f'#key={made}' if made else ''} (ctrl-c ends it)")
    if key is not None:
        told = "the page takes it from the address" if made else "the page asks for it"
        click.echo(f"note: requests need the key, as Authorization: Bearer KEY; {told}", err=True)
    if not is_local(host):
        click.echo("note: what is sent can be read on the way; put a proxy with TLS before it on a network", err=True)
    if exposed and not save:
        click.echo("note: models are not saved to files, since others can reach the server; --save allows it", err=True)
    run(create_app(settings, opened, files, watch), settings, listening)


def is_local(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return host in LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def names_of(host: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """By what the server may be called; one line of complaint where that is not said."""
    if not is_local(host) and not names:
        raise click.UsageError(
            f"with --host {host} others can reach the server: say by which name, with --allow-host NAME (repeatable); "
            "it then needs a key, and makes one if none is given"
        )
    for name in names:
        if not NAME.fullmatch(name):
            raise click.UsageError(f"--allow-host must be a name or address without port or scheme; '{name}' is not")
    return (*LOOPBACK, *([host.lower()] if is_local(host) else []), *(name.lower() for name in names))


def given_key(key: str | None, file: IO[str] | None, no_key: bool, *, exposed: bool) -> str | None:
    """The key that is given, None without one; one line of complaint where that cannot be.

    A key must not be easy to guess, and must be one that can be sent. exposed: others can reach the server.
    """
    if (key is not None) + (file is not None) + no_key > 1:
        raise click.UsageError("give one of --key (or the variable RHOPLAN_KEY), --key-file and --no-key")
    if no_key and exposed:
        raise click.UsageError("--no-key needs a --host and names of --allow-host that only this machine can reach")
    if file is not None:
        key = file.read().strip()
    if key is not None and not (
        len(key) >= SHORTEST_KEY and key.isascii() and key.isprintable() and key == key.strip()
    ):
        raise click.UsageError(
            f"the key must have {SHORTEST_KEY} characters at least, all of ASCII, no blank at the ends"
        )
    return key


def open_models(models: Sequence[str], *, saving: bool) -> tuple[list[Source], Files, Watch]:
    """What the page shows for each MODEL, where it is saved to (nowhere unless `saving`), and what to look after.

    A file of a folder that is no sound model is left out, and a line says so. What a killed server had begun to save
    is removed.
    """
    from rhoplan.app.serve.saving import Files
    from rhoplan.app.serve.watching import Watch, models_in

    opened: dict[str, Source] = {}
    paths, folder = dict[str, Path](), None
    for model in models:
        inside = [str(path) for path in models_in(Path(model))] if is_folder(model) else None
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
    files = Files.of(paths, folder) if saving else Files()
    files.remove_begun()
    return list(opened.values()), files, Watch(paths, folder)


def is_folder(text: str) -> bool:
    """Whether a MODEL is a folder; what is also the name of a problem is the problem."""
    from rhoplan.problems.registry import PROBLEMS, WORKED_MODELS

    return Path(text).is_dir() and text not in PROBLEMS and text not in WORKED_MODELS


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
