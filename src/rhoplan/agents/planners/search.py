"""Tree searches: MCTS over beliefs (MCTS-EFE) and POMCP, each decision from simulations with a seed of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rhoplan.agents.planners.planner import Chooser, GraphPlanner, Seed
from rhoplan.agents.settings import DEFAULT_SIMULATIONS
from rhoplan.errors import AgentError
from rhoplan.graph.graph import Graph
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.objective import Objective

if TYPE_CHECKING:
    from rhoplan.planning.search.tree import SearchResult, TreeSearch


class Searching(Chooser):
    """A tree search at each node; a result depends on situation, settings and seed, and on time where it is limited."""

    def __init__(self, graph: Graph, objective: Objective, planner: Search) -> None:
        super().__init__(graph, objective, planner.horizon)
        self.planner = planner

    @cached_property
    def _tree(self) -> TreeSearch:
        from rhoplan.planning.search.tree import TreeSearch

        return TreeSearch(
            self.graph.problem,
            method=self.planner.name,
            depth=self.depth + self.planner.deeper,
            weight=self.objective.weight_per_nat,
            discount=self.objective.discount_factor,
            exploration=self.planner.exploration,
        )

    def search(self, node: int, seed: Seed) -> SearchResult:
        """What the search finds at `node`."""
        situation, planner = self.graph.situation(node), self.planner
        return self._tree.run(situation, simulations=planner.simulations, seconds=planner.seconds, seed=seed)

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids]:
        self.graph.expand(np.unique(nodes))
        found = [self.search(node, seed) for node, seed in zip(nodes.tolist(), seeds, strict=True)]
        return np.array([result.choice for result in found]), np.array([result.ending for result in found])

    def explain(self, node: int, seed: Seed) -> tuple[Array, int, int]:
        found = self.search(node, seed)
        slots = len(found.going_values)
        bonus = self.plan.utility.going(self.graph, np.array([node]))[0]
        later = found.going_values - self.graph.reward[node, :slots] - bonus[:slots]
        takes_time = (
            float(self.plan.fades(np.array([node]))[0, 0]) / self.objective.discount_factor
        )  # of a first look none
        return takes_time * later, found.choice, found.ending


@dataclass(frozen=True)
class Search(GraphPlanner):
    """What both searches share. simulations: per decision; where only `seconds` is given, all that they allow."""

    samples: ClassVar[bool] = True
    deeper: ClassVar[int] = 0

    simulations: int | None = None
    seconds: float | None = None
    exploration: float | None = None

    def __post_init__(self) -> None:
        if self.simulations is None and self.seconds is None:
            object.__setattr__(self, "simulations", DEFAULT_SIMULATIONS)
        super().__post_init__()

    def check(self, objective: Objective) -> None:
        if not objective.is_plain:
            raise AgentError(
                f"planner {self.name} takes reward and weighted information and the best action only; "
                "a precision, an own utility and epistemic-only need planner exact or anytime",
                field=("planner",),
                code="planner-unsupported",
            )

    def on(self, graph: Graph, objective: Objective) -> Chooser:
        return Searching(graph, objective, self)


@dataclass(frozen=True)
class Mcts(Search):
    """A UCB1 tree over beliefs. Not covered: a problem's own leaf; rollouts and ending actions stand in for it."""

    name: ClassVar[str] = "mcts"


@dataclass(frozen=True)
class Pomcp(Search):
    """A UCB1 tree over histories. Not covered: a problem's own leaf; rollouts and ending actions stand in for it."""

    name: ClassVar[str] = "pomcp"
    deeper: ClassVar[int] = 3  # actions beyond the horizon: the published setting
