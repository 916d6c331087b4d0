"""`rhoplan list` and `rhoplan show`: what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import (
    console,
    json_option,
    load_problem,
    number,
    percent,
    print_json,
    problem_argument,
    show_table,
    signed,
)
from rhoplan.app.records import catalogue_record, problem_record

if TYPE_CHECKING:
    from rhoplan.model.observe_then_commit import Test
    from rhoplan.model.problem import Problem


@click.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the problems, the agents, the planners and the utilities that ship with rhoplan."""
    from rhoplan.agents.agent import AGENTS

    record = catalogue_record()
    if as_json:
        print_json(record)
        return
    from rich.table import Table

    out = console()
    table = Table("problem", "what it is", "parameters (name=default)", title="Problems", title_justify="left")
    for row in record["problems"]:
        settings = ", ".join(f"{k}={'auto' if v is None else v}" for k, v in row["parameters"].items())
        table.add_row(row["name"], row["about"], settings)
    show_table(table)
    table = Table("model", "what it is", title="Worked models", title_justify="left")
    for row in record["models"]:
        table.add_row(row["name"], row.get("about", ""))
    show_table(table)
    out.print(
        "A model file of your own (.yaml, .json, .toml), or a problem file of others (.pomdp, .pomdpx, .drn), can "
        "stand wherever a problem is named.\n"
    )
    table = Table("agent", "weight", "horizon", "controls for", title="Agents", title_justify="left")
    for name, kind in AGENTS.items():
        weight = "--weight (1)" if kind.weight is None else f"{kind.weight:g}"
        table.add_row(name, weight, "1" if kind.one_step else "--horizon", kind.controls_for)
    show_table(table)
    out.print("Factored problems have agents of their own that follow a rule: see rhoplan show.\n")
    table = Table("planner", "how it looks ahead", title="Planners", title_justify="left")
    for name, about in record["planners"].items():
        table.add_row(name, about)
    show_table(table)
    out.print("exact is the default; anytime on factored problems without a published depth.\n")
    table = Table("utility", "what the weight is for", title="Utilities", title_justify="left")
    for name, about in record["utilities"].items():
        table.add_row(name, about)
    show_table(table)


@click.command("show")
@problem_argument
@click.option("--yaml", "as_yaml", is_flag=True, help="Print the problem as a model file.")
@click.option("--format", "written", type=click.Choice(["yaml", "pomdp"]), help="Print the problem as such a file.")
@json_option
def show_command(problem: str, as_yaml: bool, written: str | None, as_json: bool) -> None:
    """Show what PROBLEM consists of: states, tests, commits and their numbers."""
    loaded = load_problem(problem)
    if written == "pomdp":
        from rhoplan.io.pomdp_writer import write_pomdp

        click.echo(write_pomdp(loaded), nl=False)
    elif as_yaml or written == "yaml":
        from rhoplan.io.model_file import write_model

        click.echo(write_model(loaded), nl=False)
    elif as_json:
        print_json(problem_record(loaded))
    elif loaded.is_flat:
        print_problem(loaded)
    else:
        print_factored(loaded)


MOST_ROWS = 12


def print_problem(problem: Problem) -> None:
    from rich.table import Table

    from rhoplan.belief.information import entropy

    out, menu = console(), problem.flat
    h0 = max(float(entropy(problem.prior)), 0.0)
    out.print(
        f"{problem.name}: {_count(len(problem.states), 'state')}, {_count(len(menu.tests), 'test')}, "
        f"{_count(len(menu.commits), 'commit')}; "
        f"rewards in {problem.unit}; prior entropy {h0:.4f} nats; look-ahead {problem.horizon} unless asked otherwise\n"
    )
    if notes := _notes(problem.details.get("info", {})):
        out.print("\n".join(notes) + "\n")
    table = Table("state", "prior", title="States", title_justify="left")
    for state, p in list(zip(problem.states, problem.prior, strict=True))[:MOST_ROWS]:
        table.add_row(state, percent(p))
    _finish(table, len(problem.states))
    print_tests(problem)
    title = "Commits (given as losses: the reward is minus the loss)" if problem.details.get("losses") else "Commits"
    table = Table("commit", "best reward", "worst reward", "expected at the prior", title=title, title_justify="left")
    for commit in menu.commits[:MOST_ROWS]:
        best, worst = float(commit.reward.max()), float(commit.reward.min())
        table.add_row(commit.name, signed(best, 2), signed(worst, 2), signed(float(commit.reward @ problem.prior), 2))
    _finish(table, len(menu.commits))


def print_tests(problem: Problem) -> None:
    """The tests and the rules for running them; columns and lines that the problem has no use for are left out."""
    from rich.table import Table

    out, menu = console(), problem.flat
    grouped, ordered = any(test.group for test in menu.tests), any(test.after for test in menu.tests)
    extra = [*(["group"] if grouped else []), *(["only after"] if ordered else [])]
    headings = ["test", "cost", "outcomes", "repeat", *extra, "information at the prior (nats)"]
    table = Table(*headings, title="Tests", title_justify="left")
    for test in menu.tests[:MOST_ROWS]:
        cells = [number(test.cost, 2), ", ".join(test.outcomes), "independent" if test.repeatable else "once"]
        cells += [test.group] if grouped else []
        cells += [", ".join(test.after)] if ordered else []
        table.add_row(test.name, *cells, number(_information_at_prior(problem, test)))
    _finish(table, len(menu.tests))
    lines = [
        f"The first test of group {group} costs {number(price, 2)} {problem.unit} more; the others do not."
        for group, price in menu.first_prices.items()
    ]
    caps = [f"{_count(menu.most_tests, 'test')}"] if menu.most_tests is not None else []
    caps += [f"{number(menu.budget, 2)} {problem.unit} spent on tests"] if menu.budget is not None else []
    lines += [f"Cap: at most {' and '.join(caps)}."] if caps else []
    lines += [f"{name}: {line}" for name, info in problem.details.get("test_info", {}).items() for line in _notes(info)]
    if lines:
        out.print("\n".join(lines) + "\n")


def _information_at_prior(problem: Problem, test: Test) -> float:
    """Expected information, in nats, from running `test` first, whether or not it may be run first."""
    from rhoplan.belief.information import information
    from rhoplan.model.problem import Action

    cost = 0.0 * problem.prior - test.cost
    action = Action(test.name, cost, test.likelihood, test.outcomes, (problem.start,) * len(test.outcomes))
    return float(information(problem.prior[None, :], action)[0])


def _notes(info: dict[str, Any]) -> list[str]:
    """What a model or a test says about itself, one line each."""
    lines = [f"{name}: {info[name]}" for name in ("about", "source", "note") if name in info]
    return lines + (["illustrative: the numbers are made up for the example"] if info.get("illustrative") else [])


def print_factored(problem: Problem) -> None:
    from rich.table import Table

    from rhoplan.belief.information import information
    from rhoplan.model.reach import is_endless

    out = console()
    factors = _count(len(problem.factors), "hidden factor")
    out.print(f"{problem.name}: {factors}; rewards in {problem.unit}; starts at {problem.start};")
    fades = f"; discount {problem.discount:g}" if problem.discount < 1 else ""
    ends = "no action ends it; " if is_endless(problem) else ""
    out.print(
        f"look-ahead {problem.horizon} ({problem.planner}) unless asked otherwise{fades}; {ends}"
        f"cut off after {problem.cap} steps\n"
    )
    if problem.note:
        out.print(f"note: {problem.note}\n")
    table = Table("factor", "states and prior", title="Hidden factors", title_justify="left")
    for factor in problem.factors[:MOST_ROWS]:
        shares = list(zip(factor.states, factor.prior, strict=True))
        more = f", ... ({len(shares)} states)" if len(shares) > MOST_ROWS else ""
        table.add_row(factor.name, ", ".join(f"{s} {percent(p, 1)}" for s, p in shares[:MOST_ROWS]) + more)
    _finish(table, len(problem.factors))
    table = Table("action", "kind", "concerns", "rewards", "information (nats)", title="Actions at the start")
    table.title_justify = "left"
    actions = problem.menu(problem.start)
    for action in actions:
        factor = problem.factors[action.factor]
        rewards = " / ".join(f"{value:g}" for value in dict.fromkeys(action.reward.tolist()))
        gain = float(information(factor.prior[None, :], action)[0])
        concerns = "" if action.kind == "move" else factor.name
        table.add_row(action.name, action.kind, concerns, rewards, number(gain))
    show_table(table)
    for name in problem.details:
        out.print(f"{name}: {problem.details[name]}")


def _finish(table: Any, rows: int) -> None:
    if rows > MOST_ROWS:
        table.caption = f"... and {rows - MOST_ROWS} more"
    show_table(table)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
