"""`rhoplan learn`: a model from a table of past cases, with what its policy costs on cases it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rhoplan.app.cli.common import (
    check_folder,
    check_output,
    check_page,
    console,
    json_option,
    number,
    option,
    percent,
    print_json,
    show_rows,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from rhoplan.learning.bill import Bill
    from rhoplan.learning.learning import Result


@click.command("learn")
@click.argument("table", type=click.Path(path_type=Path))
@click.argument("plan", type=click.Path(path_type=Path), required=False)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Where to write the model (.yaml).")
@click.option("--report", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the report (.html).")
@click.option("--draft", type=click.Path(path_type=Path), help="Write a plan to fill in, from the table's header.")
@click.option("--target", help="With --draft: the column that says what it turned out to be.")
@click.option("--time", help="Column by which the past is learned from and the future scored.")
@click.option("--group", help="Column (a site, a patient) no value of which is on both sides of a split.")
@option("--folds", type=click.IntRange(min=2), default=5, help="Folds of the cross-validation.")
@click.option("--repeats", type=click.IntRange(min=1), help="Rounds of folds.  [default: 2, or 1 from 2,000 cases on]")
@option("--jobs", type=click.IntRange(min=1), default=1, help="Processes to use.")
@click.option("--second-opinion", is_flag=True,
              help="Let gradient boosting judge what the policy has acquired; report where they disagree.")  # fmt: skip
@click.option("--cluster", metavar="ADDRESS", help="Work on the Dask cluster whose scheduler listens at ADDRESS.")
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
              help="Folder that keeps what is done: a run that was stopped goes on there.")  # fmt: skip
@option("--seed", type=click.IntRange(min=0), default=0, help="The same seed gives the same result.")
@json_option
def learn_command(
    table: Path,
    plan: Path | None,
    out: Path | None,
    report: Path | None,
    draft: Path | None,
    target: str | None,
    time: str | None,
    group: str | None,
    folds: int,
    repeats: int | None,
    jobs: int,
    second_opinion: bool,
    cluster: str | None,
    keep: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Learn a model from TABLE, a CSV file of past cases, and PLAN, a model file without what the table gives.

    Prints what a case costs when it played no part in learning, beside what needs no plan. TABLE is read; nothing of it
    is written anywhere but counts into the model.
    """
    from rhoplan.files import write_text
    from rhoplan.learning.table import read_table

    if draft is not None:
        if target is None or plan is not None:
            raise click.UsageError("--draft takes the table and --target COLUMN, and no plan")
        _draft(table, target, draft)
        return
    if plan is None:
        raise click.UsageError(
            "learn takes a table and a plan; --target COLUMN --draft plan.yaml writes a plan to fill in"
        )
    if target is not None:
        raise click.UsageError("the target stands in the plan; --target goes with --draft")
    if out is not None:
        check_output(out, table, plan)
        if out.suffix.lower() not in (".yaml", ".yml"):
            raise click.UsageError(f"a learned model must end in .yaml; it reads '{out}'")
    if report is not None:
        check_page(report, "--report", table, plan)
    from rich.console import Console

    from rhoplan.io.model_file import write_model
    from rhoplan.learning.learning import learn
    from rhoplan.learning.plan import read_plan

    wanted, errors = read_plan(plan), Console(stderr=True)
    cases = read_table(table, named=wanted.columns)
    with _progress(errors, hidden=as_json or not errors.is_terminal) as bar:
        task = bar.add_task("splits, and all cases", total=None)
        result = learn(
            cases, wanted, folds=folds, repeats=repeats, group=group, time=time, jobs=jobs, cluster=cluster, keep=keep,
            second_opinion=second_opinion, seed=seed,
            tell=lambda done, total: bar.update(task, completed=done, total=total),
        )  # fmt: skip
    written = [str(path) for path in (out, report) if path is not None]
    if out is not None:
        write_text(out, write_model(result.problem))
    if report is not None:
        from rhoplan.present.page.learned_page import learned_page

        write_text(report, learned_page(result.problem))
    if as_json:
        names = {"model": out, "report": report}
        print_json({**result.record, **{name: None if path is None else str(path) for name, path in names.items()}})
        return
    _print(result)
    if written:
        console().print(f"wrote {', '.join(written)}", soft_wrap=True)


def _progress(errors: Console, *, hidden: bool) -> Progress:
    """A bar with the time left."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=errors, transient=True, disable=hidden)


def _draft(table: Path, target: str, draft: Path) -> None:
    from rhoplan.files import write_text
    from rhoplan.learning.plan import draft_plan
    from rhoplan.learning.table import read_table

    check_folder(draft)
    if draft.exists():
        raise click.UsageError(f"'{draft}' is there already; a draft takes the place of nothing")
    found = read_table(table)
    write_text(draft, draft_plan(found, target))
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    click.echo(f"wrote {draft}: fill in costs and losses, then rhoplan learn {table} {draft} -o model.yaml")


def _print(result: Result) -> None:
    from rhoplan.learning.bill import depth_sentence, sentence

    bill, unit, choice = result.bill, result.cases.plan.unit, result.choice
    console().print(sentence(bill, unit), soft_wrap=True)
    _print_bill(bill, unit)
    subtypes = f"{choice.subtypes} subtypes of each diagnosis" if choice.subtypes > 1 else "no subtypes"
    console().print(
        f"model: {subtypes}, at most {choice.outcomes} outcomes of a number; policy: horizon {choice.horizon}, weight "
        f"{choice.weight:g} {unit} per nat", soft_wrap=True,
    )  # fmt: skip
    if "depth" in result.record:
        console().print(depth_sentence(result.record["depth"], unit), soft_wrap=True)
    for warning in result.cases.warnings:
        click.echo(f"warning: {warning}", err=True)


def _print_bill(bill: Bill, unit: str) -> None:
    found = {"learned policy": bill.heldout, **bill.baselines}
    cells = [[name, number(e.mean, 2), f"{number(e.low, 2)} to {number(e.high, 2)}"] for name, e in found.items()]
    title = f"{unit} a case on cases not seen: {bill.cases:,} cases, {bill.splits} splits"
    show_rows(["", "cost", "95% interval"], cells, title=title, numbers=1)
    away = abs(bill.planned - bill.heldout.mean) / bill.heldout.mean if bill.heldout.mean else 0.0
    console().print(
        f"learned policy: {bill.tests:.2f} tests for {number(bill.spend, 2)}, {percent(bill.errors, 1)} wrong; planned "
        f"{number(bill.planned, 2)}, {percent(away, 0)} away from what it cost", soft_wrap=True,
    )  # fmt: skip
