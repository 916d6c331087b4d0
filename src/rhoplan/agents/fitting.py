"""Which planner fits: how large exact look-ahead would be, counted before anything is built, and what to do instead.

Tests that run once make situations by the number: every set of tests is a visible state with a menu of its own, every
set of results a node. Where that is too much, branch and bound over evidence plans (planner many, no horizon); for
what that cannot plan, look-ahead over fewer actions does. Results of tests that can be repeated often meet in one
belief, so those are not counted here: the limit on nodes holds while the graph grows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rhoplan.agents.planners import BuiltInPlanner, Lookahead, RunOnce
from rhoplan.errors import AgentError, MissingExtra
from rhoplan.model.diagnostic import Done
from rhoplan.model.limits import FEW_STATES
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.objective import Objective

if TYPE_CHECKING:
    from rhoplan.agents.agent import BoundAgent

MEMORY = 1e9
"""Bytes that planning one case may take where nobody says."""

QUICK = 40_000
"""Actions on menus up to which exact look-ahead is taken where nobody asks for a planner: about a second."""

ARCS_PER_ACTION = 30
"""Arcs of the graph that take as long as putting one action on a menu."""

ACTION_BYTES, NODE_BYTES = 1500, 300
"""Memory of an action on a menu, and of a node besides its arcs and its belief; measured."""


@dataclass(frozen=True)
class Size:
    """How large exact look-ahead is: visible states, nodes, and tests on offer at most; outcomes, states: of the model.

    A lower bound where tests can be repeated; infinite where counting itself took too long.
    """

    menus: float
    nodes: float
    tests: int
    outcomes: int
    states: int

    @property
    def work(self) -> float:
        """In actions on menus."""
        return self.tests * (self.menus + self.nodes / ARCS_PER_ACTION)

    @property
    def bytes(self) -> float:
        return self.menus * self._menu_bytes + self.nodes * self._node_bytes

    def most_nodes(self, memory: float) -> int:
        """How many nodes fit into `memory`, with their share of the menus."""
        share = self.menus / self.nodes if 1 < self.nodes < math.inf else 0.0
        return int(memory / (self._node_bytes + share * self._menu_bytes))

    @property
    def _menu_bytes(self) -> float:
        return float(self.tests * ACTION_BYTES)

    @property
    def _node_bytes(self) -> float:
        return float(self.tests * (12 * self.outcomes + 17) + 8 * self.states + NODE_BYTES)


@dataclass(frozen=True)
class Fit:
    """A planner that may do; words: what is not as asked for, and why, empty where all is. size: see `Size`."""

    planner: BuiltInPlanner
    words: str = ""
    size: Size | None = None


def size_of(problem: POMDP, horizon: int, done: Done | None = None, *, repeats: bool = False) -> Size:
    """How large look-ahead over `horizon` actions is from `done` on, the start by default.

    repeats: whether tests that can be repeated count, as if they ran once; where their results meet in one belief that
    is too many.
    """
    menu, here = problem.flat, problem.start if done is None else done
    assert isinstance(here, Done)
    depth = horizon if menu.most_tests is None else min(horizon, max(menu.most_tests - here.tests, 0))
    left = [len(test.outcomes) for test in menu.tests if not test.repeatable and test.name not in here.run]
    again = [len(test.outcomes) for test in menu.tests if test.repeatable and repeats]
    menus, nodes = _sets([1] * len(left), depth), _sets(left + again, depth)
    more = len(menu.tests), max((len(test.outcomes) for test in menu.tests), default=1), len(problem.states)
    if menus * len(left) > QUICK and (menu.budget is not None or any(test.after for test in menu.tests)):
        menus, fewer = min((menus, nodes), _allowed(problem, here, depth))
        nodes = nodes if again else fewer
    return Size(menus, nodes, *more)


def chosen(problem: POMDP, planner: BuiltInPlanner, objective: Objective) -> Fit:
    """What to plan with where nobody asks for a planner: `planner`, or what is quick enough instead."""
    if not isinstance(planner, Lookahead) or problem.listed is None:
        return Fit(planner)
    return next(fitting(problem, planner, objective, work=QUICK, repeats=len(problem.states) <= FEW_STATES))


def fitting(
    problem: POMDP,
    planner: BuiltInPlanner,
    objective: Objective,
    *,
    done: Done | None = None,
    memory: float = MEMORY,
    work: float = math.inf,
    repeats: bool = False,
) -> Iterator[Fit]:
    """Planners to try in turn in a flat `problem`, `planner` first where it is within `memory` and `work`.

    repeats: see `size_of`.
    """
    if not isinstance(planner, Lookahead):
        yield Fit(planner.within(memory))
        return
    size = size_of(problem, planner.depth, done, repeats=repeats)
    asked = f"looking {planner.depth} {'test' if planner.depth == 1 else 'tests'} ahead exactly needs"
    asked += f" {_about(size.nodes)} situations or more"
    if size.bytes <= memory and size.work <= work:
        yield Fit(planner, size=size)
        asked = asked.partition(" needs")[0] + " needs too much memory"
    if planner.depth > 1 and (other := _many(planner, objective)):
        words = f"{asked}: planned by branch and bound instead, with no limit to the number of tests"
        yield Fit(other.within(memory), words)
    for horizon in range(planner.depth - 1, 0, -1):
        size = size_of(problem, horizon, done)
        if (size.bytes <= memory and size.work <= work) or horizon == 1:
            yield Fit(replace(planner, horizon=horizon), f"{asked}: looked {horizon} ahead instead", size)


def with_planner(agent: BoundAgent, fit: Fit) -> BoundAgent:
    """`agent` with the planner of `fit`."""
    return agent if fit.planner == agent.planner else agent.changed(planner=fit.planner)


def _many(planner: BuiltInPlanner, objective: Objective) -> BuiltInPlanner | None:
    """Planner many, where it can plan for `objective`, and what it needs is installed."""
    try:
        import rhoplan.planning.many  # noqa: F401

        other = RunOnce(planner.depth)
        other.check(objective)
    except (AgentError, MissingExtra):
        return None
    return other


def _sets(outcomes: list[int], most: int) -> float:
    """How many sets of results of at most `most` tests there are, of tests with so many outcomes each."""
    counts = [1.0] + [0.0] * min(most, len(outcomes))
    for number in outcomes:
        for size in range(len(counts) - 1, 0, -1):
            counts[size] += number * counts[size - 1]
    return math.fsum(counts)


def _allowed(problem: POMDP, start: Done, depth: int) -> tuple[float, float]:
    """Visible states and sets of results as orders and budgets allow them; infinite beyond what is quick to plan."""
    menu = problem.flat
    once = [test for test in menu.tests if not test.repeatable]
    known, layer = {start}, {start: 1.0}
    nodes = 1.0
    for _ in range(depth):
        after: dict[Done, float] = {}
        for done, results in layer.items():
            for test in once:
                if menu.allowed(test, done):
                    after.setdefault(menu.after(test, done), results * len(test.outcomes))
            if (len(known) + len(after)) * len(once) > 2 * QUICK:
                return math.inf, math.inf
        known |= after.keys()
        nodes, layer = nodes + math.fsum(after.values()), after
    return float(len(known)), nodes


def _about(number: float) -> str:
    """A count with two digits that count."""
    if number == math.inf:
        return "tens of thousands of"
    size = 10.0 ** max(0, math.floor(math.log10(max(number, 1.0))) - 1)
    return f"{size * round(number / size):,.0f}"
