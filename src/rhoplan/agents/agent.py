"""An agent is an objective and a planner. `AGENTS` is the paper's table of agents.

Its six agents use exact look-ahead unless another planner is given; they differ in the numbers of the table only. EFE
is Planning+IG with weight 1 in the chosen unit of information (Proposition 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, cast

from rhoplan.agents.fitting import COSTS, fitting
from rhoplan.agents.planners import BuiltInPlanner, FollowRule, PlannedPolicy, field_names
from rhoplan.agents.registry import OTHER_AGENTS, PLANNERS, UTILITIES, row_of
from rhoplan.agents.settings import DEFAULT_NEAR, SETTINGS, checked, unlike, unused
from rhoplan.belief_math.information import per_nat
from rhoplan.errors import AgentError, expect
from rhoplan.model.belief import Belief
from rhoplan.model.limits import FEW_STATES
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.objective import BeliefUtility, Objective
from rhoplan.planning.planner import Planner
from rhoplan.planning.recommendation import Recommendation, recommend
from rhoplan.planning.utility import Utility

Value = TypeVar("Value")


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
    "epistemic-only": AgentKind(None, False, False, "ablation: terminal actions are worth nothing"),
}

DEFAULT_PLANNER, DEFAULT_UTILITY = "exact", "information"


SOLVED = "solved:"
"""Prefix of the name of an agent that follows the policy in a file."""

OBJECTIVE_FIELDS = {one.word: one.field for one in SETTINGS.values() if one.of == "objective"}
"""Fields of an objective by the names of settings in options, records and logs."""


class Part(Generic[Value]):
    """An attribute of an agent's objective or planner; `default` if that does not have it."""

    def __init__(self, path: str, default: Any = None) -> None:
        self.home, _, self.name = path.partition(".")
        self.default = default

    def __get__(self, agent: Any, owner: type) -> Value:
        found = getattr(getattr(agent, self.home), self.name, None)
        return cast(Value, self.default if found is None else found)


@dataclass(frozen=True, init=False)
class BoundAgent:
    """An objective and a planner whose settings are complete for one problem.

    Made of both, or of their settings: BoundAgent("mine", horizon=3, weight=2.0, discount=0.9,
    utility=NegativeEntropy(), planner="mcts", simulations=500). near: share of the expected loss below which texts call
    two actions about equally good; it changes no decision. notes: settings that are not used, and why.
    """

    name: str
    objective: Objective
    planner: Planner
    near: float = field(default=DEFAULT_NEAR, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __init__(
        self,
        name: str,
        horizon: int | None = None,
        weight: float | None = None,
        *,
        objective: Objective | None = None,
        planner: Planner | str = DEFAULT_PLANNER,
        near: float = DEFAULT_NEAR,
        notes: tuple[str, ...] = (),
        **settings: Any,
    ) -> None:
        given = {word: value for word, value in {"horizon": horizon, **settings}.items() if value is not None}
        wants = {OBJECTIVE_FIELDS[word]: given.pop(word) for word in [*given] if word in OBJECTIVE_FIELDS}
        aim = replace(objective or Objective(), **wants)
        aim = aim if weight is None else aim.weighted(weight)
        if isinstance(planner, str):
            planner = cast(Planner, row_of(PLANNERS, planner, "planner").load()(**given))
        elif given:
            planner = replace(planner, **given)  # type: ignore[type-var]
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "objective", replace(aim, discount=aim.discount_factor))
        object.__setattr__(self, "planner", planner)
        object.__setattr__(self, "near", near)
        object.__setattr__(self, "notes", notes)
        SETTINGS["near"].check(near)
        if isinstance(planner, BuiltInPlanner):
            planner.check(self.objective)

    def policy(self, problem: POMDP, *, seed: int = 0) -> PlannedPolicy:
        """The policy of the agent in `problem`. seed: for planners that sample."""
        return PlannedPolicy(problem, self.planner, self.objective, name=self.name, seed=seed)

    def changed(self, **settings: Any) -> BoundAgent:
        """This agent with other settings, by the arguments of its constructor."""
        return replace(self, **settings)

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of the table by name, as JSON can hold it; None if the agent does not have it."""
        found = {name: getattr(self, setting.word) for name, setting in SETTINGS.items()}
        found |= {"planner": self.planner.name, "utility": self.utility.name}
        found["precision"] = None if math.isinf(self.precision) else self.precision
        return {**found, "target": None if self.target is None else list(self.target)}

    horizon = Part[int]("planner.horizon", 1)
    simulations = Part["int | None"]("planner.simulations")
    seconds = Part["float | None"]("planner.seconds")
    exploration = Part["float | None"]("planner.exploration")
    weight = Part[float]("objective.information_weight")
    unit = Part[str]("objective.information_unit")
    discount = Part[float]("objective.discount")
    precision = Part[float]("objective.inverse_temperature")
    commits_count = Part[bool]("objective.terminal_rewards")
    utility = Part[Utility]("objective.utility")
    target = Part["tuple[float, ...] | None"]("objective.target")
    rho = Part[Utility]("objective.rho")
    weight_per_nat = Part[float]("objective.weight_per_nat")

    @property
    def plans_for_information(self) -> bool:
        """Whether it looks ahead for reward and weighted information, so that a weight can be compared with others."""
        return self.planner.plans and self.objective.is_information


def make_agent(name: str, problem: POMDP, **settings: Any) -> BoundAgent:
    """The agent `name` with `settings`, which `settings.SETTINGS` lists by their words; None is the default.

    name: one of `AGENTS`, a registered agent that supports the problem, or `solved:FILE`. Horizon, discount and planner
    are the problem's own by default, the weight is the problem's price of information or 1, the utility information. If
    exact look-ahead is the default and would be too large, another planner is used (see `fitting`).

    A setting that the agent's definition fixes (the horizon of `myopic`, the weight of `efe`), or that the planner does
    not take, is not used, and a note on the agent says so. Weight 0 takes the information out of any agent.
    """
    expect(problem, POMDP, "make")
    given = {"near": DEFAULT_NEAR, **checked(settings)}
    weight, unit = given.get("weight"), given.get("unit", "nats")
    objective = Objective(
        information_unit=unit,
        discount=given.get("discount", problem.discount),
        inverse_temperature=given.get("precision", math.inf),
    )
    price = 1.0 if problem.price is None else problem.price / per_nat(1.0, unit)
    if name.startswith(SOLVED):
        return _solved(name.removeprefix(SOLVED), problem, given)
    if name in AGENTS:
        return _listed(name, problem, objective, price, given)
    if name in other_agents(problem):
        other, standard = OTHER_AGENTS[name], {one.word: one.default for one in SETTINGS.values()}
        if not hasattr(other, "words"):  # a planner
            wanted = Objective(price if weight is None else weight, information_unit=unit)
            return BoundAgent(name, objective=wanted, planner=other, near=given["near"])
        own = {word: value for word, value in given.items() if value != standard[word]}
        return replace(make_agent(other.agent, problem, **{**other.words, **own}), name=name)
    known = ", ".join([*AGENTS, *other_agents(problem)])
    raise AgentError(
        f"there is no agent '{name}' for '{problem.name}'; there are {known}", field=("agent",), code="unknown-agent"
    )


def decide(problem: POMDP, agent: BoundAgent, belief: Belief | None = None, *, seed: int = 0) -> Recommendation:
    """What `agent` does at `belief` (the initial one by default), and why. seed: for planners that sample."""
    expect(problem, POMDP, "make")
    expect(agent, BoundAgent, "agent")
    policy = agent.policy(problem, seed=seed)
    here = policy.belief(problem.belief() if belief is None else belief)
    return recommend(policy, here, objective=agent.objective)


def other_agents(problem: POMDP) -> list[str]:
    """Names of the registered agents that support `problem`."""
    return [name for name, agent in OTHER_AGENTS.items() if agent.supports(problem)]


def make_adviser(problem: POMDP, name: str | None = None, **settings: Any) -> BoundAgent:
    """The agent that advises people: `name`, or by default one that looks ahead for reward.

    Information counts if the problem has a price for it, or if `settings` have a weight or a utility.
    """
    weight, utility = settings.get("weight"), settings.get("utility")
    if name is None and utility in (None, DEFAULT_UTILITY):
        weight = weight if weight is not None else problem.price or 0.0
        name = "planning" if weight == 0 else "planning-ig"
    return make_agent(name or "planning-ig", problem, **settings)


def _listed(name: str, problem: POMDP, objective: Objective, price: float, given: Mapping[str, Any]) -> BoundAgent:
    """The agent `name` of the paper's table. price: the weight that it has by default."""
    kind, weight, notes = AGENTS[name], given.get("weight"), list[str]()
    if kind.one_step and given.get("horizon", 1) != 1:
        notes.append(f"{name} always looks one action ahead; horizon {given['horizon']} is not used")
    if kind.weight and weight == 0:
        notes.append(f"{name} has weight {kind.weight:g} by definition; with weight 0 it plans as planning does")
        kind = replace(kind, weight=0.0)
    elif kind.weight is not None and weight is not None and weight != kind.weight:
        notes.append(
            f"{name} has weight {kind.weight:g} by definition; weight {weight:g} is not used (see planning-ig)"
        )
    utility = _utility(given.get("utility", DEFAULT_UTILITY), given.get("target"), problem)
    if utility.name != DEFAULT_UTILITY and kind.weight is not None:
        what = f"this is planning-ig with weight {kind.weight:g}" if kind.weight else "it has weight 0 and is not used"
        notes.append(f"{name} is defined with information; with utility {utility.name} {what}")
    planner = _planner(given.get("planner", problem.planner), problem, given)
    notes += unused(planner.name, field_names(planner), given)
    weight = price if weight is None else weight
    objective = replace(objective, utility=utility, terminal_rewards=kind.commits_count)
    objective = objective.weighted(weight if kind.weight is None else kind.weight)
    if kind.one_step and "horizon" in field_names(planner):
        planner = replace(planner, horizon=1)  # type: ignore[type-var]
    if "planner" not in given:
        repeats = len(problem.factors[0].states) <= FEW_STATES
        fit = next(fitting(problem, planner, objective, work=COSTS.quick, repeats=repeats))
        planner, notes = fit.planner, [*notes, *filter(None, [fit.words])]
    return BoundAgent(name, objective=objective, planner=planner, near=given["near"], notes=tuple(notes))


def _planner(planner: Planner | str, problem: POMDP, given: Mapping[str, Any]) -> Planner:
    """The planner with those settings in `given` that it takes, completed by `problem`."""
    row = row_of(PLANNERS, planner, "planner") if isinstance(planner, str) else None
    takes = row.takes if row else field_names(cast(Planner, planner))
    used = {name: value for name, value in given.items() if name in takes}
    found = row.load()(**used) if row else replace(planner, **used)  # type: ignore[type-var]
    return found.completed(problem) if isinstance(found, BuiltInPlanner) else cast(Planner, found)


def _utility(utility: BeliefUtility | str, target: Sequence[float] | None, problem: POMDP) -> Utility:
    """The utility, with its target if it takes one."""
    if not isinstance(utility, str):
        return Objective(utility=utility).for_problem(problem).belief_utility
    row = row_of(UTILITIES, utility, "utility")
    if "target" not in row.takes:
        if target is not None:
            raise AgentError(
                f"target is for utility target-belief; utility {utility} does not take it",
                field=("target",),
                code="setting-conflict",
            )
        return cast(Utility, row.load()())
    sizes = {len(factor.states) for factor in problem.factors}
    if target is None or sizes != {len(target)}:
        count = " or ".join(map(str, sorted(sizes)))
        had = "there is none" if target is None else f"there are {len(target)}"
        raise AgentError(
            f"target must be a probability for each of the {count} states for utility {utility}; {had}",
            field=("target",),
            code="wrong-length",
        )
    try:
        return cast(Utility, row.load()(target=target))
    except AgentError as error:
        raise AgentError(f"target is not sound: {error}", field=("target",), code="probability-sum") from None


_refused: ContextVar[str | None] = ContextVar("refused", default=None)


@contextmanager
def without_files(why: str) -> Iterator[None]:
    """Within the block agents that follow a file are refused with the message `why`."""
    token = _refused.set(why)
    try:
        yield
    finally:
        _refused.reset(token)


def _solved(path: str, problem: POMDP, given: Mapping[str, Any]) -> BoundAgent:
    """The agent that follows the policy in the file at `path`, with a note on the settings that it does not use."""
    from rhoplan.planning.certified.saved import load_policy, saved_horizon

    if refused := _refused.get():
        raise AgentError(refused, field=("agent",), code="policy-file-not-allowed")
    policy = load_policy(path, problem)
    solved = policy.settings
    objective = Objective(solved.weight, discount=solved.discount)
    asked = {word: value for word, value in given.items() if word != "near"}
    if "weight" in asked:
        asked["weight"] = per_nat(asked["weight"], asked.get("unit", "nats"))
    has = {word: getattr(objective, name, None) for word, name in OBJECTIVE_FIELDS.items()}
    has |= {"utility": DEFAULT_UTILITY, "horizon": "horizon" in asked and saved_horizon(path)}
    vain = unlike(has, asked)
    made = f"solved does what its policy says, which has weight {solved.weight:g} and discount {solved.discount}"
    notes = (f"{made}; {', '.join(vain)} {'is' if len(vain) == 1 else 'are'} not used",) if vain else ()
    return BoundAgent("solved", objective=objective, planner=FollowRule(rule=policy), near=given["near"], notes=notes)
