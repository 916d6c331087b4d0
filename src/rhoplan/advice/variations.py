"""A model with one number changed: the parameters that a sensitivity analysis moves, one at a time.

A probability takes its room from the others in proportion: the prior of one state, or one entry of a likelihood row,
moves, and the rest of the distribution keeps its proportions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from rhoplan.advice.words import parameter_name
from rhoplan.agents.agent import BoundAgent
from rhoplan.errors import RhoplanError, dotted
from rhoplan.model.diagnostic import with_panels
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.model.pomdp import POMDP, Array

FAR = 10.0
"""How many times the largest reward a cost, reward or weight may grow before it counts as without limit."""


Kind = Literal["prior", "weight", "cost", "first-price", "reward", "loss", "likelihood"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Kinds of parameter, those that usually matter most first; a model has rewards or losses."""

Quantity = Literal["probability", "money", "weight"]


@dataclass(frozen=True, eq=False)
class Parameter:
    """A number of `problem` or of `agent`, where it may lie, and both with another value in its place.

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
    problem: POMDP
    agent: BoundAgent
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

    def change(self, value: float) -> tuple[POMDP, BoundAgent]:
        """Model and agent with `value` instead."""
        problem, menu = self.problem, self.problem.flat
        factor, states = problem.factors[0], problem.states
        parts: dict[str, Any]
        match self.kind, *self.names:
            case "prior", diagnosis:
                chances = moved(factor.fold(factor.prior), factor.diagnoses.index(diagnosis), value)
                return replace(problem, factors=(replace(factor, prior=factor.spread(chances)),)), self.agent
            case "cost", name:
                parts = {"tests": _with(menu.tests, name, cost=value)}
            case "first-price", group:
                parts = {"first_prices": {**menu.first_prices, group: value}}
            case "likelihood", name, state, outcome:
                test = next(test for test in (*menu.tests, *menu.parts) if test.name == name)
                row = states.index(state)
                chances = moved(test.likelihood[row], test.outcomes.index(outcome), value)
                changed = _set(test.likelihood, row, chances)
                hidden = _with(menu.parts, name, likelihood=changed)
                parts = {"tests": with_panels(_with(menu.tests, name, likelihood=changed), hidden), "parts": hidden}
            case kind, name, diagnosis:
                old = next(commit.reward for commit in menu.commits if commit.name == name)
                its = factor.groups == factor.diagnoses.index(diagnosis)
                reward = np.where(its, -value if kind == "loss" else value, old)
                parts = {"commits": _with(menu.commits, name, reward=reward)}
            case _:
                return problem, self.agent.changed(weight=value)
        return replace(problem, menu=replace(menu, **parts)), self.agent


def parameters(problem: POMDP, agent: BoundAgent) -> Iterator[Parameter]:
    """Every parameter, those that usually matter most first.

    Priors and stakes are those of diagnoses, likelihoods those of states. Of a model of two diagnoses one prior is
    enough: that of the one its shorthands are about. Of a likelihood row the entry of each outcome is one, of two
    outcomes the larger; of models with more than two diagnoses the likeliest outcome of each row only.
    """
    menu, factor, largest = problem.flat, problem.factors[0], FAR * problem.reward_scale
    two = len(factor.diagnoses) == 2
    only = problem.details.get("positive", factor.diagnoses[-1]) if two else None

    def number(kind: Kind, names: tuple[str, ...], value: float, low: float, high: float) -> Parameter:
        return Parameter(kind, names, float(value), low, high, problem, agent)

    for state, share in zip(factor.diagnoses, factor.fold(factor.prior), strict=True):
        if 0 < share < 1 and only in (None, state):
            yield number("prior", (state,), share, 0, 1)
    if agent.plans_for_information:
        yield number("weight", (), agent.weight, 0, largest)
    for test in menu.tests:
        yield number("cost", (test.name,), test.cost, 0, largest)
    for group, price in menu.first_prices.items():
        yield number("first-price", (group,), price, 0, largest)
    kind = stake(problem)
    for commit in menu.commits:
        for state, reward in zip(factor.diagnoses, factor.by_diagnosis(commit.reward), strict=True):
            value = (-reward if kind == "loss" else reward) + 0.0
            least = 0.0 if kind == "loss" and value >= 0 else -largest  # people do not mean a gain by a loss
            yield number(kind, (commit.name, state), value, least, largest)
    for test in (*(one for one in menu.tests if not one.parts), *menu.parts):
        for state, row in zip(problem.states, test.likelihood, strict=True):
            for place in range(len(row)) if two and len(row) > 2 else [int(row.argmax())]:
                if 0 < row[place] < 1:
                    found = number("likelihood", (test.name, state, test.outcomes[place]), row[place], 0, 1)
                    yield replace(found, is_convex=not test.repeatable)


def likelihood_of(problem: POMDP, name: str, state: str, outcome: str) -> float:
    """P(outcome | state) of the test called `name`; also where another outcome of the row has become the likelier."""
    menu = problem.flat
    test = next(test for test in (*menu.tests, *menu.parts) if test.name == name)
    return float(test.likelihood[problem.states.index(state), test.outcomes.index(outcome)])


def with_values(problem: POMDP, agent: BoundAgent, values: Mapping[str, float]) -> tuple[POMDP, BoundAgent]:
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


def counts_losses(problem: POMDP) -> bool:
    """Whether people count losses in this model: its file says so, or no commit brings a gain in any state."""
    return stake(problem) == "loss"


def at_stake(problem: POMDP, reward: float) -> float:
    """`reward` as people count it in a flat `problem`: a loss where it counts losses."""
    return -reward + 0.0 if counts_losses(problem) else reward


def stake(problem: POMDP) -> Literal["loss", "reward"]:
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


def _set(array: Array, place: int, value: float | Array) -> Array:
    """`array` with `value` at `place`."""
    changed = array.copy()
    changed[place] = value
    return changed


def _with(records: Iterable[Any], name: str, **changes: Any) -> tuple[Any, ...]:
    """`records`, the one called `name` with changes."""
    return tuple(replace(one, **changes) if one.name == name else one for one in records)
