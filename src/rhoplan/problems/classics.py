"""Tiger, Testbed, Diagnosis and Bandit: the small diagnostic problems of the paper's "Environment specifications"."""

from __future__ import annotations

import math

import numpy as np

from rhoplan.model.diagnostic import Decision, DiagnosticProblem
from rhoplan.model.pomdp import POMDP
from rhoplan.problems.building import matching_decisions, noisy_label, require


def tiger(*, accuracy: float = 0.85, cost: float = 1.0, right: float = 10.0, wrong: float = -100.0) -> POMDP:
    """A tiger behind one of two doors: listen as often as you like, then open one."""
    return DiagnosticProblem(
        name="tiger",
        states=("tiger-left", "tiger-right"),
        tests=(noisy_label("listen", np.arange(2), accuracy, cost, ("hear-left", "hear-right")),),
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
        tests=(noisy_label("look", np.arange(2), accuracy, cost, ("see-0", "see-1")),),
        decisions=matching_decisions(("commit-0", "commit-1"), right, wrong),
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
    require(n >= 2, "n", "be at least 2", n)
    bits = math.ceil(math.log2(n))
    k = bits if k is None else k
    require(1 <= k <= bits, "k", f"be between 1 and {bits}, the number of bits that tell {n} conditions apart", k)
    conditions = np.arange(n)
    return DiagnosticProblem(
        name="diagnosis",
        states=tuple(f"condition-{i}" for i in conditions),
        tests=tuple(noisy_label(f"test-{j}", (conditions >> j) & 1, accuracy, cost) for j in range(k)),
        decisions=matching_decisions(tuple(f"diagnose-{i}" for i in conditions), right, wrong),
        horizon=3 if n < 16 else 2,
    )


def bandit(*, k: int = 4, accuracy: float = 0.8, cost: float = 0.5, right: float = 10.0, wrong: float = 1.0) -> POMDP:
    """One of k arms is best; inspecting an arm says yes or no, and errs alike on both; then pull one."""
    require(k >= 2, "k", "be at least 2", k)
    arms = np.arange(k)
    return DiagnosticProblem(
        name="bandit",
        states=tuple(f"best-{i}" for i in arms),
        tests=tuple(noisy_label(f"inspect-{j}", 1 * (arms == j), accuracy, cost, ("no", "yes")) for j in arms),
        decisions=matching_decisions(tuple(f"pull-{i}" for i in arms), right, wrong),
        horizon=2,
    )
