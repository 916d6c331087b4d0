"""What the printable report on a model says: everything is worked out here, `page` says it in HTML."""

from __future__ import annotations

from dataclasses import dataclass

from rhoplan.advice.bands import Band, Stopping, bands, stops
from rhoplan.advice.case import Advice, advise, check_fixed
from rhoplan.advice.cautions import Caution, cautions
from rhoplan.advice.compare import Frontier, Row, compare, frontier
from rhoplan.advice.pathway import Pathway, pathway
from rhoplan.advice.questions import plans_versions
from rhoplan.advice.sensitivity import Flip, flips
from rhoplan.agents.agent import Agent
from rhoplan.errors import LimitError, ProblemError
from rhoplan.model.problem import Array, Problem
from rhoplan.planning.versions import Layout
from rhoplan.scoring.followed import Plans

MOST_NODES = 200
"""Steps and ends of a pathway that people can be asked to read; smaller branches beyond are folded."""


@dataclass(frozen=True)
class Report:
    """What a report on `problem` says.

    ends: share of cases (C, S) per final action and true state. bands: of two-state models. frontier: over the weight,
    for agents that have one. Bands and frontier are left out where they were too large to compute.
    budget: seconds that the sensitivity analysis had, None for the usual amount of work.
    """

    problem: Problem
    agent: Agent
    advice: Advice
    pathway: Pathway
    ends: Array
    bands: tuple[Band, ...]
    stops: tuple[Stopping, ...]
    rows: tuple[Row, ...]
    frontier: Frontier | None
    flips: tuple[Flip, ...]
    cautions: tuple[Caution, ...]
    budget: float | None


def make_report(problem: Problem, agent: Agent, *, seconds: float = 5.0, budget: float | None = None) -> Report:
    """The report on what `agent` recommends for `problem`.

    seconds: for the cost-only plan, the optimum, deeper plans, bands and the steps of the weight, each. budget:
    seconds for the sensitivity analysis, without them a fixed amount of work. What is too large to compute is left
    out, the plan itself excepted.
    Not covered: problems that are not observe-then-commit, agents whose choices are not fixed (see `pathway`).
    """
    check_reportable(problem)
    check_fixed(agent)
    plans = Plans(problem)
    followed = plans.follow(agent)
    rows = compare(problem, agent, seconds=seconds, plans=plans)
    plain = next(row for row in rows if row.key == "cost-only")
    layout = _layout(problem, agent)
    return Report(
        problem=problem,
        agent=agent,
        advice=advise(problem, agent, plans=plans),
        pathway=pathway(problem, agent, most_nodes=MOST_NODES, plans=plans),
        ends=followed.ends,
        bands=_bands(problem, agent, seconds, layout),
        stops=stops(followed),
        rows=rows,
        frontier=_frontier(plans, agent, seconds),
        flips=flips(problem, agent, budget=budget, now=followed.first, layout=layout),
        cautions=cautions(problem, agent, seconds=seconds, plain=plain, plans=plans),
        budget=budget,
    )


def check_reportable(problem: Problem) -> None:
    """Raise ProblemError unless a report can be made: one hidden state, tests that leave it alone, then one commit."""
    if problem.is_flat:
        return
    changing = [a.name for a in problem.menu(problem.start) if not a.ends_episode and not a.preserves_hidden_state]
    why = f": {changing[0]} changes what it measures" if changing else ""
    raise ProblemError(
        f"a report needs tests that leave one hidden state alone and a commit that ends the case; '{problem.name}' is "
        f"not such a problem{why} (rhoplan evaluate and simulate take it)"
    )


def _frontier(plans: Plans, agent: Agent, seconds: float) -> Frontier | None:
    """Over weights up to well beyond the agent's own; None for agents that differ in more than the weight."""
    if not agent.plans_for_information or not agent.commits_count or agent.discount != 1:
        return None
    problem = plans.problem
    high = max(problem.reward_scale, 2 * agent.weight_per_nat)
    try:
        return frontier(problem, agent.horizon, high=high, seconds=seconds, graph=plans.graph)
    except LimitError:
        return None


def _layout(problem: Problem, agent: Agent) -> Layout | None:
    """What versions of the model are planned on, by bands and by flips; None where they are not planned at once."""
    try:
        return Layout(problem, (), agent.horizon) if plans_versions(problem, agent) else None
    except LimitError:
        return None


def _bands(problem: Problem, agent: Agent, seconds: float, layout: Layout | None) -> tuple[Band, ...]:
    try:
        return bands(problem, agent, seconds=seconds, layout=layout)
    except LimitError:
        return ()
