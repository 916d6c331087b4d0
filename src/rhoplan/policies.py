"""What the public functions accept as a policy, and how it is followed on the belief graph."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Sequence
from reprlib import repr as shortened
from typing import Any, TypeAlias

from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.named import Agent
from rhoplan.errors import AgentError, WrongKind
from rhoplan.model import horizon as horizons
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import FunctionPolicy, Policy
from rhoplan.solutions import Solution

PolicyLike: TypeAlias = Policy | Planner | BoundAgent | str | Callable[[Belief], str]
"""A policy, an agent or its name, a planner, or a function from a Belief to the name of an action."""


def policy_of(problem: POMDP, policy: PolicyLike, *, seed: int = 0) -> Policy:
    """The policy that `policy` stands for in `problem`. seed: for planners that sample."""
    if isinstance(policy, Solution):
        return policy.policy
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str):
        policy = Agent(policy)
    if isinstance(policy, Agent):
        policy = policy.bind(problem)
    if isinstance(policy, BoundAgent):
        return policy.policy(problem, seed=seed)
    if isinstance(policy, Planner):
        return policy_of(problem, policy.solve(problem))
    if callable(policy):
        return FunctionPolicy(problem, policy)
    raise WrongKind(
        "a policy must be a policy, an agent, the name of an agent, a planner or a function from a Belief to the name "
        f"of an action; it is {shortened(policy)}: see rhoplan.agent and rhoplan.solve",
        field=("policy",),
    )


def with_horizon_of(policy: Policy, problem: POMDP, world: POMDP | None) -> tuple[POMDP, POMDP | None]:
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


def checked_jobs(policy: Policy, jobs: int) -> None:
    """Refuse several processes for a policy that cannot be sent to them."""
    if jobs <= 1:
        return
    try:
        pickle.dumps(policy)
    except Exception:
        raise AgentError(
            f"jobs must be 1 for {policy.name}, which other processes cannot import: define its function in a module",
            field=("jobs",),
        ) from None
