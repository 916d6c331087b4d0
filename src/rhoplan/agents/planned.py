"""The policy of an agent: that of its planner, with a name and a file."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.agents.registry import PLANNERS, UTILITIES, row_of
from rhoplan.belief.belief import Belief
from rhoplan.belief.situation import Situation, initial
from rhoplan.errors import NotAvailable, expect
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.limited import horizon_of
from rhoplan.model.problem import Problem
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import ActionValues, AskedOnGraph, BeliefLike, Policy, PolicyOnGraph
from rhoplan.planning.policy_file import digest_of_problem, is_same, write_policy_file
from rhoplan.planning.recommendation import Recommendation, recommend
from rhoplan.planning.utility import Utility

FORMAT = "rhoplan-agent-policy-1"


class AgentPolicy(Policy):
    """Follows `agent` in `problem`: receding-horizon planning, a tree search, or a rule, as the agent's planner does.

    seed: for planners that sample; the same belief and seed give the same action. value_kind: of what `value` returns,
    if that is known to be more than the planner says.
    """

    def __init__(self, problem: Problem, agent: BoundAgent, *, seed: int = 0, value_kind: str | None = None) -> None:
        self.problem, self.agent, self.seed = problem, agent, seed
        self.samples, self.is_timed = agent.planner.samples, agent.planner.is_timed
        self._value_kind = value_kind

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def value_kind(self) -> str | None:  # type: ignore[override]
        """The kind of the value."""
        return self._value_kind or self.policy.value_kind

    @cached_property
    def policy(self) -> Policy:
        """The policy of the planner."""
        return self.agent.planner.policy(self.problem, self.agent.objective, seed=self.seed)

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        return self.policy.on(graph) if is_same(graph.problem, self.problem) else AskedOnGraph(self, graph)

    def action(self, belief: BeliefLike) -> str:
        return self.policy.action(self.belief(belief))

    def probabilities(self, belief: BeliefLike) -> dict[str, float]:
        return self.policy.probabilities(self.belief(belief))

    def action_values(self, belief: BeliefLike) -> ActionValues:
        return self.policy.action_values(self.belief(belief))

    def value(self, belief: BeliefLike) -> float:
        return self.policy.value(self.belief(belief))

    def action_bounds(self, belief: BeliefLike) -> dict[str, tuple[float, float]] | None:
        return self.policy.action_bounds(self.belief(belief))

    def proven(self, belief: BeliefLike) -> str | None:
        return self.policy.proven(self.belief(belief))

    def save(self, path: Path | str) -> None:
        """Write the agent's settings; the policy follows from them and the problem."""
        header: dict[str, Any] = {"format": FORMAT, "problem": self.problem.spec or self.problem.name}
        header |= {"horizon": horizon_of(self.problem)}
        header |= {"digest": digest_of_problem(self.problem), "seed": self.seed, "kind": self.value_kind}
        write_policy_file(path, {**header, **_record(self.agent, self.problem)}, {})

    def __repr__(self) -> str:
        return f"AgentPolicy({self.problem.spec or self.problem.name}, {self.agent.name}, {self.agent.planner.name})"


def decide(problem: Problem, agent: BoundAgent, situation: Situation | None = None, *, seed: int = 0) -> Recommendation:
    """What `agent` does in a situation (the initial one by default), and why. seed: for planners that sample."""
    expect(problem, Problem, "make")
    expect(agent, BoundAgent, "agent")
    policy = AgentPolicy(problem, agent, seed=seed)
    belief = policy.belief(Belief(problem, situation or initial(problem)))
    return recommend(policy, belief, objective=agent.objective)


def agent_policy_from(problem: Problem, header: dict[str, Any]) -> AgentPolicy | None:
    """The policy that `AgentPolicy.save` wrote; None where it was written for another problem."""
    if header["digest"] != digest_of_problem(problem):
        return None
    if header["rule"]:
        agent = make_agent(header["agent"], problem)
    else:
        wants: dict[str, Any] = dict(header["objective"])
        utility = row_of(UTILITIES, wants.pop("utility"), "utility").load()
        target, weight = wants.pop("target"), wants.pop("information_weight")
        made: Utility = utility() if target is None else utility(target=target)
        wants["inverse_temperature"] = float(wants["inverse_temperature"])
        objective = Objective(utility=made, **wants).weighted(weight)
        agent = BoundAgent(header["agent"], objective=objective, planner=header["planner"], **header["settings"])
    return AgentPolicy(problem, agent, seed=int(header["seed"]), value_kind=header["kind"])


def _record(agent: BoundAgent, problem: Problem) -> dict[str, Any]:
    """What makes `agent` again: its name and settings, as JSON can hold them."""
    if agent.name in problem.rules:
        return {"agent": agent.name, "rule": True}
    planner, aim = agent.planner, agent.objective
    if planner.name not in PLANNERS:
        raise NotAvailable(
            f"{agent.name} cannot be saved: its planner '{planner.name}' has no name that rhoplan knows; see "
            "rhoplan.register",
            field=("policy",),
        )
    utility = aim.belief_utility
    if utility.name not in UTILITIES:
        raise NotAvailable(
            f"{agent.name} cannot be saved: its utility '{utility.name}' has no name that rhoplan knows; see "
            "rhoplan.register",
            field=("policy",),
        )
    return {
        "agent": agent.name,
        "rule": False,
        "planner": planner.name,
        "settings": planner.settings,
        "objective": {
            "information_weight": aim.information_weight,
            "information_unit": aim.information_unit,
            "utility": utility.name,
            "target": None if aim.target is None else list(aim.target),
            "discount": aim.discount,
            "inverse_temperature": str(aim.inverse_temperature),
            "terminal_rewards": aim.terminal_rewards,
        },
    }
