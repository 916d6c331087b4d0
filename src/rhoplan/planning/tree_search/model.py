"""A problem as the flat arrays that compiled search reads, explored no further than searches have been.

A structure of 16 components has millions of observable states, of which a search meets a few hundred. What has been
explored stays explored for later decisions.
"""

from __future__ import annotations

import numpy as np

from rhoplan.belief_math.transitions import Transition, entries
from rhoplan.errors import LimitError
from rhoplan.graph.action_table import ENDED, ActionTable
from rhoplan.graph.row_index import grown
from rhoplan.model.pomdp import POMDP, Action, Array, Ids, Observable
from rhoplan.planning.tree_search.kernels import Model

MOST_MOVES = 20_000_000
"""Transitions with positive probability of one action, with all its observations, at most: 480 MB for the kernels."""


class SearchModel:
    """`problem` as far as searches have explored it; `arrays` is what kernels read."""

    def __init__(self, problem: POMDP) -> None:
        self.problem, self.table = problem, ActionTable(problem)
        self.states = max(len(factor.states) for factor in problem.factors)
        self._kernels: list[list[int]] = []
        self._numbers, self._size = np.empty(0), 0
        self._ranges: dict[tuple[int, int], float] = {}
        self._arrays: Model | None = None

    @property
    def arrays(self) -> Model:
        if self._arrays is None:
            table = self.table
            self._kernels += [self._kernel(action) for action in table.kernels[len(self._kernels) :]]
            states, reward, likelihood, sums, transition = np.array(self._kernels, dtype=np.int64).T.copy()
            self._arrays = Model(
                table.first, table.count, table.terminal_count, table.kernel, table.factor, table.outcomes,
                table.branch_offset, table.target_first, table.target_ids, states, reward, likelihood, sums,
                transition, self._numbers, self.states, self.states * len(self.problem.factors),
            )  # fmt: skip
        return self._arrays

    @property
    def most(self) -> Ids:
        """The largest number of nodes, arms and children that one simulation adds, in what has been explored."""
        table, known = self.table, len(self.table.observables)
        counts = table.outcomes[: len(table.actions)], table.count[:known], table.branches[:known]
        return np.array([array.max(initial=1) for array in counts])

    def explore(self, observable: int) -> Ids:
        """Make an observable state ready to be searched from; the distinct ones that follow it."""
        table, self._arrays = self.table, None
        first = table.first[observable] + table.terminal_count[observable]
        actions = np.arange(first, table.first[observable] + table.count[observable])
        found = table.targets(actions)
        distinct, place = np.unique(found[found != ENDED], return_index=True)
        return distinct[np.argsort(place)]

    def reward_range(self, observable: Observable, *, depth: int, most: int) -> float:
        """Largest less smallest reward within `depth` actions of `visible`, of the `most` nearest observable states.

        It does not depend on what earlier searches have explored. Terminal actions that another one beats in every
        state do not count: nobody would take them.
        """
        root = self.table.observable_id(observable)
        if (root, depth) not in self._ranges:
            layer = seen = {root: None}
            for _ in range(depth):
                beyond = dict.fromkeys(after for here in layer for after in self.explore(here).tolist())
                layer = dict.fromkeys([after for after in beyond if after not in seen][: most - len(seen)])
                seen = {**seen, **layer}
            rewards = np.concatenate([self._rewards(here) for here in seen])
            self._ranges[root, depth] = float(np.ptp(rewards)) if len(rewards) else 0.0
        return self._ranges[root, depth]

    def terminal_rewards(self, observable: int, beliefs: tuple[Array, ...]) -> tuple[Array, Array]:
        """Expected reward and expected absolute reward of each terminal action."""
        terminals = self.table.terminal_sets[int(self.table.terminals[observable])]
        found = np.empty((2, len(terminals.actions)))
        for factor, places, rewards in terminals.by_factor:
            found[:, places] = (beliefs[factor] @ rewards).reshape(2, -1)
        return found[0], found[1]

    def _rewards(self, observable: int) -> Array:
        """The rewards of every action that one might take."""
        table = self.table
        first, count = int(table.first[observable]), int(table.count[observable])
        going = table.actions[first + int(table.terminal_count[observable]) : first + count]
        rewards = [action.reward for action in going]
        for _, places, both in table.terminal_sets[int(table.terminals[observable])].by_factor:
            terminal = both[:, : len(places)].T
            rewards += [row for row in terminal if not (terminal > row).all(axis=1).any()]
        return np.concatenate([np.empty(0), *rewards])

    def _kernel(self, action: Action) -> list[int]:
        """Number of states, and where reward, likelihood, its sums and transition (-1: none) begin."""
        likelihood, change = action.likelihood, action.transition
        parts = [action.reward, likelihood.T, cumulative(likelihood)]
        places = [len(action.reward), *(self._add(part.ravel()) for part in parts)]
        return [*places, -1 if change is None else self._add(self._transition(action, change))]

    def _transition(self, action: Action, change: Transition) -> Array:
        """Where each row begins, then columns, probabilities and their sums along a row."""
        states, outcomes = action.likelihood.shape
        outcome, before, after, share = entries(change, outcomes)
        if len(share) > MOST_MOVES:
            raise LimitError(
                f"'{self.problem.name}' changes state in {len(share):,} ways by '{action.name}': tree search keeps at "
                f"most {MOST_MOVES:,}; take planner exact"
            )
        rows = outcome * states + before
        starts = np.searchsorted(rows, np.arange(outcomes * states + 1))
        sums = np.cumsum(share)
        sums -= np.concatenate([[0.0], sums])[starts[:-1]][rows]
        sums[starts[1:][np.diff(starts) > 0] - 1] = 1.0
        return np.concatenate([starts, after, share, sums])

    def _add(self, numbers: Array) -> int:
        """Append to `numbers` of the model; where the first of them stands."""
        start, self._size = self._size, self._size + len(numbers)
        self._numbers = grown(self._numbers, start, self._size)
        self._numbers[start : self._size] = numbers
        return start


def cumulative(rows: Array) -> Array:
    """Sums along the last axis, exactly 1 from the last possible entry on, so that no number below 1 goes past it."""
    sums: Array = np.cumsum(rows, axis=-1)
    last = rows.shape[-1] - 1 - np.argmax(rows[..., ::-1] > 0, axis=-1)
    sums[np.arange(rows.shape[-1]) >= last[..., None]] = 1.0
    return sums
