"""The policy of an agent: it plans at each belief that it is asked about, on a belief graph that it keeps."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.agents.planners.external import ExternalPlanner, PolicyChooser
from rhoplan.agents.policy import GraphPolicy, action_values, preferred
from rhoplan.agents.registry import PLANNERS, UTILITIES, row_of
from rhoplan.errors import LimitError, NotAvailable
from rhoplan.graph.graph import Graph
from rhoplan.model.horizon import horizon_of
from rhoplan.model.pomdp import Problem
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import ActionValues, BeliefLike, Policy, ValueTerms
from rhoplan.planning.policy_file import digest_of_problem, write_policy_file
from rhoplan.planning.utility import Utility

FORMAT = "rhoplan-agent-policy-1"

MOST_NODES = 400_000
"""Size of the belief graph at which a new one replaces it, to bound the memory of a policy that is called often."""

LOWER_BOUND, LOOKAHEAD = "lower bound", "lookahead"


class AgentPolicy(Policy):
    """Follows `agent` in `problem`: receding-horizon planning, a tree search, or a rule, as the agent's planner does.

    seed: for planners that sample; the same belief and seed give the same action. value_kind: of what `value` returns,
    where that is known to be more than the value of a look-ahead.
    """

    def __init__(self, problem: Problem, agent: BoundAgent, *, seed: int = 0, value_kind: str | None = None) -> None:
        self.problem, self.agent, self.seed = problem, agent, seed
        planner = agent.planner
        if value_kind is None and planner.plans and not planner.samples:
            value_kind = LOWER_BOUND if planner.is_bounded and problem.listed is not None else LOOKAHEAD
        self.value_kind = value_kind

    @property
    def name(self) -> str:
        return self.agent.name

    def action(self, belief: BeliefLike) -> str:
        policy, node = self._at(belief)
        if policy.is_deterministic:
            return policy.action(node).name
        return preferred(policy, node, action_values(policy, node, self.seed)).name

    def probabilities(self, belief: BeliefLike) -> dict[str, float]:
        """Of the softmax over action values; with infinite inverse temperature 1 for the action taken."""
        policy, node = self._at(belief)
        menu = policy.graph.menus[policy.graph.visible[node]]
        _, ending, going = policy.opened(node, self.seed)
        names = [action.name for action in (*menu.going, *menu.ending)]
        return dict(zip(names, [*going[: len(menu.going)].tolist(), *ending.tolist()], strict=True))

    def action_values(self, belief: BeliefLike) -> ActionValues:
        """The value of each action; planners that sample estimate them."""
        if not self.agent.planner.plans and not isinstance(self.agent.planner, ExternalPlanner):
            raise NotAvailable(f"{self.name} has no action values: it follows a rule", field=("policy",))
        policy, node = self._at(belief)
        if isinstance(policy.chooser, PolicyChooser):
            return policy.chooser.policy.action_values(belief)
        kind = "estimated" if self.agent.planner.samples else str(self.value_kind)
        rows = [
            ValueTerms(one.name, one.reward, one.information, one.weighted_information, one.continuation)
            for one in action_values(policy, node, self.seed)
        ]
        return ActionValues(tuple(rows), LOOKAHEAD if kind == LOWER_BOUND else kind)

    def value(self, belief: BeliefLike) -> float:
        """The value of the look-ahead at `belief`, or a lower bound on the value of following the policy."""
        if self.value_kind is None:
            why = "it samples" if self.agent.planner.samples else "it follows a rule"
            raise NotAvailable(
                f"{self.name} has no value, as {why}: estimate it with rhoplan.simulate", field=("policy",)
            )
        policy, node = self._at(belief)
        found = policy.chooser.bounded(node)
        if found is not None:
            return float(found.lower)
        return max(row.value for row in action_values(policy, node, self.seed))

    def save(self, path: Path | str) -> None:
        """Write the agent's settings; the policy follows from them and the problem."""
        header: dict[str, Any] = {"format": FORMAT, "problem": self.problem.spec or self.problem.name}
        header |= {"horizon": horizon_of(self.problem)}
        header |= {"digest": digest_of_problem(self.problem), "seed": self.seed, "kind": self.value_kind}
        write_policy_file(path, {**header, **_record(self.agent, self.problem)}, {})

    def __repr__(self) -> str:
        return f"AgentPolicy({self.problem.spec or self.problem.name}, {self.agent.name}, {self.agent.planner.name})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_policy"}

    def _at(self, belief: BeliefLike) -> tuple[GraphPolicy, int]:
        """The policy on the graph, and the node of `belief`."""
        situation = self.belief(belief).situation
        if self._policy.graph.size > MOST_NODES:
            del self._policy
        try:
            return self._policy, self._policy.graph.node(situation)
        except LimitError:
            del self._policy
            return self._policy, self._policy.graph.node(situation)

    @cached_property
    def _policy(self) -> GraphPolicy:
        return GraphPolicy(Graph(self.problem), self.agent)


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
