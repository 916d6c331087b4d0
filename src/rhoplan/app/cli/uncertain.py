"""`rhoplan uncertainty`: what uncertain numbers mean for the plan, and which are worth knowing better."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import (
    NumberRange,
    bar,
    console,
    json_option,
    one_agent,
    option,
    print_json,
    problem_argument,
    progress,
    share,
    show_rows,
    with_adviser,
)
from rhoplan.app.cli.telling import own_prior

if TYPE_CHECKING:
    from rhoplan.agents.agent import BoundAgent
    from rhoplan.model.pomdp import POMDP

MOST_ROWS = 10
"""Rows of a table that are shown; `--json` has all."""

NEGLIGIBLE = 1e-4
"""Share of what knowing everything is worth below which a study is not listed."""


def _spread(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    return None if value is None else share(ctx, param, value)


@click.command("uncertainty")
@problem_argument
@option("--samples", type=click.IntRange(2, 100_000), default=2000, help="Versions of the numbers that are drawn.")
@option("--seed", type=click.IntRange(min=0), default=0, help="The same seed draws the same versions.")
@click.option("--spread", callback=_spread, metavar="SHARE",
              help="Take every number as known to within this share of itself, such as 10%: an assumption for models "
              "that state no intervals.")  # fmt: skip
@click.option("--map", "axes", nargs=2, metavar="NUMBER NUMBER",
              help="Numbers of the map of first actions, by id.  [default: the two most worth knowing]")  # fmt: skip
@click.option("--cases-per-year", type=NumberRange(min=0, min_open=True),
              help="Also tell what knowing is worth in a year with so many cases.")  # fmt: skip
@click.option("--given", "--seen", multiple=True,
              help="What was seen in the case, in order: test=outcome,test=outcome; tells from there on.")  # fmt: skip
@click.option("--prior", callback=own_prior, metavar="STATE=SHARE",
              help="This case's own chances, such as PE=30%; states that are not named share the rest.")  # fmt: skip
@with_adviser
@json_option
def uncertainty_command(
    problem: POMDP,
    agents: list[BoundAgent],
    samples: int,
    seed: int,
    spread: float | None,
    axes: tuple[str, str] | None,
    cases_per_year: float | None,
    given: tuple[str, ...],
    prior: dict[str, float] | None,
    as_json: bool,
) -> None:
    """What the uncertain numbers of PROBLEM mean: is the next action right, what is worth knowing better.

    Numbers of a model file may have 95% intervals, 0.83 [0.76, 0.89], be ranges, 60 to 90, or come from counts.
    """
    from rhoplan.advice.start import started
    from rhoplan.advice.uncertain.uncertainty import uncertainty
    from rhoplan.app.cli.plan import parse_evidence
    from rhoplan.app.uncertain import uncertainty_record

    agent, seen = one_agent(agents), [pair for text in given for pair in parse_evidence(text)]
    here = started(problem, prior) if prior and problem.listed is not None else problem
    with progress() as tell:
        found = uncertainty(
            here, agent, spread=spread, samples=samples, seed=seed, axes=axes, given=seen, progress=tell
        )  # fmt: skip
    record = uncertainty_record(here, agent, found, cases_per_year)
    if as_json:
        print_json(record)
    else:
        show_uncertainty(record)


def show_uncertainty(record: dict[str, Any]) -> None:
    """The whole answer as tables."""
    from rhoplan.advice.words import money, percent

    out, unit, drawn = console(), record["reward_unit"], f"n = {record['samples']:,}, seed {record['seed']}"
    for words in record["words"]:
        out.print(words, soft_wrap=True)
    right, total, knowing = record["chance_right"], record["total"], record["everything"]
    out.print(f"\n{'Next' if record['given'] else 'First'}: {record['first']}", style="bold")
    out.print(
        f"right in {percent(right['share'])} of what the numbers allow (estimated, SE {percent(right['se'])}, {drawn})"
    )
    for one in record["first_actions"][:MOST_ROWS]:
        out.print(f"  {one['action']:<24} {bar(one['share'], 30):<30} {percent(one['share'])}")
    exactly = "exact" if total["kind"] == "exact" else f"estimated, SE {money(total['se'])}"
    out.print(
        f"expected {record['stake']} {money(total['mean'], unit)} per case ({exactly}); 95% interval "
        f"{money(total['low'])} to {money(total['high'])} (estimated)",
        soft_wrap=True,
    )
    out.print(f"knowing every number would be worth {_worth(knowing, unit)} per case{_yearly(knowing, unit)}\n")
    _ranking(record, unit)
    _tornado(record)
    _map(record)
    _curve(record)


def _worth(one: dict[str, Any], unit: str = "") -> str:
    from rhoplan.advice.words import money

    kind = "exact" if one["kind"] == "exact" else f"estimated, SE {money(one['se'])}, n = {one['samples']:,}"
    return f"{money(one['value'], unit)} ({kind})"


def _yearly(one: dict[str, Any], unit: str) -> str:
    from rhoplan.advice.words import money

    return "" if one["per_year"] is None else f", {money(one['per_year'], unit)} a year"


def _ranking(record: dict[str, Any], unit: str) -> None:
    from rhoplan.advice.words import amounts

    rows = [one for one in record["studies"] if one["value"] > NEGLIGIBLE * record["everything"]["value"]]
    if not rows:
        console().print("No single study would change what to do.\n")
        return
    yearly = record["cases_per_year"] is not None
    heads = ["to know", f"worth, {unit} per case", *([f"{unit} a year"] if yearly else []), "which is"]
    years = amounts(one["per_year"] for one in rows)
    cells = [
        [
            one["name"], text, *([year] if yearly else []),
            "exact" if one["kind"] == "exact" else f"estimated, SE {one['se']:.2g}, n = {one['samples']:,}",
        ]
        for one, text, year in zip(rows, amounts(one["value"] for one in rows), years, strict=True)
    ]  # fmt: skip
    show_rows(heads, cells, title="Which study is worth making", numbers=1, most=MOST_ROWS)


def _number(one: dict[str, Any], value: float) -> str:
    from rhoplan.advice.words import money, stated

    return stated(value) if one["quantity"] == "probability" else money(value)


def _tornado(record: dict[str, Any]) -> None:
    from rhoplan.advice.words import amounts, counted

    rows, cells = record["tornado"][:MOST_ROWS], []
    told = amounts(one[end]["kept"] for one in rows for end in ("low", "high"))
    for place, one in enumerate(rows):
        first = [one[end]["first"] for end in ("low", "high")]
        begins = first[0] if first[0] == first[1] else f"{first[0]} / {first[1]}"
        span = f"{_number(one, one['low']['value'])} to {_number(one, one['high']['value'])}"
        cells.append([one["name"], span, told[2 * place], told[2 * place + 1], begins])
    heads = ["number", "95% interval", f"{record['stake']} at its low end", "at its high end", "first action there"]
    show_rows(heads, cells, title="One number at a time, the plan as it is (exact)", numbers=2)
    left = len(record["tornado"]) - len(rows)
    if left:
        console().print(f"... and {counted(left, 'number')} more, which matter less")


def _map(record: dict[str, Any]) -> None:
    found = record["map"]
    if not found:
        return
    out, across, down = console(), found["across"], found["down"]
    if len(found["actions"]) == 1:
        out.print(
            f"\nFirst {found['actions'][0]}, whatever {across['name']} and {down['name']} are in their intervals."
        )
        return
    marks = string.ascii_uppercase
    ends = [f"{_number(axis, axis['values'][0])} to {_number(axis, axis['values'][-1])}" for axis in (across, down)]
    out.print(f"\nFirst action: {across['name']} from {ends[0]} across, {down['name']} from {ends[1]} upwards (exact)")
    for row in found["first"][::-2]:
        out.print("  " + " ".join(marks[place % len(marks)] for place in row))
    for place, action in enumerate(found["actions"]):
        out.print(f"  {marks[place % len(marks)]}  {action}")


def _curve(record: dict[str, Any]) -> None:
    found = record["curve"]
    if not found:
        return
    from rhoplan.advice.words import percent, stated

    near = sorted(found["points"], key=lambda one: abs(one["threshold"] - found["own"]))[:MOST_ROWS]
    cells = [
        [
            stated(one["threshold"]), f"{one['plan']:.4f}", f"{one['everybody']:.4f}",
            "–" if one["tested"] is None else f"{one['tested']:.4f}",
        ]
        for one in sorted(near, key=lambda one: one["threshold"])
    ]  # fmt: skip
    title = f"Net benefit near the model's own threshold, {percent(found['own'])} of {found['diagnosis']} (exact)"
    heads = ["threshold", "this way of planning", f"{found['action']} for everybody", "every test first"]
    show_rows(heads, cells, title=title, numbers=1)
