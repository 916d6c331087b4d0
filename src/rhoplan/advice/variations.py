"""A model with one number changed: the parameters that a sensitivity analysis moves, one at a time.

A probability takes its room from the others in proportion: the prior of one state, or one entry of a likelihood row,
moves, and the rest of the distribution keeps its proportions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from rhoplan.agents.agent import Agent
from rhoplan.model.observe_then_commit import Commit, FlatMenu, Test
from rhoplan.model.problem import Array, Problem

Change = Callable[[float], tuple[Problem, Agent]]

FAR = 10.0
"""How many times the largest reward a cost, reward or weight may grow before it counts as without limit."""


@dataclass(frozen=True, eq=False)
class Parameter:
    """A number of the model or of the agent, where it may lie, and the model with another value in its place.

    is_convex: whether what an action is worth is convex in it, but for a factor and a term that all have in common:
    a maximum over plans, each linear in the number, or in the chances of findings, of which certainty is convex. (Of
    prices under a budget that holds as long as they bar the same plans, and more never helps.)
    """

    name: str
    kind: Literal["prior", "cost", "first price", "reward", "loss", "weight", "likelihood"]
    quantity: Literal["probability", "money", "weight"]
    value: float
    low: float
    high: float
    change: Change
    is_convex: bool = True


def parameters(problem: Problem, agent: Agent) -> Iterator[Parameter]:
    """Every parameter, those that usually matter most first.

    Of a two-state model one prior is enough. Of a likelihood row the entry of each outcome is one, of two outcomes the
    larger; of models with more than two states the likeliest outcome of each row only.
    """
    menu, scale = problem.flat, problem.reward_scale
    largest = FAR * scale
    for place, state in enumerate(problem.states):
        if 0 < problem.prior[place] < 1 and (len(problem.states) > 2 or place == 1):
            prior = float(problem.prior[place])
            yield Parameter(f"prior of {state}", "prior", "probability", prior, 0, 1, _prior(problem, agent, place))
    if agent.plans_for_information:
        yield Parameter(
            "weight", "weight", "weight", agent.weight, 0, largest,
            lambda value: (problem, agent.changed(weight=value)),
        )  # fmt: skip
    for test in menu.tests:
        change = _cost(problem, agent, test)
        yield Parameter(f"cost of {test.name}", "cost", "money", test.cost, 0, largest, change)
    for group, price in menu.first_prices.items():
        change = _first_price(problem, agent, group)
        yield Parameter(f"first price of {group}", "first price", "money", price, 0, largest, change)
    for commit in menu.commits:
        for place, state in enumerate(problem.states):
            kind = stake(problem)
            sign = -1.0 if kind == "loss" else 1.0
            change = _reward(problem, agent, commit, place, sign)
            value = sign * float(commit.reward[place]) + 0.0
            name = f"{kind} of {commit.name} in {state}"
            yield Parameter(name, kind, "money", value, -largest, largest, change)
    for test in menu.tests:
        for place, state in enumerate(problem.states):
            yield from _row(problem, agent, test, place, state)


def _row(problem: Problem, agent: Agent, test: Test, place: int, state: str) -> Iterator[Parameter]:
    row = test.likelihood[place]
    top = int(row.argmax())
    entries = range(len(row)) if len(problem.states) == 2 and len(row) > 2 else [top]
    for outcome in entries:
        if 0 < row[outcome] < 1:
            yield Parameter(
                f"P({test.outcomes[outcome]} | {state}) of {test.name}", "likelihood", "probability",
                float(row[outcome]), 0, 1, _likelihood(problem, agent, test, place, outcome), not test.repeatable,
            )  # fmt: skip


def counts_losses(problem: Problem) -> bool:
    """Whether people count losses in this model: its file says so, or no commit brings a gain in any state."""
    return bool(problem.details.get("losses")) or all((c.reward <= 0).all() for c in problem.flat.commits)


def stake(problem: Problem) -> Literal["loss", "reward"]:
    """What the numbers of its commits are called."""
    return "loss" if counts_losses(problem) else "reward"


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
