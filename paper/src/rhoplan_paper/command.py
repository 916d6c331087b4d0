"""`rhoplan reproduce`: the paper's tables, figures and claims."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import json_option, print_json, show_table

if TYPE_CHECKING:
    from rhoplan_paper.study import Study


@click.command("reproduce")
@click.argument("studies", nargs=-1, metavar="[ID]...")
@click.option("--list", "listing", is_flag=True, help="List the studies, and about how long each takes.")
@click.option("--full", is_flag=True, help="Simulate as many episodes as the paper did, not a tenth.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("reproduction"),
              show_default=True, help="Folder of the report; what is there already is used again.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(min=1), help="Processes to use.  [default: one per core]")
@click.option("--cluster", metavar="ADDRESS", help="Run on the Dask cluster whose scheduler listens at ADDRESS.")
@click.option("--unit", type=click.Choice(["nats", "bits", "both"]), default="both", show_default=True,
              help="Unit of information of the exact columns in tables.")  # fmt: skip
@json_option
def reproduce_command(
    studies: tuple[str, ...],
    listing: bool,
    full: bool,
    out: Path,
    jobs: int | None,
    cluster: str | None,
    unit: str,
    as_json: bool,
) -> None:
    """Every table, figure and claim of the paper: published, simulated and exact, with a verdict on each.

    Without IDs all studies are run. A run that was stopped goes on where it was.
    """
    from rhoplan_paper.registry import choose

    chosen = choose(studies)
    if listing:
        list_studies(chosen, as_json)
        return
    from rhoplan_paper.runner import run
    from rhoplan_paper.watch import Watch

    with Watch(quiet=as_json) as watch:
        summary = run(chosen, out, full=full, jobs=jobs or os.cpu_count() or 1, cluster=cluster, unit=unit, watch=watch)
    if as_json:
        print_json(summary)
        return
    counts = ", ".join(f"{count} {verdict}" for verdict, count in summary["verdicts"].items())
    click.echo(f"{summary['studies']} studies in {summary['seconds']:.0f} s: {counts}")
    click.echo(f"report: {summary['report']}")


def list_studies(studies: list[Study], as_json: bool) -> None:
    records: list[dict[str, Any]] = [
        {"id": s.id, "kind": s.kind, "title": s.title, "place": s.place, "quick": s.seconds[0], "full": s.seconds[1]}
        for s in studies
    ]
    if as_json:
        print_json({"studies": records})
        return
    from rich.table import Table

    table = Table("id", "kind", "what", title="Studies, with seconds on two cores", title_justify="left")
    for heading in ("quick", "full"):
        table.add_column(heading, justify="right")
    for record in records:
        times = (f"{record[size]:.0f}" for size in ("quick", "full"))
        table.add_row(record["id"], record["kind"], record["title"], *times)
    show_table(table)
