"""Agents by name, and the planners of this library: both turn a problem into a policy.

An `Agent` is a name of the paper's table (or a rule of the problem, or a policy file) with settings; the problem
completes them. The planners have their settings as constructor arguments and take an `Objective`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from rhoplan.agents.agent import AGENTS, OTHER_AGENTS, BoundAgent, make_agent
from rhoplan.agents.planned import AgentPolicy
from rhoplan.agents.planners.planner import GraphPlanner
from rhoplan.agents.registry import PLANNERS, row_of
from rhoplan.errors import AgentError, in_a_row
from rhoplan.model.pomdp import Problem
from rhoplan.planning.objective import Objective, objective_for
from rhoplan.planning.planner import Planner

WORDS = {
    "horizon": "horizon", "information_weight": "weight", "information_unit": "unit", "discount": "discount",
    "inverse_temperature": "precision", "utility": "utility", "target": "target", "planner": "planner",
    "simulations": "simulations", "seconds": "seconds", "exploration": "exploration", "near": "near",
}  # fmt: skip
"""Settings of an agent in Python, and what options and records call them."""


class Agent(Planner):
    """An agent by name with settings; those that are not given are the problem's own."""

    def __init__(self, name: str, **settings: Any) -> None:
        for word in settings:
            if word not in WORDS:
                raise AgentError(f"an agent has no setting '{word}'; it has {in_a_row(WORDS)}", field=(word,))
        self.agent = name
        self.settings = {word: value for word, value in settings.items() if value is not None}

    def bind(self, problem: Problem, objective: Objective | None = None) -> BoundAgent:
        """The agent with its settings completed by `problem`; `objective` replaces the agent's own."""
        found = make_agent(self.agent, problem, **{WORDS[word]: value for word, value in self.settings.items()})
        return found if objective is None else found.changed(objective=objective.for_problem(problem))

    def solve(self, problem: Problem, objective: Objective | None = None) -> AgentPolicy:
        """The policy of the agent in `problem`."""
        return AgentPolicy(problem, self.bind(problem, objective))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Agent) and (self.agent, self.settings) == (other.agent, other.settings)

    def __hash__(self) -> int:
        return hash(self.agent)

    def __repr__(self) -> str:
        return (
            f"Agent({', '.join([repr(self.agent), *(f'{word}={value!r}' for word, value in self.settings.items())])})"
        )


def agent(name: str, **settings: Any) -> Agent:
    """The agent `name`: a planner with an objective.

    Parameters
    ----------
    name
        One of `list_agents()`, a rule of the problem, or `solved:FILE` for a saved policy.
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
    """Names of the agents that work in every problem; problems may have rules of their own as well."""
    return [*AGENTS, *OTHER_AGENTS]


def list_planners() -> list[str]:
    """Names of the planners."""
    return list(PLANNERS)


@dataclass(frozen=True)
class EnginePlanner(Planner):
    """A planner of this library. The fields are settings; None stands for the planner's or the problem's own."""

    def on_graph(self, problem: Problem) -> GraphPlanner:
        """The planner as the engine runs it."""
        made: Any = row_of(PLANNERS, self.name, "planner").load()
        given = {word: value for word, value in asdict(self).items() if value is not None}
        found: GraphPlanner = made.for_problem(problem, **given)
        return found

    def solve(self, problem: Problem, objective: Objective | None = None) -> AgentPolicy:
        """The policy that plans at each belief."""
        aim = objective_for(problem, objective)
        agent = BoundAgent(type(self).__name__, objective=aim, planner=self.on_graph(problem))
        return AgentPolicy(problem, agent)


@dataclass(frozen=True)
class Lookahead(EnginePlanner):
    """Exact look-ahead over `horizon` actions at each belief (receding horizon); then the best terminal action."""

    name: ClassVar[str] = "exact"

    horizon: int | None = None


@dataclass(frozen=True)
class Anytime(EnginePlanner):
    """Look-ahead over `horizon` actions, or as many as `seconds` allow, with leaf values derived from the problem."""

    name: ClassVar[str] = "anytime"

    horizon: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class RunOnce(EnginePlanner):
    """Branch and bound over evidence at each belief, for dozens of tests that run once; no horizon.

    seconds: per decision; by default a fixed amount of work. memory: bytes that one search may take.
    """

    name: ClassVar[str] = "many"

    seconds: float | None = None
    memory: float | None = None


@dataclass(frozen=True)
class TreeSearchPlanner(EnginePlanner):
    """Settings of tree searches. simulations, seconds: per decision. exploration: the UCB1 constant."""

    samples: ClassVar[bool] = True

    horizon: int | None = None
    simulations: int | None = None
    seconds: float | None = None
    exploration: float | None = None


@dataclass(frozen=True)
class MCTS(TreeSearchPlanner):
    """Monte Carlo tree search over beliefs: a UCB1 tree whose observations are enumerated."""

    name: ClassVar[str] = "mcts"


@dataclass(frozen=True)
class POMCP(TreeSearchPlanner):
    """Monte Carlo tree search over histories with sampled states (Silver and Veness 2010)."""

    name: ClassVar[str] = "pomcp"
