"""Compiled access to a problem during tree search: sampling, the Bayes update, information gain, terminal rewards.

`update` and `information` are scalar twins of the functions in `belief_math.information`; tests compare them.

Shapes: F hidden factors, S states of the largest one (the rest of a row is 0). `beliefs` (F, S) is a belief about all
factors, `belief` (S,) about one. `truth` (F,) is a sampled hidden state.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rhoplan.belief_math.information import FLOOR, SMALLEST
from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.machine import compiled, entropy
from rhoplan.planning.tree_search.model import Model

# -- actions ----------------------------------------------------------------------------------------------------------


@compiled
def target(model: Model, action: int, observation: int) -> int:
    """The observable state after `observation`; negative at the end of the episode."""
    result: int = model.targets[model.target_first[action] + observation]
    return result


@compiled
def expected_reward(model: Model, action: int, beliefs: Array) -> tuple[float, float]:
    """Expected reward and expected absolute reward of `action`; the latter is the scale of the tie rule."""
    kernel, belief, total, absolute = model.kernel[action], beliefs[model.factor[action]], 0.0, 0.0
    for s in range(model.states[kernel]):
        reward = model.rewards[model.reward[kernel] + s]
        total += belief[s] * reward
        absolute += belief[s] * abs(reward)
    return total, absolute


@compiled
def best_terminal(model: Model, observable: int, beliefs: Array) -> tuple[float, int]:
    """Expected reward and id of the best terminal action, the first if several tie; minus infinity and -1 if none."""
    best, size, taken = -np.inf, 0.0, -1
    for action in range(model.first[observable], model.going[observable]):
        value, absolute = expected_reward(model, action, beliefs)
        if taken < 0 or value > best + RELATIVE_TOLERANCE * max(absolute, size):
            best, size, taken = value, absolute, action
    return best, taken


@compiled
def reward_in(model: Model, action: int, truth: Ids) -> float:
    """The reward of `action` in a hidden state; 0 for action -1, which is none."""
    if action < 0:
        return 0.0
    result: float = model.rewards[model.reward[model.kernel[action]] + truth[model.factor[action]]]
    return result


# -- sampling ---------------------------------------------------------------------------------------------------------


@compiled
def uniform(rng: NDArray[np.uint64]) -> float:
    """A number in [0, 1) from the generator splitmix64, whose whole state is rng[0]."""
    rng[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = rng[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((bits ^ (bits >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@compiled
def draw(probabilities: Array, first: int, end: int, step: int, chance: float) -> int:
    """The place, among first, first + step, ... below `end`, that `chance` in [0, 1) picks in proportion to
    `probabilities`, which sum to 1 there up to rounding; never one whose probability is 0."""
    total, picked = 0.0, -1
    for place in range(first, end, step):
        if probabilities[place] > 0.0:
            picked = place
            total += probabilities[place]
            if total > chance:
                break
    return picked


@compiled
def sample_observation(model: Model, action: int, truth: Ids, rng: NDArray[np.uint64]) -> int:
    """An observation of `action` in the hidden state `truth`, which then makes its transition."""
    kernel, observations, factor = model.kernel[action], model.observations[action], model.factor[action]
    states, state, observation = model.states[kernel], truth[factor], 0
    if observations > 1:
        first = model.likelihood[kernel]
        place = draw(model.likelihoods, first + state, first + observations * states, states, uniform(rng))
        observation = (place - first) // states
    if model.transition[kernel] >= 0:
        row = model.transition[kernel] + observation * states + state
        truth[factor] = model.after[draw(model.probabilities, model.rows[row], model.rows[row + 1], 1, uniform(rng))]
    return observation


# -- beliefs ----------------------------------------------------------------------------------------------------------


@compiled
def update(model: Model, action: int, observation: int, belief: Array, after: Array, joint: Array) -> float:
    """Probability of `observation`; the belief about the factor of `action` is updated and written to `after`.

    The two may be the same. joint (S,): scratch. An impossible observation leaves zeros; a state that is possible
    keeps a probability of at least FLOOR.
    """
    kernel = model.kernel[action]
    states, transition = model.states[kernel], model.transition[kernel]
    likelihood, total = model.likelihood[kernel] + observation * states, 0.0
    for s in range(states):
        held, chance = belief[s], model.likelihoods[likelihood + s]
        joint[s] = max(held * chance, SMALLEST) if held > 0.0 and chance > 0.0 else 0.0
        total += joint[s]
    for s in range(states):
        after[s] = joint[s] if transition < 0 else 0.0
    if transition >= 0:
        for s in range(states):
            if joint[s] > 0.0:
                row = transition + observation * states + s
                for entry in range(model.rows[row], model.rows[row + 1]):
                    after[model.after[entry]] += max(joint[s] * model.probabilities[entry], SMALLEST)
    for s in range(states):
        if after[s] > 0.0:
            after[s] = max(after[s] / total, FLOOR)
    return total


@compiled
def copy(source: Array, target: Array) -> None:
    """Copy beliefs (F, S); for the few numbers of most a loop is faster than slices."""
    for factor in range(source.shape[0]):
        for s in range(source.shape[1]):
            target[factor, s] = source[factor, s]


@compiled
def information(model: Model, action: int, beliefs: Array, scratch: Array) -> float:
    """Expected information gain of `action` in nats. scratch (3, S)."""
    kernel, belief = model.kernel[action], beliefs[model.factor[action]]
    if model.observations[action] <= 1:
        return 0.0
    states, joint, posterior, predicted, after = model.states[kernel], scratch[0], scratch[1], scratch[2], 0.0
    predicted[:states] = 0.0
    for observation in range(model.observations[action]):
        chance = update(model, action, observation, belief, posterior, joint)
        after += chance * entropy(posterior, 0, states)
        for s in range(states):
            predicted[s] += chance * posterior[s]
    before = belief if model.transition[kernel] < 0 else predicted
    return max(entropy(before, 0, states) - after, 0.0)
