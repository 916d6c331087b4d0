"""Actions whose outcome is seen after the hidden state has changed, as most of the literature writes them.

There an action moves the state by T(s' | s) and shows an outcome by Z(o | s'). A record of this package says the same
as the probability of the outcome given the state before, and how the state changes given both:

    P(o | s) = sum_s' T(s' | s) Z(o | s')          P(s' | s, o) = T(s' | s) Z(o | s') / P(o | s)

`from_transition_observation` makes both; `Ways` does it for whatever joint distribution there is, payments included.

Shapes: S hidden states, O outcomes, E ways in which an action can go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.problem import Action, Array, Ids, Visible
from rhoplan.model.sparse import MOST_DENSE, Change, Sparse

SAME = 1e-12
"""How far numbers that are one and the same may be apart, relative to their size: a thousand times their rounding."""

MANY = 10_000
"""Ways of an action from which on some of them are looked at before all are."""


def from_transition_observation(transition: Change, observation: Array) -> tuple[Array, Change | None]:
    """Likelihood (S, O) and transition of an action that moves states by `transition` (S, S) and whose outcome is then
    drawn from the row of `observation` (S, O) that belongs to the state after it.

    The transition is None where no state changes, (S, S) where the outcome says nothing about the change.
    """
    ways = Ways.of(transition, observation)
    return ways.likelihood, ways.transition


@dataclass(frozen=True, eq=False)
class Ways:
    """Every way an action can go: state before, outcome, state after (E,), its chance (E,) given the state before, and
    what it pays (E,). No way stands there twice, or has no chance; the chances of one state sum to 1."""

    states: int
    outcomes: int
    before: Ids
    outcome: Ids
    after: Ids
    chance: Array
    pays: Array

    @staticmethod
    def of(transition: Change, observation: Array) -> Ways:
        """States move by `transition` (S, S), then the outcome is drawn by `observation` (S, O). Nothing is paid."""
        if isinstance(transition, Sparse):
            before, after, share = transition.rows, transition.columns, transition.values
        else:
            before, after = np.nonzero(transition)
            share = transition[before, after]
        shown, outcome = np.nonzero(observation)
        starts = np.searchsorted(shown, np.arange(len(observation) + 1))
        counts = np.diff(starts)[after]
        place = np.repeat(starts[after] - np.cumsum(counts) + counts, counts)
        place += np.arange(len(place))
        chance = np.repeat(share, counts)
        chance *= observation[shown, outcome][place]
        (states, outcomes), told = observation.shape, outcome[place]
        before, after = np.repeat(before, counts), np.repeat(after, counts)
        return Ways(states, outcomes, before, told, after, chance, np.zeros(len(place)))

    @cached_property
    def likelihood(self) -> Array:
        """Probability (S, O) of each outcome given the state before."""
        place = self.before * self.outcomes + self.outcome
        sums = np.bincount(place, weights=self.chance, minlength=self.states * self.outcomes)
        return sums.astype(float).reshape(self.states, self.outcomes)

    @cached_property
    def _shown(self) -> Ids:
        """How many outcomes (S,) each state before can give."""
        counts: Ids = np.count_nonzero(self.likelihood, axis=1)
        return counts

    @property
    def transition(self) -> Change | None:
        """How states change; dense where that is small."""
        before, outcome, after, chance = self.before, self.outcome, self.after, self.chance
        if np.array_equal(before, after):
            return None
        one = slice(None) if len(before) < MANY else before == before[0]  # a look at one state is often enough
        whatever = self._whatever(before[one], outcome[one], after[one], chance[one])
        if whatever is not None and len(before) >= MANY:
            whatever = self._whatever(before, outcome, after, chance)
        if whatever is not None:
            return _kept(whatever.with_values(whatever.values / whatever.row_sums[whatever.rows]))
        rows = outcome * self.states + before
        change = Sparse.of((self.outcomes, self.states, self.states), rows, after, chance)
        return _kept(change.with_values(change.values / change.row_sums.ravel()[change.rows]))

    def _whatever(self, before: Ids, outcome: Ids, after: Ids, chance: Array) -> Sparse | None:
        """How states change on these ways where the outcome says nothing about it; else None."""
        whatever = Sparse.of((self.states, self.states), before, after, chance)
        # As many ways as every outcome with every change would be: then none rules another out.
        if len(chance) != int((self._shown * np.diff(whatever.starts)).sum()):
            return None
        off = chance - self.likelihood[before, outcome] * whatever.at(before, after)
        return whatever if np.all(np.abs(off) <= SAME * chance) else None

    def action(self, name: str, outcomes: tuple[str, ...], leads_to: tuple[Visible, ...]) -> Action:
        """The action that goes these ways."""
        transition = self.transition
        reward, pays = self._payments(transition is None)
        return Action(name, reward, self.likelihood, outcomes, leads_to, transition=transition, pays=pays)

    def _payments(self, stays: bool) -> tuple[Array, Change | None]:
        before, outcome, after, paid = self.before, self.outcome, self.after, self.pays
        if not np.isfinite(paid).all():
            raise ProblemError(
                f"rewards must be finite numbers; one is {paid[~np.isfinite(paid)][0]}",
                field=("R",),
                code="number-expected",
            )
        reward, same = _mean(before, self.chance, paid, self.states)
        if same:
            return reward, None
        pair = before * self.outcomes + outcome
        by_outcome, same = _mean(pair, self.chance, paid, self.states * self.outcomes)
        if same or stays:
            return reward, by_outcome.reshape(self.states, self.outcomes)
        shape = (self.outcomes, self.states, self.states)
        return reward, _kept(Sparse.of(shape, outcome * self.states + before, after, paid))


def _mean(group: Ids, chance: Array, paid: Array, count: int) -> tuple[Array, bool]:
    """What is paid on average in each group, and whether that is what is always paid there."""
    least, most = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(least, group, paid)
    np.maximum.at(most, group, paid)
    held = np.bincount(group, weights=chance, minlength=count)
    total = np.bincount(group, weights=chance * paid, minlength=count)
    fixed = most - least <= SAME * np.maximum(
        np.abs(most), np.abs(least)
    )  # also where nothing can happen: infinite bounds
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(fixed, np.where(np.isfinite(least), least, 0.0), total / held)
    return mean, bool(fixed.all())


def _kept(change: Sparse) -> Change:
    return change.dense() if np.prod(change.shape) <= MOST_DENSE else change
