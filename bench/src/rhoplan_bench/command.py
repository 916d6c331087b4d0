"""`rhoplan bench`: how fast rhoplan is."""

from __future__ import annotations

import click

from rhoplan.app.cli.common import console, json_option, print_json


@click.command("bench")
@click.option("--quick", is_flag=True, help="Leave out what takes more than a few seconds.")
@click.option("--serve", is_flag=True, help="Only the server: clients step through cases.")
@click.option("--seconds", type=click.FloatRange(1), default=60, show_default=True, help="How long, with --serve.")
@click.option("--clients", type=click.IntRange(1, 500), default=50, show_default=True, help="How many, with --serve.")
@json_option
def bench_command(quick: bool, serve: bool, seconds: float, clients: int, as_json: bool) -> None:
    """Measure speed here and now: seconds, limits, and ratios against the plain recursion in the same run."""
    from rhoplan_bench.load import serve_rows
    from rhoplan_bench.speed import run_benchmarks

    out = console()
    rows = []
    for row in serve_rows(seconds=seconds, clients=clients) if serve else run_benchmarks(quick=quick):
        rows.append(row)
        if not as_json:
            limit = f" (limit {row['limit']:g})" if row["limit"] else ""
            ratio = f", {row['ratio']:,.0f} times faster than the plain recursion" if row["ratio"] else ""
            out.print(f"{row['seconds']:9.3f} s{limit:<14} {row['what']}{ratio}{row['detail']}")
    if as_json:
        print_json({"rows": rows})
