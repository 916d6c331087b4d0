"""The whole answer to a case, part by part: what to do first, then what follows from it, as it is worked out.

Terminal, API, page and report read the same parts. Each has its own time, and a part that cannot be had says why; those
that come later never hold up those before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rhoplan._old.followed import Plans
from rhoplan.advice.case import Adviser
from rhoplan.advice.compare import MOST_NODES, compare, frontier, has_frontier
from rhoplan.advice.part import Part, Sampled, missing
from rhoplan.advice.pathway import pathway
from rhoplan.advice.standin import flips_of
from rhoplan.advice.thresholds import thresholds
from rhoplan.advice.uncertain.uncertainty import how_sure
from rhoplan.advice.variations import at_stake, stake
from rhoplan.advice.words import money, percent
from rhoplan.budget import Budget
from rhoplan.errors import LimitError, RhoplanError

BASIC = ("first", "ahead", "cost-only")
"""What every piece of advice has."""

SECONDS = 20.0
"""How long a part may take where nobody says; the first is not limited so, it does a fixed amount of work."""

USUAL_SHARE = 0.25
"""Of its time, what each step of a comparison and the search for flips take at most: they use all they are given."""


def parts(
    adviser: Adviser,
    names: Iterable[str] = BASIC,
    *,
    seconds: float = SECONDS,
    limits: Mapping[str, float] | None = None,
) -> Iterator[Part]:
    """The parts called `names`, each as soon as it is worked out. limits: seconds of single ones."""
    for name in names:
        yield part(adviser, name, seconds=(limits or {}).get(name, seconds))


def part(adviser: Adviser, name: str, *, seconds: float = SECONDS) -> Part:
    """The part called `name`, worked out within `seconds`."""
    if name in BASIC:
        return adviser.part(name, seconds=seconds)
    first = adviser.part("first")
    try:
        content = MORE[name](adviser, seconds)
    except (LimitError, MemoryError) as error:
        return missing(name, str(error) or "it needs too much memory")
    if isinstance(content, Part):
        return content
    if first.bounds is None or first.kind == "exact":
        return Part(name, "exact", content)
    return Part(name, "bounded", content, "by plans that were found, which need not be the best ones", first.bounds)


def _pathway(adviser: Adviser, seconds: float) -> Any:
    with adviser.plans.graph.limited(adviser.nodes, seconds):
        return pathway(
            adviser.problem, adviser.agent, adviser.given, unavailable=adviser.left, plans=adviser.plans
        )  # fmt: skip


def _comparison(adviser: Adviser, seconds: float) -> Any:
    """Rows and frontier, from the start of a case on; no frontier for plans that were found by bounds."""
    problem, agent, each = adviser.problem, adviser.agent, min(5.0, USUAL_SHARE * seconds)
    plans = Plans(problem, node_limit=int(min(MOST_NODES, adviser.nodes)))
    with plans.graph.limited(MOST_NODES, seconds):
        rows = compare(problem, agent, seconds=each, plans=plans)
        budget = Budget(nodes=min(MOST_NODES, adviser.nodes), seconds=seconds)
        edge = frontier(problem, agent.horizon, seconds=each, budget=budget) if has_frontier(agent) else None
    return rows, edge


def _sensitivity(adviser: Adviser, seconds: float) -> Any:
    return flips_of(
        adviser.problem, adviser.agent, adviser.first.do, adviser.given, unavailable=adviser.left,
        budget=min(5.0, USUAL_SHARE * seconds),
    )  # fmt: skip


def _thresholds(adviser: Adviser, seconds: float) -> Any:
    """For the tests that are left; refused where there is no one chance that decides, or no plan for every chance."""
    if adviser.agent.planner.is_bounded:
        raise LimitError("a plan would have to be searched for anew for every chance")
    found = thresholds(adviser.model, adviser.agent, done=adviser.situation.observable, seconds=min(5.0, seconds / 2))
    if found is None:
        raise LimitError("thresholds are about the chance of one of two states without subtypes")
    return found


def _uncertainty(adviser: Adviser, seconds: float) -> Any:
    """How often the next action is right within what the model says of its numbers, once this was seen."""
    try:
        found = how_sure(adviser.problem, adviser.agent, adviser.given, adviser.left)
    except RhoplanError as error:
        return missing("uncertainty", error.message)
    if found is None:
        return missing("uncertainty", "the model states no uncertain number")
    problem = adviser.problem
    ends = sorted([at_stake(problem, found.low), at_stake(problem, found.high)])
    words = (
        f"{found.action} is right in {percent(found.share)} of what the numbers allow"
        f"{' and the results leave' if adviser.given else ''}; from here on the expected {stake(problem)} is "
        f"{money(at_stake(problem, found.worth), problem.unit)}, 95% interval {money(ends[0])} to {money(ends[1])}"
    )
    return Part("uncertainty", "estimated", found, words, sampled=Sampled(found.samples, 0, {"share": found.se}))


MORE: dict[str, Callable[[Adviser, float], Any]] = {
    "pathway": _pathway,
    "comparison": _comparison,
    "sensitivity": _sensitivity,
    "thresholds": _thresholds,
    "uncertainty": _uncertainty,
}
"""What can be asked for besides, and who works it out."""

NAMES = (*BASIC, *MORE)
