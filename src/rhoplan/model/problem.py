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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.menu import (
    END,
    LARGEST_HORIZON,
    LARGEST_REWARD,
    ROW_SUM_TOLERANCE,
    Action,
    Array,
    CachedMenu,
    Commit,
    Factor,
    FlatMenu,
    Ids,
    Tally,
    Test,
    Visible,
    best_commits,
)

__all__ = [
    "END",
    "LARGEST_HORIZON",
    "LARGEST_REWARD",
    "ROW_SUM_TOLERANCE",
    "Action",
    "Array",
    "CachedMenu",
    "Commit",
    "Factor",
    "FlatMenu",
    "Ids",
    "Leaf",
    "Menu",
    "Problem",
    "Rule",
    "Tally",
    "Test",
    "Visible",
    "best_commits",
    "observe_then_commit",
]

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

    @property
    def gains(self) -> Array | None:
        """The most (S,) that an episode can gain in each state of the one hidden factor, where the menu can tell.

        It can where the hidden state stays as it is and only commits gain; None elsewhere.
        """
        found: Array | None = getattr(self.menu, "gains", None)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: everything but what planners keep on the problem."""
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    @cached_property
    def reward_scale(self) -> float:
        """Largest reward or cost in sight at the start, the yardstick of the tie rule.

        Ending actions that another one beats in every state do not count: nobody would take them.
        """
        actions = self.menu(self.start)
        sizes = [float(np.max(np.abs(action.reward))) for action in actions if not action.ends_episode]
        for factor in {action.factor for action in actions if action.ends_episode}:
            rewards = np.stack([a.reward for a in actions if a.ends_episode and a.factor == factor])
            beaten = (rewards[:, None] > rewards).all(axis=-1).any(axis=0)
            sizes.append(float(np.max(np.abs(rewards[~beaten]))))
        return max([*sizes, 0.0]) or 1.0


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
    first_prices: Mapping[str, float] | None = None,
    most_tests: int | None = None,
    budget: float | None = None,
) -> Problem:
    """A checked flat problem: tests that leave the hidden state alone, then one commit. Uniform prior by default."""
    if not commits:
        raise ProblemError(f"'{name}' must have at least one commit")
    menu = FlatMenu(tuple(tests), tuple(commits), first_prices or {}, most_tests, budget)
    _check_rules(name, menu)
    belief = np.full(len(states), 1.0 / max(len(states), 1)) if prior is None else np.asarray(prior, dtype=float)
    problem = Problem(
        name=name,
        factors=(Factor("state", tuple(states), belief),),
        start=frozenset(),
        menu=menu,
        unit=unit,
        horizon=horizon,
        note=note,
        spec=spec or name,
        details=details or {},
    )
    from rhoplan.model.check import check_problem

    check_problem(problem)
    return problem


def _check_rules(name: str, menu: FlatMenu) -> None:
    """Raise ProblemError unless groups, orders and caps make sense."""
    tests = {test.name: test for test in menu.tests}
    for test in menu.tests:
        for other in test.after:
            if other not in tests or other == test.name:
                raise ProblemError(f"test '{test.name}' of '{name}' may run after other tests only; '{other}' is none")
    ready: set[str] = set()
    while fresh := {t.name for t in menu.tests if t.name not in ready and ready.issuperset(t.after)}:
        ready |= fresh
    if len(ready) < len(tests):
        waiting = ", ".join(sorted(set(tests) - ready))
        raise ProblemError(f"tests of '{name}' wait for one another and can never run: {waiting}")
    for group, price in menu.first_prices.items():
        if not 0 <= price <= LARGEST_REWARD:
            raise ProblemError(f"first price of group '{group}' must be a number of at least 0; it is {price:g}")
        if not any(test.group == group for test in menu.tests):
            raise ProblemError(f"group '{group}' of '{name}' has a price but no test")
    if menu.most_tests is not None and menu.most_tests < 0:
        raise ProblemError(f"the cap on tests must be at least 0; it is {menu.most_tests}")
    if menu.budget is not None and not 0 <= menu.budget <= LARGEST_REWARD:
        raise ProblemError(f"the budget must be a number of at least 0; it is {menu.budget:g}")
