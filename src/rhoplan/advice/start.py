"""Where a case starts: with its own prior, and with results that were known before anything was done.

What is known at the start is free: it is not paid for and counts against no cap. A test whose result is known is not
run again where it may run only once, and others need not wait for it. The price that the first test of a group adds is
still to be paid: nothing of the group was bought in this case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rhoplan.advice.first import Evidence
from rhoplan.advice.words import belief_words, percent
from rhoplan.errors import EvidenceError, in_a_row
from rhoplan.model.belief import UNKNOWN, Belief, impossible
from rhoplan.model.diagnostic import Done, Test
from rhoplan.model.pomdp import POMDP, ROW_SUM_TOLERANCE, Action, Array

Prior = Mapping[str, float]
"""Chances of states by name; those that are not named share the rest as they do in the model."""


@dataclass(frozen=True)
class Standing:
    """Where a case stands. prior, known: its own at the start. given: results since then, which were paid for.

    unavailable: tests that cannot be had.
    """

    prior: Prior | None = None
    known: Evidence = ()
    given: Evidence = ()
    unavailable: tuple[str, ...] = ()

    def words(self, problem: POMDP) -> list[str]:
        """What of it differs from the start of `problem`, in sentences; nothing where all is as there."""
        told = start_words(problem, self.prior, self.known)
        if self.given:
            told.append(f"entered before, and paid for: {_results(self.given)}")
        if self.unavailable:
            told.append(f"not available: {', '.join(self.unavailable)}")
        return told


FRESH = Standing()
"""The start of the model itself."""


def started(problem: POMDP, prior: Prior | None = None, known: Evidence = ()) -> POMDP:
    """`problem` as it stands at the start of a case with this prior in which `known` is known already."""
    found = with_prior(problem, prior) if prior else problem
    factor, here = found.factors[0], found.belief()
    for place, (name, outcome) in enumerate(known):
        try:
            here = _told(found, here, _test(found, here, name), outcome)
        except EvidenceError as error:
            raise error.within("known", place) from None
    return replace(found, start=here.observable, factors=(replace(factor, prior=here.beliefs[0]),)) if known else found


def with_prior(problem: POMDP, prior: Prior) -> POMDP:
    """`problem` with chances of its own for the states that `prior` names."""
    factor = problem.factors[0]
    chances: Array = factor.fold(factor.prior).copy()
    for name, share in prior.items():
        if name not in factor.diagnoses:
            raise EvidenceError(
                f"prior names the state '{name}', which is not one of {', '.join(factor.diagnoses[:20])}",
                field=("prior", name),
                code="unknown-state",
            )
        if not 0 <= share <= 1:
            raise EvidenceError(
                f"prior of '{name}' must be between 0 and 1; it is {share:g}",
                field=("prior", name),
                code="probability-range",
            )
    named = np.array([name in prior for name in factor.diagnoses])
    total, rest = math.fsum(prior.values()), float(chances[~named].sum())
    if total > 1 + ROW_SUM_TOLERANCE or (total < 1 - ROW_SUM_TOLERANCE and rest <= 0):
        whole = "at most 1" if rest > 0 else "1"
        raise EvidenceError(f"prior must sum to {whole}; it sums to {total:.10g}", field=("prior",), code="prior-sum")
    chances[~named] *= max(0.0, 1 - total) / rest if rest > 0 else 0.0
    chances[named] = [prior[name] for name in factor.diagnoses if name in prior]
    return replace(problem, factors=(replace(factor, prior=factor.spread(chances / chances.sum())),))


def start_words(problem: POMDP, prior: Prior | None, known: Evidence) -> list[str]:
    """What is this case's own at the start, in sentences; nothing where it starts as the model does."""
    told = []
    if prior:
        own, factor = with_prior(problem, prior).factors[0], problem.factors[0]
        shares = own.shares(own.prior)[own.name]
        model = factor.shares(factor.prior)[factor.name]
        named = next(iter(prior))
        told.append(
            f"prior of this case, not the model's: {belief_words(shares)} "
            f"(in the model {named} {percent(model[named])})"
        )
    if known:
        told.append(f"known at the start, not paid for: {_results(known)}")
    return told


def _results(given: Evidence) -> str:
    return ", ".join(f"{test} {'not known' if outcome == UNKNOWN else outcome}" for test, outcome in given)


def _test(problem: POMDP, here: Belief, name: str) -> Test:
    """The test called `name`, if its result can be known in addition to what is."""
    menu, done = problem.flat, here.observable
    assert isinstance(done, Done)
    tests = {test.name: test for test in (*menu.parts, *menu.tests)}
    if name not in tests:
        raise EvidenceError(
            f"'{problem.name}' has no test '{name}'; it has {', '.join(list(tests)[:20]) or 'none'}",
            field=("test",),
            code="unknown-test",
        )
    test = tests[name]
    again = [part for part in (test.parts or (name,)) if not tests[part].repeatable and part in done.run]
    if again:
        raise EvidenceError(
            f"the result of '{again[0]}' is known already; it may run only once",
            field=("test",),
            code="test-not-available",
        )
    return test


def _told(problem: POMDP, here: Belief, test: Test, outcome: str) -> Belief:
    """The situation once `outcome` of `test` is known, with nothing paid and nothing counted."""
    done = here.observable
    assert isinstance(done, Done)
    if outcome not in test.outcomes:
        raise EvidenceError(
            f"test '{test.name}' has no outcome '{outcome}'; it has {in_a_row(test.outcomes[:20])}",
            field=("outcome",),
            code="unknown-outcome",
        )
    run = problem.flat.after(test, done).run
    after = Done(run, done.paid, done.tests, done.spent)
    action = Action(
        test.name, np.zeros(len(here.beliefs[0])), test.likelihood, test.outcomes, (after,) * len(test.outcomes)
    )
    for one in here.branches(action):
        if one.observation == outcome:
            return one.belief
    raise impossible(problem, here.beliefs[0], action, outcome)
