"""`rhoplan reproduce` and `rhoplan bench`: the paper's tables, and how fast rhoplan is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from rhoplan.cli.common import console, json_option, number, percent, print_json, show_table, signed


@click.command("reproduce")
@click.argument("study", type=click.Choice(["core"]), default="core")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out"), show_default=True,
              help="Folder for the table and the plot.")  # fmt: skip
@json_option
def reproduce_command(study: str, out: Path, as_json: bool) -> None:
    """Exact scores of the paper's agents beside its published figures, as a table and a plot.

    STUDY core: Tiger, Testbed, Diagnosis and Bandit.
    """
    from rhoplan.experiments.core import core_rows, write_core

    rows = core_rows()
    files = write_core(rows, out)
    if as_json:
        print_json({"study": study, "files": [str(file) for file in files], "rows": rows})
        return
    print_core(rows)
    for file in files:
        click.echo(f"wrote {file}")


def print_core(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    out = console()
    table = Table(
        "problem", "agent", title="The paper's agents: published (5,000 episodes) and exact", title_justify="left"
    )
    for heading in ("H", "w", "tests", "exact", "success", "exact", "reward", "exact", "SE off", "in nats"):
        table.add_column(heading, justify="right")
    for place, row in enumerate(rows):
        first = place == 0 or rows[place - 1]["problem"] != row["problem"]
        last = place + 1 == len(rows) or rows[place + 1]["problem"] != row["problem"]
        if row["agent"] == "optimum":
            table.add_row(
                "", "(optimum)", "∞", "0", "", number(row["tests"], 2), "", percent(row["success"], 1),
                "", signed(row["reward"], 3), "", "", style="italic", end_section=last,
            )  # fmt: skip
        elif row["unit"] == "bits":
            nats = rows[place + 1]
            off = "none" if row["distance"] == 0 else f"{row['distance']:.1f}"
            table.add_row(
                row["problem"] if first else "", row["agent"], str(row["horizon"]), f"{row['weight']:g}",
                number(row["published_tests"], 2), number(row["tests"], 2),
                percent(row["published_success"], 1), percent(row["success"], 1),
                signed(row["published_reward"], 2), signed(row["reward"], 3),
                off if math.isfinite(row["distance"]) else "∞", signed(nats["reward"], 3),
            )  # fmt: skip
    show_table(table)
    exact = [row for row in rows if row["kind"] == "exact"]
    near = {unit: sum(r["unit"] == unit and r["distance"] < 4 for r in exact) for unit in ("bits", "nats")}
    out.print(
        "(optimum): the certified best plan with no horizon limit, within 1e-4. exact: weight per bit. in nats: exact\n"
        "reward with weights per nat. SE off: the largest of the three differences between published and exact, in\n"
        f"standard errors of the paper's own protocol. Of {len(exact) // 2} published lines, {near['bits']} lie within "
        f"4 of them\nif weights are per bit, {near['nats']} if they are per nat, as the paper says."
    )


@click.command("bench")
@click.option("--quick", is_flag=True, help="Leave out what takes more than a few seconds.")
@json_option
def bench_command(quick: bool, as_json: bool) -> None:
    """Measure speed here and now: seconds, limits, and ratios against the plain recursion in the same run."""
    from rhoplan.experiments.bench import run_benchmarks

    out = console()
    rows = []
    for row in run_benchmarks(quick=quick):
        rows.append(row)
        if not as_json:
            limit = f" (limit {row['limit']:g})" if row["limit"] else ""
            ratio = f", {row['ratio']:,.0f} times faster than the plain recursion" if row["ratio"] else ""
            out.print(f"{row['seconds']:9.3f} s{limit:<14} {row['what']}{ratio}{row['detail']}")
    if as_json:
        print_json({"rows": rows})
