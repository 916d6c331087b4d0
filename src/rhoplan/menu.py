"""The records below a problem: factors, actions and what to count; and the menu of observe-then-commit problems.

An action is one record whatever it does (see `problem`). A menu gives the actions of a visible state; that of an
observe-then-commit problem is made from tests and commits, and knows which tests may still be run and for what.

Shapes: S hidden states of the action's factor, O outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Ids: TypeAlias = NDArray[np.int64]
Visible: TypeAlias = Hashable

ROW_SUM_TOLERANCE = 1e-9
"""How far a probability row may be from summing to 1: wider than rounding of decimals, narrower than any typo."""


LARGEST_REWARD = 1e100
"""Size of a reward whose square and sums are still numbers."""

LARGEST_HORIZON = 10_000


class _End(Enum):
    END = "end"

    def __repr__(self) -> str:
        return "END"


END = _End.END
"""The visible state after the last action of an episode."""


@dataclass(frozen=True, eq=False)
class Factor:
    """One hidden quantity: its states and the belief about them before any evidence, shape (S,)."""

    name: str
    states: tuple[str, ...]
    prior: Array


@dataclass(frozen=True, eq=False)
class Action:
    """Something the agent can do.

    reward: (S,) what it pays for each hidden state of its factor (a cost is a negative reward).
    likelihood: (S, O) probability of each outcome given the hidden state before the action.
    leads_to: the visible state after each outcome; END stops the episode.
    transition: None where the hidden state is preserved; else (S, S), or (O, S, S) where it depends on the outcome.
    """

    name: str
    reward: Array
    likelihood: Array
    outcomes: tuple[str, ...]
    leads_to: tuple[Visible, ...]
    factor: int = 0
    transition: Array | None = None

    @property
    def ends_episode(self) -> bool:
        return all(visible is END for visible in self.leads_to)

    @cached_property
    def same_reward(self) -> float | None:
        """The reward, where it is one and the same in every state; None where it depends on the state."""
        return float(self.reward[0]) if np.all(self.reward == self.reward[0]) else None

    @cached_property
    def least_likelihood(self) -> float:
        """The smallest probability above zero of an outcome, or of a change of state."""
        least = float(np.min(self.likelihood, initial=1.0, where=self.likelihood > 0))
        if self.transition is not None:
            least *= float(np.min(self.transition, initial=1.0, where=self.transition > 0))
        return least

    @property
    def preserves_hidden_state(self) -> bool:
        """Whether the condition of Proposition 3 holds: no hidden state can turn into another."""
        return self.transition is None or bool(np.all(self.transition == np.eye(len(self.reward))))

    @property
    def kind(self) -> str:
        """`commit` ends the episode, `test` has outcomes, `sample` changes the hidden state, `move` does neither."""
        if self.ends_episode:
            return "commit"
        if len(self.outcomes) > 1:
            return "test"
        return "move" if self.preserves_hidden_state else "sample"


@dataclass(frozen=True)
class Tally:
    """Something worth counting in an episode: these actions, in these hidden states, with these outcomes.

    An action is named, or meant by its kind; an empty tuple means any.
    """

    actions: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()

    def counts(self, action: Action, states: tuple[str, ...]) -> Array:
        """1 where taking `action` in a state (row) with an outcome (column) counts, else 0."""
        named = not self.actions or action.name in self.actions or action.kind in self.actions
        rows = np.array([not self.states or state in self.states for state in states])
        columns = np.array([not self.outcomes or outcome in self.outcomes for outcome in action.outcomes])
        counted: Array = (named & rows[:, None] & columns).astype(float)
        return counted


@dataclass(frozen=True, eq=False)
class Test:
    """A test of a flat problem: what it costs (positive) and P(outcome | state), shape (S, O).

    group: tests of one group share a price that the first of them adds (see FlatMenu). after: tests to run before it.
    """

    __test__ = False  # keeps test collectors away from a class of this name

    name: str
    cost: float
    outcomes: tuple[str, ...]
    likelihood: Array
    repeatable: bool = True
    group: str = ""
    after: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Commit:
    """A final decision of a flat problem: its reward in each state, shape (S,)."""

    name: str
    reward: Array


@lru_cache(maxsize=1 << 16)
def written(number: float) -> Fraction:
    """The decimal number that people wrote for `number`: prices add up to a budget as they do on paper."""
    return Fraction(repr(float(number))) if math.isfinite(number) else Fraction(10) ** 400


def best_commits(rewards: Array) -> Array:
    """1 where a commit (row) is a best one for the state (column), else 0; last digits do not count."""
    top = rewards.max(axis=0)
    best: Array = (rewards >= top - 1e-12 * np.abs(np.where(np.isfinite(top), top, 0.0))).astype(float)
    return best


class CachedMenu:
    """A menu that is built once per visible state: subclasses say how in `build`."""

    def build(self, visible: Any) -> tuple[Action, ...]:
        """The actions available in `visible`."""
        raise NotImplementedError

    def __call__(self, visible: Visible) -> tuple[Action, ...]:
        if visible not in self._menus:
            self._menus[visible] = self.build(visible)
        return self._menus[visible]

    @cached_property
    def _menus(self) -> dict[Visible, tuple[Action, ...]]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: the numbers, not the menus made from them."""
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True, eq=False)
class FlatMenu(CachedMenu):
    """Menu of an observe-then-commit problem.

    The visible state is the set of what has been done that bears on what may still be done: run-once tests, tests that
    others wait for, groups whose first price is paid, and, where there is a cap, the number of tests and their cost.
    first_prices: what the first test of a group adds to its cost. most_tests, budget: caps, None for no cap.
    """

    tests: tuple[Test, ...]
    commits: tuple[Commit, ...]
    first_prices: Mapping[str, float] = field(default_factory=dict)
    most_tests: int | None = None
    budget: float | None = None

    @property
    def same_everywhere(self) -> bool:
        """Whether every test can be run at any time, for the same cost."""
        plain = all(test.repeatable and not test.group and not test.after for test in self.tests)
        return plain and self.most_tests is None and self.budget is None

    @property
    def rules(self) -> tuple[object, ...]:
        """What restricts tests besides running once: equal for menus with the same restrictions."""
        ordered = {test.name: (test.group, test.after) for test in self.tests if test.group or test.after}
        return dict(self.first_prices), self.most_tests, self.budget, ordered

    def without(self, names: Collection[str]) -> FlatMenu:
        """This menu with some tests left out, and groups that are empty then.

        A test that waits for one of them stays: it may be run where the other one was run before.
        """
        tests = tuple(test for test in self.tests if test.name not in names)
        prices = {group: price for group, price in self.first_prices.items() if any(t.group == group for t in tests)}
        return FlatMenu(tests, self.commits, prices, self.most_tests, self.budget)

    def build(self, visible: Any) -> tuple[Action, ...]:
        return (*(self._test(test, visible) for test in self.tests if self.allowed(test, visible)), *self._commits)

    def allowed(self, test: Test, visible: Any) -> bool:
        """Whether `test` may be run when `visible` is what has been done."""
        return (
            (test.repeatable or test.name not in visible)
            and all(other in visible for other in test.after)
            and (self.most_tests is None or self._counted(visible) < self.most_tests)
            and (self.budget is None or self._spent(visible) + self.exact_price(test, visible) <= written(self.budget))
        )

    def price(self, test: Test, visible: Any) -> float:
        """What running `test` costs now."""
        return float(self.exact_price(test, visible))

    def exact_price(self, test: Test, visible: Any) -> Fraction:
        """What running `test` costs now, to the last digit that people wrote."""
        first = self.first_prices.get(test.group, 0.0)
        return written(test.cost) + (written(first) if first and (GROUP, test.group) not in visible else 0)

    def _counted(self, visible: Any) -> int:
        return next((item[1] for item in visible if isinstance(item, tuple) and item[0] == TESTS), 0)

    def _spent(self, visible: Any) -> Fraction:
        return next((item[1] for item in visible if isinstance(item, tuple) and item[0] == SPENT), Fraction(0))

    @property
    def everything(self) -> tuple[Action, ...]:
        """All tests, whether they may be run at first or not, and all commits."""
        return (*(self._test(test, frozenset()) for test in self.tests), *self._commits)

    @cached_property
    def payoff(self) -> Array:
        """Reward (E, S) of each commit in each state."""
        return np.stack([commit.reward for commit in self.commits])

    @cached_property
    def right(self) -> Array:
        """1 where a commit (row) is a best one for the state (column), else 0: what counts as success."""
        return best_commits(self.payoff)

    @cached_property
    def gains(self) -> Array:
        """The most (S,) that committing can gain in each state: what is lost there counts as nothing."""
        best: Array = np.maximum(self.payoff.max(axis=0), 0.0)
        return best

    @cached_property
    def _commits(self) -> tuple[Action, ...]:
        one = np.ones((len(self.commits[0].reward), 1))
        return tuple(Action(c.name, c.reward, one, ("done",), (END,)) for c in self.commits)

    @cached_property
    def _remembered(self) -> frozenset[str]:
        """Tests whose having been run bears on what may be run."""
        return frozenset(test.name for test in self.tests if not test.repeatable).union(*(t.after for t in self.tests))

    def _test(self, test: Test, visible: frozenset[Any]) -> Action:
        price = self.price(test, visible)
        cost = np.full(test.likelihood.shape[0], -price)
        after = self._after(test, visible)
        return Action(test.name, cost, test.likelihood, test.outcomes, (after,) * len(test.outcomes))

    def _after(self, test: Test, visible: frozenset[Any]) -> frozenset[Any]:
        done = {test.name} if test.name in self._remembered else set()
        paid = {(GROUP, test.group)} if self.first_prices.get(test.group, 0.0) else set()
        after = visible | done | paid
        if self.most_tests is not None:
            before = self._counted(visible)
            after = after - {(TESTS, before)} | {(TESTS, before + 1)}
        if self.budget is not None:
            spent = self._spent(visible)
            after = after - {(SPENT, spent)} | {(SPENT, spent + self.exact_price(test, visible))}
        return after


GROUP, TESTS, SPENT = "group", "tests", "spent"
"""First parts of what a visible state says of groups and caps."""
