"""What each address of the API computes, inside a worker: the same calls and records as the command line.

Every task takes the source of the problem, what the request said, and the shelf with the problems at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rhoplan.agents.agent import AGENTS, Agent, make_agent
from rhoplan.agents.policy import decide
from rhoplan.agents.settings import SETTINGS
from rhoplan.app.records import (
    advice_record,
    catalogue_record,
    comparison_record,
    decision_record,
    parameter_records,
    problem_record,
    score_record,
    solution_record,
)
from rhoplan.app.serve.overrides import overridden
from rhoplan.app.serve.sources import Source
from rhoplan.app.serve.worker import Shelf
from rhoplan.belief.situation import available, branch, initial, observe, observe_all
from rhoplan.errors import AgentError, EvidenceError, ProblemError, RhoplanError
from rhoplan.graph.graph import shared_graph
from rhoplan.model.observe_then_commit import Done
from rhoplan.model.problem import END, Problem

if TYPE_CHECKING:
    from rhoplan.advice.journal import Case

Request = dict[str, Any]
Evidence = list[tuple[str, str]]

SHARE_OF_LIMIT = 0.7
"""Part of the time limit after which work that can stop with what it has does stop."""


def catalogue(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """Everything that ships with rhoplan."""
    return catalogue_record()


def model(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """One problem: its numbers, its text where it can be written as a model file, and what a page needs to show it."""
    problem = _named("problem", source, shelf)
    from rhoplan.advice.variations import stake

    text, language = source.text if problem.is_flat else None, source.language
    if text is None and problem.is_flat:
        from rhoplan.problems.registry import WORKED_MODELS

        shipped = WORKED_MODELS.get(source.name)
        if shipped is not None:
            text = shipped.read_text(encoding="utf-8")
        else:
            from rhoplan.io.model_file import write_model

            text = write_model(problem)
    return {
        "problem": source.name,
        "title": problem.name,
        "flat": problem.is_flat,
        "reward_unit": problem.unit,
        "reward_scale": problem.reward_scale,
        "horizon": problem.horizon,
        "cap": problem.cap,
        "states": list(problem.states),
        "grid": problem.details.get("grid"),
        "places": problem.details.get("places"),
        "stake": stake(problem) if problem.is_flat else None,
        "info": problem.details.get("info"),
        "agents": [*AGENTS, *problem.rules],
        "language": language,
        "text": text,
        "digest": _digest(problem),
        "record": problem_record(problem),
    }


def check(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """What an uploaded model consists of, if it is sound."""
    problem = shelf.problem(source)
    menu = problem.flat
    return {
        "name": source.name,
        "title": problem.name,
        "states": len(problem.states),
        "tests": len(menu.tests),
        "commits": len(menu.commits),
        "horizon": problem.horizon,
    }


def decision(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """`rhoplan decide --json`."""
    problem = _named("problem", source, shelf)
    agent, given = _agent(problem, request), _evidence(request)
    found = decide(problem, agent, observe_all(problem, given), seed=request.get("seed", 0))
    return decision_record(problem, agent, found, given)


def situation(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """Where a case stands: what is visible, what is believed, what was paid, and what each action could show."""
    problem = _named("problem", source, shelf)
    here, paid = initial(problem), 0.0
    for test, outcome in _evidence(request):
        before, here = here, observe(problem, here, test, outcome)
        action = next(action for action in available(problem, before) if action.name == test)
        after = here.beliefs[action.factor] if action.transition is None else before.beliefs[action.factor]
        paid += float(after @ action.reward)
    return {
        "problem": problem.spec,
        "visible": None if here.visible is END else _plain(here.visible),
        "ended": here.visible is END,
        "paid": paid,
        "beliefs": {
            factor.name: dict(zip(factor.states, map(float, belief), strict=True))
            for factor, belief in zip(problem.factors, here.beliefs, strict=True)
        },
        "actions": [
            {
                "name": action.name,
                "kind": action.kind,
                "factor": problem.factors[action.factor].name,
                "reward": (reward := float(here.beliefs[action.factor] @ action.reward)),
                "cost": -reward + 0.0,
                "in_all": paid + reward,
                "outcomes": [
                    {"outcome": one.outcome, "probability": one.probability} for one in branch(problem, here, action)
                ],
            }
            for action in available(problem, here)
        ],
    }


def advice(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """The Case screen: what to do next, why, and how much longer."""
    problem = _named("problem", source, shelf)
    return _advice(problem, source.key, _agent(problem, request), request, shelf)


def journal(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """The line of the case log that `rhoplan advise --log` writes for a case with these entries."""
    from rhoplan.advice.journal import agent_of

    problem = _named("problem", source, shelf)
    agent = _agent(problem, request)
    case = _case(problem, source.key, agent, shelf)
    for place, entry in enumerate(request["entries"]):
        who = entry.pop("agent")
        try:
            case.ask(agent_of(who, problem) if who else agent)
            case.take({name: value for name, value in entry.items() if value is not None})
        except AgentError as error:  # the agent as a whole, or one of its settings
            raise error.within("entries", place, *([] if error.field == ("agent",) else ["agent"])) from None
        except EvidenceError as error:
            raise error.within("entries", place) from None
    case.ask(agent)
    return case.as_dict()


def replayed(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """`rhoplan replay --json`, and the last case, to go on with."""
    from rhoplan.advice.journal import agent_of
    from rhoplan.advice.replay import replay_text
    from rhoplan.belief.information import per_nat

    def start(record: dict[str, Any]) -> Case:
        kept = Source(record["problem"], record["model"])
        problem = shelf.problem(kept)
        return _case(problem, kept.key, agent_of(record["agent"], problem), shelf)

    try:
        cases, difference, last = replay_text(request["text"], "the text", case_of=start)
    except (ProblemError, AgentError) as error:
        raise RhoplanError(str(error), field=("text",)) from None
    if last is None:
        raise RhoplanError("the text must hold a case; it is empty", field=("text",))
    price = per_nat(last["agent"]["weight"], last["agent"]["unit"])
    return {"cases": cases, "difference": difference, "case": last, "weight_per_nat": price}


def evaluation(source: Source, request: Request, shelf: Shelf) -> Any:
    """`rhoplan evaluate --json`: one record, or a list of them for several agents."""
    from rhoplan.scoring.evaluate import evaluate

    problem = _named("problem", source, shelf)
    world = _named("world", request["world"], shelf) if request.get("world") else None
    agents = _agents(problem, request)
    scores = [evaluate(problem, agent, world=world, cap=request.get("cap")) for agent in agents]
    records = [score_record(problem, a, s, world) for a, s in zip(agents, scores, strict=True)]
    return records[0] if len(records) == 1 else records


def solution(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """`rhoplan solve --json`; stops within the time and memory of the server with the bounds it has."""
    from rhoplan.belief.information import per_nat
    from rhoplan.planning.certified.solve import solve

    problem = _named("problem", source, shelf)
    weight = request.get("weight") or 0.0
    unit, discount = request["unit"], request.get("discount")
    discount = problem.discount if discount is None else discount
    found = solve(
        problem,
        weight=per_nat(weight, unit),
        discount=discount,
        gap=request["gap"],
        seconds=min(request["time_limit"], SHARE_OF_LIMIT * request["seconds"]),
        memory=request["memory"],
    )
    return solution_record(problem, found, weight=weight, unit=unit, discount=discount)


def pathway(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """The recommended pathway as a tree."""
    from rhoplan.advice.pathway import pathway as draw

    problem, left = _named("problem", source, shelf), request.get("unavailable") or ()
    graph = shared_graph(_narrowed(problem, source.key, left, shelf))
    settings = {key: request[key] for key in ("smallest", "most_nodes") if request.get(key) is not None}
    found = draw(problem, _agent(problem, request), _evidence(request), unavailable=left, graph=graph, **settings)
    return found.as_dict()


def comparison(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """Ways of deciding side by side, and reward against success over the weight."""
    from rhoplan.advice.compare import compare, frontier

    problem = _named("problem", source, shelf)
    agent = _agent(problem, request)
    seconds = SHARE_OF_LIMIT / 2 * request["seconds"]
    rows = compare(problem, agent, seconds=min(5.0, seconds))
    edge = None
    if request.get("frontier", True):
        edge = frontier(problem, agent.horizon, high=request.get("high"), seconds=min(5.0, seconds))
    return comparison_record(problem, agent, rows, edge)


def what_if(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """Advice with other numbers, the advice without them, the numbers, and where the first action flips."""
    base = _named("problem", source, shelf)
    key, problem, agent = _changed(base, source.key, request, shelf)
    told = _advice(problem, key, agent, request, shelf)
    own = _agent(base, {**request, "weight": request.get("base_weight")})
    before = _advice(base, source.key, own, request, shelf)
    numbers, counts = parameter_records(problem, agent, (base, own), most=request["most"])
    found = None
    if request.get("flips", True):
        from rhoplan.advice.sensitivity import flips

        left, only = request.get("unavailable") or (), request.get("only")
        budget = min(request.get("budget") or 5.0, SHARE_OF_LIMIT * request["seconds"])
        found = [
            flip.as_dict()
            for flip in flips(problem, agent, _evidence(request), unavailable=left, only=only, budget=budget)
        ]
    return {
        "advice": told,
        "without_changes": before["do"],
        "changed": told["do"] != before["do"],
        "parameters": numbers,
        "counts": counts,
        "flips": found,
    }


def printable(source: Source, request: Request, shelf: Shelf) -> dict[str, Any]:
    """The printable report as a page, made within the time limit."""
    from rhoplan.report.content import make_report
    from rhoplan.report.page.page import page

    problem = _named("problem", source, shelf)
    agent = _agent(problem, request)
    parts = SHARE_OF_LIMIT * request["seconds"]
    return {"html": page(make_report(problem, agent, seconds=min(5.0, parts / 8), budget=min(20.0, parts / 2)))}


TASKS: dict[str, Callable[[Source, Request, Shelf], Any]] = {
    "catalogue": catalogue,
    "model": model,
    "check": check,
    "decide": decision,
    "situation": situation,
    "advise": advice,
    "journal": journal,
    "replay": replayed,
    "evaluate": evaluation,
    "solve": solution,
    "pathway": pathway,
    "compare": comparison,
    "what-if": what_if,
    "report": printable,
}


def _advice(problem: Problem, key: str, agent: Agent, request: Request, shelf: Shelf) -> dict[str, Any]:
    from rhoplan.advice.case import advise

    left = request.get("unavailable") or ()
    graph = shared_graph(_narrowed(problem, key, left, shelf))
    found = advise(problem, agent, _evidence(request), unavailable=left, graph=graph)
    return advice_record(problem, agent, found)


def _named(field: str, source: Source, shelf: Shelf) -> Problem:
    """The problem that `field` of the request names or holds; a fault in it is told by its place in the request."""
    try:
        problem: Problem = shelf.problem(source)
    except ProblemError as error:
        raise ProblemError(error.message, field=error.field).within(field) from None
    return problem


def _case(problem: Problem, key: str, agent: Agent, shelf: Shelf) -> Case:
    """A case without entries, planned on the graphs at hand."""
    from rhoplan.advice.journal import Case

    return Case(problem, agent, graph_of=lambda left: shared_graph(_narrowed(problem, key, left, shelf)))


def _changed(base: Problem, key: str, request: Request, shelf: Shelf) -> tuple[str, Problem, Agent]:
    """The problem and the agent with the numbers of a what-if, and the key under which the problem is at hand."""
    from rhoplan.advice.variations import with_values

    parts = {name: request[name] for name in ("prior", "costs", "rewards", "first_prices") if request.get(name)}
    problem = overridden(base, **parts) if parts else base
    values = request.get("values") or {}
    try:
        moved, agent = with_values(problem, _agent(problem, request), values)
    except RhoplanError as error:
        raise error.within("values") from None
    numbers = {name: value for name, value in values.items() if name != "weight"}
    if not parts and not numbers:
        return key, base, agent
    key = f"{key}|{sorted(parts.items())!r}{list(numbers.items())!r}"
    found: Problem = shelf.get(key, lambda: moved)
    return key, found, agent


def _digest(problem: Problem) -> str | None:
    """The digest that a case log keeps of the model; None where it cannot be written as one."""
    from rhoplan.advice.journal import digest

    return digest(problem) if problem.is_flat else None


def _narrowed(problem: Problem, key: str, unavailable: Any, shelf: Shelf) -> Problem:
    """`problem` without tests that cannot be had, at hand like the whole one."""
    if not unavailable:
        problem.flat  # noqa: B018  (says so where the problem is not flat)
        return problem
    from rhoplan.advice.case import without

    found = shelf.get(f"{key}|without {sorted(set(unavailable))!r}", lambda: replace(without(problem, unavailable)))
    assert isinstance(found, Problem)
    return found


def _agent(problem: Problem, request: Request) -> Agent:
    agents = _agents(problem, request)
    if len(agents) != 1:
        raise AgentError("this takes one agent at a time", field=("agent",))
    return agents[0]


def _agents(problem: Problem, request: Request) -> list[Agent]:
    names = request["agent"]
    wanted = [*AGENTS, *problem.rules] if names == "all" else [name.strip() for name in names.split(",")]
    settings = {one.word: request[one.name] for one in SETTINGS.values() if request.get(one.name) is not None}
    return [make_agent(name, problem, **settings) for name in wanted]


def _evidence(request: Request) -> Evidence:
    return [(test, outcome) for test, outcome in request.get("given") or ()]


def _plain(visible: Any) -> Any:
    """A visible state as JSON can hold it: places stay lists of numbers, sets become sorted lists, records maps."""
    if isinstance(visible, Done):
        return {name: _plain(part) for name, part in visible._asdict().items()}
    if isinstance(visible, Fraction):
        return float(visible)
    if isinstance(visible, frozenset | set):
        return sorted((_plain(item) for item in visible), key=repr)
    if isinstance(visible, tuple | list):
        return [_plain(item) for item in visible]
    return visible if isinstance(visible, str | int | float | bool) or visible is None else str(visible)
