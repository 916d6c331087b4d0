"""Diagnostic problems: tests that leave one hidden state as it is, then one final decision.

Users write tests and decisions; `FlatMenu` derives the actions and applies the rules: first prices of groups,
prerequisites, panels, the cap on the number of tests and the budget. A panel runs several tests at once for one price;
given the state, their results are independent. States may be subtypes of a diagnosis: tests may distinguish them, while
decisions concern the diagnosis. The state of a subtype is called `disease (silent)`.

Shapes: S hidden states, D diagnoses, O outcomes, E decisions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rhoplan.errors import ProblemError, require
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.model.pomdp import POMDP
from rhoplan.model.records import END, Action, Array, CachedMenu, Factor, Observable, convert, floats
from rhoplan.model.validate import check_problem

MOST_OUTCOMES = 256
"""Joint outcomes of one panel, at most: each is a branch of every plan, and a line that people choose from."""


@dataclass(frozen=True, eq=False)
class Test:
    """A test: what it costs (not negative) and P(outcome | state), shape (S, O). Lists are fine.

    repeatable: whether it can be run again, with results that are independent given the state.
    group: the first test of a group adds the first price of the group (see `DiagnosticProblem`).
    after: names of tests that must be run before it.
    only_in_panels: whether it is available in panels only; then its cost does not count.
    parts: the names of the tests of a panel; `DiagnosticProblem` makes such tests from `panels`.
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
    only_in_panels: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.after, str):
            object.__setattr__(self, "after", (self.after,))
        convert(self, ("tests", self.name), arrays=("likelihood",), tuples=("outcomes", "after", "parts"))


@dataclass(frozen=True, eq=False)
class Decision:
    """A final decision: its reward in each state, shape (S,)."""

    name: str
    reward: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "reward", floats(self.reward, f"reward of '{self.name}'", ("commits", self.name)))


@dataclass(frozen=True)
class Panel:
    """Tests that are run together for one price: `Panel("blood", cost=12, tests=["crp", "troponin"])`.

    Its outcomes are called `crp high and troponin normal`. It can be repeated if all of its tests can, and must be run
    after the tests that these must be run after. It is not available after one of its tests that may run only once.
    """

    name: str
    cost: float
    tests: tuple[str, ...]
    group: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests", tuple(self.tests))

    def joint_test(self, known: Mapping[str, Test]) -> Test:
        """The test that runs all tests of the panel; `known`: the tests of the problem by name."""
        place, name = ("panels", self.name), self.name
        message = f"panel '{name}' must have at least two tests; it has {len(self.tests)}"
        require(len(self.tests) >= 2, message, place, code="panel-size")
        for other in self.tests:
            message = f"panel '{name}' must have tests of the problem; '{other}' is none"
            require(other in known, message, (*place, "tests"), code="unknown-test")
        tests = [known[other] for other in self.tests]
        sizes = {test.likelihood.shape[:-1] for test in tests}
        message = f"likelihoods of the tests of panel '{name}' must have one row per state"
        require([len(size) for size in sizes] == [1], message, (*place, "tests"), code="likelihood-shape")
        count = math.prod(len(test.outcomes) for test in tests)
        found = f"its tests have {count:,}: leave some out, or give them fewer outcomes"
        message = f"panel '{name}' must have at most {MOST_OUTCOMES} joint outcomes; {found}"
        require(count <= MOST_OUTCOMES, message, (*place, "tests"), code="panel-size")
        seen = product(*([f"{test.name} {outcome}" for outcome in test.outcomes] for test in tests))
        return Test(
            name,
            self.cost,
            tuple(" and ".join(outcomes) for outcomes in seen),
            _joint(tests),
            all(test.repeatable for test in tests),
            self.group,
            tuple(dict.fromkeys(other for test in tests for other in test.after if other not in self.tests)),
            self.tests,
        )


class Done(NamedTuple):
    """The observable state of a diagnostic problem: what has been done that bears on what may still be done.

    run: tests that may not be run again or that others wait for. paid: groups whose first price is paid. tests, spent:
    how many were run and what they cost in minor units, counted only if there is a cap on it.
    """

    run: frozenset[str] = frozenset()
    paid: frozenset[str] = frozenset()
    tests: int = 0
    spent: int = 0


@dataclass(frozen=True, eq=False)
class FlatMenu(CachedMenu):
    """Menu of a diagnostic problem; the observable state is a `Done`.

    first_prices: what the first test of a group adds to its cost. most_tests, budget: caps, None for no cap. parts:
    tests that are available in panels only. Running a panel counts as running its tests.
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
        """This menu without some tests, the panels that have one of them, and groups that are empty then.

        A test that must be run after one of them stays: it is available if the other one was run before.
        """
        tests = tuple(test for test in self.tests if not {test.name, *test.parts} & set(names))
        prices = {group: price for group, price in self.first_prices.items() if any(t.group == group for t in tests)}
        return replace(self, tests=tests, first_prices=prices)  # with the same minor units, which `Done` counts

    # -- actions ------------------------------------------------------------------------------------------------------

    def build(self, observable: Any) -> tuple[Action, ...]:
        """The tests that may be run after `observable`, then the decisions."""
        return self._actions([test for test in self.tests if self.allowed(test, observable)], observable)

    def whatever(self, done: Done) -> tuple[Action, ...]:
        """All tests at their prices after `done`, whether they may be run then or not; and all decisions."""
        return self._actions(self.tests, done)

    @property
    def everything(self) -> tuple[Action, ...]:
        """All tests at their prices at the start, and all decisions."""
        return self.whatever(Done())

    def _actions(self, tests: Iterable[Test], done: Done) -> tuple[Action, ...]:
        return *(self._test(test, done) for test in tests), *self._commits

    def _test(self, test: Test, done: Done) -> Action:
        cost = np.full(test.likelihood.shape[0], -self.price(test, done))
        return Action(test.name, cost, test.likelihood, test.outcomes, (self.after(test, done),) * len(test.outcomes))

    @cached_property
    def _commits(self) -> tuple[Action, ...]:
        one = np.ones((len(self.commits[0].reward), 1))
        return tuple(Action(c.name, c.reward, one, ("done",), (END,)) for c in self.commits)

    @cached_property
    def payoff(self) -> Array:
        """Reward (E, S) of each decision in each state."""
        return np.stack([commit.reward for commit in self.commits])

    @cached_property
    def right(self) -> Array:
        """1 where a decision (row) is a best one for the state (column), else 0: what counts as success."""
        return best_commits(self.payoff)

    @cached_property
    def gains(self) -> Array:
        """The largest reward (S,) of a decision in each state, at least 0."""
        best: Array = np.maximum(self.payoff.max(axis=0), 0.0)
        return best

    # -- rules --------------------------------------------------------------------------------------------------------

    def allowed(self, test: Test, done: Done) -> bool:
        """Whether `test` may be run after `done`."""
        return (
            (test.repeatable or test.name not in done.run)
            and not (test.parts and self._once & done.run & set(test.parts))
            and done.run.issuperset(test.after)
            and (self.most_tests is None or done.tests < self.most_tests)
            and done.spent + self._price(test, done) <= self._most_spent
        )

    def why_not(self, test: Test, observable: Observable, problem: str, unit: str) -> str:
        """Why `test` may not be run after `observable`, a `Done`; `problem`, `unit`: name and unit of the problem."""
        assert isinstance(observable, Done)
        if not test.repeatable and test.name in observable.run:
            return f"test '{test.name}' may run only once and has been run already"
        if taken := [part for part in test.parts if part in observable.run and not test.repeatable]:
            return f"panel '{test.name}' is not available any more: {', '.join(taken)} has been run already"
        if waits := [other for other in test.after if other not in observable.run]:
            return f"test '{test.name}' may run only after {', '.join(waits)}"
        full = self.most_tests is not None and observable.tests >= self.most_tests
        cap = f"at most {self.most_tests} tests" if full else f"a budget of {self.budget:,.15g} {unit}"
        return f"test '{test.name}' is beyond the cap: '{problem}' allows {cap}"

    def after(self, test: Test, done: Done) -> Done:
        """What has been done once `test` is run too."""
        return Done(
            done.run | ({test.name, *test.parts} & self._remembered),
            done.paid | {test.group} if self.first_prices.get(test.group, 0.0) else done.paid,
            done.tests + (self.most_tests is not None),
            done.spent + (self._price(test, done) if self.budget is not None else 0),
        )

    @cached_property
    def _once(self) -> frozenset[str]:
        """Tests that may run only once; panels have run where one of these in them has."""
        return frozenset(test.name for test in (*self.tests, *self.parts) if not test.repeatable and not test.parts)

    @cached_property
    def _remembered(self) -> frozenset[str]:
        """Tests whose having been run bears on what may be run."""
        return self._once.union(*(test.after for test in self.tests))

    # -- prices -------------------------------------------------------------------------------------------------------

    def price(self, test: Test, done: Done) -> float:
        """What running `test` costs after `done`."""
        return self._price(test, done) / self.minor_units

    def spent(self, done: Done) -> float:
        """What was spent up to `done`, in the problem's unit; counted only if there is a cap on it."""
        return done.spent / self.minor_units

    def in_minor_units(self, price: float) -> int:
        """A price as a whole number of minor units; exact for the prices of this menu and their sums."""
        return round(Decimal(repr(float(price))) * self.minor_units)

    def _price(self, test: Test, done: Done) -> int:
        costs, first = self._costs
        return costs[test.name] + (0 if test.group in done.paid else first.get(test.group, 0))

    @cached_property
    def _costs(self) -> tuple[dict[str, int], dict[str, int]]:
        """In minor units: the cost of each test, and the first price of each group."""
        costs = {test.name: self.in_minor_units(test.cost) for test in self.tests}
        return costs, {group: self.in_minor_units(price) for group, price in self.first_prices.items()}

    @cached_property
    def _most_spent(self) -> float:
        limited = self.budget is not None and math.isfinite(self.budget)
        return self.in_minor_units(self.budget or 0.0) if limited else math.inf

    def check(self, name: str) -> None:
        """Raise ProblemError unless prices, groups, orders and caps make sense. name: that of the problem."""
        require(self.commits, f"'{name}' must have at least one commit", ("commits",), code="no-decisions")
        tests = {test.name: test for test in self.tests}
        known = tests.keys() | {test.name for test in self.parts}
        for test in self.tests:
            place, cost = ("tests", test.name), f"cost of test '{test.name}'"
            message = f"{cost} must be a number of at most {LARGEST_REWARD:g}; it is {test.cost:g}"
            require(abs(test.cost) <= LARGEST_REWARD, message, (*place, "cost"), code="number-range")
            message = f"{cost} must not be negative; it is {test.cost:g}"
            require(test.cost >= 0, message, (*place, "cost"), code="negative-number")
            for other in test.after:
                message = f"test '{test.name}' of '{name}' may run after other tests only; '{other}' is none"
                require(other in known and other != test.name, message, (*place, "after"), code="unknown-test")
        if waiting := sorted(tests.keys() - _possible(self.tests)):
            message = f"tests of '{name}' wait for one another and can never run: {', '.join(waiting[:8])}"
            raise ProblemError(message, field=("tests", waiting[0], "after"), code="test-order-cycle")
        groups = {test.group for test in self.tests}
        for group, price in self.first_prices.items():
            message = f"first price of group '{group}' must be a number of at least 0; it is {price:g}"
            require(0 <= price <= LARGEST_REWARD, message, ("groups", group, "first"), code="number-range")
            message = f"group '{group}' of '{name}' has a price but no test"
            require(group in groups, message, ("groups", group), code="empty-group")
        message = f"the cap on tests must be at least 0; it is {self.most_tests}"
        require((self.most_tests or 0) >= 0, message, ("cap", "tests"), code="number-range")
        message = f"the budget must be a number of at least 0; it is {self.budget}"
        require(0 <= (self.budget or 0) <= LARGEST_REWARD, message, ("cap", "spend"), code="number-range")


def partitioned(diagnoses: Sequence[str], subtypes: Mapping[str, Sequence[str]] | None = None) -> Factor:
    """The hidden factor with these diagnoses, some of which have subtypes, side by side; with a uniform prior."""
    found = subtypes or {}
    pairs = [(one, f"{one} ({name})" if name else one) for one in diagnoses for name in found.get(one, ("",))]
    states, owners = tuple(state for _, state in pairs), tuple(one for one, _ in pairs)
    return Factor("state", states, np.full(len(pairs), 1.0 / max(len(pairs), 1)), diagnosis_of=owners if found else ())


def DiagnosticProblem(
    states: Sequence[str],
    prior: ArrayLike | Mapping[str, float] | None = None,
    tests: Iterable[Test] = (),
    decisions: Iterable[Decision] | Mapping[str, ArrayLike] = (),
    *,
    panels: Iterable[Panel] = (),
    groups: Mapping[str, float] | None = None,
    max_tests: int | None = None,
    budget: float | None = None,
    partition: Mapping[str, Sequence[str]] | None = None,
    about_diagnosis: bool = False,
    name: str = "problem",
    unit: str = "points",
    horizon: int = 3,
    price: float | None = None,
    note: str = "",
    spec: str = "",
    details: dict[str, Any] | None = None,
) -> POMDP:
    """A problem of tests, which leave the hidden state as it is, and one final decision.

    Parameters
    ----------
    states
        Names of the hidden states; if there is a `partition`, of the diagnoses.
    prior
        One probability per hidden state, or a mapping of names to probabilities, in which a diagnosis stands for equal
        probabilities of its subtypes and missing names have probability 0. Uniform by default.
    tests, panels
        The tests, and tests that are run together for one price. Their names are the names of the actions.
    decisions
        `Decision` records, or a mapping of names to rewards, one for each hidden state.
    groups
        What the first test of each group that is run adds to its cost, by group.
    max_tests, budget
        The most tests that may be run, and the most that they may cost together. None: no limit.
    partition
        The subtypes of each diagnosis that has some: `{"disease": ["typical", "silent"]}` replaces the state `disease`
        by the hidden states `disease (typical)` and `disease (silent)`, in this order.
    about_diagnosis
        Whether information is about the diagnoses; otherwise it is about the hidden states.
    horizon, price
        Default depth of the look-ahead, and the value of a nat of information, if the problem has one.
    """
    factor = partitioned(states, _subtypes(name, tuple(states), partition or {}))
    tests = tuple(tests)
    known = {test.name: test for test in tests}
    alone = tuple(test for test in tests if not test.only_in_panels)
    joint = tuple(panel.joint_test(known) for panel in panels)
    if isinstance(decisions, Mapping):
        decisions = [Decision(key, reward) for key, reward in decisions.items()]  # type: ignore[arg-type]
    parts = tuple(test for test in tests if test.only_in_panels)
    menu = FlatMenu((*alone, *joint), tuple(decisions), groups or {}, max_tests, budget, parts)
    factor = replace(factor, prior=_prior(name, factor, prior), about_diagnosis=about_diagnosis)
    problem = POMDP(
        name,
        (factor,),
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


def with_panels(tests: Iterable[Test], parts: Iterable[Test]) -> tuple[Test, ...]:
    """`tests`, with the likelihood of each panel computed from those of its tests. parts: tests in panels only."""
    tests = tuple(tests)
    known = {test.name: test for test in (*tests, *parts)}
    return tuple(
        replace(test, likelihood=_joint([known[name] for name in test.parts])) if test.parts else test for test in tests
    )


def best_commits(rewards: Array) -> Array:
    """1 where a decision (row) is a best one for the state (column), else 0; rounding errors do not count."""
    top = rewards.max(axis=0)
    best: Array = (rewards >= top - 1e-12 * np.abs(np.where(np.isfinite(top), top, 0.0))).astype(float)
    return best


def _joint(tests: Sequence[Test]) -> Array:
    """The probability (S, O1 * O2 * ...) of each joint outcome, the last test varying fastest."""
    rows = [test.likelihood for test in tests]
    return reduce(lambda joint, own: (joint[:, :, None] * own[:, None, :]).reshape(len(joint), -1), rows)


def _subtypes(
    name: str, diagnoses: tuple[str, ...], partition: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    known = set(diagnoses)
    for diagnosis, names in partition.items():
        rule = f"subtypes of '{name}' must be names, at least one, for a state of {', '.join(diagnoses)}"
        message = f"{rule}; '{diagnosis}' has {', '.join(names) or 'none'}"
        sound = diagnosis in known and names and all(names)
        require(sound, message, ("subtypes", diagnosis), code="subtype-name")
    return {diagnosis: tuple(names) for diagnosis, names in partition.items()}


def _prior(name: str, factor: Factor, prior: ArrayLike | Mapping[str, float] | None) -> Array:
    """The prior (S,) of the hidden states; that of `factor` if it is None."""
    if not isinstance(prior, Mapping):
        given: Array = factor.prior if prior is None else floats(prior, f"prior of '{name}'", ("prior",))
        return given
    places = factor.places | {state: slice(place, place + 1) for place, state in enumerate(factor.states)}
    belief = np.zeros(len(factor.states))
    for state, chance in prior.items():
        message = f"prior of '{name}' must be about its states; '{state}' is none"
        require(state in places, message, ("prior", state), code="unknown-state")
        belief[places[state]] = chance / len(belief[places[state]])
    return belief


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
    """The number of decimals of the shortest decimal number that is this float."""
    return max(-int(Decimal(repr(float(price))).normalize().as_tuple().exponent), 0) if math.isfinite(price) else 0
