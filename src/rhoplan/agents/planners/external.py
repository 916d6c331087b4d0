"""Planners and policies from outside the engine, followed on the belief graph."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from rhoplan.agents.planners.planner import Chooser, GraphPlanner, Seed
from rhoplan.agents.planners.rule import Follower, FollowRule
from rhoplan.agents.settings import SETTINGS
from rhoplan.belief.belief import Belief
from rhoplan.belief.situation import Situation
from rhoplan.errors import NotAvailable
from rhoplan.graph.graph import Graph
from rhoplan.model.pomdp import Array, Problem
from rhoplan.planning.objective import Objective
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import Policy, checked_action


@dataclass(frozen=True, eq=False)
class PolicyRule:
    """A policy as a rule of the problem: from a situation to the name of an action."""

    policy: Policy

    def __call__(self, problem: Problem, situation: Situation, weight: float) -> str:
        belief = Belief(problem, situation)
        return checked_action(belief, self.policy.action(belief), self.policy.name)


class PolicyChooser(Follower):
    """A policy on a graph; its decisions are explained with its own action values, else with one step of look-ahead."""

    def __init__(self, graph: Graph, objective: Objective, policy: Policy) -> None:
        super().__init__(graph, objective, 1, PolicyRule(policy))
        self.policy = policy

    def explain(self, node: int, seed: Seed) -> tuple[Array, int, int]:
        later, slot, ending = super().explain(node, seed)
        try:
            values = self.policy.action_values(Belief(self.graph.problem, self.graph.situation(node)))
        except NotAvailable:
            return later, slot, ending
        menu = self.graph.menus[self.graph.visible[node]].going
        later = later.copy()
        later[: len(menu)] = [values[action.name].continuation for action in menu]
        return later, slot, ending


@dataclass(frozen=True)
class FollowPolicy(FollowRule):
    """Follows a policy; what it does is explained with the policy's own action values."""

    rule: PolicyRule = field(kw_only=True)

    def on(self, graph: Graph, objective: Objective) -> Chooser:
        return PolicyChooser(graph, objective, self.rule.policy)


@dataclass(frozen=True)
class ExternalPlanner(GraphPlanner):
    """A `Planner` as the engine follows it: its policy decides at every node of the graph."""

    plans = False

    horizon: int = 1
    planner: Planner = field(kw_only=True)

    def __post_init__(self) -> None:
        steps = getattr(self.planner, "horizon", None)
        for attribute, value in (("name", self.planner.name), ("samples", self.planner.samples)):
            object.__setattr__(self, attribute, value)
        if steps is not None:
            object.__setattr__(self, "horizon", steps)
        super().__post_init__()

    def on(self, graph: Graph, objective: Objective) -> Chooser:
        return PolicyChooser(graph, objective, self.planner.solve(graph.problem, objective))

    def with_settings(self, **settings: Any) -> GraphPlanner:
        """The same with other settings."""
        own = settings_of(self.planner)
        changed = {name: value for name, value in settings.items() if name in own}
        return replace(self, planner=replace(self.planner, **changed))  # type: ignore[type-var]

    @property
    def settings(self) -> dict[str, Any]:
        return {name: getattr(self.planner, name) for name in settings_of(self.planner)}

    @property
    def takes(self) -> tuple[str, ...]:
        own = settings_of(self.planner)
        return tuple(setting.name for setting in SETTINGS.values() if setting.of == "planner" and setting.word in own)

    @property
    def is_timed(self) -> bool:
        """False: limits of time are for `solve`, and the policy that it returns depends on the belief only."""
        return False

    @property
    def simulations(self) -> int | None:
        """Simulations per decision, if it has that setting."""
        return getattr(self.planner, "simulations", None)

    @property
    def seconds(self) -> float | None:
        """Seconds per decision, if it has that setting."""
        return getattr(self.planner, "seconds", None)

    @property
    def exploration(self) -> float | None:
        """Exploration constant, if it has that setting."""
        return getattr(self.planner, "exploration", None)


def settings_of(planner: Planner | type[Planner]) -> tuple[str, ...]:
    """Names of the fields of a planner that is a dataclass."""
    return tuple(one.name for one in fields(planner)) if is_dataclass(planner) else ()
