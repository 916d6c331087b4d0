"""Where the policy of a split stopped in its test cases, and what it would have cost with less: what findings are made
of.

Shapes: m test cases of a split, D diagnoses, T tests of the plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rhoplan.learning.baselines import run_everything
from rhoplan.learning.build import Learned
from rhoplan.learning.cases import Cases
from rhoplan.learning.choices import Choice
from rhoplan.learning.opinion import NOT_RUN, Record, fit_opinion
from rhoplan.learning.replay import Replayed, replay
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP, Array, Ids

MOST_TESTS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
"""Caps on the number of tests that are tried; those that the plan has more tests than."""

CAPS_ON_SPEND = 6
"""Caps on the spending that are tried, from the price of the cheapest test to what everything costs."""

MOST_CAPPED = 300
"""Test cases of a split in which caps are tried: a curve needs no more."""


@dataclass(frozen=True, eq=False)
class Stopped:
    """probability (m, D) of diagnoses where the policy stopped, commit (m,), asked (m, T): 1 where a test was run.

    by_tests, by_spend: the cost (k,) of the first k cases under each cap, by cap. second (m, D): the chances by a
    second opinion, where one was asked for.
    """

    probability: Array
    commit: Ids
    asked: Array
    by_tests: dict[float, Array]
    by_spend: dict[float, Array]
    second: Array | None = None


def look_back(cases: Cases, test: Ids, learned: Learned, choice: Choice, replayed: Replayed) -> Stopped:
    """Where the policy of `learned` and `choice` stopped when it was `replayed` in the cases `test`."""
    few = test[:MOST_CAPPED]
    outcomes = learned.outcomes(cases.table, few)

    def capped(problem: POMDP) -> Array:
        found = replay(problem, choice.agent, outcomes)
        loss: Array = cases.plan.losses[found.commit, cases.diagnosis[few]]
        return found.spend + loss

    problem = learned.problem
    menu = problem.flat
    return Stopped(
        by_diagnosis(replayed.belief, learned.diagnosis, len(cases.plan.states)),
        replayed.commit,
        _asked(cases, learned, replayed),
        {float(most): capped(replace(problem, menu=replace(menu, most_tests=most))) for most in caps_on_tests(cases)},
        {most: capped(replace(problem, menu=replace(menu, budget=most))) for most in caps_on_spend(cases)},
    )


def second_opinion(cases: Cases, train: Ids, learned: Learned, choice: Choice, *, seed: int) -> Record:
    """What gradient boosting makes of the cases `train` as the policy leaves them (see `opinion`)."""
    outcomes = learned.outcomes(cases.table, train)
    acquired = acquired_by(replay(learned.problem, choice.agent, outcomes), outcomes)
    names = [test.name for test in learned.problem.flat.tests]
    states = len(cases.plan.states)
    return fit_opinion(acquired, cases.diagnosis[train], cases.weight[train], names, states, seed=seed)


def acquired_by(replayed: Replayed, outcomes: Ids) -> Ids:
    """The outcomes (m, T) that a policy asked for, NOT_RUN for the others."""
    found: Ids = np.where(replayed.asked > 0, outcomes, NOT_RUN)
    return found


def _asked(cases: Cases, learned: Learned, replayed: Replayed) -> Array:
    """1 where a test (column) of the plan was run in a case (row)."""
    place = {one.name: number for number, one in enumerate(cases.plan.tests)}
    asked = np.zeros((len(replayed.commit), len(place)))
    asked[:, [place[one.name] for one in learned.problem.flat.tests]] = replayed.asked
    return asked


def by_diagnosis(belief: Array, diagnosis: Ids, diagnoses: int) -> Array:
    """Beliefs (m, S) about states as beliefs (m, D) about diagnoses. diagnosis (S,): of each state."""
    return np.stack([belief[:, diagnosis == d].sum(axis=1) for d in range(diagnoses)], axis=1)


def caps_on_tests(cases: Cases) -> Sequence[int]:
    """Numbers of tests below all of the plan's, and below its own cap."""
    most = len(cases.plan.tests) if cases.plan.most_tests is None else cases.plan.most_tests
    return [cap for cap in MOST_TESTS if cap < most]


def caps_on_spend(cases: Cases) -> Sequence[float]:
    """Amounts from the cheapest first test on, each as many times the one before, below what everything costs."""
    everything, menu = float(run_everything(cases)[1].max()), cases.plan.menu
    first = [menu.price(test, Done()) for test in menu.tests if menu.allowed(test, Done())]
    least = min((price for price in first if price > 0), default=0.0)
    most = everything if cases.plan.budget is None else min(everything, cases.plan.budget)
    if not 0 < least < most:
        return []
    found = [math.ceil(cap * 100) / 100 for cap in np.geomspace(least, everything, CAPS_ON_SPEND + 1)]
    return [cap for cap in dict.fromkeys(found) if cap < most]
