"""The honest bill: what a case costs when the policy has never seen it, beside what needs no plan.

Intervals are Nadeau and Bengio's for repeated cross-validation: splits share training cases, so that the variance of
their means, s^2, counts (1 / J + m / n) times instead of 1 / J, for J splits that test m cases by what n have taught.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhoplan.learn.baselines import TRIVIAL
from rhoplan.learn.cases import Cases
from rhoplan.learn.folds import POLICY, Fold
from rhoplan.model.problem import Array

CONFIDENCE = 0.95

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


def make_bill(cases: Cases, folds: Sequence[Fold]) -> Bill:
    """The bill of the policy that was scored on `folds`."""
    others = [name for name in folds[0].held if name != POLICY]
    baselines = {name: _estimate(cases, folds, lambda fold, name=name: fold.held[name].cost) for name in others}
    over = min((name for name in others if name in TRIVIAL), key=lambda name: baselines[name].mean)

    def mean(column: str) -> float:
        return _estimate(cases, folds, lambda fold: getattr(fold.held[POLICY], column)).mean

    return Bill(
        heldout=_estimate(cases, folds, lambda fold: fold.held[POLICY].cost),
        tests=mean("tests"),
        spend=mean("spend"),
        errors=mean("wrong"),
        planned=float(np.mean([fold.planned for fold in folds])),
        baselines=baselines,
        over=over,
        gain=_estimate(cases, folds, lambda fold: fold.held[over].cost - fold.held[POLICY].cost),
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


def _estimate(cases: Cases, folds: Sequence[Fold], values: Any) -> Estimate:
    """Mean and interval of what `values` gives of each fold's cases."""
    from scipy.stats import t

    means = np.array([np.average(values(fold), weights=cases.weight[fold.test]) for fold in folds])
    sizes = np.array([cases.weight[fold.test].sum() for fold in folds])
    mean = float(np.average(means, weights=sizes))
    if len(folds) < 2:
        return Estimate(mean, -np.inf, np.inf)
    ratio = float(np.mean([len(fold.test) / fold.trained for fold in folds]))
    half = t.ppf((1 + CONFIDENCE) / 2, len(folds) - 1) * np.sqrt((1 / len(folds) + ratio) * _variance(means))
    return Estimate(mean, mean - float(half), mean + float(half))


def _variance(means: Array) -> float:
    return float(means.var(ddof=1))
