"""`rhoplan target`: the cheapest pathway that keeps targets, and the frontier of cost against errors."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import console, json_option, load_problem, option, print_json, problem_argument, show_rows
from rhoplan.io.typed import check_typed

if TYPE_CHECKING:
    from rhoplan.advice.edges import Edge, LowerSet
    from rhoplan.advice.targets import Answer
    from rhoplan.model.pomdp import POMDP

SHARE = "SHARE"

MOST_ROWS = 40
"""Corners that are shown of a lower set."""


about_state = partial(click.option, multiple=True, metavar=f"[STATE=]{SHARE}")


@click.command("target")
@problem_argument
@about_state(
    "--miss",
    help="Share of all cases that may be missed: 0.001, 0.1%, '1 in 1,000'. May be repeated for several states.",
)
@about_state("--sensitive", help="Sensitivity to be reached, such as 99%. May be repeated for several states.")
@about_state("--false-alarm", help="Share of all cases that may be false alarms. May be repeated for several states.")
@about_state("--specific", help="Specificity to be reached, such as 95%. May be repeated for several states.")
@click.option("--wrong", metavar=SHARE, help="Share of all cases that may end with a wrong decision.")
@click.option("--spend", metavar="AMOUNT", help="What tests may cost on average.")
@click.option("--state", help="State that targets are about where they do not name one.  [default: the positive one]")
@click.option("--horizon", type=click.IntRange(min=1), help="Tests that a pathway may have.  [default: as many as fit]")
@option(
    "--minimise", type=click.Choice(["cost", "spend"]), default="cost",
    help="What is made small: tests and the errors without a target at the model's prices, or tests alone.",
)  # fmt: skip
@click.option("--tree", is_flag=True, help="Print the pathway of each plan.")
@click.option("--frontier", is_flag=True, help="Print the corners of cost against errors too; they need no target.")
@click.option("--lower-set", is_flag=True, help="Print the corners of tests, misses and false alarms together.")
@json_option
def target_command(
    problem: str, state: str | None, horizon: int | None, minimise: str, tree: bool, frontier: bool, lower_set: bool,
    as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """The cheapest pathway of PROBLEM that keeps targets, such as --miss '1 in 1,000' --specific 95%.

    Exact: over all plans and all mixes of them. Without options the targets in the model file count.
    """
    from rhoplan.advice.edges import edges, positive_of, together
    from rhoplan.advice.targets import meet
    from rhoplan.app.target_records import answer_record, edge_record
    from rhoplan.io.constraints import read_targets

    loaded = load_problem(problem)
    loaded.flat  # noqa: B018  (says so where the problem is not flat)
    asked = _given(given) or loaded.details.get("targets") or {}
    if not asked and not (frontier or lower_set):
        raise click.UsageError("a target is needed, such as --miss '1 in 1,000' or --spend 40; or ask for --frontier")
    targets = read_targets(asked, loaded.diagnoses, state or positive_of(loaded))
    answer = meet(loaded, targets, horizon=horizon, minimise=minimise) if targets else None
    drawn = edges(loaded, state=state, horizon=horizon) if frontier else ()
    corners = together(loaded, state=state, horizon=horizon) if lower_set else None
    if as_json:
        told: dict[str, Any] = answer_record(answer, trees=tree) if answer else {"problem": loaded.spec}
        told |= {"frontiers": [edge_record(loaded, edge) for edge in drawn]} if drawn else {}
        print_json(told | ({"lower_set": asdict(corners)} if corners else {}))
        return
    if answer:
        _print_answer(answer)
    for edge in drawn:
        _print_edge(loaded, edge)
    if corners:
        _print_corners(loaded, corners)
    if answer and tree:
        _print_trees(answer)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Targets from the command line: a value, or `state=value` for each of several."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        kind = name.replace("_", "-")
        for text in value if isinstance(value, tuple) else () if value is None else (value,):
            state, equals, share = (part.strip() for part in text.partition("="))
            try:
                check_typed(share if equals else text, "number" if kind == "spend" else "probability")
            except ValueError as error:
                raise click.UsageError(f"--{kind}: {error}") from None
            if not equals:
                if kind in found:
                    raise click.UsageError(f"--{kind} given more than once must name states: --{kind} STATE=SHARE")
                found[kind] = text
            elif isinstance(found.setdefault(kind, {}), dict):
                found[kind][state] = share
            else:
                raise click.UsageError(f"--{kind} given more than once must name states: --{kind} STATE=SHARE")
    return found


def _print_answer(answer: Answer) -> None:
    from rhoplan.advice.target_words import answer_words, labelled, number_cells, number_heads

    out, unit = console(), answer.problem.unit
    for words in answer_words(answer):
        out.print(words)
    rows = [[label, *number_cells(answer, numbers)] for label, numbers in labelled(answer)]
    out.print()
    show_rows(["", *number_heads(answer)], rows, title=f"amounts in {unit} per case", numbers=2)


def _print_edge(problem: POMDP, edge: Edge) -> None:
    from rhoplan.advice.edges import CALLED
    from rhoplan.advice.words import amounts, chance, counted, money

    error = CALLED[edge.kind] + (f" ({edge.state})" if edge.state else "")
    prices = [
        f"{money(p.low)} to {money(p.high)}" if p.high is not None else f"from {money(p.low)}" for p in edge.points
    ]
    paid, tests = amounts(p.cost for p in edge.points), amounts(p.numbers.spend for p in edge.points)
    rows = [
        [chance(p.share), cost, spent, p.numbers.first, price]
        for p, cost, spent, price in zip(edge.points, paid, tests, prices, strict=True)
    ]
    console().print()
    left = "" if edge.complete else "; there are more"
    left += "" if edge.whole else f"; pathways of at most {counted(edge.depth, 'test')}"
    show_rows(
        [error, "counted", "tests cost", "first", f"cheapest where one costs ({problem.unit})"], rows,
        title=f"frontier of {edge.counts} against {error}: {len(rows)} corners{left}", numbers=1,
    )  # fmt: skip
    own = edge.plain
    console().print(
        f"by the model's own prices: {chance(own.share)}, {money(own.cost, problem.unit)}, of which tests "
        f"{money(own.numbers.spend)}"
    )


def _print_corners(problem: POMDP, found: LowerSet) -> None:
    from rhoplan.advice.words import amounts, chance

    spent = amounts(one.spend for one in found.corners)
    rows = [[paid, *map(chance, one.reached), one.first] for paid, one in zip(spent, found.corners, strict=True)]
    left = "" if found.complete else "; there are more"
    console().print()
    show_rows(
        [f"tests cost ({problem.unit})", f"missed ({found.state})", "false alarms", "first"], rows,
        title=f"tests, misses and false alarms together: {len(rows)} corners{left}", numbers=0, most=MOST_ROWS,
        caption="... and {} more (--json has all)",
    )  # fmt: skip


def _print_trees(answer: Answer) -> None:
    from rhoplan.advice.target_words import plan_name
    from rhoplan.app.target_records import pathway_text

    parts = list(answer.mixture)
    names = [plan_name(place) for place in range(len(parts))] if len(parts) > 1 else ["the plan"]
    if answer.certain and len(parts) > 1:
        parts, names = [*parts, answer.certain], [*names, "without chance"]
    for name, part in zip(names, parts, strict=True):
        console().print(f"\n{name}:")
        click.echo(pathway_text(answer, part))
