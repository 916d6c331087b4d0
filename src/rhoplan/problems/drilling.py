"""Drilling: a test that can break what it measures, the case that Proposition 3 leaves out.

A part is sound or cracked. Tapping it is harmless and inaccurate; drilling is accurate and may crack a sound part.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rhoplan.model.pomdp import END, POMDP, Factor, FixedMenu
from rhoplan.model.validate import checked
from rhoplan.problems.building import check_probabilities, plain, sensor


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
    place, outcomes = "bench", ("clear", "dull")
    wears = np.array([[1 - damage, damage], [0.0, 1.0]])
    menu = FixedMenu(
        (
            sensor("tap", tap, tap_cost, outcomes, place),
            replace(sensor("drill", drill, drill_cost, outcomes, place), transition=wears),
            plain("use", np.array([sound, cracked]), END),
            plain("scrap", np.zeros(2), END),
        )
    )
    factor = Factor("part", ("sound", "cracked"), np.array([1 - prior, prior]))
    return checked(POMDP("drilling", (factor,), place, menu, horizon=4))
