"""Agents are data: a utility, a horizon, a discount. `AGENTS` is the paper's table of agents.

All six use the one recursion of `planning.exact`; they differ in the numbers of this table only. EFE is
Planning+IG with weight 1 in the chosen unit of information (Proposition 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from rhoplan.belief.information import per_nat
from rhoplan.errors import AgentError
from rhoplan.model.problem import LARGEST_HORIZON, LARGEST_REWARD, Problem, Rule
from rhoplan.planning.utility import Information, Utility


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


PLANNERS: dict[str, str] = {
    "exact": "every plan of the horizon, then the problem's own leaf",
    "anytime": "every plan of the horizon, then what errands and walks are worth; deeper with --time",
    "mcts": "a UCB1 tree over beliefs, outcomes enumerated, greedy EFE rollouts",
    "pomcp": "a UCB1 tree over histories, sampled states, semi-informed rollouts",
}
"""How an agent looks ahead."""

SAMPLING = ("mcts", "pomcp")
"""Planners whose decisions come from simulations."""

ANYTIME_HORIZON = 2
"""Look-ahead of the anytime planner when nobody asks for another: its leaf sees the rest."""

DEFAULT_SIMULATIONS = 1000


@dataclass(frozen=True)
class Agent:
    """How to decide: look `horizon` actions ahead for reward + weight * information, then act, then look again.

    weight is in reward units per `unit` of information. precision is beta in Q(a) proportional to exp(beta * value);
    infinity is the deterministic limit. utility replaces the information term where given; rule replaces planning.
    planner says how to look ahead; mcts and pomcp take `simulations` per decision, or all of `seconds`, which is also
    how long the anytime planner deepens its look-ahead.
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
    planner: str = "exact"
    simulations: int | None = None
    seconds: float | None = None
    exploration: float | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.horizon != int(self.horizon) or not 1 <= self.horizon <= LARGEST_HORIZON:
            raise AgentError(
                f"horizon must be a whole number from 1 to {LARGEST_HORIZON}; it is {self.horizon}", field=("horizon",)
            )
        if not abs(self.weight) <= LARGEST_REWARD:
            raise AgentError(
                f"weight must be a number of at most {LARGEST_REWARD:g}; it is {self.weight:g}", field=("weight",)
            )
        if self.unit not in ("nats", "bits"):
            raise AgentError(f"unit of information must be nats or bits, not '{self.unit}'", field=("unit",))
        if not 0 < self.discount <= 1:
            raise AgentError(f"discount must be above 0 and at most 1; it is {self.discount:g}", field=("discount",))
        if not self.precision > 0:
            raise AgentError(f"precision must be above 0; it is {self.precision:g}", field=("precision",))
        self._check_planner()

    def _check_planner(self) -> None:
        if self.planner not in PLANNERS:
            raise AgentError(
                f"there is no planner '{self.planner}'; there are {', '.join(PLANNERS)}", field=("planner",)
            )
        if self.simulations is not None and self.simulations < 1:
            raise AgentError(f"simulations must be at least 1; it is {self.simulations}", field=("simulations",))
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise AgentError(f"time must be above 0 seconds and finite; it is {self.seconds:g}", field=("time",))
        if self.exploration is not None and not 0 <= self.exploration < math.inf:
            raise AgentError(
                f"exploration must be at least 0 and finite; it is {self.exploration:g}", field=("exploration",)
            )
        if self.searches and (math.isfinite(self.precision) or self.utility or not self.commits_count):
            raise AgentError(
                f"planner {self.planner} takes reward and weighted information and the best action only; "
                "a precision, an own utility and epistemic-only need planner exact or anytime",
                field=("planner",),
            )

    @property
    def searches(self) -> bool:
        """Whether decisions come from sampling, so that they have a seed of their own."""
        return self.planner in SAMPLING

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
    discount: float | None = None,
    precision: float = math.inf,
    planner: str | None = None,
    simulations: int | None = None,
    seconds: float | None = None,
    exploration: float | None = None,
) -> Agent:
    """The agent `name` of the paper's table with these settings.

    Horizon, discount and planner are the problem's own by default, the weight is 1.

    A setting that the agent's definition fixes (the horizon of `myopic`, the weight of `efe`) stays as defined, and
    a note on the agent says so.
    """
    if name in problem.rules:
        return Agent(name, 1, 1.0 if weight is None else weight, unit, rule=problem.rules[name])
    if name not in AGENTS:
        known = ", ".join([*AGENTS, *problem.rules])
        raise AgentError(f"there is no agent '{name}' for '{problem.name}'; there are {known}", field=("agent",))
    if weight is not None and not weight >= 0:
        raise AgentError(f"weight must be a number of at least 0; it is {weight:g}", field=("weight",))
    kind, notes = AGENTS[name], []
    if kind.one_step and horizon not in (None, 1):
        notes.append(f"{name} always looks one action ahead; horizon {horizon} is not used")
    if kind.weight is not None and weight is not None and weight != kind.weight:
        notes.append(
            f"{name} has weight {kind.weight:g} by definition; weight {weight:g} is not used (see planning-ig)"
        )
    how = problem.planner if planner is None else planner
    for wanted, value in (("simulations", simulations), ("time", seconds)):
        if value is not None and how not in (*SAMPLING, *(["anytime"] if wanted == "time" else [])):
            notes.append(f"planner {how} does not use {wanted}")
    own = ANYTIME_HORIZON if how == "anytime" and not problem.is_flat else problem.horizon
    budget = DEFAULT_SIMULATIONS if simulations is None and seconds is None else simulations
    agent = Agent(
        name,
        own if horizon is None else horizon,
        1.0 if weight is None else weight,
        unit,
        problem.discount if discount is None else discount,
        precision,
        kind.commits_count,
        planner=how,
        simulations=budget,
        seconds=seconds,
        exploration=exploration,
        notes=tuple(notes),
    )
    fixed: dict[str, Any] = {"horizon": 1} if kind.one_step else {}
    fixed |= {} if how in SAMPLING else {"simulations": None}
    fixed |= {"seconds": None} if how == "exact" else {}
    if kind.weight is not None:
        fixed["weight"] = kind.weight
    return replace(agent, **fixed)
