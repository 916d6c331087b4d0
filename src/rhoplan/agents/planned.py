"""Decisions of agents, and their policies from files."""

from __future__ import annotations

from typing import Any

from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.agents.planners import PlannedPolicy
from rhoplan.agents.registry import UTILITIES, row_of
from rhoplan.errors import expect
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP
from rhoplan.model.situation import Situation, initial
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy_file import digest_of_problem
from rhoplan.planning.recommendation import Recommendation, recommend
from rhoplan.planning.utility import Utility


def decide(problem: POMDP, agent: BoundAgent, situation: Situation | None = None, *, seed: int = 0) -> Recommendation:
    """What `agent` does in a situation (the initial one by default), and why. seed: for planners that sample."""
    expect(problem, POMDP, "make")
    expect(agent, BoundAgent, "agent")
    policy = agent.policy(problem, seed=seed)
    belief = policy.belief(Belief(problem, situation or initial(problem)))
    return recommend(policy, belief, objective=agent.objective)


def planned_policy_from(problem: POMDP, header: dict[str, Any]) -> PlannedPolicy | None:
    """The policy that `PlannedPolicy.save` wrote; None where it was written for another problem."""
    if header["digest"] != digest_of_problem(problem):
        return None
    if header["rule"]:
        agent = make_agent(header["agent"], problem, **header["objective"])
    else:
        wants: dict[str, Any] = dict(header["objective"])
        utility = row_of(UTILITIES, wants.pop("utility"), "utility").load()
        target, weight = wants.pop("target"), wants.pop("information_weight")
        made: Utility = utility() if target is None else utility(target=target)
        wants["inverse_temperature"] = float(wants["inverse_temperature"])
        objective = Objective(utility=made, **wants).weighted(weight)
        agent = BoundAgent(header["agent"], objective=objective, planner=header["planner"], **header["settings"])
    return agent.policy(problem, seed=int(header["seed"]), value_kind=header["kind"])
