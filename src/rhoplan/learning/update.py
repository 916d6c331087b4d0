"""New cases for a learned model: they are added to its counts, and the likelihoods made of the counts again.

Where a diagnosis has no subtypes this is exact: the same as learning from all cases at once with the same settings and
cut points. With subtypes each new case is shared out among those of its diagnosis by what the model believes of it, one
step of EM that the old cases take no part in. What was chosen (outcomes, shrinkage, depth, ...) and the bill stay.

The new cases also tell how the policy does that was made without them.

Shapes: n new cases, T tests, D diagnoses, K subtypes, Q outcomes of all tests in a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rhoplan.agents.agent import BoundAgent, decide, make_adviser
from rhoplan.budget import Budget
from rhoplan.errors import LimitError, ProblemError, TableError
from rhoplan.evaluation.exact import evaluate
from rhoplan.io.learned import LEARNED
from rhoplan.io.tree import shown
from rhoplan.learning.build import outcomes_of
from rhoplan.learning.fit import SMOOTHING, Fitted, Tests, from_counts
from rhoplan.learning.outcomes import Cut
from rhoplan.learning.replay import replay
from rhoplan.learning.table import Table
from rhoplan.model.pomdp import POMDP, Array, Ids

SAME = 1e-6
"""Largest difference between likelihoods in the file and those that its counts give: the file has all digits."""

ROOM = 500_000_000
"""Bytes that working out the planned cost may take, about."""

LEAST = 2
"""New cases from which on an interval can be given."""


@dataclass(frozen=True, eq=False)
class Updated:
    """The model with the new cases. cases: how many; soft: whether they were shared out among subtypes.

    first, planned: what is done first, and what the model expects a case to cost, before and after; planned is None
    where that is too large to work out. cost, low, high: of a new case under the policy made without them; the interval
    is None of a single case. changed: share of new cases in which tests or the final action are others now.
    """

    problem: POMDP
    cases: int
    soft: bool
    first: tuple[str, str]
    planned: tuple[float, float] | None
    cost: float
    low: float | None
    high: float | None
    changed: float
    warnings: tuple[str, ...]

    @property
    def record(self) -> dict[str, Any]:
        """What was found, as JSON holds it."""
        before, after = self.planned or (None, None)
        return {
            "cases": self.cases,
            "shared_out": self.soft,
            "first": {"before": self.first[0], "after": self.first[1]},
            "planned": {"before": before, "after": after},
            "new_cases": {"cost": self.cost, "low": self.low, "high": self.high, "changed": self.changed},
            "warnings": list(self.warnings),
        }


def update(problem: POMDP, table: Table, *, again: bool = False) -> Updated:
    """`problem`, which was learned, with the cases of `table` added to its counts.

    TableError where a column is missing or does not fit; where the table was learned from before, unless `again`.
    """
    learned = problem.details.get(LEARNED)
    if not learned:
        raise ProblemError(f"'{problem.name}' was not learned from cases: there are no counts to add to")
    warnings = list(table.warnings)
    _check_fresh(learned, table, again, warnings)
    _check_columns(problem, learned, table)
    cuts = tuple(_cut(learned, test.name, test.outcomes) for test in problem.flat.tests)
    diagnosis, chosen = _diagnoses(learned, table, warnings)
    outcomes = outcomes_of(cuts, table, chosen)
    for place, cut in enumerate(cuts):
        unknown = int((~table.columns[cut.column].blank[chosen] & (outcomes[:, place] < 0)).sum())
        if unknown:
            warnings.append(f"{unknown:,} results of '{shown(cut.column)}' are new to the model; they count as blank")
    counted = _Counted(problem, learned, cuts)
    after = counted.with_cases(outcomes, diagnosis, {"cases": len(chosen), "sha256": table.digest})
    agents = [make_adviser(one) for one in (problem, after)]
    old, new = (replay(one, agent, outcomes) for one, agent in zip((problem, after), agents, strict=True))
    changed = (old.commit != new.commit) | (old.asked != new.asked).any(axis=1)
    loss = -problem.flat.payoff[:, counted.first_states][old.commit, diagnosis]
    mean, low, high = _interval(old.spend + loss)
    try:
        planned = _planned(problem, agents[0]), _planned(after, agents[1])
    except LimitError:
        planned = None
    return Updated(
        problem=after,
        cases=len(chosen),
        soft=counted.subtypes > 1,
        first=(decide(problem, agents[0]).choice, decide(after, agents[1]).choice),
        planned=planned,
        cost=mean,
        low=low,
        high=high,
        changed=float(changed.mean()),
        warnings=tuple(warnings),
    )


def _planned(problem: POMDP, agent: BoundAgent) -> float:
    """What the model expects a case to cost; LimitError where that is too much to work out."""
    return -evaluate(problem, agent.policy(problem), budget=Budget(memory=ROOM)).reward


class _Counted:
    """The counts that a learned model carries, and what new ones make of it."""

    def __init__(self, problem: POMDP, learned: Mapping[str, Any], cuts: tuple[Cut, ...]) -> None:
        self.problem, self.learned, self.cuts = problem, learned, cuts
        diagnoses = len(learned["diagnoses"])
        self.subtypes = len(problem.states) // diagnoses
        self.first_states = np.arange(diagnoses) * self.subtypes
        choice = learned["choice"]
        sizes = [len(cut.outcomes) for cut in cuts]
        self.tests = Tests(sizes, [cut.places for cut in cuts], SMOOTHING, float(choice["shrinkage"]))
        try:
            rows = [[learned["counts"][cut.column][state] for state in problem.states] for cut in cuts]
            self.counts = np.concatenate([np.array(row, dtype=float) for row in rows], axis=1)
            self.counts = self.counts.reshape(diagnoses, self.subtypes, sum(sizes))
            self.cases = np.array([learned["state_cases"][state] for state in problem.states], dtype=float)
            self.cases = self.cases.reshape(diagnoses, self.subtypes)
        except (KeyError, ValueError):
            raise ProblemError(
                f"the counts of '{problem.name}' must be for its states, tests and outcomes; they are not: was it "
                "edited after learning?", field=("learned", "counts"),
            ) from None  # fmt: skip
        found = self.fitted(self.counts, self.cases)
        for test, likelihood in zip(problem.flat.tests, found.likelihoods, strict=True):
            if np.abs(test.likelihood - likelihood).max() > SAME:
                raise ProblemError(
                    f"the likelihood of '{test.name}' must be the one that the counts give; it is not: it was edited "
                    "after learning, and an update would undo that", field=("tests", test.name, "likelihood"),
                )  # fmt: skip

    def fitted(self, counts: Array, cases: Array) -> Fitted:
        shares: Array = self.problem.prior.reshape(cases.shape).sum(axis=1)
        if not self.learned["prior_given"]:
            shares = (cases.sum(axis=1) + 1.0) / (cases.sum() + len(cases))
        return from_counts(
            self.tests, counts, cases, prior=shares, tempering=float(self.learned["choice"]["tempering"])
        )

    def with_cases(self, outcomes: Ids, diagnosis: Ids, source: Mapping[str, Any]) -> POMDP:
        """The problem with the cases added."""
        marks = self.tests.marks(outcomes).astype(float)
        of_diagnosis = (diagnosis[:, None] == np.arange(len(self.cases))).astype(float)
        both = of_diagnosis[:, :, None] * self._belongs(marks, diagnosis)[:, None, :]
        counts = self.counts + np.einsum("ndk,nq->dkq", both, marks)
        cases = self.cases + both.sum(axis=0)
        found, menu, states = self.fitted(counts, cases), self.problem.flat, self.problem.states
        tests = tuple(replace(t, likelihood=row) for t, row in zip(menu.tests, found.likelihoods, strict=True))
        record = {
            **self.learned,
            "counts": {
                cut.column: dict(zip(states, rows.tolist(), strict=True))
                for cut, rows in zip(self.cuts, found.counts, strict=True)
            },
            "state_cases": dict(zip(states, cases.ravel().tolist(), strict=True)),
            "updates": [*self.learned.get("updates", []), dict(source)],
        }
        factor = replace(self.problem.factors[0], prior=found.prior / found.prior.sum())
        details = {**self.problem.details, LEARNED: record}
        return replace(self.problem, factors=(factor,), menu=replace(menu, tests=tests), details=details)

    def _belongs(self, marks: Array, diagnosis: Ids) -> Array:
        """How much (n, K) each case belongs to each subtype of its diagnosis, by the model."""
        likelihood = np.concatenate([test.likelihood for test in self.problem.flat.tests], axis=1)
        logs = marks @ np.log(likelihood).T + np.log(self.problem.prior)
        own = logs.reshape(len(marks), *self.cases.shape)[np.arange(len(marks)), diagnosis]
        weights = np.exp(own - own.max(axis=1, keepdims=True))
        shares: Array = weights / weights.sum(axis=1, keepdims=True)
        return shares


def _check_fresh(learned: Mapping[str, Any], table: Table, again: bool, warnings: list[str]) -> None:
    known = [learned["table"], *learned.get("updates", [])]
    if table.digest not in [one["sha256"] for one in known]:
        return
    if not again:
        raise TableError(
            "a table must be added once; the model was learned from this very file before (--again adds it "
            "all the same)",
            file=table.file,
        )
    warnings.append("the model was learned from this very file before: its cases count once more")


def columns_of(problem: POMDP) -> tuple[str, ...]:
    """The columns that a table must have for an update of `problem`; none where it was not learned from a table."""
    learned = problem.details.get(LEARNED)
    return (str(learned["target"]), *(test.name for test in problem.flat.tests)) if learned else ()


def _check_columns(problem: POMDP, learned: Mapping[str, Any], table: Table) -> None:
    missing = [name for name in columns_of(problem) if name not in table.columns]
    if missing:
        raise TableError(
            f"the table must have a column for the target and for every test of the model; it lacks "
            f"{', '.join(shown(name) for name in missing)}",
            file=table.file,
        )
    for test in problem.flat.tests:
        column = table.columns[test.name]
        if "at" in learned["cuts"].get(test.name, {}) and column.numbers is None and not column.blank.all():
            case = int(np.flatnonzero(~column.blank)[0])
            raise table.fault(
                f"'{shown(test.name)}' must hold numbers, as it did when the model was learned; it holds "
                f"'{shown(str(column.cells[case]))}'", test.name, case,
            )  # fmt: skip


def _cut(learned: Mapping[str, Any], name: str, outcomes: tuple[str, ...]) -> Cut:
    """How the column `name` becomes outcomes, as it did in learning."""
    found = learned["cuts"].get(name, {})
    at, places = (np.array(found[word], dtype=float) if word in found else None for word in ("at", "places"))
    fits = (at is None or len(at) == len(outcomes) - 1) and (places is None or len(places) == len(outcomes))
    if not fits:
        raise ProblemError(
            f"the cuts of '{name}' must be one fewer than its {len(outcomes)} outcomes; they are not: was the model "
            "edited after learning?", field=("learned", "cuts", name),
        )  # fmt: skip
    return Cut(name, outcomes, at, places)


def _diagnoses(learned: Mapping[str, Any], table: Table, warnings: list[str]) -> tuple[Ids, Ids]:
    """The diagnoses (n,) of the cases that have one, and which these are."""
    target, states = table.columns[str(learned["target"])], list(learned["diagnoses"])
    chosen = np.flatnonzero(~target.blank)
    for case in chosen.tolist():
        if target.cells[case] not in states:
            raise table.fault(
                f"the target must be a diagnosis of the model ({', '.join(map(shown, states))}); one is "
                f"'{shown(str(target.cells[case]))}'", target.name, case,
            )  # fmt: skip
    if len(chosen) < table.size:
        warnings.append(f"{table.size - len(chosen):,} rows without '{shown(target.name)}' are left out")
    if not len(chosen):
        raise table.fault("the table must have cases with a diagnosis; it has none", target.name)
    return np.array([states.index(cell) for cell in target.cells[chosen]], dtype=np.int64), chosen


def _interval(cost: Array) -> tuple[float, float | None, float | None]:
    """Mean, and the 95% interval of it by Student's t."""
    from scipy.stats import t

    mean = float(cost.mean())
    if len(cost) < LEAST:
        return mean, None, None
    half = float(t.ppf(0.975, len(cost) - 1) * cost.std(ddof=1) / np.sqrt(len(cost)))
    return mean, mean - half, mean + half
