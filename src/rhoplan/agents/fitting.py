"""The planner for a diagnostic problem if none is given: the size of exact look-ahead, and what replaces it.

Tests that run once make large graphs: every set of tests is an observable state with a menu of its own, every set of
results a node. The size is counted before anything is built. If it is too large, branch and bound over evidence plans
(`RunOnce`), or look-ahead over fewer actions if that cannot plan for the objective. Results of tests that can be
repeated often lead to the same belief and are not counted; the limit on nodes holds while the graph grows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rhoplan.agents.planners import Lookahead, RunOnce
from rhoplan.errors import AgentError, MissingExtra
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.objective import Objective
from rhoplan.planning.planner import Planner

MEMORY = 1e9
"""Bytes that planning one case may take by default."""


@dataclass(frozen=True)
class Costs:
    """What exact look-ahead costs, and how much of it is quick.

    quick: work that takes about a second, in actions on menus. arcs: arcs of the graph that take as long as one action
    on a menu. action_bytes, node_bytes: memory of an action on a menu, and of a node without its arcs and its belief.
    search_share: part of the memory for a case that one search of `RunOnce` may take; earlier results need the rest.
    """

    quick: float = 40_000
    arcs: float = 30
    action_bytes: float = 1500
    node_bytes: float = 300
    search_share: float = 0.5


COSTS = Costs()


@dataclass(frozen=True)
class Size:
    """The size of exact look-ahead: observable states, nodes, tests in all; outcomes of a test at most, hidden states.

    Observable states and nodes are lower bounds if tests can be repeated, and infinite if counting took too long.
    """

    menus: float
    nodes: float
    tests: int
    outcomes: int
    states: int

    @property
    def work(self) -> float:
        """In actions on menus."""
        return self.tests * (self.menus + self.nodes / COSTS.arcs)

    @property
    def bytes(self) -> float:
        """Memory of the graph and its menus."""
        return self.menus * self.tests * COSTS.action_bytes + self.nodes * self._node_bytes

    def most_nodes(self, memory: float) -> int:
        """The number of nodes that fit into `memory`, with their share of the menus."""
        is_counted = 1 < self.nodes < math.inf
        return int(memory * self.nodes / self.bytes if is_counted else memory / self._node_bytes)

    @property
    def _node_bytes(self) -> float:
        return self.tests * (12 * self.outcomes + 17) + 8 * self.states + COSTS.node_bytes


@dataclass(frozen=True)
class Fit:
    """A planner to try. words: how it differs from the planner asked for, and why; may be empty. size: see `Size`."""

    planner: Planner
    words: str = ""
    size: Size | None = None


def size_of(problem: POMDP, horizon: int, done: Done | None = None, *, repeats: bool = False) -> Size:
    """The size of look-ahead over `horizon` actions from `done` on, by default from the initial observable state.

    repeats: whether tests that can be repeated count, as if they ran once; that is too many if their results lead to
    the same beliefs.
    """
    menu, here = problem.flat, problem.start if done is None else done
    assert isinstance(here, Done)
    depth = horizon if menu.most_tests is None else min(horizon, max(menu.most_tests - here.tests, 0))
    once = [len(test.outcomes) for test in menu.tests if not test.repeatable and test.name not in here.run]
    again = [len(test.outcomes) for test in menu.tests if test.repeatable and repeats]
    menus, nodes = _sets([1] * len(once), depth), _sets(once + again, depth)
    if menus * len(once) > COSTS.quick and (menu.budget is not None or any(test.after for test in menu.tests)):
        menus, fewer = min((menus, nodes), _allowed(problem, here, depth))
        nodes = nodes if again else fewer
    outcomes = max((len(test.outcomes) for test in menu.tests), default=1)
    return Size(menus, nodes, len(menu.tests), outcomes, len(problem.states))


def fitting(
    problem: POMDP,
    planner: Planner,
    objective: Objective,
    *,
    done: Done | None = None,
    memory: float = MEMORY,
    work: float = math.inf,
    repeats: bool = False,
) -> Iterator[Fit]:
    """Planners to try in turn: `planner` first, if it is within `memory` and `work`.

    Only exact look-ahead in a diagnostic `problem` is replaced. repeats: see `size_of`.
    """
    search_memory = COSTS.search_share * memory
    if not isinstance(planner, Lookahead) or problem.listed is None:
        yield Fit(replace(planner, memory=search_memory) if isinstance(planner, RunOnce) else planner)
        return
    size, asked = size_of(problem, planner.depth, done, repeats=repeats), f"looking {planner.depth} ahead exactly needs"
    needs = "tens of thousands of" if size.nodes == math.inf else f"{size.nodes:,.0f}"
    reason = f"{asked} {needs} beliefs or more"
    if size.bytes <= memory and size.work <= work:
        yield Fit(planner, size=size)
        reason = f"{asked} too much memory"
    if planner.depth > 1 and _can_run_once(planner.depth, objective):
        words = f"{reason}: planned by branch and bound instead, with no limit to the number of tests"
        yield Fit(RunOnce(planner.depth, memory=search_memory), words)
    for horizon in range(planner.depth - 1, 0, -1):
        size = size_of(problem, horizon, done)
        if (size.bytes <= memory and size.work <= work) or horizon == 1:
            yield Fit(replace(planner, horizon=horizon), f"{reason}: looked {horizon} ahead instead", size)


def _can_run_once(horizon: int, objective: Objective) -> bool:
    """Whether `RunOnce` can plan for `objective`, and its extra is installed."""
    try:
        import rhoplan.planning.many  # noqa: F401

        RunOnce(horizon).check(objective)
    except (AgentError, MissingExtra):
        return False
    return True


def _sets(outcomes: list[int], most: int) -> float:
    """The number of sets of results of at most `most` tests with so many outcomes each."""
    counts = [1.0] + [0.0] * min(most, len(outcomes))
    for number in outcomes:
        for size in range(len(counts) - 1, 0, -1):
            counts[size] += number * counts[size - 1]
    return math.fsum(counts)


def _allowed(problem: POMDP, start: Done, depth: int) -> tuple[float, float]:
    """Observable states and sets of results that orders and budgets allow; infinite beyond what is quick to plan."""
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
            if (len(known) + len(after)) * len(once) > 2 * COSTS.quick:
                return math.inf, math.inf
        known |= after.keys()
        nodes, layer = nodes + math.fsum(after.values()), after
    return float(len(known)), nodes
