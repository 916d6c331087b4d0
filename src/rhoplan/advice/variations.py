"""A model with one number changed: the parameters that a sensitivity analysis moves, one at a time.

A probability takes its room from the others in proportion: the prior of one state, or one entry of a likelihood row,
moves, and the rest of the distribution keeps its proportions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from rhoplan.advice.words import parameter_name
from rhoplan.agents.agent import Agent
from rhoplan.errors import RhoplanError, dotted
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.model.observe_then_commit import Commit, FlatMenu, Test
from rhoplan.model.problem import Array, Problem

Change = Callable[[float], tuple[Problem, Agent]]

FAR = 10.0
"""How many times the largest reward a cost, reward or weight may grow before it counts as without limit."""


Kind = Literal["prior", "weight", "cost", "first-price", "reward", "loss", "likelihood"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Kinds of parameter, those that usually matter most first; a model has rewards or losses."""

Quantity = Literal["probability", "money", "weight"]


@dataclass(frozen=True, eq=False)
class Parameter:
    """A number of the model or of the agent, where it may lie, and the model with another value in its place.

    names: what it is a number of, from its state, test, group or commit inwards; see `parameter_name` for people.
    is_convex: whether what an action is worth is convex in it, but for a factor and a term that all have in common:
    a maximum over plans, each linear in the number, or in the chances of findings, of which certainty is convex. (Of
    prices under a budget that holds as long as they bar the same plans, and more never helps.)
    """

    kind: Kind
    names: tuple[str, ...]
    value: float
    low: float
    high: float
    change: Change
    is_convex: bool = True

    @property
    def id(self) -> str:
        """The same for the same number, whatever its value: `prior.ill`, `likelihood.scan.ill.positive`, `weight`."""
        return dotted((self.kind, *self.names))

    @property
    def quantity(self) -> Quantity:
        if self.kind in ("prior", "likelihood"):
            return "probability"
        return "weight" if self.kind == "weight" else "money"

    def check(self, value: float) -> None:
        """Raise RhoplanError unless the number can be `value`."""
        if self.quantity == "probability":  # where all is certain, what has been seen may be impossible
            rule, sound = "must lie above 0 and below 1", 0 < value < 1
        else:
            least = -LARGEST_REWARD if self.low < 0 else 0.0
            rule, sound = f"must lie between {least:g} and {LARGEST_REWARD:g}", least <= value <= LARGEST_REWARD
        if not sound:
            name = parameter_name(self.kind, self.names)
            raise RhoplanError(f"{name} {rule}; it is {value:g}", field=(self.id,))


def parameters(problem: Problem, agent: Agent) -> Iterator[Parameter]:
    """Every parameter, those that usually matter most first.

    Of a two-state model one prior is enough: that of the state its shorthands are about. Of a likelihood row the entry
    of each outcome is one, of two outcomes the larger; of models with more than two states the likeliest outcome of
    each row only.
    """
    menu, scale = problem.flat, problem.reward_scale
    largest = FAR * scale
    only = problem.details.get("positive", problem.states[-1]) if len(problem.states) == 2 else None
    for place, state in enumerate(problem.states):
        if 0 < problem.prior[place] < 1 and only in (None, state):
            yield Parameter("prior", (state,), float(problem.prior[place]), 0, 1, _prior(problem, agent, place))
    if agent.plans_for_information:
        yield Parameter(
            "weight", (), agent.weight, 0, largest, lambda value: (problem, agent.changed(weight=value))
        )  # fmt: skip
    for test in menu.tests:
        yield Parameter("cost", (test.name,), test.cost, 0, largest, _cost(problem, agent, test))
    for group, price in menu.first_prices.items():
        yield Parameter("first-price", (group,), price, 0, largest, _first_price(problem, agent, group))
    kind = stake(problem)
    sign = -1.0 if kind == "loss" else 1.0
    for commit in menu.commits:
        for place, state in enumerate(problem.states):
            change = _reward(problem, agent, commit, place, sign)
            value = sign * float(commit.reward[place]) + 0.0
            yield Parameter(kind, (commit.name, state), value, -largest, largest, change)
    for test in menu.tests:
        for place, state in enumerate(problem.states):
            yield from _row(problem, agent, test, place, state)


def with_values(problem: Problem, agent: Agent, values: Mapping[str, float]) -> tuple[Problem, Agent]:
    """Model and agent with other values of the parameters that `values` names by their ids, set one after the other.

    A probability that is set later takes its room from those set before too.
    """
    problem = replace(problem, details={**problem.details, "stake": stake(problem)})
    for name, value in values.items():
        found = next((parameter for parameter in parameters(problem, agent) if parameter.id == name), None)
        if found is None:
            raise RhoplanError(f"'{problem.name}' has no number with the id '{name[:80]}'", field=(name,))
        found.check(value)
        problem, agent = found.change(value)
    return problem, agent


def _row(problem: Problem, agent: Agent, test: Test, place: int, state: str) -> Iterator[Parameter]:
    row = test.likelihood[place]
    top = int(row.argmax())
    entries = range(len(row)) if len(problem.states) == 2 and len(row) > 2 else [top]
    for outcome in entries:
        if 0 < row[outcome] < 1:
            names, change = (
                (test.name, state, test.outcomes[outcome]),
                _likelihood(problem, agent, test, place, outcome),
            )
            yield Parameter("likelihood", names, float(row[outcome]), 0, 1, change, not test.repeatable)


def counts_losses(problem: Problem) -> bool:
    """Whether people count losses in this model: its file says so, or no commit brings a gain in any state."""
    return stake(problem) == "loss"


def stake(problem: Problem) -> Literal["loss", "reward"]:
    """What the numbers of its commits are called; of a model with other values, what they were called before."""
    if "stake" in problem.details:
        kept: Literal["loss", "reward"] = problem.details["stake"]
        return kept
    losses = problem.details.get("losses") or all((commit.reward <= 0).all() for commit in problem.flat.commits)
    return "loss" if losses else "reward"


def moved(distribution: Array, place: int, value: float) -> Array:
    """`distribution` with `value` at `place`, the rest in the proportions it had."""
    rest = distribution.copy()
    rest[place] = 0.0
    result: Array = rest * ((1.0 - value) / rest.sum())
    result[place] = value
    return result


def _prior(problem: Problem, agent: Agent, place: int) -> Change:
    def change(value: float) -> tuple[Problem, Agent]:
        factor = replace(problem.factors[0], prior=moved(problem.prior, place, value))
        return replace(problem, factors=(factor,)), agent

    return change


def _with(problem: Problem, **parts: object) -> Problem:
    menu = problem.flat
    fields: dict[str, object] = {
        "tests": menu.tests, "commits": menu.commits, "first_prices": menu.first_prices,
        "most_tests": menu.most_tests, "budget": menu.budget,
    }  # fmt: skip
    return replace(problem, menu=FlatMenu(**{**fields, **parts}))  # type: ignore[arg-type]


def _test(problem: Problem, test: Test, changed: Test) -> Problem:
    return _with(problem, tests=tuple(changed if other is test else other for other in problem.flat.tests))


def _cost(problem: Problem, agent: Agent, test: Test) -> Change:
    return lambda value: (_test(problem, test, replace(test, cost=value)), agent)


def _first_price(problem: Problem, agent: Agent, group: str) -> Change:
    return lambda value: (_with(problem, first_prices={**problem.flat.first_prices, group: value}), agent)


def _reward(problem: Problem, agent: Agent, commit: Commit, place: int, sign: float) -> Change:
    def change(value: float) -> tuple[Problem, Agent]:
        reward = commit.reward.copy()
        reward[place] = sign * value
        changed = replace(commit, reward=reward)
        commits = tuple(changed if other is commit else other for other in problem.flat.commits)
        return _with(problem, commits=commits), agent

    return change


def _likelihood(problem: Problem, agent: Agent, test: Test, place: int, outcome: int) -> Change:
    def change(value: float) -> tuple[Problem, Agent]:
        likelihood = test.likelihood.copy()
        likelihood[place] = moved(test.likelihood[place], outcome, value)
        return _test(problem, test, replace(test, likelihood=likelihood)), agent

    return change
