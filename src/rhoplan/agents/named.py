"""Agents by name with settings; a problem completes them, and an agent then is a planner with an objective."""

from __future__ import annotations

from typing import Any

from rhoplan.agents.agent import AGENTS, BoundAgent, make_agent
from rhoplan.agents.planners import PlannedPolicy
from rhoplan.agents.registry import OTHER_AGENTS, PLANNERS
from rhoplan.agents.settings import SETTINGS
from rhoplan.errors import AgentError, in_a_row
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.objective import Objective
from rhoplan.planning.planner import Planner

WORDS = {setting.field: setting.word for setting in SETTINGS.values()}
"""Settings of an agent in Python, and the arguments of `make_agent`."""


class Agent(Planner):
    """An agent by name with settings; those that are not given are the problem's own."""

    def __init__(self, name: str, **settings: Any) -> None:
        for word in settings:
            if word not in WORDS:
                raise AgentError(f"an agent has no setting '{word}'; it has {in_a_row(WORDS)}", field=(word,))
        self.agent = name
        self.settings = {word: value for word, value in settings.items() if value is not None}

    @property
    def words(self) -> dict[str, Any]:
        """Its settings as arguments of `make_agent`."""
        return {WORDS[name]: value for name, value in self.settings.items()}

    def bind(self, problem: POMDP, objective: Objective | None = None) -> BoundAgent:
        """The agent with its settings completed by `problem`; `objective` replaces the agent's own."""
        found = make_agent(self.agent, problem, **self.words)
        return found if objective is None else found.changed(objective=objective.for_problem(problem))

    def solve(self, problem: POMDP, objective: Objective | None = None) -> PlannedPolicy:
        """The policy of the agent in `problem`."""
        return self.bind(problem, objective).policy(problem)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Agent) and (self.agent, self.settings) == (other.agent, other.settings)

    def __hash__(self) -> int:
        return hash(self.agent)

    def __repr__(self) -> str:
        return f"Agent({', '.join([repr(self.agent), *(f'{name}={one!r}' for name, one in self.settings.items())])})"


def agent(name: str, **settings: Any) -> Agent:
    """The agent `name`: a planner with an objective.

    Parameters
    ----------
    name
        One of `list_agents()`, or `solved:FILE` for a saved policy.
    horizon
        Actions to look ahead; by default the problem's own.
    information_weight, information_unit
        Reward for each unit of expected information, and the unit: "nats" (the default) or "bits".
    discount, inverse_temperature, utility
        As those of `Objective`; `utility` may also be a registered name, with `target` for "target-belief".
    planner
        One of `list_planners()`, or a planner; `simulations`, `seconds` and `exploration` are for those that take them.
    """
    return Agent(name, **settings)


def list_agents() -> list[str]:
    """Names of the agents; those of other distributions may support some problems only."""
    return [*AGENTS, *OTHER_AGENTS]


def list_planners() -> list[str]:
    """Names of the planners."""
    return list(PLANNERS)
