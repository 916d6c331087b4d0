"""An agent is an objective and a planner: what it wants, and how it looks ahead. `AGENTS` is the paper's table.

All six of the paper use the one recursion of `planning.exact` unless another planner is asked for; they differ in the
numbers of this table only. EFE is Planning+IG with weight 1 in the chosen unit of information (Proposition 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar, cast

from rhoplan.agents.fitting import chosen as chosen_planner
from rhoplan.agents.planners import BuiltInPlanner, ExternalPlanner, FollowRule, PlannedPolicy
from rhoplan.agents.registry import OTHER_AGENTS, PLANNERS, UTILITIES, row_of
from rhoplan.agents.settings import DEFAULT_NEAR, SETTINGS, unlike, unused
from rhoplan.belief_math.information import per_nat
from rhoplan.errors import AgentError, expect
from rhoplan.model.limits import LARGEST_REWARD, UNITS
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.objective import BeliefUtility, Objective
from rhoplan.planning.planner import Planner
from rhoplan.planning.utility import Utility

Named: TypeAlias = "str | BeliefUtility | None"
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
    "epistemic-only": AgentKind(None, False, False, "ablation: commits are worth nothing"),
}

DEFAULT_PLANNER = "exact"

WORDS = {
    "weight": "information_weight", "unit": "information_unit", "discount": "discount", "utility": "utility",
    "precision": "inverse_temperature", "commits_count": "terminal_rewards",
}  # fmt: skip
"""The words of options, records and logs for the fields of an objective."""


class Part(Generic[Value]):
    """An attribute that an agent has from its objective or its planner; None where that lacks it."""

    def __init__(self, home: str) -> None:
        self.home = home

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = WORDS.get(name, name) if self.home == "objective" else name

    def __get__(self, agent: Any, owner: type) -> Value:
        return cast(Value, getattr(getattr(agent, self.home), self.name, None))


@dataclass(frozen=True, init=False)
class BoundAgent:
    """How to decide: look ahead with `planner` for `objective`, then act, then look again.

    Made of an objective and a planner, or of their settings: BoundAgent("mine", horizon=3, weight=2.0, discount=0.9,
    utility=NegativeEntropy(), planner="mcts", simulations=500). The weight is the utility's own where nobody says.
    near: what the words about its decisions call about as good (see `settings`); it changes no decision.
    """

    name: str
    objective: Objective
    planner: BuiltInPlanner
    near: float = field(default=DEFAULT_NEAR, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __init__(
        self,
        name: str,
        horizon: int | None = None,
        weight: float | None = None,
        *,
        objective: Objective | None = None,
        planner: BuiltInPlanner | str = DEFAULT_PLANNER,
        near: float = DEFAULT_NEAR,
        notes: tuple[str, ...] = (),
        **settings: Any,
    ) -> None:
        given = {"horizon": horizon, "weight": weight, **settings}
        given = {word: value for word, value in given.items() if value is not None}
        wants = {field: given.pop(word) for word, field in WORDS.items() if word in given and word != "weight"}
        given.pop("weight", None)
        _check_objective(weight, wants.get("information_unit"), wants.get("discount"), wants.get("inverse_temperature"))
        aim = replace(objective or Objective(), **wants)
        aim = aim if weight is None else aim.weighted(weight)
        how = _made(planner, given) if isinstance(planner, str) else planner.with_settings(**given)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "objective", replace(aim, discount=aim.discount_factor))
        object.__setattr__(self, "planner", how)
        object.__setattr__(self, "near", near)
        object.__setattr__(self, "notes", notes)
        SETTINGS["near"].check(near)
        self.planner.check(self.objective)

    def policy(self, problem: POMDP, *, seed: int = 0, value_kind: str | None = None) -> PlannedPolicy:
        """What the agent does in `problem`; see `PlannedPolicy`."""
        return PlannedPolicy(problem, self.planner, self.objective, name=self.name, seed=seed, value_kind=value_kind)

    def changed(self, **settings: Any) -> BoundAgent:
        """This agent with other settings, by their Python names."""
        kept = {name: getattr(self, name) for name in ("objective", "planner", "near", "notes")}
        return BoundAgent(self.name, **(kept | settings))

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of the table by name, as JSON can hold it; None where the agent does not have it."""
        found = {name: getattr(self, setting.word) for name, setting in SETTINGS.items()}
        found |= {"planner": self.planner.name, "utility": self.utility.name}
        found["precision"] = None if math.isinf(self.precision) else self.precision
        return {**found, "target": None if self.target is None else list(self.target)}

    horizon = Part[int]("planner")
    simulations = Part["int | None"]("planner")
    seconds = Part["float | None"]("planner")
    exploration = Part["float | None"]("planner")
    weight = Part[float]("objective")
    unit = Part[str]("objective")
    discount = Part[float]("objective")
    precision = Part[float]("objective")
    commits_count = Part[bool]("objective")
    utility = Part[Utility]("objective")
    target = Part["tuple[float, ...] | None"]("objective")
    rho = Part[Utility]("objective")
    weight_per_nat = Part[float]("objective")

    @property
    def plans_for_information(self) -> bool:
        """Whether it looks ahead for reward and weighted information, so that a weight can be compared with others."""
        return self.planner.plans and self.objective.is_information


def make_agent(
    name: str,
    problem: POMDP,
    *,
    horizon: int | None = None,
    weight: float | None = None,
    unit: str = "nats",
    discount: float | None = None,
    precision: float = math.inf,
    utility: Named = None,
    target: Sequence[float] | None = None,
    planner: Planner | str | None = None,
    simulations: int | None = None,
    seconds: float | None = None,
    exploration: float | None = None,
    near: float = DEFAULT_NEAR,
) -> BoundAgent:
    """The agent `name` of the paper's table with these settings.

    Horizon, discount and planner are the problem's own by default, the weight is the problem's price of information or
    1, the utility information. Where exact look-ahead would be too large and nobody asks for it, another planner takes
    its place (see `fitting`).

    A setting that the agent's definition fixes (the horizon of `myopic`, the weight of `efe`), or that the planner does
    not take, is not used, and a note on the agent says so. Weight 0 takes the information out of any agent.
    """
    expect(problem, POMDP, "make")
    _check_objective(weight, unit, discount, precision)
    given = {"horizon": horizon, "simulations": simulations, "seconds": seconds, "exploration": exploration}
    if weight is not None:
        SETTINGS["weight"].check(weight)
    if name.startswith(SOLVED):
        wanted = None if weight is None else per_nat(weight, unit)
        said = {"precision": precision, "weight": wanted, "unit": unit, "discount": discount}
        asked = {**given, **said, "planner": planner, "utility": utility, "target": target}
        return _solved(name, problem, near, asked)
    if name not in AGENTS and name in other_agents(problem):
        other = OTHER_AGENTS[name]
        if not hasattr(other, "bind"):
            aim = Objective(_priced(problem, unit) if weight is None else weight, information_unit=unit)
            return BoundAgent(name, objective=aim, planner=ExternalPlanner(planner=other), near=near)
        asked = {**given, "weight": weight, "discount": discount, "utility": utility, "target": target}
        found: BoundAgent = other.bind(problem)
        changed = {word: value for word, value in asked.items() if value is not None}
        return replace(found.changed(**changed), name=name, near=near) if changed else replace(found, name=name)
    if name not in AGENTS:
        known = ", ".join([*AGENTS, *other_agents(problem)])
        raise AgentError(
            f"there is no agent '{name}' for '{problem.name}'; there are {known}",
            field=("agent",),
            code="unknown-agent",
        )
    kind, notes = AGENTS[name], list[str]()
    if kind.one_step and horizon not in (None, 1):
        notes.append(f"{name} always looks one action ahead; horizon {horizon} is not used")
    if kind.weight and weight == 0:
        notes.append(f"{name} has weight {kind.weight:g} by definition; with weight 0 it plans as planning does")
        kind = replace(kind, weight=0.0)
    elif kind.weight is not None and weight is not None and weight != kind.weight:
        notes.append(
            f"{name} has weight {kind.weight:g} by definition; weight {weight:g} is not used (see planning-ig)"
        )
    valued = _utility(utility, target, problem)
    if valued.name != DEFAULT_UTILITY and kind.weight is not None:
        what = f"this is planning-ig with weight {kind.weight:g}" if kind.weight else "it has weight 0 and is not used"
        notes.append(f"{name} is defined with information; with utility {valued.name} {what}")
    how = _planner(problem.planner if planner is None else planner, problem, given)
    notes += unused(how.name, how.takes, given)
    chosen, fades = weight if weight is not None else _priced(problem, unit), problem.discount
    fades = fades if discount is None else discount
    objective = Objective(
        information_unit=unit,
        utility=valued,
        discount=fades,
        inverse_temperature=precision,
        terminal_rewards=kind.commits_count,
    ).weighted(chosen if kind.weight is None else kind.weight)
    how = how.with_settings(horizon=1) if kind.one_step else how
    if planner is None:
        fit = chosen_planner(problem, how, objective)
        how, notes = fit.planner, [*notes, *filter(None, [fit.words])]
    return BoundAgent(name, objective=objective, planner=how, near=near, notes=tuple(notes))


def other_agents(problem: POMDP) -> list[str]:
    """Names of the agents of other distributions that can act in `problem`."""
    return [name for name, agent in OTHER_AGENTS.items() if agent.supports(problem)]


def make_adviser(problem: POMDP, name: str | None = None, **settings: Any) -> BoundAgent:
    """Who advises people: the agent `name`, or else one that looks ahead for what people pay and lose.

    Information counts where somebody puts a price on it: the problem, a weight, or a utility in `settings`.
    """
    weight, utility = settings.get("weight"), settings.get("utility")
    if name is None and utility in (None, DEFAULT_UTILITY):
        weight = weight if weight is not None else problem.price or 0.0
        name = "planning" if weight == 0 else "planning-ig"
    return make_agent(name or "planning-ig", problem, **settings)


def _check_objective(weight: float | None, unit: str | None, discount: float | None, precision: float | None) -> None:
    """Refuse settings of an objective, by the words that options and fields have for them."""
    if weight is not None and not abs(weight) <= LARGEST_REWARD:
        raise AgentError(f"weight must be a number of at most {LARGEST_REWARD:g}; it is {weight:g}", field=("weight",))
    if unit is not None and unit not in UNITS:
        raise AgentError(f"unit of information must be {' or '.join(UNITS)}, not '{unit}'", field=("unit",))
    for name, value in (("discount", discount), ("precision", precision)):
        if value is not None:
            SETTINGS[name].check(value)


def _priced(problem: POMDP, unit: str) -> float:
    """The problem's price of information, 1 where it has none, for each `unit` of it."""
    return 1.0 if problem.price is None else problem.price / per_nat(1.0, unit)


SOLVED = "solved:"
"""How the name of an agent begins that follows the policy in a file."""

_refused: ContextVar[str | None] = ContextVar("refused", default=None)


@contextmanager
def without_files(why: str) -> Iterator[None]:
    """Within the block no agent is made of a file: `why` is what the refusal says."""
    before = _refused.set(why)
    try:
        yield
    finally:
        _refused.reset(before)


def _solved(name: str, problem: POMDP, near: float, asked: dict[str, Any]) -> BoundAgent:
    """The agent that follows the policy in the file named after `solved:`, with a note on what is `asked` in vain."""
    from rhoplan.planning.certified.saved import load_policy, saved_horizon

    if refused := _refused.get():
        raise AgentError(refused, field=("agent",), code="policy-file-not-allowed")
    path = name.removeprefix(SOLVED)
    policy = load_policy(path, problem)
    objective = Objective(policy.settings.weight, discount=policy.settings.discount)
    has = {word: getattr(objective, field) for word, field in WORDS.items()}
    has |= {"utility": DEFAULT_UTILITY, "horizon": asked["horizon"] and saved_horizon(path)}
    vain = unlike(has, asked)
    solved = policy.settings
    made = f"solved does what its policy says, which has weight {solved.weight:g} and discount {solved.discount}"
    notes = (f"{made}; {', '.join(vain)} {'is' if len(vain) == 1 else 'are'} not used",) if vain else ()
    return BoundAgent("solved", objective=objective, planner=FollowRule(rule=policy), near=near, notes=notes)


DEFAULT_UTILITY = "information"


def _made(name: str, settings: dict[str, Any], problem: POMDP | None = None) -> BuiltInPlanner:
    """The planner `name` with `settings`, and with what suits `problem` where they do not say."""
    found: Any = row_of(PLANNERS, name, "planner").load()
    made: Planner = found(**settings)
    if not isinstance(made, BuiltInPlanner):
        return ExternalPlanner(planner=made)
    return made if problem is None else made.completed(problem)


def _planner(planner: Planner | str, problem: POMDP, given: dict[str, Any]) -> BuiltInPlanner:
    """The planner asked for with the settings in `given` that it takes."""
    if isinstance(planner, BuiltInPlanner):
        planner = planner.completed(problem)
    elif isinstance(planner, Planner):
        planner = ExternalPlanner(planner=planner)
    takes = row_of(PLANNERS, planner, "planner").takes if isinstance(planner, str) else planner.takes
    for name, setting in SETTINGS.items():  # what is wrong is wrong, whether or not it is used
        if given.get(setting.word) is not None:
            SETTINGS[name].check(given[setting.word])
    used = {SETTINGS[name].word: given[SETTINGS[name].word] for name in takes if given[SETTINGS[name].word] is not None}
    return _made(planner, used, problem) if isinstance(planner, str) else planner.with_settings(**used)


def _utility(utility: Named, target: Sequence[float] | None, problem: POMDP) -> Utility:
    """The utility asked for, with its target where it takes one."""
    if utility is not None and not isinstance(utility, str):
        return Objective(utility=utility).for_problem(problem).belief_utility
    name = DEFAULT_UTILITY if utility is None else utility
    row = row_of(UTILITIES, name, "utility")
    if "target" not in row.takes:
        if target is not None:
            raise AgentError(
                f"target is for utility target-belief; utility {name} does not take it",
                field=("target",),
                code="setting-conflict",
            )
        made: Utility = row.load()()
        return made
    sizes = {len(factor.states) for factor in problem.factors}
    if target is None or sizes != {len(target)}:
        count = " or ".join(map(str, sorted(sizes)))
        had = "nothing came" if target is None else f"{len(target)} came"
        raise AgentError(
            f"target must be a probability for each of the {count} states for utility {name}; {had}",
            field=("target",),
            code="wrong-length",
        )
    try:
        aimed: Utility = row.load()(target=target)
    except AgentError as error:
        raise AgentError(f"target is not sound: {error}", field=("target",), code="probability-sum") from None
    return aimed
