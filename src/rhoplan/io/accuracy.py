"""Numbers the way people quote them, as likelihoods, a prior and losses: the arithmetic, once, for files and forms.

    likelihood ratios   LR+ = sens / (1 - spec), LR- = (1 - sens) / spec, hence
                        sens = LR+ (1 - LR-) / (LR+ - LR-), spec = (LR+ - 1) / (LR+ - LR-)
    counts              sens = tp / (tp + fn), spec = tn / (tn + fp)
    groups              P(state) = sum_o share_o P(state | o), P(o | state) = share_o P(state | o) / P(state)
    predictive values   the groups negative and positive, with P(ill | positive) = PPV, P(ill | negative) = 1 - NPV
    threshold t         indifferent where t * miss = (1 - t) * false alarm
    utilities           loss = worth * (best utility in the state - utility)

Shapes: S states, O outcomes or groups, D decisions. Tests of two states have rows for the other state and for the
positive one, the negative outcome first. A ProblemError says what is wrong with the field it carries, and its sentence
begins with the name of that field.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.model.pomdp import ROW_SUM_TOLERANCE, Array

WIDTH = 2 * NormalDist().inv_cdf(0.975)
"""Standard deviations that a 95% interval is wide: 3.92."""

MANY_CASES = 1e6
"""Cases from which on a Beta distribution is taken as normal: they differ by less than one in a thousand of a
standard deviation, which is one in a thousand of the number itself."""


@dataclass(frozen=True)
class Quoted:
    """A likelihood (S, O), and the prior (S,) of the people it was found in."""

    likelihood: Array
    prior: Array


def from_ratios(lr_positive: float, lr_negative: float) -> Array:
    """Likelihood (2, 2) of a test with these likelihood ratios."""
    if not lr_positive > 1:
        rule = "must be above 1: a positive result speaks for the positive state"
        raise ProblemError(
            f"lr_positive {rule}; it is {lr_positive:g}", field=("lr_positive",), code="likelihood-ratio-range"
        )
    if not 0 <= lr_negative < 1:
        rule = "must be from 0 to below 1: a negative result speaks against it"
        raise ProblemError(
            f"lr_negative {rule}; it is {lr_negative:g}", field=("lr_negative",), code="likelihood-ratio-range"
        )
    high, low = lr_positive, lr_negative
    # Each rate by itself: 1 - specificity would be 0 for a large LR+, and a result then a proof.
    return np.array([[high - 1, 1 - low], [low * (high - 1), high * (1 - low)]]) / (high - low)


def from_counts(tp: int, fn: int, fp: int, tn: int) -> Array:
    """Likelihood (2, 2) of a test that was tried on people of whom the truth is known."""
    for first, second, total in (("tp", "fn", tp + fn), ("fp", "tn", fp + tn)):
        if not total:
            raise ProblemError(
                f"{first} and {second} must not both be 0: nobody was tested", field=(first,), code="empty-counts"
            )
    rows: Array = np.array([[tn, fp], [fn, tp]]) / np.array([[tn + fp], [tp + fn]])
    return rows


def from_groups(shares: Array, chances: Array, states: tuple[str, ...]) -> Quoted:
    """A finding that sorts people into groups. shares (O,): of all people; chances (O, S): of the states in a group."""
    total = math.fsum(shares)
    if abs(total - 1) > ROW_SUM_TOLERANCE:
        raise ProblemError(
            f"shares must sum to 1: everybody is in one group; they sum to {total:.10g}",
            field=("shares",),
            code="shares-sum",
        )
    joint: Array = (shares[:, None] * chances).T
    prior = joint.sum(axis=1)
    for state, share in zip(states, prior, strict=True):
        if not share > 0:
            rule = f"chances must give '{state}' a chance in a group that has people"
            raise ProblemError(
                f"{rule}; nobody has it, so what is found in it is unknown",
                field=("chances",),
                code="predictive-value-range",
            )
    return Quoted(joint / prior[:, None], prior / prior.sum())


def from_predictive(ppv: float, npv: float, share_positive: float) -> Quoted:
    """A test of two states by its predictive values and the share of people that it finds positive."""
    if not 0 < share_positive < 1:
        raise ProblemError(
            f"share_positive must be above 0 and below 100%: otherwise one of the results was never seen; it is "
            f"{share_positive:g}",
            field=("share_positive",),
            code="predictive-value-range",
        )
    if ppv == 0 and npv == 1:
        raise ProblemError(
            "ppv must be above 0 where npv is 100%: nobody has the positive state",
            field=("ppv",),
            code="predictive-value-range",
        )
    if ppv == 1 and npv == 0:
        raise ProblemError(
            "ppv must be below 100% where npv is 0: everybody has the positive state",
            field=("ppv",),
            code="predictive-value-range",
        )
    chances = np.array([[npv, 1 - npv], [1 - ppv, ppv]])
    return from_groups(np.array([1 - share_positive, share_positive]), chances, ("other", "positive"))


def threshold_losses(
    threshold: float, *, false_alarm: float | None = None, miss: float | None = None
) -> tuple[float, float]:
    """What a false alarm and a miss cost, where one acts from the chance `threshold` on and knows one of the two."""
    if not 0 < threshold < 1:
        raise ProblemError(
            f"at must be a chance above 0 and below 100%, from which on one acts; it is {threshold:g}",
            field=("at",),
            code="probability-range",
        )
    if (false_alarm is None) == (miss is None):
        what = "neither is given" if miss is None else "both are given"
        raise ProblemError(
            f"false_alarm or miss must be given, one of them: the threshold says the other; {what}",
            field=("miss",),
            code="conflicting-fields",
        )
    if miss is None:
        assert false_alarm is not None
        name, given, other = "false_alarm", false_alarm, false_alarm * (1 - threshold) / threshold
    else:
        name, given, other = "miss", miss, miss * threshold / (1 - threshold)
    if not 0 < given <= LARGEST_REWARD or other > LARGEST_REWARD:
        raise ProblemError(
            f"{name} must be above 0 and of a size that can be reckoned with; it is {given:g}",
            field=(name,),
            code="number-range",
        )
    return (given, other) if miss is None else (other, given)


def utility_losses(utilities: Array, worth: float = 1.0) -> Array:
    """Losses (D, S) beside the best decision of each state. worth: what one of utility is, in the model's unit.

    What no decision can change, the best utility of a state, is left out: it changes no advice.
    """
    if not worth > 0:
        raise ProblemError(f"worth must be above 0; it is {worth:g}", field=("worth",), code="number-range")
    losses: Array = worth * (utilities.max(axis=0) - utilities) + 0.0
    return losses


def cases_of(chance: float, low: float, high: float) -> float:
    """As from how many cases a chance is known whose 95% interval is from `low` to `high`; 0 or less: none has it."""
    return chance * (1 - chance) * (WIDTH / (high - low)) ** 2 - 1


def sd_of(low: float, high: float) -> float:
    """The standard deviation of an amount whose 95% interval is from `low` to `high`."""
    return (high - low) / WIDTH
