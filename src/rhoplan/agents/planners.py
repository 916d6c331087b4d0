"""The planners of this library: settings as constructor arguments, and `solve`, which returns a policy.

A setting that is None takes the value of the problem or the default of the planner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rhoplan.agents.registry import OTHER_AGENTS, PLANNERS, UTILITIES, row_of
from rhoplan.agents.settings import DEFAULT_SIMULATIONS, SETTINGS
from rhoplan.errors import AgentError, NotAvailable
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.horizon import horizon_of
from rhoplan.model.pomdp import POMDP, Leaf, Rule
from rhoplan.planning.lookahead import LookaheadPolicy
from rhoplan.planning.objective import Objective, objective_for
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import DelegatingPolicy, FunctionPolicy, Policy, PolicyOnGraph
from rhoplan.planning.policy_file import digest_of_problem, is_same, write_policy_file
from rhoplan.planning.run_once import RunOncePolicy

if TYPE_CHECKING:
    from typing import Self

FORMAT = "rhoplan-agent-policy-1"

SHORT_HORIZON = 2
"""Horizon of the anytime planner on problems with several factors: its leaf value covers the rest."""


@dataclass(frozen=True)
class BuiltInPlanner(Planner):
    """A planner of this library."""

    plans: ClassVar[bool] = True

    horizon: int | None = None

    def __post_init__(self) -> None:
        for setting in SETTINGS.values():
            value = getattr(self, setting.field, None) if setting.of == "planner" else None
            if value is not None:
                setting.check(value)

    def policy(self, problem: POMDP, objective: Objective, *, seed: int = 0) -> Policy:
        """The policy of this planner, which is complete, in `problem` for `objective`."""
        raise NotImplementedError

    def solve(self, problem: POMDP, objective: Objective | None = None) -> Policy:
        """The policy that plans at each belief."""
        aim, planner = objective_for(problem, objective), self.completed(problem)
        planner.check(aim)
        return PlannedPolicy(problem, planner, aim, name=type(self).__name__)

    def check(self, objective: Objective) -> None:
        """Raise AgentError if this planner cannot plan for `objective`."""

    def completed(self, problem: POMDP) -> Self:
        """This planner with the values that suit `problem` for the settings that are None."""
        return self if self.horizon is not None else replace(self, horizon=problem.horizon)

    @property
    def is_timed(self) -> bool:
        return getattr(self, "seconds", None) is not None

    @property
    def depth(self) -> int:
        """The horizon of a complete planner."""
        assert self.horizon is not None
        return self.horizon


@dataclass(frozen=True)
class Lookahead(BuiltInPlanner):
    """Exact look-ahead over `horizon` actions at each belief (receding horizon); then the best terminal action."""

    name: ClassVar[str] = "exact"
    is_exact: ClassVar[bool] = True

    def policy(self, problem: POMDP, objective: Objective, *, seed: int = 0) -> Policy:
        return LookaheadPolicy(problem, objective, self.depth)

    @property
    def label(self) -> str:
        return ""


@dataclass(frozen=True)
class Anytime(BuiltInPlanner):
    """Look-ahead over `horizon` actions, or as many as `seconds` allow, with leaf values derived from the problem."""

    name: ClassVar[str] = "anytime"

    seconds: float | None = None

    def check(self, objective: Objective) -> None:
        if self.is_timed and math.isfinite(objective.inverse_temperature):
            raise AgentError(
                "time and precision do not go together: a plan that deepens takes the best action",
                field=("precision",),
                code="setting-conflict",
            )

    def completed(self, problem: POMDP) -> Self:
        if self.horizon is not None or problem.observes_then_commits:
            return super().completed(problem)
        return replace(self, horizon=SHORT_HORIZON)

    def policy(self, problem: POMDP, objective: Objective, *, seed: int = 0) -> Policy:
        leaf = self.leaf(problem, objective)
        if self.seconds is None:
            return LookaheadPolicy(problem, objective, self.depth, leaf=leaf)
        from rhoplan.planning.routing.deepening import DeepeningPolicy

        return DeepeningPolicy(problem, objective, leaf=leaf, seconds=self.seconds)

    @staticmethod
    def leaf(problem: POMDP, objective: Objective) -> Leaf | None:
        """The leaf value derived from `problem`; None is the problem's own."""
        from rhoplan.planning.routing.deepening import derived_leaf

        found = derived_leaf(problem, weight=objective.weight_per_nat, discount=objective.discount_factor)
        if found is not None and not objective.is_information:
            raise AgentError(
                f"planner anytime derives what '{problem.name}' is worth beyond the horizon from reward and weighted "
                f"information; utility {objective.belief_utility.name} does not count there: use planner exact",
                field=("utility",),
                code="planner-unsupported",
            )
        return found


@dataclass(frozen=True)
class RunOnce(BuiltInPlanner):
    """Branch and bound over evidence at each belief, for dozens of tests that run once; no horizon.

    seconds: per decision; by default a fixed amount of work. memory: bytes that one search may take. In problems
    without lists of tests and decisions it is exact look-ahead over `horizon` actions.
    """

    name: ClassVar[str] = "many"
    is_bounded: ClassVar[bool] = True

    seconds: float | None = None
    memory: float = 5e8

    def check(self, objective: Objective) -> None:
        _check_plain(self, objective, "planner exact")

    def policy(self, problem: POMDP, objective: Objective, *, seed: int = 0) -> Policy:
        if problem.listed is None:
            return LookaheadPolicy(problem, objective, self.depth)
        return RunOncePolicy(problem, objective, seconds=self.seconds, memory=self.memory)


@dataclass(frozen=True)
class TreeSearchPlanner(BuiltInPlanner):
    """Settings of tree searches. simulations, seconds: per decision. exploration: the UCB1 constant.

    The problem's own leaf value is not used: rollouts take its place.
    """

    samples: ClassVar[bool] = True

    simulations: int | None = None
    seconds: float | None = None
    exploration: float | None = None

    def __post_init__(self) -> None:
        if self.simulations is None and self.seconds is None:
            object.__setattr__(self, "simulations", DEFAULT_SIMULATIONS)
        super().__post_init__()

    def check(self, objective: Objective) -> None:
        _check_plain(self, objective, "planner exact or anytime")

    def policy(self, problem: POMDP, objective: Objective, *, seed: int = 0) -> Policy:
        from rhoplan.planning.tree_search import TreeSearchSettings
        from rhoplan.planning.tree_search.policy import TreeSearchPolicy

        settings = TreeSearchSettings(
            self.name, self.depth, simulations=self.simulations, seconds=self.seconds, exploration=self.exploration
        )
        return TreeSearchPolicy(problem, objective, settings, seed=seed)


@dataclass(frozen=True)
class MCTS(TreeSearchPlanner):
    """Monte Carlo tree search over beliefs: a UCB1 tree whose observations are enumerated."""

    name: ClassVar[str] = "mcts"


@dataclass(frozen=True)
class POMCP(TreeSearchPlanner):
    """Monte Carlo tree search over histories with sampled states (Silver and Veness 2010)."""

    name: ClassVar[str] = "pomcp"


@dataclass(frozen=True)
class FollowRule(BuiltInPlanner):
    """Follows `rule`, which names an action at each belief; it does not look ahead."""

    name: ClassVar[str] = "rule"
    plans: ClassVar[bool] = False

    horizon: int | None = 1
    rule: Rule = field(kw_only=True)

    def policy(self, problem: POMDP, objective: Objective, *, seed: int = 0) -> Policy:
        weight = objective.weight_per_nat
        return FunctionPolicy(problem, lambda belief: self.rule(problem, belief, weight))

    @property
    def label(self) -> str:
        return ""


class PlannedPolicy(DelegatingPolicy):
    """What `planner` does in `problem` for `objective`, with a name and a file.

    seed: for planners that sample; the same belief and seed give the same action. value_kind: of what `value` returns,
    if that is known to be more than the planner says.
    """

    name = ""

    def __init__(
        self,
        problem: POMDP,
        planner: Planner,
        objective: Objective,
        *,
        name: str,
        seed: int = 0,
        value_kind: str | None = None,
    ) -> None:
        self.problem, self.planner, self.objective, self.name, self.seed = problem, planner, objective, name, seed
        self.samples, self.is_timed = planner.samples, planner.is_timed
        self._value_kind = value_kind

    @property
    def value_kind(self) -> str | None:  # type: ignore[override]
        return self._value_kind or self.policy.value_kind

    @cached_property
    def policy(self) -> Policy:
        if isinstance(self.planner, BuiltInPlanner):
            return self.planner.policy(self.problem, self.objective, seed=self.seed)
        return self.planner.solve(self.problem, self.objective)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "policy"}  # another process plans again

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        """The policy on `graph`; its own numbers are followed, not those of another problem."""
        return self.policy.on(graph) if is_same(graph.problem, self.problem) else Policy.on(self, graph)

    def save(self, path: Path | str) -> None:
        """Write planner and objective; the policy follows from them and the problem."""
        is_agent, aim = self.planner == OTHER_AGENTS.get(self.name), self.objective
        for kind, known, name in (
            ("planner", {self.planner.name} if is_agent else PLANNERS, self.planner.name),
            ("utility", UTILITIES, aim.belief_utility.name),
        ):
            if name not in known:
                raise NotAvailable(
                    f"{self.name} cannot be saved: its {kind} '{name}' has no name that rhoplan knows; see "
                    "rhoplan.register",
                    field=("policy",),
                )
        header = {
            "format": FORMAT,
            "problem": self.problem.spec or self.problem.name,
            "horizon": horizon_of(self.problem),
            "digest": digest_of_problem(self.problem),
            "seed": self.seed,
            "kind": self.value_kind,
            "agent": self.name,
            "planner": None if is_agent else self.planner.name,
            "settings": {} if is_agent else {name: getattr(self.planner, name) for name in field_names(self.planner)},
            "objective": {
                "information_weight": aim.information_weight,
                "information_unit": aim.information_unit,
                "utility": aim.belief_utility.name,
                "target": aim.target,
                "discount": aim.discount,
                "inverse_temperature": str(aim.inverse_temperature),
                "terminal_rewards": aim.terminal_rewards,
            },
        }
        write_policy_file(path, header, {})

    def __repr__(self) -> str:
        return f"PlannedPolicy({self.problem.spec or self.problem.name}, {self.name}, {self.planner.name})"


def planned_policy_from(problem: POMDP, header: dict[str, Any]) -> PlannedPolicy:
    """The policy that `PlannedPolicy.save` wrote for `problem`."""
    planner: Any
    if header["planner"] is None:
        planner = row_of(OTHER_AGENTS, header["agent"], "agent")
    else:
        planner = row_of(PLANNERS, header["planner"], "planner").load()(**header["settings"])
    wants = dict(header["objective"])
    utility = row_of(UTILITIES, wants.pop("utility"), "utility").load()
    target, weight = wants.pop("target"), wants.pop("information_weight")
    wants["inverse_temperature"] = float(wants["inverse_temperature"])
    objective = Objective(utility=utility() if target is None else utility(target=target), **wants).weighted(weight)
    return PlannedPolicy(
        problem, planner, objective, name=header["agent"], seed=header["seed"], value_kind=header["kind"]
    )


def field_names(planner: Planner | type[Planner]) -> tuple[str, ...]:
    """Names of the settings of a planner: its fields if it is a dataclass."""
    return tuple(one.name for one in fields(planner)) if is_dataclass(planner) else ()


def _check_plain(planner: BuiltInPlanner, objective: Objective, others: str) -> None:
    if not objective.is_plain:
        raise AgentError(
            f"planner {planner.name} takes reward and weighted information and the best action only; "
            f"a precision, an own utility and epistemic-only need {others}",
            field=("planner",),
            code="planner-unsupported",
        )
