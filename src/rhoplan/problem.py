"""The records every problem is made of: Factor, Action, Problem.

A problem has hidden factors (independent, each with a prior), a visible state that everyone sees, and in each
visible state a menu of actions. An action is one record whatever it does: it pays a reward that depends on the
hidden state of one factor, yields an outcome with a likelihood that depends on that factor, leads to a visible
state (or to END), and may change the factor. Tests, moves, commits and samples differ only in these numbers, so
their kind is derived and nothing in the planner branches on it. This is Definition 1 of the paper (factored
observation POMDP); observe-then-commit is the case of one factor and one visible state.

Shapes: S hidden states of the action's factor, O outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rhoplan.errors import ProblemError

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


Menu: TypeAlias = Callable[[Visible], tuple[Action, ...]]
Rule: TypeAlias = Callable[..., str]
"""An agent that does not plan: problem, situation and weight to the name of an action."""
Leaf: TypeAlias = Callable[[Sequence[Visible], tuple[Array, ...]], Array]


@dataclass(frozen=True, eq=False)
class Problem:
    """A decision problem under partial observability whose tests can be planned.

    menu: the actions available in a visible state, always the same tuple for the same state.
    leaf: value (n,) of stopping the look-ahead, given n visible states and one belief array (n, S) per factor;
        None means the best ending action.
    tallies: what is worth counting in an episode. rules: agents that do not plan, by name.
    horizon: the look-ahead used when nobody asks for another. cap: steps after which an episode is cut off.
    planner: how agents plan when nobody says (see `agent.PLANNERS`). discount: what a reward one step later counts for.
    """

    name: str
    factors: tuple[Factor, ...]
    start: Visible
    menu: Menu
    unit: str = "points"
    leaf: Leaf | None = None
    horizon: int = 3
    planner: str = "exact"
    discount: float = 1.0
    cap: int = 200
    note: str = ""
    spec: str = ""
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def is_flat(self) -> bool:
        """Whether this is an observe-then-commit problem with a single hidden factor."""
        return isinstance(self.menu, FlatMenu)

    @property
    def flat(self) -> FlatMenu:
        if not isinstance(self.menu, FlatMenu):
            raise ProblemError(f"'{self.name}' is not an observe-then-commit problem with one hidden factor")
        return self.menu

    @property
    def states(self) -> tuple[str, ...]:
        """States of the first factor (the only one of a flat problem)."""
        return self.factors[0].states

    @property
    def prior(self) -> Array:
        return self.factors[0].prior

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: everything but what planners keep on the problem."""
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    @cached_property
    def reward_scale(self) -> float:
        """Largest reward or cost in sight at the start, the yardstick of the tie rule.

        Ending actions that another one beats in every state do not count: nobody would take them.
        """
        actions = self.menu(self.start)
        ending = [action for action in actions if action.ends_episode]
        beaten = {
            id(action)
            for action in ending
            if any(other.factor == action.factor and np.all(other.reward > action.reward) for other in ending)
        }
        sizes = [float(np.max(np.abs(action.reward))) for action in actions if id(action) not in beaten]
        return max([*sizes, 0.0]) or 1.0


@dataclass(frozen=True, eq=False)
class Test:
    """A test of a flat problem: what it costs (positive) and P(outcome | state), shape (S, O)."""

    __test__ = False  # keeps test collectors away from a class of this name

    name: str
    cost: float
    outcomes: tuple[str, ...]
    likelihood: Array
    repeatable: bool = True


@dataclass(frozen=True, eq=False)
class Commit:
    """A final decision of a flat problem: its reward in each state, shape (S,)."""

    name: str
    reward: Array


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
    """Menu of an observe-then-commit problem. The visible state is the set of run-once tests already done."""

    tests: tuple[Test, ...]
    commits: tuple[Commit, ...]

    def build(self, visible: Any) -> tuple[Action, ...]:
        allowed = [test for test in self.tests if test.name not in visible]
        return (*(self._test(test, visible) for test in allowed), *self._commits)

    @cached_property
    def _commits(self) -> tuple[Action, ...]:
        one = np.ones((len(self.commits[0].reward), 1))
        return tuple(Action(c.name, c.reward, one, ("done",), (END,)) for c in self.commits)

    def _test(self, test: Test, visible: frozenset[str]) -> Action:
        after = visible if test.repeatable else visible | {test.name}
        cost = np.full(test.likelihood.shape[0], -test.cost)
        return Action(test.name, cost, test.likelihood, test.outcomes, (after,) * len(test.outcomes))


def observe_then_commit(
    name: str,
    states: tuple[str, ...],
    *,
    tests: tuple[Test, ...],
    commits: tuple[Commit, ...],
    prior: Array | None = None,
    unit: str = "points",
    horizon: int = 3,
    note: str = "",
    spec: str = "",
    details: dict[str, Any] | None = None,
) -> Problem:
    """A checked flat problem: tests that leave the hidden state alone, then one commit. Uniform prior by default."""
    if not commits:
        raise ProblemError(f"'{name}' must have at least one commit")
    belief = np.full(len(states), 1.0 / max(len(states), 1)) if prior is None else np.asarray(prior, dtype=float)
    problem = Problem(
        name=name,
        factors=(Factor("state", tuple(states), belief),),
        start=frozenset(),
        menu=FlatMenu(tuple(tests), tuple(commits)),
        unit=unit,
        horizon=horizon,
        note=note,
        spec=spec or name,
        details=details or {},
    )
    check_problem(problem)
    return problem


def check_problem(problem: Problem) -> None:
    """Raise ProblemError unless priors, likelihoods, rewards and names of `problem` are sound in its start state."""
    for factor in problem.factors:
        _check_names(f"states of '{problem.name}'", factor.states)
        if not factor.states:
            raise ProblemError(f"'{problem.name}' must have at least one state")
        _check_distribution(f"prior of '{problem.name}'", factor.prior, len(factor.states))
    actions = problem.menu(problem.start)
    _check_names(f"actions of '{problem.name}'", tuple(action.name for action in actions))
    for action in actions:
        _check_action(problem, action)


def _check_action(problem: Problem, action: Action) -> None:
    states = problem.factors[action.factor].states
    label = f"{action.kind} '{action.name}'"
    if action.reward.shape != (len(states),) or not np.all(np.abs(action.reward) <= LARGEST_REWARD):
        raise ProblemError(
            f"reward of {label} must be one number per state ({len(states)} of them), at most {LARGEST_REWARD:g} large"
        )
    if problem.is_flat and action.kind != "commit" and action.reward[0] > 0:
        raise ProblemError(f"cost of {label} must not be negative; it is {-action.reward[0]:g}")
    _check_names(f"outcomes of {label}", action.outcomes)
    if action.likelihood.shape != (len(states), len(action.outcomes)) or not action.outcomes:
        raise ProblemError(f"likelihood of {label} must have {len(states)} rows and one column per outcome")
    sound = np.isfinite(action.likelihood).all(axis=1) & (action.likelihood >= 0).all(axis=1)
    sound &= np.abs(action.likelihood.sum(axis=1) - 1) <= ROW_SUM_TOLERANCE
    for place in np.flatnonzero(~sound)[:1]:
        _check_distribution(
            f"likelihood row '{states[place]}' of {label}", action.likelihood[place], len(action.outcomes)
        )
    if action.transition is not None:
        rows = action.transition.reshape(-1, len(states))
        if not np.all(rows >= 0) or not np.allclose(rows.sum(axis=1), 1, atol=ROW_SUM_TOLERANCE, rtol=0):
            raise ProblemError(f"transition of {label} must have rows that sum to 1")


def _check_names(what: str, names: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not name or not name.strip():
            raise ProblemError(f"{what} must have names; number {position + 1} is empty")
        if name in seen:
            raise ProblemError(f"{what} must have different names; '{name}' stands there twice")
        seen.add(name)


def _check_distribution(what: str, row: Array, length: int) -> None:
    if row.shape != (length,):
        raise ProblemError(f"{what} must have {length} numbers; it has {row.size}")
    if not np.all(np.isfinite(row)):
        raise ProblemError(f"{what} must be finite numbers")
    if np.any(row < 0) or np.any(row > 1 + ROW_SUM_TOLERANCE):
        bad = float(row[(row < 0) | (row > 1)][0])
        raise ProblemError(f"{what} must hold probabilities between 0 and 1; it has {bad:g}")
    if abs(float(row.sum()) - 1) > ROW_SUM_TOLERANCE:
        raise ProblemError(f"{what} must sum to 1; it sums to {float(row.sum()):.10g}")
