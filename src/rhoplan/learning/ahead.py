"""Looking ahead in many cases at once, for problems whose tests run once: what a learned policy does next, on arrays.

It is the recursion of `planning.exact` without a graph: cases of a table meet few situations twice, and to keep them
all takes longer than to work them out. Values are those of unnormalised beliefs u, of which all are multiples:

    V_0(u) = max_e u . payoff_e
    V_h(u) = max(V_0(u), max_t [w (F(u) - sum_o F(u_to)) - |u| price_t + sum_o V_h-1(u_to)]),   u_to = u P(o | ., t)
    F(u)   = |u| ln |u| - sum_i u_i ln u_i,    |u| times the entropy; i: states, or diagnoses

Shapes: n cases, S states, T tests, Q outcomes of all tests in a row, E commits, G groups with a first price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rhoplan._old.ties import choose
from rhoplan.agents.agent import BoundAgent
from rhoplan.model.pomdp import POMDP, Array, Ids

Flags = NDArray[np.bool_]

TOGETHER = 2_000_000
"""Numbers that an array may have: cases are looked at in parts so that none has many more."""


@dataclass(frozen=True, eq=False)
class Standing:
    """What was done in cases. gone (n, T): tests run or not to be had. paid (n, G): groups. tests (n,): how many were
    run. spent (n,): on them, in minor of the menu."""

    gone: Flags
    paid: Flags
    tests: Ids
    spent: NDArray[np.generic]

    def of(self, chosen: Ids | Flags) -> Standing:
        """That of the cases `chosen`."""
        return Standing(self.gone[chosen], self.paid[chosen], self.tests[chosen], self.spent[chosen])

    def put(self, chosen: Ids, other: Standing) -> None:
        """Make `other` that of the cases `chosen`, here."""
        self.gone[chosen], self.paid[chosen] = other.gone, other.paid
        self.tests[chosen], self.spent[chosen] = other.tests, other.spent


class Ahead:
    """`agent` in situations of `problem`. Not covered: tests that can be repeated, panels, agents that sample."""

    def __init__(self, problem: POMDP, agent: BoundAgent) -> None:
        menu, factor = problem.flat, problem.factors[0]
        tests = menu.tests
        if agent.discount != 1.0 or any(test.repeatable or test.parts for test in tests):
            raise ValueError("looking ahead in cases needs tests that run once, no panels and no discount")
        self.prior, self.horizon, self.weight = problem.prior, agent.horizon, agent.weight_per_nat
        self.payoff, self.gains = menu.payoff, menu.gains
        self.likelihood = np.concatenate([test.likelihood for test in tests], axis=1)
        self.first: Ids = np.cumsum([0, *(len(test.outcomes) for test in tests)])
        self._asked = [np.flatnonzero(factor.groups == group) for group in range(len(factor.diagnoses))]
        self._about_state = not factor.about_diagnosis or len(self._asked) == len(problem.states)
        with np.errstate(divide="ignore", invalid="ignore"):
            self._known = np.add.reduceat(_times_log(self.likelihood), self.first[:-1], axis=1)
        place = {test.name: number for number, test in enumerate(tests)}
        self._waits = np.zeros((len(tests), len(tests)), dtype=bool)
        for number, test in enumerate(tests):
            self._waits[number, [place[name] for name in test.after]] = True
        self._member = np.array([[test.group == name for name in menu.first_prices] for test in tests], dtype=bool)
        self._member = self._member.reshape(len(tests), len(menu.first_prices))
        self._cost = np.array([test.cost for test in tests])
        self._first_price = np.array(list(menu.first_prices.values()))
        self._most, self._budget = menu.most_tests, None if menu.budget is None else menu.in_minor_units(menu.budget)
        costs, firsts = (list(map(menu.in_minor_units, one)) for one in (self._cost, self._first_price))
        kind = np.int64 if sum(costs) + sum(firsts) < 1 << 62 else object
        self._minor, self._first_minor = np.array(costs, dtype=kind), np.array(firsts, dtype=kind)

    def begin(self, cases: int) -> Standing:
        """That of `cases` in which nothing was done."""
        tests, groups = self._member.shape
        return Standing(
            np.zeros((cases, tests), dtype=bool), np.zeros((cases, groups), dtype=bool),
            np.zeros(cases, dtype=np.int64), np.zeros(cases, dtype=self._minor.dtype),
        )  # fmt: skip

    def after(self, standing: Standing, test: int) -> Standing:
        """That of the same cases once `test` is run in all of them."""
        gone, paid = standing.gone.copy(), standing.paid | self._member[test]
        gone[:, test] = True
        fresh = self._minor[test] + (self._member[test] & ~standing.paid) @ self._first_minor
        return Standing(gone, paid, standing.tests + 1, standing.spent + fresh)

    def without(self, standing: Standing, test: int) -> Standing:
        """That of the same cases where `test` cannot be had, nor can what waits for it."""
        lost = np.arange(len(self._waits)) == test
        while (more := lost | self._waits[:, lost].any(axis=1)).sum() > lost.sum():
            lost = more
        return Standing(standing.gone | lost, standing.paid, standing.tests, standing.spent)

    def prices(self, standing: Standing) -> Array:
        """What (n, T) each test costs now; infinite where it may not be run."""
        price: Array = self._cost + (~standing.paid * self._first_price) @ self._member.T
        allowed = ~standing.gone & ((standing.gone @ self._waits.T) == self._waits.sum(axis=1))
        if self._most is not None:
            allowed &= (standing.tests < self._most)[:, None]
        if self._budget is not None:
            minor = self._minor + (~standing.paid * self._first_minor) @ self._member.T
            allowed &= (standing.spent[:, None] + minor <= self._budget).astype(bool)
        return np.where(allowed, price, np.inf)

    def choices(self, beliefs: Array, standing: Standing) -> tuple[Ids, Ids]:
        """The test (n,) to run, -1 to end, and the commit (n,) that is best now, by the one tie rule."""
        each = self.likelihood.shape[1] * max(int(np.diff(self.first).max()), 1) ** (self.horizon - 1)
        step = max(1, TOGETHER // each)
        parts = [
            self._choices(beliefs[at : at + step], standing.of(np.arange(at, min(at + step, len(beliefs)))))
            for at in range(0, len(beliefs), step)
        ]
        none = np.empty(0, dtype=np.int64)
        return np.concatenate([none, *(p[0] for p in parts)]), np.concatenate([none, *(p[1] for p in parts)])

    def _choices(self, beliefs: Array, standing: Standing) -> tuple[Ids, Ids]:
        ending, gains = beliefs @ self.payoff.T, beliefs @ self.gains
        going = self._going(beliefs, standing, self.horizon)
        values = np.concatenate([ending.max(axis=1)[:, None], going], axis=1)
        scale = abs(self.weight) * np.log(max(beliefs.shape[1], 2))
        return choose(values, gains + scale) - 1, choose(ending, gains)

    def _values(self, joint: Array, standing: Standing, horizon: int) -> Array:
        """V (n,) of unnormalised beliefs (n, S)."""
        ending: Array = (joint @ self.payoff.T).max(axis=1)
        return np.maximum(ending, self._going(joint, standing, horizon).max(axis=1)) if horizon else ending

    def _going(self, joint: Array, standing: Standing, horizon: int) -> Array:
        """What running each test (n, T) is worth from unnormalised beliefs (n, S) on."""
        prices = self.prices(standing)
        value: Array = np.where(np.isfinite(prices), -prices, 0.0) * joint.sum(axis=1, keepdims=True)
        value[~np.isfinite(prices)] = -np.inf
        if self.weight:
            value += self.weight * self._information(joint)
        if horizon == 1:
            best = (joint * self.payoff[0]) @ self.likelihood
            for payoff in self.payoff[1:]:
                np.maximum(best, (joint * payoff) @ self.likelihood, out=best)
            value += np.add.reduceat(best, self.first[:-1], axis=1)
            return value
        for test in range(len(self._cost)):
            rows = np.flatnonzero(np.isfinite(prices[:, test]))
            if rows.size:
                likelihood = self.likelihood[:, self.first[test] : self.first[test + 1]]
                later = (joint[rows, None, :] * likelihood.T).reshape(-1, joint.shape[1])
                then = self.after(standing.of(rows), test).of(np.repeat(np.arange(len(rows)), likelihood.shape[1]))
                value[rows, test] += self._values(later, then, horizon - 1).reshape(len(rows), -1).sum(axis=1)
        return value

    def _information(self, joint: Array) -> Array:
        """|u| times the information (n, T) that each test gives, in nats."""
        chance = joint @ self.likelihood
        if self._about_state:
            # The sum over outcomes of u ln u is taken apart: only sums over states depend on the case.
            found: Array = _times_log(joint.sum(axis=1))[:, None] + joint @ self._known
            return found - np.add.reduceat(_times_log(chance), self.first[:-1], axis=1)
        inside = np.zeros_like(chance)
        before = _times_log(joint.sum(axis=1))
        for states in self._asked:
            inside += _times_log(joint[:, states] @ self.likelihood[states])
            before = before - _times_log(joint[:, states].sum(axis=1))
        found = before[:, None] + np.add.reduceat(inside - _times_log(chance), self.first[:-1], axis=1)
        return found


def _times_log(numbers: Array) -> Array:
    """x ln x, 0 where x is 0."""
    result: Array = numbers * np.log(numbers, out=np.zeros_like(numbers), where=numbers > 0)
    return result
