"""Hidden states that nothing tells apart, put together before a problem is solved.

Two states are alike if every action pays the same in both and leads to the same outcomes and kinds of states with the
same probabilities: what can be had from a belief then depends on the probability of each kind alone. Where information
has a price there is a second condition: no outcome may tell which state of a kind one has come to. Given the action and
the kind, it must be as likely whatever the state before and after. Information about the state then is information
about its kind, at every belief.

Kinds are found by splitting: all states are of one kind at first, and a kind is split while its states differ. Sums
with random weights find nearly all differences at once; what is left is compared number by number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased.classes import Flags, find_classes
from rhoplan.planning.certified.pointbased.compiled import Entries, sorted_by

DIGITS = 9
"""Digits of the sums that are compared."""

CLOSE = 8 * 2.0**-53
"""By what share two numbers of states of a kind may differ: sums of decimals that are the same are not in floats.
Outward rounding pays for it (theory page, What floats lose)."""

EVEN = 1e-12
"""By what share the probabilities of an outcome may differ that is not to tell states apart: what it tells is at most
the square of that, far less than information is rounded by."""

WORK = 10_000_000
"""Numbers looked at, and so many times all there are, after which states are left apart: in a corridor of thousands
each round tells the next one from the others."""

TURNS = 20

SECONDS_PER_NUMBER = 1e-6
"""Time that comparing one by one and putting together take, at most."""

HALF = 0.5
"""Share of numbers still of use below which the others are dropped."""

Pay = tuple[Ids, Ids, Array]
"""State, action and reward of every action that can be taken."""


class Together(NamedTuple):
    """A problem of kinds of hidden states: state v * K + k is visible state v with hidden states of kind k of K.

    kinds (J,): the kind of each hidden state. pay, start: as `assemble` takes them.
    """

    entries: Entries
    kinds: Ids
    pay: Pay
    start: Array

    @classmethod
    def by(cls, kinds: Ids, entries: Entries, pay: Pay, start: Array) -> Together:
        """What `entries`, `pay` and `start` say of the first state of each kind."""
        joint, count = len(kinds), int(kinds.max()) + 1
        if count == joint:
            return cls(entries, kinds, pay, start)
        first = np.zeros(joint, dtype=bool)
        first[np.unique(kinds, return_index=True)[1]] = True

        def placed(states: Ids) -> Ids:
            result: Ids = states // joint * count + kinds[states % joint]
            return result

        own = entries.ordered(np.flatnonzero(first[entries.source % joint]))
        own = own._replace(source=placed(own.source), target=placed(own.target))
        own = own.ordered(np.lexsort((own.chance, own.target, own.outcome, own.action, own.source)))
        opening = np.flatnonzero(_changes(own.source, own.action, own.outcome, own.target))
        own = own.ordered(opening)._replace(chance=np.add.reduceat(own.chance, opening))
        paid = first[pay[0] % joint]
        return cls(
            own,
            kinds,
            (placed(pay[0][paid]), pay[1][paid], pay[2][paid]),
            np.bincount(placed(np.arange(len(start))), start).astype(float),
        )


def put_together(
    entries: Entries, pay: Pay, start: Array, joint: int, *, informs: bool, deadline: float = math.inf
) -> Together:
    """The problem with few kinds; state v * J + j is visible state v with hidden state j of J.

    informs: whether information has a price. States of different classes (see `compiled`) are put together only where
    that makes no class larger: vectors would become longer. Where it takes long, or until `deadline`, all stay apart.
    """

    def found(kinds: Ids) -> Together:
        try:
            kinds = _Split(entries, pay, joint, informs=informs, deadline=deadline).kinds(kinds)
        except TimeoutError:
            kinds = np.arange(joint)
        return Together.by(kinds, entries, pay, start)

    result = found(np.zeros(joint, dtype=np.int64))
    if result.entries is entries:
        return result
    classes = _classes(entries, start)
    if _length(_classes(result.entries, result.start)) <= _length(classes):
        return result
    return found(_numbers(*classes.reshape(-1, joint)))


class _Split:
    """What kinds are split by."""

    def __init__(self, entries: Entries, pay: Pay, joint: int, *, informs: bool, deadline: float) -> None:
        self.entries, self.pay, self.joint, self.informs, self.deadline = entries, pay, joint, informs, deadline
        self.outcomes = int(entries.outcome.max(initial=0)) + 1
        self.actions = int(pay[1].max(initial=0)) + 1
        self.draw = np.random.default_rng(0).random
        places = int(pay[0].max(initial=0)) // joint + 1
        at, by, seen = (self.draw(count) for count in (places, self.actions, self.outcomes))
        paid = pay[2] / (np.abs(pay[2]).max(initial=0.0) or 1.0) * at[pay[0] // joint] * by[pay[1]]
        self.worth = np.bincount(pay[0] % joint, paid, joint)
        led = entries.chance * at[entries.source // joint] * by[entries.action] * seen[entries.outcome]
        self.arcs = entries.source % joint, entries.target % joint, led

    def kinds(self, kinds: Ids) -> Ids:
        """The coarsest split of `kinds` under which all states of a kind are alike; TimeoutError if it takes long."""
        kinds, work = _numbers(_rounded(self.worth), kinds), WORK + TURNS * len(self.entries.source)
        while True:
            count = int(kinds.max()) + 1
            work -= self.joint + len(self.arcs[0])
            if work < 0:
                raise TimeoutError
            clock.check(self.deadline)
            kinds = self._by_sums(kinds)
            if int(kinds.max()) + 1 == count < self.joint:
                clock.check(self.deadline - SECONDS_PER_NUMBER * len(self.arcs[0]))
            if int(kinds.max()) + 1 == count and self.informs:
                kinds = self._by_looks(kinds)
            if int(kinds.max()) + 1 == count:
                kinds = self._one_by_one(kinds)
            if int(kinds.max()) + 1 in (count, self.joint):
                return _as_they_come(kinds)

    def _by_sums(self, kinds: Ids) -> Ids:
        """`kinds` split by where their states lead to, all of it as one sum."""
        source, target, led = self.arcs
        sums = np.bincount(source, led * self.draw(int(kinds.max()) + 1)[kinds[target]], self.joint)
        kinds = _numbers(_rounded(sums), kinds)
        if np.count_nonzero(several := _several(kinds)[source]) < HALF * len(source):
            self.arcs = source[several], target[several], led[several]
        return kinds

    def _by_looks(self, kinds: Ids) -> Ids:
        """`kinds` split where an outcome tells their states apart."""
        joint, count = self.joint, int(kinds.max()) + 1
        one = self.entries.ordered(np.flatnonzero(_several(kinds)[self.entries.target % joint]))
        if not len(one.source):
            return kinds
        one = one.ordered(np.lexsort((one.outcome, one.target, one.source, one.action)))
        opens = _changes(one.source, one.action, one.target)
        opening, arc = np.flatnonzero(opens), np.cumsum(opens) - 1
        chance = one.chance / np.add.reduceat(one.chance, opening)[arc]
        # An arrival: where an action was taken, and the kind it led to. Every arc of it must show the same.
        where = (one.source // joint * self.actions + one.action) * count + kinds[one.target % joint]
        arrival = np.unique(where, return_inverse=True)[1]
        arcs = np.bincount(arrival[opening])
        cells, cell = np.unique(arrival * self.outcomes + one.outcome, return_inverse=True)
        least, most = np.full(len(cells), np.inf), np.zeros(len(cells))
        np.minimum.at(least, cell, chance)
        np.maximum.at(most, cell, chance)
        uneven = (most - least > EVEN * most) | (np.bincount(cell) < arcs[cells // self.outcomes])
        if not uneven.any():
            return kinds
        # What an arc shows as one sum, above the least of its arrival: what a state shows that is never come to so.
        shown = np.bincount(arc, chance * self.draw(self.outcomes)[one.outcome])
        arrival, target = arrival[opening], one.target[opening] % joint
        lowest = np.full(len(arcs), np.inf)
        np.minimum.at(lowest, arrival, shown)
        pair, place = np.unique(arrival * joint + target, return_inverse=True)
        above = np.zeros(len(pair))
        np.maximum.at(above, place, (shown - lowest[arrival]) * self.draw(len(arcs))[arrival])
        split = _numbers(_rounded(np.bincount(pair % joint, above, joint)), kinds)
        if int(split.max()) + 1 == count:  # one state shows this and that, or the sums are too close
            told = np.isin(kinds, kinds[one.target[uneven[cell]] % joint])
            split = _numbers(np.where(told, count + np.arange(joint), kinds))
        return split

    def _one_by_one(self, kinds: Ids) -> Ids:
        """`kinds` split where a number of a state is not that of the first of its kind; those form a kind of theirs."""
        joint, several = self.joint, _several(kinds)
        one = self.entries.ordered(np.flatnonzero(several[self.entries.source % joint]))
        where = (one.source // joint * self.actions + one.action) * self.outcomes + one.outcome
        led = _Rows.of(one.source % joint, where * joint + kinds[one.target % joint], one.chance, joint)
        own = several[self.pay[0] % joint]
        state, action, reward = self.pay[0][own], self.pay[1][own], self.pay[2][own]
        paid = _Rows.of(state % joint, state // joint * self.actions + action, reward, joint)
        first = np.unique(kinds, return_index=True)[1][kinds]
        differs = several & ~(led.same(first) & paid.same(first))
        return _numbers(kinds, differs)


class _Rows(NamedTuple):
    """Numbers of each state in the order of their keys: those of state j from begin[j] to begin[j + 1]."""

    begin: Ids
    key: Ids
    number: Array

    @classmethod
    def of(cls, state: Ids, key: Ids, number: Array, states: int) -> _Rows:
        """Numbers with the same key of the same state are added up."""
        order = np.lexsort((number, key, state))
        state, key, number = state[order], key[order], number[order]
        opening = np.flatnonzero(_changes(state, key))
        if len(opening):
            number = np.add.reduceat(number, opening)
        return cls(np.searchsorted(state[opening], np.arange(states + 1)), key[opening], number)

    def same(self, other: Ids) -> Flags:
        """Whether (J,) the numbers of each state are those of another."""
        count = np.diff(self.begin)
        result: Flags = count == count[other]
        state = np.repeat(np.arange(len(other)), np.where(result, count, 0))
        place = np.arange(len(state)) - np.searchsorted(state, state)
        mine, theirs = self.begin[state] + place, self.begin[other[state]] + place
        one, another = self.number[mine], self.number[theirs]
        apart = (self.key[mine] != self.key[theirs]) | (np.abs(one - another) > CLOSE * np.abs(another))
        result[state[apart]] = False
        return result


def _rounded(sums: Array | Ids) -> Array:
    """`sums` to a few digits of the largest of them."""
    return np.round(sums / max(float(np.abs(sums).max(initial=0.0)), 1.0), DIGITS)


def _several(kinds: Ids) -> Flags:
    """Whether (J,) there are other states of the same kind."""
    result: Flags = np.bincount(kinds)[kinds] > 1
    return result


def _numbers(*columns: Array | Ids | Flags) -> Ids:
    """A number from 0 on for each row of `columns`, the same for equal rows."""
    order = np.lexsort(columns)
    result = np.empty(len(order), dtype=np.int64)
    result[order] = np.cumsum(_changes(*(column[order] for column in columns))) - 1
    return result


def _as_they_come(kinds: Ids) -> Ids:
    """`kinds` by other numbers: 0 for that of the first state, and so on."""
    _, first, number = np.unique(kinds, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def _changes(*columns: Array | Ids | Flags) -> Flags:
    """Where any of `columns` differs from the row before; the first row does."""
    result = np.zeros(len(columns[0]), dtype=bool)
    result[:1] = True
    for column in columns:
        result[1:] |= column[1:] != column[:-1]
    return result


def _classes(entries: Entries, start: Array) -> Ids:
    """The visible class of each state, -1 for those that are not come to."""
    one = entries.ordered(sorted_by(entries.action, entries.outcome, int(entries.outcome.max(initial=0)) + 1))
    return find_classes(one.source, one.action, one.outcome, one.target, start)[0]


def _length(classes: Ids) -> int:
    """How much there is to multiply for all classes."""
    return int((np.bincount(classes[classes >= 0]).astype(np.int64) ** 2).sum())
