"""What following a solved policy earns: exactly where its situations fit into a small graph, else from episodes.

The bounds of a solution are about its value: discounted, information included. This is about the plan itself: what it
is paid on average, and how many steps it takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from rhoplan.agents.agent import Agent
from rhoplan.agents.objective import Objective
from rhoplan.agents.planners.rule import FollowRule
from rhoplan.agents.policy import Policy
from rhoplan.errors import LimitError
from rhoplan.following.worlds import World
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import Problem
from rhoplan.model.reach import cut_off_worth
from rhoplan.planning.certified.errand_policy import ErrandPolicy
from rhoplan.planning.certified.lattice.policy import GridPolicy
from rhoplan.planning.certified.pointbased.check import branch_matrix
from rhoplan.planning.certified.solved import SolvedPolicy
from rhoplan.scoring.evaluate import score_policy
from rhoplan.scoring.simulate import simulate

MOST_NODES = 3_000
"""Situations up to which the plan is followed exactly: a few seconds, and little memory."""

EPISODES = 300
"""Episodes from which it is estimated where there are more."""


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


def score_solved(
    policy: SolvedPolicy | GridPolicy | ErrandPolicy, *, most_nodes: int = MOST_NODES, episodes: int = EPISODES
) -> PlanScore:
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
        if isinstance(policy, SolvedPolicy):
            return _estimated(problem, policy, episodes, np.random.default_rng(0))
    found = simulate(problem, agent, seeds=(0,), episodes=episodes)
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
        episodes,
    )


def _estimated(problem: Problem, policy: SolvedPolicy, episodes: int, rng: Generator) -> PlanScore:
    """From episodes on the solver's own arrays, which hold one belief at a time and no graph."""
    rows = np.array([_episode(policy, problem.cap, rng) for _ in range(episodes)])
    reward, discounted, steps, cut = rows.mean(axis=0).tolist()
    errors = (rows.std(axis=0, ddof=1) / math.sqrt(episodes)).tolist()
    tail = cut_off_worth(problem, cut, problem.cap)
    return PlanScore(
        "estimated",
        reward,
        errors[0],
        discounted,
        errors[1],
        tail,
        steps,
        errors[2],
        cut,
        problem.cap,
        episodes,
    )


def _episode(policy: SolvedPolicy, cap: int, rng: Generator) -> tuple[float, float, int, bool]:
    """Reward, discounted reward, steps, and whether it was cut off, of one episode."""
    compiled, model = policy.problem, policy.problem.model
    home, belief = compiled.start_class, compiled.start
    state = int(rng.choice(len(belief), p=belief))
    reward = discounted = 0.0
    for step in range(cap):
        if compiled.ended[home]:
            return reward, discounted, step, False
        pair = policy.pair(home, belief)
        paid = float(model.reward[model.pair_reward[pair] + state])
        fade = float(policy.settings.discount ** policy.origin.time_taken(step))
        reward, discounted = reward + paid, discounted + fade * paid
        branches = np.arange(model.pair_branch[pair], model.pair_branch[pair + 1])
        begins, ends = (model.row[model.branch_row[branches] + state + more] for more in (0, 1))
        places = np.concatenate([np.arange(*pair_of) for pair_of in zip(begins, ends, strict=True)])
        drawn = int(rng.choice(places, p=model.chance[places] / model.chance[places].sum()))
        branch = int(branches[np.flatnonzero((begins <= drawn) & (drawn < ends))[0]])
        joint = belief @ branch_matrix(compiled, branch, home)
        home, belief, state = int(model.branch_target[branch]), joint / joint.sum(), int(model.column[drawn])
    return reward, discounted, cap, not compiled.ended[home]


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
