"""What each address of the API computes, inside a worker: the same calls and records as the command line.

Every task takes what was asked: the request, with the problems at hand that it names.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from rhoplan._old.graph import Graph, shared_graph
from rhoplan.advice.case import Adviser, without
from rhoplan.advice.compare import compare, frontier, has_frontier
from rhoplan.advice.doubts import doubts
from rhoplan.advice.journal import Case, agent_of, digest, start_of
from rhoplan.advice.overrides import overridden
from rhoplan.advice.parts import part
from rhoplan.advice.pathway import pathway as draw
from rhoplan.advice.replay import replay_text
from rhoplan.advice.standin import flips_of
from rhoplan.advice.start import started
from rhoplan.advice.variations import stake, with_values
from rhoplan.agents.agent import AGENTS, BoundAgent, make_adviser, make_agent, other_agents, without_files
from rhoplan.agents.settings import SETTINGS
from rhoplan.app import records
from rhoplan.app.serve import carry_tasks, form_tasks, learn_tasks, plan_tasks, target_tasks
from rhoplan.app.serve.sources import Source
from rhoplan.app.serve.uncertain_tasks import uncertain_numbers
from rhoplan.app.serve.worker import Job, Shelf, Tell
from rhoplan.belief_math.information import per_nat
from rhoplan.errors import AgentError, EvidenceError, ProblemError, RhoplanError, dotted
from rhoplan.io.model_file import write_model
from rhoplan.model.pomdp import POMDP
from rhoplan.problems.registry import WORKED_MODELS

SHARE_OF_LIMIT = 0.7
"""Part of the time limit after which work that can stop with what it has does stop."""

NO_POLICIES = "an agent must be one that GET /api/v1/models lists, or a rule of the problem; the server opens no files"

Record = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A request, and what it names. key: that of the problem among those at hand. tell: is told how far the work is.

    begin: when the work on it began.
    """

    source: Source
    request: Record
    shelf: Shelf
    tell: Tell = lambda done, of: None
    begin: float = field(default_factory=time.monotonic)

    @property
    def key(self) -> str:
        return self.begun(self.model, self.source.key, self.start)[0]

    @cached_property
    def model(self) -> POMDP:
        return self.named("problem", self.source)

    @property
    def problem(self) -> POMDP:
        """The model, as it stands at the start of the case."""
        return self.begun(self.model, self.source.key, self.start)[1]

    @property
    def start(self) -> Record:
        """What is the case's own at its start; the prior of a what-if is one of its other numbers."""
        said = {"prior": self.get("own_prior" if "values" in self.request else "prior"), "known": self.get("known")}
        return {name: value for name, value in said.items() if value}

    def begun(self, model: POMDP, key: str, start: Record) -> tuple[str, POMDP]:
        """`model`, at hand under `key`, at the start of a case, and the key of that."""
        name = f"{key}|start {sorted(start.items())!r}"
        return (name, self.shelf.get(name, lambda: started(model, **start))) if start else (key, model)

    @cached_property
    def agent(self) -> BoundAgent:
        return self.one_agent(self.problem)

    @property
    def given(self) -> list[tuple[str, str]]:
        return [(test, outcome) for test, outcome in self.request.get("given") or ()]

    @property
    def unavailable(self) -> list[str]:
        return self.request.get("unavailable") or []

    @property
    def seconds(self) -> float:
        """Time for work that can stop with what it has."""
        return float(SHARE_OF_LIMIT * self.request["seconds"])

    @property
    def seconds_left(self) -> float:
        """What is left of `seconds`: reading a large model may have taken its part."""
        return max(self.seconds - (time.monotonic() - self.begin), 0.0)

    def get(self, name: str) -> Any:
        return self.request.get(name)

    def named(self, field: str, source: Source) -> POMDP:
        """The problem that `field` of the request names or holds; a fault in it is told by its place in the request."""
        try:
            return self.shelf.problem(source)
        except ProblemError as error:
            raise ProblemError(error.message, field=error.field, code=error.code).within(field) from None

    def agents(self, problem: POMDP, **changes: Any) -> list[BoundAgent]:
        """The agents that the request names, for `problem`; changes: settings that are others than the request's."""
        said = {**self.request, **changes}
        names = said["agent"]
        settings = {one.word: said[one.name] for one in SETTINGS.values() if said.get(one.name) is not None}
        if names is None:
            return [make_adviser(problem, **settings)]
        wanted = [*AGENTS, *other_agents(problem)] if names == "all" else [name.strip() for name in names.split(",")]
        return [make_agent(name, problem, **settings) for name in wanted]

    def one_agent(self, problem: POMDP, **changes: Any) -> BoundAgent:
        agents = self.agents(problem, **changes)
        if len(agents) != 1:
            raise AgentError("this takes one agent at a time", field=("agent",))
        return agents[0]

    def graph(self, problem: POMDP, key: str, unavailable: Iterable[str]) -> Graph:
        """The graph of `problem`, at hand under `key`, without tests that cannot be had."""
        if not unavailable:
            problem.flat  # noqa: B018  (says so where the problem is not flat)
            return shared_graph(problem)
        name = f"{key}|without {sorted(set(unavailable))!r}"
        return shared_graph(self.shelf.get(name, lambda: replace(without(problem, unavailable))))

    def adviser(self, problem: POMDP, key: str, agent: BoundAgent) -> Adviser:
        """Who advises on the case; the latest one is kept with what it has worked out."""
        left, memory = self.unavailable, self.request["memory"]
        asked = repr([key, agent.name, agent.settings, self.given, left, memory])
        if self.shelf.latest is None or self.shelf.latest[0] != asked:
            graph = self.graph(problem, key, left)
            self.shelf.latest = asked, Adviser(problem, agent, self.given, unavailable=left, graph=graph, memory=memory)
        found: Adviser = self.shelf.latest[1]
        return found

    def advice(self, problem: POMDP, key: str, agent: BoundAgent) -> Record:
        adviser = self.adviser(problem, key, agent)
        found = adviser.advice(seconds=self.seconds / 2)
        return records.advice_record(problem, adviser.agent, found)

    def case(self, model: POMDP, key: str, agent: BoundAgent, start: Record) -> Case:
        """A case without entries, planned on the graphs at hand."""
        name, problem = self.begun(model, key, start)
        memory = self.request["memory"]
        return Case(model, agent, **start, graph_of=lambda left: self.graph(problem, name, left), memory=memory)


def part_of_advice(asked: Asked) -> Record:
    """One part of the advice on a case."""
    adviser = asked.adviser(asked.problem, asked.key, asked.agent)
    found = part(adviser, asked.request["part"], seconds=asked.seconds)
    return records.part_record(asked.problem, adviser.agent, found)


def batch(asked: Asked) -> Record:
    """What to do next in each of many cases; what is wrong with one is told in its place."""
    agent, memory, told = asked.agent, asked.request["memory"], list[Record]()
    for case in asked.request["cases"]:
        given, left = [(test, outcome) for test, outcome in case["given"]], case["unavailable"]
        try:
            start = {name: case[name] for name in ("prior", "known") if case[name]}
            key, problem = asked.begun(asked.model, asked.source.key, start)
            graph = asked.graph(problem, key, left)
            adviser = Adviser(problem, agent, given, unavailable=left, graph=graph, memory=memory)
            first = adviser.first
        except EvidenceError as error:
            field = dotted(error.field) if error.field else "given"
            fault = {"code": error.code, "field": field, "message": error.message}
            told.append({"id": case["id"], "advice": None, "error": fault})
            continue
        told.append({"id": case["id"], "advice": records.first_record(problem, adviser.agent, first), "error": None})
    return {"cases": told, "refused": sum(one["advice"] is None for one in told)}


def model(asked: Asked) -> Record:
    """One problem: its numbers, its text where it can be written as a model file, and what a page needs to show it."""
    problem, source = asked.problem, asked.source
    flat = problem.listed is not None
    text = source.text
    if text is None and flat:
        shipped = WORKED_MODELS.get(source.name)
        text = shipped.read_text(encoding="utf-8") if shipped else write_model(problem)
    return {
        "problem": source.name,
        "title": problem.name,
        "flat": flat,
        "reward_unit": problem.unit,
        "reward_scale": problem.reward_scale,
        "horizon": problem.horizon,
        "price": problem.price,
        "cap": problem.cap,
        "states": list(problem.diagnoses),
        **{name: problem.details.get(name) for name in ("grid", "places", "field")},
        "stake": stake(problem) if flat else None,
        "info": problem.details.get("info"),
        "agents": [*AGENTS, *other_agents(problem)],
        "language": source.language,
        "text": text,
        "digest": digest(problem) if flat else None,
        "cautions": [asdict(one) for one in doubts(problem)],
        "record": records.problem_record(problem),
    }


def check(asked: Asked) -> Record:
    """What an uploaded model consists of, if it is sound."""
    problem = asked.shelf.problem(asked.source)
    menu, counts = problem.listed, {"states": math.prod(len(factor.states) for factor in problem.factors)}
    if menu is not None:
        counts |= {"tests": len(menu.tests), "commits": len(menu.commits)}
    else:
        counts |= {"actions": len(problem.menu(problem.start))}
    told = {"name": asked.source.name, "title": problem.name, "flat": menu is not None}
    return {**told, **counts, "horizon": problem.horizon, "cautions": [asdict(one) for one in doubts(problem)]}


def journal(asked: Asked) -> Record:
    """The line of the case log that `rhoplan advise --log` writes for a case with these entries."""
    problem, agent = asked.problem, asked.agent
    case = asked.case(asked.model, asked.source.key, agent, asked.start)
    for place, entry in enumerate(asked.request["entries"]):
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


def replayed(asked: Asked) -> Record:
    """`rhoplan replay --json`, and the last case, to go on with."""

    def start(record: Record) -> Case:
        kept = Source(record["problem"], record["model"])
        problem = asked.shelf.problem(kept)
        return asked.case(problem, kept.key, agent_of(record["agent"], problem), start_of(record))

    try:
        found = replay_text(asked.request["text"], "the text", case_of=start)
    except (ProblemError, AgentError) as error:
        raise RhoplanError(str(error), field=("text",)) from None
    last = found.last
    if last is None:
        raise RhoplanError("the text must hold a case; it is empty", field=("text",))
    price = per_nat(last["agent"]["weight"], last["agent"]["unit"])
    told = {"cases": found.cases, "difference": found.difference, "faults": list(found.faults)}
    return {**told, "case": last, "weight_per_nat": price}


def pathway(asked: Asked) -> Record:
    """The recommended pathway as a tree."""
    problem, left = asked.problem, asked.unavailable
    graph = asked.graph(problem, asked.key, left)
    settings = {key: asked.request[key] for key in ("smallest", "most_nodes") if asked.get(key) is not None}
    return draw(problem, asked.agent, asked.given, unavailable=left, graph=graph, **settings).as_dict()


def comparison(asked: Asked) -> Record:
    """Ways of deciding side by side, and reward against success over the weight."""
    problem, agent, seconds = asked.problem, asked.agent, min(5.0, asked.seconds / 2)
    rows = compare(problem, agent, seconds=seconds)
    drawn = asked.request.get("frontier", True) and has_frontier(agent)
    edge = frontier(problem, agent.horizon, high=asked.get("high"), seconds=seconds) if drawn else None
    return records.comparison_record(problem, agent, rows, edge)


def what_if(asked: Asked) -> Record:
    """Advice with other numbers, the advice without them, the numbers, and where the first action flips."""
    base, request = asked.problem, asked.request
    key, problem, agent = _changed(asked)
    told = asked.advice(problem, key, agent)
    own = asked.one_agent(base, weight=request.get("base_weight"))
    before = asked.advice(base, asked.key, own)
    numbers, counts = records.parameter_records(problem, agent, (base, own), most=request["most"])
    found, words = None, ""
    if request.get("flips", True):
        budget, only = min(request.get("budget") or 5.0, asked.seconds), request.get("only")
        moved = flips_of(
            problem, agent, told["do"], asked.given, unavailable=asked.unavailable, only=only, budget=budget
        )
        found, words = [flip.as_dict() for flip in moved.content], moved.words
    changed = {"without_changes": before["do"], "changed": told["do"] != before["do"]}
    return {"advice": told, **changed, "parameters": numbers, "counts": counts, "flips": found, "flips_words": words}


def _changed(asked: Asked) -> tuple[str, POMDP, BoundAgent]:
    """The problem and the agent with the numbers of a what-if, and the key under which the problem is at hand."""
    parts = {name: asked.request[name] for name in ("prior", "costs", "rewards", "first_prices") if asked.get(name)}
    problem = overridden(asked.problem, **parts) if parts else asked.problem
    values, own = asked.get("values") or {}, asked.one_agent(problem)
    try:
        moved, agent = with_values(problem, own, values)
    except RhoplanError as error:
        raise error.within("values") from None
    numbers = {name: value for name, value in values.items() if name != "weight"}
    if not parts and not numbers:
        return asked.key, asked.problem, agent
    key = f"{asked.key}|{sorted(parts.items())!r}{list(numbers.items())!r}"
    return key, asked.shelf.get(key, lambda: moved), agent


def _beside(task: Callable[[Source, Record], Record], asked: Asked) -> Record:
    """What a task makes of a request without a problem at hand."""
    return task(asked.source, asked.request)


TASKS: dict[str, Callable[[Asked], Any]] = {
    "catalogue": lambda asked: records.catalogue_record(),
    "model": model,
    **{name: partial(_beside, task) for name, task in form_tasks.TASKS.items()},
    "check": check,
    "decide": plan_tasks.decision,
    "situation": plan_tasks.situation,
    "advise": lambda asked: asked.advice(asked.problem, asked.key, asked.agent),
    "advise/batch": batch,
    "part": part_of_advice,
    "journal": journal,
    "replay": replayed,
    "evaluate": plan_tasks.evaluation,
    "solve": plan_tasks.solution,
    "pathway": pathway,
    "compare": comparison,
    "what-if": what_if,
    "report": carry_tasks.printable,
    "carry": carry_tasks.carried,
    "target": target_tasks.meet,
    "frontier": target_tasks.frontier,
    "uncertainty": uncertain_numbers,
    "table": lambda asked: learn_tasks.describe(asked.source),
    "draft": lambda asked: learn_tasks.draft(asked.source, asked.request),
    "learn": lambda asked: learn_tasks.learned(asked.source, asked.request, asked.tell),
    "learned": lambda asked: {"html": learn_tasks.page(asked.problem)},
}


def run(job: Job, shelf: Shelf, tell: Tell = lambda done, of: None) -> Any:
    """The record that `job` asks for."""
    with without_files(NO_POLICIES):
        return TASKS[job.task](Asked(job.source, job.request, shelf, tell))
