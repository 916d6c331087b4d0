"""The actions of the observable states that a belief graph has met, as arrays.

The actions of an observable state have consecutive ids, terminal ones first, otherwise in the order of the menu. The
position of an action in this order is its *place*. Actions with equal reward, likelihood, transition and payments share
a *kernel*: what they do to a belief is computed once for all of them, wherever they lead.

Shapes: V observable states, A actions, n beliefs, E terminal actions of an observable state, S hidden states.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rhoplan.belief_math.transitions import key
from rhoplan.graph.row_index import extend, spans
from rhoplan.model.diagnostic import best_commits
from rhoplan.model.pomdp import END, POMDP, Action, Array, Ids, Observable

UNKNOWN, ENDED = -2, -1
"""Targets: not looked up yet; the episode ends."""


@dataclass(frozen=True, eq=False)
class TerminalActions:
    """The terminal actions of an observable state. Those of many states are often the same."""

    actions: tuple[Action, ...]

    @cached_property
    def by_factor(self) -> list[tuple[int, Ids, Array]]:
        """For each factor that terminal actions concern: its number, their places (e,), rewards and absolute rewards
        (S, 2 e)."""
        factors = np.array([action.factor for action in self.actions], dtype=np.int64)
        groups = [(int(factor), np.flatnonzero(factors == factor)) for factor in np.unique(factors)]
        rewards = [np.stack([self.actions[place].reward for place in places], axis=1) for _, places in groups]
        # One matrix product gives both.
        return [(f, places, np.hstack([r, np.abs(r)])) for (f, places), r in zip(groups, rewards, strict=True)]

    @cached_property
    def optimal(self) -> list[Array]:
        """For each action, 1 in the states (S,) where no other one about the same factor pays more, else 0."""
        rows: list[Array] = [np.empty(0)] * len(self.actions)
        for _, places, rewards in self.by_factor:
            for place, row in zip(places.tolist(), best_commits(rewards.T[: len(places)]), strict=True):
                rows[place] = row
        return rows


class ActionTable:
    """Menus of observable states by id, in order of appearance.

    Per observable state (V,): `first` action id, `count` of actions, `terminal_count`, `branches` (outcomes of all
    non-terminal actions), `terminals` (number of its record in `terminal_sets`). Per action (A,): `kernel`, `factor`,
    `outcomes`, `branch_offset` (from the first branch of a node to the first one of the action), `target_first`: where
    the observable states after its outcomes begin in `target_ids`, in which `targets` fills them in. Arrays have spare
    room at their ends.
    """

    def __init__(self, problem: POMDP) -> None:
        self._menu = problem.menu
        self._visible_ids: dict[Observable, int] = {}
        self.observables: list[Observable] = []
        self.actions: list[Action] = []
        self.kernels: list[Action] = []
        self.terminal_sets: list[TerminalActions] = []
        self.has_informative_terminals = False
        self._terminal_kernels: list[list[int]] = []
        self._kernel_ids: dict[Hashable, int] = {}
        self._terminal_ids: dict[Hashable, int] = {}
        nothing = np.empty(0, dtype=np.int64)
        self.first, self.count, self.terminal_count, self.branches, self.terminals = (nothing,) * 5
        self.kernel, self.factor, self.outcomes, self.branch_offset, self.target_first = (nothing,) * 5
        self.target_ids, self._target_count = nothing, 0

    def observable_id(self, observable: Observable) -> int:
        """The id of an observable state."""
        number = self._visible_ids.get(observable)
        return self._add(observable) if number is None else number

    def names(self, observable: int) -> list[str]:
        """Names of the actions of an observable state, by place."""
        first, count = int(self.first[observable]), int(self.count[observable])
        return [action.name for action in self.actions[first : first + count]]

    def targets(self, actions: Ids) -> Ids:
        """The observable states that the outcomes of actions (n,) lead to, one action after the other; or ENDED."""
        places = spans(self.target_first[actions], self.outcomes[actions])
        found = self.target_ids[places]
        if (found == UNKNOWN).any():
            for action in np.unique(actions).tolist():
                begin, leads_to = self.target_first[action], self.actions[action].leads_to
                ids = [ENDED if observable is END else self.observable_id(observable) for observable in leads_to]
                self.target_ids[begin : begin + len(leads_to)] = ids
            found = self.target_ids[places]
        result: Ids = found
        return result

    def target(self, actions: Ids, outcomes: Ids) -> Ids:
        """The observable state that one outcome (n,) of each of actions (n,) leads to, or ENDED."""
        self.targets(actions)
        result: Ids = self.target_ids[self.target_first[actions] + outcomes]
        return result

    def _add(self, observable: Observable) -> int:
        menu = self._menu(observable)
        terminal = tuple(action for action in menu if action.ends_episode)
        going = tuple(action for action in menu if not action.ends_episode)
        number, base = len(self.observables), len(self.actions)
        self._visible_ids[observable] = number
        self.observables.append(observable)
        self.actions += (*terminal, *going)
        outcomes = np.array([len(action.outcomes) for action in going], dtype=np.int64)
        terminals, nothing = self._terminal_id(terminal), np.zeros(len(terminal), dtype=np.int64)
        extend(self, number, number + 1, first=base, count=len(menu), terminal_count=len(terminal),
               branches=outcomes.sum(), terminals=terminals)  # fmt: skip
        offset = np.cumsum(outcomes) - outcomes
        extend(self, base, len(self.actions), factor=[action.factor for action in (*terminal, *going)],
               kernel=self._terminal_kernels[terminals] + [self._kernel_id(action) for action in going],
               outcomes=np.append(nothing, outcomes), branch_offset=np.append(nothing, offset),
               target_first=np.append(nothing, self._target_count + offset))  # fmt: skip
        known, self._target_count = self._target_count, self._target_count + int(outcomes.sum())
        extend(self, known, self._target_count, target_ids=UNKNOWN)
        return number

    def _terminal_id(self, actions: tuple[Action, ...]) -> int:
        numbers = tuple((action.factor, action.reward.tobytes(), action.likelihood.tobytes()) for action in actions)
        number = self._terminal_ids.setdefault(numbers, len(self.terminal_sets))
        if number == len(self.terminal_sets):
            self.terminal_sets.append(TerminalActions(actions))
            self.has_informative_terminals |= any(len(action.outcomes) > 1 for action in actions)
            self._terminal_kernels.append([self._kernel_id(action) for action in actions])
        return number

    def _kernel_id(self, action: Action) -> int:
        numbers = (
            action.likelihood.shape,
            action.likelihood.tobytes(),
            action.reward.tobytes(),
            None if action.transition is None else key(action.transition),
            None if action.pays is None else key(action.pays),
        )
        number = self._kernel_ids.setdefault(numbers, len(self.kernels))
        if number == len(self.kernels):
            self.kernels.append(action)
        return number
