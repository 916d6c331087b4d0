"""The distinct beliefs met about one hidden factor, and where each outcome leads from them.

Beliefs are merged by value (`merging`). In front of that stands a memo of evidence: every outcome adds a token to the
key of the belief it was seen in, so the same evidence in another order has the same key, and its posterior is looked
up instead of computed. Outcomes whose evidence cancels (the two answers of a test that errs alike on both) carry
opposite tokens, outcomes that say the same carry the same token, and an outcome that says nothing carries zero.

Tokens are 128 bits, drawn anew in each process. Two different items of evidence have the same sum only by a chance of
2^-128 (times 4 for each factor of two that all their counts differ by), whatever the model: among the six million
situations that a graph may hold, by one below 1e-20.

Kept for advice; their rebuild deletes it.
"""

from __future__ import annotations

import numpy as np

from rhoplan._old.merging import SECRET, Keys, RowIndex, grown, numbered, orbit_keys, rounded, row_keys
from rhoplan.belief_math.information import FLOOR, entropy, update
from rhoplan.model.pomdp import Action, Array, Factor, Ids

LOG_DIGITS = 12
"""Decimals to which log likelihood ratios must agree to count as the same evidence; noise is near 1e-15."""


class BeliefTable:
    """Beliefs by id, in order of appearance. With `permutations`, a group, beliefs of one orbit share an id.

    factor: what beliefs are about, where information may be about diagnoses: entropies are of what it is about.
    """

    def __init__(self, permutations: Ids | None = None, factor: Factor | None = None) -> None:
        self.permutations, self._factor = permutations, factor
        self.size = 0
        self._index = RowIndex()
        self._beliefs: Array = np.empty((0, 0))
        self._entropy: Array = np.empty(0)
        self._turn: Ids = np.empty(0, dtype=np.int64)
        self._least = 1.0
        self._evidence: Keys = np.empty(0, dtype=np.uint64)
        self._proof: Keys = np.empty(0, dtype=np.uint64)
        self._memo = RowIndex()
        self._memo_proofs: Keys = np.empty((0, 1), dtype=np.uint64)
        self._memo_ids: Ids = np.empty(0, dtype=np.int64)
        self._tokens: dict[int, tuple[Action, Keys]] = {}
        self._token_of: dict[bytes, Keys] = {}

    @property
    def beliefs(self) -> Array:
        return self._beliefs[: self.size]

    @property
    def entropy(self) -> Array:
        return self._entropy[: self.size]

    def intern(self, beliefs: Array) -> Ids:
        """Id (n,) of each belief (n, S)."""
        return self._intern(beliefs)

    def follow(self, ids: Ids, action: Action) -> tuple[Array, Ids]:
        """Probability (n, O) of each outcome of `action` at beliefs `ids`, and the id (n, O) of the belief after it.

        An impossible outcome leads to id -1.
        """
        if action.transition is None and len(action.outcomes) == 1:
            return np.ones((len(ids), 1)), ids[:, None]
        beliefs = self.beliefs[ids]
        # Floors depend on the order of observations: then a belief is found by its numbers, not by its evidence.
        if action.transition is not None or self._least * action.least_likelihood < FLOOR:
            probability, posterior = update(beliefs, action)
            after = np.full(probability.shape, -1)
            after[probability > 0] = self._intern(posterior[probability > 0])
            return probability, after
        probability = beliefs @ action.likelihood
        possible = probability > 0
        tokens = self._tokens_of(action)
        keys = (self._evidence[ids][:, None] + tokens[:, 0])[possible]
        proofs = (self._proof[ids][:, None] + tokens[:, 1])[possible][:, None]
        places, fresh = self._memo.identify(keys, proofs, self._memo_proofs.__getitem__)
        if fresh.size:
            rows, outcomes = (axis[fresh] for axis in np.nonzero(possible))
            if 2 * len(fresh) > len(keys):
                posterior = update(beliefs, action)[1][rows, outcomes]
            else:
                single, place = numbered(rows, len(beliefs))
                posterior = update(beliefs[single], action)[1][place, outcomes]
            self._memo_proofs = grown(self._memo_proofs, self._memo.size, 0)
            self._memo_ids = grown(self._memo_ids, self._memo.size, 0)
            self._memo_proofs[places[fresh]] = proofs[fresh]
            self._memo_ids[places[fresh]] = self._intern(posterior, (keys[fresh], proofs[fresh, 0]))
        after = np.full(probability.shape, -1)
        after[possible] = self._memo_ids[places]
        return probability, after

    def _intern(self, beliefs: Array, evidence: tuple[Keys, Keys] | None = None) -> Ids:
        """Id (n,) of each belief (n, S); evidence: key (n,) and proof (n,) under which it was found, if by evidence."""
        rows = rounded(beliefs)
        turn = None
        if self.permutations is None:
            keys = row_keys(rows)
        else:
            keys, turn = orbit_keys(rows, self.permutations)
            rows = np.take_along_axis(rows, self.permutations[turn], axis=1)
        ids, fresh = self._index.identify(keys, rows, self._rows)
        if fresh.size:
            if not self.size:
                self._beliefs = np.empty((0, beliefs.shape[1]))
            start, self.size = self.size, self.size + len(fresh)
            for name in ("_beliefs", "_entropy", "_evidence", "_proof", *(["_turn"] if turn is not None else [])):
                setattr(self, name, grown(getattr(self, name), self.size, 0))
            new, added = slice(start, self.size), beliefs[fresh]
            self._beliefs[new] = added
            self._entropy[new] = entropy(added if self._factor is None else self._factor.about(added))
            key, proof = self._draw(len(fresh)).T if evidence is None else (evidence[0][fresh], evidence[1][fresh])
            self._evidence[new], self._proof[new] = key, proof
            if turn is not None:
                self._turn[new] = turn[fresh]
            least = float(added.min())
            self._least = min(self._least, least or float(np.min(added, initial=1.0, where=added > 0)))
        return ids

    def _rows(self, ids: Ids) -> Keys:
        """What the beliefs `ids` are recognised by (n, S)."""
        rows = rounded(self._beliefs[ids])
        if self.permutations is None:
            return rows
        return np.take_along_axis(rows, self.permutations[self._turn[ids]], axis=1)

    def _draw(self, count: int) -> Keys:
        return SECRET.integers(0, 2**64, size=(count, 2), dtype=np.uint64)

    def _tokens_of(self, action: Action) -> Keys:
        """The token (O, 2) that each outcome of `action` adds to the key of evidence."""
        known = self._tokens.get(id(action))
        if known is None:
            tokens = np.stack([self._token(column) for column in action.likelihood.T])
            known = self._tokens[id(action)] = (action, tokens)  # holding the action keeps its id its own
        return known[1]

    def _token(self, column: Array) -> Keys:
        possible = column > 0
        nothing = np.zeros(2, dtype=np.uint64)
        if not possible.any():
            return nothing
        logs = np.log(column[possible])
        ratios = np.full(len(column), -np.inf)
        ratios[possible] = np.round(logs - logs[0], LOG_DIGITS) + 0.0
        if not ratios.any():
            return nothing
        key = ratios.tobytes()
        if key not in self._token_of:
            self._token_of[key] = token = self._draw(1)[0]
            if possible.all():
                self._token_of[(-ratios + 0.0).tobytes()] = nothing - token
        return self._token_of[key]
