"""What was fitted as a problem that everything else works on: diagnoses with their subtypes, where there are several.

Subtypes of one name belong together whatever the diagnosis: they come from one cluster of all cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rhoplan.learning.choices import Choice
from rhoplan.learning.fit import Fitted, fit
from rhoplan.learning.outcomes import Cut, cut_column
from rhoplan.learning.plan import Plan
from rhoplan.learning.table import Table
from rhoplan.model.diagnostic import Decision, DiagnosticProblem
from rhoplan.model.pomdp import POMDP, Array, Ids


@dataclass(frozen=True, eq=False)
class Learned:
    """A problem made from cases. cuts: how columns become the outcomes of its tests, in their order.

    diagnosis (S,): of each state. cases (S,), counts (S, O) for each test: how many a state stands for, and their
    outcomes.
    """

    problem: POMDP
    cuts: tuple[Cut, ...]
    diagnosis: Ids
    cases: Array
    counts: tuple[Array, ...]

    def outcomes(self, table: Table, chosen: Ids) -> Ids:
        """The outcomes (m, T) of the problem's tests in the cases `chosen` of `table`, -1 where they are blank."""
        return outcomes_of(self.cuts, table, chosen)


def build(
    table: Table,
    plan: Plan,
    diagnosis: Ids,
    train: Ids,
    choice: Choice,
    *,
    made: tuple[tuple[Cut, ...], Fitted] | None = None,
    seed: int = 0,
) -> Learned:
    """The problem that the cases `train` of `table` make of `plan`, with the settings of `choice`.

    diagnosis (n,): of all cases, as numbers of the plan's states. made: what `cut_all` and `fit_all` give, where that
    is known.
    """
    if made is None:
        cuts = cut_all(table, plan, train, choice.outcomes)
        made = cuts, fit_all(table, plan, diagnosis, train, choice, cuts, seed=seed)
    cuts, fitted = made[0], made[1].tempered(choice.tempering)
    named = {test.name: test for test in plan.tests}
    tests = tuple(
        replace(named[cut.column], outcomes=cut.outcomes, likelihood=likelihood)
        for cut, likelihood in zip(cuts, fitted.likelihoods, strict=True)
    )
    present = {test.name for test in tests}
    tests = tuple(replace(test, after=tuple(name for name in test.after if name in present)) for test in tests)
    names = tuple(f"type {number + 1}" for number in range(choice.subtypes)) if choice.subtypes > 1 else ()
    problem = DiagnosticProblem(
        name=plan.name,
        states=plan.states,
        tests=tests,
        decisions=tuple(Decision(commit.name, commit.reward[fitted.diagnosis]) for commit in plan.commits),
        prior=fitted.prior / fitted.prior.sum(),
        partition=dict.fromkeys(plan.states, names) if names else None,
        about_diagnosis=bool(names) and choice.about == "diagnosis",
        unit=plan.unit,
        horizon=choice.horizon,
        details=plan.details,
        groups={group: price for group, price in plan.first_prices.items() if any(t.group == group for t in tests)},
        max_tests=plan.most_tests,
        budget=plan.budget,
    )
    return Learned(problem, tuple(cuts), fitted.diagnosis, fitted.cases, fitted.counts)


def fit_all(
    table: Table, plan: Plan, diagnosis: Ids, train: Ids, choice: Choice, cuts: Sequence[Cut], *, seed: int
) -> Fitted:
    """Likelihoods of the outcomes that `cuts` make of the cases `train`, not tempered."""
    return fit(
        outcomes_of(cuts, table, train),
        diagnosis[train],
        sizes=[len(cut.outcomes) for cut in cuts],
        places=[cut.places for cut in cuts],
        prior=prior_of(plan, diagnosis[train]),
        subtypes=choice.subtypes,
        shrinkage=choice.shrinkage,
        generator=np.random.default_rng(seed),
    )


def outcomes_of(cuts: Sequence[Cut], table: Table, chosen: Ids) -> Ids:
    """The outcomes (m, T) that `cuts` make of the cases `chosen`, -1 where they are blank."""
    found = [cut(table.columns[cut.column], chosen) for cut in cuts]
    return np.stack(found, axis=1) if found else np.empty((len(chosen), 0), dtype=np.int64)


def cut_all(table: Table, plan: Plan, train: Ids, most: int) -> tuple[Cut, ...]:
    """How the plan's columns become outcomes, by the cases `train`; columns that tell nothing there are left out."""
    found = (cut_column(table.columns[test.name], train, most, test.outcomes) for test in plan.tests)
    return tuple(cut for cut in found if cut is not None)


def prior_of(plan: Plan, diagnosis: Ids) -> Array:
    """The plan's prior (D,), or else the shares among cases; one case is added to each diagnosis."""
    if plan.prior is not None:
        return plan.prior
    counts = np.bincount(diagnosis, minlength=len(plan.states)) + 1.0
    shares: Array = counts / counts.sum()
    return shares
