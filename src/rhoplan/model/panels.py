"""Panels: tests whose results come together, for one price.

Given the state, results of different tests are independent, so the chance of a joint outcome is the product of the
chances of its parts. A panel is a test as any other; besides its outcomes it knows which tests it runs (`Test.parts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.observe_then_commit import Test
from rhoplan.model.problem import Array

MOST_OUTCOMES = 256
"""Joint outcomes of one panel, at most: each is a branch of every plan, and a line that people choose from."""


def panel(name: str, cost: float, tests: Sequence[Test], *, group: str = "") -> Test:
    """The test that runs all of `tests` at once; an outcome is called `crp high and troponin normal`.

    It can be repeated where all of them can, and waits for what they wait for.
    """
    if len(tests) < 2:
        raise ProblemError(
            f"panel '{name}' must have at least two tests; it has {len(tests)}",
            field=("panels", name),
            code="panel-size",
        )
    count = int(np.prod([len(test.outcomes) for test in tests], dtype=float))
    if count > MOST_OUTCOMES:
        raise ProblemError(
            f"panel '{name}' must have at most {MOST_OUTCOMES} joint outcomes; its tests have {count:,}: leave some "
            "out, or give them fewer outcomes",
            field=("panels", name, "tests"),
            code="panel-size",
        )
    names = tuple(test.name for test in tests)
    return Test(
        name,
        cost,
        tuple(
            " and ".join(f"{n} {o}" for n, o in zip(names, seen, strict=True)) for seen in product(*_outcomes(tests))
        ),
        _joint(tests),
        all(test.repeatable for test in tests),
        group,
        tuple(dict.fromkeys(other for test in tests for other in test.after if other not in names)),
        names,
    )


def with_panels(tests: Iterable[Test], parts: Iterable[Test]) -> tuple[Test, ...]:
    """`tests`, the likelihood of each panel made anew from those of its tests; parts: tests that are in panels only."""
    tests = tuple(tests)
    known = {test.name: test for test in (*tests, *parts)}
    return tuple(
        replace(test, likelihood=_joint([known[name] for name in test.parts])) if test.parts else test for test in tests
    )


def _outcomes(tests: Sequence[Test]) -> list[tuple[str, ...]]:
    return [test.outcomes for test in tests]


def _joint(tests: Sequence[Test]) -> Array:
    """The chance (S, O1 * O2 * ...) of each joint outcome, the last test varying fastest."""
    joint: Array = tests[0].likelihood
    for test in tests[1:]:
        joint = (joint[:, :, None] * test.likelihood[:, None, :]).reshape(len(joint), -1)
    return joint
