"""`rhoplan decide`, `evaluate` and `solve`: what to do next, how good that is exactly, and the certified optimum."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import (
    agent_options,
    agent_settings,
    bar,
    console,
    json_option,
    load_agents,
    load_problem,
    number,
    percent,
    print_ceiling,
    print_cut_off,
    print_json,
    problem_argument,
    settings_line,
    show_table,
    signed,
    weight_options,
)
from rhoplan.app.records import decision_record, score_record, solution_record

if TYPE_CHECKING:
    from rhoplan.agents.agent import Agent
    from rhoplan.agents.policy import Decision
    from rhoplan.model.problem import Problem
    from rhoplan.scoring.evaluate import Score

MOST_ROWS = 10


@click.command("decide")
@problem_argument
@click.option("--given", multiple=True, help="Evidence so far, in order: test=outcome,test=outcome. May be repeated.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For planners that sample.")
@agent_options
@json_option
def decide_command(problem: str, given: tuple[str, ...], seed: int, agent: str, as_json: bool, **options: Any) -> None:
    """What to do next in PROBLEM, and why: every action's value in parts that add up."""
    from rhoplan.agents.policy import decide
    from rhoplan.belief.situation import observe_all

    loaded = load_problem(problem)
    chosen = _one_agent(agent, loaded, options)
    evidence = [pair for text in given for pair in parse_evidence(text)]
    decision = decide(loaded, chosen, observe_all(loaded, evidence), seed=seed)
    if as_json:
        print_json(decision_record(loaded, chosen, decision, evidence))
    else:
        print_decision(loaded, chosen, decision, evidence)


def _one_agent(name: str, problem: Problem, options: dict[str, Any]) -> Agent:
    agents = load_agents(name, problem, agent_settings(options))
    if len(agents) != 1:
        raise click.UsageError("this command takes one agent at a time")
    return agents[0]


def parse_evidence(text: str) -> list[tuple[str, str]]:
    """Pairs of test and outcome from `test=outcome,test=outcome`."""
    pairs = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        test, equals, outcome = (part.strip() for part in item.partition("="))
        if not equals or not test or not outcome:
            raise click.UsageError(f"evidence must read test=outcome; it reads '{item}'")
        pairs.append((test, outcome))
    return pairs


def print_decision(problem: Problem, agent: Agent, decision: Decision, evidence: list[tuple[str, str]]) -> None:
    from rich.table import Table

    out = console()
    seen = ", ".join(f"{test}={outcome}" for test, outcome in evidence) or "nothing yet"
    out.print(f"{problem.name}, {agent_line(agent, problem)}; seen: {seen}\n")
    for state, probability in belief_lines(decision):
        out.print(f"  {state:<24} {bar(probability, 30):<30} {percent(probability)}")
    bits = decision.entropy / math.log(2)
    out.print(f"  uncertainty {decision.entropy:.4f} nats ({bits:.4f} bits)\n")
    margin = f", by {number(decision.margin)} {problem.unit} over {decision.runner_up}" if decision.runner_up else ""
    out.print(f"Do next: {decision.choice}{margin}\n")
    table = Table("action", "kind", "reward", "information", "x weight", "continuation", "value")
    for column in table.columns[2:]:
        column.justify = "right"
    if not math.isinf(agent.precision):
        table.add_column("probability", justify="right")
    listed = sorted(decision.ranking, key=lambda action: action.name != decision.choice)
    for action in listed[:MOST_ROWS]:
        cells = [signed(action.reward), number(action.information), signed(action.weighted_information)]
        tried = math.isfinite(action.value)
        cells += [signed(action.continuation), signed(action.value)] if tried else ["not tried", ""]
        if not math.isinf(agent.precision):
            cells.append(percent(action.probability))
        style = "bold" if action.name == decision.choice else None
        table.add_row(action.name, action.kind, *cells, style=style)
    if len(listed) > MOST_ROWS:
        more = len(listed) - MOST_ROWS
        table.caption = f"... and {more} action{'s' * (more > 1)} of lower value"
    show_table(table)
    out.print(f"reward + x weight + continuation = value, in {problem.unit}; information in nats")
    for action in decision.actions:
        if action.kind == "test" and not action.preserves_hidden_state:
            out.print(
                f"'{action.name}' can change what it measures: the EFE equivalence (Proposition 3) does not "
                f"apply to it; coupling {action.coupling:.4f} nats. The plan uses the full update."
            )


def belief_lines(decision: Decision) -> list[tuple[str, float]]:
    """The likeliest states of the one hidden factor, or of several factors the likeliest state of each."""
    from rhoplan.advice.words import likeliest

    if len(decision.beliefs) > 1:
        tops = {name: likeliest(belief)[0] for name, belief in decision.beliefs.items()}
        return [(f"{name} {state}", probability) for name, (state, probability) in tops.items()]
    beliefs = likeliest(decision.belief)
    rest = beliefs[MOST_ROWS:]
    more = [(f"({len(rest)} more states)", sum(probability for _, probability in rest))] if rest else []
    return beliefs[:MOST_ROWS] + more


def agent_line(agent: Agent, problem: Problem) -> str:
    """The agent and its settings in a few words."""
    unit = "nat" if agent.unit == "nats" else "bit"
    weight = f"weight {agent.weight:g} {problem.unit} per {unit}"
    return f"{agent.name}, horizon {agent.horizon}, {weight}{settings_line(agent)}"


@click.command("evaluate")
@problem_argument
@click.option("--world", help="PROBLEM that draws states and outcomes, where it is not the agent's model.")
@click.option("--cap", type=click.IntRange(min=1), help="Steps after which an episode is cut off.  [default: 200]")
@agent_options
@json_option
def evaluate_command(
    problem: str, world: str | None, cap: int | None, agent: str, as_json: bool, **options: Any
) -> None:
    """Exact score of an agent in PROBLEM: no episode is simulated."""
    from rhoplan.scoring.evaluate import evaluate

    loaded = load_problem(problem)
    agents = load_agents(agent, loaded, agent_settings(options))
    truth = load_problem(world) if world else None
    scores = [evaluate(loaded, chosen, world=truth, cap=cap) for chosen in agents]
    if as_json:
        records = [score_record(loaded, a, s, truth) for a, s in zip(agents, scores, strict=True)]
        print_json(records[0] if len(records) == 1 else records)
    else:
        print_scores(loaded, agents, scores, truth)
        print_cut_off(truth or loaded, {a.name: s.truncated for a, s in zip(agents, scores, strict=True)}, cap)
        print_ceiling(loaded)


def print_scores(problem: Problem, agents: list[Agent], scores: list[Score], world: Problem | None) -> None:
    from rich.table import Table

    out = console()
    where = f" in the world of {world.spec}" if world else ""
    table = Table(
        "agent",
        title=f"{problem.spec}{where}: exact scores, rewards in {problem.unit}{settings_line(agents[0])}",
        title_justify="left",
    )
    columns = [score_cells(score, world or problem) for score in scores]
    for heading in ("H", "weight", *columns[0]):
        table.add_column(heading, justify="right")
    for agent, cells in zip(agents, columns, strict=True):
        weight = f"{agent.weight:g}/{'nat' if agent.unit == 'nats' else 'bit'}"
        table.add_row(agent.name, str(agent.horizon), weight, *cells.values())
    show_table(table)
    if len(scores) == 1:
        out.print("number of tests and how often:")
        for tests, share in usual_counts(scores[0].tests_distribution):
            out.print(f"  {tests:>4}  {bar(share, 50):<50} {percent(share)}")


def score_cells(score: Score, problem: Problem) -> dict[str, str]:
    """What a line of the table says of a score; columns that the problem does not have are left out."""
    cells = {"reward": signed(score.reward), "sd": number(score.reward_sd)}
    cells |= {"discounted": signed(score.discounted)} if problem.discount < 1 else {}
    cells |= {"tests": number(score.tests)}
    cells |= {"success": percent(score.success), "cut off": percent(score.truncated)}
    cells |= {"log score": number(score.log_score)}
    cells |= {name.replace("_", " "): number(value) for name, value in score.tallies.items()}
    missing = {"sd": score.reward_sd, "success": score.success, "log score": score.log_score}
    return {name: text for name, text in cells.items() if problem.is_flat or not math.isnan(missing.get(name, 0.0))}


def usual_counts(distribution: tuple[float, ...], rows: int = 12) -> list[tuple[int, float]]:
    """The most probable numbers of tests, in order of number."""
    ranked = sorted(enumerate(distribution), key=lambda pair: -pair[1])[:rows]
    return sorted((tests, share) for tests, share in ranked if share >= 5e-5)


@click.command("solve")
@problem_argument
@weight_options
@click.option("--gap", type=float, default=1e-3, show_default=True, help="How close the bounds must come.")
@click.option("--time-limit", type=float, default=600.0, show_default=True, help="Seconds to work at most.")
@click.option("--memory", type=float, default=4.0, show_default=True, help="GB the graph may take.")
@json_option
def solve_command(
    problem: str,
    weight: float | None,
    unit: str,
    discount: float | None,
    gap: float,
    time_limit: float,
    memory: float,
    as_json: bool,
) -> None:
    """The optimal plan of PROBLEM with no horizon limit, between certified bounds. Weight 0 unless given."""
    from rhoplan.belief.information import per_nat
    from rhoplan.planning.certified.solve import solve

    loaded = load_problem(problem)
    if not (time_limit > 0 and 0 < memory < math.inf):
        raise click.UsageError("--time-limit and --memory must be numbers above 0")
    weight = 0.0 if weight is None else weight
    discount = loaded.discount if discount is None else discount
    out = console()

    def tell(lower: float, upper: float, nodes: int) -> None:
        if not as_json and out.is_terminal:
            out.print(f"  between {lower:.6f} and {upper:.6f}, {nodes:,} nodes", style="dim")

    solution = solve(
        loaded, weight=per_nat(weight, unit), discount=discount, gap=gap, seconds=time_limit,
        memory=memory * 1e9, progress=tell,
    )  # fmt: skip
    if as_json:
        print_json(solution_record(loaded, solution, weight=weight, unit=unit, discount=discount))
        return
    goal = "reward" if not weight else f"reward + {weight:g} {loaded.unit} per {unit[:-1]} of information"
    goal += f", discount {discount:g}" if discount != 1 else ""
    out.print(f"{loaded.spec}: best plan with no horizon limit for {goal}", style="bold")
    gap_found = f"(gap {solution.upper - solution.lower:.1e})"
    out.print(f"  value    between {solution.lower:.6f} and {solution.upper:.6f} {gap_found}")
    if not solution.converged:
        out.print(f"  the bounds did not meet within {gap:g}: {solution.stopped_by} ran out", style="bold")
    undiscounted = " (not discounted)" if discount != 1 else ""
    out.print(
        f"  the plan behind the lower bound: reward {signed(solution.reward)}{undiscounted}, "
        f"tests {number(solution.tests)}, success {percent(solution.success)}, first action {solution.first}"
    )
    print_cut_off(loaded, {"  that plan": solution.truncated}, None)
    work = f"{solution.symmetries} symmetries, {solution.rounds} rounds, {solution.seconds:.1f} s"
    out.print(f"  {solution.nodes:,} nodes, {work}")
