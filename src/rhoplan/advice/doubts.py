"""What looks wrong in the numbers of a model, whoever plans with it: found by arithmetic, in no time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rhoplan.advice.words import money, percent
from rhoplan.model.diagnostic import Decision, Test
from rhoplan.model.pomdp import POMDP, Array

RESULTS = ("negative", "positive")
"""Outcomes by whose names it can be told which way round a test reads."""


USELESS = ("silent test", "dear test")
"""Kinds of doubts about tests that nobody would run."""

MOST_COMPARED = 50_000_000
"""Rewards that are compared, decision by decision, to find those that are beaten: a tenth of a second. Where there are
more (4,000 decisions in 3 states), none is called beaten."""


@dataclass(frozen=True)
class Caution:
    """A warning in a sentence or two. kind: see `doubts` and `cautions`; about: the test or decision it concerns."""

    kind: str
    text: str
    about: str = ""


def doubts(problem: POMDP) -> tuple[Caution, ...]:
    """Doubts about `problem`: tests that read backwards, tell nothing or cannot pay, and decisions that are beaten.

    kind: `reversed test` (positive is rarer where it should be more frequent), `silent test` (its results are as
    frequent in every state), `dear test` (costs as much as knowing the state could save), `beaten decision` (another
    one is at least as good in every state).
    """
    if problem.listed is None:
        return ()
    menu = problem.listed
    needed = {name for test in menu.tests for name in test.after}
    found = [caution for test in (*menu.tests, *menu.parts) for caution in _reversed(problem, test)]
    most = _most_to_save(menu.payoff)
    found += [caution for test in menu.tests if test.name not in needed for caution in _useless(problem, test, most)]
    return (*found, *_beaten(problem, menu.commits))


def _reversed(problem: POMDP, test: Test) -> Iterator[Caution]:
    positive, factor = problem.details.get("positive"), problem.factors[0]
    if positive is None or test.outcomes[:2] != RESULTS:
        return
    clear = test.likelihood[:, :2].sum(axis=1)
    rates = test.likelihood[:, 1] / np.where(clear > 0, clear, 1.0)
    chances = [_by_diagnosis(problem, rates, one) for one in (0, 1)]
    place = factor.diagnoses.index(positive)
    true, false = chances[place], chances[1 - place]
    if true < false - 1e-9:
        yield Caution(
            "reversed test",
            f"{test.name}: a positive result is rarer in {positive} ({percent(true)}) than in "
            f"{factor.diagnoses[1 - place]} ({percent(false)}), so it speaks against {positive}. Are sensitivity and "
            "specificity, or the states, the wrong way round?",
            test.name,
        )


def _by_diagnosis(problem: POMDP, chances: Array, diagnosis: int) -> float:
    """The mean of `chances`, one for each state, over those of a diagnosis."""
    factor = problem.factors[0]
    here = factor.groups == diagnosis
    shares = np.where(here, factor.prior, 0.0)
    shares = shares if shares.sum() > 0 else here.astype(float)
    return float(chances @ shares / shares.sum())


def _most_to_save(payoff: Array) -> float:
    """What knowing everything could save at most, given rewards (E, S): by the decision that can go least wrong."""
    return float((payoff.max(axis=0) - payoff).max(axis=1).min())


def _useless(problem: POMDP, test: Test, most: float) -> Iterator[Caution]:
    unit = problem.unit
    if np.ptp(test.likelihood, axis=0).max() <= 1e-12:
        text = (
            f"{test.name}: its results are as frequent in every state, so it tells nothing; nobody would ever run it."
        )
        yield Caution("silent test", text, test.name)
        return
    if not problem.price and 0 < most <= test.cost:
        text = (
            f"{test.name}: costs {money(test.cost, unit)}, and knowing everything could not save more than "
            f"{money(most, unit)}; nobody would ever run it."
        )
        yield Caution("dear test", text, test.name)


def _beaten(problem: POMDP, commits: tuple[Decision, ...]) -> Iterator[Caution]:
    payoff = problem.flat.payoff
    if len(commits) * payoff.size > MOST_COMPARED:
        return
    for place, one in enumerate(commits):
        beats = (payoff >= one.reward).all(axis=1)
        same = (payoff == one.reward).all(axis=1)
        same[:place] = False  # of equal ones the first is needed
        for other in np.flatnonzero(beats & ~same)[:1]:
            how = "the same as" if np.all(payoff[other] == one.reward) else "never better than"
            told = f"{how} {commits[other].name} in every state"
            yield Caution(
                "beaten decision", f"{one.name}: is {told}, so nobody needs it. Is a number missing?", one.name
            )
