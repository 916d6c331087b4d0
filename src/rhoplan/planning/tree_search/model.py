"""A problem as the flat arrays that compiled search reads, explored no further than searches have been.

A structure of 16 components has millions of observable states, of which a search meets a few hundred. What has been
explored stays explored for later decisions.

Shapes: F hidden factors, S states of a factor, O observations of an action.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rhoplan.belief_math.transitions import entries
from rhoplan.errors import LimitError
from rhoplan.graph.action_table import ENDED, ActionTable
from rhoplan.model.pomdp import POMDP, Action, Array, Ids, Observable
from rhoplan.planning.machine import handed

MOST_MOVES = 20_000_000
"""Transitions with positive probability of one action, with all its observations, at most: 320 MB."""


@handed
class Model(NamedTuple):
    """The part of a problem that has been explored, with the ids of `graph.action_table.ActionTable`.

    By observable state: the terminal actions are `first`, ..., `going` - 1, the others `going`, ..., `end` - 1. By
    action: `kernel`, `factor`, `observations` (0 for terminal ones), where its `targets` begin. By kernel: number of
    `states`, and where its numbers begin: `reward` (S,) in `rewards`, `likelihood` (O, S) in `likelihoods`,
    `transition` in `rows`; -1 if the hidden state is preserved. The transition given observation o and state s is row
    o * S + s: its entries, from rows[row] to rows[row + 1], are next states in `after`, with `probabilities`.
    """

    first: Ids
    going: Ids
    end: Ids
    kernel: Ids
    factor: Ids
    observations: Ids
    target_first: Ids
    targets: Ids
    states: Ids
    reward: Ids
    likelihood: Ids
    transition: Ids
    rewards: Array
    likelihoods: Array
    rows: Ids
    after: Ids
    probabilities: Array


class SearchModel:
    """`problem` as far as searches have explored it; `arrays` is what kernels read."""

    def __init__(self, problem: POMDP) -> None:
        self.problem, self.table = problem, ActionTable(problem)
        self.states = max(len(factor.states) for factor in problem.factors)
        self._kernels: list[tuple[int, int, int, int]] = []
        numbers, places = np.empty(0), np.empty(0, dtype=np.int64)
        self._numbers: list[Array | Ids] = [numbers, numbers, places, places, numbers]
        self._ranges: dict[tuple[int, int], float] = {}
        self._arrays: Model | None = None

    @property
    def arrays(self) -> Model:
        if self._arrays is None:
            table = self.table
            for action in table.kernels[len(self._kernels) :]:
                self._add(action)
            self._arrays = Model(
                table.first, table.first + table.terminal_count, table.first + table.count, table.kernel, table.factor,
                table.outcomes, table.target_first, table.target_ids, *np.array(self._kernels).T.copy(), *self._numbers,
            )  # fmt: skip
        return self._arrays

    @property
    def most(self) -> Ids:
        """The most nodes, actions and branches (3,) that one simulation adds, of what has been explored."""
        table, known = self.table, len(self.table.observables)
        counts = table.outcomes[: len(table.actions)], table.count[:known], table.branches[:known]
        return np.array([array.max(initial=1) for array in counts])

    def explore(self, observable: int) -> list[int]:
        """Make an observable state ready to be searched from; the distinct ones that follow it."""
        table, self._arrays = self.table, None
        begin, end = table.first[observable] + [table.terminal_count[observable], table.count[observable]]
        return [after for after in dict.fromkeys(table.targets(np.arange(begin, end)).tolist()) if after != ENDED]

    def reward_range(self, observable: Observable, *, depth: int, most: int) -> float:
        """Largest less smallest reward within `depth` actions of `observable`, of the `most` nearest observable states.

        It does not depend on what earlier searches have explored.
        """
        root = self.table.observable_id(observable)
        if (root, depth) not in self._ranges:
            layer = seen = {root: None}
            for _ in range(depth):
                beyond = dict.fromkeys(after for here in layer for after in self.explore(here))
                layer = dict.fromkeys([after for after in beyond if after not in seen][: most - len(seen)])
                seen = {**seen, **layer}
            rewards = np.concatenate([self._rewards(here) for here in seen])
            self._ranges[root, depth] = float(np.ptp(rewards)) if len(rewards) else 0.0
        return self._ranges[root, depth]

    def _rewards(self, observable: int) -> Array:
        """The rewards of all actions but terminal ones that another one beats in every state: nobody takes these."""
        table = self.table
        first, count = int(table.first[observable]), int(table.count[observable])
        going = table.actions[first + int(table.terminal_count[observable]) : first + count]
        rewards = [action.reward for action in going]
        for _, places, both in table.terminal_sets[int(table.terminals[observable])].by_factor:
            terminal = both[:, : len(places)].T
            rewards += [row for row in terminal if not (terminal > row).all(axis=1).any()]
        return np.concatenate([np.empty(0), *rewards])

    def _add(self, action: Action) -> None:
        """Append the numbers of `action` as another kernel."""
        (states, outcomes), (rewards, likelihoods, first, known, _) = action.likelihood.shape, map(len, self._numbers)
        parts: list[Array | Ids] = [action.reward, action.likelihood.T.ravel()]
        transition = -1
        if action.transition is not None:
            outcome, before, after, probabilities = entries(action.transition, outcomes)
            if len(after) > MOST_MOVES:
                raise LimitError(
                    f"'{self.problem.name}' changes state in {len(after):,} ways by '{action.name}': tree search keeps "
                    f"at most {MOST_MOVES:,}; take planner exact"
                )
            rows = np.searchsorted(outcome * states + before, np.arange(outcomes * states + 1))
            parts, transition = [*parts, known + rows, after, probabilities], first
        self._kernels.append((states, rewards, likelihoods, transition))
        for place, part in enumerate(parts):
            self._numbers[place] = np.concatenate([self._numbers[place], part])
