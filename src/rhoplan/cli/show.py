"""`rhoplan list` and `rhoplan show`: what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rhoplan.cli.common import console, json_option, load_problem, number, percent, print_json, problem_argument, signed

if TYPE_CHECKING:
    from rhoplan.problem import Problem


@click.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the problems and the agents that ship with rhoplan."""
    from rhoplan.agent import AGENTS
    from rhoplan.problems.registry import PROBLEMS, parameters

    problems: list[dict[str, Any]] = [
        {
            "name": name,
            "about": (build.__doc__ or "").split("\n")[0],
            "parameters": {p.name: p.default for p in parameters(name)},
        }
        for name, build in PROBLEMS.items()
    ]
    agents = [
        {"name": name, "weight": kind.weight, "one_step": kind.one_step, "controls_for": kind.controls_for}
        for name, kind in AGENTS.items()
    ]
    if as_json:
        print_json({"problems": problems, "agents": agents})
        return
    from rich.table import Table

    out = console()
    table = Table("problem", "what it is", "parameters (name=default)", title="Problems", title_justify="left")
    for row in problems:
        settings = ", ".join(f"{k}={'auto' if v is None else v}" for k, v in row["parameters"].items())
        table.add_row(row["name"], row["about"], settings)
    out.print(table)
    out.print("A model file (.yaml, .json, .toml) can stand wherever a problem is named.\n")
    table = Table("agent", "weight", "horizon", "controls for", title="Agents", title_justify="left")
    for name, kind in AGENTS.items():
        weight = "--weight (1)" if kind.weight is None else f"{kind.weight:g}"
        table.add_row(name, weight, "1" if kind.one_step else "--horizon", kind.controls_for)
    out.print(table)


@click.command("show")
@problem_argument
@click.option("--yaml", "as_yaml", is_flag=True, help="Print the problem as a model file.")
@json_option
def show_command(problem: str, as_yaml: bool, as_json: bool) -> None:
    """Show what PROBLEM consists of: states, tests, commits and their numbers."""
    loaded = load_problem(problem)
    if as_yaml:
        from rhoplan.io.model_file import write_model

        click.echo(write_model(loaded), nl=False)
    elif as_json:
        print_json(as_record(loaded))
    else:
        print_problem(loaded)


def as_record(problem: Problem) -> dict[str, Any]:
    """A flat problem as plain data, in the shape of a model file."""
    menu, states = problem.flat, problem.states
    return {
        "name": problem.name,
        "unit": problem.unit,
        "horizon": problem.horizon,
        "states": list(states),
        "prior": problem.prior.tolist(),
        "tests": {
            test.name: {
                "cost": test.cost,
                "outcomes": list(test.outcomes),
                "likelihood": {s: row.tolist() for s, row in zip(states, test.likelihood, strict=True)},
                "repeat": "independent" if test.repeatable else "once",
            }
            for test in menu.tests
        },
        "commits": {c.name: dict(zip(states, c.reward.tolist(), strict=True)) for c in menu.commits},
    }


MOST_ROWS = 12


def print_problem(problem: Problem) -> None:
    from rich.table import Table

    from rhoplan.information import entropy, information

    out, menu = console(), problem.flat
    h0 = float(entropy(problem.prior))
    out.print(
        f"[bold]{problem.name}[/]: {_count(len(problem.states), 'state')}, {_count(len(menu.tests), 'test')}, "
        f"{_count(len(menu.commits), 'commit')}; "
        f"rewards in {problem.unit}; prior entropy {h0:.4f} nats; look-ahead {problem.horizon} unless asked otherwise\n"
    )
    table = Table("state", "prior", title="States", title_justify="left")
    for state, p in list(zip(problem.states, problem.prior, strict=True))[:MOST_ROWS]:
        table.add_row(state, percent(p))
    _finish(out, table, len(problem.states))
    table = Table("test", "cost", "outcomes", "repeat", "information at the prior (nats)", title="Tests")
    table.title_justify = "left"
    actions = {action.name: action for action in problem.menu(problem.start)}
    for test in menu.tests[:MOST_ROWS]:
        gain = float(information(problem.prior[None, :], actions[test.name])[0])
        repeat = "independent" if test.repeatable else "once"
        table.add_row(test.name, number(test.cost, 2), ", ".join(test.outcomes), repeat, number(gain))
    _finish(out, table, len(menu.tests))
    table = Table("commit", "best reward", "worst reward", "expected at the prior", title="Commits")
    table.title_justify = "left"
    for commit in menu.commits[:MOST_ROWS]:
        best, worst = float(commit.reward.max()), float(commit.reward.min())
        table.add_row(commit.name, signed(best, 2), signed(worst, 2), signed(float(commit.reward @ problem.prior), 2))
    _finish(out, table, len(menu.commits))


def _finish(out: Any, table: Any, rows: int) -> None:
    if rows > MOST_ROWS:
        table.caption = f"... and {rows - MOST_ROWS} more"
    out.print(table)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
