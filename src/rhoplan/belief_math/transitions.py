"""Transitions of the hidden state and the payments that depend on them, as NumPy arrays or `scipy.sparse.csr_array`.

A transition gives P(s' | s), shape (S, S), or P(s' | s, o), shape (O, S, S). Large ones with many zeros are sparse:
csr_arrays of shape (S, S), or (O * S, S) where row o * S + s belongs to observation o and state s. The row of an
observation that a state cannot yield may be empty. Only the functions of this module distinguish the two forms.

Most of the literature defines an action by T(s' | s) and Z(o | s'). `Ways` converts that to what actions here have:

    P(o | s) = sum_s' T(s' | s) Z(o | s')          P(s' | s, o) = T(s' | s) Z(o | s') / P(o | s)

Shapes: n beliefs, S hidden states, O observations, E entries above zero, or combinations of s, o and s'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rhoplan.errors import ProblemError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array: TypeAlias = NDArray[np.float64]
Ids: TypeAlias = NDArray[np.int64]
Transition: TypeAlias = "Array | csr_array"
"""Dense (S, S) or (O, S, S), or sparse (S, S) or (O * S, S)."""

MOST_DENSE = 30_000
"""Size up to which a transition is dense: products of small dense arrays are faster, and SciPy is not imported."""

SAME = 1e-12
"""Relative difference up to which two numbers are the same: a thousand times their rounding errors."""


# -- representation ---------------------------------------------------------------------------------------------------


def from_entries(shape: Sequence[int], rows: Ids, columns: Ids, values: Array) -> Transition:
    """The transition of shape (S, S) or (O, S, S) with these entries; equal places add up.

    rows: the state before, or observation * S + state.
    """
    states = shape[-1]
    if prod(shape) <= MOST_DENSE:
        places = rows * states + columns
        return np.bincount(places, weights=values, minlength=prod(shape)).astype(float).reshape(shape)
    from scipy.sparse import csr_array

    return canonical(csr_array((values, (rows, columns)), shape=(prod(shape[:-1]), states)))


def canonical(transition: Any) -> Transition:
    """`transition` as an array or as a csr_array with sorted indices, without duplicates and without zeros."""
    if not hasattr(transition, "tocsr"):
        return np.asarray(transition, dtype=float)
    from scipy.sparse import csr_array

    is_kept = isinstance(transition, csr_array) and transition.dtype == float
    if is_kept and transition.has_canonical_format and transition.data.all():
        return transition
    result = csr_array(transition, dtype=float, copy=True)
    result.sum_duplicates()
    result.eliminate_zeros()
    return result


def has_observation_axis(transition: Transition) -> bool:
    """Whether the transition depends on the observation; for a single observation both forms are the same."""
    if isinstance(transition, np.ndarray):
        return transition.ndim == 3
    return bool(transition.shape[0] > transition.shape[1])


def shapes(transition: Transition, states: int, outcomes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes that a transition in this form may have: without and with dependence on the observation."""
    square = (states, states)
    return square, (outcomes, *square) if isinstance(transition, np.ndarray) else (outcomes * states, states)


def dense(transition: Transition, outcomes: int) -> Array:
    """The transition as an array (O, S, S)."""
    states = transition.shape[-1]
    table = transition if isinstance(transition, np.ndarray) else transition.toarray()
    return np.broadcast_to(table.reshape(-1, states, states), (outcomes, states, states))


def numbers(transition: Transition) -> Array:
    """All entries, but some zeros may be missing."""
    return transition if isinstance(transition, np.ndarray) else transition.data


def nonzeros(table: Transition) -> tuple[Ids, Ids, Array]:
    """Row, column and value (E,) of all entries that are not zero, sorted in this order; rows in one sequence."""
    if isinstance(table, np.ndarray):
        flat = table.reshape(-1, table.shape[-1])
        rows, columns = np.nonzero(flat)
        return rows, columns, flat[rows, columns]
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    return rows, table.indices.astype(np.int64), table.data


def entries(transition: Transition, outcomes: int) -> tuple[Ids, Ids, Ids, Array]:
    """Observation, state before, state after and probability (E,) of all entries, sorted in this order."""
    rows, after, share = nonzeros(transition)
    if not has_observation_axis(transition):
        observation = np.repeat(np.arange(outcomes), len(rows))
        return observation, np.tile(rows, outcomes), np.tile(after, outcomes), np.tile(share, outcomes)
    return *np.divmod(rows, transition.shape[-1]), after, share


def entries_of_rows(table: Transition, rows: Ids) -> tuple[Ids, Ids, Array]:
    """For each entry of the `rows` (k,) of a matrix: its position in `rows`, its column and its value."""
    row, column, value = nonzeros(table)
    starts = np.searchsorted(row, np.arange(table.shape[0] + 1))
    counts = np.diff(starts)[rows]
    place = np.repeat(np.arange(len(rows)), counts)
    entry = np.arange(len(place)) + np.repeat(starts[rows] - np.cumsum(counts) + counts, counts)
    return place, column[entry], value[entry]


def key(part: Transition | None) -> bytes:
    """Bytes that are equal for equal numbers in the same form."""
    if part is None or isinstance(part, np.ndarray):
        return b"" if part is None else repr(part.shape).encode() + part.tobytes()
    arrays = (part.indptr, part.indices, part.data)
    return repr(part.shape).encode() + b"".join(array.tobytes() for array in arrays)


def is_identity(transition: Transition) -> bool:
    """Whether every state stays as it is."""
    rows, columns, values = nonzeros(transition)
    is_diagonal = len(rows) == prod(transition.shape[:-1]) and (columns == rows % transition.shape[-1]).all()
    return bool(is_diagonal and (values == 1).all())


def permuted(transition: Transition, outcomes: Ids, order: Ids) -> Transition:
    """The transition with other orders of observations and states: new place k is old `order[k]`."""
    rows = (outcomes[:, None] * len(order) + order).ravel() if has_observation_axis(transition) else order
    table = _in_rows(transition)[rows][:, order]
    return table.reshape(-1, *transition.shape[1:]) if isinstance(table, np.ndarray) else canonical(table)


def _in_rows(transition: Transition) -> Transition:
    """The transition as a matrix: (S, S), or (O * S, S) if it depends on the observation."""
    return transition.reshape(-1, transition.shape[-1]) if isinstance(transition, np.ndarray) else transition


# -- products with beliefs and values ---------------------------------------------------------------------------------


def given_observation(transition: Transition, outcome: int) -> Transition:
    """The transition (S, S) given an observation."""
    if not has_observation_axis(transition):
        return transition
    if isinstance(transition, np.ndarray):
        return transition[outcome]
    states = transition.shape[-1]
    return transition[outcome * states : (outcome + 1) * states]


def moved(masses: Array, transition: Transition) -> Array:
    """Masses (n, O, S) of states before the transition, as masses (n, O, S) of states after it."""
    outcomes = masses.shape[1]
    if isinstance(transition, np.ndarray):
        after: Array = np.einsum("nos,ost->not", masses, dense(transition, outcomes))
        return after
    return np.stack([masses[:, o] @ given_observation(transition, o) for o in range(outcomes)], axis=1)


def moved_each(masses: Array, transition: Transition, outcome: Ids) -> Array:
    """Masses (n, S) after the transition, each given its observation (n,)."""
    after = np.empty_like(masses)
    for number in np.unique(outcome).tolist():
        places = outcome == number
        after[places] = masses[places] @ given_observation(transition, number)
    return after


def mixed(beliefs: Array, likelihood: Array, transition: Transition) -> Array:
    """Beliefs (n, S) after the transition without the observation, given the likelihood (S, O) of observations."""
    if has_observation_axis(transition):
        beliefs = (beliefs[:, None, :] * likelihood.T).reshape(len(beliefs), -1)
    after: Array = beliefs @ _in_rows(transition)
    return after


def expected(transition: Transition, outcome: int, values: Array) -> Array:
    """The expected value (S,) by the state before, given an observation and values (S,) of states after."""
    result: Array = given_observation(transition, outcome) @ values
    return result


def row_sums(transition: Transition) -> Array:
    """Sum of each row, (S,) or (O, S)."""
    sums: Array = np.asarray(transition.sum(axis=-1))
    return sums.reshape(-1, transition.shape[-1]) if has_observation_axis(transition) else sums


# -- payments ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Payments:
    """Distribution of what an action pays, given the state before: mean, variance, minimum and the probability of the
    minimum, each (S,).

    by_change (O, S, S): probability of the state after times what is paid then; None where payments do not depend on
    that state.
    """

    mean: Array
    variance: Array
    worst: Array
    worst_chance: Array
    by_change: Transition | None


def payments(likelihood: Array, transition: Transition | None, pays: Transition) -> Payments:
    """Distribution of `pays`, as in `Action`."""
    states, outcomes = likelihood.shape
    if is_by_outcome(pays):
        by_change, (state, outcome) = None, np.nonzero(likelihood)
        amount, chance = paid(pays, outcome, state, state), likelihood[state, outcome]
    else:
        assert transition is not None
        outcome, state, after, share = entries(transition, outcomes)
        amount, chance = paid(pays, outcome, state, after), likelihood[state, outcome] * share
        by_change = from_entries((outcomes, states, states), outcome * states + state, after, share * amount)
        state, amount, chance = state[chance > 0], amount[chance > 0], chance[chance > 0]

    def total(weights: Array) -> Array:
        return np.bincount(state, weights=weights, minlength=states).astype(float)

    mean, worst = total(chance * amount), np.full(states, np.inf)
    np.minimum.at(worst, state, amount)
    variance = total(chance * (amount - mean[state]) ** 2)
    return Payments(mean, variance, worst, total(chance * (amount <= worst[state])), by_change)


def is_by_outcome(pays: Transition) -> bool:
    """Whether payments (S, O) depend on the state before and the observation alone."""
    return isinstance(pays, np.ndarray) and pays.ndim == 2


def paid(pays: Transition, outcome: Ids, before: Ids, after: Ids) -> Array:
    """Payments (k,) for observations (k,) with the states (k,) before and after."""
    if not isinstance(pays, np.ndarray):
        found = pays[outcome * pays.shape[-1] + before, after]  # sparse if nothing is selected
        return found if isinstance(found, np.ndarray) else found.toarray().ravel()
    result: Array = pays[before, outcome] if pays.ndim == 2 else pays[outcome, before, after]
    return result


# -- from T(s' | s) and Z(o | s') -------------------------------------------------------------------------------------


def from_transition_observation(transition: Transition, observation: Array) -> tuple[Array, Transition | None]:
    """Likelihood (S, O) and transition of an action from T(s' | s), (S, S), and Z(o | s'), (S, O).

    The transition is None if no state changes, and (S, S) if the observation does not depend on the transition.
    """
    ways = Ways.of(transition, np.asarray(observation, dtype=float))
    return ways.likelihood, ways.transition


@dataclass(frozen=True, eq=False)
class Ways:
    """Joint distribution of an action: state before, observation, state after, probability given the state before, and
    payment, each (E,). Each combination occurs once and has a positive probability; those of one state sum to 1."""

    states: int
    outcomes: int
    before: Ids
    outcome: Ids
    after: Ids
    chance: Array
    pays: Array

    @staticmethod
    def of(transition: Transition, observation: Array) -> Ways:
        """The joint distribution of T(s' | s), (S, S), and Z(o | s'), (S, O), without payments."""
        before, after, share = nonzeros(canonical(transition))
        way, outcome, shown = entries_of_rows(observation, after)
        states, outcomes = observation.shape
        return Ways(states, outcomes, before[way], outcome, after[way], share[way] * shown, np.zeros(len(way)))

    @cached_property
    def likelihood(self) -> Array:
        """Probability (S, O) of each observation given the state before."""
        place = self.before * self.outcomes + self.outcome
        sums = np.bincount(place, weights=self.chance, minlength=self.states * self.outcomes)
        return sums.astype(float).reshape(self.states, self.outcomes)

    @property
    def transition(self) -> Transition | None:
        """P(s' | s) if it does not depend on the observation, else P(s' | s, o); None if no state changes."""
        before, outcome, after, chance = self.before, self.outcome, self.after, self.chance
        if np.array_equal(before, after):
            return None
        pairs, pair = np.unique(before * self.states + after, return_inverse=True)
        total = np.bincount(pair, weights=chance)
        row, column = np.divmod(pairs, self.states)
        # They are independent if every possible observation occurs with every possible next state, and if the joint
        # probability is the product.
        if len(chance) == int(np.count_nonzero(self.likelihood, axis=1)[row].sum()):
            off = np.abs(chance - self.likelihood[before, outcome] * total[pair])
            if np.all(off <= SAME * chance):
                sums = np.bincount(row, weights=total, minlength=self.states)
                return from_entries((self.states, self.states), row, column, total / sums[row])
        share = chance / self.likelihood[before, outcome]
        return from_entries((self.outcomes, self.states, self.states), outcome * self.states + before, after, share)

    @property
    def reward_and_pays(self) -> tuple[Array, Transition | None]:
        """Mean payment (S,) given the state before, and `Action.pays`."""
        before, outcome, amount = self.before, self.outcome, self.pays
        if not np.isfinite(amount).all():
            raise ProblemError(
                f"rewards must be finite numbers; one is {amount[~np.isfinite(amount)][0]}",
                field=("R",),
                code="number-expected",
            )
        reward, same = _group_means(before, self.chance, amount, self.states)
        if same:
            return reward, None
        pair = before * self.outcomes + outcome
        by_outcome, same = _group_means(pair, self.chance, amount, self.states * self.outcomes)
        if same or np.array_equal(before, self.after):
            return reward, by_outcome.reshape(self.states, self.outcomes)
        shape = (self.outcomes, self.states, self.states)
        return reward, from_entries(shape, outcome * self.states + before, self.after, amount)


def _group_means(group: Ids, chance: Array, amount: Array, count: int) -> tuple[Array, bool]:
    """Mean payment of each group, and whether every group has a single payment."""
    least, most = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(least, group, amount)
    np.maximum.at(most, group, amount)
    held = np.bincount(group, weights=chance, minlength=count)
    total = np.bincount(group, weights=chance * amount, minlength=count)
    # Impossible groups have infinite bounds and count as single.
    single = most - least <= SAME * np.maximum(np.abs(most), np.abs(least))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(single, np.where(np.isfinite(least), least, 0.0), total / held)
    return mean, bool(single.all())
