"""The published random streams of episodes; `simulate` says which numbers are drawn for what."""

from __future__ import annotations

import numpy as np

from rhoplan.belief.draws import state_drawer
from rhoplan.model.pomdp import Array, Ids

BLOCK = 32
"""Uniform numbers drawn per episode at first; an episode that needs more draws its stream again, twice as long."""


class Streams:
    """The published random stream of each episode of a chunk."""

    def __init__(self, priors: tuple[Array, ...], seed: int, first: int, last: int, *, own: bool) -> None:
        self._drawers = [state_drawer(prior) for prior in priors]
        self.entropy = seed * 10000 + np.arange(first, last)
        self.states = np.empty((last - first, len(priors)), dtype=np.int64)
        self._drawn = np.empty((last - first, BLOCK))
        self._filled = np.full(last - first, BLOCK)
        for row in range(last - first):
            self._draw(row, BLOCK)
        self._own = np.empty((last - first, 0)) if own else None

    def uniforms(self, walkers: Ids, places: Ids) -> Array:
        """The uniform number (n,) at `places` in the streams of the episodes `walkers`."""
        short = walkers[places >= self._filled[walkers]]
        if short.size:
            width = self._drawn.shape[1]
            if places.max() >= width:
                self._drawn = np.concatenate([self._drawn, np.empty_like(self._drawn)], axis=1)
                width *= 2
            for row in short.tolist():
                self._draw(row, width)
            self._filled[short] = width
        return self._drawn[walkers, places]

    def _draw(self, row: int, width: int) -> None:
        """The hidden states of the episode in this row, and the first `width` numbers of its stream."""
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(int(self.entropy[row]))))
        self.states[row] = [draw(generator) for draw in self._drawers]
        self._drawn[row] = generator.random(width)

    def own_uniforms(self, walkers: Ids, step: int) -> Array:
        """The `step`-th number (n,) of the agent's own stream in the episodes `walkers`."""
        assert self._own is not None
        if step >= self._own.shape[1]:
            self._own = np.empty((len(self._own), max(BLOCK, 2 * self._own.shape[1])))
            for row in walkers.tolist():
                sequence = np.random.SeedSequence(int(self.entropy[row]), spawn_key=(1,))
                self._own[row] = np.random.Generator(np.random.PCG64(sequence)).random(self._own.shape[1])
        result: Array = self._own[walkers, step]
        return result
