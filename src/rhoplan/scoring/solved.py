"""What following a solved policy earns: exactly where its situations fit into a small graph, else from episodes.

The bounds of a solution are about its value: discounted, information included. This is about the plan itself: what it
is paid on average, and how many steps it takes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rhoplan.agents.agent import Agent
from rhoplan.agents.objective import Objective
from rhoplan.agents.planners.rule import FollowRule
from rhoplan.agents.policy import Policy
from rhoplan.errors import LimitError
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import Problem
from rhoplan.planning.certified.solved import SolvedPolicy
from rhoplan.scoring.evaluate import score_policy
from rhoplan.scoring.simulate import simulate
from rhoplan.scoring.worlds import World

MOST_NODES = 20_000
"""Situations up to which the plan is followed exactly: a few seconds."""

EPISODES = 200
"""Episodes for each of the published seeds where it is not."""


@dataclass(frozen=True)
class PlanScore:
    """What a plan earns. kind: `exact`, or `estimated` from so many `episodes`, with standard errors (0 where exact).

    reward: mean of what an episode pays; discounted: the same as it is discounted. steps: actions taken. truncated:
    share of episodes cut off after `cap` steps; what they would have paid later is not in these means, and may change
    the discounted one by `discounted_tail` at most (NaN where nothing bounds it).
    """

    kind: str
    reward: float
    reward_se: float
    discounted: float
    discounted_se: float
    discounted_tail: float
    steps: float
    steps_se: float
    truncated: float
    cap: int
    episodes: int


def score_solved(policy: SolvedPolicy, *, most_nodes: int = MOST_NODES, episodes: int = EPISODES) -> PlanScore:
    """What following `policy` from the start earns, in the problem it was solved for and with its discount."""
    problem = replace(policy.origin, discount=policy.settings.discount)
    agent = Agent(
        "solved",
        objective=Objective(policy.settings.weight, "nats", policy.settings.discount),
        planner=FollowRule(rule=policy),
    )
    try:
        return _exact(problem, agent, most_nodes)
    except LimitError:
        found = simulate(problem, agent, episodes=episodes)
    return PlanScore(
        "estimated",
        found.reward,
        found.reward_se,
        found.discounted,
        found.discounted_se,
        found.discounted_tail,
        found.steps,
        found.steps_se,
        found.truncated,
        problem.cap,
        found.episodes,
    )


def _exact(problem: Problem, agent: Agent, most_nodes: int) -> PlanScore:
    graph = Graph(problem, node_limit=most_nodes)
    found = score_policy(Policy(graph, agent), World(graph, None), cap=problem.cap)
    return PlanScore(
        "exact",
        found.reward,
        0.0,
        found.discounted,
        0.0,
        found.discounted_tail,
        found.steps,
        0.0,
        found.truncated,
        problem.cap,
        0,
    )
