"""Frontiers: the cost of a pathway against the errors it leaves, with the exact corners of all plans and mixtures.

Along a frontier one kind of error has no price: each corner is the cheapest plan for a range of prices of it, and says
which. What else is lost has the model's own price. In a model with a positive state there are two: misses, with false
alarms at their price, and false alarms, with misses at theirs; in any other the share of wrong decisions.
"""

from __future__ import annotations

from dataclasses import dataclass

from rhoplan.advice.targets import Numbers, Share, Sums, constrained, plain_share
from rhoplan.errors import ProblemError
from rhoplan.io.constraints import Target
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.constrained import ConstrainedProblem
from rhoplan.planning.frontier import lower_convex_set, pareto_frontier

CALLED = {"miss": "cases missed", "false-alarm": "false alarms", "wrong": "wrong decisions"}


@dataclass(frozen=True)
class Point:
    """A corner: the cheapest plan where an error costs from `low` to `high` (None without limit)."""

    share: float
    cost: float
    low: float
    high: float | None
    numbers: Numbers


@dataclass(frozen=True)
class Edge:
    """The cost against the share of cases with one kind of error, from the cheapest plan to the fewest errors.

    kind, state: of the error, as in a target. counts: what the cost is, in words. depth: tests that pathways may have;
    whole: whether none could have more. complete: whether these are all
    corners. own: what the model counts the error as, least and most. plain: the plan that follows the model's prices.
    """

    kind: str
    state: str
    counts: str
    depth: int
    whole: bool
    points: tuple[Point, ...]
    complete: bool
    own: tuple[float, float]
    plain: Point


def edges(problem: POMDP, *, state: str | None = None, horizon: int | None = None) -> tuple[Edge, ...]:
    """The frontiers of `problem` about `state`, the model's positive one where nobody says."""
    about = _about(problem, state)
    ground, whole = constrained(problem, horizon)
    return tuple(_edge(ground, whole, kind, about or "") for kind in (("miss", "false-alarm") if about else ("wrong",)))


@dataclass(frozen=True)
class LowerSet:
    """What tests cost, misses and false alarms together: the corners of all that can be had, none of which is beaten in
    all three by a plan or a mix, the cheapest first. complete: whether these are all."""

    state: str
    depth: int
    corners: tuple[Numbers, ...]
    complete: bool


def together(problem: POMDP, *, state: str | None = None, horizon: int | None = None) -> LowerSet:
    """The lower set of tests, misses and false alarms about `state`, the model's positive one where nobody says."""
    about = _about(problem, state)
    if about is None:
        raise ProblemError(
            f"misses and false alarms need the state they are about: one of {', '.join(problem.diagnoses)}",
            field=("state",),
        )
    ground, _ = constrained(problem, horizon)
    sums = Sums(ground, [Target("miss", 1.0, about), Target("false-alarm", 1.0, about)], "spend")
    found, complete = lower_convex_set(ground, (ground.spend, sums.bounds[0].criterion, sums.bounds[1].criterion))
    numbers = sorted((sums.numbers(course) for course in found), key=lambda one: one.spend)
    return LowerSet(about, ground.depth, tuple(numbers), complete)


def positive_of(problem: POMDP) -> str | None:
    """The state that the model calls positive, where it does."""
    found = problem.details.get("positive")
    return None if found is None else str(found)


def _about(problem: POMDP, state: str | None) -> str | None:
    about = state or positive_of(problem)
    if about and about not in problem.diagnoses:
        known = ", ".join(problem.diagnoses)
        raise ProblemError(f"state must be one of {known}; it is '{about}'", field=("state",))
    return about


def _edge(ground: ConstrainedProblem, whole: bool, kind: str, state: str) -> Edge:
    sums = Sums(ground, [Target(kind, 1.0, state)])
    axis = sums.bounds[0].criterion
    found, complete = pareto_frontier(ground, sums.cost, axis)
    plain: Share = plain_share(sums)
    own = sums.own(sums.targets[0])
    here = Point(plain.course.total(axis), plain.course.total(sums.cost), *own, plain.numbers)
    points = tuple(
        Point(one.axis, one.cost, one.low, None if one is found[-1] else one.high, sums.numbers(one.policy))
        for one in found
    )
    return Edge(kind, state, sums.words, ground.depth, whole, points, complete, own, here)
