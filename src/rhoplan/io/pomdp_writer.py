"""Any finite problem as one of Cassandra's `.pomdp` files, for solvers of others.

A state of the file is a visible state with a state of every hidden factor; END is a state that is never left and pays
nothing. An observation is an outcome, with the visible state it leads to where that is left to chance. There an
observation may depend only on the action and the state *after* it: where ours also depends on the state before, the
state after it stands in the file several times, once for each way of being shown. An action that is not offered
somewhere does there what the first one offered does, so that it changes no value.

Values are those of the problem for rewards. With a price on information they are too where no visible state is drawn,
no action ends by some of its outcomes only, and no action leads to several copies of a state: otherwise what is seen
tells about these as well, and the file says so.

Shapes: S states of the file before they are doubled, H states of all hidden factors together, E ways to go.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from rhoplan.belief_math.transitions import entries, paid
from rhoplan.errors import LimitError
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import END, POMDP, Action, Array, Ids, Observable

MOST_STATES = 200_000

END_SHOWN = "end"

RESERVED = frozenset((
    "discount", "values", "states", "actions", "observations", "start", "include", "exclude", "T", "O", "R", "uniform",
    "identity", "reset", "reward", "cost",
))  # fmt: skip
"""Words of the grammar, which others do not read as names."""

MOST_SIGNS = 2
"""Signs up to which a name without letters is spelt out."""

SAME_DIGITS = 12
"""Decimals to which two ways of being shown must agree to count as one."""

Row = tuple[tuple[int, float], ...]
"""How a state is shown: observations and their probabilities."""


def write_pomdp(problem: POMDP) -> str:
    """`problem` as the text of a `.pomdp` file."""
    return "\n".join(_Writer(problem).lines()) + "\n"


def written_states(problem: POMDP) -> tuple[list[tuple[Observable, int]], list[str]]:
    """What each state of the file that `write_pomdp` writes stands for, a visible state and the number of a state of
    all hidden factors together (at END 0); and the actions, by their names in `problem`. Both in the file's order."""
    writer = _Writer(problem)
    meant: list[tuple[Observable, int]] = [
        (observable, one) for observable in writer.observables for one in range(writer.hidden)
    ]
    meant += [(END, 0)] if writer.ends else []
    return [one for one, many in zip(meant, writer.copies.tolist(), strict=True) for _ in range(many)], writer.actions


Move = tuple[int, int, int, int, float, float | None]
"""Action, state before, state after, which of its copies, chance, what it pays where that was not said before."""

Payment = tuple[int, int, int, int, float]
"""Action, state before, state after, observation, what that pays."""


@dataclass(frozen=True, eq=False)
class _Ways:
    """How an action can go from one visible state: hidden state before, observation, state after (E,), chance, pay."""

    before: Ids
    shown: Ids
    after: Ids
    chance: Array
    pays: Array


class _Writer:
    def __init__(self, problem: POMDP) -> None:
        self.problem = problem
        self.sizes = tuple(len(factor.states) for factor in problem.factors)
        self.hidden = int(np.prod(self.sizes))
        self.observables = self._found()
        self.place = {observable: number for number, observable in enumerate(self.observables)}
        menus = [problem.menu(observable) for observable in self.observables]
        self.actions = list(dict.fromkeys(action.name for menu in menus for action in menu))
        # Where each action leads to one place, whatever the outcome, one always knows where one is.
        drawn = any(len({*action.leads_to} - {END}) > 1 for menu in menus for action in menu)
        pairs = dict.fromkeys(
            (outcome, target if drawn else None)
            for menu in menus
            for action in menu
            for outcome, target in zip(action.outcomes, action.leads_to, strict=True)
            if target is not END
        )
        self.parting = any(len({target is END for target in action.leads_to}) > 1 for menu in menus for action in menu)
        self.drawn, self.shown = drawn, {pair: number for number, pair in enumerate(pairs)}
        self.end = len(self.observables) * self.hidden
        self.ends = any(END in action.leads_to for menu in menus for action in menu)
        self._rows: dict[tuple[int, int], dict[Row, tuple[int, Row]]] = {}
        """For each action and state after it the ways in which it is shown, numbered, by their rounded numbers."""

    @cached_property
    def followed(self) -> tuple[list[Move], list[Payment]]:
        """Where every action leads and what that pays; how states are shown is noted on the way."""
        moves: list[Move] = []
        payments: list[Payment] = []
        for number, name in enumerate(self.actions):
            for observable, place in self.place.items():
                menu = {action.name: action for action in self.problem.menu(observable)}
                action = menu.get(name) or next(iter(menu.values()))
                self._follow(number, place * self.hidden, action, moves, payments)
        for number in range(len(self.actions)) if self.ends else ():
            self._rows.setdefault((number, self.end), {}).setdefault(self.nothing, (0, self.nothing))
            moves.append((number, self.end, self.end, 0, 1.0, None))
        return moves, payments

    @property
    def nothing(self) -> Row:
        """How the end is shown."""
        return ((len(self.shown) if self.ends else 0, 1.0),)

    @cached_property
    def copies(self) -> Ids:
        """How often (S,) each state stands in the file."""
        self.followed  # noqa: B018  (notes how states are shown)
        copies = np.ones(self.end + self.ends, dtype=np.int64)
        for (_, after), ways_shown in self._rows.items():
            copies[after] = max(copies[after], len(ways_shown))
        return copies

    def lines(self) -> Iterator[str]:
        (moves, payments), copies, nothing = self.followed, self.copies, self.nothing
        words = self._words()
        states = self._state_names(words, copies)
        first = np.concatenate([[0], np.cumsum(copies)])
        acts = _legal(self.actions)
        shown_names = [outcome if at is None else f"{outcome}_{words[at]}" for outcome, at in self.shown]
        seen = _legal([*shown_names, *([END_SHOWN] if self.ends else [])])
        yield f"# {' '.join(self.problem.name.split())}, written by rhoplan"
        yield "# An action that is not offered somewhere does there what the first one offered does."
        if self.problem.looks_first and self.problem.discount < 1:
            yield "# The first look takes no time, which a file like this cannot say: here it takes a step, so that all"
            yield f"# values are {self.problem.discount!r} times what they are."
        if told := self._told_besides():
            yield "# With a price on information values need not be those of the problem: what is seen here counts as"
            yield f"# telling also {' and '.join(told)}."
        yield f"discount: {self.problem.discount!r}"
        yield "values: reward"
        yield f"states: {' '.join(states)}"
        yield f"actions: {' '.join(acts)}"
        yield f"observations: {' '.join(seen)}"
        yield f"start: {' '.join(map(_number, self._start(first)))}"
        if not payments and not any(pay for *_, pay in moves):
            yield "R: * : * : * : * 0"  # some readers want a line
        for number, before, after, copy, chance, pay in moves:
            for state in range(first[before], first[before + 1]):
                yield f"T: {acts[number]} : {states[state]} : {states[first[after] + copy]} {_number(chance)}"
                if pay:
                    yield f"R: {acts[number]} : {states[state]} : * : * {_number(pay)}"
        for number, before, after, shown, own in payments:
            for state in range(first[before], first[before + 1]):
                for target in range(first[after], first[after + 1]):
                    where = f"{states[state]} : {states[target]} : {seen[shown]}"
                    yield f"R: {acts[number]} : {where} {_number(own)}"
        for number, act in enumerate(acts):
            for after in range(len(copies)):
                known = self._rows.get((number, after))
                rows = [row for _, row in known.values()] if known else [nothing]
                for copy in range(copies[after]):
                    for shown, chance in rows[min(copy, len(rows) - 1)]:
                        yield f"O: {act} : {states[first[after] + copy]} : {seen[shown]} {_number(chance)}"

    def _follow(
        self,
        number: int,
        base: int,
        action: Action,
        moves: list[Move],
        payments: list[Payment],
    ) -> None:
        """Note where `action` leads from the states that begin at `base`, how it is shown and what it pays."""
        ways = self._ways(action)
        order = np.lexsort((ways.shown, ways.after, ways.before))
        pair = ways.before[order] * (self.end + 1) + ways.after[order]
        starts = np.flatnonzero(np.diff(pair, prepend=-1))
        totals = np.add.reduceat(ways.chance[order], starts)
        ends = np.append(starts[1:], len(order))
        own, rewarded = self._own(action), -1
        for start, end, total in zip(starts.tolist(), ends.tolist(), totals.tolist(), strict=True):
            inside = order[start:end]
            before, after = int(ways.before[inside[0]]), int(ways.after[inside[0]])
            row = tuple(zip(ways.shown[inside].tolist(), (ways.chance[inside] / total).tolist(), strict=True))
            known = self._rows.setdefault((number, after), {})
            rounded = tuple((shown, round(share, SAME_DIGITS)) for shown, share in row)
            copy, _ = known.setdefault(rounded, (len(known), row))
            pay = None
            if action.pays is None and before != rewarded:
                pay, rewarded = float(action.reward[own[before]]), before
            moves.append((number, base + before, after, copy, min(total, 1.0), pay))  # which sums may miss
            if action.pays is not None:
                payments += [(number, base + before, after, int(ways.shown[w]), float(ways.pays[w])) for w in inside]

    def _ways(self, action: Action) -> _Ways:
        """Every way that `action` can go, hidden states being those of all factors together."""
        states, outcomes = action.likelihood.shape
        if action.transition is None:
            before, outcome = np.nonzero(action.likelihood)
            after, chance = before, action.likelihood[before, outcome]
        else:
            outcome, before, after, share = entries(action.transition, outcomes)
            chance = action.likelihood[before, outcome] * share
            there = chance > 0
            before, outcome, after, chance = before[there], outcome[there], after[there], chance[there]
        pays = action.reward[before] if action.pays is None else paid(action.pays, outcome, before, after)
        step = int(np.prod(self.sizes[action.factor + 1 :]))
        rest = np.arange(self.hidden).reshape(-1, states, step)[:, 0, :].ravel()  # the other factors' part of a state
        joint = (rest[:, None] + before * step).ravel()
        shift = np.tile((after - before) * step, len(rest))
        target = np.array([self.place.get(one, -1) for one in action.leads_to])[np.tile(outcome, len(rest))]
        pairs = zip(action.outcomes, action.leads_to, strict=True)
        codes = [self.shown.get((name, at if self.drawn else None), len(self.shown)) for name, at in pairs]
        ends = target < 0
        return self._merged(
            _Ways(
                joint,
                np.where(ends, len(self.shown), np.array(codes)[np.tile(outcome, len(rest))]),
                np.where(ends, self.end, target * self.hidden + joint + shift),
                np.tile(chance, len(rest)),
                np.tile(pays, len(rest)),
            )
        )

    def _merged(self, ways: _Ways) -> _Ways:
        """Ways that END makes one, together; they pay their mean."""
        key = (ways.before * (self.end + 1) + ways.after) * (len(self.shown) + 1) + ways.shown
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        chance = np.bincount(place.ravel(), weights=ways.chance).astype(float)
        pays = np.bincount(place.ravel(), weights=ways.chance * ways.pays) / chance
        alone = np.bincount(place.ravel()) == 1
        return _Ways(ways.before[first], ways.shown[first], ways.after[first], chance,
                     np.where(alone, ways.pays[first], pays))  # fmt: skip

    def _own(self, action: Action) -> Ids:
        """The state (H,) of the action's factor in each hidden state."""
        step = int(np.prod(self.sizes[action.factor + 1 :]))
        result: Ids = np.arange(self.hidden) // step % self.sizes[action.factor]
        return result

    def _found(self) -> list[Observable]:
        """All visible states within reach, the start first."""
        found: dict[Observable, None] = {self.problem.start: None}
        waiting = list(found)
        while waiting:
            for action in self.problem.menu(waiting.pop()):
                for target in action.leads_to:
                    if target is not END and target not in found:
                        found[target] = None
                        waiting.append(target)
            if len(found) * self.hidden > MOST_STATES:
                raise LimitError(
                    f"'{self.problem.name}' has more than {MOST_STATES:,} states with visible and hidden ones joined: "
                    "it cannot be written as a .pomdp file",
                    code="not-writable",
                )
        return list(found)

    def _told_besides(self) -> list[str]:
        """What an observation of the file tells that the problem does not count as information."""
        told = ["which visible state comes next"] if self.drawn else []
        told += ["whether this is the end"] if self.parting else []
        ways = {(number, before // self.hidden, after, copy) for number, before, after, copy, *_ in self.followed[0]}
        # Where the action and the visible state before tell the copy, it is no news.
        return [*told, "which copy of a state it is"] if len({way[:3] for way in ways}) < len(ways) else told

    def _words(self) -> dict[Observable, str]:
        """A name for every visible state; of what has been done no more than it takes to tell them apart."""
        short = {observable: _word(observable) for observable in self.observables}
        if len({*short.values()}) == len(short):
            return short
        return {observable: "_".join([word, *self._bill(observable)]) for observable, word in short.items()}

    def _bill(self, observable: Observable) -> list[str]:
        """What has been paid and how much was run and spent, where `visible` is what has been done."""
        if not isinstance(observable, Done):
            return []
        counted = {"tests": observable.tests, "spent": self.problem.flat.spent(observable)}
        return [
            *(f"paid-{group}" for group in sorted(observable.paid)),
            *(f"{k}-{v:g}" for k, v in counted.items() if v),
        ]

    def _state_names(self, words: dict[Observable, str], copies: Ids) -> list[str]:
        hidden = ["_".join(names) for names in product(*(factor.states for factor in self.problem.factors))]
        one = len(self.observables) == 1
        names = [name if one else f"{words[observable]}_{name}" for observable in self.observables for name in hidden]
        names += [END_SHOWN] if self.ends else []
        return _legal([name if not copy else f"{name}_{copy}" for name, many in zip(names, copies.tolist(), strict=True)
                       for copy in range(many)])  # fmt: skip

    def _start(self, first: Ids) -> list[float]:
        prior = np.ones(1)
        for factor in self.problem.factors:
            prior = np.outer(prior, factor.prior).ravel()
        result = np.zeros(first[-1])
        result[first[: self.hidden]] = prior  # the start is the first visible state
        return [float(share) for share in result]


def _word(observable: Observable) -> str:
    """A visible state as a word: of what has been done the tests, of tuples and sets the parts."""
    if isinstance(observable, Done):
        return "_".join(sorted(observable.run)) or "start"
    if isinstance(observable, frozenset):
        return "_".join(sorted(map(_word, observable))) or "none"
    return "_".join(map(_word, observable)) if isinstance(observable, tuple) else str(observable)


def _spelt(name: str) -> str:
    """`name`, or where it is a mere sign or two, what these are called."""
    if len(name) > MOST_SIGNS or re.search("[A-Za-z0-9]", name):
        return name
    return "_".join(unicodedata.name(sign, "sign").lower().replace(" ", "-") for sign in name)


def _legal(names: list[str]) -> list[str]:
    """`names` as the grammar has them: a letter, then letters, digits, dashes; all different."""
    found: dict[str, None] = {}
    for name in names:
        word = re.sub(r"[^A-Za-z0-9_-]+", "_", _spelt(name))
        word = f"s{word}" if word in RESERVED or not re.match(r"[A-Za-z]", word) else word
        number, unique = 1, word
        while unique in found:
            number += 1
            unique = f"{word}-{number}"
        found[unique] = None
    return list(found)


def _number(value: float) -> str:
    return repr(float(value)).replace("e-0", "e-").removesuffix(".0") if value else "0"
