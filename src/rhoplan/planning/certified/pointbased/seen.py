"""What plans are worth that see the state at every step: sweeps of value iteration, and one linear system."""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.pointbased.compiled import Compiled, Model
from rhoplan.planning.certified.pointbased.machine import compiled


@compiled
def back_project(model: Model, pair: int, values: Array, out: Array, at: int) -> None:
    """out[at + s] = sum over outcomes and successors of chance * values, for each state of the pair's class."""
    home = model.pair_class[pair]
    size = model.class_state[home + 1] - model.class_state[home]
    for s in range(size):
        out[at + s] = 0.0
    for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
        base = model.class_state[model.branch_target[branch]]
        begin = model.branch_row[branch]
        for s in range(size):
            total = 0.0
            for place in range(model.row[begin + s], model.row[begin + s + 1]):
                total += model.chance[place] * values[base + model.column[place]]
            out[at + s] += total


@compiled
def best_actions(
    model: Model, reward: Array, discount: float, values: Array, out: Array, chosen: Ids, sweeps: int, work: Array
) -> float:
    """Sweeps of value iteration with the state seen, `values` in place; the largest change of the last.

    out: as `Model.reward`. chosen (N,): the best pair.
    """
    change = 0.0
    for _ in range(sweeps):
        change = 0.0
        for home in range(len(model.class_state) - 1):
            first, size = model.class_state[home], model.class_state[home + 1] - model.class_state[home]
            if model.class_pair[home] == model.class_pair[home + 1]:
                continue
            for s in range(size):
                work[s] = -np.inf
            for pair in range(model.class_pair[home], model.class_pair[home + 1]):
                at = model.pair_reward[pair]
                back_project(model, pair, values, out, at)
                for s in range(size):
                    out[at + s] = reward[at + s] + discount * out[at + s]
                    if out[at + s] > work[s]:
                        work[s], chosen[first + s] = out[at + s], pair
            for s in range(size):
                change = max(change, abs(work[s] - values[first + s]))
                values[first + s] = work[s]
    return change


def values_of(problem: Compiled, reward: Array, discount: float, chosen: Ids) -> Array:
    """The value (N,) of taking the pair chosen (N,) in each state, from one linear system."""
    matrix, paid = np.eye(problem.slots), np.zeros(problem.slots)
    slots = np.flatnonzero(chosen >= 0)
    model = problem.model
    rows = model.pair_reward[chosen[slots]] + slots - model.class_state[model.pair_class[chosen[slots]]]
    paid[slots] = reward[rows]
    slot_of = np.full(len(reward), -1)
    slot_of[rows] = slots
    where = problem.entries
    mine = slot_of[where.source] >= 0
    place = slot_of[where.source[mine]] * problem.slots + where.target[mine]
    matrix -= discount * np.bincount(place, where.chance[mine], problem.slots**2).reshape(matrix.shape)
    result: Array = np.asarray(np.linalg.solve(matrix, paid), dtype=float)
    return result
