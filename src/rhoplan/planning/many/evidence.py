"""Evidence as a key: how often each outcome of each kind of test was seen.

Tests that nobody can tell apart (same likelihood, price, group and waiting) are copies of one kind, so that evidence is
counts of outcomes per kind. Counts are packed into the bits of a few words; what may be run next, and for what, follows
from them. `kinds_of` makes the arrays that kernels read of a problem in a situation: its root has no evidence yet, and
what was done before is in `had`, `paid` and `caps`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.belief import Belief as Situation
from rhoplan.model.diagnostic import Done, FlatMenu, Test
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning.many.machine import ENDLESS, Model

MOST_TICKS = 1 << 61
"""Budgets are counted in whole numbers of 64 bits: 18 digits."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of tests of a problem in a situation. members: for each kind the names of its tests, in order."""

    problem: POMDP
    model: Model
    words: int
    belief: Array
    members: tuple[tuple[str, ...], ...]

    def test(self, kind: int, done: Done) -> str:
        """The name of the first test of `kind` that may be run when `done` was done."""
        menu = self.problem.flat
        tests = {test.name: test for test in menu.tests}
        return next((name for name in self.members[kind] if menu.allowed(tests[name], done)), self.members[kind][0])


def kinds_of(problem: POMDP, situation: Situation) -> Kinds:
    """The kinds of tests of `problem`, from `situation` on."""
    menu, done, factor = problem.flat, situation.observable, problem.factors[0]
    assert isinstance(done, Done)
    groups = [group for group, price in menu.first_prices.items() if price > 0]
    tests = {test.name: test for test in menu.tests}
    members = sorted(_members(menu), key=lambda names: _rank(tests[names[0]]))
    place = {name: kind for kind, names in enumerate(members) for name in names}
    leaders = [tests[names[0]] for names in members]
    needs = [[_giving(menu, name, place) for name in test.after if name not in done.run] for test in leaders]
    copies = [
        0 if not all(one) else ENDLESS if test.repeatable else len(names)
        for one, test, names in zip(needs, leaders, members, strict=True)
    ]
    shown = _shown_once(menu)
    rivals = [_rivals(menu, test, shown, place) for test in leaders]
    had = [min(sum(name in done.run for name in names), most) for names, most in zip(members, copies, strict=True)]
    for kind, test in enumerate(leaders):
        had[kind] = copies[kind] if test.parts and shown[test.name] & done.run else had[kind]
    outcomes = [len(test.outcomes) for test in leaders]
    word, shift, mask, words = _packed(outcomes, copies)
    ticks, entry_ticks, caps = _ticks(menu, leaders, groups, done)
    payoff = np.ascontiguousarray(menu.payoff)
    model = Model(
        first=_ids(np.concatenate([[0], np.cumsum(outcomes)])),
        # Row by row, as kernels read it, however it comes: they are made once for each layout.
        likelihood=np.concatenate([np.empty((0, payoff.shape[1])), *(test.likelihood.T for test in leaders)]).copy("C"),
        word=_ids(word),
        shift=_ids(shift),
        mask=_ids(mask),
        price=np.array([test.cost for test in leaders], dtype=float),
        ticks=_ids(ticks),
        group=_ids([groups.index(test.group) if test.group in groups else -1 for test in leaders]),
        copies=_ids(copies),
        before=_starts(needs),
        either=_starts([one for test in needs for one in test]),
        needed=_ids([kind for test in needs for one in test for kind in one]),
        against=_starts(rivals),
        rivals=_ids([kind for test in rivals for kind in test]),
        entry=np.array([menu.first_prices[group] for group in groups], dtype=float),
        entry_ticks=_ids(entry_ticks),
        had=_ids(had),
        paid=np.array([group in done.paid for group in groups], dtype=bool),
        caps=_ids(caps),
        payoff=payoff,
        best=payoff.max(axis=0),
        asked=factor.groups if factor.about_diagnosis else np.arange(payoff.shape[1]),
    )
    return Kinds(problem, model, words, np.ascontiguousarray(situation.beliefs[0], dtype=float), tuple(members))


def remembered(menu: FlatMenu, members: tuple[tuple[str, ...], ...]) -> dict[str, int]:
    """The kind of each test of which a visible state says whether it was run: run-once, or waited for by others."""
    waited, once = _waited(menu), {test.name for test in (*menu.tests, *menu.parts) if not test.repeatable}
    known = (*members, *((test.name,) for test in menu.parts))
    return {name: kind for kind, names in enumerate(known) for name in names if name in once or names[0] in waited}


def digest_of(kinds: Kinds) -> str:
    """What tells two problems apart: the numbers and names that a plan depends on."""
    names = kinds.members, [commit.name for commit in kinds.problem.flat.commits]
    found = hashlib.sha256(json.dumps(names).encode())
    for part in (*kinds.model, kinds.belief):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


def _rank(test: Test) -> tuple[float, list[list[float]]]:
    """By what kinds are put in order: the same whatever tests and states are called, and in which order they stand."""
    return test.cost, sorted(test.likelihood.tolist())


def _waited(menu: FlatMenu) -> frozenset[str]:
    """Names of tests that others wait for."""
    return frozenset[str]().union(*(test.after for test in menu.tests))


def _members(menu: FlatMenu) -> list[tuple[str, ...]]:
    """Names of the tests of each kind; one that others wait for, a panel and its tests are kinds of their own."""
    alone = _waited(menu).union(*({test.name, *test.parts} for test in menu.tests if test.parts))
    found = dict[object, list[str]]()
    for test in menu.tests:
        found.setdefault(test.name if test.name in alone else _looks(test, menu), []).append(test.name)
    return [tuple(names) for names in found.values()]


def _giving(menu: FlatMenu, name: str, place: dict[str, int]) -> list[int]:
    """The kinds of which one must be run for the test called `name` to have been: itself, and panels that have it."""
    return sorted({place[test.name] for test in menu.tests if name in (test.name, *test.parts)})


def _shown_once(menu: FlatMenu) -> dict[str, set[str]]:
    """What each test shows that may be shown only once: itself, or what is in the panel."""
    once = {test.name for test in (*menu.tests, *menu.parts) if not test.repeatable and not test.parts}
    return {test.name: once & {test.name, *test.parts} for test in menu.tests}


def _rivals(menu: FlatMenu, test: Test, shown: dict[str, set[str]], place: dict[str, int]) -> list[int]:
    """The kinds after which `test` cannot be run: panels and tests in panels that show some of the same once."""
    others = [one for one in menu.tests if (one.parts or test.parts) and one is not test]
    return sorted({place[other.name] for other in others if shown[test.name] & shown[other.name]})


def _looks(test: Test, menu: FlatMenu) -> object:
    group = test.group if menu.first_prices.get(test.group, 0.0) else ""
    return test.likelihood.shape, test.likelihood.tobytes(), test.cost, test.repeatable, group, frozenset(test.after)


def _packed(outcomes: list[int], copies: list[int]) -> tuple[list[int], list[int], list[int], int]:
    """For each outcome of each kind the word, the shift and the mask of its count; and how many words there are."""
    word, shift, mask = list[int](), list[int](), list[int]()
    at, used = 0, 0
    for count, most in zip(outcomes, copies, strict=True):
        width = max(most.bit_length(), 1)
        for _ in range(count):
            if used + width > 63:
                at, used = at + 1, 0
            word.append(at)
            shift.append(used)
            mask.append((1 << width) - 1)
            used += width
    return word, shift, mask, at + 1


def _ticks(
    menu: FlatMenu, leaders: list[Test], groups: list[str], done: Done
) -> tuple[list[int], list[int], list[int]]:
    """Prices and first prices in minor units, and the tests and minor units left; none without a budget."""
    tests = -1 if menu.most_tests is None else max(menu.most_tests - done.tests, 0)
    if menu.budget is None:
        return [0] * len(leaders), [0] * len(groups), [tests, 0, 0]
    left = menu.in_minor_units(menu.budget) - done.spent
    prices = [menu.in_minor_units(test.cost) for test in leaders]
    entries = [menu.in_minor_units(menu.first_prices[group]) for group in groups]
    runs = len(menu.tests) + len(groups) + 1
    coarse = max(abs(left), *prices, *entries, 1) * runs // MOST_TICKS
    if coarse:  # too many digits: sums that miss the budget by less than the last of those kept count as within it
        prices, entries = [price // coarse for price in prices], [price // coarse for price in entries]
        left = left // coarse + 1
    return prices, entries, [tests, 1, left]


def _starts(lists: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    """Where each of `lists` begins when they stand in a row, and where the last ends."""
    return _ids(np.concatenate([[0], np.cumsum([len(one) for one in lists], dtype=np.int64)]))


def _ids(numbers: list[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(numbers, dtype=np.int64)
