"""Models of many tests that each tell little: more of them than exact look-ahead can hold."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import rhoplan


def weak_tests(number: int, *, seed: int = 0, states: int = 2, repeatable: bool = False, **rules: Any) -> rhoplan.POMDP:
    """Random tests with two outcomes; rules: `after` for each test, or those of the menu."""
    dice, after = random.Random(seed), rules.pop("after", {})
    rows = [[[p, 1 - p] for p in (dice.uniform(0.05, 0.95) for _ in range(states))] for _ in range(number)]
    tests = tuple(
        rhoplan.Test(
            f"t{k}", round(dice.uniform(1, 5), 2), ("pos", "neg"), np.array(rows[k]), repeatable, after=after.get(k, ())
        )
        for k in range(number)
    )
    names = tuple(f"s{place}" for place in range(states))
    commits = tuple(
        rhoplan.Decision(f"treat-{name}", -100.0 * (np.arange(states) != i)) for i, name in enumerate(names)
    )
    return rhoplan.DiagnosticProblem(name=f"weak-{number}", states=names, tests=tests, decisions=commits, **rules)
