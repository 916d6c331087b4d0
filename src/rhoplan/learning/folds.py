"""Nested cross-validation: everything is chosen inside the training cases of a split, and scored on its test cases.

Splits are repeated and stratified by diagnosis; with groups no group is on both sides; with a time the past is learned
from and the future is scored. One outer split is one job.

Shapes: m test cases of a split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rhoplan.errors import TableError
from rhoplan.learning.baselines import CLASSIFIERS, NO_TEST, classified, commit_without_test, run_everything
from rhoplan.learning.build import build
from rhoplan.learning.cases import Cases
from rhoplan.learning.choices import Choice, Grid
from rhoplan.learning.choose import MOST_INNER, Split, choose, planned_cost
from rhoplan.learning.opinion import chances
from rhoplan.learning.replay import replay
from rhoplan.learning.stopped import Stopped, acquired_by, look_back, second_opinion
from rhoplan.model.pomdp import Array, Ids

INNER_FOLDS = 3

DRAWS = 1_000
"""Cases drawn to see what a policy is planned to cost."""


@dataclass(frozen=True, eq=False)
class Splitting:
    """How cases are split. group, time (n,): None where there is none. column: the one they stand in."""

    folds: int = 5
    repeats: int = 2
    group: Ids | None = None
    time: Array | None = None
    column: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """The way of splitting, as JSON holds it."""
        by = {"by": "group" if self.time is None else "time", "column": self.column} if self.column else {}
        return {"folds": self.folds, "repeats": self.repeats, **by}

    def splits(self, cases: Cases, chosen: Ids, *, folds: int, repeats: int, seed: int) -> list[Split]:
        """Training and test cases of each split of the cases `chosen`."""
        if self.time is not None:
            return _later(chosen[np.argsort(self.time[chosen], kind="stable")], folds)
        from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

        diagnosis, found = cases.diagnosis[chosen], []
        for repeat in range(repeats):
            how = StratifiedKFold if self.group is None else StratifiedGroupKFold
            split = how(n_splits=folds, shuffle=True, random_state=seed + repeat)
            groups = None if self.group is None else self.group[chosen]
            found += [(chosen[train], chosen[test]) for train, test in split.split(chosen, diagnosis, groups)]
        return found

    def outer(self, cases: Cases, *, seed: int) -> list[Split]:
        """The splits that policies are scored on."""
        found = self.splits(cases, np.arange(cases.size), folds=self.folds, repeats=self.repeats, seed=seed)
        for train, _ in found:
            for number, name in enumerate(cases.plan.states):
                if np.count_nonzero(cases.diagnosis[train] == number) < 2 * INNER_FOLDS:
                    raise TableError(
                        f"a split leaves fewer than {2 * INNER_FOLDS} cases of '{name}' to learn from: use fewer "
                        "folds, or another column to split by", file=cases.table.file, column=cases.plan.target,
                    )  # fmt: skip
        return found

    def inner(self, cases: Cases, train: Ids, *, seed: int) -> list[Split]:
        """The splits of training cases that choices are made on; their test cases are not too many."""
        generator = np.random.default_rng([seed, 3])
        most = MOST_INNER // INNER_FOLDS
        found = self.splits(cases, train, folds=INNER_FOLDS, repeats=1, seed=seed)
        return [(learn, test if len(test) <= most else generator.permutation(test)[:most]) for learn, test in found]


@dataclass(frozen=True, eq=False)
class Held:
    """What one policy did in the test cases of a split: cost, spend, tests and whether it was wrong (m,)."""

    cost: Array
    spend: Array
    tests: Array
    wrong: Array


@dataclass(frozen=True, eq=False)
class Fold:
    """One split: its test cases (m,), how many it was learned from, and what each policy did. planned: by the model.

    stopped: where the policy did, and what it would have cost with less.
    """

    test: Ids
    trained: int
    choice: Choice
    planned: float
    held: dict[str, Held]
    stopped: Stopped | None = None


POLICY = "policy"


def score_split(
    cases: Cases,
    splitting: Splitting,
    split: Split,
    *,
    seed: int,
    grid: Grid,
    second: bool = False,
    classifiers: Sequence[str] = CLASSIFIERS,
) -> Fold:
    """Choose, learn and score on one split. second: ask for a second opinion where the policy stops.

    classifiers: those that judge by all tests, for the bill.
    """
    train, test = split
    choices = choose(cases, splitting.inner(cases, train, seed=seed), seed=seed, grid=grid)
    held, planned, stopped = {}, 0.0, None
    for name, choice in choices.items():
        learned = build(cases.table, cases.plan, cases.diagnosis, train, choice, seed=seed)
        replayed = replay(learned.problem, choice.agent, learned.outcomes(cases.table, test))
        held[name] = _held(cases, test, replayed.commit, replayed.spend, replayed.tests)
        if name == POLICY:
            planned = planned_cost(learned, choice, draws=DRAWS, seed=seed)
            stopped = look_back(cases, test, learned, choice, replayed)
            if second:
                opinion = second_opinion(cases, train, learned, choice, seed=seed)
                seen = acquired_by(replayed, learned.outcomes(cases.table, test))
                stopped = replace(stopped, second=chances(opinion, seen))
    nothing = np.zeros(len(test))
    held[NO_TEST] = _held(cases, test, np.full(len(test), commit_without_test(cases, train)), nothing, nothing)
    run, price = run_everything(cases)
    for name in classifiers:
        commits = classified(cases, train, test, run, name, seed=seed)
        held[name] = _held(cases, test, commits, price[test], run[test].sum(axis=1) * 1.0)
    return Fold(test, len(train), choices[POLICY], planned, held, stopped)


def _held(cases: Cases, test: Ids, commit: Ids, spend: Array, tests: Array) -> Held:
    losses, diagnosis = cases.plan.losses, cases.diagnosis[test]
    loss = losses[commit, diagnosis]
    wrong = (loss > losses.min(axis=0)[diagnosis] + 1e-12 * np.abs(losses).max()).astype(float)
    return Held(spend + loss, spend, tests, wrong)


def _later(chosen: Ids, folds: int) -> list[Split]:
    """Cases in the order of time: each block but the first is scored by what was learned from all before it."""
    blocks = np.array_split(chosen, folds + 1)
    return [(np.concatenate(blocks[:place]), blocks[place]) for place in range(1, folds + 1)]
