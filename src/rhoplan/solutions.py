"""Results of the certified solver as policies: bounds on the optimal value, and what to do at every belief.

Every solution has a policy. Where the method keeps none, one is derived whose own lower bound is known: look-ahead with
a receding horizon where observations are followed by one terminal action, else a blind policy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rhoplan.agents.planned import planned_policy_from
from rhoplan.agents.planners import FORMAT as PLANNED_FORMAT
from rhoplan.agents.planners import Lookahead, PlannedPolicy
from rhoplan.budget import Budget
from rhoplan.errors import AgentError, LimitError, NotAvailable, ProblemError
from rhoplan.files import replacing
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.io.policy_writer import write_policy
from rhoplan.model.horizon import Left, horizon_of, with_horizon
from rhoplan.model.limits import MOST_MENUS
from rhoplan.model.pomdp import POMDP, Action
from rhoplan.planning.asked import BoundedPolicy
from rhoplan.planning.certified import saved
from rhoplan.planning.certified.solution import RANGE, Progress, SolveResult
from rhoplan.planning.certified.solve import solve as solve_with_bounds
from rhoplan.planning.certified.solved import SolvedPolicy
from rhoplan.planning.graph_policy import LOWER_BOUND
from rhoplan.planning.lookahead import LookaheadOnGraph
from rhoplan.planning.objective import Objective, objective_for
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import (
    ActionValues,
    BeliefLike,
    Policy,
    PolicyOnGraph,
    ValueTerms,
    action_named,
    html_table,
    immediate_terms,
)
from rhoplan.planning.policy_file import digest_of_problem, read_policy_file, write_policy_file

BLIND_FORMAT = "rhoplan-blind-policy-1"

SARSOP_ENDING = ".policyx"

LONGEST, MOST_NODES, SECONDS = 128, 50_000, 10.0
"""Limits of the look-ahead of a derived policy: actions, nodes of the belief graph, and seconds."""

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
        return self.solved.action(self.belief(belief).situation)

    def value(self, belief: BeliefLike) -> float:
        return float(self.bounds(belief)[0])

    def bounds(self, belief: BeliefLike) -> tuple[float, float]:
        """Lower and upper bound on the optimal value at `belief`."""
        return self.solved.value(self.belief(belief).situation)

    def action_bounds(self, belief: BeliefLike) -> dict[str, tuple[float, float]]:
        return self.solved.actions(self.belief(belief).situation)

    def proven(self, belief: BeliefLike) -> str | None:
        return self.solved.proven(self.belief(belief).situation)

    def action_values(self, belief: BeliefLike) -> ActionValues:
        """Lower bounds on the value of each action, with the best known plan afterwards."""
        held = self.belief(belief)
        weight = self.solved.settings.weight
        rows = []
        for name, (lower, _) in self.solved.actions(held.situation).items():
            reward, information = immediate_terms(held, action_named(held, name))
            rows.append(
                ValueTerms(name, reward, information, weight * information, lower - reward - weight * information)
            )
        return ActionValues(tuple(rows), LOWER_BOUND)

    def save(self, path: Path | str) -> None:
        """Write the policy; a path that ends in .policyx gets SARSOP's format, which has no bounds."""
        if Path(path).suffix.lower() != SARSOP_ENDING:
            self.solved.save(path)
            return
        if not isinstance(self.solved, SolvedPolicy):
            raise NotAvailable(
                f"{self.name} has no alpha vectors over states: solve with method='points', or save it without "
                f"{SARSOP_ENDING}",
                field=("path",),
            )
        text = write_policy(self.solved)
        with replacing(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8")

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
        worst, menus = 0.0, 0
        for _, actions in self.problem.menus(MOST_MENUS + 1):
            menus += 1
            done = next((one for one in actions if one.name == self.always), None) or self._careful(actions)
            worst = min(worst, float(done.reward.min()))
        if menus > MOST_MENUS:
            return -math.inf
        steps = held.observable.actions if isinstance(held.observable, Left) else math.inf
        weight = steps if self.discount == 1 else (1 - self.discount**steps) / (1 - self.discount)
        return worst * weight * (1 + ROUNDING) if worst else 0.0

    def save(self, path: Path | str) -> None:
        header: dict[str, Any] = {"format": BLIND_FORMAT, "problem": self.problem.spec or self.problem.name}
        header |= {"always": self.always}
        header |= {"digest": digest_of_problem(self.problem), "horizon": horizon_of(self.problem)}
        write_policy_file(path, {**header, "discount": self.discount}, {})

    def __repr__(self) -> str:
        return f"BlindPolicy({self.problem.spec or self.problem.name}, {self.always})"

    @staticmethod
    def _careful(actions: tuple[Action, ...]) -> Action:
        return max(actions, key=lambda action: float(action.reward.min()))


@dataclass(eq=False, repr=False)
class Solution(Policy):
    """Certified bounds on the optimal value, and a policy. A solution is itself a policy and acts as `policy` does.

    lower, upper: bounds on the best expected reward + weight * information. status: `gap` where the bounds are within
    the gap asked for, else what ended the search. result: the solver's own record.
    """

    problem: POMDP
    objective: Objective
    result: SolveResult = field()
    value_kind: str | None = field(default=LOWER_BOUND, init=False)

    @property
    def lower(self) -> float:
        """Lower bound on the optimal value."""
        return self.result.lower

    @property
    def upper(self) -> float:
        """Upper bound on the optimal value."""
        return self.result.upper

    @property
    def gap(self) -> float:
        """How far the bounds are apart."""
        return self.upper - self.lower

    @property
    def status(self) -> str:
        """Why the search ended."""
        return self.result.stopped_by

    @property
    def method(self) -> str:
        """The method, or several joined by `and`."""
        return self.result.method

    @property
    def first(self) -> str:
        """The first action of the plan behind the lower bound."""
        return self.result.first

    @property
    def seconds(self) -> float:
        """Seconds of the search, without compilation."""
        return self.result.seconds

    @property
    def certificate(self) -> Any:
        """What the independent check found (`check=True`); None where it did not run."""
        return self.result.certificate

    @property
    def converged(self) -> bool:
        """Whether the bounds are within the gap asked for."""
        return self.result.converged

    @cached_property
    def policy(self) -> Policy:
        """The policy of the solver, or one derived where the method keeps none; `policy.value` is its lower bound."""
        if self.result.policy is not None:
            return SolverPolicy(self.result.policy)
        return derived_policy(self.problem, self.objective, self.result)

    def action(self, belief: BeliefLike) -> str:
        return self.policy.action(belief)

    def probabilities(self, belief: BeliefLike) -> dict[str, float]:
        return self.policy.probabilities(belief)

    def action_values(self, belief: BeliefLike) -> ActionValues:
        return self.policy.action_values(belief)

    def value(self, belief: BeliefLike) -> float:
        return self.policy.value(belief)

    def action_bounds(self, belief: BeliefLike) -> dict[str, tuple[float, float]] | None:
        return self.policy.action_bounds(belief)

    def proven(self, belief: BeliefLike) -> str | None:
        return self.policy.proven(belief)

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        return self.policy.on(graph)

    def save(self, path: Path | str) -> None:
        self.policy.save(path)

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
    found = solve_with_bounds(
        problem, weight=aim.weight_per_nat, discount=aim.discount_factor, horizon=horizon, gap=gap, seconds=seconds,
        memory=memory, progress=progress, method=method, check=check,
    )  # fmt: skip
    return Solution(problem if horizon is None else with_horizon(problem, horizon), aim, found)


def derived_policy(problem: POMDP, objective: Objective, found: SolveResult) -> Policy:
    """A policy for a solution that has none: a blind one where the range of rewards is all that is known.

    Where a problem observes and then commits, the value of look-ahead never falls with its horizon; so following it
    with a receding horizon is worth at least that value (`value` says how much), and longer horizons come closer to
    the optimum.
    """
    blind = BlindPolicy(problem, found.first, objective.discount_factor)
    if found.method == RANGE or not problem.observes_then_commits or problem.leaf is not None:
        return blind
    graph = BeliefGraph(problem, budget=Budget(nodes=MOST_NODES, seconds=SECONDS))
    start, best, horizon = np.array([graph.root]), 0, 1
    layers = LookaheadOnGraph(graph, objective, horizon).layers
    try:
        while horizon <= LONGEST:
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
        return SolverPolicy(saved.load_policy(path, problem))
    if header["horizon"] is not None and horizon_of(problem) is None:
        problem = with_horizon(problem, header["horizon"])
    found: Policy | None
    if header["format"] == PLANNED_FORMAT:
        found = planned_policy_from(problem, header)
    else:
        same = header["digest"] == digest_of_problem(problem)
        found = BlindPolicy(problem, header["always"], header["discount"]) if same else None
    if found is None:
        raise ProblemError(
            f"policy '{path}' must be used with the problem it was made for, {header['problem']}; '{problem.name}' has "
            "other numbers: plan again",
            field=("agent",),
        )
    return found
