"""How good learning from cases is: what is promised, beside what is measured here and now.

    tables    held-out cost of every table in a folder (NAME.csv with its plan NAME.yaml), with its baselines
    cube      accuracy on CUBE and CUBE-NM after some features, naive Bayes beside it
    coverage  how often the 95% interval holds what the model in use costs in truth, on simulated tables
    noise     how often tables without anything to learn are said not to carry a model
    speed     seconds that learning takes

The policy for CUBE maximises accuracy: tests cost next to nothing beside an error, and a cap on spend says how many may
be run. A look at the context of CUBE-NM counts as one feature, whatever it shows of the five.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from rhoplan.learning.bill import DOES_NOT, Bill, make_bill
from rhoplan.learning.build import build
from rhoplan.learning.cases import Cases, match
from rhoplan.learning.choices import Choice, Grid
from rhoplan.learning.choose import choose, cost_of
from rhoplan.learning.cube import CLASSES, CONTEXTS, draw_cube, draw_cube_nm
from rhoplan.learning.folds import POLICY, Splitting, score_split
from rhoplan.learning.learning import learn
from rhoplan.learning.plan import Plan, parse_plan, read_plan
from rhoplan.learning.replay import replay
from rhoplan.learning.table import Table, read_table, table_of
from rhoplan.model.diagnostic import Decision
from rhoplan.model.pomdp import Array, Ids

PARTS = ("cube", "coverage", "noise", "speed")

CUBE_ROWS, FRESH_ROWS = 600, 1_000
ERROR = 1_000.0
"""What an error costs on CUBE, in prices of a feature."""

SMALL_GRID = Grid((4,), (0.5,), (2, 1), (0.1,), (1,), (1.0, 0.8))
"""Little to choose from, so that hundreds of tables are learned from in minutes."""


@dataclass(frozen=True)
class Row:
    """What was measured, beside what is promised of it."""

    what: str
    found: str
    promised: str
    seconds: float


def table_rows(folder: Path, *, losses: float = 1.0, jobs: int = 1, folds: int = 10, repeats: int = 2) -> Iterator[Row]:
    """The bill of each table in `folder`; losses of its plan are multiplied by `losses`."""
    for path in sorted(folder.glob("*.csv")):
        begin, plan = time.perf_counter(), read_plan(path.with_suffix(".yaml"))
        plan = replace(plan, commits=tuple(Decision(one.name, losses * one.reward) for one in plan.commits))
        bill = learn(read_table(path), plan, folds=folds, repeats=repeats, jobs=jobs).bill
        what = f"{path.stem}, losses x {losses:g}, {folds} x {repeats} folds"
        yield Row(what, _told(bill), "planned within 10% of held-out", time.perf_counter() - begin)


def cube_rows(tables: int = 5) -> Iterator[Row]:
    """Accuracy on fresh cases of what is learned from 600, with everything chosen inside them."""
    for name, draw, caps, promised in (
        ("CUBE", draw_cube, (3, 5, 10), (0.56, 0.69, 0.79)),
        ("CUBE-NM", draw_cube_nm, (5, 7, 10), (0.60, 0.70, 0.74)),
    ):
        begin, found, plain = time.perf_counter(), list[list[float]](), list[list[float]]()
        for table in range(tables):
            cases, fresh = (
                match(*cube_cases(draw, count, seed=(table, count), cap=max(caps))) for count in (CUBE_ROWS, FRESH_ROWS)
            )
            inner = Splitting().inner(cases, np.arange(cases.size), seed=table)
            choice = choose(cases, inner, seed=table, grid=Grid())[POLICY]
            found.append(accuracies(cases, fresh, choice, caps))
            plain.append(accuracies(cases, fresh, replace(choice, subtypes=1), caps))
        means, beside = np.mean(found, axis=0), np.mean(plain, axis=0)
        told = ", ".join(f"{mean:.3f} ({naive:.3f})" for mean, naive in zip(means, beside, strict=True))
        yield Row(
            f"{name}, {CUBE_ROWS} rows, accuracy after {', '.join(map(str, caps))} features (naive Bayes), "
            f"mean of {tables} tables",
            told, ", ".join(f"{one:.2f}" for one in promised), time.perf_counter() - begin,
        )  # fmt: skip


def cube_cases(
    draw: Callable[[int, np.random.Generator], tuple[Array, Ids]], count: int, *, seed: Sequence[int], cap: int
) -> tuple[Table, Plan]:
    """A drawn table and its plan: each feature costs 1, the context of CUBE-NM as a whole too."""
    features, classes = draw(count, np.random.default_rng(seed))
    contexts = CONTEXTS if draw is draw_cube_nm else 0
    columns = {f"f{place}": features[:, place].round(4).tolist() for place in range(features.shape[1])}
    tests = {
        name: {"cost": 0, "group": "context"} if place < contexts else {"cost": 1} for place, name in enumerate(columns)
    }
    losses = {f"call-{k}": {f"class {j}": ERROR * (j != k) for j in range(CLASSES)} for k in range(CLASSES)}
    groups = {"groups": {"context": {"first": 1}}} if contexts else {}
    plan = {"target": "class", "tests": tests, "losses": losses, "cap": {"spend": cap}, **groups}
    columns["class"] = [f"class {k}" for k in classes.tolist()]
    return table_of(list(columns), columns.values()), parse_plan(str(plan).replace("'", '"'))


def accuracies(cases: Cases, fresh: Cases, choice: Choice, caps: Sequence[int]) -> list[float]:
    """The share of `fresh` that is called right after so many features at most, learned from `cases`."""
    found = []
    for cap in caps:
        plan = replace(cases.plan, budget=float(cap))
        learned = build(cases.table, plan, cases.diagnosis, np.arange(cases.size), choice)
        outcomes = learned.outcomes(fresh.table, np.arange(fresh.size))
        commit = replay(learned.problem, choice.agent, outcomes).commit
        found.append(float((commit == fresh.diagnosis).mean()))
    return found


def coverage_row(tables: int = 200, *, cases: int = 120, strength: float = 1.2) -> Row:
    """How often the interval of the bill holds what the model in use costs, on 4,000 cases drawn afresh."""
    begin, held, misses = time.perf_counter(), 0, [0, 0]
    for seed in range(tables):
        drawn, plan = drawn_cases(cases, seed=(seed, 1), strength=strength), simulated_plan()
        learned_from = match(drawn, plan)
        bill, everybody = quick_bill(learned_from, SMALL_GRID), np.arange(learned_from.size)
        inner = Splitting().inner(learned_from, everybody, seed=0)
        choice = choose(learned_from, inner, seed=0, grid=SMALL_GRID)[POLICY]
        made = build(drawn, learned_from.plan, learned_from.diagnosis, everybody, choice)
        fresh = match(drawn_cases(4_000, seed=(seed, 2), strength=strength), plan)
        every = np.arange(fresh.size)
        truth = cost_of(fresh, replay(made.problem, choice.agent, made.outcomes(fresh.table, every)), every).mean()
        held += bill.heldout.low <= truth <= bill.heldout.high
        misses[0] += truth < bill.heldout.low
        misses[1] += truth > bill.heldout.high
    found = f"{held / tables:.1%} (truth below {misses[0]}, above {misses[1]})"
    what = f"95% interval holds the cost of the model in use, {tables} simulated tables of {cases} cases"
    return Row(what, found, "92% to 98%", time.perf_counter() - begin)


def noise_row(tables: int = 100, *, cases: int = 120) -> Row:
    """How often pure noise is said not to carry a model."""
    begin, right = time.perf_counter(), 0
    for seed in range(tables):
        bill = quick_bill(match(drawn_cases(cases, seed=(seed, 3), strength=0.0), simulated_plan()), SMALL_GRID)
        right += bill.verdict == DOES_NOT
    what = f"pure noise: '{DOES_NOT}', {tables} tables of {cases} cases"
    return Row(what, f"{right} of {tables}", f"{0.95 * tables:.0f} at least", time.perf_counter() - begin)


def speed_rows(
    *, jobs: int = 2, sizes: Sequence[tuple[int, int, float]] = ((300, 13, 60), (10_000, 40, 600))
) -> Iterator[Row]:
    """Seconds and memory of learning with the settings of the command, on drawn tables."""
    for cases, tests, limit in sizes:
        table, plan = wide_cases(cases, tests)
        begin, worked = time.perf_counter(), sum(os.times()[:4])
        verdict = learn(table, plan, jobs=jobs).bill.verdict
        seconds, worked = time.perf_counter() - begin, sum(os.times()[:4]) - worked
        used = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        what = f"learn from {cases:,} rows x {tests} columns, {jobs} processes"
        found = f"{seconds:.0f} s, {worked:.0f} s of processors, {used / 1e6:.2f} GB in the largest process ({verdict})"
        yield Row(what, found, f"{limit:g} s, 2 GB", seconds)


def quick_bill(cases: Cases, grid: Grid) -> Bill:
    """The bill of 5 x 2 folds, with no test as the only policy that needs no plan: classifiers take longest."""
    splitting, found = Splitting(5, 2), []
    for split in splitting.outer(cases, seed=0):
        found.append(score_split(cases, splitting, split, seed=0, grid=grid, classifiers=()))
    return make_bill(cases, found)


def simulated_plan() -> Plan:
    """Four tests for one to two points, and losses that differ."""
    return parse_plan(
        "target: turned-out\n"
        "tests: {a: {cost: 1}, b: {cost: 1}, c: {cost: 2}, d: {cost: 1}}\n"
        "losses: {call-well: {well: 0, ill: 30}, call-ill: {well: 20, ill: 0}}\n"
    )


def drawn_cases(cases: int, *, seed: Sequence[int], strength: float) -> Table:
    """Cases of `simulated_plan`: d tells nothing, a and b hang together given the diagnosis; strength 0: all noise."""
    generator = np.random.default_rng(seed)
    ill, kind = generator.random(cases) < 0.4, generator.random(cases) < 0.5
    means = np.stack([ill + 0.5 * kind, 0.7 * ill - 0.5 * kind, 1.3 * ill, 0.0 * ill], axis=1) * strength
    values = generator.normal(means).round(2)
    columns = {name: values[:, place].tolist() for place, name in enumerate("abcd")}
    columns["turned-out"] = np.where(ill, "ill", "well").tolist()
    return table_of(list(columns), columns.values())


def wide_cases(cases: int, tests: int) -> tuple[Table, Plan]:
    """A table of numbers that tell something, more or less, with three kinds of cases in it, and its plan."""
    generator = np.random.default_rng(0)
    ill, kind = generator.random(cases) < 0.3, generator.integers(3, size=cases)
    tells = generator.uniform(size=tests)
    values = generator.normal(ill[:, None] * tells + 0.7 * (kind[:, None] == np.arange(tests) % 3)).round(2)
    columns = {f"t{place}": values[:, place].tolist() for place in range(tests)}
    plan = {"target": "turned-out", "tests": {name: {"cost": 1} for name in columns},
            "losses": {"call-well": {"well": 0, "ill": 100}, "call-ill": {"well": 60, "ill": 0}}}  # fmt: skip
    columns["turned-out"] = np.where(ill, "ill", "well").tolist()
    return table_of(list(columns), columns.values()), parse_plan(str(plan).replace("'", '"'))


def part_rows(part: str, *, tables: int | None = None, jobs: int = 2) -> Iterator[Row]:
    """The rows of one of PARTS; tables: how many are drawn, as many as is promised about by default."""
    if part == "cube":
        yield from cube_rows(tables or 5)
    elif part == "speed":
        yield from speed_rows(jobs=jobs)
    else:
        work = {"coverage": partial(coverage_row, tables or 200), "noise": partial(noise_row, tables or 100)}
        yield work[part]()


def _told(bill: Bill) -> str:
    one, away = bill.heldout, bill.planned / bill.heldout.mean - 1
    beside = ", ".join(f"{name} {e.mean:.4g}" for name, e in bill.baselines.items())
    return (
        f"{one.mean:.4g} ({one.low:.4g} to {one.high:.4g}), planned {bill.planned:.4g} ({away:+.0%}), {bill.verdict}; "
        f"{beside}"
    )
