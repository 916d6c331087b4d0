"""The whole plan to carry away: every situation that following it can lead to, once, with the advice given there.

Situations that meet are one place, so the plan is a graph, not a tree. Besides results there are two things that go
another way than planned: a result that nobody knows, and a test that cannot be had. Where these lead is in the plan as
far as there is room, the fewest of them first; a place that is not says so.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from rhoplan._old.followed import Plans
from rhoplan.advice.case import Adviser, without
from rhoplan.advice.first import First, tell_first
from rhoplan.advice.outlay import Ahead, outlook
from rhoplan.advice.start import FRESH, Standing, started
from rhoplan.agents.agent import BoundAgent
from rhoplan.errors import LimitError
from rhoplan.model.belief import UNKNOWN
from rhoplan.model.pomdp import POMDP

NOWHERE = -1
"""Where an arrow leads that the plan does not hold."""

SMALLEST = 1e-9
"""Share of cases below which what follows is left out where nobody says."""

MOST_PLACES, ROOM = 2000, 1000
"""Situations that results may lead to; and up to which others are added, after tests that went another way."""

MOST_AMOUNTS = 400
"""Different sums that may have been spent."""


@dataclass(frozen=True)
class Place:
    """One situation of the plan, and where it leads.

    first: the advice; nothing in it depends on how one came here. ahead: what is still to come. after: the place that
    each of its results leads to. unknown, unavailable: the place where its test's result is not known, or the test
    cannot be had. price: what the test costs here. All NOWHERE or None at a commit.
    """

    first: First
    ahead: Ahead
    price: float | None
    after: tuple[int, ...]
    unknown: int
    unavailable: int


@dataclass(frozen=True)
class Carried:
    """The plan of `agent` for `problem`: `places`, the first of which is the start.

    model, standing: the problem as it was given, and where the plan starts; `problem` has the prior of that start.
    amounts: sums that can have been spent. sums: for each price the place among them after paying it, NOWHERE beyond.
    covers: how many tests may go another way, whatever happens, without leaving the plan; None for any number.
    smallest: share of cases below which results lead nowhere.
    """

    problem: POMDP
    agent: BoundAgent
    places: tuple[Place, ...]
    amounts: tuple[float, ...]
    sums: dict[float, tuple[int, ...]]
    covers: int | None
    smallest: float
    model: POMDP
    standing: Standing


def carry(
    problem: POMDP,
    agent: BoundAgent,
    *,
    standing: Standing = FRESH,
    smallest: float = SMALLEST,
    most: int = MOST_PLACES,
    room: int = ROOM,
) -> Carried:
    """The plan of `agent` for `problem` from where a case stands, to be followed without a planner.

    LimitError where results alone lead to more than `most` situations, or where there is no plan that is made once.
    Not covered: agents that sample, are limited by time or act at random; tests other than the advised one.
    """
    model, problem = problem, started(problem, standing.prior, standing.known)
    adviser = Adviser(problem, agent, standing.given, unavailable=standing.unavailable)
    adviser.part("first")
    if adviser.agent.planner.is_bounded:
        raise LimitError(
            f"a plan to carry away must be worked out in full; '{problem.name}' is planned anew at every step "
            "(rhoplan report draws its pathway, rhoplan advise and serve follow it)"
        )
    walk = _Walk(adviser, smallest, most, room)
    places = tuple(walk.place(key) for key in walk.keys)
    amounts, sums = _spending(places, problem, adviser.spent)
    return Carried(problem, adviser.agent, places, amounts, sums, walk.covers, smallest, model, standing)


Key = tuple[frozenset[str], int]
"""Tests that cannot be had, and the node of the graph without them."""


class _Walk:
    """Finds the places: all that results lead to; then what follows a test that went another way, as far as there is
    room, the fewest such tests first, and among those the most cases first. Each comes with all its own results."""

    def __init__(self, adviser: Adviser, smallest: float, most: int, room: int) -> None:
        self.problem, self.agent, self.smallest = adviser.problem, adviser.agent, smallest
        left = frozenset(adviser.left)
        self.plans = {left: adviser.plans}
        self.numbers: dict[Key, int] = {}
        self.covers: int | None = None
        waiting: list[tuple[int, float, int, Key]] = [(0, -1.0, 0, (left, adviser.node))]
        count = 0
        while waiting:
            astray, share, _, key = heapq.heappop(waiting)
            if key in self.numbers:
                continue
            found = self.reached(key, -share, (room if astray else most) - len(self.numbers))
            if found is None and not astray:
                raise LimitError(
                    f"a plan to carry away may have {most:,} situations; that of '{self.problem.name}' has more "
                    "(--smallest leaves out what few cases come to)"
                )
            if found is None:
                self.covers = astray - 1
                break
            for one, part in found.items():
                self.numbers[one] = len(self.numbers)
                for target, _ in self.arrows(one)[1]:
                    count += 1
                    heapq.heappush(waiting, (astray + 1, -part, count, target))

    def reached(self, start: Key, share: float, most: int) -> dict[Key, float] | None:
        """New places that results lead to from `start`, itself included, and the share of cases that come to each by
        the first way found; None where they are more than `most`."""
        found, waiting = {start: share}, [start]
        while waiting:
            if len(found) > most:
                return None
            key = waiting.pop(0)
            for target, chance in self.arrows(key)[0]:
                part = found[key] * chance
                if part >= self.smallest and target not in self.numbers and target not in found:
                    found[target] = part
                    waiting.append(target)
        return found if len(found) <= most else None

    @property
    def keys(self) -> list[Key]:
        return list(self.numbers)

    def model(self, left: frozenset[str]) -> Plans:
        """Plans without the tests that are left out."""
        if left not in self.plans:
            self.plans[left] = Plans(without(self.problem, left))
        return self.plans[left]

    def arrows(self, key: Key) -> tuple[list[tuple[Key, float]], list[tuple[Key, str]]]:
        """Where a place leads: each result with its chance; and besides, each with the field of a `Place` that says so.

        A model that has an outcome called as unknown ones are has no other.
        """
        left, node = key
        plans = self.model(left)
        action = plans.policy(self.agent).action(node)
        if action.ends_episode:
            return [], []
        graph, here = plans.graph, plans.graph.situation(node)
        results = [((left, graph.node(one.belief)), one.probability) for one in here.branches(action)]
        fewer = left | {action.name}
        others: list[tuple[Key, str]] = [((fewer, self.model(fewer).graph.node(here)), "unavailable")]
        if UNKNOWN not in action.outcomes:
            others.append(((left, graph.node(here.update(action.name, UNKNOWN))), "unknown"))
        return results, others

    def place(self, key: Key) -> Place:
        """The finished record of a place."""
        left, node = key
        plans = self.model(left)
        policy = plans.policy(self.agent)
        first = tell_first(policy, node, (), unavailable=tuple(sorted(left)), spent=0.0)
        ahead = outlook(plans, self.agent, node)
        results, others = self.arrows(key)
        after = tuple(self.numbers.get(target, NOWHERE) for target, _ in results)
        besides = {field: self.numbers.get(target, NOWHERE) for target, field in others}
        cost = next((option.cost for option in first.options if first.is_test and option.test == first.do), None)
        return Place(
            first=first,
            ahead=ahead,
            price=cost,
            after=after,
            unknown=besides.get("unknown", NOWHERE),
            unavailable=besides.get("unavailable", NOWHERE),
        )


def _spending(
    places: tuple[Place, ...], problem: POMDP, spent_before: float
) -> tuple[tuple[float, ...], dict[float, tuple[int, ...]]]:
    """What can have been spent after the tests of an episode, and the table of sums."""
    menu = problem.flat
    begin = menu.in_minor_units(spent_before)
    costs = {place.price: menu.in_minor_units(place.price) for place in places if place.price is not None}
    reached, fresh = {(0, begin)}, {(0, begin)}
    amounts = {begin}
    for _ in range(problem.cap):
        following = set()
        for number, spent in fresh:
            place = places[number]
            if place.price is not None:
                following |= {(to, spent + costs[place.price]) for to in (*place.after, place.unknown)}
            following.add((place.unavailable, spent))
        fresh = {pair for pair in following if pair[0] != NOWHERE and pair not in reached}
        reached |= fresh
        amounts |= {spent for _, spent in fresh}
        if not fresh or len(amounts) > MOST_AMOUNTS:
            break
    kept = sorted(amounts)[:MOST_AMOUNTS]
    numbers = {amount: number for number, amount in enumerate(kept)}
    sums = {price: tuple(numbers.get(amount + costs[price], NOWHERE) for amount in kept) for price in sorted(costs)}
    return tuple(amount / menu.minor_units for amount in kept), sums
