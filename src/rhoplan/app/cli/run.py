"""`rhoplan simulate` and `rhoplan sweep`: episodes, and scores over a range of settings."""

from __future__ import annotations

import math
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import (
    agent_options,
    agent_settings,
    console,
    json_option,
    load_problem,
    number,
    option,
    percent,
    print_ceiling,
    print_cut_off,
    print_discount,
    print_json,
    problem_argument,
    settings_line,
    show_rows,
    signed,
    weight_of,
    with_agents,
)
from rhoplan.app.records import estimate_record, one_or_more

if TYPE_CHECKING:
    from rhoplan.agents.agent import BoundAgent
    from rhoplan.evaluation.score import Score
    from rhoplan.model.pomdp import POMDP


def parse_seeds(text: str) -> tuple[int, ...]:
    try:
        seeds = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.UsageError(f"seeds must be whole numbers with commas between them; they read '{text}'") from None
    if len(set(seeds)) < len(seeds):
        raise click.UsageError(f"seeds must differ, or episodes would count twice; they read '{text}'")
    return seeds


@click.command("simulate")
@problem_argument
@click.option("--world", help="PROBLEM that draws states and outcomes, where it is not the agent's model.")
@option("--seeds", default="42,123,456,789,1024", help="Seeds, with commas.")
@option("--episodes", type=int, default=1000, help="Episodes for each seed.")
@click.option("--cap", type=click.IntRange(min=1), help="Steps after which an episode is cut off.  [default: 200]")
@option("--jobs", type=int, default=1, help="Processes to use.")
@click.option("--cluster", metavar="ADDRESS", help="Work on the Dask cluster whose scheduler listens at ADDRESS.")
@with_agents
@json_option
def simulate_command(
    problem: POMDP,
    agents: list[BoundAgent],
    world: str | None,
    seeds: str,
    cap: int | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Score of an agent in PROBLEM estimated from seeded episodes, with standard errors."""
    from rich.console import Console
    from rich.progress import Progress

    from rhoplan.evaluation.simulate import simulate

    truth, numbers = load_problem(world) if world else None, parse_seeds(seeds)
    estimates, errors = [], Console(stderr=True)
    with Progress(console=errors, transient=True, disable=as_json or not errors.is_terminal) as bar:
        for agent in agents:
            advance = partial(bar.advance, bar.add_task(agent.name, total=how["episodes"] * len(numbers)))
            how |= {"max_steps": cap, "progress": advance}
            estimates.append(simulate(problem, agent.policy(problem), world=truth, seeds=numbers, **how))
    if as_json:
        told = [estimate_record(problem, a, e, truth) for a, e in zip(agents, estimates, strict=True)]
        print_json(one_or_more(told))
    else:
        print_estimates(problem, agents, estimates, truth)
        print_errors_from(agents, estimates)
        print_discount(truth or problem, agents)
        print_cut_off(truth or problem, {a.name: e.truncated for a, e in zip(agents, estimates, strict=True)}, cap)
        print_ceiling(truth or problem)
    warn_of_unseen_losses(problem, agents, estimates)


def print_estimates(problem: POMDP, agents: list[BoundAgent], estimates: list[Score], world: POMDP | None) -> None:
    first = estimates[0]
    where = f" in the world of {world.spec}" if world else ""
    seeds = ", ".join(map(str, first.seeds))
    what = f"mean ± standard error, {problem.unit}{settings_line(agents[0])}"
    episodes = "1 episode, seed" if first.episodes == 1 else f"{first.episodes:,} episodes, seeds"
    title = f"{problem.spec}{where}: {episodes} {seeds}; {what}"
    factored, fades = math.isnan(first.log_score), (world or problem).discount < 1
    last = (["discounted"] if fades else []) + (["steps", *first.tallies] if factored else ["log score"])
    rated = ["success"] if any(not math.isnan(row.success) for row in estimates) else []
    rows = []
    for agent, row in zip(agents, estimates, strict=True):
        success = "" if math.isnan(row.success) else f"{percent(row.success)} ± {100 * row.se['success']:.2f}"
        names = (["discounted"] if fades else []) + (["steps", *row.tallies] if factored else ["log_score"])
        more = [(row.quantities.get(name, math.nan), row.se[name]) for name in names]
        cells = [_give_or_take(signed(row.reward, 3), row.se["reward"])]
        cells += [_give_or_take(number(row.tests, 3), row.se["tests"])]
        cells += [success] if rated else []
        cells += [percent(row.truncated), *(_give_or_take(number(mean, 3), error) for mean, error in more)]
        rows.append([agent.name, str(agent.horizon), weight_of(agent), *cells])
    headings = [
        heading.replace("_", " ") for heading in ("agent", "H", "weight", "reward", "tests", *rated, "cut off", *last)
    ]
    show_rows(headings, rows, title=title, numbers=1)


def _give_or_take(mean: str, error: float) -> str:
    """A mean with its standard error, where it has one."""
    return mean if math.isnan(error) else f"{mean} ± {error:.3f}"


def print_errors_from(agents: list[BoundAgent], estimates: list[Score]) -> None:
    """A line that says where the standard errors come from."""
    exact = [agent.name for agent, row in zip(agents, estimates, strict=True) if row.se_from == "exact"]
    alone = estimates[0].episodes == 1
    if not exact:
        told = "one episode has no standard error" if alone else "standard errors come from the episodes"
        console().print(told)
        return
    which = "" if len(exact) == len(agents) else f" of {', '.join(exact)}"
    others = "one episode has none for the rest" if alone else "those of the log score from the episodes"
    console().print(f"standard errors{which} come from the exact spread, {others}")


def warn_of_unseen_losses(problem: POMDP, agents: list[BoundAgent], estimates: list[Score]) -> None:
    """A line on the error stream for each agent whose largest possible loss was not met."""
    from rhoplan.advice.words import money, one_in

    for agent, row in zip(agents, estimates, strict=True):
        if row.unseen_loss is not None:
            unseen, unit = row.unseen_loss, problem.unit
            click.echo(
                f"warning: {agent.name}: the worst that an action taken can pay, {money(unseen.reward, unit)}, came up "
                f"in none of {row.episodes:,} episodes (the worst was {money(unseen.worst_seen, unit)}; by the agent's "
                f"beliefs its chance is {one_in(unseen.chance)}): mean and standard error leave it out; run more "
                "episodes",
                err=True,
            )


@click.command("sweep")
@problem_argument
@click.option(
    "--over",
    required=True,
    help="What to vary: NAME=1,2,5 or NAME=FROM:TO:STEP. NAME is weight, horizon, discount or a parameter of PROBLEM.",
)
@click.option("--out", type=click.Path(), help="Where to write OUT.csv and OUT.png.  [default: sweep-PROBLEM-NAME]")
@partial(agent_options, agent=None, otherwise="planning-ig where the weight is swept, else efe")
@json_option
def sweep_command(problem: str, over: str, out: str | None, agent: str | None, as_json: bool, **options: Any) -> None:
    """Exact scores of agents in PROBLEM over a range of one setting, as a table, a CSV file and a plot."""
    from rhoplan.agents.agent import AGENTS
    from rhoplan.app.sweep import sweep, write_sweep

    settings = agent_settings(options)
    name, values = parse_range(over)
    agent = agent or ("planning-ig" if name == "weight" else "efe")
    names = list(AGENTS) if agent == "all" else [part.strip() for part in agent.split(",")]
    rows, notes = sweep(problem, names, name, values, settings)
    stem = Path(problem.partition(":")[0]).stem
    target = Path(out) if out else Path(f"sweep-{stem}-{name}")
    title = f"{problem}, weights per {settings['unit'][:-1]}"
    files, undrawn = write_sweep(rows, name, target, title=title, command=shlex.join(["rhoplan", *sys.argv[1:]]))
    for note in [*(notes if agent != "all" else ()), *undrawn]:
        click.echo(f"note: {note}", err=True)
    if as_json:
        print_json({"problem": problem, "over": name, "kind": "exact", "files": [str(f) for f in files], "rows": rows})
        return
    print_sweep(problem, name, rows)
    shares = {f"{name} {row['setting']}, {row['agent']}": row["truncated"] for row in rows}
    print_cut_off(load_problem(problem), shares, None)
    for file in files:
        click.echo(f"wrote {file}")


MOST_VALUES = 10_000


def parse_range(text: str) -> tuple[str, list[str]]:
    """Name and values of `name=1,2,5` or `name=from:to:step`."""
    name, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not values:
        raise click.UsageError(f"--over must read NAME=VALUES; it reads '{text}'")
    if ":" not in values:
        return name, [value.strip() for value in values.split(",") if value.strip()]
    try:
        ends = [float(part) for part in values.split(":")]
    except ValueError:
        raise click.UsageError(f"a range must read FROM:TO or FROM:TO:STEP; it reads '{values}'") from None
    start, stop, step = (*ends, 1.0)[:3] if len(ends) in (2, 3) else (0.0, -1.0, 1.0)
    if not all(map(math.isfinite, ends)) or step <= 0 or stop < start or (stop - start) / step > MOST_VALUES:
        raise click.UsageError(f"a range must run upwards from FROM to TO in steps above 0; it reads '{values}'")
    count = math.floor((stop - start) / step + 1e-9) + 1
    return name, [f"{start + i * step:.12g}" for i in range(count)]


def print_sweep(problem: str, name: str, rows: list[dict[str, Any]]) -> None:
    from rhoplan.present.plots import swept

    columns = swept(rows)
    cells = []
    for row in rows:
        told = {"reward": signed(row["reward"]), "discounted": signed(row["discounted"]), "tests": number(row["tests"])}
        told["success"] = percent(row["success"])
        whose = [str(row["setting"]), row["agent"], str(row["horizon"]), f"{row['weight']:g}/{row['unit'][:-1]}"]
        cells.append([*whose, *(told[column] for column in columns), percent(row["truncated"])])
    headings = [name, "agent", "H", "weight", *columns, "cut off"]
    show_rows(headings, cells, title=f"{problem}: exact scores over {name}", numbers=2)
