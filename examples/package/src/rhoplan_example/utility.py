"""A utility of beliefs: the probability of the most probable state."""

import numpy as np

import rhoplan as rp


def confidence(beliefs: np.ndarray, action: rp.Action) -> np.ndarray:
    """The probability of the most probable state, at every action."""
    return beliefs.max(axis=1)
