"""The records of which every problem consists: hidden factors, actions and menus.

The reward and the observation of an action depend on the hidden state of one factor, which the action may change; the
observation determines the next observable state, or END (factored observation POMDP, Definition 1 of the paper).

Shapes: S hidden states of the action's factor, O observations, D diagnoses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from rhoplan.belief_math.transitions import Array as Array
from rhoplan.belief_math.transitions import Ids as Ids
from rhoplan.belief_math.transitions import (
    Payments,
    Transition,
    Ways,
    canonical,
    is_identity,
    numbers,
    payments,
)
from rhoplan.errors import Field, ProblemError

Observable: TypeAlias = Hashable

ROW_SUM_TOLERANCE = 1e-9
"""How far a probability row may be from summing to 1: wider than rounding of decimals, narrower than any typo."""


class _End(Enum):
    END = "end"

    def __repr__(self) -> str:
        return "END"


END = _End.END
"""The observable state after the last action of an episode."""


def floats(value: Any, what: str, field: Field) -> Any:
    """`value`, nested lists, an array or a sparse matrix, with entries that are floats."""
    try:
        return canonical(value)
    except (TypeError, ValueError):
        raise ProblemError(f"{what} must be an array of numbers", field=field, code="number-expected") from None


def convert(record: Any, field: Field, *, tuples: tuple[str, ...] = (), arrays: tuple[str, ...] = ()) -> None:
    """Replace lists in fields of a frozen record by tuples and by arrays of floats; None stays."""
    for name in tuples:
        object.__setattr__(record, name, tuple(getattr(record, name)))
    for name in arrays:
        if (given := getattr(record, name)) is not None:
            object.__setattr__(record, name, floats(given, f"{name} of '{field[-1]}'", (*field, name)))


@dataclass(frozen=True, eq=False)
class Factor:
    """One hidden quantity: its states and their prior probabilities, shape (S,).

    joins: the factors of which this one is the joint distribution (see `factored`): its states are the combinations of
        theirs, the last varying fastest.
    diagnosis_of: the diagnosis of each state if states are subtypes of diagnoses. Likelihoods concern the state;
        decisions and what users read concern the diagnosis. If empty, each state is its own diagnosis.
    about_diagnosis: whether information is about the diagnosis; otherwise it is about the state.
    """

    name: str
    states: tuple[str, ...]
    prior: Array
    joins: tuple[Factor, ...] = ()
    diagnosis_of: tuple[str, ...] = ()
    about_diagnosis: bool = False

    def __post_init__(self) -> None:
        convert(self, ("factors", self.name), arrays=("prior",), tuples=("states", "diagnosis_of"))

    @cached_property
    def diagnoses(self) -> tuple[str, ...]:
        """The names that users read: the diagnoses, which are the states if there are no subtypes."""
        return tuple(dict.fromkeys(self.diagnosis_of)) or self.states

    @cached_property
    def groups(self) -> Ids:
        """The position (S,) of each state's diagnosis in `diagnoses`."""
        place = {name: number for number, name in enumerate(self.diagnoses)}
        return np.array([place[name] for name in self.diagnosis_of or self.states], dtype=np.int64)

    @cached_property
    def places(self) -> dict[str, slice]:
        """The positions of the states of each diagnosis, which are side by side."""
        starts = np.searchsorted(self.groups, np.arange(len(self.diagnoses) + 1)).tolist()
        return {name: slice(*ends) for name, ends in zip(self.diagnoses, pairwise(starts), strict=True)}

    @cached_property
    def subtypes(self) -> dict[str, tuple[str, ...]]:
        """The names of the subtypes of each diagnosis that has some."""
        found = {
            name: tuple(filter(None, [subtype(state, name) for state in self.states[held]]))
            for name, held in self.places.items()
        }
        return {name: names for name, names in found.items() if names}

    def unfold(self, rows: Array) -> Array:
        """Rows (S, ...) by state, given one (D, ...) for each diagnosis that holds for all of its subtypes."""
        unfolded: Array = rows[self.groups]
        return unfolded

    def fold(self, chances: Array) -> Array:
        """Probabilities (..., D) of diagnoses, given those (..., S) of states."""
        if not self.diagnosis_of:
            return chances
        folded: Array = chances @ np.eye(len(self.diagnoses))[self.groups]
        return folded

    def about(self, beliefs: Array) -> Array:
        """The probabilities that information is about, given beliefs (..., S): of states, or of diagnoses (..., D)."""
        return self.fold(beliefs) if self.about_diagnosis else beliefs

    def by_diagnosis(self, numbers: Array) -> Array:
        """Numbers (..., D) by diagnosis, given those (..., S) by state that are equal in all of its subtypes."""
        picked: Array = numbers[..., np.unique(self.groups, return_index=True)[1]]
        return picked

    @cached_property
    def within(self) -> Array:
        """The prior probability (S,) of each state given its diagnosis; equal if the diagnosis has probability 0."""
        held, counts = self.fold(self.prior)[self.groups], np.bincount(self.groups)[self.groups]
        result: Array = np.divide(self.prior, held, out=1.0 / counts, where=held > 0)
        return result

    def results(self, likelihood: Array) -> Array:
        """Prior probability (D, O) of each observation given each diagnosis, given that (S, O) in each state."""
        return self.fold((self.within[:, None] * likelihood).T).T

    def spread(self, chances: Array) -> Array:
        """Probabilities (S,) of states, given those (D,) of diagnoses, with the prior shares of their subtypes."""
        result: Array = chances[self.groups] * self.within
        return result

    def marginals(self, belief: Array) -> list[tuple[Factor, Array]]:
        """The factors that this one joins, else itself, each with the marginal distribution of a belief (S,)."""
        if not self.joins:
            return [(self, belief)]
        table, axes = belief.reshape([len(one.states) for one in self.joins]), range(len(self.joins))
        return [(one, table.sum(axis=tuple(a for a in axes if a != axis))) for axis, one in enumerate(self.joins)]

    def shares(self, belief: Array) -> dict[str, dict[str, float]]:
        """The probability of each diagnosis by name, by the name of the factor that has it, given a belief (S,)."""
        parts = self.marginals(belief)
        return {one.name: dict(zip(one.diagnoses, one.fold(part).tolist(), strict=True)) for one, part in parts}


def subtype(state: str, diagnosis: str) -> str:
    """The name of the subtype that `state` is of `diagnosis`; empty if it is none."""
    inside = state.removeprefix(f"{diagnosis} (")
    return inside[:-1] if inside != state and inside.endswith(")") else ""


@dataclass(frozen=True, eq=False)
class Action:
    """Something the agent can do. Arrays may be given as nested lists.

    reward: (S,) mean reward in each hidden state of its factor (a cost is a negative reward).
    likelihood: (S, O) probability of each observation given the hidden state before the action.
    leads_to: the observable state after each observation; END ends the episode.
    transition: None if the hidden state is preserved; else (S, S), or (O, S, S) if it depends on the observation, or a
        `scipy.sparse.csr_array` of shape (S, S) or (O * S, S) (see `transitions`). The row of an observation that a
        state cannot yield may be empty.
    pays: None if `reward` is paid in each state; else what is paid, by state and observation (S, O), or by observation,
        state and next state (O, S, S), or sparse (O * S, S). `reward` is its mean.
    is_last: whether only a horizon ends the episode after it (see `horizon`); then it is not a terminal action.
    """

    name: str
    reward: Array
    likelihood: Array
    outcomes: tuple[str, ...]
    leads_to: tuple[Observable, ...]
    factor: int = 0
    transition: Transition | None = None
    pays: Transition | None = None
    is_last: bool = False

    def __post_init__(self) -> None:
        arrays = ("reward", "likelihood", "transition", "pays")
        convert(self, ("actions", self.name), tuples=("outcomes", "leads_to"), arrays=arrays)

    @classmethod
    def from_ways(cls, name: str, ways: Ways, outcomes: tuple[str, ...], leads_to: tuple[Observable, ...]) -> Action:
        """The action with a joint distribution of observation, next state and payment."""
        reward, pays = ways.reward_and_pays
        return cls(name, reward, ways.likelihood, outcomes, leads_to, transition=ways.transition, pays=pays)

    @cached_property
    def ends_episode(self) -> bool:
        return all(observable is END for observable in self.leads_to) and not self.is_last

    @cached_property
    def same_reward(self) -> float | None:
        """The reward if it is equal in all states, else None."""
        return float(self.reward[0]) if np.all(self.reward == self.reward[0]) else None

    @cached_property
    def least_likelihood(self) -> float:
        """The smallest positive probability of an observation, times that of a change of state."""
        least = float(np.min(self.likelihood, initial=1.0, where=self.likelihood > 0))
        if self.transition is not None:
            chances = numbers(self.transition)
            least *= float(np.min(chances, initial=1.0, where=chances > 0))
        return least

    @cached_property
    def pays_by_chance(self) -> Payments | None:
        """The distribution of payments; None if `reward` is what is paid."""
        if self.pays is None:
            return None
        return payments(self.likelihood, self.transition, self.pays)

    @property
    def worst(self) -> Array:
        """The smallest payment (S,) that is possible in each state."""
        return self.reward if self.pays_by_chance is None else self.pays_by_chance.worst

    @cached_property
    def preserves_hidden_state(self) -> bool:
        """Whether no hidden state can turn into another (the condition of Proposition 3)."""
        return self.transition is None or is_identity(self.transition)

    @property
    def is_test_at_a_price(self) -> bool:
        """Whether it has several observations, changes and ends nothing, and costs the same in every state."""
        goes_on = len(self.outcomes) > 1 and END not in self.leads_to and self.preserves_hidden_state
        return goes_on and self.pays is None and self.same_reward is not None and self.same_reward <= 0

    @property
    def kind(self) -> str:
        """`commit` ends the episode, `test` has observations, `sample` changes the hidden state, `move` neither."""
        if self.ends_episode:
            return "commit"
        if len(self.outcomes) > 1:
            return "test"
        return "move" if self.preserves_hidden_state else "sample"


class CachedMenu:
    """A menu that builds the actions of each observable state once; subclasses define `build`."""

    def build(self, observable: Any) -> tuple[Action, ...]:
        """The actions available in `observable`."""
        raise NotImplementedError

    def __call__(self, observable: Observable) -> tuple[Action, ...]:
        known = self._menus.get(observable)
        if known is None:
            known = self._menus[observable] = self.build(observable)
        return known

    @cached_property
    def _menus(self) -> dict[Observable, tuple[Action, ...]]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without the actions built so far, which another process builds again."""
        return {key: value for key, value in self.__dict__.items() if key != "_menus"}


@dataclass(frozen=True, eq=False)
class FixedMenu:
    """The same actions in every observable state."""

    actions: tuple[Action, ...]

    def __call__(self, observable: Observable) -> tuple[Action, ...]:
        return self.actions


Menu: TypeAlias = Callable[[Observable], tuple[Action, ...]]


@dataclass(frozen=True)
class EventCount:
    """An additive criterion: the number of steps with one of these actions, hidden states and observations.

    actions: names or kinds. An empty tuple means any.
    """

    actions: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()

    def indicator(self, action: Action, states: tuple[str, ...]) -> Array:
        """1 where taking `action` in a state (row) with an observation (column) counts, else 0."""
        named = not self.actions or action.name in self.actions or action.kind in self.actions
        rows = np.array([not self.states or state in self.states for state in states])
        columns = np.array([not self.outcomes or outcome in self.outcomes for outcome in action.outcomes])
        counted: Array = (named & rows[:, None] & columns).astype(float)
        return counted
