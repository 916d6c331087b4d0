"""Agents are data: a utility, a horizon, a discount. `AGENTS` is the paper's table of agents.

All six use the one recursion of `planning.exact`; they differ in the numbers of this table only. EFE is
Planning+IG with weight 1 in the chosen unit of information (Proposition 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from rhoplan.errors import AgentError
from rhoplan.information import per_nat
from rhoplan.problem import LARGEST_HORIZON, Problem, Rule
from rhoplan.utility import Information, Utility


@dataclass(frozen=True)
class AgentKind:
    """A row of the paper's agent table. `weight` None means that the user chooses it, `one_step` fixes H = 1."""

    weight: float | None
    one_step: bool
    commits_count: bool
    controls_for: str


AGENTS: dict[str, AgentKind] = {
    "myopic": AgentKind(0.0, True, True, "one test ahead, no information term"),
    "planning": AgentKind(0.0, False, True, "planning depth"),
    "info-gain": AgentKind(None, True, True, "information bonus, one test ahead"),
    "planning-ig": AgentKind(None, False, True, "information bonus and planning depth"),
    "efe": AgentKind(1.0, False, True, "the joint objective: weight 1 (Proposition 1)"),
    "epistemic-only": AgentKind(None, False, False, "ablation: commits are worth nothing"),
}


@dataclass(frozen=True)
class Agent:
    """How to decide: look `horizon` actions ahead for reward + weight * information, then act, then look again.

    weight is in reward units per `unit` of information. precision is beta in Q(a) proportional to exp(beta * value);
    infinity is the deterministic limit. utility replaces the information term where given; rule replaces planning.
    """

    name: str
    horizon: int
    weight: float = 0.0
    unit: str = "nats"
    discount: float = 1.0
    precision: float = math.inf
    commits_count: bool = True
    utility: Utility | None = None
    rule: Rule | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.horizon != int(self.horizon) or not 1 <= self.horizon <= LARGEST_HORIZON:
            raise AgentError(f"horizon must be a whole number from 1 to {LARGEST_HORIZON}; it is {self.horizon}")
        if not math.isfinite(self.weight):
            raise AgentError(f"weight must be a finite number; it is {self.weight:g}")
        if self.unit not in ("nats", "bits"):
            raise AgentError(f"unit of information must be nats or bits, not '{self.unit}'")
        if not 0 < self.discount <= 1:
            raise AgentError(f"discount must be above 0 and at most 1; it is {self.discount:g}")
        if not self.precision > 0:
            raise AgentError(f"precision must be above 0; it is {self.precision:g}")

    @property
    def weight_per_nat(self) -> float:
        return per_nat(self.weight, self.unit)

    @property
    def rho(self) -> Utility:
        return self.utility or Information(self.weight_per_nat)


def make_agent(
    name: str,
    problem: Problem,
    *,
    horizon: int | None = None,
    weight: float | None = None,
    unit: str = "nats",
    discount: float = 1.0,
    precision: float = math.inf,
) -> Agent:
    """The agent `name` of the paper's table with these settings; the problem's own horizon and weight 1 by default.

    A setting that the agent's definition fixes (the horizon of `myopic`, the weight of `efe`) stays as defined, and
    a note on the agent says so.
    """
    if name in problem.rules:
        return Agent(name, 1, 1.0 if weight is None else weight, unit, rule=problem.rules[name])
    if name not in AGENTS:
        known = ", ".join([*AGENTS, *problem.rules])
        raise AgentError(f"there is no agent '{name}' for '{problem.name}'; there are {known}")
    if weight is not None and not weight >= 0:
        raise AgentError(f"weight must be a number of at least 0; it is {weight:g}")
    kind, notes = AGENTS[name], []
    if kind.one_step and horizon not in (None, 1):
        notes.append(f"{name} always looks one action ahead; horizon {horizon} is not used")
    if kind.weight is not None and weight is not None and weight != kind.weight:
        notes.append(
            f"{name} has weight {kind.weight:g} by definition; weight {weight:g} is not used (see planning-ig)"
        )
    wanted = problem.horizon if horizon is None else horizon
    chosen = 1.0 if weight is None else weight
    agent = Agent(name, wanted, chosen, unit, discount, precision, kind.commits_count, notes=tuple(notes))
    fixed: dict[str, Any] = {"horizon": 1} if kind.one_step else {}
    if kind.weight is not None:
        fixed["weight"] = kind.weight
    return replace(agent, **fixed)
