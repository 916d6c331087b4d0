"""The published random numbers of simulated episodes.

Episode i of seed s draws from PCG64(SeedSequence(s * 10000 + i)): the hidden state of each factor first, then one
uniform number for each observation and each transition that is not certain (`belief_math.sampling`). A randomised
policy draws from a separate stream of the same seed, one number per step. So episodes of two policies are paired, and
two policies that do the same have the same episodes.

Shapes: n episodes, F hidden factors, k episodes that draw.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from rhoplan.belief_math.sampling import state_drawer
from rhoplan.model.pomdp import POMDP, Array, Ids

PUBLISHED_SEEDS = (42, 123, 456, 789, 1024)

STRIDE = 10_000
"""The seed s takes the streams from s * STRIDE on."""

LARGEST_SEED = 10**14

BLOCK = 32
"""Uniform numbers that are drawn at once for an episode, at first."""


class Streams:
    """The streams of the episodes `first` to `last` (not included) of `seed`.

    entropy (n,): what each stream is seeded with. states (n, F): the initial hidden states in `world`.
    """

    def __init__(self, world: POMDP, seed: int, first: int, last: int) -> None:
        drawers = [state_drawer(factor.prior) for factor in world.factors]
        self.entropy: list[int] = list(range(seed * STRIDE + first, seed * STRIDE + last))
        generators = [Generator(PCG64(SeedSequence(entropy))) for entropy in self.entropy]
        self.states: Ids = np.array([[draw(rng) for draw in drawers] for rng in generators], dtype=np.int64)
        self._numbers, self._drawn = _Numbers(generators), np.zeros(len(generators), dtype=np.int64)

    def uniforms(self, episodes: Ids) -> Array:
        """The next number (k,) of each of `episodes` (k,), which are distinct."""
        self._drawn[episodes] += 1
        return self._numbers.at(episodes, self._drawn[episodes] - 1)

    def own(self, episodes: Ids, step: int) -> Array:
        """The number (k,) with which a randomised policy draws its action at `step`."""
        return self._own.at(episodes, np.full(len(episodes), step))

    @cached_property
    def _own(self) -> _Numbers:
        sequences = [SeedSequence(entropy, spawn_key=(1,)) for entropy in self.entropy]
        return _Numbers([Generator(PCG64(sequence)) for sequence in sequences])


class _Numbers:
    """Uniform numbers of several generators by place, drawn in blocks."""

    def __init__(self, generators: list[Generator]) -> None:
        self._generators = generators
        self._numbers = np.empty((len(generators), 0))

    def at(self, rows: Ids, places: Ids) -> Array:
        """The number (k,) at `places` (k,) of `rows` (k,)."""
        drawn = self._numbers.shape[1]
        missing = int(places.max(initial=-1)) + 1 - drawn
        if missing > 0:
            more = [rng.random(max(drawn, BLOCK, missing)) for rng in self._generators]
            self._numbers = np.hstack([self._numbers, more])
        result: Array = self._numbers[rows, places]
        return result
