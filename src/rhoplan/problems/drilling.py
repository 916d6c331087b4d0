"""Drilling: a test that can break what it measures, the case that Proposition 3 leaves out.

A part is sound or cracked. Tapping it is harmless and unsure; drilling tells almost all and may crack a sound part.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import END, POMDP, Action, Factor, FixedMenu
from rhoplan.model.validate import checked
from rhoplan.problems.classics import check_probabilities


def drilling(
    *,
    prior: float = 0.3,
    tap: float = 0.7,
    tap_cost: float = 0.5,
    drill: float = 0.95,
    drill_cost: float = 1.0,
    damage: float = 0.15,
    sound: float = 10.0,
    cracked: float = -40.0,
) -> POMDP:
    """A part to use or to scrap: tap it (harmless, unsure) or drill it (sure, but it may crack a sound part)."""
    check_probabilities(prior=prior, tap=tap, drill=drill, damage=damage)
    here = "bench"

    def test(name: str, accuracy: float, cost: float, transition: np.ndarray | None) -> Action:
        likelihood = np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy]])
        return Action(name, np.full(2, -cost), likelihood, ("clear", "dull"), (here, here), transition=transition)

    def commit(name: str, *reward: float) -> Action:
        return Action(name, np.array(reward), np.ones((2, 1)), ("done",), (END,))

    wears = np.array([[1 - damage, damage], [0.0, 1.0]])
    tests = test("tap", tap, tap_cost, None), test("drill", drill, drill_cost, wears)
    menu = FixedMenu((*tests, commit("use", sound, cracked), commit("scrap", 0.0, 0.0)))
    factor = Factor("part", ("sound", "cracked"), np.array([1 - prior, prior]))
    return checked(POMDP("drilling", (factor,), here, menu, horizon=4))
