"""A problem as the flat arrays that compiled search reads, explored no further than a search has been.

Visible states get a number when an action first leads to them and a menu when a search first needs it: a structure of
16 components has millions of visible states, of which a search meets a few hundred. What is explored stays explored,
so later decisions find it there. Actions with the same numbers share them.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rhoplan.errors import LimitError
from rhoplan.graph.menu import VisibleMenu
from rhoplan.graph.merging import grown
from rhoplan.model.pomdp import END, Action, Array, Problem, Visible
from rhoplan.model.transitions import Transition, entries, key
from rhoplan.planning.search.kernels import GOING, OUTCOMES, READY, START, TARGET, Model

LOOK_AROUND = 256
"""How many visible states around the root are explored before a search begins; the others wait until it meets them."""

MOST_MOVES = 20_000_000
"""Ways in which one action may change states, at most, with all its outcomes: 480 MB for the kernels."""

Number = TypeVar("Number", bound=np.generic)


class SearchModel:
    """`problem` as far as searches have explored it; `arrays` is what kernels read.

    most_outcomes, most_arms, most_children: the largest number of outcomes of one action, of actions in one menu, and
    of outcomes of all actions that go on in one menu, met so far.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.states = max(len(factor.states) for factor in problem.factors)
        self.most_outcomes = self.most_arms = self.most_children = 1
        self.menus: list[VisibleMenu | None] = []
        self._visibles: list[Visible] = []
        self._ids: dict[Visible, int] = {}
        self._places: dict[tuple[bytes, ...], list[int]] = {}
        self._ranges: dict[tuple[int, int], float] = {}
        self._menus = _Pool(np.empty((0, 4), dtype=np.int64))
        self._actions = _Pool(np.empty((0, 8), dtype=np.int64))
        self._targets = _Pool(np.empty(0, dtype=np.int64))
        self._numbers = _Pool(np.empty(0))

    @property
    def arrays(self) -> Model:
        return Model(self._menus.array, self._actions.array, self._targets.array, self._numbers.array)

    def number(self, visible: Visible) -> int:
        """The number of a visible state; -1 for END."""
        if visible is END:
            return -1
        if visible not in self._ids:
            self._ids[visible] = self._menus.extend([[-1, 0, 0, 0]])
            self._visibles.append(visible)
            self.menus.append(None)
        return self._ids[visible]

    def menu(self, place: int) -> VisibleMenu:
        """The actions in visible state number `place`, built if that is new."""
        known = self.menus[place]
        if known is not None:
            return known
        menu = self.menus[place] = VisibleMenu(self.problem.menu(self._visibles[place]))
        start = self._actions.size
        for action in (*menu.going, *menu.ending):
            row = self._row(action)
            self._actions.extend([row])
        self._menus.array[place] = (start, len(menu.going), len(menu.ending), 0)
        outcomes = [len(action.outcomes) for action in menu.going]
        self.most_outcomes = max([self.most_outcomes, *outcomes])
        self.most_arms = max(self.most_arms, len(menu.going) + len(menu.ending))
        self.most_children = max(self.most_children, sum(outcomes))
        return menu

    def explore(self, place: int) -> None:
        """Make visible state number `place` ready to be searched from."""
        self.menu(place)
        if not self._menus.array[place, READY]:
            for target in self._beyond(place):
                self.menu(target)
            self._menus.array[place, READY] = 1

    def reward_range(self, visible: Visible, depth: int) -> float:
        """Largest less smallest reward within `depth` actions of `visible`, as far as LOOK_AROUND states go.

        It depends on these two only, not on what earlier searches have explored. Ending actions that another one beats
        in every state do not count: nobody would take them.
        """
        root = self.number(visible)
        if (root, depth) not in self._ranges:
            layer = seen = {root: None}
            for _ in range(depth):
                for place in layer:
                    self.explore(place)
                beyond = dict.fromkeys(target for place in layer for target in self._beyond(place))
                layer = dict.fromkeys([place for place in beyond if place not in seen][: LOOK_AROUND - len(seen)])
                seen = {**seen, **layer}
            rewards = [limit for place in seen for limit in _limits(self.menu(place))]
            self._ranges[root, depth] = max(rewards, default=0.0) - min(rewards, default=0.0)
        return self._ranges[root, depth]

    def _beyond(self, place: int) -> list[int]:
        """The visible states one action away from number `place`, whose menu is built."""
        start, going = self._menus.array[place, [START, GOING]].tolist()
        rows = self._actions.array[start : start + going, [TARGET, OUTCOMES]].tolist()
        targets = [target for at, outcomes in rows for target in self._targets.array[at : at + outcomes].tolist()]
        return [target for target in dict.fromkeys(targets) if target >= 0]

    def _row(self, action: Action) -> list[int]:
        targets = [self.number(visible) for visible in action.leads_to]
        sizes = [action.factor * self.states, len(action.reward), len(action.outcomes)]
        return [*sizes, *self._place(action), self._targets.extend(targets)]

    def _place(self, action: Action) -> list[int]:
        """Where reward, likelihood, cumulative likelihood and transition (-1: none) of `action` stand."""
        parts = tuple(key(part) for part in (action.reward, action.likelihood, action.transition))
        if parts not in self._places:
            likelihood = action.likelihood
            places = [
                self._numbers.extend(rows.ravel()) for rows in (action.reward, likelihood.T, cumulative(likelihood))
            ]
            if action.transition is None:
                places.append(-1)
            else:
                places.append(self._numbers.extend(self._changes(action, action.transition)))
            self._places[parts] = places
        return self._places[parts]

    def _changes(self, action: Action, change: Transition) -> Array:
        """Changes of state as the kernels read them: where each row begins, then columns, values and their sums."""
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


def cumulative(rows: Array) -> Array:
    """Sums along the last axis, exactly 1 from the last possible entry on, so that no number below 1 goes past it."""
    sums: Array = np.cumsum(rows, axis=-1)
    last = rows.shape[-1] - 1 - np.argmax(rows[..., ::-1] > 0, axis=-1)
    sums[np.arange(rows.shape[-1]) >= last[..., None]] = 1.0
    return sums


def _limits(menu: VisibleMenu) -> list[float]:
    """Smallest and largest reward of every action on `menu` that one might take."""
    rewards = [action.reward for action in menu.going]
    for action in menu.ending:
        rivals = [other for other in menu.ending if other.factor == action.factor]
        if not any(np.all(other.reward > action.reward) for other in rivals):
            rewards.append(action.reward)
    return [float(limit) for reward in rewards for limit in (reward.min(), reward.max())]


class _Pool(Generic[Number]):
    """An array that grows at its end."""

    def __init__(self, array: NDArray[Number]) -> None:
        self.array, self.size = array, 0

    def extend(self, rows: ArrayLike) -> int:
        """Add `rows`; where the first of them stands."""
        added = np.asarray(rows, dtype=self.array.dtype)
        start, self.size = self.size, self.size + len(added)
        self.array = grown(self.array, self.size, 0)
        self.array[start : self.size] = added
        return start
