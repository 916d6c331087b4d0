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
    show_rows,
    signed,
)
from rhoplan.app.records import catalogue_record, problem_record

if TYPE_CHECKING:
    from rhoplan.model.pomdp import POMDP


@click.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the problems, the agents, the planners and the utilities that ship with rhoplan."""
    from rhoplan.agents.agent import AGENTS

    record = catalogue_record()
    if as_json:
        print_json(record)
        return
    out, auto = console(), {None: "auto"}
    settings = [
        ", ".join(f"{name}={auto.get(value, value)}" for name, value in row["parameters"].items())
        for row in record["problems"]
    ]
    problems = [[row["name"], row["about"], told] for row, told in zip(record["problems"], settings, strict=True)]
    show_rows(["problem", "what it is", "parameters (name=default)"], problems, title="Problems")
    models = [[row["name"], row.get("about", "")] for row in record["models"]]
    show_rows(["model", "what it is"], models, title="Worked models")
    out.print(
        "A model file of your own (.yaml, .json, .toml), or a problem file of others (.pomdp, .pomdpx, .drn), can "
        "stand wherever a problem is named.\n"
    )
    agents = [
        [
            name,
            "--weight (1)" if kind.weight is None else f"{kind.weight:g}",
            "1" if kind.one_step else "--horizon",
            kind.controls_for,
        ]
        for name, kind in AGENTS.items()
    ]
    show_rows(["agent", "weight", "horizon", "controls for"], agents, title="Agents")
    out.print("Factored problems have agents of their own that follow a rule: see rhoplan show.\n")
    show_rows(["planner", "how it looks ahead"], record["planners"].items(), title="Planners")
    out.print("exact is the default; anytime on factored problems without a published depth.\n")
    show_rows(["utility", "what the weight is for"], record["utilities"].items(), title="Utilities")


@click.command("show")
@problem_argument
@click.option("--yaml", "as_yaml", is_flag=True, help="Print the problem as a model file.")
@click.option("--format", "written", type=click.Choice(["yaml", "pomdp"]), help="Print the problem as such a file.")
@json_option
def show_command(problem: str, as_yaml: bool, written: str | None, as_json: bool) -> None:
    """Show what PROBLEM consists of: states, tests, commits and their numbers."""
    if as_json and (as_yaml or written):
        raise click.UsageError("--json is for what is shown; --yaml and --format print a file: take one of them")
    loaded = load_problem(problem)
    if written == "pomdp":
        from rhoplan.io.pomdp_writer import write_pomdp

        click.echo(write_pomdp(loaded), nl=False)
    elif as_yaml or written == "yaml":
        from rhoplan.io.model_file import write_model

        click.echo(write_model(loaded), nl=False)
    elif as_json:
        print_json(problem_record(loaded))
    elif loaded.listed is not None:
        print_problem(loaded)
    else:
        print_factored(loaded)


MOST_ROWS = 12


def print_problem(problem: POMDP) -> None:
    from rhoplan.advice.doubts import doubts
    from rhoplan.advice.words import counted
    from rhoplan.belief_math.information import entropy

    out, menu = console(), problem.flat
    h0 = max(float(entropy(problem.factors[0].about(problem.prior))), 0.0)
    grouped = bool(problem.factors[0].diagnosis_of)
    sizes = {"state": problem.states, "test": menu.tests, "commit": menu.commits}
    diagnoses = f"{len(problem.diagnoses)} {'diagnosis' if len(problem.diagnoses) == 1 else 'diagnoses'}, "
    told = ", ".join(counted(len(parts), what) for what, parts in sizes.items())
    out.print(
        f"{problem.name}: {diagnoses if grouped else ''}{told}; "
        f"rewards in {problem.unit}; prior entropy {h0:.4f} nats; look-ahead {problem.horizon} unless asked otherwise\n"
    )
    if notes := _notes(problem.details.get("info", {})):
        out.print("\n".join(notes) + "\n")
    states = [[state, percent(p)] for state, p in zip(problem.states, problem.prior, strict=True)]
    if grouped and problem.factors[0].about_diagnosis:
        out.print("Information is about the diagnosis.\n")
    if grouped:
        shares = problem.factors[0].shares(problem.prior)["state"]
        show_rows(["diagnosis", "prior"], [[name, percent(p)] for name, p in shares.items()], title="Diagnoses")
    show_rows(["state", "prior"], states, title="States", most=MOST_ROWS)
    print_tests(problem)
    title = "Commits (given as losses: the reward is minus the loss)" if problem.details.get("losses") else "Commits"
    rewards = {c.name: (c.reward.max(), c.reward.min(), c.reward @ problem.prior) for c in menu.commits}
    commits = [[name, *(signed(float(reward), 2) for reward in row)] for name, row in rewards.items()]
    show_rows(["commit", "best reward", "worst reward", "expected at the prior"], commits, title=title, most=MOST_ROWS)
    for doubt in doubts(problem):
        out.print(f"caution: {doubt.text}")


def print_tests(problem: POMDP) -> None:
    """The tests and the rules for running them; columns and lines that the problem has no use for are left out."""
    from rhoplan.advice.words import counted
    from rhoplan.belief_math.information import information

    menu = problem.flat
    grouped, ordered = any(test.group for test in menu.tests), any(test.after for test in menu.tests)
    extra = [*(["group"] if grouped else []), *(["only after"] if ordered else [])]
    rows = []
    for test, action in zip(menu.tests, menu.everything, strict=False):
        outcomes = ", ".join(test.outcomes)
        if test.parts:
            outcomes = f"those of {', '.join(test.parts)} together ({len(test.outcomes)})"
        cells = [number(test.cost, 2), outcomes, "independent" if test.repeatable else "once"]
        cells += [test.group] if grouped else []
        cells += [", ".join(test.after)] if ordered else []
        rows.append(
            [test.name, *cells, number(float(information(problem.prior[None, :], action, problem.factors[0])[0]))]
        )
    headings = ["test", "cost", "outcomes", "repeat", *extra, "information at the prior (nats)"]
    show_rows(headings, rows, title="Tests", most=MOST_ROWS)
    lines = [
        f"The first test of group {group} costs {number(price, 2)} {problem.unit} more; the others do not."
        for group, price in menu.first_prices.items()
    ]
    caps = [counted(menu.most_tests, "test")] if menu.most_tests is not None else []
    caps += [f"{number(menu.budget, 2)} {problem.unit} spent on tests"] if menu.budget is not None else []
    lines += [f"Cap: at most {' and '.join(caps)}."] if caps else []
    lines += [f"{name}: {line}" for name, info in problem.details.get("test_info", {}).items() for line in _notes(info)]
    if lines:
        console().print("\n".join(lines) + "\n")


def _notes(info: dict[str, Any]) -> list[str]:
    """What a model or a test says about itself, one line each."""
    lines = [f"{name}: {info[name]}" for name in ("about", "source", "note") if name in info]
    return lines + (["illustrative: the numbers are made up for the example"] if info.get("illustrative") else [])


def print_factored(problem: POMDP) -> None:
    from rhoplan.advice.words import counted
    from rhoplan.belief_math.information import information
    from rhoplan.model.horizon import is_endless

    out = console()
    beliefs = problem.belief().diagnoses()
    factors = counted(len(beliefs), "hidden factor")
    out.print(f"{problem.name}: {factors}; rewards in {problem.unit}; starts at {problem.start};")
    fades = f"; discount {problem.discount}" if problem.discount < 1 else ""
    ends = "no action ends it; " if is_endless(problem) else ""
    out.print(
        f"look-ahead {problem.horizon} ({problem.planner}) unless asked otherwise{fades}; {ends}"
        f"cut off after {problem.cap} steps\n"
    )
    if problem.note:
        out.print(f"note: {problem.note}\n")
    rows = []
    for name, shares in beliefs.items():
        more = f", ... ({len(shares)} states)" if len(shares) > MOST_ROWS else ""
        rows.append([name, ", ".join(f"{s} {percent(p, 1)}" for s, p in list(shares.items())[:MOST_ROWS]) + more])
    show_rows(["factor", "states and prior"], rows, title="Hidden factors", most=MOST_ROWS)
    for joined in (factor for factor in problem.factors if factor.joins):
        out.print(f"{joined.name} belong together: {len(joined.states)} combinations\n")
    rows = []
    for action in problem.menu(problem.start):
        factor = problem.factors[action.factor]
        rewards = " / ".join(f"{value:g}" for value in dict.fromkeys(action.reward.tolist()))
        gain = float(information(factor.prior[None, :], action, factor)[0])
        rows.append([action.name, action.kind, "" if action.kind == "move" else factor.name, rewards, number(gain)])
    headings = ["action", "kind", "concerns", "rewards", "information (nats)"]
    show_rows(headings, rows, title="Actions at the start")
    for name, value in problem.details.items():
        out.print("\n".join(_notes(value)) if name == "info" else f"{name}: {value}")
