"""`rhoplan report`: the printable report on a model, and the recommended pathway as figure and text."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import click

from rhoplan.app.cli.common import agent_options, console, load_agent, load_problem, problem_argument


@click.command("report")
@problem_argument
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("report.html"), show_default=True,
    help="Where the page goes; .svg, .mmd and .txt are written beside it.",
)  # fmt: skip
@click.option(
    "--budget", type=click.FloatRange(min=0, min_open=True), default=20.0, show_default=True,
    help="Seconds for the search of what would change the first action.",
)  # fmt: skip
@agent_options
def report_command(problem: str, out: Path, budget: float, agent: str, **options: Any) -> None:
    """Write a printable report on PROBLEM: the recommended pathway, what it costs, and what would change it."""
    from rhoplan.report.content import make_report
    from rhoplan.report.write import write_report

    if math.isnan(budget):
        raise click.UsageError("--budget must be a number of seconds; it is nan")
    _check_place(out)
    loaded = load_problem(problem)
    report = make_report(loaded, load_agent(agent, loaded, options), budget=budget)
    try:
        written = write_report(report, out)
    except OSError as error:
        raise click.UsageError(f"cannot write '{out}': {error.strerror or error}") from None
    console().print(f"First: {report.advice.do}. Written: {', '.join(map(str, written))}")


def _check_place(out: Path) -> None:
    """Refuse a place where the report cannot go, before the work is done."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"--out must end in .html; it is '{out}'")
    folder = next((one for one in out.absolute().parents if one.exists()), Path("/"))
    if not folder.is_dir():
        raise click.UsageError(f"cannot write '{out}': '{folder}' is not a folder")
    if not os.access(folder, os.W_OK):
        raise click.UsageError(f"cannot write '{out}': '{folder}' is read-only")
