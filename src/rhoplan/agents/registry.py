"""Planners and utilities by name.

The command line, the API, records and logs read these tables. Other distributions extend them by entry points of the
groups `rhoplan.planners`, `rhoplan.utilities` and `rhoplan.agents`. The built-in rows name a module instead of
importing it, so that printing help does not import the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from inspect import getdoc
from typing import Any

from rhoplan.errors import AgentError
from rhoplan.work.plugins import Registry, loaded


@dataclass(frozen=True)
class Registered:
    """A planner or a utility that may not be imported yet.

    home: the class or function that makes it, or its place as `module:name`. takes: names of its arguments. samples:
    whether its decisions depend on random numbers.
    """

    about: str
    home: str | Callable[..., Any]
    takes: tuple[str, ...] = ()
    samples: bool = False

    def load(self) -> Callable[..., Any]:
        """The class or function that makes it."""
        found: Callable[..., Any] = loaded(self.home) if isinstance(self.home, str) else self.home
        return found


def planner_row(name: str, planner: Any) -> Registered:
    """The row of a subclass of `Planner`; its fields are its settings."""
    if not callable(getattr(planner, "solve", None)) or not isinstance(planner, type):
        raise AgentError(
            f"planner '{name}' must be a class with a method solve(problem, objective); it is {planner!r}",
            field=("planner",),
        )
    called: object = getattr(planner, "name", name)
    if called != name:
        raise AgentError(
            f"planner '{name}' must have that name as its attribute `name`; it has {called!r}", field=("planner",)
        )
    takes = tuple(one.name for one in fields(planner)) if is_dataclass(planner) else ()
    return Registered(about_of(planner), planner, takes, bool(getattr(planner, "samples", False)))


def utility_row(name: str, utility: Any) -> Registered:
    """The row of a function (beliefs, action) -> values, of a utility, or of a class of utilities."""

    def make() -> Any:
        from rhoplan.planning.utility import FunctionUtility, Utility

        if isinstance(utility, type):
            return utility()
        return utility if isinstance(utility, Utility) else FunctionUtility(utility, name=name)

    if not callable(utility) and not hasattr(utility, "at"):
        raise AgentError(
            f"utility '{name}' must be a function (beliefs, action) -> array; it is {utility!r}", field=("utility",)
        )
    return Registered(about_of(utility), make)


def about_of(thing: Any) -> str:
    """The first line of its docstring."""
    return (getdoc(thing) or "").partition("\n")[0].rstrip(".")


HERE = "rhoplan.agents.planners"
SEARCH = ("horizon", "simulations", "seconds", "exploration")

_PLANNERS = {
    "exact": Registered("every plan of the horizon, then the problem's own leaf", f"{HERE}:Lookahead", ("horizon",)),
    "anytime": Registered(
        "every plan of the horizon, then what errands and walks are worth; deeper with --time",
        f"{HERE}:Anytime",
        ("horizon", "seconds"),
    ),
    "many": Registered(
        "branch and bound over evidence, with no horizon: for dozens of tests that run once",
        f"{HERE}:RunOnce",
        ("horizon", "seconds"),
    ),
    "mcts": Registered(
        "a UCB1 tree over beliefs, outcomes enumerated, greedy EFE rollouts",
        f"{HERE}:MCTS",
        SEARCH,
        samples=True,
    ),
    "pomcp": Registered(
        "a UCB1 tree over histories, sampled states, semi-informed rollouts",
        f"{HERE}:POMCP",
        SEARCH,
        samples=True,
    ),
}
PLANNERS: Registry[Registered] = Registry("planners", _PLANNERS, planner_row)
"""How an agent looks ahead."""

_UTILITIES = {
    "information": Registered("expected information of each test", "rhoplan.planning.utility:Information"),
    "negative-entropy": Registered(
        "minus the entropy at every action, terminal ones included", "rhoplan.planning.utility:NegativeEntropy"
    ),
    "target-belief": Registered(
        "minus the divergence of the belief from --target at every action",
        "rhoplan.planning.utility:TargetBelief",
        ("target",),
    ),
}
UTILITIES: Registry[Registered] = Registry("utilities", _UTILITIES, utility_row)
"""What an agent values besides reward, times the weight."""


def _agent(name: str, agent: Any) -> Any:
    if not hasattr(agent, "solve"):
        raise AgentError(
            f"agent '{name}' must be made by rhoplan.agent, or be a planner; it is {agent!r}", field=("agent",)
        )
    return agent


OTHER_AGENTS: Registry[Any] = Registry("agents", {}, _agent)
"""Agents of other distributions by name: what `rhoplan.agent` returns, or a planner for the problems it supports."""


def row_of(rows: Mapping[str, Registered], name: str, what: str) -> Registered:
    """The row `name`; AgentError says which there are."""
    if name not in rows:
        raise AgentError(
            f"there is no {what} '{name}'; there are {', '.join(rows)}", field=(what,), code="unknown-name"
        )
    return rows[name]
