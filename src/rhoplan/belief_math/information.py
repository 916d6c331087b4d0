"""The one Bayes update and the one information gain, on arrays with a leading batch axis.

    posterior   b'_o(s) = P(o | s) b(s) / P(o | b)                     (then moved by the transition, if any)
    information I(b)    = H(b) - sum_o P(o | b) H(b'_o)      in nats   (I_k(b) of Proposition 1)

Where information is about diagnoses, H is the entropy of their chances (`Factor.asked`), as concave in b as H(b) is.

Shapes: n beliefs in the batch, S hidden states, O outcomes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rhoplan.belief_math.transitions import Array, mixed, moved

if TYPE_CHECKING:
    from rhoplan.model.pomdp import Action, Factor

NATS_PER_BIT = math.log(2.0)

FLOOR = 1e-300
"""The smallest probability of a state that is possible: far above where floats lose digits."""

SMALLEST = float(np.finfo(float).tiny)

NEARLY_SURE = 0.999
"""Probability from which its log is taken from the rest: a thousand times the rounding of a float is left below it."""


def entropy(beliefs: Array) -> Array:
    """Entropy in nats along the last axis; 0 ln 0 is 0.

    Where one state is nearly certain, the log of its probability comes from what is left for the others: the entropy
    keeps its digits, however small it is.
    """
    logs = np.log(beliefs, out=np.zeros_like(beliefs), where=beliefs > 0)
    sure = beliefs > NEARLY_SURE
    if sure.any():
        rows = sure.any(axis=-1)
        rest = np.where(sure[rows], 0.0, beliefs[rows]).sum(axis=-1)
        logs[sure] = np.log1p(-rest)
    result: Array = -np.einsum("...s,...s->...", beliefs, logs)
    return result


def update(beliefs: Array, action: Action) -> tuple[Array, Array]:
    """Probability (n, O) of each outcome and the belief (n, O, S) after it, for beliefs (n, S).

    The belief after an outcome of probability zero is a row of zeros: nobody can hold it. A state that is possible
    keeps a probability of at least FLOOR, so that later observations can restore it.
    """
    joint = beliefs[:, None, :] * action.likelihood.T
    floors = np.min(beliefs, initial=1.0, where=beliefs > 0) * action.least_likelihood < FLOOR
    if floors:
        possible = (beliefs[:, None, :] > 0) & (action.likelihood.T > 0)
        joint = np.where(possible, np.maximum(joint, SMALLEST), 0.0)
    probability = joint.sum(axis=-1)
    posterior = np.divide(joint, probability[..., None], out=np.zeros_like(joint), where=probability[..., None] > 0)
    if floors:
        posterior = np.where(possible, np.maximum(posterior, FLOOR), 0.0)
    if action.transition is not None:
        before, posterior = posterior, moved(posterior, action.transition)
        if floors:
            possible = moved((before > 0).astype(float), action.transition) > 0
            posterior = np.where(possible, np.maximum(posterior, FLOOR), 0.0)
    return probability, posterior


def predict(beliefs: Array, action: Action) -> Array:
    """Belief (n, S) about the state after `action`, before its outcome is seen."""
    if action.transition is None:
        return beliefs
    return mixed(beliefs, action.likelihood, action.transition)


def information(beliefs: Array, action: Action, factor: Factor | None = None) -> Array:
    """Expected information (n,), in nats, that the outcome of `action` gives about the state after it.

    factor: the one that the action concerns, where its information may be about diagnoses.
    """
    probability, posterior = update(beliefs, action)
    before = predict(beliefs, action)
    if factor is not None:
        before, posterior = factor.asked(before), factor.asked(posterior)
    return gain(entropy(before), probability, entropy(posterior))


def coupling(beliefs: Array, action: Action) -> Array:
    """The coupling term (n,) of Proposition 3, in nats: how far, on average, the belief after `action` lies from the
    belief that its outcome alone would give, E_o KL(b'_{o,T} || b'_o).

    Zero where the hidden state is preserved: there the EFE equivalence holds. Infinite where the action leads to states
    that were ruled out.
    """
    if action.transition is None:
        return np.zeros(len(beliefs))
    probability, moved = update(beliefs, action)
    _, still = update(beliefs, replace(action, transition=None))
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(moved > 0, moved * np.log(moved / still), 0.0)
    result: Array = (probability * parts.sum(axis=-1)).sum(axis=-1)
    return np.maximum(result, 0.0)


def gain(before: Array, probability: Array, after: Array) -> Array:
    """Information (n,) from entropies before (n,) and after each outcome (n, O). Never below zero."""
    result: Array = np.maximum(before - np.einsum("...o,...o->...", probability, after), 0.0)
    return result


def per_nat(weight: float, unit: str) -> float:
    """`weight` as reward per nat: 1 per bit is 1 / ln 2 = 1.44 per nat."""
    if unit == "nats":
        return weight
    if unit == "bits":
        return weight / NATS_PER_BIT
    raise ValueError(f"unit of information must be nats or bits, not '{unit}'")
