"""Every plan of the horizon, then the problem's own leaf: the paper's one recursion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rhoplan.agents.objective import Objective
from rhoplan.agents.planners.planner import Chooser, Planner
from rhoplan.graph.graph import Graph


@dataclass(frozen=True)
class Exact(Planner):
    """Exact look-ahead over `horizon` actions. Not covered: graphs too large to hold (LimitError says so)."""

    name: ClassVar[str] = "exact"
    is_exact: ClassVar[bool] = True

    def on(self, graph: Graph, objective: Objective) -> Chooser:
        return Chooser(graph, objective, self.horizon)

    @property
    def told(self) -> str:
        return ""
