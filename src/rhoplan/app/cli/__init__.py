"""The command line. Each command lives in a small module that imports the engine only when it runs."""

from __future__ import annotations

import importlib
import io
import json
import os
import signal
import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rhoplan.work.plugins import declared

if TYPE_CHECKING:
    from rhoplan.errors import RhoplanError

COMMANDS = {
    "list": "show",
    "show": "show",
    "decide": "plan",
    "evaluate": "plan",
    "solve": "solve",
    "report": "plan",
    "carry": "carry",
    "target": "target",
    "uncertainty": "uncertain",
    "simulate": "run",
    "sweep": "run",
    "advise": "talk",
    "replay": "talk",
    "verify": "verify",
    "learn": "learn",
    "update": "update",
    "serve": "serve",
}
"""Which module of this package holds each command, in the order of the help."""

FURTHER = "rhoplan.commands"
"""The group of entry points by which other distributions add commands."""

ELSEWHERE = {"reproduce": "rhoplan-paper", "bench": "rhoplan-bench"}
"""Known commands of other distributions, told apart from misspelt ones where those are not installed."""


class CommandGroup(click.Group):
    """Finds commands by name and imports their module then, so that one command does not pay for another."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *further_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module = importlib.import_module(f"rhoplan.app.cli.{COMMANDS[cmd_name]}")
            command: click.Command = getattr(module, f"{cmd_name}_command")
            return command
        where = further_commands().get(cmd_name)
        if where:
            return _loaded(cmd_name, where)
        if home := ELSEWHERE.get(cmd_name):
            raise click.UsageError(
                f"'{cmd_name}' is a command of {home}, which is not installed: pip install {home} "
                "(in a checkout, python3 run.py installs it)"
            )
        return None


@cache
def further_commands() -> dict[str, str]:
    """Commands that other installed distributions add, by name: first the known ones, in their order."""
    found = {name: where for name, where in declared(FURTHER, sys.path).items() if name not in COMMANDS}
    return {name: found[name] for name in dict.fromkeys([*ELSEWHERE, *sorted(found)]) if name in found}


def _loaded(name: str, where: str) -> click.Command:
    """The command `where` says; where it cannot be loaded, one that says so, so that all others still work."""
    module, _, attribute = where.partition(":")
    try:
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command
    except Exception as error:
        what = f"{where} cannot be loaded ({type(error).__name__}: {error}); install its distribution again"

        def refuse() -> None:
            raise click.UsageError(what)

        return click.Command(name, callback=refuse, help=what, context_settings={"ignore_unknown_options": True})


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--traceback", is_flag=True, help="Show where an error came from.")
@click.version_option(package_name="rhoplan", message="rhoplan %(version)s")
def group(traceback: bool) -> None:
    """Plan what to observe, when to stop, and what to commit to.

    A PROBLEM is a registered name with parameters (tiger, diagnosis:n=16,k=4, tileworld:n=8,partition=random) or the
    path of a file (.yaml, .json, .toml, .pomdp, .pomdpx, .drn).
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: one line and exit 2 for bad input, exit 1 for failure, `--traceback` shows the rest."""
    is_own = arguments is None
    arguments = sys.argv[1:] if arguments is None else arguments
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # the matrices are small: a second thread waits more than it works
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this: nobody reads what is said
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a bar shows a mark instead
    if "--traceback" in arguments:
        group.main([a for a in arguments if a != "--traceback"], prog_name="rhoplan", standalone_mode=False)
        return
    code = _guarded(arguments)
    if is_own:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is told: a late ctrl-C finds nothing to stop
    sys.exit(code)


def _guarded(arguments: list[str]) -> int:
    from rhoplan.errors import LimitError, RhoplanError

    fail = partial(_fail, as_json="--json" in arguments)
    try:
        result = group.main(arguments, prog_name="rhoplan", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.UsageError as error:
        hint = f" (see rhoplan {error.ctx.info_name} --help)" if error.ctx and error.ctx.parent else ""
        return fail(error.format_message() + hint, 2, code="usage")
    except click.ClickException as error:
        return fail(error.format_message(), 2, code="usage")
    except click.Abort:
        return fail("stopped", 130, code="stopped")
    except KeyboardInterrupt:
        return fail("stopped", 130, code="stopped")
    except RhoplanError as error:
        return fail(str(error), 1 if isinstance(error, LimitError) else 2, code=error.code, error=error)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except MemoryError:
        told = "this needs more memory than there is; shorten the horizon or make the problem smaller"
        return fail(told, 1, code="memory-limit")
    except OSError as error:
        told = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        return fail(told, 1, code="system")
    except Exception as error:
        told = f"this should not have happened ({type(error).__name__}: {error}); --traceback shows where"
        return fail(told, 1, code="internal")


def _fail(message: str, status: int, *, code: str, as_json: bool, error: RhoplanError | None = None) -> int:
    """Print an error as one line: with --json as an object, otherwise as text."""
    message = " ".join(message.split())
    record = {"error": _record(message, code, error)} if as_json else None
    click.echo(json.dumps(record, ensure_ascii=False) if record else f"rhoplan: {message}", err=True)
    return status


def _record(message: str, code: str, error: RhoplanError | None) -> dict[str, str | int | None]:
    """The keys of an error in a reply of the HTTP API, and its file."""
    from rhoplan.errors import dotted

    if error is None:
        return {"code": code, "field": None, "message": message, "file": None, "line": None}
    field = dotted(error.field) if error.field else None
    return {"code": code, "field": field, "message": error.message, "file": error.file or None, "line": error.line}
