"""Classes told apart by which of their states are possible, where there is no discount.

A plan may go on for ever for nothing where one knows that it costs nothing: in some states of a class, but not in all.
A vector over the whole class cannot say so; in the other states it would be infinitely low. Where each set of states
that can be possible together is a class of its own, vectors speak of what is possible and of nothing else. Which set it
is one knows, as one knows the visible class, so all that holds of classes holds of these. Where there are too many such
sets only small ones are told apart; others stay in their class, of whose states some then are impossible.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rhoplan.model.pomdp import Ids
from rhoplan.planning import clock
from rhoplan.planning.certified.components import circles_of
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.first import at_rest, corner_information

LARGEST, HALF = (np.inf, 8, 2, 1), 0.5
"""Sets of so many states at most are told apart: the first of these for which there is room, and such a share of the
time left."""

MOST_NUMBERS, MOST_TIMES, FEW = 1_000_000, 20, 100_000
"""Probabilities P(s', o | s) there may be at the most; and so many times as many as before, unless they are few."""


def by_supports(problem: Compiled, *, weight: float, deadline: float) -> Compiled:
    """`problem` with a class for each set of states that can be possible together, as far as discount 1 asks for that
    and there is room and time for it."""
    return next(splits(problem, deadline=deadline), problem) if is_free_in_some(problem, weight) else problem


def splits(problem: Compiled, *, deadline: float = np.inf) -> Iterator[Compiled]:
    """All that there is room and time for, the finest first."""
    for largest in LARGEST:
        with suppress(TimeoutError):
            yield split(problem, largest, deadline=clock.now() + HALF * (deadline - clock.now()))


def is_free_in_some(problem: Compiled, weight: float) -> bool:
    """Whether in some class who sees the state may go on for ever for nothing, but no action does in all its states.
    Where nothing is ever paid again, whatever is done, every action does; where nothing costs, nobody has to know."""
    if not (problem.model.reward < 0).any():
        return False
    model, where = problem.model, problem.entries
    reward = model.reward + weight * corner_information(problem, 1.0) if weight > 0 else model.reward
    rest = at_rest(problem, reward)[problem.row_slot]
    source, free = problem.row_slot[where.source], (reward >= 0) & ~rest
    staying = circles_of(source, where.source, where.target, free, problem.slots)[1]
    first, menus = model.pair_reward[:-1], model.class_pair[:-1][~problem.ended]
    in_some, in_all = np.logical_or.reduceat(staying, first), np.logical_and.reduceat(staying | rest, first)
    return bool((np.logical_or.reduceat(in_some, menus) & ~np.logical_or.reduceat(in_all, menus)).any())


class Part(NamedTuple):
    """A class to be: those of a class before that are possible."""

    home: int
    states: Ids


class Parts:
    """Sets of states that can be possible together, in the order in which one comes to them; of those with more than
    `most` states only the class that they are in."""

    def __init__(self, problem: Compiled, most: float) -> None:
        self.problem, self.most = problem, most
        self.known: list[Part] = []
        self.numbers: dict[tuple[int, bytes], int] = {}

    def number_of(self, home: int, states: Ids) -> int:
        """The number of the part that these states of class `home` are in; all where the episode is over are one."""
        if self.problem.ended[home] or len(states) > self.most:
            states = np.arange(self.problem.sizes[home])
        number = self.numbers.setdefault((home, states.tobytes()), len(self.known))
        if number == len(self.known):
            self.known.append(Part(home, states))
        return number


def split(problem: Compiled, largest: float = np.inf, *, deadline: float = np.inf) -> Compiled:
    """The problem of parts with at most `largest` states, or else the class; TimeoutError where there are too many or
    they are not found before `deadline`. `problem` itself where no class that one can come to comes apart."""
    model, parts = problem.model, Parts(problem, largest)
    most = min(MOST_NUMBERS, max(FEW, MOST_TIMES * len(model.chance)))
    start = parts.number_of(problem.start_class, np.flatnonzero(problem.start))
    begins = problem.start[parts.known[start].states]
    branches, target, column, place, count = list[int](), list[int](), list[Ids](), list[Ids](), list[Ids]()
    pairs, class_pair, pair_branch = list[int](), [0], [0]
    numbers = 0
    for home, states in parts.known:  # which grow
        clock.check(deadline)
        for pair in range(model.class_pair[home], model.class_pair[home + 1]):
            for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
                row = model.branch_row[branch] + states
                begin, length = model.row[row], model.row[row + 1] - model.row[row]
                if not length.any():
                    continue
                held = np.repeat(begin - np.cumsum(length) + length, length) + np.arange(length.sum())
                number = parts.number_of(int(model.branch_target[branch]), np.unique(model.column[held]))
                branches.append(branch)
                target.append(number)
                column.append(np.searchsorted(parts.known[number].states, model.column[held]))
                place.append(held)
                count.append(np.append(0, length))
                numbers += len(held)
            pairs.append(pair)
            pair_branch.append(len(branches))
        class_pair.append(len(pairs))
        if numbers > most:
            raise TimeoutError
    if all(len(states) == problem.sizes[home] for home, states in parts.known):
        return problem
    slots = np.concatenate([model.class_state[home] + states for home, states in parts.known])
    sizes = np.array([len(states) for _, states in parts.known])
    pair_class = np.repeat(np.arange(len(sizes)), np.diff(class_pair))
    rewards = [model.pair_reward[p] + parts.known[c].states for p, c in zip(pairs, pair_class.tolist(), strict=True)]
    heights = np.array([len(one) for one in count], dtype=np.int64)
    return replace(
        problem,
        model=model._replace(
            class_state=np.append(0, np.cumsum(sizes)),
            class_pair=np.array(class_pair),
            pair_class=pair_class,
            pair_reward=np.append(0, np.cumsum(sizes[pair_class])),
            pair_branch=np.array(pair_branch),
            branch_target=np.array(target, dtype=np.int64),
            branch_row=np.append(0, np.cumsum(heights)),
            row=np.cumsum(np.concatenate(count)),
            column=np.concatenate(column),
            chance=model.chance[np.concatenate(place)],
            reward=model.reward[np.concatenate(rewards)],
            symbol=model.symbol[slots],
        ),
        state=problem.state[slots],
        pair_action=problem.pair_action[pairs],
        branch_outcome=problem.branch_outcome[branches],
        start_class=start,
        start=begins,
    )
