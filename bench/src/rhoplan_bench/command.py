"""`rhoplan bench`: how fast rhoplan is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import console, json_option, print_json, show_rows

if TYPE_CHECKING:
    from rhoplan_bench.sarsop import Reached
    from rhoplan_bench.solvers import Row
    from rhoplan_bench.tiny import Pair


@click.command("bench")
@click.option("--quick", is_flag=True, help="Leave out what takes more than a few seconds.")
@click.option("--serve", is_flag=True, help="Only the server: clients step through cases.")
@click.option("--many", is_flag=True, help="Only dozens of tests: CPU seconds, memory, and how good first actions are.")
@click.option(
    "--solvers",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Only solving: each problem file in FOLDER, beside SARSOP and Storm where they are installed.",
)
@click.option(
    "--sarsop",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="SARSOP's program, with --solvers.  [default: pomdpsol on the search path]",
)
@click.option(
    "--tiny",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Only solving: the files in FOLDER with 20 states at most, for four weights, which should take 0.2 s each.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(1),
    default=60,
    show_default=True,
    help="How long, with --serve; for each solver and file, with --solvers; at most for each pair, with --tiny.",
)
@click.option("--clients", type=click.IntRange(1, 500), default=50, show_default=True, help="How many, with --serve.")
@click.option(
    "--learn",
    multiple=True,
    type=click.Choice(("cube", "coverage", "noise", "speed")),
    help="Only learning from cases: one of its promises; may be given several times.",
)
@click.option(
    "--tables",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Only learning: the bill of each NAME.csv in FOLDER with its plan NAME.yaml.",
)
@click.option(
    "--losses",
    type=click.FloatRange(0, min_open=True),
    default=1,
    show_default=True,
    help="What losses are multiplied by, with --tables.",
)
@click.option("--drawn", type=click.IntRange(1), help="How many tables are drawn, with --learn.")
@click.option(
    "--mutants", type=click.IntRange(1), metavar="N", help="Only mutation: N faults, and whether tests notice."
)
@click.option(
    "--kills",
    type=click.IntRange(1),
    metavar="N",
    help="Only ends: kill reproduce, serve, learn and advise --log N times each; what is left, and what is lost.",
)
@click.option(
    "--flips",
    type=click.IntRange(1),
    metavar="N",
    help="Only damage: flip N bits in what a reproduction kept, and run it again; what is not as before.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of faults, moments to kill at, and bits."
)
@click.option(
    "--tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="The checkout whose library and tests they are, with --mutants.  [default: this folder]",
)
@click.option(
    "--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes, with learning and mutation."
)
@json_option
def bench_command(
    quick: bool,
    serve: bool,
    many: bool,
    solvers: Path | None,
    sarsop: Path | None,
    tiny: Path | None,
    seconds: float,
    clients: int,
    learn: tuple[str, ...],
    tables: Path | None,
    losses: float,
    drawn: int | None,
    mutants: int | None,
    kills: int | None,
    flips: int | None,
    seed: int,
    tree: Path,
    jobs: int,
    as_json: bool,
) -> None:
    """Measure speed here and now: seconds, limits, and ratios against the plain recursion in the same run."""
    if mutants:
        show_mutants(tree.resolve(), mutants, seed, jobs, as_json)
        return
    if kills:
        _killed(kills, seed, as_json)
        return
    if flips:
        _flipped(flips, seed, as_json)
        return
    if solvers:
        _beside_others(solvers, sarsop, seconds, as_json)
        return
    if tiny:
        _at_once(tiny, seconds, as_json)
        return
    if learn or tables:
        _learned(learn, tables, losses, drawn, jobs, as_json)
        return
    out = console()
    rows = []
    for row in _measured(quick, serve, many, seconds, clients):
        rows.append(row)
        if not as_json:
            limit = f" (limit {row['limit']:g})" if row["limit"] else ""
            ratio = f", {row['ratio']:,.0f} times faster than the plain recursion" if row["ratio"] else ""
            out.print(f"{row['seconds']:9.3f} s{limit:<14} {row['what']}{ratio}{row['detail']}")
    if as_json:
        print_json({"rows": rows})


def _measured(quick: bool, serve: bool, many: bool, seconds: float, clients: int) -> Iterator[dict[str, Any]]:
    """The rows that are asked for."""
    if serve:
        from rhoplan_bench.load import serve_rows

        return serve_rows(seconds=seconds, clients=clients)
    if many:
        from rhoplan_bench.many import many_rows

        return many_rows(models=5, judged=10) if quick else many_rows()
    from rhoplan_bench.speed import run_benchmarks

    return run_benchmarks(quick=quick)


def _killed(kills: int, seed: int, as_json: bool) -> None:
    from dataclasses import asdict
    from tempfile import TemporaryDirectory

    from rhoplan_bench.kills import COMMANDS, killed

    rows = []
    for what in COMMANDS:
        with TemporaryDirectory(prefix="rhoplan-kills-") as folder:
            found = killed(what, kills, seed=seed, folder=Path(folder))
        rows.append(asdict(found))
        if not as_json:
            wrong = "; ".join(found.faults) or "nothing left behind, nothing lost"
            click.echo(f"{what}: {found.kills} kills, {found.ended} had ended before; {wrong}")
    if as_json:
        print_json({"rows": rows})
    if any(row["faults"] for row in rows):
        raise click.exceptions.Exit(1)


def _flipped(flips: int, seed: int, as_json: bool) -> None:
    from dataclasses import asdict
    from tempfile import TemporaryDirectory

    from rhoplan_bench.flips import flipped

    with TemporaryDirectory(prefix="rhoplan-flips-") as folder:
        found = flipped(flips, seed=seed, folder=Path(folder))
    if as_json:
        print_json(asdict(found))
    else:
        wrong = "; ".join(found.faults) or "results, tables, figures and verdicts are the same"
        click.echo(f"{found.flips} bits flipped in {found.files} results (rounds: {found.rounds}); {wrong}")
    if found.faults:
        raise click.exceptions.Exit(1)


def _learned(
    parts: tuple[str, ...], tables: Path | None, losses: float, drawn: int | None, jobs: int, as_json: bool
) -> None:
    from dataclasses import asdict
    from itertools import chain

    from rhoplan_bench.learning import part_rows, table_rows

    given = table_rows(tables, losses=losses, jobs=jobs) if tables else iter(())
    rows = []
    for row in chain(given, *(part_rows(part, tables=drawn, jobs=jobs) for part in parts)):
        rows.append(asdict(row))
        if not as_json:
            console().print(
                f"{row.what}: {row.found} [promised: {row.promised}; {row.seconds:.0f} s]", soft_wrap=True, markup=False
            )
    if as_json:
        print_json({"rows": rows})


def _beside_others(folder: Path, sarsop: Path | None, seconds: float, as_json: bool) -> None:
    from rhoplan_bench.sarsop import find_sarsop
    from rhoplan_bench.solvers import compare, median_ratio

    rows = []
    for row in compare(folder, sarsop=find_sarsop(sarsop), seconds=seconds):
        rows.append(row)
        click.echo(f"{row.file}: done", err=True)
    if not rows:
        raise click.UsageError(f"'{folder}' must have .pomdp, .pomdpx or .drn files in it; it has none")
    if as_json:
        told = [row.record() for row in rows]
        print_json({"seconds": seconds, "rows": told, "median_ratio": median_ratio(rows)})
    else:
        print_solvers(rows, seconds)


def _at_once(folder: Path, seconds: float, as_json: bool) -> None:
    from rhoplan_bench.sarsop import PRECISION
    from rhoplan_bench.tiny import AT_ONCE, MOST_STATES, farthest, tiny_pairs

    pairs = list(tiny_pairs(folder, seconds=seconds))
    if not pairs:
        raise click.UsageError(f"'{folder}' must have files of {MOST_STATES} states at most in it; it has none")
    late = farthest(pairs)
    if as_json:
        done = {"pairs": len(pairs), "at_once": len(pairs) - len(late)}
        print_json({"gap": PRECISION, "limit": AT_ONCE, **done, "rows": [pair.record() for pair in pairs]})
        return
    console().print(
        f"{len(pairs) - len(late)} of {len(pairs)} pairs of file and weight reach a gap of {PRECISION:g} in "
        f"{AT_ONCE:g} CPU s",
        soft_wrap=True,
    )
    if late:
        cells = [
            (pair.file, str(pair.states), f"{pair.weight:g}", f"{pair.lower:.7g}", f"{pair.gap:.2g}", *_spent(pair))
            for pair in late
        ]
        show_rows(
            ("file", "states", "weight", "lower", "gap", "CPU s", ""), cells, title="the others, worst first", numbers=1
        )


def _spent(pair: Pair) -> tuple[str, str]:
    return f"{pair.cpu_seconds:.2f}", pair.said


def print_solvers(rows: list[Row], seconds: float) -> None:
    """The table of all solvers, and what they said."""
    from rhoplan_bench.solvers import median_ratio

    median = median_ratio(rows)
    show_rows(
        ("file", "states", "SARSOP", "upper", "gap", "CPU s", "rhoplan", "upper", "CPU s", "ratio"),
        [_cells(row) for row in rows],
        title=f"SARSOP for {seconds:g} s, and rhoplan until its gap is the same, {seconds:g} s at most",
        numbers=1,
    )
    out = console()
    out.print(
        "Under each name stands its lower bound. ratio: SARSOP's CPU seconds in rhoplan's; above 1 rhoplan is faster; "
        "with < it was not done in its time"
    )
    if median is not None:
        out.print(f"median of the ratios: {median:.3g}")
    if any(math.isfinite(row.storm.gap) for row in rows):
        cells = [(row.file, *_numbers(row.storm)) for row in rows if math.isfinite(row.storm.gap)]
        show_rows(("file", "lower", "upper", "gap", "CPU s"), cells, title="Storm: unfolding, and a grid", numbers=1)
    for row in rows:
        for name, one in (("SARSOP", row.sarsop), ("Storm", row.storm), ("rhoplan", row.rhoplan)):
            if one.said:
                out.print(f"{row.file}: {name}: {one.said}", soft_wrap=True)
        for name in row.contradicts:
            crossed = ", and cross each other" if getattr(row, name).gap < 0 else ""
            out.print(f"{row.file}: bounds of {name} contradict those of rhoplan{crossed}", style="bold")


def _cells(row: Row) -> tuple[str, ...]:
    lower, upper, _, seconds = _numbers(row.rhoplan)
    ratio = f"{'' if row.within else '<'}{row.ratio:.3g}" if math.isfinite(row.ratio) else "-"
    theirs = _numbers(row.sarsop)
    return row.file, str(row.states), *theirs, lower, upper, seconds, ratio


def _numbers(one: Reached) -> tuple[str, str, str, str]:
    """Lower and upper bound, gap and CPU seconds as they are printed."""
    lower, upper = (f"{value:.6g}".replace("e+0", "e") for value in (one.lower, one.upper))
    cells = (lower, upper, f"{one.gap:.2g}", f"{one.seconds:.2f}")
    return cells if math.isfinite(one.seconds) else ("-", "-", "-", "-")


def show_mutants(tree: Path, count: int, seed: int, jobs: int, as_json: bool) -> None:
    """Put faults into the library one at a time; which of them the tests notice, and those that none does."""
    from dataclasses import asdict

    from rhoplan_bench.mutants import AREAS, drawn
    from rhoplan_bench.trying import Calls, Verdict, explained, score, trace, tried

    verdicts: list[Verdict] = []
    calls, why = tree / "traced.json", explained()
    if not calls.exists():
        console().print(f"running the tests once to see what each calls (kept in {calls})")
        trace(tree, calls, jobs=jobs)
    for verdict in tried(tree, drawn(tree, list(AREAS), count, seed), Calls(calls), jobs=jobs):
        verdicts.append(verdict)
        one = verdict.mutant
        if verdict.noticed is None and not as_json:
            told = why.get(one.id, f"NOT NOTICED by {verdict.tests} tests")
            console().print(f"{one.file}:{one.line}: {told}\n  {one.before}\n  {one.after}", markup=False)
    found = score(verdicts)
    if as_json:
        missed = [verdict.mutant for verdict in verdicts if verdict.noticed is None]
        told_of = [
            {"file": m.file, "line": m.line, "before": m.before, "after": m.after, "why": why.get(m.id)} for m in missed
        ]
        print_json({"areas": {area: asdict(one) for area, one in found.items()}, "seed": seed, "survivors": told_of})
        return
    rows = [
        [
            area,
            str(one.faults),
            str(one.noticed),
            str(one.explained),
            str(one.missed),
            f"{one.share:.1%}",
        ]
        for area, one in found.items()
    ]
    show_rows(
        ["area", "faults", "noticed", "explained", "missed", "share noticed"], rows,
        title=f"faults that the tests notice, seed {seed}", numbers=1,
    )  # fmt: skip
