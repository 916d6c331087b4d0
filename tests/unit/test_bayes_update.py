"""The Bayes update keeps possible states alive: evidence the other way brings them back."""

from __future__ import annotations

import numpy as np
import pytest

from rhoplan import Action
from rhoplan.belief_math.information import FLOOR, update


def looking(error: float, states: int) -> Action:
    """Observation o suggests state o; every other state yields it with a small probability."""
    likelihood = np.full((states, states), error)
    np.fill_diagonal(likelihood, 1 - error * (states - 1))
    names = tuple(f"o{number}" for number in range(states))
    return Action("look", np.zeros(states), likelihood, names, ("here",) * states)


@pytest.mark.parametrize("error", [0.15, 1e-3, 1e-12, 1e-150, 1e-300])
@pytest.mark.parametrize("states", [2, 3])
def test_2000_updates_leave_every_possible_state_alive(error: float, states: int) -> None:
    action = looking(error, states)
    belief = np.full((1, states), 1 / states)
    for observation in [0] * 1000 + [1] * 1000:
        probability, after = update(belief, action)
        assert probability.sum() == pytest.approx(1)
        belief = after[:, observation]
        assert belief.sum() == pytest.approx(1)
        assert (belief >= FLOOR / 2).all()
    assert belief[0].argmax() == 1
    assert belief[0, 1] > 0.999


def test_an_excluded_state_stays_excluded() -> None:
    action = looking(0.1, 3)
    belief = np.array([[0.5, 0.5, 0.0]])
    for _ in range(2000):
        belief = update(belief, action)[1][:, 2]
        assert belief[0, 2] == 0
    assert belief[0, :2] == pytest.approx([0.5, 0.5])
