"""The cheapest mixture of plans that keeps several bounds: the simplex method, whose columns are plans made on demand.

    least  sum_j w_j cost(plan_j)   over shares w >= 0 with sum_j w_j = 1 and sum_j w_j row_i(plan_j) <= bound_i

A basis has one column more than there are bounds, each a plan or the slack of a bound: so where k bounds bind, at most
k + 1 plans are mixed. Its duals put a price on each bound. The plan that is least at these prices (one Bellman backup)
either enters, or proves that no plan would: by how much it fails to is the gap, a certificate. Bases are solved in
exact fractions of the floats that plans come to, so that no pivot is decided by rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from rhoplan.planning.tradeoffs.corners import SAME
from rhoplan.planning.tradeoffs.ground import Course, Criterion, Ground, weighed

MOST_PIVOTS = 5000

DUST = 1e-9
"""Share of cases up to which a plan of a mixture is nothing but rounding, where another one keeps the bounds alone."""

LITTLE = 1e-6
"""Share with which what decides between equals counts at first."""


@dataclass(frozen=True, eq=False)
class Bound:
    """At most `most` of `criterion`, up to a hair."""

    criterion: Criterion
    most: float
    hair: float = 0.0

    @property
    def limit(self) -> Fraction:
        return Fraction(self.most) + Fraction(self.hair)

    def keeps(self, course: Course) -> bool:
        """Whether a plan keeps it by itself."""
        return Fraction(course.by(self.criterion)) <= self.limit


@dataclass(frozen=True, eq=False)
class Mix:
    """Plans and their shares, all above 0. value: what they cost. prices: of a unit of each bound, 0 where it does not
    bind. gap: no mixture that keeps the bounds costs less than value - gap."""

    courses: tuple[Course, ...]
    shares: tuple[float, ...]
    value: float
    prices: tuple[float, ...]
    gap: float

    def by(self, criterion: Criterion) -> float:
        """How much of `criterion` it comes to."""
        return sum(share * course.by(criterion) for share, course in zip(self.shares, self.courses, strict=True))


class Unreachable(Exception):
    """Bound number `place` cannot be kept together with those before it; `mix` has the least of it that can be had."""

    def __init__(self, place: int, mix: Mix) -> None:
        super().__init__(f"bound {place} cannot be kept")
        self.place, self.mix = place, mix


class Mixer:
    """Mixtures of plans on `ground`. pool: every plan that was made, one of which may keep all bounds by itself."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.pool: list[Course] = []
        self._bounds: list[Bound] = []
        self._basis: list[int] = []  # a plan of the pool, or -1 - the number of the bound whose slack it is

    def cheapest(self, cost: Criterion, bounds: list[Bound], then: Criterion | None = None) -> Mix:
        """The mixture that costs least within `bounds`; Unreachable where there is none.

        then: what decides between mixtures that cost the same.
        """
        self.pool, self._bounds = [self.ground.best(cost)], []
        self._basis = [0]
        for place, bound in enumerate(bounds):
            found = self._minimise(bound.criterion, enough=bound.limit)
            if found is not None:
                raise Unreachable(place, found)
            self._bounds.append(bound)
            self._basis.append(-1 - place)
        if then is not None:  # what ties is settled by little of it, then nothing is changed that does not cost less
            little = LITTLE * self.ground.most(cost) / (self.ground.most(then) or 1.0)
            self._minimise(weighed([cost, then], [1.0, little]))
        result = self._minimise(cost)
        assert result is not None
        return result

    def _minimise(self, cost: Criterion, enough: Fraction | None = None) -> Mix | None:
        """The mixture with least of `cost` within the bounds so far; None as soon as one comes to `enough`."""
        costs = [Fraction(course.by(cost)) for course in self.pool]
        columns = [self._column(course) for course in self.pool]
        limits = [*(bound.limit for bound in self._bounds), Fraction(1)]
        for _ in range(MOST_PIVOTS):
            basis = [self._entry(one, columns) for one in self._basis]
            paid = [costs[one] if one >= 0 else Fraction(0) for one in self._basis]
            shares = _solved([list(row) for row in zip(*basis, strict=True)], limits)
            value = sum((part * share for part, share in zip(paid, shares, strict=True)), Fraction(0))
            if enough is not None and value <= enough:
                return None
            duals = _solved(basis, paid)
            entering, gap = self._entering(cost, costs, columns, duals)
            if entering is None:
                return self._mix(cost, shares, value, [-dual for dual in duals[:-1]], gap)
            change = _solved([list(row) for row in zip(*basis, strict=True)], self._entry(entering, columns))
            steps = zip(shares, change, self._basis, range(len(basis)), strict=True)
            leaving = min((share / part, one, place) for share, part, one, place in steps if part > 0)
            self._basis[leaving[2]] = entering
        raise ArithmeticError(f"no best mixture was found in {MOST_PIVOTS} steps")

    def _entering(
        self, cost: Criterion, costs: list[Fraction], columns: list[list[Fraction]], duals: list[Fraction]
    ) -> tuple[int | None, float]:
        """What enters the basis: a slack or a plan that is known (the first that gains, which never goes round in
        circles), else a new plan; None where none gains, and by how much at most one would."""
        for place, dual in reversed(list(enumerate(duals[:-1]))):
            if dual > 0 and -1 - place not in self._basis:
                return -1 - place, 0.0
        for place, (paid, column) in enumerate(zip(costs, columns, strict=True)):
            if place not in self._basis and self._gain(paid, column, duals) > self._hair(paid, column, duals):
                return place, 0.0
        prices = [max(0.0, float(-dual)) for dual in duals[:-1]]
        fresh = self.ground.best(weighed([cost, *(bound.criterion for bound in self._bounds)], [1.0, *prices]))
        paid, column = Fraction(fresh.by(cost)), self._column(fresh)
        gain = self._gain(paid, column, duals)
        if gain <= self._hair(paid, column, duals):
            return None, max(0.0, float(gain))
        self.pool.append(fresh)
        costs.append(paid)
        columns.append(column)
        return len(self.pool) - 1, 0.0

    @staticmethod
    def _gain(paid: Fraction, column: list[Fraction], duals: list[Fraction]) -> Fraction:
        return sum((dual * part for dual, part in zip(duals, column, strict=True)), -paid)

    @staticmethod
    def _hair(paid: Fraction, column: list[Fraction], duals: list[Fraction]) -> Fraction:
        size = sum((abs(dual * part) for dual, part in zip(duals, column, strict=True)), abs(paid))
        return Fraction(SAME) * size

    def _column(self, course: Course) -> list[Fraction]:
        return [*(Fraction(course.by(bound.criterion)) for bound in self._bounds), Fraction(1)]

    def _entry(self, one: int, columns: list[list[Fraction]]) -> list[Fraction]:
        if one >= 0:
            return columns[one]
        return [Fraction(int(place == -1 - one)) for place in range(len(self._bounds) + 1)]

    def _mix(self, cost: Criterion, shares: list[Fraction], value: Fraction, prices: list[Fraction], gap: float) -> Mix:
        used = [
            (self.pool[one], float(share)) for one, share in zip(self._basis, shares, strict=True) if one >= 0 < share
        ]
        courses, parts = zip(*used, strict=True)
        mix = Mix(courses, parts, float(value), tuple(float(price) for price in prices), gap)
        kept = [(course, share) for course, share in used if share > DUST]
        if len(kept) == 1 < len(used) and all(bound.keeps(kept[0][0]) for bound in self._bounds):
            alone = kept[0][0].by(cost)  # the others lived on the hair of a bound; what that costs more is in the gap
            return replace(
                mix, courses=(kept[0][0],), shares=(1.0,), value=alone, gap=gap + max(0.0, alone - mix.value)
            )
        return mix


def _solved(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """x with rows x = right, by elimination; a basis always has one."""
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    count = len(table)
    for place in range(count):
        pivot = next(k for k in range(place, count) if table[k][place])
        table[place], table[pivot] = table[pivot], table[place]
        head = table[place][place]
        table[place] = [value / head for value in table[place]]
        for k in range(count):
            if k != place and table[k][place]:
                factor = table[k][place]
                table[k] = [value - factor * base for value, base in zip(table[k], table[place], strict=True)]
    return [row[-1] for row in table]
