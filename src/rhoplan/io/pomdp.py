"""Cassandra's `.pomdp` files: the grammar, whole, with faults that name file, line and what was expected.

    discount: 0.95
    values: reward                     # or cost
    states: left right                 # names, or how many
    actions: listen open
    observations: 2
    start: uniform                     # probabilities, a state, `start include: left`, `start exclude: left`
    T: listen identity                 # T: action : from : to p    T: action : from  row    T: action  matrix
    O: listen : left 0.85 0.15         # O: action : to : seen p    O: action : to  row      O: action  matrix
    R: open : left : * : * -100        # R: action : from : to : seen r, or rows and matrices of the last ones

A name, its number, or `*` for all may stand in every place; `uniform`, `identity` and `reset` for probabilities; line
breaks anywhere, and none are needed around `:` and after `*`; what comes later overrides what came before.
`pomdp_tables` holds what the lines say.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import NoReturn

import numpy as np

from rhoplan.errors import ModelFileError, ProblemError
from rhoplan.io.assemble import Rounding, assembled, check_discount
from rhoplan.io.collecting import nothing_collected
from rhoplan.io.foreign import PER_ACTION, PER_CELL, Budget, bare_lines, counted, number_of, numbers_of
from rhoplan.io.pomdp_tables import Names, Observations, Rewards, Transitions
from rhoplan.io.tree import shown
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.model.pomdp import POMDP, Array

HEADS = ("discount", "values", "states", "actions", "observations", "start", "T", "O", "R")

SIGNS = ("-", "+")

SINGLE = 8
"""Words of a line `T: action : from : to p`, colons included."""


@nothing_collected()
def parse_pomdp(text: str, *, file: str = "problem.pomdp") -> POMDP:
    """The problem that `text` describes in Cassandra's format; `file` is what errors call it."""
    return _Reader(text, file).problem()


def _apart(word: str) -> tuple[str, ...]:
    """`word`, but for a `*` that it begins with, which is a word of its own."""
    return ("*", word[1:]) if word[0] == "*" and len(word) > 1 else (word,)


class _Reader:
    """Words of the text from the place `at` on."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.budget = Budget(text, file)
        self.words: list[str] = []
        counts = []
        for line in bare_lines(text, "#", file=file):
            words = line.replace(":", " : ").split()
            if "*" in line:
                words = [part for word in words for part in _apart(word)]
            self.words += words
            counts.append(len(words))
        self._ends = list(accumulate(counts))
        self.at = 0
        self.discount: float | None = None
        self.sign = 1.0
        self.names: dict[str, Names] = {}
        self.prior: Array | None = None
        self.rounding = Rounding()
        self._reset = False
        self._tables: tuple[Transitions, Observations, Rewards] | None = None

    def problem(self) -> POMDP:
        while self.at < len(self.words):
            self._statement()
            self._single_numbers()
        for head in ("discount", "states", "actions", "observations"):
            if head not in self.names and not (head == "discount" and self.discount is not None):
                raise ModelFileError(f"the file must say '{head}:'; it does not", file=self.file, code="missing-field")
        assert self.discount is not None
        moves, shows, pays = self.tables
        states, acts, seen = (self.names[head] for head in ("states", "actions", "observations"))
        prior = self._start()
        if moves.is_empty:
            raise ModelFileError(
                "the file must say 'T:', where actions lead; it does not", file=self.file, code="missing-field"
            )
        moves.count_products(shows)
        self.words.clear()  # which in a large file take most of the memory
        ways = (
            (act, pays.paid(number, moves.ways(number, shows.of(number, self.rounding), self.rounding), self.sign))
            for number, act in enumerate(acts.names)
        )
        name = Path(self.file).stem
        try:
            return assembled(
                name,
                states=states.names,
                outcomes=seen.names,
                ways=ways,
                prior=prior,
                discount=self.discount,
                rounding=self.rounding,
                spec=self.file,
            )
        except ModelFileError:
            raise
        except ProblemError as error:
            if (at := pays.beyond(LARGEST_REWARD)) is not None and {*(error.field or ())} & {"reward", "pays", "R"}:
                self._fault(error.message, at, code=error.code)
            raise ModelFileError(error.message, file=self.file, field=error.field, code=error.code) from None

    @property
    def tables(self) -> tuple[Transitions, Observations, Rewards]:
        if self._tables is None:
            self._check_named()
            acts, states, seen = (self.names[head] for head in ("actions", "states", "observations"))
            count, size = len(acts.names), len(states.names)
            self.budget.spend(count * (PER_ACTION + size + size * len(seen.names) / PER_CELL))
            self._tables = (
                Transitions((acts, states), self._raise_at, self.budget),
                Observations((acts, states), len(seen.names), self._raise_at, self.budget),
                Rewards(len(states.names), len(seen.names)),
            )
        return self._tables

    def _check_named(self) -> None:
        for head in ("states", "actions", "observations"):
            if head not in self.names:
                self._fault(f"'{head}:' must stand before T, O and R; it does not", self.at, code="statement-order")

    # -- statements -----------------------------------------------------------------------------------------------

    def _statement(self) -> None:
        head, place = self.words[self.at], self.at
        if not self._is_head(self.at):
            self._fault(f"expected {', '.join(f'{one}:' for one in HEADS)}; found '{shown(head)}'", self.at)
        if head == "start":
            self._read_start()
            return
        self.at += 2
        if head in "TOR":
            {"T": self._transition, "O": self._observation, "R": self._reward}[head](place)
        elif head == "discount":
            self.discount = self._number("the discount")
            try:
                check_discount(self.discount)
            except ProblemError as error:
                self._fault(error.message, self.at - 1, code=error.code)
        elif head == "values":
            word = self._word("reward or cost")
            if word not in ("reward", "cost"):
                self._fault(f"values must be reward or cost; they are '{word}'", self.at - 1)
            self.sign = 1.0 if word == "reward" else -1.0
        else:
            self._read_names(head)

    def _is_head(self, at: int) -> bool:
        words = self.words[at : at + 3]
        if not words or words[0] not in HEADS:
            return False
        is_list = words[0] == "start" and words[1:2] in (["include"], ["exclude"])
        return words[2:3] == [":"] if is_list else words[1:2] == [":"]

    def _read_names(self, head: str) -> None:
        place, found = self.at, self._until_head()
        if head in self.names:
            self._fault(f"'{head}:' must stand there once; it stands there twice", place - 2, code="duplicate-field")
        if len(found) == 1 and found[0].isdigit():
            count = counted(found[0])
            if not count or count > self.budget.most:
                self._fault(
                    f"{head} must be at least 1 and at most {self.budget.most:,}; they are {shown(found[0])}",
                    place,
                    code="number-range",
                )
            self.budget.spend(count)
            found = [str(number) for number in range(count)]
        elif not found:
            self._fault(f"expected the names of the {head}, or how many there are", place - 2)
        elif len(found) == 1 and not math.isnan(number_of(found[0])):
            self._fault(f"{head} must be names, or how many there are, a whole number; they are '{found[0]}'", place)
        seen: set[str] = set()
        for offset, name in enumerate(found):
            if name in seen:
                self._fault(
                    f"{head} must have different names; '{name}' stands there twice",
                    place + offset,
                    code="duplicate-name",
                )
            if name == ":" and offset:
                self._fault(f"expected one of {', '.join(HEADS)}; found '{found[offset - 1]}'", place + offset - 1)
            if name in (":", "*"):
                self._fault(f"'{name}' cannot be the name of one of the {head}", place + offset)
            seen.add(name)
        self.names[head] = Names(head, tuple(found))

    def _read_start(self) -> None:
        states = self.names.get("states")
        if self._reset:
            self._fault(
                "'start:' must stand before 'reset', which stands for it; it does not", self.at, code="statement-order"
            )
        if states is None:
            self._fault("'states:' must stand before 'start:'; it does not", self.at, code="statement-order")
        count, kind = len(states.names), self.words[self.at + 1]
        self.budget.spend(count / PER_CELL)
        place = self.at = self.at + (2 if kind == ":" else 3)
        if kind != ":":
            chosen = np.full(count, kind == "exclude")
            for offset, word in enumerate(self._until_head()):
                chosen[self._place(states, word, place + offset)] = kind == "include"
            if not chosen.any():
                self._fault("start must leave at least one state; it leaves none", place - 1, code="no-states")
            self.prior = chosen / chosen.sum()
            return
        words = self._until_head()
        if words == ["uniform"] and "uniform" not in states.numbers:
            self.prior = np.full(count, 1 / count)
        elif len(words) == 1 and (count > 1 or words[0] in states.numbers):
            self.prior = np.eye(1, count, self._place(states, words[0], place)).ravel()
        else:
            if len(words) > 1 and all(word in states.numbers and math.isnan(number_of(word)) for word in words):
                self._fault("start is one state, or a number for each; for several write 'start include:'", place)
            self.at = place
            row = self._numbers(count, "start")[None, :]
            rows, wrong = self.rounding.normalised(row)
            if wrong[0]:
                self._fault(
                    f"start must hold probabilities that sum to 1; it sums to {row.sum():.10g}", place, code="prior-sum"
                )
            self.prior = rows[0]

    def _start(self) -> Array:
        count = len(self.names["states"].names)
        return np.full(count, 1 / count) if self.prior is None else self.prior

    # -- tables ---------------------------------------------------------------------------------------------------

    def _transition(self, place: int) -> None:
        moves, states = self.tables[0], self.names["states"]
        action, *rest = self._places(("actions", "states", "states"), 1)
        count = len(states.names)
        if len(rest) == 2:
            moves.entry(action, rest[0], rest[1], self._number("a probability"), place)
        elif len(rest) == 1:
            moves.row(action, rest[0], self._row(count, place), place)
        elif self._keyword("identity"):
            moves.identity(action, place)
        elif self._keyword("uniform"):
            self.budget.spend(count / PER_CELL)
            moves.row(action, None, np.full(count, 1 / count), place)
        else:
            for state, row in enumerate(self._numbers(count * count, "a matrix").reshape(count, count)):
                moves.row(action, state, row, place)

    def _observation(self, place: int) -> None:
        shows = self.tables[1]
        places = self._places(("actions", "states", "observations"), 1)
        states, seen = (len(self.names[head].names) for head in ("states", "observations"))
        if len(places) == 3:
            shows.put(places, self._number("a probability"), place)
        elif len(places) == 2:
            shows.put(places, self._row(seen, place), place)
        elif self._keyword("uniform"):
            shows.put(places, np.full(seen, 1 / seen), place)
        else:
            shows.put(places, self._numbers(states * seen, "a matrix").reshape(states, seen), place)

    def _single_numbers(self) -> None:
        """Go on through lines `T: action : from : to p`, and then of O, while nothing else comes.

        It is what `_statement` does with them, without looking for anything else: large files have a million.
        """
        if self._tables is None:
            return
        words, last, (moves, shows, _) = self.words, len(self.words) - SINGLE, self._tables
        acts, states, seen = (self.names[head].numbers for head in ("actions", "states", "observations"))
        for head, others, put in (("T", states, moves.put_one), ("O", seen, shows.put_one)):
            at = self.at
            while at <= last and words[at] == head and words[at + 1] == words[at + 3] == words[at + 5] == ":":
                action, state, other = acts.get(words[at + 2]), states.get(words[at + 4]), others.get(words[at + 6])
                chance = number_of(words[at + 7])
                if action is None or state is None or other is None or math.isnan(chance):
                    break
                put(action, state, other, chance, at)
                at += SINGLE
            self.at = at

    def _reward(self, place: int) -> None:
        places = self._places(("actions", "states", "states", "observations"), 2)
        states, seen = (len(self.names[head].names) for head in ("states", "observations"))
        shape = (states, seen)[len(places) - 2 :]
        numbers = self._numbers(int(np.prod(shape)), "rewards") if shape else np.array(self._number("a reward"))
        self.tables[2].put(places, numbers.reshape(shape), place)

    def _row(self, count: int, place: int) -> Array:
        self.budget.spend(count / PER_CELL)
        if self._keyword("uniform"):
            return np.full(count, 1 / count)
        if self._keyword("reset"):
            start, self._reset = self._start(), True
            if len(start) != count:
                self._fault("reset must stand for the states of T; it stands for observations", place)
            return start
        return self._numbers(count, "a row")

    # -- words ----------------------------------------------------------------------------------------------------

    def _places(self, heads: tuple[str, ...], least: int) -> list[int | None]:
        """The numbers of names with colons between them, None for `*`; at least `least` of them."""
        found: list[int | None] = []
        words, end = self.words, len(self.words)
        self._check_named()
        for head in heads:
            if found:
                if self.at >= end or words[self.at] != ":":
                    if len(found) >= least:
                        break
                    self._fault(f"expected ':' and one of the {head}; found {self._found()}", self.at)
                self.at += 1
            word = words[self.at] if self.at < end else ":"
            if word == ":":
                self._fault(f"expected one of the {head}, or *; found {self._found()}", self.at)
            names = self.names[head]
            number = names.numbers.get(word)
            found.append(number if number is not None or word == "*" else self._place(names, word, self.at))
            self.at += 1
        return found

    def _place(self, names: Names, word: str, at: int) -> int:
        number = names.numbers.get(word)
        place = counted(word)
        if number is None and place is not None and place < len(names.names):
            number = place
        if number is None:
            known = ", ".join(names.names[:6]) + (", ..." if len(names.names) > 6 else "")
            self._fault(f"expected one of the {names.what} ({known}); found '{shown(word)}'", at, code="unknown-name")
        return number

    def _number(self, what: str) -> float:
        """The next number, without the cost of an array: most lines of large files have one."""
        found = number_of(self.words[self.at]) if self.at < len(self.words) else math.nan
        if math.isnan(found):
            return float(self._numbers(1, what)[0])
        self.at += 1
        return found

    def _numbers(self, count: int, what: str) -> Array:
        """The next `count` numbers."""
        found = numbers_of(self.words[self.at : self.at + count])
        if found is None or len(found) < count:
            return self._signed_numbers(count, what)
        self.at += count
        return found

    def _signed_numbers(self, count: int, what: str) -> Array:
        """The same where a sign may stand apart from its number, as in `- 5`."""
        found: list[float] = []
        while len(found) < count:
            sign, *after = self.words[self.at : self.at + 2] or [""]
            apart = sign in SIGNS and after and not after[0].startswith(SIGNS)
            number = number_of(sign + after[0] if apart else sign)
            if math.isnan(number):
                wanted = "a number" if count == 1 else f"{count:,} numbers"
                behind = "" if count == 1 else f" after {len(found):,}"
                self._fault(f"expected {wanted} for {what}; found {self._found()}{behind}", self.at)
            found.append(number)
            self.at += 1 + bool(apart)
        return np.array(found)

    def _until_head(self) -> list[str]:
        start = self.at
        while self.at < len(self.words) and not self._is_head(self.at):
            self.at += 1
        return self.words[start : self.at]

    def _keyword(self, word: str) -> bool:
        if self.words[self.at : self.at + 1] != [word]:
            return False
        self.at += 1
        return True

    def _word(self, expected: str) -> str:
        if self.at >= len(self.words) or self.words[self.at] == ":":
            self._fault(f"expected {expected}; found {self._found()}", self.at)
        self.at += 1
        return self.words[self.at - 1]

    def _found(self) -> str:
        return f"'{shown(self.words[self.at])}'" if self.at < len(self.words) else "the end of the file"

    def _fault(self, message: str, at: int, *, code: str = "pomdp-syntax") -> NoReturn:
        line = bisect_right(self._ends, min(at, max(self._ends[-1] - 1, 0))) + 1
        raise ModelFileError(message, file=self.file, line=min(line, max(len(self._ends), 1)), code=code)

    def _raise_at(self, message: str, at: int | None, code: str) -> NoReturn:
        if at is None:
            raise ModelFileError(message, file=self.file, code=code)
        self._fault(message, at, code=code)
