"""What the public functions accept as a policy, and how it is followed on the belief graph."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Sequence
from reprlib import repr as shortened
from typing import Any, TypeAlias

from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.named import Agent
from rhoplan.agents.planned import AgentPolicy
from rhoplan.agents.planners.external import FollowPolicy, PolicyRule
from rhoplan.belief.belief import Belief
from rhoplan.errors import AgentError, LimitError, WrongKind
from rhoplan.graph.graph import Graph
from rhoplan.model import horizon as horizons
from rhoplan.model.pomdp import Problem
from rhoplan.planning.objective import Objective
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import FunctionPolicy, Policy
from rhoplan.planning.policy_file import digest_of_problem
from rhoplan.scoring.evaluate import ExactScore, evaluate, graph_for
from rhoplan.solutions import Solution

PolicyLike: TypeAlias = Policy | Planner | BoundAgent | str | Callable[[Belief], str]
"""A policy, an agent or its name, a planner, or a function from a Belief to the name of an action."""

MOST_BELIEFS, MOST_PROBABILITIES = 50_000, 30_000_000
"""Beliefs, and probabilities in all of them, that are visited to evaluate a policy that is asked at each of them: that
takes up to milliseconds."""


class Evaluation:
    """Exact scores of policies of `problem` in `world`; policies of one problem share a belief graph."""

    def __init__(self, problem: Problem, world: Problem | None, max_steps: int | None) -> None:
        self.problem, self.world, self.max_steps = problem, world, max_steps
        self._graph: Graph | None = None

    def score(self, policy: PolicyLike) -> ExactScore:
        """The score of one policy."""
        problem, agent, world = followed(self.problem, policy, self.world)
        if isinstance(agent.planner, FollowPolicy):
            return self._asked(problem, agent, world)
        if problem is not self.problem:
            return evaluate(problem, agent, world=world, cap=self.max_steps)
        if self._graph is None:
            self._graph = graph_for(problem)
        return evaluate(problem, agent, world=world, cap=self.max_steps, graph=self._graph)

    def _asked(self, problem: Problem, agent: BoundAgent, world: Problem | None) -> ExactScore:
        """The score of a policy that is asked at each belief, on a smaller graph of its own."""
        most = min(MOST_BELIEFS, MOST_PROBABILITIES // max(len(factor.states) for factor in problem.factors))
        graph = Graph(problem, node_limit=most)
        try:
            return evaluate(problem, agent, world=world, cap=self.max_steps, graph=graph)
        except LimitError:
            raise LimitError(
                f"{agent.name} can reach more than {most:,} beliefs of '{problem.name}', too many for an exact score: "
                "estimate it with rhoplan.simulate",
                field=("policy",),
            ) from None


def policy_of(problem: Problem, policy: PolicyLike) -> Policy:
    """The policy that `policy` stands for in `problem`."""
    if isinstance(policy, Solution):
        return policy.policy
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str):
        policy = Agent(policy)
    if isinstance(policy, BoundAgent):
        return AgentPolicy(problem, policy)
    if isinstance(policy, Planner):
        return policy_of(problem, policy.solve(problem))
    if callable(policy):
        return FunctionPolicy(problem, policy)
    raise WrongKind(
        "a policy must be a policy, an agent, the name of an agent, a planner or a function from a Belief to the name "
        f"of an action; it is {shortened(policy)}: see rhoplan.agent and rhoplan.solve",
        field=("policy",),
    )


def followed(problem: Problem, policy: PolicyLike, world: Problem | None) -> tuple[Problem, BoundAgent, Problem | None]:
    """The problem in which `policy` acts, what follows it on the belief graph, and the true model."""
    if isinstance(policy, BoundAgent):
        return problem, policy, world
    found = policy_of(problem, policy)
    problem, world = with_horizon_of(found, problem, world)
    if isinstance(found, AgentPolicy) and is_same(found.problem, problem):
        return problem, found.agent, world
    # A policy made for another problem keeps planning with its own numbers: it is asked at each belief.
    aim = Objective(discount=problem.discount)
    return problem, BoundAgent(found.name, objective=aim, planner=FollowPolicy(rule=PolicyRule(found))), world


def is_same(problem: Problem, other: Problem) -> bool:
    """Whether two problems have the same numbers."""
    return problem is other or digest_of_problem(problem) == digest_of_problem(other)


def with_horizon_of(policy: Policy, problem: Problem, world: Problem | None) -> tuple[Problem, Problem | None]:
    """`problem` and `world` with the horizon of the problem that `policy` was made for."""
    horizon = horizons.horizon_of(policy.problem)
    if horizon is None or horizons.horizon_of(problem) is not None:
        return problem, world
    if world is not None and horizons.horizon_of(world) is None:
        world = horizons.with_horizon(world, horizon)
    return horizons.with_horizon(problem, horizon), world


def names(policies: Sequence[PolicyLike]) -> list[str]:
    """A name for each of several policies."""
    names: list[str] = []
    for policy in policies:
        if isinstance(policy, str):
            name = policy
        elif isinstance(policy, BoundAgent | Policy):
            name = policy.name
        else:
            name = policy.agent if isinstance(policy, Agent) else getattr(policy, "__name__", type(policy).__name__)
        number = sum(known == name or known.startswith(f"{name} #") for known in names)
        names.append(f"{name} #{number + 1}" if number else name)
    return names


def checked_steps(max_steps: int | None) -> int | None:
    """`max_steps`, if it is a limit of steps."""
    return None if max_steps is None else checked_whole("max_steps", max_steps, 1)


def checked_whole(name: str, value: Any, least: int) -> int:
    """`value` as a whole number of at least `least`; `name` is that of the argument."""
    try:
        if isinstance(value, bool):
            raise TypeError
        found = operator.index(value)
    except TypeError:
        raise AgentError(f"{name} must be a whole number; it is {shortened(value)}", field=(name,)) from None
    if found < least:
        raise AgentError(f"{name} must be at least {least}; it is {found}", field=(name,))
    return found


def checked_jobs(agent: BoundAgent, jobs: int) -> None:
    """Refuse several processes for a policy that cannot be sent to them."""
    if jobs <= 1:
        return
    try:
        pickle.dumps(agent)
    except Exception:
        raise AgentError(
            f"jobs must be 1 for {agent.name}, which other processes cannot import: define its function in a module",
            field=("jobs",),
        ) from None
