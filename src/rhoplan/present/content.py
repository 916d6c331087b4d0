"""What the printable report on a model says: everything is worked out here, `page` says it in HTML.

Where exact look-ahead is too much, the plan is one that branch and bound found. It is followed exactly, so its own
numbers are exact; what depends on the best plan is bounded, and `marks` say so section by section.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rhoplan._old.followed import Plans
from rhoplan._old.menu import nodes_within
from rhoplan.advice.bands import Band, Stopping, bands, stops
from rhoplan.advice.case import Adviser, First, check_fixed
from rhoplan.advice.cautions import cautions
from rhoplan.advice.compare import Frontier, Row, compare, frontier
from rhoplan.advice.doubts import Caution
from rhoplan.advice.edges import Edge, edges
from rhoplan.advice.part import Part, missing
from rhoplan.advice.pathway import MOST_NODES as MOST_ASKED
from rhoplan.advice.pathway import SMALLEST, Pathway, pathway
from rhoplan.advice.questions import plans_versions
from rhoplan.advice.sensitivity import Flip
from rhoplan.advice.standin import flips_of
from rhoplan.advice.targets import Answer, UnreachableTarget, meet
from rhoplan.advice.uncertain.uncertainty import Uncertainty, uncertainty
from rhoplan.agents.agent import BoundAgent
from rhoplan.errors import LimitError, ProblemError, RhoplanError
from rhoplan.io.constraints import read_targets
from rhoplan.io.uncertain import UNCERTAIN
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning.batch import DecisionTree

MOST_NODES = 200
"""Steps and ends of a pathway that people can be asked to read; smaller branches beyond are folded."""

ROOM = 1_000_000_000
"""Bytes that following the plan to all its ends may take, about."""

UNCERTAIN_SAMPLES = 1000
"""Versions of uncertain numbers that are drawn."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Report:
    """What a report on `problem` says.

    ends: share of cases (C, S) per final action and true state. bands: of two-state models. frontier: over the weight,
    for agents that have one. Bands and frontier are left out where they were too large to compute.
    budget: seconds that the sensitivity analysis had, None for the usual amount of work. marks: of sections that are
    not plainly exact, by the names `first`, `pathway`, `stop`, `comparison`, `weight`, `flips`, what kind they are and
    why. edges: frontiers of cost against errors. met: what keeps the model's own targets, or why nothing does.
    uncertainty: where the model states uncertain numbers.
    """

    problem: POMDP
    agent: BoundAgent
    advice: First
    pathway: Pathway
    ends: Array
    bands: tuple[Band, ...]
    stops: tuple[Stopping, ...]
    rows: tuple[Row, ...]
    frontier: Frontier | None
    flips: tuple[Flip, ...]
    cautions: tuple[Caution, ...]
    budget: float | None
    marks: Mapping[str, Part] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()
    met: Answer | str | None = None
    uncertainty: Uncertainty | None = None


def make_report(
    problem: POMDP,
    agent: BoundAgent,
    *,
    seconds: float = 5.0,
    budget: float | None = None,
    smallest: float | None = None,
    progress: Progress = lambda section: None,
) -> Report:
    """The report on what `agent` recommends for `problem`.

    seconds: for the cost-only plan, the optimum, deeper plans, bands and the steps of the weight, each. budget:
    seconds for the sensitivity analysis, without them a fixed amount of work. smallest: share of cases below which a
    branch of the pathway is folded; without it, as many as leave a page that can be read. progress: told which section
    is worked out next. What is too large to compute is left out, the plan itself excepted: LimitError where it has too
    many ends to be followed.
    Not covered: problems that are not observe-then-commit, agents whose choices are not fixed (see `pathway`).
    """
    check_reportable(problem)
    check_fixed(agent)
    progress("what to do first")
    adviser = Adviser(problem, agent)
    with adviser.plans.graph.limited(nodes_within(problem, ROOM)):
        return _made(adviser, seconds=seconds, budget=budget, smallest=smallest, progress=progress)


def _made(
    adviser: Adviser, *, seconds: float, budget: float | None, smallest: float | None, progress: Progress
) -> Report:
    problem, agent, plans, marks = adviser.problem, adviser.agent, adviser.plans, _marks(adviser)
    followed = plans.follow(agent)
    progress("the comparison with other ways of deciding")
    rows = compare(problem, agent, seconds=seconds, plans=plans)
    plain = next(row for row in rows if row.key == "cost-only")
    progress("the pathway")
    drawn = pathway(
        problem, agent, plans=plans, smallest=SMALLEST if smallest is None else smallest,
        most_nodes=MOST_NODES if smallest is None else MOST_ASKED,
    )  # fmt: skip
    layout = _layout(problem, agent)
    progress("when to stop")
    found_bands = () if "stop" in marks else _bands(problem, agent, seconds, layout)
    progress("what the weight does")
    found_frontier = None if "weight" in marks else _frontier(plans, agent, seconds)
    progress("what would change the first action")
    moved = flips_of(problem, agent, followed.first, budget=budget, layout=layout)
    if moved.kind != "exact":
        marks["flips"] = moved
    progress("targets")
    found_edges, met = _targets(problem, agent)
    unsure = _uncertainty(problem, agent, marks, progress)
    progress("warnings")
    return Report(
        problem=problem,
        agent=agent,
        advice=adviser.first,
        pathway=drawn,
        ends=followed.ends,
        bands=found_bands,
        stops=stops(followed),
        rows=rows,
        frontier=found_frontier,
        flips=moved.content,
        cautions=cautions(problem, agent, seconds=seconds, plain=plain, plans=plans),
        budget=budget,
        marks=marks,
        edges=found_edges,
        met=met,
        uncertainty=unsure,
    )


def check_reportable(problem: POMDP) -> None:
    """Raise ProblemError unless a report can be made: one hidden state, tests that leave it alone, then one commit."""
    if problem.listed is not None:
        return
    if problem.observes_then_commits:
        problem.flat  # noqa: B018  (says that it must be listed)
    changing = [a.name for a in problem.menu(problem.start) if not a.ends_episode and not a.preserves_hidden_state]
    why = f": {changing[0]} changes what it measures" if changing else ""
    raise ProblemError(
        f"a report needs tests that leave one hidden state alone and a commit that ends the case; '{problem.name}' is "
        f"not such a problem{why} (rhoplan evaluate and simulate take it)"
    )


def _marks(adviser: Adviser) -> dict[str, Part]:
    """What kind of numbers the sections have, where that is not plainly exact."""
    first = adviser.part("first")
    if not adviser.agent.planner.is_bounded:
        return {"first": first} if first.words else {}
    again = "a plan would have to be searched for anew for every {}"
    return {
        "first": first,
        "pathway": Part("pathway", "exact", None, "for the plan that was found, which is followed to all ends"),
        "comparison": replace(first, name="comparison", words="each plan is scored exactly, the best is bounded"),
        "stop": missing("stop", again.format("belief")),
        "weight": missing("weight", again.format("weight")),
    }


def _targets(problem: POMDP, agent: BoundAgent) -> tuple[tuple[Edge, ...], Answer | str | None]:
    """Frontiers, and what keeps the targets that stand in the model; nothing where one graph cannot hold all plans,
    unless the model has targets: then pathways have fewer tests, and the section says so."""
    kept = read_targets(problem.details.get("targets") or {}, problem.diagnoses, None)
    if agent.planner.is_bounded and not kept:
        return (), None
    try:
        return edges(problem), meet(problem, kept) if kept else None
    except UnreachableTarget as error:
        return edges(problem), error.message
    except LimitError:
        return (), None


def _frontier(plans: Plans, agent: BoundAgent, seconds: float) -> Frontier | None:
    """Over weights up to well beyond the agent's own; None for agents that differ in more than the weight."""
    if not agent.plans_for_information or not agent.commits_count or agent.discount != 1:
        return None
    problem = plans.problem
    high = max(problem.reward_scale, 2 * agent.weight_per_nat)
    try:
        return frontier(problem, agent.horizon, high=high, seconds=seconds)
    except LimitError:
        return None


def _uncertainty(problem: POMDP, agent: BoundAgent, marks: dict[str, Part], progress: Progress) -> Uncertainty | None:
    """What uncertain numbers mean; None where the model states none. A mark says so where that is too much."""
    if UNCERTAIN not in problem.details:
        return None
    progress("what uncertain numbers mean")
    try:
        return uncertainty(problem, agent, samples=UNCERTAIN_SAMPLES)
    except RhoplanError as error:
        marks["uncertainty"] = missing("uncertainty", error.message)
        return None


def _layout(problem: POMDP, agent: BoundAgent) -> DecisionTree | None:
    """What versions of the model are planned on, by bands and by flips; None where they are not planned at once."""
    try:
        return DecisionTree(problem, (), agent.horizon) if plans_versions(problem, agent) else None
    except LimitError:
        return None


def _bands(problem: POMDP, agent: BoundAgent, seconds: float, layout: DecisionTree | None) -> tuple[Band, ...]:
    try:
        return bands(problem, agent, seconds=seconds, layout=layout)
    except LimitError:
        return ()
