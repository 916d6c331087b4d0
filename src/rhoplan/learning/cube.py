"""CUBE and CUBE-NM: tables with many features of which few tell the class, drawn from their definition.

CUBE: class k of 8 writes its 3-bit code on features k to k+2 of 20, with noise of standard deviation .3; every other
feature is N(.5, .3). Features are independent given the class. CUBE-NM: five contexts, told by 5 one-hot features with
noise .1; of five blocks of 10 features the block of the case's context holds the code, at (k to k+2) mod 10. Here no
feature tells anything unless the context is known.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array, Ids

CLASSES, BITS = 8, 3
NOISE, NOISE_OF_CONTEXT = 0.3, 0.1
FEATURES, CONTEXTS, BLOCK = 20, 5, 10


def draw_cube(cases: int, generator: np.random.Generator) -> tuple[Array, Ids]:
    """Features (n, 20) and classes (n,) of CUBE."""
    classes = generator.integers(CLASSES, size=cases)
    features = generator.normal(0.5, NOISE, size=(cases, FEATURES))
    for bit in range(BITS):
        features[np.arange(cases), classes + bit] += ((classes >> bit) & 1) - 0.5
    return features, classes


def draw_cube_nm(cases: int, generator: np.random.Generator) -> tuple[Array, Ids]:
    """Features (n, 55) and classes (n,) of CUBE-NM: the context's five, then the five blocks."""
    classes, context = generator.integers(CLASSES, size=cases), generator.integers(CONTEXTS, size=cases)
    told = (context[:, None] == np.arange(CONTEXTS)) + generator.normal(0.0, NOISE_OF_CONTEXT, size=(cases, CONTEXTS))
    features = generator.normal(0.5, NOISE, size=(cases, CONTEXTS * BLOCK))
    for bit in range(BITS):
        features[np.arange(cases), context * BLOCK + (classes + bit) % BLOCK] += ((classes >> bit) & 1) - 0.5
    return np.hstack([told, features]), classes
