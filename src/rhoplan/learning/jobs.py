"""Learning in jobs: one for each outer split, and one that chooses on all cases. They are done in any order, here or on
a cluster, and may be kept in a folder; the result is the same.

A job's key is a digest of the table, the plan, all settings and the code, so that what was kept is used exactly as long
as it holds.

Shapes: m test cases of a split.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rhoplan.learning.cases import Cases
from rhoplan.learning.choices import Choice, Grid
from rhoplan.learning.choose import Split, choose
from rhoplan.learning.folds import POLICY, Fold, Held, Splitting, score_split
from rhoplan.learning.plan import Plan
from rhoplan.learning.stopped import Stopped
from rhoplan.parallel import run_jobs
from rhoplan.version import __version__
from rhoplan.work.fingerprint import fingerprint
from rhoplan.work.store import Store

EVERYBODY = -1
"""The number of the job that chooses on all cases."""


@dataclass(frozen=True)
class Part:
    """The job `number` of a run, which `run` is a digest of."""

    run: str
    number: int

    @property
    def key(self) -> str:
        return hashlib.sha256(f"{self.run} {self.number}".encode()).hexdigest()[:32]

    @property
    def about(self) -> list[Any]:
        return [self.run, self.number]


class Kept(Store):
    """What a run of learning keeps."""

    what = "run of learn"


def score_all(
    cases: Cases,
    splitting: Splitting,
    *,
    seed: int,
    grid: Grid,
    second: bool = False,
    jobs: int = 1,
    cluster: str | None = None,
    keep: Path | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[list[Fold], Choice]:
    """All outer splits, in order, and what is chosen on all cases (see `learn`)."""
    splits = splitting.outer(cases, seed=seed)
    work = partial(do_part, cases, splitting, splits, seed, grid, second)
    run = digest(cases, splitting, seed=seed, grid=grid, second=second)
    parts = [Part(run, number) for number in (*range(len(splits)), EVERYBODY)]
    store = Kept(keep / "learn") if keep is not None else None
    with store.locked() if store else nullcontext():
        found = {part: kept for part in parts if store and (kept := store.get(part))}
        tell(len(found), len(parts))
        left = [part for part in parts if part not in found]
        for part, outcome in run_jobs(work, left, workers=jobs, cluster=cluster):
            if store:
                store.put(part, outcome)
            found[part] = outcome
            tell(len(found), len(parts))
    *scored, last = (found[part] for part in parts)
    return [fold_of(outcome["fold"]) for outcome in scored], Choice(**last["choice"])


def do_part(
    cases: Cases, splitting: Splitting, splits: Sequence[Split], seed: int, grid: Grid, second: bool, part: Part
) -> dict[str, Any]:
    """Do one job, wherever this is called."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums in several threads end in other digits than those of a process that has one
        if part.number != EVERYBODY:
            fold = score_split(cases, splitting, splits[part.number], seed=seed, grid=grid, second=second)
            return {"fold": fold_record(fold)}
        inner = splitting.inner(cases, np.arange(cases.size), seed=seed)
        return {"choice": choose(cases, inner, seed=seed, grid=grid)[POLICY].record}


def digest(cases: Cases, splitting: Splitting, *, seed: int, grid: Grid, second: bool = False) -> str:
    """A digest of all that learning depends on."""
    said = [
        cases.table.digest, cases.size, plan_record(cases.plan), splitting.record, seed, asdict(grid), __version__,
        fingerprint(), second,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def plan_record(plan: Plan) -> dict[str, Any]:
    """What a plan says, as JSON holds it; not its file."""
    return {
        "name": plan.name,
        "unit": plan.unit,
        "target": plan.target,
        "states": plan.states,
        "tests": [[test.name, test.cost, test.outcomes, test.group, test.after] for test in plan.tests],
        "commits": [[commit.name, commit.reward.tolist()] for commit in plan.commits],
        "prior": None if plan.prior is None else plan.prior.tolist(),
        "first_prices": plan.first_prices,
        "caps": [plan.most_tests, plan.budget],
        "details": plan.details,
    }


def fold_record(fold: Fold) -> dict[str, Any]:
    """A split as JSON holds it; `fold_of` reads it back, to the last digit."""
    assert fold.stopped is not None
    return {
        "test": fold.test.tolist(),
        "trained": fold.trained,
        "choice": fold.choice.record,
        "planned": fold.planned,
        "held": [  # in order: a store sorts names
            [name, {one.name: getattr(held, one.name).tolist() for one in fields(held)}]
            for name, held in fold.held.items()
        ],
        "stopped": {
            "probability": fold.stopped.probability.tolist(),
            "commit": fold.stopped.commit.tolist(),
            "asked": fold.stopped.asked.tolist(),
            "by_tests": [[cap, cost.tolist()] for cap, cost in fold.stopped.by_tests.items()],
            "by_spend": [[cap, cost.tolist()] for cap, cost in fold.stopped.by_spend.items()],
            "second": None if fold.stopped.second is None else fold.stopped.second.tolist(),
        },
    }


def fold_of(record: Mapping[str, Any]) -> Fold:
    """The split that `fold_record` made a record of."""
    stopped = record["stopped"]
    return Fold(
        test=np.array(record["test"], dtype=np.int64),
        trained=record["trained"],
        choice=Choice(**record["choice"]),
        planned=record["planned"],
        held={name: Held(**{word: np.array(v) for word, v in held.items()}) for name, held in record["held"]},
        stopped=Stopped(
            probability=np.array(stopped["probability"]),
            commit=np.array(stopped["commit"], dtype=np.int64),
            asked=np.array(stopped["asked"]),
            by_tests={cap: np.array(cost) for cap, cost in stopped["by_tests"]},
            by_spend={cap: np.array(cost) for cap, cost in stopped["by_spend"]},
            second=None if stopped["second"] is None else np.array(stopped["second"]),
        ),
    )
