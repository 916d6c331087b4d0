"""What the built-in problems share: tests, sensors, actions without observations, and checks of parameters.

A cost is a positive number, subtracted once, where the action is built. Shapes: S hidden states of a factor.
"""

from __future__ import annotations

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.diagnostic import Decision, Test
from rhoplan.model.pomdp import Action, Array, Ids, Observable


def noisy_label(name: str, labels: Ids, accuracy: float, cost: float, outcomes: tuple[str, str] = ("0", "1")) -> Test:
    """A test that reports the label (0 or 1) of each state (S,) and is right with probability `accuracy`."""
    check_probabilities(accuracy=accuracy)
    error = float(f"{1 - accuracy:.15g}")  # 0.15 rather than 0.15000000000000002
    return Test(name, cost, outcomes, np.where(labels[:, None] == np.arange(2), accuracy, error))


def matching_decisions(names: tuple[str, ...], right: float, wrong: float) -> tuple[Decision, ...]:
    """One decision per state: `right` in its own state, `wrong` in every other."""
    own = np.eye(len(names), dtype=bool)
    return tuple(Decision(name, np.where(row, right, wrong)) for name, row in zip(names, own, strict=True))


def sensor(
    name: str,
    accuracy: float,
    cost: float,
    outcomes: tuple[str, str],
    place: Observable,
    *,
    factor: int = 0,
    states: int = 2,
) -> Action:
    """An action at `place` that reports which of the factor's first two states holds; a third one gives no evidence."""
    likelihood = np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy], [0.5, 0.5]])[:states]
    return Action(name, np.full(states, -cost), likelihood, outcomes, (place, place), factor)


def plain(name: str, reward: Array, target: Observable, *, factor: int = 0, into: int | None = None) -> Action:
    """An action without an observation: it yields `reward` (S,), leads to `target` and puts the factor in state `into`.

    None leaves the factor as it is.
    """
    size = len(reward)
    transition = None if into is None else np.tile(np.eye(size)[into], (size, 1))
    return Action(name, reward, np.ones((size, 1)), ("done",), (target,), factor, transition)


def require(holds: bool, parameter: str, rule: str, found: object, *, code: str = "invalid-problem") -> None:
    """Raise ProblemError about `parameter` unless the rule holds: "n must be at least 2; it is 1"."""
    if not holds:
        raise ProblemError(f"{parameter} must {rule}; it is {found}", field=(parameter,), code=code)


def check_probabilities(**values: float) -> None:
    """Raise ProblemError unless every parameter given is a probability."""
    for name, value in values.items():
        rule = "be a probability between 0 and 1"
        require(0 <= value <= 1, name, rule, f"{value:g}", code="probability-range")
