"""`rhoplan update`: new cases for a learned model, and whether its advice changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rhoplan.app.cli.common import check_output, console, json_option, load_problem, number, percent, print_json

if TYPE_CHECKING:
    from rhoplan.learning.update import Updated


@click.command("update")
@click.argument("model")
@click.argument("table", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Where to write the new model (.yaml).")
@click.option("--again", is_flag=True, help="Add a table that the model was learned from before.")
@json_option
def update_command(model: str, table: Path, out: Path | None, again: bool, as_json: bool) -> None:
    """Add the cases of TABLE to MODEL, which rhoplan learn wrote, and tell whether its advice changes.

    Counts are added and likelihoods made of them again; with subtypes a case is shared out among those of its
    diagnosis. What the policy made without them costs in the new cases is told too. Settings, cut points and the bill
    stay as they are: learn again from all cases to choose them anew.
    """
    from rhoplan.files import write_text
    from rhoplan.io.model_file import write_model
    from rhoplan.learning.baselines import need_sklearn
    from rhoplan.learning.table import read_table
    from rhoplan.learning.update import columns_of, update

    if out is not None:
        check_output(out, model, table)
        if out.suffix.lower() not in (".yaml", ".yml"):
            raise click.UsageError(f"a learned model must end in .yaml; it reads '{out}'")
    need_sklearn()
    problem = load_problem(model)
    found = update(problem, read_table(table, named=columns_of(problem)), again=again)
    if out is not None:
        write_text(out, write_model(found.problem))
    if as_json:
        print_json({**found.record, "model": None if out is None else str(out)})
        return
    for line in told(found):
        console().print(line, soft_wrap=True)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    console().print(f"wrote {out}" if out is not None else "nothing was written; -o FILE keeps the new model")


def told(found: Updated) -> list[str]:
    """What an update did, in lines."""
    unit, learned = found.problem.unit, found.problem.details["learned"]
    how = "shared out among the subtypes of their diagnoses" if found.soft else "counted exactly"
    before, after = found.first
    first = f"first action still {after}" if before == after else f"first action now {after}, before {before}"
    lines = [f"{found.cases:,} cases added, {how}; {first}; in {percent(found.changed, 1)} of them the path is another"]
    if found.planned is None:
        lines.append("planned cost: too large to work out exactly")
    else:
        old, new = found.planned
        lines.append(f"planned cost {number(new, 2)} {unit} a case, before {number(old, 2)} ({new - old:+,.2f})")
    within = "" if found.low is None or found.high is None else f" (95%: {found.low:,.2f} to {found.high:,.2f})"
    held = learned["heldout"]
    lines.append(
        f"the policy made without them costs {number(found.cost, 2)} {unit} a new case{within}; held-out cost when it "
        f"was learned: {number(held['cost'], 2)} ({held['low']:,.2f} to {held['high']:,.2f})"
    )
    return lines
