"""Results of the certified solver as policies: bounds on the optimal value, and an action at every belief.

Every solution has a policy. If the method returns none, one with a lower bound of its own is derived: look-ahead with a
receding horizon if observations are followed by one terminal action, else a blind policy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from rhoplan.agents.planners import FORMAT as PLANNED_FORMAT
from rhoplan.agents.planners import Lookahead, PlannedPolicy, planned_policy_from
from rhoplan.budget import Budget
from rhoplan.errors import AgentError, LimitError, NotAvailable, ProblemError
from rhoplan.files import replacing
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.horizon import Left, horizon_of, with_horizon
from rhoplan.model.limits import MOST_MENUS
from rhoplan.model.pomdp import POMDP, Action
from rhoplan.planning.asked import BoundedPolicy
from rhoplan.planning.certified.solution import RANGE, Progress, SolveResult
from rhoplan.planning.lookahead import LookaheadOnGraph
from rhoplan.planning.objective import Objective, objective_for
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import (
    LOWER_BOUND,
    ActionValues,
    BeliefLike,
    DelegatingPolicy,
    Policy,
    ValueTerms,
    action_named,
    html_table,
    immediate_terms,
)
from rhoplan.planning.policy_file import digest_of_problem, read_policy_file, write_policy_file

BLIND_FORMAT = "rhoplan-blind-policy-1"

SARSOP_ENDING = ".policyx"

ROUNDING = 1e-9
"""Outward rounding of lower bounds that are sums of floats, as a share of their size."""


class SolverPolicy(Policy):
    """A policy of the certified solver; `value` is a lower bound on the value of following it.

    solved: the policy as the solver keeps it.
    """

    value_kind = LOWER_BOUND

    def __init__(self, solved: BoundedPolicy) -> None:
        self.problem, self.solved = solved.origin, solved

    def action(self, belief: BeliefLike) -> str:
        return self.solved.action(self.belief(belief))

    def value(self, belief: BeliefLike) -> float:
        return float(self.bounds(belief)[0])

    def bounds(self, belief: BeliefLike) -> tuple[float, float]:
        """Lower and upper bound on the optimal value at `belief`."""
        return self.solved.value(self.belief(belief))

    def action_bounds(self, belief: BeliefLike) -> dict[str, tuple[float, float]]:
        return self.solved.actions(self.belief(belief))

    def proven(self, belief: BeliefLike) -> str | None:
        return self.solved.proven(self.belief(belief))

    def action_values(self, belief: BeliefLike) -> ActionValues:
        """Lower bounds on the value of each action, with the best known plan afterwards."""
        held, rows = self.belief(belief), []
        for name, (lower, _) in self.solved.actions(held).items():
            reward, information = immediate_terms(held, action_named(held, name))
            weighted = self.solved.settings.weight * information
            rows.append(ValueTerms(name, reward, information, weighted, lower - reward - weighted))
        return ActionValues(tuple(rows), LOWER_BOUND)

    def save(self, path: Path | str) -> None:
        """Write the policy; a path that ends in .policyx gets SARSOP's format, which has no bounds."""
        if Path(path).suffix.lower() != SARSOP_ENDING:
            self.solved.save(path)
            return
        from rhoplan.io.policy_writer import write_policy
        from rhoplan.planning.certified.solved import SolvedPolicy

        if not isinstance(self.solved, SolvedPolicy):
            raise NotAvailable(
                f"{self.name} has no alpha vectors over states: solve with method='points', or save it without "
                f"{SARSOP_ENDING}",
                field=("path",),
            )
        with replacing(Path(path)) as temporary:
            temporary.write_text(write_policy(self.solved), encoding="utf-8")

    def __repr__(self) -> str:
        return f"SolverPolicy({self.problem.spec or self.problem.name})"


class BlindPolicy(Policy):
    """Takes one action wherever it is available, and elsewhere the action whose worst expected reward is best."""

    value_kind = LOWER_BOUND

    def __init__(self, problem: POMDP, always: str, discount: float) -> None:
        self.problem, self.always, self.discount = problem, always, discount

    def action(self, belief: BeliefLike) -> str:
        held = self.belief(belief)
        return self.always if self.always in held.actions else self._careful(held.problem.menu(held.observable)).name

    def value(self, belief: BeliefLike) -> float:
        """The expected reward of a terminal action; else the worst reward of the actions taken, for ever."""
        held = self.belief(belief)
        taken = action_named(held, self.action(held))
        if taken.ends_episode:
            return immediate_terms(held, taken)[0]
        menus = [actions for _, actions in self.problem.menus(MOST_MENUS + 1)]
        if len(menus) > MOST_MENUS:
            return -math.inf
        followed = (next((one for one in menu if one.name == self.always), self._careful(menu)) for menu in menus)
        worst = min(0.0, min(float(one.reward.min()) for one in followed))
        steps = held.observable.actions if isinstance(held.observable, Left) else math.inf
        weight = steps if self.discount == 1 else (1 - self.discount**steps) / (1 - self.discount)
        return worst * weight * (1 + ROUNDING) if worst else 0.0

    def save(self, path: Path | str) -> None:
        header = {
            "format": BLIND_FORMAT,
            "problem": self.problem.spec or self.problem.name,
            "always": self.always,
            "digest": digest_of_problem(self.problem),
            "horizon": horizon_of(self.problem),
            "discount": self.discount,
        }
        write_policy_file(path, header, {})

    def __repr__(self) -> str:
        return f"BlindPolicy({self.problem.spec or self.problem.name}, {self.always})"

    @staticmethod
    def _careful(actions: tuple[Action, ...]) -> Action:
        return max(actions, key=lambda action: float(action.reward.min()))


class Solution(DelegatingPolicy):
    """Certified bounds on the optimal value, and a policy. A solution is itself a policy and acts as `policy` does.

    Attributes
    ----------
    lower, upper, gap
        Bounds on the best expected reward + weight * information, and their distance.
    status, converged
        Why the search ended, `gap` if the bounds are within the gap asked for; and whether they are.
    first
        The first action of the plan behind the lower bound.
    method, seconds
        The method, or several joined by `and`; seconds of the search without compilation.
    certificate
        Result of the independent check (`check=True`); None if it did not run.
    result
        The record of the solver.
    """

    value_kind = LOWER_BOUND

    def __init__(self, problem: POMDP, objective: Objective, result: SolveResult) -> None:
        self.problem, self.objective, self.result = problem, objective, result
        self.lower, self.upper, self.gap = result.lower, result.upper, result.upper - result.lower
        self.status, self.converged = result.stopped_by, result.converged
        self.method, self.first, self.seconds = result.method, result.first, result.seconds
        self.certificate = result.certificate

    @cached_property
    def policy(self) -> Policy:
        """The policy of the solver, or one derived if the method returns none; `policy.value` is its lower bound."""
        if self.result.policy is not None:
            return SolverPolicy(self.result.policy)
        return derived_policy(self.problem, self.objective, self.result)

    def __repr__(self) -> str:
        name = self.problem.spec or self.problem.name
        return f"Solution({name}: value in [{self.lower:.8g}, {self.upper:.8g}], {self.status})"

    def __str__(self) -> str:
        return "\n".join(f"{head}: {cell}" for head, cell in self._facts())

    def _repr_html_(self) -> str:
        return html_table(("quantity", "value"), [[head, cell] for head, cell in self._facts()])

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("problem", self.problem.spec or self.problem.name),
            ("lower bound", f"{self.lower:.8g}"),
            ("upper bound", f"{self.upper:.8g}"),
            ("status", self.status),
            ("first action", self.first),
            ("method", self.method),
            ("seconds", f"{self.seconds:.2f}"),
        ]


@dataclass(frozen=True)
class HSVI(Planner):
    """The certified solver: heuristic search value iteration with bounds (Smith and Simmons 2005).

    gap: distance of the bounds at which it stops. horizon: the most actions, None for no limit. seconds, memory: limits
    of time and of bytes. method: as for `rhoplan.solve`.
    """

    name: ClassVar[str] = "hsvi"

    gap: float = 1e-3
    horizon: int | None = None
    seconds: float = 600.0
    memory: float = 4e9
    method: str | None = "points"

    def solve(self, problem: POMDP, objective: Objective | None = None) -> Solution:
        """Bounds on the optimal value of `problem`, and a policy."""
        return solved(
            problem, objective, gap=self.gap, horizon=self.horizon, seconds=self.seconds, memory=self.memory,
            method=self.method,
        )  # fmt: skip


def solved(
    problem: POMDP,
    objective: Objective | None,
    *,
    gap: float,
    horizon: int | None,
    seconds: float,
    memory: float,
    method: str | None = None,
    check: bool = False,
    progress: Progress | None = None,
) -> Solution:
    """The solution of `problem`; see `rhoplan.solve`."""
    aim = objective_for(problem, objective)
    if not aim.is_plain:
        raise AgentError(
            "solve takes reward and weighted information and the best action; another utility, a finite inverse "
            "temperature and terminal_rewards=False need a planner: use rhoplan.Lookahead(horizon).solve",
            field=("objective",),
        )
    from rhoplan.planning.certified.solve import solve as solve_with_bounds  # the solver takes long to import

    found = solve_with_bounds(
        problem, weight=aim.weight_per_nat, discount=aim.discount_factor, horizon=horizon, gap=gap, seconds=seconds,
        memory=memory, progress=progress, method=method, check=check,
    )  # fmt: skip
    return Solution(problem if horizon is None else with_horizon(problem, horizon), aim, found)


@dataclass(frozen=True)
class DerivedSettings:
    """Limits of the look-ahead of a derived policy: actions, nodes of the belief graph, and seconds."""

    horizon: int = 128
    nodes: int = 50_000
    seconds: float = 10.0


def derived_policy(
    problem: POMDP, objective: Objective, found: SolveResult, *, settings: DerivedSettings | None = None
) -> Policy:
    """A policy for a solution that has none: a blind one if only the range of rewards is known, else look-ahead.

    If a problem observes and then takes one terminal action, the value of look-ahead never falls with its horizon. So
    following it with a receding horizon is worth at least that value, and longer horizons approach the optimum.
    """
    blind = BlindPolicy(problem, found.first, objective.discount_factor)
    if found.method == RANGE or not problem.observes_then_commits or problem.leaf is not None:
        return blind
    limits = settings or DerivedSettings()
    graph = BeliefGraph(problem, budget=Budget(nodes=limits.nodes, seconds=limits.seconds))
    start, best, horizon = np.array([graph.root]), 0, 1
    layers = LookaheadOnGraph(graph, objective, horizon).layers
    try:
        while horizon <= limits.horizon:
            value = float(layers.value(start, horizon)[0])
            best = horizon
            if value >= found.lower - 0.5 * found.gap:
                break
            horizon *= 2
    except LimitError:
        pass
    if not best:
        always = graph.action(graph.root, int(graph.stop_place[graph.root])).name
        return BlindPolicy(problem, always, objective.discount_factor)
    return PlannedPolicy(problem, Lookahead(best), objective, name="Solution", value_kind=LOWER_BOUND)


def load_policy_file(path: Path | str, problem: POMDP) -> Policy:
    """The policy saved in `path`, for the problem that it was made for; with a horizon, its `problem` has it too."""
    if Path(path).suffix.lower() == SARSOP_ENDING:
        raise ProblemError(
            f"a policy in SARSOP's format is written, not read; '{path}' is one: save the policy without "
            f"{SARSOP_ENDING} too",
            field=("path",),
        )
    header, _ = read_policy_file(path)
    if header.get("format") not in (PLANNED_FORMAT, BLIND_FORMAT):
        from rhoplan.planning.certified.saved import load_policy

        return SolverPolicy(load_policy(path, problem))
    if header["horizon"] is not None and horizon_of(problem) is None:
        problem = with_horizon(problem, header["horizon"])
    if header["digest"] != digest_of_problem(problem):
        raise ProblemError(
            f"policy '{path}' must be used with the problem it was made for, {header['problem']}; '{problem.name}' has "
            "other numbers: plan again",
            field=("agent",),
        )
    if header["format"] == PLANNED_FORMAT:
        return planned_policy_from(problem, header)
    return BlindPolicy(problem, header["always"], header["discount"])
