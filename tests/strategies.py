"""Random observe-then-commit problems, each as a rhoplan Problem and as the oracle's plain lists.

One recipe with two sources of choice: `random_case(seed)` for wide variety and `cases()` for hypothesis, which can
shrink what fails. The recipe only draws whole numbers, so zeros, equal rows and exact ties come up often.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import rhoplan
from oracle import Model

Draw = Callable[[int, int], int]
"""A source of whole numbers between two limits, both included."""

laws = settings(derandomize=True, deadline=None, max_examples=60)
"""The same examples every run, and no alarm for a slow machine."""


@dataclass(frozen=True)
class Limits:
    """How large a random problem may be; once: "no", "some" or "all" tests may run only once."""

    states: int = 5
    tests: int = 4
    outcomes: int = 3
    once: str = "some"
    cheapest: int = 0


@dataclass(frozen=True, eq=False)
class Case:
    """The same problem twice."""

    problem: rhoplan.POMDP
    model: Model

    @property
    def branches(self) -> int:
        """How many ways one test can go: the base of the oracle's running time."""
        return sum(len(rows[0]) for _, rows, _ in self.model.tests)

    def depth(self, most: int, budget: int) -> int:
        """The largest horizon up to `most` for which the oracle visits at most `budget` beliefs (at least 1)."""
        fitting = [depth for depth in range(1, most + 1) if self.branches**depth <= budget]
        return max(fitting, default=1)


def dice(seed: int) -> Draw:
    return random.Random(seed).randint


def random_case(seed: int, limits: Limits | None = None) -> Case:
    return recipe(dice(seed), limits or Limits())


@st.composite
def cases(draw: st.DrawFn, limits: Limits | None = None) -> Case:
    return recipe(lambda low, high: draw(st.integers(low, high)), limits or Limits())


def recipe(draw: Draw, limits: Limits) -> Case:
    states = draw(2, limits.states)
    prior = distribution(draw, states) if draw(0, 2) else [1 / states] * states
    tests: list[tuple[float, list[list[float]], bool]] = []
    for _ in range(draw(1, limits.tests)):
        cost = draw(limits.cheapest, 16) / 8
        once = limits.once == "all" or (limits.once == "some" and draw(0, 3) == 0)
        tests.append((cost, likelihood(draw, states, limits.outcomes, tests), not once))
    return built(Model(prior, tests, commits(draw, states)))


def symmetric_case(draw: Draw) -> Case:
    """2 or 4 equally likely states, equal tests of the bits of their number, one matching commit each: all ties."""
    bits = draw(1, 2)
    accuracy, cost = draw(11, 19) / 20, draw(0, 12) / 8
    rows = [
        [[accuracy, 1 - accuracy] if s >> bit & 1 else [1 - accuracy, accuracy] for s in range(2**bits)]
        for bit in range(bits)
    ]
    copies = [(cost, rows[bit], True) for bit in range(bits) for _ in range(draw(1, 2))]
    wrong = -draw(1, 100)
    rewards = [[10.0 if s == i else float(wrong) for s in range(2**bits)] for i in range(2**bits)]
    return built(Model([1 / 2**bits] * 2**bits, copies, rewards))


def other_world(case: Case, draw: Draw) -> Case:
    """A world with the shape of `case` and numbers of its own; now and then one that agrees in part."""
    model = case.model
    states = len(model.prior)
    prior = distribution(draw, states) if draw(0, 1) else model.prior
    tests = [
        (draw(0, 16) / 8, [distribution(draw, len(row)) if draw(0, 3) else row for row in rows], repeatable)
        for _, rows, repeatable in model.tests
    ]
    rewards = [[draw(-60, 40) / 2 for _ in row] if draw(0, 1) else row for row in model.commits]
    return built(Model(prior, tests, rewards))


def distribution(draw: Draw, size: int) -> list[float]:
    """Probabilities of which some are zero."""
    weights = [draw(0, 12) for _ in range(size)]
    total = sum(weights)
    return [weight / total for weight in weights] if total else [1 / size] * size


def likelihood(
    draw: Draw, states: int, most_outcomes: int, earlier: list[tuple[float, list[list[float]], bool]]
) -> list[list[float]]:
    kind = draw(0, 5)
    outcomes = draw(2, most_outcomes)
    if kind == 0:  # says nothing
        return [distribution(draw, outcomes)] * states
    if kind == 1 and earlier:  # the same as a test that is there already
        return earlier[draw(0, len(earlier) - 1)][1]
    if kind <= 3:  # errs alike on both labels
        accuracy = draw(10, 20) / 20
        return [[accuracy, 1 - accuracy] if draw(0, 1) else [1 - accuracy, accuracy] for _ in range(states)]
    return [distribution(draw, outcomes) for _ in range(states)]


def commits(draw: Draw, states: int) -> list[list[float]]:
    if draw(0, 1):
        wrong = -draw(1, 60)
        return [[10.0 if s == i else float(wrong) for s in range(states)] for i in range(states)]
    return [[draw(-60, 40) / 2 for _ in range(states)] for _ in range(draw(1, 4))]


def built(model: Model) -> Case:
    """The rhoplan problem of a plain model; names count up from zero."""
    states = tuple(f"state-{s}" for s in range(len(model.prior)))
    tests = tuple(
        rhoplan.Test(f"test-{k}", cost, tuple(f"outcome-{o}" for o in range(len(rows[0]))), np.array(rows), repeatable)
        for k, (cost, rows, repeatable) in enumerate(model.tests)
    )
    decisions = tuple(rhoplan.Decision(f"commit-{i}", np.array(rewards)) for i, rewards in enumerate(model.commits))
    problem = rhoplan.DiagnosticProblem(
        name="random", states=states, tests=tests, decisions=decisions, prior=np.array(model.prior)
    )
    return Case(problem, model)
