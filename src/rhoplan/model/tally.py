"""Additive criteria of an episode: counts of actions, hidden states and observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rhoplan.model.pomdp import Action, Array


@dataclass(frozen=True)
class Tally:
    """The number of steps with one of these actions, in one of these hidden states, with one of these outcomes.

    actions: names or kinds. An empty tuple means any.
    """

    actions: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()

    def counts(self, action: Action, states: tuple[str, ...]) -> Array:
        """1 where taking `action` in a state (row) with an outcome (column) counts, else 0."""
        named = not self.actions or action.name in self.actions or action.kind in self.actions
        rows = np.array([not self.states or state in self.states for state in states])
        columns = np.array([not self.outcomes or outcome in self.outcomes for outcome in action.outcomes])
        counted: Array = (named & rows[:, None] & columns).astype(float)
        return counted
