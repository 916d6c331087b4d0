"""Flips where planning anew for every number moved is too much: those of a shallower plan that begins the same.

Planner many searches for a plan each time it is asked, and hundreds of numbers are asked about many times each. Exact
look-ahead over a test or two is planned for many versions of a model at once. Where it begins with the same action, its
flips stand in for those of the plan, and are called estimated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rhoplan.advice.case import Adviser, Evidence
from rhoplan.advice.part import Part, missing
from rhoplan.advice.sensitivity import flips
from rhoplan.advice.words import counted
from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.fitting import size_of
from rhoplan.agents.planners import Lookahead
from rhoplan.errors import LimitError
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.batch import DecisionTree

MOST_NUMBERS = 1_000_000
"""Situations times tests of a look-ahead that stands in for a plan: a hundred versions a second."""


def flips_of(
    problem: POMDP,
    agent: BoundAgent,
    now: str,
    given: Evidence = (),
    *,
    unavailable: Iterable[str] = (),
    only: Iterable[str] | None = None,
    budget: float | None = None,
    layout: DecisionTree | None = None,
) -> Part:
    """The flips of `agent`, who does `now` after `given`, or of a plan that stands in for its own; see `flips`."""
    if not agent.planner.is_bounded:
        found = flips(problem, agent, given, unavailable=unavailable, only=only, budget=budget, now=now, layout=layout)
        return Part("sensitivity", "exact", found)
    done, depth = problem.belief(given=given).observable, agent.horizon
    assert isinstance(done, Done)
    while depth > 1 and size_of(problem, depth, done, repeats=True).nodes * len(problem.flat.tests) > MOST_NUMBERS:
        depth -= 1
    shallow, ahead = agent.changed(planner=Lookahead(depth)), counted(depth, "test")
    left = tuple(unavailable)
    try:
        first = Adviser(problem, shallow, given, unavailable=left).first.do
        if first != now:
            why = f"a plan that looks {ahead} ahead, for which it could be, begins with {first}"
            return replace(missing("sensitivity", why), content=())
        found = flips(problem, shallow, given, unavailable=left, only=only, budget=budget, now=now)
    except (LimitError, MemoryError) as error:
        return replace(missing("sensitivity", str(error) or "it needs too much memory"), content=())
    words = f"for a plan that looks {ahead} ahead and begins with {now} too, not for the plan found"
    return Part("sensitivity", "estimated", found, words)
