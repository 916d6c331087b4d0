"""The distinct beliefs met about one hidden factor, and where each outcome leads from them.

Beliefs are merged by value (`merging`). In front of that stands a memo of evidence: every outcome adds a token to the
key of the belief it was seen in, so the same evidence in another order has the same key, and its posterior is looked
up instead of computed. Outcomes whose evidence cancels (the two answers of a test that errs alike on both) carry
opposite tokens, outcomes that say the same carry the same token, and an outcome that says nothing carries zero.
"""

from __future__ import annotations

import numpy as np

from rhoplan.information import entropy, update
from rhoplan.planning.merging import KeyIndex, Keys, belief_keys, grown
from rhoplan.problem import Action, Array, Ids

LOG_DIGITS = 12
"""Decimals to which log likelihood ratios must agree to count as the same evidence; noise is near 1e-15."""


class BeliefTable:
    """Beliefs by id, in order of appearance. With `permutations`, a group, beliefs of one orbit share an id."""

    def __init__(self, permutations: Ids | None = None) -> None:
        self.permutations = permutations
        self.size = 0
        self._index = KeyIndex()
        self._beliefs: Array = np.empty((0, 0))
        self._entropy: Array = np.empty(0)
        self._evidence: Keys = np.empty(0, dtype=np.uint64)
        self._memo = KeyIndex()
        self._memo_ids: Ids = np.empty(0, dtype=np.int64)
        self._tokens: dict[int, tuple[Action, Keys]] = {}
        self._token_of: dict[bytes, int] = {}
        # Tokens are added up, so they must be random: mixed counters had sums that met (twice one was another).
        self._random = np.random.Generator(np.random.PCG64(20240608))

    @property
    def beliefs(self) -> Array:
        return self._beliefs[: self.size]

    @property
    def entropy(self) -> Array:
        return self._entropy[: self.size]

    def intern(self, beliefs: Array, evidence: Keys | None = None) -> Ids:
        """Id (n,) of each belief (n, S); `evidence` (n,) is the key under which it was found, if by evidence."""
        ids, fresh = self._index.identify(belief_keys(beliefs, self.permutations))
        if fresh.size:
            if not self.size:
                self._beliefs = np.empty((0, beliefs.shape[1]))
            start, self.size = self.size, self.size + len(fresh)
            for name in ("_beliefs", "_entropy", "_evidence"):
                setattr(self, name, grown(getattr(self, name), self.size, 0))
            new = slice(start, self.size)
            self._beliefs[new] = beliefs[fresh]
            self._entropy[new] = entropy(beliefs[fresh])
            self._evidence[new] = self._draw(len(fresh)) if evidence is None else evidence[fresh]
        return ids

    def follow(self, ids: Ids, action: Action) -> tuple[Array, Ids]:
        """Probability (n, O) of each outcome of `action` at beliefs `ids`, and the id (n, O) of the belief after it.

        An outcome of probability zero leads to id 0, which means nothing.
        """
        if action.transition is None and len(action.outcomes) == 1:
            return np.ones((len(ids), 1)), ids[:, None]
        beliefs = self.beliefs[ids]
        if action.transition is not None:
            probability, posterior = update(beliefs, action)
            after = np.zeros(probability.shape, dtype=np.int64)
            after[probability > 0] = self.intern(posterior[probability > 0])
            return probability, after
        probability = beliefs @ action.likelihood
        keys = self._evidence[ids][:, None] + self._tokens_of(action)
        possible = probability > 0
        places, fresh = self._memo.identify(keys[possible])
        if fresh.size:
            rows, outcomes = (axis[fresh] for axis in np.nonzero(possible))
            distinct, place = np.unique(rows, return_inverse=True)
            posterior = update(beliefs[distinct], action)[1][place, outcomes]
            self._memo_ids = grown(self._memo_ids, self._memo.size, 0)
            self._memo_ids[places[fresh]] = self.intern(posterior, keys[rows, outcomes])
        after = np.zeros(probability.shape, dtype=np.int64)
        after[possible] = self._memo_ids[places]
        return probability, after

    def _draw(self, count: int) -> Keys:
        return self._random.integers(0, 2**64, size=count, dtype=np.uint64)

    def _tokens_of(self, action: Action) -> Keys:
        """The token (O,) that each outcome of `action` adds to the key of evidence."""
        known = self._tokens.get(id(action))
        if known is None:
            tokens = np.array([self._token(column) for column in action.likelihood.T], dtype=np.uint64)
            known = self._tokens[id(action)] = (action, tokens)  # holding the action keeps its id its own
        return known[1]

    def _token(self, column: Array) -> int:
        possible = column > 0
        if not possible.any():
            return 0
        logs = np.log(column[possible])
        ratios = np.full(len(column), -np.inf)
        ratios[possible] = np.round(logs - logs[0], LOG_DIGITS) + 0.0
        if not ratios.any():
            return 0
        key = ratios.tobytes()
        if key not in self._token_of:
            token = int(self._draw(1)[0])
            self._token_of[key] = token
            if possible.all():
                self._token_of[(-ratios + 0.0).tobytes()] = (2**64 - token) % 2**64
        return self._token_of[key]
