"""Branch and bound over evidence (`planning.many`): no horizon, for dozens of tests that run once."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rhoplan.agents.planners.planner import Chooser, GraphPlanner, Seed
from rhoplan.errors import AgentError
from rhoplan.graph.graph import Graph
from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.objective import Objective

if TYPE_CHECKING:
    from rhoplan.planning.many import ManySolution
    from rhoplan.planning.many.search import Search

USUAL_WORK = 250_000
"""Beliefs worked out where nobody gives a time: some tenths of a second, and the same on every machine."""


MEMORY = 5e8
"""Bytes that one search may take where nobody says; the usual work takes less."""

SHARE = 0.5
"""Of the memory of a case, what one search may take: what was found before is kept beside it."""


class Evidence(Chooser):
    """A search from each node that is asked for; what it finds is kept.

    Not one search for all: a plan made at the start knows little of what it hardly comes to.
    """

    def __init__(self, graph: Graph, objective: Objective, planner: Many) -> None:
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
            menu, name = self.graph.menus[self.graph.visible[node]], self.search(node).first
            going = [action.name for action in menu.going]
            slots[place] = going.index(name) if name in going else -1
            endings[place] = self.graph.stop_action[node]
        return slots, endings

    def explain(self, node: int, seed: Seed) -> tuple[Array, int, int]:
        """The lower bounds are what actions are worth: there is a plan that has them."""
        nodes = np.array([node])
        slots, endings = self.choose(nodes)
        actions, menu = self.bounded(node).actions, self.graph.menus[self.graph.visible[node]]
        later = np.zeros(self.graph.known.shape[1])
        bonus = self.plan.utility.going(self.graph, nodes)[0]
        for slot, action in enumerate(menu.going):
            later[slot] = actions[action.name][0] - self.graph.reward[node, slot] - bonus[slot]
        return later, int(slots[0]), int(endings[0])


@dataclass(frozen=True)
class Many(GraphPlanner):
    """The best plan of any length that a search over evidence finds within `seconds`, or a fixed amount of work.

    memory: bytes that one search may take.
    Not covered: problems without lists of tests and commits; there it is exact look-ahead over `horizon` actions.
    """

    name: ClassVar[str] = "many"
    is_bounded: ClassVar[bool] = True

    seconds: float | None = None
    memory: float = MEMORY

    def within(self, memory: float) -> Many:
        return replace(self, memory=SHARE * memory)

    def check(self, objective: Objective) -> None:
        if not objective.is_plain:
            raise AgentError(
                "planner many takes reward and weighted information and the best action only; "
                "a precision, an own utility and epistemic-only need planner exact",
                field=("planner",),
                code="planner-unsupported",
            )

    def on(self, graph: Graph, objective: Objective) -> Chooser:
        listed = graph.problem.listed is not None
        return Evidence(graph, objective, self) if listed else Chooser(graph, objective, self.horizon)
