"""Tiger, Testbed, Diagnosis and Bandit: the paper's small observe-then-commit problems (Appendix "Environment
specifications"). A cost is a positive number here and is subtracted once, where the action is built."""

from __future__ import annotations

import math

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.model.pomdp import POMDP, Array, Ids


def tiger(*, accuracy: float = 0.85, cost: float = 1.0, right: float = 10.0, wrong: float = -100.0) -> POMDP:
    """A tiger behind one of two doors: listen as often as you like, then open one."""
    return DiagnosticProblem(
        name="tiger",
        states=("tiger-left", "tiger-right"),
        tests=(noisy_label("listen", np.array([0, 1]), accuracy, cost, ("hear-left", "hear-right")),),
        decisions=(
            Decision("open-left", np.array([wrong, right])),
            Decision("open-right", np.array([right, wrong])),
        ),
        horizon=6,
    )


def testbed(*, accuracy: float = 0.75, cost: float = 0.1, right: float = 1.0, wrong: float = -1.0) -> POMDP:
    """Two states, one cheap test, mild and symmetric stakes."""
    return DiagnosticProblem(
        name="testbed",
        states=("state-0", "state-1"),
        tests=(noisy_label("look", np.array([0, 1]), accuracy, cost, ("see-0", "see-1")),),
        decisions=matching_commits(("commit-0", "commit-1"), right, wrong),
        horizon=4,
    )


def diagnosis(
    *,
    n: int = 4,
    k: int | None = None,
    accuracy: float = 0.8,
    cost: float = 1.0,
    right: float = 10.0,
    wrong: float = -50.0,
) -> POMDP:
    """n conditions; test j reports bit j of the condition's number, least significant first; then name one."""
    at_least("n", n, 2)
    bits = math.ceil(math.log2(n))
    k = bits if k is None else k
    if not 1 <= k <= bits:
        raise ProblemError(
            f"k must be between 1 and {bits}, the number of bits that tell {n} conditions apart; it is {k}",
            field=("k",),
        )
    conditions = np.arange(n)
    return DiagnosticProblem(
        name="diagnosis",
        states=tuple(f"condition-{i}" for i in conditions),
        tests=tuple(noisy_label(f"test-{j}", (conditions >> j) & 1, accuracy, cost) for j in range(k)),
        decisions=matching_commits(tuple(f"diagnose-{i}" for i in conditions), right, wrong),
        horizon=3 if n < 16 else 2,
    )


def bandit(*, k: int = 4, accuracy: float = 0.8, cost: float = 0.5, right: float = 10.0, wrong: float = 1.0) -> POMDP:
    """One of k arms is best; inspecting an arm says yes or no, and errs alike on both; then pull one."""
    at_least("k", k, 2)
    arms = np.arange(k)
    return DiagnosticProblem(
        name="bandit",
        states=tuple(f"best-{i}" for i in arms),
        tests=tuple(
            noisy_label(f"inspect-{j}", (arms == j).astype(np.int64), accuracy, cost, ("no", "yes")) for j in arms
        ),
        decisions=matching_commits(tuple(f"pull-{i}" for i in arms), right, wrong),
        horizon=2,
    )


def noisy_label(name: str, labels: Ids, accuracy: float, cost: float, outcomes: tuple[str, str] = ("0", "1")) -> Test:
    """A test that reports each state's label (0 or 1) and is right with probability `accuracy`."""
    check_probabilities(accuracy=accuracy)
    error = float(f"{1 - accuracy:.15g}")  # 0.15 rather than 0.15000000000000002
    likelihood = np.where(labels[:, None] == np.arange(2), accuracy, error)
    return Test(name, cost, outcomes, likelihood)


def matching_commits(names: tuple[str, ...], right: float, wrong: float) -> tuple[Decision, ...]:
    """One commit per state: `right` in its own state, `wrong` in every other."""
    rewards: Array = np.full((len(names), len(names)), float(wrong))
    np.fill_diagonal(rewards, right)
    return tuple(Decision(name, row) for name, row in zip(names, rewards, strict=True))


def check_probabilities(**values: float) -> None:
    """Raise ProblemError unless every parameter given is a probability."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise ProblemError(
                f"{name} must be a probability between 0 and 1; it is {value:g}",
                field=(name,),
                code="probability-range",
            )


def at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ProblemError(f"{name} must be at least {least}; it is {value}", field=(name,))
