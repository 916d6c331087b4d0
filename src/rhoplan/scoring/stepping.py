"""One episode of any policy, step by step, with the published random stream of its seed.

Episode 0 of `simulate` with the same seed takes the same steps: first the hidden state is drawn, then one uniform
number per observation and transition that is not certain (`belief.draws`). A randomised policy has its own stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rhoplan.belief.belief import Belief
from rhoplan.belief.draws import draw_outcome, draw_state
from rhoplan.belief.situation import available
from rhoplan.model.pomdp import END, Action, Problem
from rhoplan.model.transitions import paid, row
from rhoplan.planning.policy import Policy


@dataclass(frozen=True)
class EpisodeStep:
    """One step: the belief before the action, the action, the observation and the reward."""

    number: int
    belief: Belief
    action: str
    observation: str
    reward: float

    def __str__(self) -> str:
        return f"{self.number}. {self.action} -> {self.observation} ({self.reward:+g}); belief {self.belief}"


def episode_steps(
    problem: Problem, policy: Policy, *, seed: int, world: Problem, max_steps: int
) -> Iterator[EpisodeStep]:
    """The steps of an episode in `world`, whose policy believes in `problem`."""
    entropy = seed * 10000
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
    own = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=(1,))))
    state = [draw_state(rng, factor.prior) for factor in world.factors]
    belief = problem.belief()
    for number in range(1, max_steps + 1):
        name = _drawn_action(policy, belief, own)
        action = next(one for one in world.menu(belief.observable) if one.name == name)
        observation, reward = _taken(action, state, rng)
        yield EpisodeStep(number, belief, name, action.outcomes[observation], reward)
        if action.leads_to[observation] is END:
            return
        belief = belief.update(name, action.outcomes[observation])


def _drawn_action(policy: Policy, belief: Belief, rng: np.random.Generator) -> str:
    """The action that `policy` takes; terminal actions come first in the order of a draw."""
    probabilities = policy.probabilities(belief)
    if max(probabilities.values()) >= 1:
        return max(probabilities, key=lambda name: probabilities[name])
    actions = sorted(available(belief.problem, belief.situation), key=lambda action: not action.ends_episode)
    names = [action.name for action in actions]
    shares = np.cumsum([probabilities[name] for name in names])
    return names[min(int(np.count_nonzero(shares / shares[-1] <= rng.random())), len(names) - 1)]


def _taken(action: Action, state: list[int], rng: np.random.Generator) -> tuple[int, float]:
    """The observation and the reward of `action`; changes `state`."""
    before = state[action.factor]
    reward = float(action.reward[before])
    observation = draw_outcome(rng, action.likelihood[before])
    if action.transition is not None:
        state[action.factor] = draw_outcome(rng, row(action.transition, observation, before))
    if action.pays is not None:
        places = (np.array([place]) for place in (observation, before, state[action.factor]))
        reward = float(paid(action.pays, *places)[0])
    return observation, reward
