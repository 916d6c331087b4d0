"""The honest bill: what a case costs when the policy has never seen it, beside what needs no plan.

The interval is about cases: each has one cost, its mean over the splits that tested it, and cases (or groups of cases,
where splits go by group) are what differ by chance. Means of folds cannot be used for that: folds are stratified, so
they hide how much the share of a diagnosis varies. Policies of overlapping splits err together, which the spread of
cases does not show; SPREAD allows for it.

Shapes: n cases, G groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rhoplan.learning.baselines import TRIVIAL
from rhoplan.learning.cases import Cases
from rhoplan.learning.folds import POLICY, Fold
from rhoplan.model.pomdp import Array, Ids

CONFIDENCE = 0.95

SPREAD = 1.1
"""What the standard error from cases is multiplied by, for what policies of overlapping splits have in common. On 200
simulated tables of 120 cases the interval then held the cost of the model in use, on 4,000 new cases, in 94.5%
(`rhoplan bench --learn coverage`)."""

CARRIES, DOES_NOT = "carries", "does not carry"


@dataclass(frozen=True)
class Estimate:
    """A mean over held-out cases, and the interval that is meant to hold the true one."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Bill:
    """heldout, baselines: cost per case. tests, spend, errors: of the policy, per case. planned: what its models
    expected. over, gain: the best policy that needs no plan, and how much less than it the policy costs."""

    heldout: Estimate
    tests: float
    spend: float
    errors: float
    planned: float
    baselines: dict[str, Estimate]
    over: str
    gain: Estimate
    splits: int
    cases: int

    @property
    def verdict(self) -> str:
        """Whether the data carry the model: the gain over what needs no plan is surely above zero."""
        return CARRIES if self.gain.low > 0 else DOES_NOT

    @property
    def record(self) -> dict[str, Any]:
        """The bill as JSON holds it."""
        one = self.heldout
        return {
            "verdict": self.verdict,
            "heldout": {
                "cost": one.mean, "low": one.low, "high": one.high, "tests": self.tests, "spend": self.spend,
                "errors": self.errors,
            },
            "planned": {"cost": self.planned},
            "baselines": {name: {"cost": e.mean, "low": e.low, "high": e.high} for name, e in self.baselines.items()},
            "gain": {"over": self.over, "mean": self.gain.mean, "low": self.gain.low, "high": self.gain.high},
            "splits": self.splits,
            "cases": self.cases,
        }  # fmt: skip

    @staticmethod
    def of(record: Mapping[str, Any]) -> Bill:
        """The bill that `record` was made of."""
        one, gain = record["heldout"], record["gain"]
        return Bill(
            heldout=Estimate(one["cost"], one["low"], one["high"]),
            tests=one["tests"],
            spend=one["spend"],
            errors=one["errors"],
            planned=record["planned"]["cost"],
            baselines={name: Estimate(e["cost"], e["low"], e["high"]) for name, e in record["baselines"].items()},
            over=gain["over"],
            gain=Estimate(gain["mean"], gain["low"], gain["high"]),
            splits=record["splits"],
            cases=record["cases"],
        )


Values = Callable[[Fold], Array]


def make_bill(cases: Cases, folds: Sequence[Fold], *, group: Ids | None = None) -> Bill:
    """The bill of the policy that was scored on `folds`. group (n,): of each case, where splits went by group."""

    def estimate(values: Values) -> Estimate:
        return mean_over_cases(cases, folds, group, values)

    others = [name for name in folds[0].held if name != POLICY]
    baselines = {name: estimate(partial(_cost, name)) for name in others}
    over = min((name for name in others if name in TRIVIAL), key=lambda name: baselines[name].mean)

    def mean(column: str) -> float:
        return estimate(lambda fold: getattr(fold.held[POLICY], column)).mean

    return Bill(
        heldout=estimate(partial(_cost, POLICY)),
        tests=mean("tests"),
        spend=mean("spend"),
        errors=mean("wrong"),
        planned=float(np.mean([fold.planned for fold in folds])),
        baselines=baselines,
        over=over,
        gain=estimate(lambda fold: _cost(over, fold) - _cost(POLICY, fold)),
        splits=len(folds),
        cases=cases.size,
    )


def sentence(bill: Bill, unit: str) -> str:
    """The verdict with its numbers, in one sentence."""
    one, gain = bill.heldout, bill.gain
    cost = f"{one.mean:,.4g} {unit} a case on cases it had not seen (95%: {one.low:,.4g} to {one.high:,.4g})"
    best = f"{bill.over} ({bill.baselines[bill.over].mean:,.4g})"
    saved = f"{gain.mean:,.4g} (95%: {gain.low:,.4g} to {gain.high:,.4g})"
    if bill.verdict == CARRIES:
        return f"The data carry the model: its policy costs {cost}, less than {best} by {saved}."
    return (
        f"The data do not carry the model: its policy costs {cost}, which is not surely less than {best}; the gain is "
        f"{saved}."
    )


def depth_sentence(depth: Mapping[str, float], unit: str) -> str:
    """Whether looking further ahead than one step paid, in a sentence."""
    saved = f"{depth['mean']:,.4g} {unit} a case (95%: {depth['low']:,.4g} to {depth['high']:,.4g})"
    if depth["mean"] == depth["low"] == depth["high"] == 0:
        return "Looking further ahead than one step changed nothing."
    if depth["low"] > 0:
        return f"Looking further ahead than one step paid: it saved {saved}."
    if depth["high"] < 0:
        return f"Looking further ahead than one step did harm: it saved {saved}."
    return f"Looking further ahead than one step did not surely pay: it saved {saved}."


def _cost(name: str, fold: Fold) -> Array:
    return fold.held[name].cost


def mean_over_cases(cases: Cases, folds: Sequence[Fold], group: Ids | None, values: Values) -> Estimate:
    """Mean and interval of what `values` gives of the cases of each fold."""
    from scipy.stats import t

    total, count = np.zeros(cases.size), np.zeros(cases.size)
    for fold in folds:
        total[fold.test] += values(fold)
        count[fold.test] += 1
    scored = np.flatnonzero(count)
    each, weight = total[scored] / count[scored], cases.weight[scored]
    mean = float(np.average(each, weights=weight))
    unit = np.arange(len(scored)) if group is None else np.unique(group[scored], return_inverse=True)[1]
    apart = np.bincount(unit, weights=weight * (each - mean))
    units = len(apart)
    if units < 2:
        return Estimate(mean, -np.inf, np.inf)
    error = np.sqrt(units / (units - 1) * np.sum(apart**2)) / weight.sum()
    half = float(SPREAD * error * t.ppf((1 + CONFIDENCE) / 2, units - 1))
    return Estimate(mean, mean - half, mean + half)
