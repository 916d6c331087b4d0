"""Replaying real cases: a policy asks for a test, the case shows its result, and in the end the true diagnosis pays.

A blank is a test that cannot be had: it costs nothing and tells nothing, it is not offered again, nor is what waits for
it. Cases walk side by side; those with the same results so far are looked at once.

Shapes: n cases, T tests, S states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rhoplan.agents.agent import BoundAgent
from rhoplan.learning.ahead import Ahead
from rhoplan.model.pomdp import POMDP, Array, Ids

NOT_ASKED = -2


@dataclass(frozen=True, eq=False)
class Replayed:
    """For each case: spend (n,), commit (n,), which tests were run (n, T), and the belief (n, S) at the end."""

    spend: Array
    commit: Ids
    asked: Array
    belief: Array

    @property
    def tests(self) -> Array:
        """How many tests (n,) were run."""
        total: Array = self.asked.sum(axis=1)
        return total

    def expected_loss(self, losses: Array) -> Array:
        """What (n,) the beliefs at the end expect the commits to cost. losses (E, S): of commits in states."""
        expected: Array = (losses[self.commit] * self.belief).sum(axis=1)
        return expected


def replay(problem: POMDP, agent: BoundAgent, outcomes: Ids) -> Replayed:
    """What `agent`, whose model is `problem`, does in cases whose tests would come out as `outcomes` (n, T), -1: blank.

    Not covered: agents that sample, tests that can be repeated, panels.
    """
    ahead, cases = Ahead(problem, agent), len(outcomes)
    standing, belief = ahead.begin(cases), np.tile(problem.prior, (cases, 1))
    results = np.full(outcomes.shape, NOT_ASKED, dtype=np.int16)
    spend, commit = np.zeros(cases), np.zeros(cases, dtype=np.int64)
    going = np.arange(cases)
    while going.size:
        first, same = _alike(results[going])
        tests, ends = ahead.choices(belief[going[first]], standing.of(going[first]))
        test, commit[going] = tests[same], ends[same]
        going, test = going[test >= 0], test[test >= 0]
        price = ahead.prices(standing.of(going))
        for asked in np.unique(test).tolist():
            here = going[test == asked]
            told = outcomes[here, asked] >= 0
            for cases_here, step in ((here[told], ahead.after), (here[~told], ahead.without)):
                standing.put(cases_here, step(standing.of(cases_here), asked))
            spend[here[told]] += price[test == asked, asked][told]
            results[here, asked] = outcomes[here, asked]
            seen = belief[here[told]] * ahead.likelihood[:, ahead.first[asked] + outcomes[here[told], asked]].T
            belief[here[told]] = seen / seen.sum(axis=1, keepdims=True)
    return Replayed(spend, commit, (results >= 0).astype(float), belief)


def _alike(results: NDArray[np.int16]) -> tuple[Ids, Ids]:
    """One case (m,) of each kind of results (n, T), and the kind (n,) of each."""
    rows = np.ascontiguousarray(results).view(f"V{results.itemsize * results.shape[1]}").ravel()
    _, first, same = np.unique(rows, return_index=True, return_inverse=True)
    return first, same.ravel()
