"""Planners on the belief graph: `GraphPlanner` holds the settings, `Chooser` selects actions at many nodes at once.

The engine works with these. Users see `planning.planner.Planner`, whose method `solve` returns a policy.

Shapes: n nodes, M actions that go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from rhoplan.agents.settings import SETTINGS
from rhoplan.graph.graph import Graph
from rhoplan.model.pomdp import Array, Ids, Leaf, Problem
from rhoplan.planning.exact import Plan
from rhoplan.planning.objective import Objective

if TYPE_CHECKING:
    from rhoplan.planning.many import ManySolution

Seed: TypeAlias = tuple[int, ...]


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


@dataclass(frozen=True)
class GraphPlanner:
    """How to look ahead. The fields of a planner are the settings that it takes, by their Python names (and
    `memory` where it must know what a case may take: see `within`).

    name: what records and logs call it. samples: whether a decision depends on a seed. plans: whether it looks ahead
    for the objective. is_exact: whether it does what `Plan` at its horizon does, over the problem's own leaf.
    is_bounded: whether it follows plans with bounds on the best (see `Chooser.bounded`) in flat problems.
    """

    name: ClassVar[str]
    samples: ClassVar[bool] = False
    plans: ClassVar[bool] = True
    is_exact: ClassVar[bool] = False
    is_bounded: ClassVar[bool] = False

    horizon: int

    def __post_init__(self) -> None:
        for setting in SETTINGS.values():
            value = getattr(self, setting.word, None) if setting.name in self.takes else None
            if value is not None:
                setting.check(value)

    def on(self, graph: Graph, objective: Objective) -> Chooser:
        """What this planner does on `graph` for `objective`."""
        raise NotImplementedError

    def check(self, objective: Objective) -> None:
        """Raise AgentError where this planner cannot plan for `objective`; in what problem is for `on` to say."""

    @classmethod
    def for_problem(cls, problem: Problem, **settings: Any) -> GraphPlanner:
        """This planner with `settings`, and what suits `problem` where they do not say."""
        return cls(**{"horizon": problem.horizon, **settings})

    def with_settings(self, **settings: Any) -> GraphPlanner:
        """This planner with other settings, by their Python names."""
        return replace(self, **settings)

    @property
    def settings(self) -> dict[str, Any]:
        """Its fields by name, as JSON can hold them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def within(self, memory: float) -> GraphPlanner:
        """This planner where planning one case may take `memory` bytes."""
        return self

    @property
    def takes(self) -> tuple[str, ...]:
        """Names of the settings that it takes."""
        own = {field.name for field in fields(self)}
        return tuple(setting.name for setting in SETTINGS.values() if setting.of == "planner" and setting.word in own)

    @property
    def is_timed(self) -> bool:
        """Whether time limits it, so that it may do another thing on another day."""
        return getattr(self, "seconds", None) is not None

    @property
    def is_fixed(self) -> bool:
        """Whether the situation alone decides what it does, so that it can be followed and scored exactly."""
        return not self.samples and not self.is_timed

    @property
    def told(self) -> str:
        """Name and budget for the title of a table; empty where a title does not mention it."""
        simulations, seconds = getattr(self, "simulations", None), getattr(self, "seconds", None)
        limits = [f"{simulations:,} simulations"] if simulations else []
        limits += [f"{seconds:g} s"] if seconds else []
        return f"planner {self.name}" + (f" ({' or '.join(limits)} per decision)" if limits else "")


@dataclass(frozen=True)
class Exact(GraphPlanner):
    """Exact look-ahead over `horizon` actions: every plan, then the problem's own leaf, the paper's one recursion.

    Not covered: graphs too large to hold (LimitError says so).
    """

    name: ClassVar[str] = "exact"
    is_exact: ClassVar[bool] = True

    def on(self, graph: Graph, objective: Objective) -> Chooser:
        return Chooser(graph, objective, self.horizon)

    @property
    def told(self) -> str:
        return ""
