"""What planners do on the former graph.

Kept for advice, learning and the paper; their rebuild deletes it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan._old.ties import RELATIVE_TOLERANCE
from rhoplan.agents.planners import (
    Anytime,
    BuiltInPlanner,
    FollowRule,
    RunOnce,
    TreeSearchPlanner,
)
from rhoplan.errors import NotAvailable
from rhoplan.model.belief import Belief
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.pomdp import POMDP, Array, Ids, Leaf, Rule
from rhoplan.planning.lookahead import LookaheadOnGraph
from rhoplan.planning.objective import Objective
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import Policy, Seed, checked_action
from rhoplan.planning.run_once import USUAL_WORK

if TYPE_CHECKING:
    from rhoplan.planning.many import ManySolution
    from rhoplan.planning.many.search import Search
    from rhoplan.planning.tree_search import SearchResult, TreeSearch


def chooser(planner: Planner, graph: Graph, objective: Objective) -> Chooser:
    """What `planner` does on `graph` for `objective`."""
    problem = graph.problem
    if isinstance(planner, FollowRule):
        return Follower(graph, objective, planner.depth, planner.rule)
    if not isinstance(planner, BuiltInPlanner):
        return PolicyChooser(graph, objective, planner.solve(problem, objective))
    if isinstance(planner, TreeSearchPlanner):
        return Searching(graph, objective, planner)
    if isinstance(planner, RunOnce) and problem.listed is not None:
        return Evidence(graph, objective, planner)
    leaf = planner.leaf(problem, objective) if isinstance(planner, Anytime) else None
    if isinstance(planner, Anytime) and planner.seconds is not None:
        return Deepening(graph, objective, planner.depth, leaf, planner.seconds)
    return Chooser(graph, objective, planner.depth, leaf)


class Chooser:
    """What a planner does on `graph` for `objective`: here, exact look-ahead over `depth` actions and `leaf`.

    plan: the values that decisions are explained with.
    """

    def __init__(self, graph: Graph, objective: Objective, depth: int, leaf: Leaf | None = None) -> None:
        self.graph, self.objective, self.depth, self.leaf = graph, objective, depth, leaf
        self.plan = Plan(
            graph,
            objective.rho,
            discount=objective.discount_factor,
            commits_count=objective.terminal_rewards,
            leaf=leaf,
        )

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids]:
        """What to do at `nodes`: the slot (n,) of an action that goes on, or -1 to end with ending action (n,).

        seeds: one per node, for planners that sample.
        """
        return self.plan.choices(nodes, self.depth), self.plan.best_ending(nodes)[1]

    def explain(self, node: int, seed: Seed) -> tuple[Array, int, int]:
        """Expected continuation (M,) of each action at `node`, and what `choose` does there."""
        nodes = np.array([node])
        slots, endings = self.choose(nodes, [seed])
        return self.plan.action_values(nodes, self.depth)[2][0], int(slots[0]), int(endings[0])

    def bounded(self, node: int) -> ManySolution | None:
        """Bounds at `node`, and the plan behind them that is followed from there; None where planning again is it."""
        return None


class Deepening(Chooser):
    """Look-ahead that goes deeper at each node as long as its time lasts."""

    def __init__(self, graph: Graph, objective: Objective, depth: int, leaf: Leaf | None, seconds: float) -> None:
        super().__init__(graph, objective, depth, leaf)
        self.seconds = seconds

    def deepened(self, node: int) -> tuple[LookaheadOnGraph, int]:
        """A plan for `node` as deep as time allows, and its node there."""
        from rhoplan.planning.routing.deepening import deepen  # needs Numba

        return deepen(
            self.graph.problem,
            self.graph.situation(node),
            objective=self.objective,
            leaf=self.leaf,
            seconds=self.seconds,
        )

    def _slot_and_ending(self, plan: LookaheadOnGraph, root: int) -> tuple[int, int]:
        terminal = int(plan.graph.table.terminal_count[plan.graph.observable[root]])
        place, ending = int(plan.places(np.array([root]))[0]), int(plan.graph.stop_place[root])
        return (place - terminal, ending) if place >= terminal else (-1, place)

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids]:
        self.graph.expand(nodes)
        found = np.array([self._slot_and_ending(*self.deepened(node)) for node in nodes.tolist()])
        return found[:, 0], found[:, 1]

    def explain(self, node: int, seed: Seed) -> tuple[Array, int, int]:
        plan, root = self.deepened(node)
        arcs, values = plan.action_values(np.array([root]))
        return values.continuation[~arcs.is_terminal], *self._slot_and_ending(plan, root)


class Evidence(Chooser):
    """A search from each node that is asked for; what it finds is kept.

    Not one search for all: a plan made at the start knows little of what it hardly comes to.
    """

    def __init__(self, graph: Graph, objective: Objective, planner: RunOnce) -> None:
        super().__init__(graph, objective, 1)
        self.planner = planner
        self._found: dict[int, ManySolution] = {}
        self._plans: dict[int, ManySolution] = {}
        self._latest: tuple[int, Search] | None = None

    def search(self, node: int) -> ManySolution:
        """What a search at `node` finds that stops once the first action is proven."""
        if node not in self._found:
            self._found[node] = self._run(node, until_proven=True)
        return self._found[node]

    def bounded(self, node: int) -> ManySolution:
        """The same search gone on with where the first action was proven early: better bounds, and a better plan."""
        found = self.search(node)
        if found.stopped_by != "proven":
            return found
        if node not in self._plans:
            self._plans[node] = self._run(node, until_proven=False)
        return self._plans[node]

    def _run(self, node: int, *, until_proven: bool) -> ManySolution:
        if self._latest is None or self._latest[0] != node:
            self._latest = node, self._begin(node)
        found, gap = self._latest[1], RELATIVE_TOLERANCE * self.graph.problem.reward_scale
        found.begin = time.monotonic()
        limit = self.planner.seconds
        seconds, work = (math.inf, USUAL_WORK) if limit is None else (limit, math.inf)
        ended = found.run(gap, seconds=seconds, work=work, until_proven=until_proven, progress=None)
        if ended == "interrupted":
            self._latest = None
            raise KeyboardInterrupt
        return found.solution(gap, ended)

    def _begin(self, node: int) -> Search:
        from rhoplan.planning.many.search import Search

        self._latest = None  # one at a time: they are large
        objective = self.objective
        return Search(
            self.graph.problem, self.graph.situation(node), weight=objective.weight_per_nat,
            discount=objective.discount_factor, memory=self.planner.memory,
        )  # fmt: skip

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids]:
        self.graph.expand(nodes)  # what ending is worth is known only then
        slots, endings = np.full(len(nodes), -1), np.zeros(len(nodes), dtype=np.int64)
        for place, node in enumerate(nodes.tolist()):
            menu, name = self.graph.menus[self.graph.observable[node]], self.search(node).first
            going = [action.name for action in menu.going]
            slots[place] = going.index(name) if name in going else -1
            endings[place] = self.graph.stop_action[node]
        return slots, endings

    def explain(self, node: int, seed: Seed) -> tuple[Array, int, int]:
        """The lower bounds are what actions are worth: there is a plan that has them."""
        nodes = np.array([node])
        slots, endings = self.choose(nodes)
        actions, menu = self.bounded(node).actions, self.graph.menus[self.graph.observable[node]]
        later = np.zeros(self.graph.known.shape[1])
        bonus = self.plan.utility.going(self.graph, nodes)[0]
        for slot, action in enumerate(menu.going):
            later[slot] = actions[action.name][0] - self.graph.reward[node, slot] - bonus[slot]
        return later, int(slots[0]), int(endings[0])


class Follower(Chooser):
    """A rule on a graph; what it does is explained with the values of exact look-ahead."""

    def __init__(self, graph: Graph, objective: Objective, depth: int, rule: Rule) -> None:
        super().__init__(graph, objective, depth)
        self.rule = rule

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids]:
        slots, ending = np.full(len(nodes), -1), np.full(len(nodes), -1)
        for place, node in enumerate(nodes.tolist()):
            name = self.rule(self.graph.problem, self.graph.situation(node), self.objective.weight_per_nat)
            menu = self.graph.menus[self.graph.observable[node]]
            going = [action.name for action in menu.going]
            if name in going:
                slots[place] = going.index(name)
            else:
                ending[place] = [action.name for action in menu.ending].index(name)
        taken = slots[:, None] == np.arange(self.graph.known.shape[1])
        self.graph.expand(nodes, taken)  # what it does not do may lead to far more than what it does
        return slots, ending


@dataclass(frozen=True, eq=False)
class PolicyRule:
    """A policy as a rule of the problem: from a situation to the name of an action."""

    policy: Policy

    def __call__(self, problem: POMDP, situation: Situation, weight: float) -> str:
        belief = Belief(problem, situation.observable, situation.beliefs)
        return checked_action(belief, self.policy.action(belief), self.policy.name)


class PolicyChooser(Follower):
    """A policy on a graph; its decisions are explained with its own action values, else with one step of look-ahead."""

    def __init__(self, graph: Graph, objective: Objective, policy: Policy) -> None:
        super().__init__(graph, objective, 1, PolicyRule(policy))
        self.policy = policy

    def explain(self, node: int, seed: Seed) -> tuple[Array, int, int]:
        later, slot, ending = super().explain(node, seed)
        try:
            values = self.policy.action_values(self.graph.situation(node))
        except NotAvailable:
            return later, slot, ending
        menu = self.graph.menus[self.graph.observable[node]].going
        later = later.copy()
        later[: len(menu)] = [values[action.name].continuation for action in menu]
        return later, slot, ending


class Searching(Chooser):
    """A tree search at each node; a result depends on situation, settings and seed, and on time where it is limited."""

    def __init__(self, graph: Graph, objective: Objective, planner: TreeSearchPlanner) -> None:
        super().__init__(graph, objective, planner.depth)
        self.planner = planner

    @cached_property
    def _tree(self) -> TreeSearch:
        from rhoplan.planning.tree_search import TreeSearch, TreeSearchSettings

        planner, aim = self.planner, self.objective
        settings = TreeSearchSettings(
            planner.name,
            planner.depth,
            simulations=planner.simulations,
            seconds=planner.seconds,
            exploration=planner.exploration,
        )
        return TreeSearch(self.graph.problem, settings, weight=aim.weight_per_nat, discount=aim.discount_factor)

    def search(self, node: int, seed: Seed) -> SearchResult:
        """What the search finds at `node`."""
        return self._tree.run(self.graph.situation(node), seed=seed)

    def _slot_and_ending(self, node: int, found: SearchResult) -> tuple[int, int]:
        terminal = len(self.graph.menus[self.graph.observable[node]].ending)
        if found.place >= terminal:
            return found.place - terminal, int(found.values[:terminal].argmax()) if terminal else -1
        return -1, found.place

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids]:
        self.graph.expand(np.unique(nodes))
        every = zip(nodes.tolist(), seeds, strict=True)
        found = np.array([self._slot_and_ending(node, self.search(node, seed)) for node, seed in every])
        return found[:, 0], found[:, 1]

    def explain(self, node: int, seed: Seed) -> tuple[Array, int, int]:
        found = self.search(node, seed)
        going = found.values[len(self.graph.menus[self.graph.observable[node]].ending) :]
        slots = len(going)
        bonus = self.plan.utility.going(self.graph, np.array([node]))[0]
        later = going - self.graph.reward[node, :slots] - bonus[:slots]
        takes_time = (
            float(self.plan.fades(np.array([node]))[0, 0]) / self.objective.discount_factor
        )  # of a first look none
        return takes_time * later, *self._slot_and_ending(node, found)
