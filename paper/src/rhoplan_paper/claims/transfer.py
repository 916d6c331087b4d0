"""Claims about weights that move from one problem to another, and about how often weight 1 is good enough."""

from __future__ import annotations

import math
from itertools import pairwise

from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.discussion import ALIKE
from rhoplan_paper.claims.numbers import Ours, rows
from rhoplan_paper.context import UNITS, Context, Result, ask, at_once
from rhoplan_paper.jobs import job
from rhoplan_paper.published import select
from rhoplan_paper.registry import claim
from rhoplan_paper.study import NO_DIFFERENCE, Found, Verdict
from rhoplan_paper.told.near_optimality import (
    ASYMMETRIC,
    PUBLISHED_EPISODES,
    near_optimal,
    near_optimal_shares,
    near_optimality_job,
)
from rhoplan_paper.verdicts import SAME, by_unit
from rhoplan_paper.words import points, signed

TUNED = {20.0: ("tiger",), 50.0: ("testbed",), 100.0: ("diagnosis", "bandit")}
"""Weights that the paper tuned for success, and the problems that they were tuned on."""
TARGETS = ("tiger", "diagnosis", "bandit", "testbed")


def _transferred(context: Context) -> dict[tuple[float, str], Ours]:
    return rows(context, {(w, p): ("transfer", {"weight": w, "problem": p}) for w in (1.0, *TUNED) for p in TARGETS})


@claim("weights-do-not-transfer")
def weights_do_not_transfer(context: Context) -> Found:
    ours = _transferred(context)

    def loss(weight: float, problem: str, unit: str) -> float:
        """What the weight loses against weight 1, as a part of the reward there."""
        one = ours[1.0, problem].mean("reward", unit)
        return (one - ours[weight, problem].mean("reward", unit)) / abs(one)

    moved = [(w, p) for w, tuned_on in TUNED.items() for p in TARGETS if p not in tuned_on]
    bad = {u: [(w, p) for w, p in moved if loss(w, p, u) > ALIKE] for u in UNITS}
    worst = {u: max(bad[u] or moved, key=lambda pair: loss(pair[0], pair[1], u)) for u in UNITS}
    texts = [
        f"w={w:g} on {p} {signed(ours[w, p].mean('reward', u))} instead of {signed(ours[1.0, p].mean('reward', u))} in "
        f"{u}"
        for u, (w, p) in worst.items()
    ]
    return found(
        by_unit({u: {w for w, _ in bad[u]} == set(TUNED) for u in UNITS}),
        moved=len(moved),
        alike=ALIKE,
        bad={u: len(ones) for u, ones in bad.items()},
        worst=texts,
        free={u: [f"w={w:g} on {p}" for w, p in moved if (w, p) not in bad[u]] for u in UNITS},
    )


@claim("weight-one-transfers")
def weight_one_transfers(context: Context) -> Found:
    best_jobs = {problem: job("optimum", problem=problem) for problem in TARGETS}
    ours, best = at_once(lambda: _transferred(context), lambda: ask(context, best_jobs))
    near, worse = {}, {}
    for unit in UNITS:
        reward = {key: one.mean("reward", unit) for key, one in ours.items()}
        top = {p: max(reward[w, p] for w in (1.0, *TUNED)) for p in TARGETS}
        near[unit] = all(reward[1.0, p] >= top[p] - ALIKE * abs(top[p]) for p in TARGETS)
        worse[unit] = all(any(reward[w, p] < reward[1.0, p] - SAME for p in TARGETS) for w in TUNED)
    far = [
        f"{p} {signed(ours[1.0, p].mean('reward', u))} of {signed(best[p]['lower'])} in {u}"
        for p in TARGETS
        for u in UNITS
        if best[p]["lower"] - ours[1.0, p].mean("reward", u) > ALIKE * abs(best[p]["lower"])
    ]
    return found(
        by_unit({u: near[u] and worse[u] for u in UNITS}),
        near=all(near.values()),
        worse=all(worse.values()),
        alike=ALIKE,
        far=far,
        rewards={p: ours[1.0, p].mean("reward", "bits") for p in TARGETS},
    )


@claim("near-optimality-grows")
def near_optimality_grows(context: Context) -> Found:
    jobs = {unit: near_optimality_job(unit) for unit in UNITS}
    jobs["fresh"] = near_optimality_job("nats", episodes=PUBLISHED_EPISODES, paired=False)
    shares = {name: near_optimal_shares(result)[0] for name, result in ask(context, jobs).items()}
    verdict = by_unit({u: all(a < b for a, b in pairwise(shares[u])) for u in UNITS})
    shown = [one.text for one in select("near-optimality-rates near_optimal")]
    return found(verdict, shares=shares, printed=shown, episodes=PUBLISHED_EPISODES)


@claim("near-optimality-asymmetric")
def near_optimality_asymmetric(context: Context) -> Found:
    results = ask(context, {unit: near_optimality_job(unit) for unit in UNITS})
    steeper, within, told = {}, {}, []
    for unit in UNITS:
        (high, many), (low, few) = _rise(results[unit], asymmetric=True), _rise(results[unit], asymmetric=False)
        error = math.sqrt(high * (1 - high) / many + low * (1 - low) / few)
        steeper[unit], within[unit] = high > low, abs(high - low) < 2 * error
        told.append(
            f"{unit}: {points(high, 0)} on {many} problems with alpha of at least {ASYMMETRIC:g}, {points(low, 0)} on "
            f"the other {few}, a difference of {points(high - low, 0)} ± {100 * error:.0f}"
        )
    verdict = Verdict(NO_DIFFERENCE, "either") if all(within.values()) else by_unit(steeper)
    printed = []
    for name in ("near-optimality-rates", "near-optimality-rates-asymmetric"):
        first, *_, last = select(f"{name} near_optimal")
        printed.append(last.number - first.number)
    return found(verdict, told=told, printed=printed, alpha=ASYMMETRIC)


def _rise(result: Result, *, asymmetric: bool) -> tuple[float, int]:
    """By how much the share of near-optimal problems rises with the horizon, in one of two groups; its size."""
    judged = zip(near_optimal(result), result["alpha"], strict=True)
    group = [row for row, alpha in judged if (alpha >= ASYMMETRIC) == asymmetric]
    return sum(row[-1] - row[0] for row in group) / len(group), len(group)
