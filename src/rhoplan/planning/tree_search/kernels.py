"""Compiled access to a problem during tree search: sampling, the Bayes update, information gain, terminal rewards.

`update` and `information` are scalar twins of the functions in `belief_math.information`; tests compare them.

Shapes: S states of the largest hidden factor, O observations of an action. A belief is one row of numbers, those of
factor f from f * S on; `at` is the place of the row of one factor within an array, `base` that of a whole belief.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhoplan.belief_math.information import FLOOR, SMALLEST
from rhoplan.graph.action_table import UNKNOWN
from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.machine import compiled, entropy, handed


@handed
class Model(NamedTuple):
    """The part of a problem that has been explored, with the ids of `graph.action_table.ActionTable`.

    By observable state: `first` action, `action_count`, `terminal_count`; terminal actions come first. By action:
    `kernel`, `factor`, `observations` (their number), `branch_offset`, `target_first` (place in `targets`). By kernel:
    number of `states`, and where `reward` (S,), `likelihood` (O, S), its `cumulative` sums (S, O) and `transition`
    begin in `numbers`; a transition of -1 preserves the state. A transition has a row for each observation and state:
    where the rows begin (O * S + 1 numbers), then for all entries the next states, their probabilities, and these
    summed up along a row. `stride` is S, and `width` the length of a belief.
    """

    first: Ids
    action_count: Ids
    terminal_count: Ids
    kernel: Ids
    factor: Ids
    observations: Ids
    branch_offset: Ids
    target_first: Ids
    targets: Ids
    states: Ids
    reward: Ids
    likelihood: Ids
    cumulative: Ids
    transition: Ids
    numbers: Array
    stride: int
    width: int


# -- actions ----------------------------------------------------------------------------------------------------------


@compiled
def going(model: Model, observable: int) -> int:
    """Number of actions that do not end the episode."""
    result: int = model.action_count[observable] - model.terminal_count[observable]
    return result


@compiled
def is_explored(model: Model, observable: int) -> bool:
    """Whether the observable states that follow this one, and their actions, are known."""
    if going(model, observable) == 0:
        return True
    action = model.first[observable] + model.terminal_count[observable]
    known: bool = model.targets[model.target_first[action]] != UNKNOWN
    return known


@compiled
def target(model: Model, action: int, observation: int) -> int:
    """The observable state after `observation`; negative at the end of the episode."""
    result: int = model.targets[model.target_first[action] + observation]
    return result


@compiled
def row_of(model: Model, action: int) -> int:
    """Where the belief about the factor of `action` begins within a belief."""
    result: int = model.factor[action] * model.stride
    return result


@compiled
def expected_reward(model: Model, action: int, belief: Array, base: int) -> float:
    """Expected reward of `action` under the belief at belief[base]."""
    row, kernel, total = base + row_of(model, action), model.kernel[action], 0.0
    for s in range(model.states[kernel]):
        total += belief[row + s] * model.numbers[model.reward[kernel] + s]
    return total


@compiled
def absolute_reward(model: Model, action: int, belief: Array, base: int) -> float:
    """Expected absolute reward of `action`: the scale of the tie rule."""
    row, kernel, total = base + row_of(model, action), model.kernel[action], 0.0
    for s in range(model.states[kernel]):
        total += belief[row + s] * abs(model.numbers[model.reward[kernel] + s])
    return total


@compiled
def best_terminal(model: Model, observable: int, belief: Array, base: int) -> tuple[float, int]:
    """Expected reward and id of the best terminal action, the first if several tie; minus infinity and -1 if none."""
    best, size, taken = -np.inf, 0.0, -1
    first = model.first[observable]
    for action in range(first, first + model.terminal_count[observable]):
        value = expected_reward(model, action, belief, base)
        if value > best:
            absolute = absolute_reward(model, action, belief, base)
            if taken < 0 or value > best + RELATIVE_TOLERANCE * max(absolute, size):
                best, size, taken = value, absolute, action
    return best, taken


@compiled
def reward_in(model: Model, action: int, truth: Ids) -> float:
    """The reward of `action` in the sampled hidden state `truth`."""
    result: float = model.numbers[model.reward[model.kernel[action]] + truth[row_of(model, action)]]
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
def draw(cumulative: Array, at: int, rng: NDArray[np.uint64]) -> int:
    """A position drawn from the cumulative probabilities that start at `at` and reach exactly 1."""
    chance, place = uniform(rng), 0
    while cumulative[at + place] <= chance:
        place += 1
    return place


@compiled
def sample_observation(model: Model, action: int, truth: Ids, rng: NDArray[np.uint64]) -> int:
    """An observation of `action` in the sampled hidden state `truth`, which then makes its transition."""
    kernel, observations, row = model.kernel[action], model.observations[action], row_of(model, action)
    states, transition, observation = model.states[kernel], model.transition[kernel], 0
    if observations > 1:
        observation = draw(model.numbers, model.cumulative[kernel] + truth[row] * observations, rng)
    if transition >= 0:
        columns = transition + observations * states + 1
        entries = int(model.numbers[columns - 1])
        first = columns + int(model.numbers[transition + observation * states + truth[row]])
        truth[row] = int(model.numbers[first + draw(model.numbers, first + 2 * entries, rng)])
    return observation


# -- beliefs ----------------------------------------------------------------------------------------------------------


@compiled
def update(
    model: Model, action: int, observation: int, before: Array, at: int, after: Array, to: int, joint: Array
) -> float:
    """Probability of `observation`; the belief about one factor at before[at] is updated and written to after[to].

    The two may be the same place. joint: room for S numbers. An impossible observation leaves zeros; a state that is
    possible keeps a probability of at least FLOOR.
    """
    kernel = model.kernel[action]
    states, transition = model.states[kernel], model.transition[kernel]
    likelihood, total = model.likelihood[kernel] + observation * states, 0.0
    for s in range(states):
        held, chance = before[at + s], model.numbers[likelihood + s]
        joint[s] = max(held * chance, SMALLEST) if held > 0.0 and chance > 0.0 else 0.0
        total += joint[s]
    for s in range(states):
        after[to + s] = joint[s] if transition < 0 else 0.0
    if transition >= 0:
        columns = transition + model.observations[action] * states + 1
        entries = int(model.numbers[columns - 1])
        for s in range(states):
            if joint[s] > 0.0:
                row = transition + observation * states + s
                for entry in range(columns + int(model.numbers[row]), columns + int(model.numbers[row + 1])):
                    moved = joint[s] * model.numbers[entry + entries]
                    after[to + int(model.numbers[entry])] += max(moved, SMALLEST)
    for s in range(states):
        if after[to + s] > 0.0:
            after[to + s] = max(after[to + s] / total, FLOOR)
    return total


@compiled
def copy(source: Array, at: int, to_array: Array, to: int, count: int) -> None:
    """Copy `count` numbers; for the few of a belief a loop is faster than slices."""
    for place in range(count):
        to_array[to + place] = source[at + place]


@compiled
def information(model: Model, action: int, beliefs: Array, base: int, rows: Array) -> float:
    """Expected information gain of `action` in nats under the belief at beliefs[base]. rows: room for 3 S numbers."""
    kernel, observations, at = model.kernel[action], model.observations[action], base + row_of(model, action)
    if observations == 1:
        return 0.0
    states = model.states[kernel]
    posterior, predicted = states, 2 * states
    rows[predicted : predicted + states] = 0.0
    after = 0.0
    for observation in range(observations):
        chance = update(model, action, observation, beliefs, at, rows, posterior, rows)
        after += chance * entropy(rows, posterior, states)
        for s in range(states):
            rows[predicted + s] += chance * rows[posterior + s]
    if model.transition[kernel] < 0:
        return max(entropy(beliefs, at, states) - after, 0.0)
    return max(entropy(rows, predicted, states) - after, 0.0)
