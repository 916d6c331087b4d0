"""The uncertain numbers of a model: how each is distributed, and versions of the model with other values in place.

An `Unsure` is a row of chances that vary together (the prior, or one test's results in one state) or one amount. All of
them are independent of each other. What the model states is the mean of each.

Shapes: K versions, S states, O outcomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from rhoplan.advice.pathway import looked_for
from rhoplan.advice.uncertain.priors import Beta, LogNormal, Spread
from rhoplan.advice.variations import Kind, Quantity, stake
from rhoplan.advice.words import parameter_name
from rhoplan.errors import RhoplanError, dotted
from rhoplan.io.accuracy import cases_of, sd_of
from rhoplan.model.pomdp import POMDP, Array, Ids
from rhoplan.model.records import Factor
from rhoplan.planning.batch import ParameterBatch


@dataclass(frozen=True, eq=False)
class Unsure:
    """An uncertain number, or row of chances. kind, names: as of a `Parameter`, without the outcome.

    mean (n,): the chances that vary, which sum to 1, or the amount, alone. spread: cases that chances are known from,
    or the standard deviation of the amount. places (n,): of the outcomes or diagnoses whose chances vary; main: the one
    among them that people speak of. scale: what 1 of it is to people: the sum of the chances that vary, or the sign of
    the amount. states: that have this row.
    """

    kind: Kind
    names: tuple[str, ...]
    mean: Array
    spread: float
    places: Ids
    labels: tuple[str, ...]
    main: int = 0
    scale: float = 1.0
    states: slice = field(default_factory=lambda: slice(None))

    @property
    def quantity(self) -> Quantity:
        return "probability" if self.kind in ("prior", "likelihood") else "money"

    @property
    def is_single(self) -> bool:
        """Whether it is one number: an amount, or a chance and what is left of it."""
        return len(self.mean) <= 2

    @property
    def id(self) -> str:
        """As that of the parameter that people speak of."""
        return dotted((self.kind, *self._named))

    @property
    def name(self) -> str:
        """For people: the one chance that it is, or all results of a test in a state."""
        if self.is_single:
            return parameter_name(self.kind, self._named)
        return "prior of every state" if self.kind == "prior" else f"results of {self.names[0]} in {self.names[1]}"

    @property
    def main_name(self) -> str:
        """For people: the chance among it that they speak of."""
        return parameter_name(self.kind, self._named)

    @property
    def test(self) -> str | None:
        """The test whose results these chances are of."""
        return self.names[0] if self.kind == "likelihood" else None

    @property
    def _named(self) -> tuple[str, ...]:
        return (*self.names, self.labels[self.main]) if self.quantity == "probability" else self.names

    @cached_property
    def one(self) -> Spread:
        """The distribution of the chance that people speak of, as a share of those that vary, or of the amount."""
        mean = float(self.mean[self.main])
        return Beta(mean, self.spread) if self.quantity == "probability" else LogNormal(mean, self.spread)

    def draw(self, generator: Generator, count: int) -> Array:
        """Values (K, n)."""
        if self.quantity == "money":
            return self.one.draw(generator, count)[:, None]
        if self.is_single:
            main = self.one.draw(generator, count)
            return np.stack([main, 1 - main] if self.main == 0 else [1 - main, main], axis=1)
        return generator.dirichlet(self.mean * self.spread, size=count)

    def at(self, values: Array) -> Array:
        """Values (K, n) with the number that people speak of at `values` (K,), the rest what it is on average then."""
        if self.quantity == "money":
            return values[:, None]
        rest = np.delete(self.mean, self.main)
        others = (1 - values)[:, None] * (rest / rest.sum())
        return np.insert(others, self.main, values, axis=1)

    def put(self, numbers: ParameterBatch, rows: dict[str, Array], values: Array, problem: POMDP) -> None:
        """Put values (K, n) into `numbers`; rows (K, S, O): likelihoods of tests, by name."""
        menu, factor = problem.flat, problem.factors[0]
        match self.kind, *self.names:
            case "prior", *_:
                own = factor.fold(factor.prior)
                chances = np.repeat(own[None], len(values), axis=0)
                chances[:, self.places] = values * self.scale
                numbers.prior[:] = chances[:, factor.groups] * factor.within
            case "likelihood", test, _:
                rows[test][:, self.states, self.places] = values[:, None] * self.scale
            case "cost", test:
                numbers.cost[:, [one.name for one in menu.tests].index(test)] = values[:, 0]
            case "first-price", group:
                numbers.first[:, [one.group == group for one in menu.tests]] = values
            case _, commit, _:
                place = [one.name for one in menu.commits].index(commit)
                sign = np.sign(menu.commits[place].reward[self.states][0])
                numbers.payoff[:, place, self.states] = sign * values


def unsure(problem: POMDP) -> tuple[Unsure, ...]:
    """The uncertain numbers that the model file states; those that matter most, usually, first."""
    return tuple(_listed(problem, problem.details.get("uncertain", {})))


def spread_all(problem: POMDP, share: float) -> tuple[Unsure, ...]:
    """All numbers of the model, as if each were known to within `share` of itself.

    That is the half-width of its 95% interval; of a chance above one half it is the same share of what is left to 1.
    """
    if not 0 < share < 1:
        raise RhoplanError(f"the spread must be above 0% and below 100%; it is {100 * share:g}%", field=("spread",))
    menu, hidden = problem.flat, problem.factors[0]

    def chances(row: Array) -> dict[str, float]:
        top = float(row.max())
        half = share * min(top, 1 - top)
        return {"cases": cases_of(top, top - half, top + half) if half > 0 else 0.0}

    def amount(size: float) -> dict[str, float]:
        return {"sd": sd_of((1 - share) * abs(size), (1 + share) * abs(size))}

    def rows(likelihood: Array) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for diagnosis, places in hidden.places.items():
            own, names = likelihood[places], hidden.subtypes.get(diagnosis, ())
            if names and np.any(own != own[0]):
                found[diagnosis] = {name: chances(row) for name, row in zip(names, own, strict=True)}
            else:
                found[diagnosis] = chances(own[0])
        return found

    factor = problem.factors[0]
    tests = {test.name: {"cost": amount(test.cost)} for test in menu.tests}
    for test in (*menu.tests, *menu.parts):
        if not test.parts:
            tests.setdefault(test.name, {})["likelihood"] = rows(test.likelihood)
    stakes = {
        commit.name: {d: amount(r) for d, r in zip(factor.diagnoses, factor.by_diagnosis(commit.reward), strict=True)}
        for commit in menu.commits
    }
    record = {
        "prior": chances(factor.fold(factor.prior)), "tests": tests, "losses": stakes,
        "groups": {group: amount(price) for group, price in menu.first_prices.items()},
    }  # fmt: skip
    return tuple(_listed(problem, record))


def versions(problem: POMDP, changes: Iterable[tuple[Unsure, Array]], count: int) -> ParameterBatch:
    """`count` versions of `problem`, values (K, n) of some of its uncertain numbers put in place."""
    numbers, menu = ParameterBatch.of(problem, count), problem.flat
    rows, touched = dict[str, Array](), set[str]()
    known = {test.name: test for test in (*menu.tests, *menu.parts)}
    for item, values in changes:
        if item.test is not None:
            rows.setdefault(item.test, np.repeat(known[item.test].likelihood[None], count, axis=0))
            touched.add(item.test)
        item.put(numbers, rows, values, problem)
    for place, test in enumerate(menu.tests):
        if touched & {test.name, *test.parts}:
            joint = np.ones((count, len(problem.states), 1))
            for name in test.parts or (test.name,):
                row = rows[name] if name in rows else known[name].likelihood[None]
                joint = (joint[..., None] * row[:, :, None, :]).reshape(count, len(problem.states), -1)
            numbers.likelihood[:, place, : joint.shape[2]] = joint.swapaxes(1, 2)
    return numbers


def drawn(problem: POMDP, items: Sequence[Unsure], generator: Generator, count: int) -> ParameterBatch:
    """`count` versions with each of `items` drawn from its distribution."""
    return versions(problem, [(item, item.draw(generator, count)) for item in items], count)


def _listed(problem: POMDP, record: dict[str, Any]) -> Iterator[Unsure]:
    menu, factor = problem.flat, problem.factors[0]
    if "prior" in record:
        main = looked_for(problem) or factor.diagnoses[int(factor.fold(factor.prior).argmax())]
        yield from _row("prior", (), factor.fold(factor.prior), record["prior"], factor.diagnoses, main=main)
    for name, commit in {commit.name: commit for commit in menu.commits}.items():
        for stakes in ("losses", "commits"):
            for state, spread in record.get(stakes, {}).get(name, {}).items():
                places = factor.places[state]
                yield from _amount(stake(problem), (name, state), commit.reward[places][0], spread["sd"], places)
    for test in menu.tests:
        found = record.get("tests", {}).get(test.name, {})
        if "cost" in found:
            yield from _amount("cost", (test.name,), test.cost, found["cost"]["sd"])
    for group, spread in record.get("groups", {}).items():
        yield from _amount("first-price", (group,), menu.first_prices.get(group, 0.0), spread["sd"])
    for test in (*menu.tests, *menu.parts):
        for diagnosis, row in record.get("tests", {}).get(test.name, {}).get("likelihood", {}).items():
            places = factor.places[diagnosis]
            inside = {diagnosis: row} if "cases" in row else row
            for name, spread in inside.items():
                own = places if "cases" in row else _subtype(factor, diagnosis, name)
                state = diagnosis if "cases" in row else problem.states[own.start]
                chances = test.likelihood[own.start]
                yield from _row("likelihood", (test.name, state), chances, spread, test.outcomes, states=own)


def _subtype(hidden: Factor, diagnosis: str, name: str) -> slice:
    place = hidden.places[diagnosis].start + hidden.subtypes[diagnosis].index(name)
    return slice(place, place + 1)


def _row(
    kind: Kind,
    names: tuple[str, ...],
    chances: Array,
    spread: dict[str, Any],
    labels: tuple[str, ...],
    *,
    main: str | None = None,
    states: slice = slice(None),
) -> Iterator[Unsure]:
    """A row of chances; nothing where none of them can vary."""
    free = np.array(
        [0 < p < 1 and label not in spread.get("fixed", ()) for p, label in zip(chances, labels, strict=True)]
    )
    places = np.flatnonzero(free)
    if len(places) < 2 or not spread["cases"] > 0:
        return
    scale = float(chances[places].sum())
    mean, own = chances[places] / scale, tuple(labels[place] for place in places)
    place = own.index(main) if main in own else int(mean.argmax())
    yield Unsure(kind, names, mean, spread["cases"], places, own, place, scale, states)


def _amount(
    kind: Kind, names: tuple[str, ...], size: float, sd: float, states: slice = slice(None)
) -> Iterator[Unsure]:
    """An amount as a reward has it; nothing where it is 0."""
    if size:
        sign = float(np.sign(-size if kind == "loss" else size))
        mean, place = np.array([abs(float(size))]), np.zeros(1, dtype=np.int64)
        yield Unsure(kind, names, mean, sd, place, (), scale=sign, states=states)
