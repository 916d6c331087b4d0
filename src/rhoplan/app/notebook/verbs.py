"""The verbs of a notebook, the same as on the command line: advise, pathway, report, compare, what_if, sweep, learn.

    >>> import rhoplan
    >>> rhoplan.advise("chest-pain").do
    'pain-type'

A problem is a name, the path of a file, or a Problem. Who advises is, as on the command line, cost-only unless the
model, a weight or an agent puts a price on information; further settings (horizon, weight, unit, discount, planner)
are keywords.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rhoplan.advice import compare as comparing
from rhoplan.advice import pathway as pathways
from rhoplan.advice.case import Adviser, Evidence
from rhoplan.advice.overrides import overridden
from rhoplan.advice.standin import flips_of
from rhoplan.advice.start import started
from rhoplan.advice.variations import with_values
from rhoplan.agents.agent import BoundAgent, make_adviser
from rhoplan.agents.named import Agent
from rhoplan.api import ProblemLike, resolve_problem
from rhoplan.app import sweep as sweeping
from rhoplan.app.notebook.views import (
    CaseAdvice,
    Comparison,
    DrawnPathway,
    Given,
    LearnedModel,
    MadeReport,
    Sweep,
    WhatIf,
)
from rhoplan.errors import ProblemError
from rhoplan.model.pomdp import POMDP
from rhoplan.present.content import make_report


def advise(
    problem: ProblemLike,
    given: Given = (),
    *,
    prior: Mapping[str, float] | None = None,
    known: Given = (),
    agent: Agent | BoundAgent | str | None = None,
    unavailable: Iterable[str] = (),
    seconds: float = 20.0,
    **settings: Any,
) -> CaseAdvice:
    """What to do next in a case in which `given` was seen, why, and how much longer it will take.

    prior: chances of the case's own. known: results that were there before, which are not paid for. unavailable: tests
    that cannot be had. seconds: for each part that is told after what to do next.
    """
    found = started(_problem(problem), prior, _pairs(known))
    return CaseAdvice.on(found, _adviser(found, agent, settings), _pairs(given), unavailable, seconds)


def pathway(
    problem: ProblemLike,
    given: Given = (),
    *,
    agent: Agent | BoundAgent | str | None = None,
    unavailable: Iterable[str] = (),
    smallest: float = pathways.SMALLEST,
    most_nodes: int = pathways.MOST_NODES,
    **settings: Any,
) -> DrawnPathway:
    """The recommended pathway as a tree; branches with a smaller share of cases than `smallest` are folded."""
    found = _problem(problem)
    adviser = Adviser(found, _adviser(found, agent, settings), _pairs(given), unavailable=unavailable)
    adviser.part("first")  # which says who plans where the planner asked for does not fit
    return DrawnPathway(
        pathways.pathway(
            found, adviser.agent, adviser.given, unavailable=adviser.left, smallest=smallest, most_nodes=most_nodes,
            plans=adviser.plans,
        )
    )  # fmt: skip


def report(
    problem: ProblemLike,
    path: Path | str | None = None,
    *,
    agent: Agent | BoundAgent | str | None = None,
    seconds: float = 5.0,
    budget: float | None = None,
    **settings: Any,
) -> MadeReport:
    """The printable report, written to `path` where one is given; seconds and budget are those of `make_report`."""
    found = _problem(problem)
    made = MadeReport(make_report(found, _adviser(found, agent, settings), seconds=seconds, budget=budget))
    if path is not None:
        made.save(path)
    return made


def compare(
    problem: ProblemLike,
    *,
    agent: Agent | BoundAgent | str | None = None,
    seconds: float = 5.0,
    high: float | None = None,
    **settings: Any,
) -> Comparison:
    """Ways of deciding side by side; for an agent that plans for information, also reward against success over the
    weight, up to `high`."""
    found = _problem(problem)
    who = _adviser(found, agent, settings)
    edge = None
    if comparing.has_frontier(who):
        edge = comparing.frontier(found, who.horizon, high=high, seconds=seconds)
    return Comparison(found, who, comparing.compare(found, who, seconds=seconds), edge)


def what_if(
    problem: ProblemLike,
    given: Given = (),
    *,
    prior: Mapping[str, float] | Sequence[float] | None = None,
    costs: Mapping[str, float] | None = None,
    rewards: Mapping[str, Mapping[str, float]] | None = None,
    first_prices: Mapping[str, float] | None = None,
    values: Mapping[str, float] | None = None,
    agent: Agent | BoundAgent | str | None = None,
    unavailable: Iterable[str] = (),
    budget: float | None = None,
    **settings: Any,
) -> WhatIf:
    """Advice with other numbers than the model's, and how far each number can move before the first action changes.

    prior: a chance for each diagnosis. costs: of tests. rewards: of commits by diagnosis. first_prices: of groups.
    values: any number by its id, as `to_frame` tells it. budget: seconds to look for flips.
    """
    found, pairs, left = _problem(problem), _pairs(given), tuple(unavailable)
    parts = {"prior": prior, "costs": costs, "rewards": rewards, "first_prices": first_prices}
    said = {name: value for name, value in parts.items() if value is not None}
    moved = overridden(found, **said) if said else found  # type: ignore[arg-type]
    moved, who = with_values(moved, _adviser(moved, agent, settings), values or {})
    own = advise(found, pairs, agent=_adviser(found, agent, settings), unavailable=left)
    now = advise(moved, pairs, agent=who, unavailable=left)
    return WhatIf(own, now, flips_of(moved, now.agent, now.do, pairs, unavailable=left, budget=budget))


def sweep(
    problem: Path | str, name: str, values: Iterable[object], *, agents: str | Sequence[str] = "efe", **settings: Any
) -> Sweep:
    """Exact scores of agents over the values of one setting: weight, horizon, discount, precision, or a parameter."""
    who = [agents] if isinstance(agents, str) else list(agents)
    rows, notes = sweeping.sweep(str(problem), who, name, [str(value) for value in values], settings)
    return Sweep(str(problem), name, rows, notes)


def learn(cases: Any, plan: Any, **settings: Any) -> LearnedModel:
    """A model from past cases with an honest bill: `cases` is the path of a table or a DataFrame, `plan` a path or a
    Plan; settings are those of `rhoplan.learning.learning.learn` (folds, repeats, group, time, jobs, seed, ...)."""
    from rhoplan.learning.learning import learn as learn_from
    from rhoplan.learning.plan import Plan, read_plan
    from rhoplan.learning.table import read_table, table_of

    wanted = plan if isinstance(plan, Plan) else read_plan(plan)
    if isinstance(cases, str | Path):
        table = read_table(Path(cases), named=wanted.columns)
    else:
        table = table_of([str(name) for name in cases.columns], [cases[name].tolist() for name in cases.columns])
    return LearnedModel(learn_from(table, wanted, **settings))


def _problem(problem: ProblemLike) -> POMDP:
    """The problem of tests and commits that is meant; ProblemError for any other kind."""
    found = resolve_problem(problem)
    if found.listed is None:
        raise ProblemError(
            f"the advisor takes a problem of tests and commits, such as a model file or DiagnosticProblem gives; "
            f"'{found.name}' is a POMDP in general form: use rhoplan.evaluate, solve or decide",
            field=("problem",),
        )
    return found


def _adviser(problem: POMDP, agent: Agent | BoundAgent | str | None, settings: dict[str, Any]) -> BoundAgent:
    if isinstance(agent, Agent):
        agent = agent.bind(problem)
    if isinstance(agent, BoundAgent):
        return agent.changed(**settings) if settings else agent
    return make_adviser(problem, agent, **settings)


def _pairs(given: Given) -> Evidence:
    pairs = given.items() if isinstance(given, Mapping) else given
    return [(str(test), str(outcome)) for test, outcome in pairs]
