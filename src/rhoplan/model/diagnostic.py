"""Diagnostic problems: tests that leave one hidden state as it is, then one terminal decision (commit).

Users write tests and commits; `FlatMenu` derives actions from them and applies the rules: set-up prices of groups,
prerequisites, panels, the cap on the number of tests and the budget. A panel runs several tests at once, for one price;
given the state, their results are independent. States may be subtypes of a diagnosis: tests may distinguish them, while
decisions concern the diagnosis. A subtype's state is called `disease (silent)`.

Shapes: S hidden states, D diagnoses, O outcomes, E commits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.model.pomdp import END, POMDP, Action, Array, CachedMenu, Factor, Ids, subtype
from rhoplan.model.validate import check_problem

MOST_OUTCOMES = 256
"""Joint outcomes of one panel, at most: each is a branch of every plan, and a line that people choose from."""


@dataclass(frozen=True, eq=False)
class Test:
    """A test of a flat problem: what it costs (positive) and P(outcome | state), shape (S, O).

    group: tests of one group share a price that the first of them adds (see FlatMenu). after: tests to run before it.
    parts: of a panel, the tests that it runs (see `panel`).
    """

    __test__ = False  # keeps test collectors away from a class of this name

    name: str
    cost: float
    outcomes: tuple[str, ...]
    likelihood: Array
    repeatable: bool = True
    group: str = ""
    after: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Decision:
    """A final decision of a flat problem: its reward in each state, shape (S,)."""

    name: str
    reward: Array


class Done(NamedTuple):
    """The visible state of an observe-then-commit problem: what has been done that bears on what may still be done.

    run: tests that may not be run again or that others wait for. paid: groups whose first price is paid. tests, spent:
    how many were run and what they cost in minor units, counted only where there is a cap on it.
    """

    run: frozenset[str] = frozenset()
    paid: frozenset[str] = frozenset()
    tests: int = 0
    spent: int = 0


@dataclass(frozen=True, eq=False)
class FlatMenu(CachedMenu):
    """Menu of an observe-then-commit problem.

    The visible state is a `Done`. first_prices: what the first test of a group adds to its cost. most_tests, budget:
    caps, None for no cap. parts: tests that are to be had in panels only. Whoever has run a panel has run its tests; a
    panel is not offered once one of its tests was run that may run only once.

    minor_units: how many of them are one unit, a power of ten. All prices are whole numbers of minor units (cents), so
    that sums meet a budget exactly as decimals do. It is at least what the decimals of the prices need.
    """

    tests: tuple[Test, ...]
    commits: tuple[Decision, ...]
    first_prices: Mapping[str, float] = field(default_factory=dict)
    most_tests: int | None = None
    budget: float | None = None
    parts: tuple[Test, ...] = ()
    minor_units: int = 0

    def __post_init__(self) -> None:
        prices = (*(test.cost for test in self.tests), *self.first_prices.values(), self.budget or 0.0)
        object.__setattr__(self, "minor_units", max(self.minor_units, 10 ** max(map(_decimals, prices))))

    @property
    def same_everywhere(self) -> bool:
        """Whether every test can be run at any time, for the same cost."""
        plain = all(test.repeatable and not test.group and not test.after for test in self.tests)
        return plain and self.most_tests is None and self.budget is None

    @property
    def rules(self) -> tuple[object, ...]:
        """What restricts tests besides running once: equal for menus with the same restrictions."""
        ordered = {test.name: (test.group, test.after) for test in self.tests if test.group or test.after}
        panels = {test.name: test.parts for test in self.tests if test.parts}
        return dict(self.first_prices), self.most_tests, self.budget, ordered, panels

    def without(self, names: Collection[str]) -> FlatMenu:
        """This menu with some tests left out, panels that have one of them, and groups that are empty then.

        A test that waits for one of them stays: it may be run where the other one was run before.
        """
        tests = tuple(test for test in self.tests if not {test.name, *test.parts} & set(names))
        prices = {group: price for group, price in self.first_prices.items() if any(t.group == group for t in tests)}
        return replace(self, tests=tests, first_prices=prices)  # with the same minor units, which `Done` counts

    def build(self, observable: Any) -> tuple[Action, ...]:
        return (
            *(self._test(test, observable) for test in self.tests if self.allowed(test, observable)),
            *self._commits,
        )

    def allowed(self, test: Test, done: Done) -> bool:
        """Whether `test` may be run when `done` is what has been done."""
        return (
            (test.repeatable or test.name not in done.run)
            and not (test.parts and self._once & done.run & set(test.parts))
            and done.run.issuperset(test.after)
            and (self.most_tests is None or done.tests < self.most_tests)
            and done.spent + self._price(test, done) <= self._most_spent
        )

    def price(self, test: Test, done: Done) -> float:
        """What running `test` costs now."""
        return self._price(test, done) / self.minor_units

    def spent(self, done: Done) -> float:
        """What was spent when `done` was done, in the model's unit; counted only where there is a cap on it."""
        return done.spent / self.minor_units

    def in_minor_units(self, price: float) -> int:
        """A price as a whole number of minor units; exact for the prices of this menu and their sums."""
        return round(Decimal(repr(float(price))) * self.minor_units)

    def _price(self, test: Test, done: Done) -> int:
        """What running `test` costs now, in minor units."""
        return self._costs[test.name] + (self._first_costs.get(test.group, 0) if test.group not in done.paid else 0)

    @cached_property
    def _most_spent(self) -> float:
        limited = self.budget is not None and math.isfinite(self.budget)
        return self.in_minor_units(self.budget or 0.0) if limited else math.inf

    @cached_property
    def _costs(self) -> dict[str, int]:
        return {test.name: self.in_minor_units(test.cost) for test in self.tests}

    @cached_property
    def _first_costs(self) -> dict[str, int]:
        return {group: self.in_minor_units(price) for group, price in self.first_prices.items()}

    @property
    def everything(self) -> tuple[Action, ...]:
        """All tests, whether they may be run at first or not, and all commits."""
        return self.whatever(Done())

    def whatever(self, done: Done) -> tuple[Action, ...]:
        """All tests, at the prices they have when `done` was done, whether they may be run then or not; and commits."""
        return (*(self._test(test, done) for test in self.tests), *self._commits)

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
        return self._once.union(*(test.after for test in self.tests))

    @cached_property
    def _once(self) -> frozenset[str]:
        """Tests that may run only once; panels have run where one of these in them has."""
        return frozenset(test.name for test in (*self.tests, *self.parts) if not test.repeatable and not test.parts)

    def _test(self, test: Test, done: Done) -> Action:
        cost = np.full(test.likelihood.shape[0], -self.price(test, done))
        return Action(test.name, cost, test.likelihood, test.outcomes, (self.after(test, done),) * len(test.outcomes))

    def after(self, test: Test, done: Done) -> Done:
        """What has been done once `test` is run too."""
        return Done(
            done.run | ({test.name, *test.parts} & self._remembered),
            done.paid | {test.group} if self.first_prices.get(test.group, 0.0) else done.paid,
            done.tests + (self.most_tests is not None),
            done.spent + (self._price(test, done) if self.budget is not None else 0),
        )


@dataclass(frozen=True, eq=False)
class Grouped:
    """Diagnoses in their order, and the subtypes of those that have some."""

    diagnoses: tuple[str, ...]
    subtypes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @staticmethod
    def of(factor: Factor) -> Grouped:
        """How the states of `factor` are grouped."""
        found: dict[str, tuple[str, ...]] = {}
        for state, diagnosis in zip(factor.states, factor.diagnosis_of, strict=bool(factor.diagnosis_of)):
            if name := subtype(state, diagnosis):
                found[diagnosis] = (*found.get(diagnosis, ()), name)
        return Grouped(factor.diagnoses, found)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The hidden states, those of one diagnosis side by side."""
        return tuple(
            f"{diagnosis} ({name})" if name else diagnosis
            for diagnosis in self.diagnoses
            for name in self.subtypes.get(diagnosis, ("",))
        )

    @property
    def diagnosis_of(self) -> tuple[str, ...]:
        """The diagnosis of each state; empty where there are no subtypes."""
        return tuple(self.diagnoses[group] for group in self.groups) if self.subtypes else ()

    @cached_property
    def groups(self) -> Ids:
        """The place (S,) of each state's diagnosis."""
        counts = [len(self.subtypes.get(diagnosis, ("",))) for diagnosis in self.diagnoses]
        return np.repeat(np.arange(len(counts)), counts)

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where the states of each diagnosis stand."""
        ends = np.cumsum(np.bincount(self.groups, minlength=len(self.diagnoses))).tolist()
        return {name: slice(*ends) for name, ends in zip(self.diagnoses, pairwise([0, *ends]), strict=True)}

    def unfold(self, rows: Array) -> Array:
        """Rows (S, ...) by state, given one (D, ...) for each diagnosis that holds for all of its subtypes."""
        unfolded: Array = rows[self.groups]
        return unfolded


def DiagnosticProblem(
    states: tuple[str, ...],
    prior: Array | None = None,
    tests: tuple[Test, ...] = (),
    decisions: tuple[Decision, ...] = (),
    *,
    name: str = "problem",
    subtypes: Mapping[str, tuple[str, ...]] | None = None,
    about_diagnosis: bool = False,
    price: float | None = None,
    unit: str = "points",
    horizon: int = 3,
    note: str = "",
    spec: str = "",
    details: dict[str, Any] | None = None,
    groups: Mapping[str, float] | None = None,
    max_tests: int | None = None,
    budget: float | None = None,
    parts: tuple[Test, ...] = (),
) -> POMDP:
    """A checked flat problem: tests that leave the hidden state alone, then one commit. Uniform prior by default.

    subtypes: those of each of `states` that has some. Then `states` are diagnoses, and the rows of likelihoods, prior
    and rewards belong to the states that `Grouped` makes of both, in its order. about_diagnosis: whether information is
    about those of `states`, not about subtypes. price: what a nat of it is worth, where the model says so. parts: tests
    that are to be had in panels only (see `panel`).
    """
    if not decisions:
        raise ProblemError(f"'{name}' must have at least one commit", field=("commits",), code="no-decisions")
    menu = FlatMenu(tuple(tests), tuple(decisions), groups or {}, max_tests, budget, tuple(parts))
    _check_rules(name, menu)
    grouped = Grouped(tuple(states), _known_subtypes(name, tuple(states), subtypes or {}))
    hidden = grouped.states
    belief = np.full(len(hidden), 1.0 / max(len(hidden), 1)) if prior is None else np.asarray(prior, dtype=float)
    problem = POMDP(
        name=name,
        factors=(Factor("state", hidden, belief, diagnosis_of=grouped.diagnosis_of, about_diagnosis=about_diagnosis),),
        start=Done(),
        menu=menu,
        unit=unit,
        price=price,
        horizon=horizon,
        note=note,
        spec=spec or name,
        details=details or {},
    )
    check_problem(problem)
    return problem


def panel(name: str, cost: float, tests: Sequence[Test], *, group: str = "") -> Test:
    """The test that runs all of `tests` at once; an outcome is called `crp high and troponin normal`.

    It can be repeated where all of them can, and waits for what they wait for.
    """
    if len(tests) < 2:
        raise ProblemError(
            f"panel '{name}' must have at least two tests; it has {len(tests)}",
            field=("panels", name),
            code="panel-size",
        )
    count = int(np.prod([len(test.outcomes) for test in tests], dtype=float))
    if count > MOST_OUTCOMES:
        raise ProblemError(
            f"panel '{name}' must have at most {MOST_OUTCOMES} joint outcomes; its tests have {count:,}: leave some "
            "out, or give them fewer outcomes",
            field=("panels", name, "tests"),
            code="panel-size",
        )
    names = tuple(test.name for test in tests)
    return Test(
        name,
        cost,
        tuple(
            " and ".join(f"{n} {o}" for n, o in zip(names, seen, strict=True)) for seen in product(*_outcomes(tests))
        ),
        _joint(tests),
        all(test.repeatable for test in tests),
        group,
        tuple(dict.fromkeys(other for test in tests for other in test.after if other not in names)),
        names,
    )


def with_panels(tests: Iterable[Test], parts: Iterable[Test]) -> tuple[Test, ...]:
    """`tests`, the likelihood of each panel made anew from those of its tests; parts: tests that are in panels only."""
    tests = tuple(tests)
    known = {test.name: test for test in (*tests, *parts)}
    return tuple(
        replace(test, likelihood=_joint([known[name] for name in test.parts])) if test.parts else test for test in tests
    )


def _outcomes(tests: Sequence[Test]) -> list[tuple[str, ...]]:
    return [test.outcomes for test in tests]


def _joint(tests: Sequence[Test]) -> Array:
    """The chance (S, O1 * O2 * ...) of each joint outcome, the last test varying fastest."""
    joint: Array = tests[0].likelihood
    for test in tests[1:]:
        joint = (joint[:, :, None] * test.likelihood[:, None, :]).reshape(len(joint), -1)
    return joint


def _known_subtypes(
    name: str, diagnoses: tuple[str, ...], subtypes: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """`subtypes`, if they are some, of states that exist."""
    known = set(diagnoses)
    for diagnosis, names in subtypes.items():
        if diagnosis not in known or not names or not all(names):
            raise ProblemError(
                f"subtypes of '{name}' must be names, at least one, for a state of {', '.join(diagnoses)}; "
                f"'{diagnosis}' has {', '.join(names) or 'none'}",
                field=("subtypes", diagnosis),
                code="subtype-name",
            )
    return {diagnosis: tuple(names) for diagnosis, names in subtypes.items()}


def _check_rules(name: str, menu: FlatMenu) -> None:
    """Raise ProblemError unless groups, orders and caps make sense."""
    tests = {test.name: test for test in menu.tests}
    known = tests | {test.name: test for test in menu.parts}
    for test in menu.tests:
        if not abs(test.cost) <= LARGEST_REWARD:
            raise ProblemError(
                f"cost of test '{test.name}' must be a number of at most {LARGEST_REWARD:g}; it is {test.cost:g}",
                field=("tests", test.name, "cost"),
                code="number-range",
            )
        if test.cost < 0:
            raise ProblemError(
                f"cost of test '{test.name}' must not be negative; it is {test.cost:g}",
                field=("tests", test.name, "cost"),
                code="negative-number",
            )
        for other in test.parts:
            if other not in known or known[other].parts:
                raise ProblemError(
                    f"panel '{test.name}' of '{name}' must have tests of the model; '{other}' is none",
                    field=("panels", test.name, "tests"),
                    code="unknown-test",
                )
        for other in test.after:
            if other not in known or other == test.name:
                raise ProblemError(
                    f"test '{test.name}' of '{name}' may run after other tests only; '{other}' is none",
                    field=("tests", test.name, "after"),
                    code="unknown-test",
                )
    if waiting := sorted(set(tests) - _possible(menu.tests)):
        raise ProblemError(
            f"tests of '{name}' wait for one another and can never run: {', '.join(waiting[:8])}",
            field=("tests", waiting[0], "after"),
            code="test-order-cycle",
        )
    groups = {test.group for test in menu.tests}
    for group, price in menu.first_prices.items():
        if not 0 <= price <= LARGEST_REWARD:
            raise ProblemError(
                f"first price of group '{group}' must be a number of at least 0; it is {price:g}",
                field=("groups", group, "first"),
                code="number-range",
            )
        if group not in groups:
            raise ProblemError(
                f"group '{group}' of '{name}' has a price but no test", field=("groups", group), code="empty-group"
            )
    if menu.most_tests is not None and menu.most_tests < 0:
        raise ProblemError(
            f"the cap on tests must be at least 0; it is {menu.most_tests}", field=("cap", "tests"), code="number-range"
        )
    if menu.budget is not None and not 0 <= menu.budget <= LARGEST_REWARD:
        raise ProblemError(
            f"the budget must be a number of at least 0; it is {menu.budget:g}",
            field=("cap", "spend"),
            code="number-range",
        )


def _possible(tests: Sequence[Test]) -> set[str]:
    """Names of the tests that can be run, by themselves or in a panel, at some time; linear in their prerequisites."""
    missing = {test.name: set(test.after) for test in tests}
    followers: dict[str, list[Test]] = {}
    for test in tests:
        for other in missing[test.name]:
            followers.setdefault(other, []).append(test)
    found, ready = set[str](), [test for test in tests if not test.after]
    while ready:
        test = ready.pop()
        for name in {test.name, *test.parts} - found:
            found.add(name)
            for follower in followers.get(name, ()):
                missing[follower.name].discard(name)
                if not missing[follower.name]:
                    ready.append(follower)
    return found


def _decimals(price: float) -> int:
    """How many decimals `price` has as written by people, the shortest decimal number that is this float."""
    return max(-int(Decimal(repr(float(price))).normalize().as_tuple().exponent), 0) if math.isfinite(price) else 0


def best_commits(rewards: Array) -> Array:
    """1 where a commit (row) is a best one for the state (column), else 0; last digits do not count."""
    top = rewards.max(axis=0)
    best: Array = (rewards >= top - 1e-12 * np.abs(np.where(np.isfinite(top), top, 0.0))).astype(float)
    return best
