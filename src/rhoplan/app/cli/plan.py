"""`rhoplan decide`, `evaluate` and `report`: what to do, how good that is, a page to print."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import (
    BETWEEN_PAIRS,
    bar,
    check_page,
    console,
    json_option,
    load_problem,
    number,
    one_agent,
    option,
    percent,
    print_ceiling,
    print_cut_off,
    print_discount,
    print_json,
    problem_argument,
    progress,
    settings_line,
    share,
    show_rows,
    signed,
    weight_of,
    with_adviser,
    with_agents,
    with_decider,
)
from rhoplan.app.cli.origin import author_option, origin
from rhoplan.app.records import decision_record, one_or_more, score_record

if TYPE_CHECKING:
    from rhoplan.agents.agent import BoundAgent
    from rhoplan.evaluation.score import Score
    from rhoplan.model.pomdp import POMDP
    from rhoplan.planning.recommendation import ActionValue, Recommendation

MOST_ROWS, MOST_NAMED = 10, 3
"""Rows of a table and names in a sentence that are shown; the others are counted."""

LEFT_OPEN = "the bounds leave others open"
"""Why bounds do not prove an action best."""


@click.command("decide")
@problem_argument
@click.option("--given", multiple=True, help="Evidence so far, in order: test=outcome,test=outcome. May be repeated.")
@option("--seed", type=click.IntRange(min=0), default=0, help="For planners that sample.")
@with_decider
@json_option
def decide_command(problem: POMDP, agents: list[BoundAgent], given: tuple[str, ...], seed: int, as_json: bool) -> None:
    """What to do next in PROBLEM, and why: every action's value in parts that add up."""
    from rhoplan.agents.agent import decide

    agent, evidence = one_agent(agents), [pair for text in given for pair in parse_evidence(text)]
    situation = problem.belief(given=evidence)
    decision = decide(problem, agent, situation, seed=seed)
    record = decision_record(problem, agent, decision, evidence, situation)
    if as_json:
        print_json(record)
    elif "bounds" in record and decision.bounds is None:
        print_certified(problem, agent, decision, evidence, record)
    else:
        print_decision(problem, agent, decision, evidence, record["beside"])


def parse_evidence(text: str) -> list[tuple[str, str]]:
    """Pairs of test and outcome from `test=outcome,test=outcome`; a comma that no `test=` follows is the outcome's."""
    pairs = []
    for item in filter(None, (part.strip(", \t\n") for part in BETWEEN_PAIRS.split(text))):
        test, equals, outcome = (part.strip() for part in item.partition("="))
        if not equals or not test or not outcome:
            raise click.UsageError(f"evidence must read test=outcome; it reads '{item}'")
        pairs.append((test, outcome))
    return pairs


def print_certified(
    problem: POMDP,
    agent: BoundAgent,
    decision: Recommendation,
    evidence: list[tuple[str, str]],
    found: dict[str, Any],
) -> None:
    print_belief(problem, agent, decision, evidence)
    bounds: dict[str, list[float]] = found["bounds"]
    unknown = [name for name, (_, high) in bounds.items() if math.isinf(high)]
    print_choice(decision, found["proven"], "not every action has an upper bound" if unknown else LEFT_OPEN)
    console().print(f"{found['beside']}\n")
    order = sorted(bounds, key=lambda name: (name != decision.choice, -bounds[name][1], -bounds[name][0]))
    rows = [[name, *map(known, bounds[name])] for name in order]
    show_rows(["action", "at least", "at most"], rows, numbers=1, most=MOST_ROWS, bold=0)
    goal = f" + {agent.weight:g} per nat of information" if agent.weight else ""
    what = "lower bounds, and upper ones where they are known," if unknown else "bounds"
    console().print(f"certified {what} on what each is worth, the best plan afterwards: {problem.unit}{goal}")


def known(bound: float) -> str:
    """A bound, or that there is none."""
    return signed(bound) if math.isfinite(bound) else "not known"


def print_choice(decision: Recommendation, proven: str | None, why: str) -> None:
    """What to do next, and whether bounds prove that nothing is better, or why they do not."""
    sure = "proven best" if proven == decision.choice else f"not proven best: {why}"
    console().print(f"Do next: {decision.choice} ({sure})")


def print_decision(
    problem: POMDP, agent: BoundAgent, decision: Recommendation, evidence: list[tuple[str, str]], beside: str
) -> None:
    out, bounds = console(), decision.bounds
    print_belief(problem, agent, decision, evidence)
    if bounds is None:
        out.print(f"Do next: {decision.choice}")
    else:
        print_choice(decision, decision.proven, LEFT_OPEN)
    out.print(f"{beside}\n")
    headings = ["action", "kind", "reward", "information", "x weight", "continuation", "value"]
    by_chance = not math.isinf(agent.precision)
    most = {action.name: action.value if bounds is None else bounds[action.name][1] for action in decision.actions}
    rows = []
    for action in sorted(decision.ranking, key=lambda one: (one.name != decision.choice, bounds and -most[one.name])):
        cells = [signed(action.reward), number(action.information), signed(action.weighted_information)]
        tried = math.isfinite(action.value)
        cells += [signed(action.continuation), signed(action.value)] if tried else ["not tried", ""]
        cells += [signed(most[action.name])] if bounds else []
        rows.append([action.name, action.kind, *cells, *([percent(action.probability)] if by_chance else [])])
    more = f"action{'s' * (len(rows) > MOST_ROWS + 1)}"
    caption = f"... and {{}} {more} of lower value" if bounds is None else f"... and {{}} more {more}"
    shown = [*headings, *(["at most"] if bounds else []), *(["probability"] if by_chance else [])]
    show_rows(shown, rows, numbers=2, most=MOST_ROWS, caption=caption, bold=0)
    out.print(f"reward + x weight + continuation = value, in {problem.unit}; information in nats")
    if bounds:
        out.print("certified bounds: the best plan that begins so is worth at least the value, at most the last number")
    print_changing([one for one in decision.actions if one.kind == "test" and not one.preserves_hidden_state])


def print_changing(tests: list[ActionValue]) -> None:
    """Say which tests can change what they measure: one sentence for all."""
    if not tests:
        return
    names = [f"'{test.name}'" for test in tests[:MOST_NAMED]]
    more = f" and {len(tests) - len(names)} more" if len(tests) > len(names) else ""
    it, measures, up_to = ("it", "it measures", "") if len(tests) == 1 else ("them", "they measure", "up to ")
    console().print(
        f"{', '.join(names)}{more} can change what {measures}: the EFE equivalence (Proposition 3) does not apply to "
        f"{it}; coupling {up_to}{max(test.coupling for test in tests):.4f} nats. The plan uses the full update."
    )


def print_belief(problem: POMDP, agent: BoundAgent, decision: Recommendation, evidence: list[tuple[str, str]]) -> None:
    out = console()
    seen = ", ".join(f"{test}={outcome}" for test, outcome in evidence) or "nothing yet"
    out.print(f"{problem.name}, {agent_line(agent, problem)}; seen: {seen}\n")
    for state, probability in belief_lines(decision):
        out.print(f"  {state:<24} {bar(probability, 30):<30} {percent(probability)}")
    bits = decision.entropy / math.log(2)
    out.print(f"  uncertainty {decision.entropy:.4f} nats ({bits:.4f} bits)\n")


def belief_lines(decision: Recommendation) -> list[tuple[str, float]]:
    """The likeliest states of the one hidden factor, or of several factors the likeliest state of each.

    Of many states the impossible ones and all but the likeliest are folded into one line; of many factors those that
    are best known.
    """
    from rhoplan.advice.words import likeliest

    if len(decision.beliefs) > 1:
        tops = {name: likeliest(belief)[0] for name, belief in decision.beliefs.items()}
        open_ones = set(sorted(tops, key=lambda name: tops[name][1])[:MOST_ROWS])
        least = min((tops[name][1] for name in tops if name not in open_ones), default=None)
        lines = [(f"{name} {tops[name][0]}", tops[name][1]) for name in tops if name in open_ones]
        folded = f"({len(tops) - len(lines)} more factors, each at least)"
        return lines if least is None else [*lines, (folded, least)]
    beliefs = likeliest(decision.belief)
    if len(beliefs) <= MOST_ROWS:
        return beliefs
    shown = [line for line in beliefs[:MOST_ROWS] if line[1] > 0]
    return [*shown, (f"({len(beliefs) - len(shown)} more states)", sum(share for _, share in beliefs[len(shown) :]))]


def agent_line(agent: BoundAgent, problem: POMDP) -> str:
    """The agent and its settings in a few words."""
    unit = "nat" if agent.unit == "nats" else "bit"
    weight = f"weight {agent.weight:g} {problem.unit} per {unit}"
    return f"{agent.name}, horizon {agent.horizon}, {weight}{settings_line(agent)}"


@click.command("evaluate")
@problem_argument
@click.option("--world", help="PROBLEM that draws states and outcomes, where it is not the agent's model.")
@click.option("--cap", type=click.IntRange(min=1), help="Steps after which an episode is cut off.  [default: 200]")
@option("--time-limit", type=click.FloatRange(min=0, min_open=True), default=120.0, help="Seconds for exact scores.")
@option("--memory", type=click.FloatRange(min=0, min_open=True), default=2.0, help="GB that the belief graph may take.")
@with_agents
@json_option
def evaluate_command(
    problem: POMDP,
    agents: list[BoundAgent],
    world: str | None,
    cap: int | None,
    time_limit: float,
    memory: float,
    as_json: bool,
) -> None:
    """Exact score of an agent in PROBLEM: no episode is simulated.

    If the limit of time or memory is reached, the score is estimated from episodes, and a note says so.
    """
    from rhoplan.api import evaluate

    truth = load_problem(world) if world else None
    named = {str(place): agent for place, agent in enumerate(agents)}
    with progress() as tell:
        found = evaluate(
            problem, named, world=truth, max_steps=cap, memory=memory * 1e9, seconds=time_limit,
            progress=lambda done: tell(f"the exact score: {done}"), fallback="simulate",
        )  # fmt: skip
    scores = list(found.values())
    for agent, score in zip(agents, scores, strict=True):
        if score.kind != "exact":
            limits = f"{time_limit:g} s or {memory:g} GB"
            note = f"the exact score needs more than {limits}; it is estimated from {score.episodes:,} episodes"
            click.echo(f"note: {agent.name}: {note}", err=True)
    if as_json:
        print_json(one_or_more([score_record(problem, a, s, truth) for a, s in zip(agents, scores, strict=True)]))
    else:
        print_scores(problem, agents, scores, truth)
        print_discount(truth or problem, agents)
        print_cut_off(truth or problem, {a.name: s.truncated for a, s in zip(agents, scores, strict=True)}, cap)
        print_ceiling(truth or problem)


def print_scores(problem: POMDP, agents: list[BoundAgent], scores: list[Score], world: POMDP | None) -> None:
    where = f" in the world of {world.spec}" if world else ""
    kinds = " and ".join(dict.fromkeys(score.kind for score in scores))
    title = f"{problem.spec}{where}: {kinds} scores, rewards in {problem.unit}{settings_line(agents[0])}"
    columns = [score_cells(score, world or problem) for score in scores]
    rows = [[a.name, str(a.horizon), weight_of(a), *c.values()] for a, c in zip(agents, columns, strict=True)]
    show_rows(["agent", "H", "weight", *columns[0]], rows, title=title, numbers=1)
    out = console()
    if len(scores) == 1:
        out.print("number of tests and how often:")
        for tests, share in usual_counts(scores[0].tests_distribution):
            out.print(f"  {tests:>4}  {bar(share, 50):<50} {percent(share)}")


def score_cells(score: Score, problem: POMDP) -> dict[str, str]:
    """What a line of the table says of a score; columns that the problem does not have are left out."""
    error = f" ± {number(score.se['reward'])}" if score.se else ""
    cells = {"reward": signed(score.reward) + error, "sd": number(score.reward_sd)}
    cells |= {"discounted": signed(score.discounted)} if problem.discount < 1 else {}
    cells |= {"tests": number(score.tests)}
    cells |= {"success": percent(score.success), "cut off": percent(score.truncated)}
    cells |= {"log score": number(score.log_score)}
    cells |= {name.replace("_", " "): number(value) for name, value in score.tallies.items()}
    missing = {"sd": score.reward_sd, "success": score.success, "log score": score.log_score}
    return {name: text for name, text in cells.items() if not math.isnan(missing.get(name, 0.0))}


def usual_counts(distribution: tuple[float, ...], rows: int = 12) -> list[tuple[int, float]]:
    """The most probable numbers of tests, in order of number."""
    ranked = sorted(enumerate(distribution), key=lambda pair: -pair[1])[:rows]
    return sorted((tests, share) for tests, share in ranked if share >= 5e-5)


def _part(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A share of cases above 0; None where nobody gives one."""
    found = None if value is None else share(ctx, param, value)
    if found is not None and not 0 < found <= 1:
        raise click.BadParameter(f"a share of cases must be above 0 and at most 1; it is {value}")
    return found


@click.command("report")
@problem_argument
@option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    help="Where the page goes; .svg, .mmd and .txt are written beside it.",
)
@option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    default=None,
    help="Seconds for the search of what would change the first action, nearest changes first.  "
    "[default: a fixed amount of work, some seconds]",
)
@click.option(
    "--smallest",
    callback=_part,
    metavar="SHARE",
    help="Share of cases below which a branch of the pathway is folded into one line, such as 0.01 or 1%.  "
    "[default: 0.1%, and what is beyond 200 lines]",
)
@author_option
@with_adviser
def report_command(
    problem: POMDP, agents: list[BoundAgent], out: Path, budget: float | None, smallest: float | None, author: str
) -> None:
    """Write a printable report on PROBLEM: the recommended pathway, what it costs, and what would change it."""
    from rhoplan.present.content import make_report
    from rhoplan.present.page.page import write_report

    if budget is not None and math.isnan(budget):
        raise click.UsageError("--budget must be a number of seconds; it is nan")
    check_page(out, "--out", problem.spec)
    with progress() as tell:
        report = make_report(problem, one_agent(agents), budget=budget, smallest=smallest, progress=tell)
    try:
        written = write_report(report, out, origin(problem, author))
    except OSError as error:
        raise click.UsageError(f"cannot write '{out}': {error.strerror or error}") from None
    console().print(f"First: {report.advice.do} ({report.advice.beside}). Written: {', '.join(map(str, written))}")
