"""Bayes' rule, entropy and expected information gain, on arrays with a leading batch axis.

    posterior   b'_o(s) = P(o | s) b(s) / P(o | b)                     (then moved by the transition, if any)
    information I(b)    = H(b) - sum_o P(o | b) H(b'_o)      in nats   (I_k(b) of Proposition 1)

If information is about diagnoses, H is the entropy of their probabilities (`Factor.about`), which is concave in b, too.

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
"""The smallest probability of a possible state: far above the subnormal numbers, which lose digits."""

SMALLEST = float(np.finfo(float).tiny)

NEARLY_SURE = 0.999
"""Probability p from which ln p is computed as log1p of minus the sum of the other probabilities."""


def entropy(beliefs: Array) -> Array:
    """Entropy in nats along the last axis; 0 ln 0 is 0.

    If one state is nearly certain, the others determine the log of its probability: a small entropy keeps its digits.
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

    The belief after an outcome of probability zero is a row of zeros. A possible state keeps a probability of at least
    FLOOR, so that later observations can restore it.
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
    """Belief (n, S) about the state after `action`, without its observation."""
    if action.transition is None:
        return beliefs
    return mixed(beliefs, action.likelihood, action.transition)


def information(beliefs: Array, action: Action, factor: Factor | None = None) -> Array:
    """Expected information (n,), in nats, that the outcome of `action` gives about the state after it.

    factor: the factor of the action, which says whether information is about diagnoses.
    """
    probability, posterior = update(beliefs, action)
    before = predict(beliefs, action)
    if factor is not None:
        before, posterior = factor.about(before), factor.about(posterior)
    return gain(entropy(before), probability, entropy(posterior))


def coupling(beliefs: Array, action: Action) -> Array:
    """The coupling term (n,) of Proposition 3, in nats: E_o KL(b'_{o,T} || b'_o), from the belief after the outcome
    of `action` alone to the one after outcome and transition.

    Zero if the hidden state is preserved (then the EFE equivalence holds); infinite if the action leads to states of
    probability zero.
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
