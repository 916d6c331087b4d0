"""Recommendations of agents."""

from __future__ import annotations

from rhoplan.agents.agent import BoundAgent
from rhoplan.errors import expect
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.recommendation import Recommendation, recommend


def decide(problem: POMDP, agent: BoundAgent, belief: Belief | None = None, *, seed: int = 0) -> Recommendation:
    """What `agent` does at `belief` (the initial one by default), and why. seed: for planners that sample."""
    expect(problem, POMDP, "make")
    expect(agent, BoundAgent, "agent")
    policy = agent.policy(problem, seed=seed)
    here = policy.belief(problem.belief() if belief is None else belief)
    return recommend(policy, here, objective=agent.objective)
