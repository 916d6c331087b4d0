"""What a page that a command writes tells of itself: the author, today's date, and the command that makes it again."""

from __future__ import annotations

import shlex
from datetime import date
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rhoplan.model.pomdp import POMDP
    from rhoplan.present.origin import Origin

author_option = click.option(
    "--author", default="", help="Who answers for the page.  [default: info.author of the file]"
)


def command_line() -> str:
    """The command that is running, as it can be typed again: its argument and the options that were given."""
    context = click.get_current_context()
    words = ["rhoplan", str(context.info_name)]
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is not click.core.ParameterSource.COMMANDLINE:
            continue
        value = context.params[parameter.name or ""]
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif getattr(parameter, "is_flag", False):
            words.append(parameter.opts[-1])
        else:
            words += [word for one in _each(parameter, value) for word in (parameter.opts[-1], one)]
    return shlex.join(words)


def _each(parameter: click.Parameter, value: Any) -> list[str]:
    """The values of an option that was given, each as it is typed."""
    if isinstance(value, dict):
        return [",".join(f"{name}={one}" for name, one in value.items())]
    if parameter.multiple:
        return ["=".join(one) if isinstance(one, tuple) else str(one) for one in value]
    return [",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)]


def origin(problem: POMDP, author: str) -> Origin:
    """Where the page that this command writes comes from."""
    from rhoplan.present.origin import origin_of

    return origin_of(problem, author=author, date=date.today().isoformat(), command=command_line())
