"""The planners of this library: settings as constructor arguments, and `solve`, which returns a policy.

None stands for the planner's or the problem's own value of a setting; `completed` fills it in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rhoplan.agents.registry import OTHER_AGENTS, PLANNERS, UTILITIES
from rhoplan.agents.settings import DEFAULT_SIMULATIONS, SETTINGS
from rhoplan.errors import AgentError, NotAvailable
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.horizon import horizon_of
from rhoplan.model.pomdp import POMDP, Array, Ids, Leaf, Rule
from rhoplan.planning.lookahead import LookaheadPolicy
from rhoplan.planning.objective import Objective, objective_for
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import (
    ActionValues,
    AskedOnGraph,
    BeliefLike,
    Policy,
    PolicyOnGraph,
    Seed,
    checked_action,
)
from rhoplan.planning.policy_file import digest_of_problem, is_same, write_policy_file
from rhoplan.planning.run_once import RunOncePolicy

if TYPE_CHECKING:
    from typing import Self

FORMAT = "rhoplan-agent-policy-1"

SHORT_HORIZON = 2
"""Horizon of the anytime planner on problems with several factors: its leaf value covers the rest."""

RUN_ONCE_MEMORY = 5e8
"""Bytes that one search of the planner for tests that run once may take."""

SHARE = 0.5
"""Part of the memory for a case that one such search may take: earlier results are kept as well."""


@dataclass(frozen=True)
class BuiltInPlanner(Planner):
    """A planner of this library.

    plans: whether it looks ahead for the objective. is_exact: whether it is exact look-ahead with the problem's own
    leaf value. is_bounded: whether its plans come with bounds in diagnostic problems.
    """

    plans: ClassVar[bool] = True
    is_exact: ClassVar[bool] = False
    is_bounded: ClassVar[bool] = False

    horizon: int | None = None

    def __post_init__(self) -> None:
        for setting in SETTINGS.values():
            value = getattr(self, setting.word, None) if setting.name in self.takes else None
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

    def with_settings(self, **settings: Any) -> Self:
        """This planner with other settings, by their Python names."""
        return replace(self, **settings)

    def within(self, memory: float) -> Self:
        """This planner if one decision may take `memory` bytes."""
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """Its fields by name, as JSON can hold them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def takes(self) -> tuple[str, ...]:
        """Names of the settings that it takes."""
        return settings_taken(self)

    @property
    def is_timed(self) -> bool:
        """Whether time limits it, so that its choices may differ from run to run."""
        return getattr(self, "seconds", None) is not None

    @property
    def is_fixed(self) -> bool:
        """Whether its choices depend on the belief alone, so that they can be followed and scored exactly."""
        return not self.samples and not self.is_timed

    @property
    def told(self) -> str:
        """Short label for table titles, e.g. "planner mcts (1,000 simulations per decision)"; empty for the default."""
        simulations, seconds = getattr(self, "simulations", None), getattr(self, "seconds", None)
        limits = [f"{simulations:,} simulations"] if simulations else []
        limits += [f"{seconds:g} s"] if seconds else []
        return f"planner {self.name}" + (f" ({' or '.join(limits)} per decision)" if limits else "")

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
    def told(self) -> str:
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
    memory: float = RUN_ONCE_MEMORY

    def within(self, memory: float) -> Self:
        return replace(self, memory=SHARE * memory)

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
            self.name,
            self.depth,
            simulations=self.simulations,
            seconds=self.seconds,
            exploration=self.exploration,
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
        return RulePolicy(problem, self.rule, objective)

    @property
    def takes(self) -> tuple[str, ...]:
        return ()

    @property
    def told(self) -> str:
        return ""


@dataclass(frozen=True)
class FollowPolicy(BuiltInPlanner):
    """Follows a policy that exists already."""

    name: ClassVar[str] = "rule"
    plans: ClassVar[bool] = False

    horizon: int | None = 1
    followed: Policy = field(kw_only=True)

    def policy(self, problem: POMDP, objective: Objective, *, seed: int = 0) -> Policy:
        return self.followed

    @property
    def takes(self) -> tuple[str, ...]:
        return ()

    @property
    def told(self) -> str:
        return ""


@dataclass(frozen=True)
class ExternalPlanner(BuiltInPlanner):
    """A `Planner` from outside this library. A limit of time is for its `solve`; the policy depends on beliefs only."""

    plans: ClassVar[bool] = False
    is_timed: ClassVar[bool] = False

    horizon: int | None = 1
    planner: Planner = field(kw_only=True)

    def __post_init__(self) -> None:
        steps = getattr(self.planner, "horizon", None)
        for attribute, value in (("name", self.planner.name), ("samples", self.planner.samples)):
            object.__setattr__(self, attribute, value)
        if steps is not None:
            object.__setattr__(self, "horizon", steps)
        super().__post_init__()

    def policy(self, problem: POMDP, objective: Objective, *, seed: int = 0) -> Policy:
        return self.planner.solve(problem, objective)

    def with_settings(self, **settings: Any) -> Self:
        own = field_names(self.planner)
        changed = {name: value for name, value in settings.items() if name in own}
        return replace(self, planner=replace(self.planner, **changed))  # type: ignore[type-var]

    @property
    def settings(self) -> dict[str, Any]:
        return {name: getattr(self.planner, name) for name in field_names(self.planner)}

    @property
    def told(self) -> str:
        return super().told if self.name in PLANNERS else ""

    @property
    def takes(self) -> tuple[str, ...]:
        return settings_taken(self.planner)

    def __getattr__(self, name: str) -> Any:
        """Settings of the planner that tables show."""
        if name in ("simulations", "seconds", "exploration"):
            return getattr(self.planner, name, None)
        raise AttributeError(name)


class PlannedPolicy(Policy):
    """What `planner` does in `problem` for `objective`, with a name and a file.

    seed: for planners that sample; the same belief and seed give the same action. value_kind: of what `value` returns,
    if that is known to be more than the planner says.
    """

    def __init__(
        self,
        problem: POMDP,
        planner: BuiltInPlanner,
        objective: Objective,
        *,
        name: str,
        seed: int = 0,
        value_kind: str | None = None,
    ) -> None:
        self.problem, self.planner, self.objective, self.seed = problem, planner, objective, seed
        self.samples, self.is_timed = planner.samples, planner.is_timed
        self._name, self._value_kind = name, value_kind

    @property
    def name(self) -> str:
        return self._name

    @property
    def value_kind(self) -> str | None:  # type: ignore[override]
        """The kind of the value."""
        return self._value_kind or self.policy.value_kind

    @cached_property
    def policy(self) -> Policy:
        """The policy of the planner."""
        return self.planner.policy(self.problem, self.objective, seed=self.seed)

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
        """Write planner and objective; the policy follows from them and the problem."""
        header: dict[str, Any] = {"format": FORMAT, "problem": self.problem.spec or self.problem.name}
        header |= {"horizon": horizon_of(self.problem)}
        header |= {"digest": digest_of_problem(self.problem), "seed": self.seed, "kind": self.value_kind}
        write_policy_file(path, {**header, **self._record()}, {})

    def __repr__(self) -> str:
        return f"PlannedPolicy({self.problem.spec or self.problem.name}, {self.name}, {self.planner.name})"

    def _record(self) -> dict[str, Any]:
        """What makes the policy again: name and settings, as JSON can hold them."""
        planner, aim = self.planner, self.objective
        if isinstance(planner, ExternalPlanner) and planner.planner == OTHER_AGENTS.get(self.name):
            wants = {"weight": aim.information_weight, "unit": aim.information_unit}
            return {"agent": self.name, "rule": True, "objective": wants}
        if planner.name not in PLANNERS:
            raise NotAvailable(
                f"{self.name} cannot be saved: its planner '{planner.name}' has no name that rhoplan knows; see "
                "rhoplan.register",
                field=("policy",),
            )
        utility = aim.belief_utility
        if utility.name not in UTILITIES:
            raise NotAvailable(
                f"{self.name} cannot be saved: its utility '{utility.name}' has no name that rhoplan knows; see "
                "rhoplan.register",
                field=("policy",),
            )
        return {
            "agent": self.name,
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


class RulePolicy(Policy):
    """Follows a rule of the problem, which gets the price of information of `objective`."""

    name = "rule"

    def __init__(self, problem: POMDP, rule: Rule, objective: Objective) -> None:
        self.problem, self.rule, self.objective = problem, rule, objective

    def action(self, belief: BeliefLike) -> str:
        held = self.belief(belief)
        return checked_action(held, self.rule(self.problem, held.situation, self.objective.weight_per_nat), self.name)

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        return RuleOnGraph(graph, self.rule, self.objective.weight_per_nat)


class RuleOnGraph:
    """A rule at the nodes of a belief graph; what it does at a node is kept."""

    def __init__(self, graph: BeliefGraph, rule: Rule, weight: float) -> None:
        self.graph, self._rule, self._weight = graph, rule, weight
        self._kept: dict[int, int] = {}

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        graph = self.graph
        for node in nodes.tolist():
            if node not in self._kept:
                graph.budget.check(graph.size, graph.nbytes)
                name = self._rule(graph.problem, graph.situation(node), self._weight)
                self._kept[node] = graph.table.names(int(graph.observable[node])).index(name)
        places = np.array([self._kept[node] for node in nodes.tolist()], dtype=np.int64)
        return np.arange(len(nodes)), places, np.ones(len(nodes))


def field_names(planner: Planner | type[Planner]) -> tuple[str, ...]:
    """Names of the fields of a planner that is a dataclass."""
    return tuple(one.name for one in fields(planner)) if is_dataclass(planner) else ()


def settings_taken(planner: Planner) -> tuple[str, ...]:
    """Names of the settings that are fields of `planner`."""
    own = field_names(planner)
    return tuple(setting.name for setting in SETTINGS.values() if setting.of == "planner" and setting.word in own)


def _check_plain(planner: BuiltInPlanner, objective: Objective, others: str) -> None:
    if not objective.is_plain:
        raise AgentError(
            f"planner {planner.name} takes reward and weighted information and the best action only; "
            f"a precision, an own utility and epistemic-only need {others}",
            field=("planner",),
            code="planner-unsupported",
        )
