"""What the held-out cases show of the policy, in aggregates that a file may carry: is it as sure as it should be, is it
of use, what do caps cost, which tests does it run. No case is in them.

Shapes: n cases, m test cases of a split, D diagnoses, T tests of the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rhoplan.evaluation.simulate import wilson
from rhoplan.learning.bill import mean_over_cases
from rhoplan.learning.cases import Cases
from rhoplan.learning.folds import POLICY, Fold
from rhoplan.learning.stopped import Stopped
from rhoplan.model.pomdp import Array, Ids

MOST_POINTS, CASES_PER_POINT = 8, 25
"""Points of the calibration at most, and cases that each should have."""

FEWEST = 5
"""Cases below which a group is joined with another: nobody is to be found in an aggregate."""

ONE_STEP, DEEPEST = "one step ahead", "cost only"
"""Names of the policies that differ in nothing but how far they look ahead."""

THRESHOLDS = tuple(round(0.02 * k, 2) for k in range(1, 50))
"""Thresholds of the decision curve."""


def findings(cases: Cases, folds: Sequence[Fold], *, group: Ids | None = None) -> dict[str, Any]:
    """Calibration, decision curve, caps and use of tests, as JSON holds them.

    depth: how much less a case costs that is planned as far ahead as is affordable than one step ahead.
    """
    found: dict[str, Any] = {"calibration": calibration(cases, folds), "use": use(cases, folds)}
    if len(cases.plan.states) == 2:
        found["decision_curve"] = decision_curve(cases, folds)
    found["caps"] = {
        "tests": _curve(cases, folds, "by_tests", group),
        "spend": _curve(cases, folds, "by_spend", group),
    }
    if {ONE_STEP, DEEPEST} <= folds[0].held.keys():
        one = mean_over_cases(cases, folds, group, lambda fold: fold.held[ONE_STEP].cost - fold.held[DEEPEST].cost)
        found["depth"] = {"mean": one.mean, "low": one.low, "high": one.high}
    if all(_stopped(fold).second is not None for fold in folds):
        found["second_opinion"] = disagreement(cases, folds, group)
    return found


def about(cases: Cases) -> int:
    """The diagnosis that chances are told of, where there are two: the positive one, or the last."""
    states = cases.plan.states
    return states.index(cases.plan.details.get("positive", states[-1]))


def calibration(cases: Cases, folds: Sequence[Fold]) -> dict[str, Any]:
    """What the policy believed where it stopped, beside what was so, from the least sure to the surest.

    With two diagnoses: the chance of one of them; with more: of the one that it held to be likeliest. Intervals are
    Wilson's, for as many cases as there are, however often each was tested.
    """
    two, place = len(cases.plan.states) == 2, about(cases)
    case = np.concatenate([fold.test for fold in folds])
    belief = np.concatenate([_stopped(fold).probability for fold in folds])
    said = belief[:, place] if two else belief.max(axis=1)
    true = cases.diagnosis[case] == (place if two else belief.argmax(axis=1))
    weight = cases.weight[case]
    points = []
    for chosen in _bins(said, case):
        share, mean = (float(np.average(values[chosen], weights=weight[chosen])) for values in (true, said))
        here = np.unique(case[chosen])
        counts = _effective(cases.weight[here])
        low, high = wilson(share * counts, counts)
        points.append({"said": mean, "seen": share, "low": low, "high": high, "cases": len(here)})
    told = {"about": cases.plan.states[place]} if two else {}
    apart = float(np.average([abs(p["said"] - p["seen"]) for p in points], weights=[p["cases"] for p in points]))
    mean_said, mean_seen = (float(np.average(values, weights=weight)) for values in (said, true))
    return {**told, "said": mean_said, "seen": mean_seen, "apart": apart, "points": points}


def _bins(said: Array, case: Ids) -> list[Ids]:
    """Groups of what was said, in order; equal chances stay together, and no group has hardly any cases."""
    count = int(np.clip(len(np.unique(case)) // CASES_PER_POINT, 1, MOST_POINTS))
    edges = np.unique(np.quantile(said, np.arange(1, count) / count)) if count > 1 else np.empty(0)
    group = np.searchsorted(edges, said, side="left")
    found: list[Ids] = []
    for number in np.unique(group):
        chosen = np.flatnonzero(group == number)
        few = len(np.unique(case[chosen])) < FEWEST
        if found and (few or len(np.unique(case[found[-1]])) < FEWEST):
            found[-1] = np.concatenate([found[-1], chosen])
        else:
            found.append(chosen)
    return found


def _effective(weight: Array) -> int:
    """How many equal cases tell as much as cases with these weights."""
    return max(1, int(weight.sum() ** 2 / (weight**2).sum()))


def decision_curve(cases: Cases, folds: Sequence[Fold]) -> dict[str, Any]:
    """Net benefit of acting on the chance of a diagnosis where the policy stopped, over thresholds of that chance.

    Per case: those rightly treated, less those wrongly treated times the odds of the threshold; what tests cost is not
    in it. own: the threshold that the losses ask for.
    """
    place = about(cases)
    case = np.concatenate([fold.test for fold in folds])
    said = np.concatenate([_stopped(fold).probability[:, place] for fold in folds])
    true, weight = cases.diagnosis[case] == place, cases.weight[case] / cases.weight[case].sum()
    share = float(weight[true].sum())
    points = []
    for threshold in THRESHOLDS:
        treated, odds = said >= threshold, threshold / (1 - threshold)
        policy = float(weight[treated & true].sum() - odds * weight[treated & ~true].sum())
        points.append({"threshold": threshold, "policy": policy, "all": share - odds * (1 - share)})
    own = _own_threshold(cases.plan.losses, place)
    return {"about": cases.plan.states[place], **({} if own is None else {"own": own}), "points": points}


def _own_threshold(losses: Array, place: int) -> float | None:
    """From which chance of the diagnosis on the commit that is best for it costs less than the other's."""
    other = 1 - place
    treat, leave = int(losses[:, place].argmin()), int(losses[:, other].argmin())
    wrongly, missed = losses[treat, other] - losses[leave, other], losses[leave, place] - losses[treat, place]
    return float(wrongly / (wrongly + missed)) if wrongly > 0 and missed > 0 else None


def use(cases: Cases, folds: Sequence[Fold]) -> dict[str, Any]:
    """How often each test was run, and how many were run: shares of cases. The last number stands for more, too."""
    case = np.concatenate([fold.test for fold in folds])
    asked = np.concatenate([_stopped(fold).asked for fold in folds])
    weight = cases.weight[case] / cases.weight[case].sum()
    number = asked.sum(axis=1).astype(int)
    while number.max() > 0 and len(np.unique(case[number == number.max()])) < FEWEST:
        number = np.minimum(number, number.max() - 1)
    names = [test.name for test in cases.plan.tests]
    return {
        "tests": dict(zip(names, np.minimum(weight @ asked, 1.0).tolist(), strict=True)),
        "numbers": np.minimum(np.bincount(number, weights=weight), 1.0).tolist(),
    }


def disagreement(cases: Cases, folds: Sequence[Fold], group: Ids | None) -> dict[str, Any]:
    """Where the policy and the second opinion would end with other commits, and who was right there.

    cost: of a case that ends with the commit of the second opinion, after the same tests. less: how much less than the
    policy's that is. rows: by both commits, the loss of a case under each; pairs of hardly any cases are left out.
    """
    losses, commits = cases.plan.losses, [commit.name for commit in cases.plan.commits]

    def cost(fold: Fold) -> Array:
        loss: Array = losses[_second_commit(losses, fold), cases.diagnosis[fold.test]]
        return fold.held[POLICY].spend + loss

    one = mean_over_cases(cases, folds, group, cost)
    less = mean_over_cases(cases, folds, group, lambda fold: fold.held[POLICY].cost - cost(fold))
    case = np.concatenate([fold.test for fold in folds])
    mine = np.concatenate([_stopped(fold).commit for fold in folds])
    other = np.concatenate([_second_commit(losses, fold) for fold in folds])
    weight, true = cases.weight[case], cases.diagnosis[case]
    rows = []
    for pair in sorted({(int(a), int(b)) for a, b in zip(mine, other, strict=True) if a != b}):
        here = (mine == pair[0]) & (other == pair[1])
        if len(np.unique(case[here])) < FEWEST:
            continue
        found = [float(np.average(losses[commit, true[here]], weights=weight[here])) for commit in pair]
        rows.append(
            {
                "policy": commits[pair[0]], "second": commits[pair[1]], "cases": len(np.unique(case[here])),
                "policy_loss": found[0], "second_loss": found[1],
            }
        )  # fmt: skip
    return {
        "disagree": float(np.average(mine != other, weights=weight)),
        "cost": {"cost": one.mean, "low": one.low, "high": one.high},
        "less": {"mean": less.mean, "low": less.low, "high": less.high},
        "rows": rows,
    }


def _second_commit(losses: Array, fold: Fold) -> Ids:
    """The commit (m,) that costs least by the second opinion."""
    second = _stopped(fold).second
    assert second is not None
    found: Ids = np.argmin(second @ losses.T, axis=1)
    return found


def _curve(cases: Cases, folds: Sequence[Fold], name: str, group: Ids | None) -> list[dict[str, float]]:
    """What a case costs under each cap, and with none (which has no `most`), in the same cases."""

    def of(fold: Fold) -> dict[float, Array]:
        curve: dict[float, Array] = getattr(_stopped(fold), name)
        return curve

    if not of(folds[0]):
        return []
    few = [replace(fold, test=fold.test[: len(next(iter(of(fold).values())))]) for fold in folds]
    found = []
    for cap in of(folds[0]):
        one = mean_over_cases(cases, few, group, lambda fold, cap=cap: of(fold)[cap])  # type: ignore[misc]
        found.append({"most": cap, "cost": one.mean, "low": one.low, "high": one.high})
    one = mean_over_cases(cases, few, group, lambda fold: fold.held[POLICY].cost[: len(fold.test)])
    return [*found, {"cost": one.mean, "low": one.low, "high": one.high}]


def _stopped(fold: Fold) -> Stopped:
    assert fold.stopped is not None
    return fold.stopped
