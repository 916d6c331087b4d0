"""The true model as an environment: hidden states of a batch of episodes, and what actions do in them.

Simulation steps batches of episodes; `rhoplan.episode` and Gymnasium step one. An action draws its observation from the
hidden state, then the hidden state after it (`belief_math.sampling` has the rules), and pays.

Shapes: n episodes, k of them that take an action, F hidden factors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from rhoplan.belief_math.sampling import RowSampler
from rhoplan.belief_math.transitions import has_observation_axis, paid
from rhoplan.model.pomdp import Action, Array, Ids

Uniforms: TypeAlias = Callable[[Ids], Array]
"""The next uniform random number (k,) of each of some episodes (k,)."""


class Taken(NamedTuple):
    """What an action did: hidden states before it, observations and rewards; each (k,)."""

    before: Ids
    observation: Ids
    reward: Array


class Environment:
    """Episodes of a model. states (n, F): their hidden states. uniforms: their random numbers."""

    def __init__(self, states: Ids, uniforms: Uniforms) -> None:
        self.states, self._uniforms = states, uniforms
        self._samplers: dict[Action, tuple[RowSampler, RowSampler | None]] = {}

    def take(self, action: Action, factor: int, episodes: Ids) -> Taken:
        """Take `action`, which concerns `factor`, in `episodes` (k,), which are distinct."""
        change = action.transition
        if action not in self._samplers:
            self._samplers[action] = RowSampler(action.likelihood), None if change is None else RowSampler(change)
        observing, moving = self._samplers[action]
        before = after = self.states[episodes, factor]
        observation = observing.draw(before, lambda some: self._uniforms(episodes[some]))
        if change is not None and moving is not None:
            row = observation * len(action.reward) + before if has_observation_axis(change) else before
            after = moving.draw(row, lambda some: self._uniforms(episodes[some]))
            self.states[episodes, factor] = after
        reward = action.reward[before] if action.pays is None else paid(action.pays, observation, before, after)
        return Taken(before, observation, reward)
