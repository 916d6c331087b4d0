"""Decisions of agents at situations."""

from __future__ import annotations

from rhoplan.agents.agent import BoundAgent
from rhoplan.errors import expect
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP
from rhoplan.model.situation import Situation, initial
from rhoplan.planning.recommendation import Recommendation, recommend


def decide(problem: POMDP, agent: BoundAgent, situation: Situation | None = None, *, seed: int = 0) -> Recommendation:
    """What `agent` does in a situation (the initial one by default), and why. seed: for planners that sample."""
    expect(problem, POMDP, "make")
    expect(agent, BoundAgent, "agent")
    policy = agent.policy(problem, seed=seed)
    belief = policy.belief(Belief(problem, situation or initial(problem)))
    return recommend(policy, belief, objective=agent.objective)
