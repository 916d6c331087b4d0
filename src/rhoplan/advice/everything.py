"""Running every test before deciding: each once, in the model's order, as far as orders and caps allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rhoplan._old.ties import choose
from rhoplan.model.diagnostic import Done, Test
from rhoplan.model.pomdp import POMDP, Array

MOST_COMBINATIONS = 2_000_000
"""Combinations of results, times states, that are held at once: 16 MB."""


@dataclass(frozen=True)
class Everything:
    """The tests run and left out, what they cost together, and what the best commit afterwards brings in all."""

    run: tuple[str, ...]
    left_out: tuple[str, ...]
    cost: float
    reward: float
    right: float
    commit: str


def all_tests(problem: POMDP) -> Everything | None:
    """What running all tests and then committing brings; None where there are too many combinations of results.

    The first test in the model's order that may run comes next, until none is left: `after`, groups and caps hold.
    Panels come before tests, and what a panel has shown is not run again. The price does not depend on results, so it
    is the same in every case. commit: the likeliest one.
    """
    menu = problem.flat
    left, run, done, cost = sorted(menu.tests, key=lambda test: not test.parts), list[str](), Done(), 0.0
    shown = set[str]()
    joint = problem.prior[None, :]
    while ready := [test for test in left if menu.allowed(test, done) and not _shows(test) <= shown]:
        test = ready[0]
        left.remove(test)
        run.append(test.name)
        shown |= _shows(test)
        cost += menu.price(test, done)
        done = menu.after(test, done)
        if joint.size * len(test.outcomes) > MOST_COMBINATIONS:
            return None
        joint = (joint[:, None, :] * test.likelihood.T[None, :, :]).reshape(-1, joint.shape[1])
        joint = joint[joint.any(axis=1)]
    worth = joint @ menu.payoff.T
    chosen = choose(worth, joint @ menu.gains, lambda rows: joint[rows] @ np.maximum(menu.payoff, 0.0).T)
    rows = np.arange(len(joint))
    shares: Array = np.bincount(chosen, weights=joint.sum(axis=1), minlength=len(menu.commits)).astype(float)
    return Everything(
        run=tuple(run),
        left_out=tuple(test.name for test in left if not _shows(test) <= shown),
        cost=cost,
        reward=float(worth[rows, chosen].sum()) - cost,
        right=float((joint @ menu.right.T)[rows, chosen].sum()),
        commit=menu.commits[int(choose(shares[None, :])[0])].name,
    )


def _shows(test: Test) -> set[str]:
    """The tests whose results running `test` gives."""
    return set(test.parts or (test.name,))
