"""Options and ways of printing that the commands share."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rhoplan.agents.settings import SETTINGS
from rhoplan.app.records import ceiling_record, finite
from rhoplan.io.typed import check_typed, read_typed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from rhoplan.agents.agent import BoundAgent
    from rhoplan.model.pomdp import POMDP

Command = TypeVar("Command", bound=Callable[..., Any])

AGENT_OPTIONS = tuple(setting.word for setting in SETTINGS.values())
DECIDING = tuple(setting.word for setting in SETTINGS.values() if setting.of != "words")
"""Those that change what an agent does."""

BETWEEN_PAIRS = re.compile(r",(?=[^,=]*=)")
"""The commas that part one pair of name=value from the next."""

option = partial(click.option, show_default=True)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
problem_argument = click.argument("problem")


class NumberRange(click.FloatRange):
    """An amount within limits; see `rhoplan.io.typed` for what is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(_typed(value), param, ctx)


def _typed(value: Any) -> Any:
    """`value`, unless it is a text that can be read as two numbers."""
    if isinstance(value, str):
        try:
            check_typed(value, "number")
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return value


KINDS: dict[type, Any] = {float: click.FLOAT, int: click.INT, str: click.STRING}
"""How the settings of an agent are read."""


def weight_options(command: Command) -> Command:
    """--weight, --unit and --discount."""
    return _with_settings(command, ("weight", "unit", "discount"))


COST_ONLY = "cost-only, and information at the price that PROBLEM or --weight puts on it"


def agent_options(
    command: Command, words: Iterable[str] = DECIDING, agent: str | None = "efe", otherwise: str = COST_ONLY
) -> Command:
    """The options that describe an agent: its name, `agent` if nobody says, and the settings of the table.

    otherwise: what holds where nobody says and `agent` is None, in words.
    """
    plain = "" if agent else f"  [default: {otherwise}]"
    return click.option(
        "--agent", default=agent, show_default=True, help=f"Name of an agent, several with commas, or all.{plain}"
    )(_with_settings(command, [name for name, one in SETTINGS.items() if one.word in words]))


def _with_settings(command: Command, names: Iterable[str]) -> Command:
    for name in reversed(list(names)):
        setting = SETTINGS[name]
        in_a_row = setting.kind is tuple
        read = _numbers if in_a_row else share if setting.is_share else None
        command = click.option(
            f"--{name}",
            setting.word,
            type=click.Choice(setting.choices) if setting.choices else str if read else KINDS[setting.kind],
            callback=read,
            metavar="NUMBERS" if in_a_row else "SHARE" if setting.is_share else None,
            default=setting.default,
            show_default=setting.otherwise is None and setting.default is not None,
            help=setting.help + (f"  [default: {setting.otherwise}]" if setting.otherwise else ""),
        )(command)
    return command


def _numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    """Numbers with commas between them."""
    try:
        return None if value is None else [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"numbers must have commas between them; they read '{value}'") from None


def share(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """A share, written 0.01, 1% or 1 in 100."""
    try:
        return read_typed(str(value), "probability")
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def load_problem(spec: str) -> POMDP:
    from rhoplan.problems.registry import make

    return make(spec)


def with_agents(command: Command, words: Iterable[str] = DECIDING, agent: str | None = "efe") -> Command:
    """The options that describe agents; the command, which has PROBLEM, is told `problem` and `agents`, both made."""

    @wraps(command)
    def told(problem: str, agent: str | None, **options: Any) -> Any:
        loaded = load_problem(problem)
        loaded = _within_horizon(loaded, agent or "")
        agents = load_agents(agent, loaded, agent_settings(options))
        return command(problem=loaded, agents=agents, **options)

    return agent_options(told, words, agent)  # type: ignore[return-value]


def with_decider(command: Command) -> Command:
    """As `with_agents`, with the settings of the words in which a decision is told."""
    return with_agents(command, AGENT_OPTIONS)


def with_adviser(command: Command) -> Command:
    """As `with_decider`, for people who are advised: information counts where somebody puts a price on it."""
    return with_agents(command, AGENT_OPTIONS, agent=None)


def _within_horizon(problem: POMDP, names: str) -> POMDP:
    """`problem` with the horizon that the saved policies among the agents were solved for, where they have one."""
    from rhoplan.agents.agent import SOLVED

    paths = [name.strip().removeprefix(SOLVED) for name in names.split(",") if name.strip().startswith(SOLVED)]
    if not paths:
        return problem
    from rhoplan.model.horizon import with_horizon
    from rhoplan.planning.certified.saved import saved_horizon

    found = {saved_horizon(path) for path in paths}
    if len(found) > 1:
        raise click.UsageError("policies that are followed side by side must have one horizon; they have several")
    (horizon,) = found
    return problem if horizon is None else with_horizon(problem, horizon)


def one_agent(agents: list[BoundAgent]) -> BoundAgent:
    """The agent of a command that takes one."""
    if len(agents) != 1:
        raise click.UsageError("this command takes one agent at a time")
    return agents[0]


def load_agents(names: str | None, problem: POMDP, settings: dict[str, Any]) -> list[BoundAgent]:
    """The agents that `names` lists, with their notes told on the error stream."""
    from rhoplan.agents.agent import AGENTS, make_adviser, make_agent, other_agents
    from rhoplan.agents.registry import PLANNERS

    # Tree searches cannot leave the reward of commits out: `all` means all that the planner can be.
    samples = settings["planner"] is not None and PLANNERS[settings["planner"]].samples
    able = [name for name, kind in AGENTS.items() if kind.commits_count or not samples]
    if names is None:
        agents = [make_adviser(problem, **settings)]
    else:
        wanted = [*able, *other_agents(problem)] if names == "all" else [name.strip() for name in names.split(",")]
        agents = [make_agent(name, problem, **settings) for name in wanted]
    for agent in agents:
        for note in agent.notes if names != "all" else ():
            click.echo(f"note: {note}", err=True)
    return agents


def agent_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `agent_options` but the name out of a command's `options`."""
    return {name: options.pop(name) for name in AGENT_OPTIONS if name in options}


def settings_line(agent: BoundAgent) -> str:
    """Planner, discount, precision and utility where they are not the plain ones, for the title of a table."""
    parts = [f", {agent.planner.label}"] if agent.planner.label else []
    parts += [f", planned with discount {agent.discount}"] if agent.discount != 1 else []
    parts += [] if math.isinf(agent.precision) else [f", precision {agent.precision:g}"]
    parts += [] if agent.objective.is_information else [f", utility {agent.utility.name}"]
    return "".join(parts)


def check_folder(out: Path) -> None:
    """Refuse a file in a folder that cannot be written to, before the work is done."""
    from rhoplan.files import begin_and_drop

    folder = next((one for one in out.absolute().parents if one.exists()), Path("/"))
    if not folder.is_dir():
        raise click.UsageError(f"cannot write '{out}': '{folder}' is not a folder")
    if not os.access(folder, os.W_OK):
        raise click.UsageError(f"cannot write '{out}': '{folder}' is read-only")
    try:
        begin_and_drop(folder / out.name)
    except OSError as error:
        raise click.UsageError(f"cannot write '{out}': nothing can be made in '{folder}' ({error.strerror})") from None


def is_read(out: Path, *read: Path | str) -> bool:
    """Whether `out` is one of the files that are read: paths, or problems as they are named."""
    from rhoplan.problems.registry import FILE_ENDINGS

    for path in read:
        if isinstance(path, Path) or path.lower().endswith(FILE_ENDINGS):
            with suppress(OSError):
                if os.path.samefile(out, path):
                    return True
    return False


def check_not_read(out: Path, *read: Path | str) -> None:
    """Refuse a file to write that is one of those that are read, before the work is done."""
    if is_read(out, *read):
        raise click.UsageError(f"what is written must not take the place of what is read; it is '{out}'")


def check_output(out: Path, *read: Path | str) -> None:
    """Refuse a file that cannot be written, or that is one of those that are read, before the work is done."""
    check_not_read(out, *read)
    check_folder(out)


def check_page(out: Path, name: str, *read: Path | str) -> None:
    """Refuse a place where a page cannot go, before the work is done. name: of the option that gives it."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"{name} must end in .html; it is '{out}'")
    check_output(out, *read)


def print_discount(problem: POMDP, agents: list[BoundAgent]) -> None:
    """A line on the discount of the column `discounted` where agents planned with another."""
    others = {f"{agent.name} with {agent.discount:g}": None for agent in agents if agent.discount != problem.discount}
    if problem.discount < 1 and others:
        console().print(
            f"discounted: by the problem's own discount, {problem.discount:g}; planned was {', '.join(others)}",
            soft_wrap=True,
        )


def print_ceiling(problem: POMDP) -> None:
    """A line on what no agent can beat in a factored problem (see `rhoplan solve` for flat ones)."""
    record = ceiling_record(problem)
    if missing := record.get("ceiling_missing"):
        click.echo(f"note: {missing}", err=True)
    found = record.get("ceiling")
    if not found:
        return
    kind = " (discounted)" if problem.discount < 1 else ""
    if found["optimum"]:
        low, high = found["optimum"]
        best = number(low) if high - low < 1e-4 else f"between {number(low)} and {number(high)}"
        console().print(
            f"best possible mean reward{kind}: {best}, from the components one by one and the shortest tour"
        )
    bound = "" if found["tight"] else ", a loose bound"
    console().print(f"with nothing hidden{kind}: {number(found['clairvoyant'])}, which no agent can beat{bound}")


def print_cut_off(problem: POMDP, shares: dict[str, float], cap: int | None) -> None:
    """A line for each agent some of whose cases are cut off: what that does to the mean."""
    from rhoplan.advice.words import cut_off

    for name, share in shares.items():
        if words := cut_off(problem, share, cap):
            console().print(f"{name}: {words}", soft_wrap=True)


def print_json(data: Any) -> None:
    """`data` as JSON; a number that JSON cannot hold (an infinite log score) becomes null."""
    click.echo(json.dumps(finite(data), indent=2, ensure_ascii=False))


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Within this block what is worked out next can be told to who sits at a terminal; elsewhere nothing is shown."""
    from rich.console import Console

    with Console(stderr=True, highlight=False, markup=False).status("") as status:
        yield lambda what: status.update(f"Working out {what} (ctrl-C stops)")


def console() -> Console:
    """Where tables go: colours only on a terminal, full width when piped; names are never read as markup."""
    import sys

    from rich.console import Console

    if sys.stdout.isatty():
        return Console(highlight=False, markup=False, emoji=False)
    return Console(highlight=False, markup=False, emoji=False, width=120, no_color=True)


def show_table(table: Table) -> None:
    """Print `table`; in a narrow window numbers are folded, never cut."""
    for column in table.columns:
        column.overflow = "fold"
    console().print(table)


def show_rows(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    numbers: int | None = None,
    most: int | None = None,
    caption: str = "... and {} more",
    bold: int | None = None,
) -> None:
    """Print a table of ready cells. numbers: the first column that is right-aligned. most: rows that are shown; what
    `caption` says of the others. bold: the row that stands out."""
    from rich.table import Table

    listed = list(rows)
    left = len(listed[most:]) if most else 0
    table = Table(title=title, title_justify="left", caption=caption.format(left) if left else None)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if numbers is None or place < numbers else "right")
    for place, row in enumerate(listed[:most]):
        table.add_row(*row, style="bold" if place == bold else None)
    show_table(table)


def weight_of(agent: BoundAgent) -> str:
    """The weight and its unit, for a column."""
    return f"{agent.weight:g}/{agent.unit.removesuffix('s')}"


def bar(share: float, width: int) -> str:
    """A bar for a share between 0 and 1, with a character that the output can show."""
    import sys

    solid = (sys.stdout.encoding or "").lower().startswith("utf")
    return ("█" if solid else "#") * round(width * share)


def number(value: float, digits: int = 4) -> str:
    return f"{value:,.{digits}f}"


def signed(value: float, digits: int = 4) -> str:
    return f"{value:+,.{digits}f}"


def percent(value: float, digits: int = 2) -> str:
    return f"{100 * value:.{digits}f}%"
