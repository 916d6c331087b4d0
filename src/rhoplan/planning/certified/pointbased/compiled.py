"""A finite problem as flat arrays for the point-based solver, split into visible classes.

A visible class is a set of states that no belief one can come to straddles: who follows the outcomes always knows the
class. Vectors over a class are small and dense where vectors over all states would be long and empty. The classes are
found by closure: all successors of one class by one action and one outcome belong together. The start belief may lie
across classes; then its states form a class of their own, once more.

Per class there are pairs (the class and one of its actions), per pair a reward for each state and branches (one per
outcome), per branch the sparse matrix P(s', o | s) from the states of the class to those of its target class. A class
without pairs is the end of the episode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rhoplan.errors import LimitError, ProblemError
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.pointbased.classes import Flags, find_classes
from rhoplan.planning.machine import handed

BYTES_PER_ENTRY = 150
"""Memory that one probability P(s', o | s) takes until there are first bounds, at the most: 118 in a dense problem with
26 million of them, 137 in one with seven million and many places, which have to be sorted."""


@handed
class Model(NamedTuple):
    """What the kernels read. Everything about class c stands from x[c] to x[c + 1], likewise for pairs and branches.

    class_state: first slot (a state of a class) of each class. class_pair: first pair. pair_class, pair_reward (first
    place in `reward`), pair_branch. branch_target: class. branch_row: first place in `row`, which gives for each state
    of the class the first entry in `column` (state within the target class) and `chance`. symbol: what information is
    about, per slot.
    """

    class_state: Ids
    class_pair: Ids
    pair_class: Ids
    pair_reward: Ids
    pair_branch: Ids
    branch_target: Ids
    branch_row: Ids
    row: Ids
    column: Ids
    chance: Array
    reward: Array
    symbol: Ids


class Entries(NamedTuple):
    """P(target, outcome | source, action), one number per row."""

    source: Ids
    action: Ids
    outcome: Ids
    target: Ids
    chance: Array

    def ordered(self, order: Ids | slice) -> Entries:
        """The same in another order."""
        return Entries(
            self.source[order], self.action[order], self.outcome[order], self.target[order], self.chance[order]
        )


@dataclass(frozen=True, eq=False)
class Compiled:
    """A problem ready to be solved.

    state (N,): the original state of each slot. pair_action, branch_outcome: numbers into `actions`, and of outcomes as
    they came. start_class, start: the class of the first belief, and the belief over its states. symbols: how many
    different symbols there are. told: how an original state is called. kinds: of problems of records, the kind of each
    joint hidden state, which is what a state of theirs here has of it.
    """

    model: Model
    state: Ids
    actions: tuple[str, ...]
    pair_action: Ids
    branch_outcome: Ids
    start_class: int
    start: Array
    symbols: int
    told: Callable[[int], str] = str
    kinds: Ids = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def classes(self) -> int:
        return len(self.model.class_pair) - 1

    @property
    def slots(self) -> int:
        return int(self.model.class_state[-1])

    @property
    def pairs(self) -> int:
        return len(self.model.pair_class)

    @cached_property
    def sizes(self) -> Ids:
        """Number of states of each class."""
        return np.diff(self.model.class_state)

    @cached_property
    def menus(self) -> Ids:
        """Number of actions of each class; none where the episode is over."""
        return np.diff(self.model.class_pair)

    @cached_property
    def ended(self) -> Flags:
        """Whether (per class) the episode is over."""
        result: Flags = self.menus == 0
        return result

    @cached_property
    def entries(self) -> Entries:
        """Every number of `Model.chance` once more: its place in `Model.reward`, its pair, branch, and target slot."""
        model = self.model
        branch_pair = np.repeat(np.arange(self.pairs), np.diff(model.pair_branch))
        height = self.sizes[model.pair_class[branch_pair]]
        branch = np.repeat(np.arange(len(height)), height)
        state = np.arange(len(branch)) - np.repeat(np.cumsum(height) - height, height)
        count = model.row[model.branch_row[branch] + state + 1] - model.row[model.branch_row[branch] + state]
        branch, state = np.repeat(branch, count), np.repeat(state, count)
        pair = branch_pair[branch]
        slot = model.class_state[model.branch_target[branch]] + model.column
        return Entries(model.pair_reward[pair] + state, pair, branch, slot, model.chance)

    @cached_property
    def row_pair(self) -> Ids:
        """The pair that each number of `Model.reward` is about."""
        return np.repeat(np.arange(self.pairs), np.diff(self.model.pair_reward))

    @cached_property
    def row_slot(self) -> Ids:
        """The slot that each number of `Model.reward` is about."""
        model, pair = self.model, self.row_pair
        result: Ids = np.arange(len(pair)) - model.pair_reward[pair] + model.class_state[model.pair_class[pair]]
        return result

    def expected(self, values: Array) -> Array:
        """What `values` (N,) are worth one step later, in expectation, as `Model.reward`."""
        where = self.entries
        return np.bincount(where.source, where.chance * values[where.target], len(self.model.reward)).astype(float)


Sparse = tuple[Ids, Ids, Array]
"""A matrix by rows: where each row begins, columns, values."""


def flat(
    joint: Sequence[Mapping[int, Sparse]],
    rewards: Array,
    start: Array,
    *,
    actions: Sequence[str] = (),
    memory: float = 4e9,
) -> Compiled:
    """A problem given as P(s', o | s), one sparse matrix (S, S) for each action and outcome, and rewards (A, S).

    A state that pays nothing and is never left, whatever is done, ends the episode if one sees that one is there.
    """
    needed = sum(len(matrix[1]) for branches in joint for matrix in branches.values()) * BYTES_PER_ENTRY
    check_memory(needed, memory)
    parts = []
    for action, branches in enumerate(joint):
        for outcome, (begins, columns, values) in branches.items():
            source = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
            keep = values > 0
            count = int(np.count_nonzero(keep))
            both = np.full(count, action), np.full(count, outcome)
            parts.append(Entries(source[keep], *both, np.asarray(columns)[keep], np.asarray(values, float)[keep]))
    entries = joined(parts)
    count, states = rewards.shape
    away = np.zeros(states, dtype=bool)
    away[entries.source[entries.source != entries.target]] = True
    still = _silent(entries, ~away & (rewards == 0).all(axis=0))
    names = tuple(actions) or tuple(f"action-{a}" for a in range(count))
    return assemble(
        entries,
        pay=(np.tile(np.arange(states), count), np.repeat(np.arange(count), states), rewards.ravel()),
        start=start,
        names=names,
        still=still,
        over=np.zeros(states, dtype=bool),
        symbols=np.arange(states),
    )


def joined(parts: list[Entries]) -> Entries:
    """All of `parts` after one another; the list is left empty, as there may be no room to have them twice."""
    result = Entries(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    parts.clear()
    return result


def dense_joint(transition: Array, likelihood: Array) -> list[dict[int, Sparse]]:
    """P(s', o | s) of each action from T (A, S, S) and Z (A, S, O), the outcome seen after the change."""
    return [
        {
            outcome: matrix
            for outcome in range(seen.shape[1])
            if len((matrix := to_sparse(change * seen[:, outcome]))[1])
        }
        for change, seen in zip(transition, likelihood, strict=True)
    ]


def to_sparse(matrix: Array) -> Sparse:
    """The numbers of a dense matrix that are not zero."""
    rows, columns = np.nonzero(matrix)
    begins = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(matrix)))])
    return begins, columns, matrix[rows, columns]


def check_memory(needed: float, memory: float) -> None:
    if needed > memory:
        raise LimitError(
            f"the problem's numbers must fit into {memory:.3g} bytes; they take about {needed:.3g}: allow more memory, "
            "or make the problem smaller"
        )


def assemble(
    entries: Entries,
    *,
    pay: tuple[Ids, Ids, Array],
    start: Array,
    names: tuple[str, ...],
    still: Ids,
    over: Flags,
    symbols: Ids,
) -> Compiled:
    """Find the classes and lay the arrays out. pay: state, action, reward of every action that can be taken.

    still (S,): 0, or the same number for states that pay nothing, are never left, and give the same outcomes for ever.
    over (S,): states where the episode is over.
    """
    order = sorted_by(entries.action, entries.outcome, int(entries.outcome.max(initial=0)) + 1)
    entries = entries.ordered(order)
    label, start_states = find_classes(entries.source, entries.action, entries.outcome, entries.target, start)
    first = label[start_states]
    apart = bool((first < 0).any() or (first != first[0]).any())
    if apart:
        label = np.where(label >= 0, label + 1, -1)  # class 0 is the start's
    reached = np.flatnonzero(label >= 0)
    reached = reached[np.argsort(label[reached], kind="stable")]
    copies = start_states if apart else start_states[:0]
    state = np.concatenate([copies, reached])
    slot_class = np.concatenate([np.zeros(len(copies), dtype=np.int64), label[reached]])
    slot = np.full(len(label), -1)
    slot[reached] = len(copies) + np.arange(len(reached))
    copy = np.full(len(label), -1)
    copy[copies] = np.arange(len(copies))
    copied = copy[entries.source] if apart else copy[:0]
    classes = int(slot_class[-1]) + 1 if len(slot_class) else 1
    class_state = np.searchsorted(slot_class, np.arange(classes + 1))
    same = (still[state] > 0) & (still[state] == still[state][class_state[slot_class]])
    none_left = np.ones(classes, dtype=bool)
    np.logical_and.at(none_left, slot_class, over[state] | same)

    width = len(names)
    places = [(slot[s], s, a, r) for s, a, r in [pay]] + ([(copy[s], s, a, r) for s, a, r in [pay]] if apart else [])
    paid_slot, paid_action, paid = (np.concatenate([p[i] for p in places]) for i in (0, 2, 3))
    kept = (paid_slot >= 0) & ~none_left[slot_class[paid_slot]]
    paid_slot, paid_action, paid = paid_slot[kept], paid_action[kept], paid[kept]
    pair_key, pair_of = np.unique(slot_class[paid_slot] * width + paid_action, return_inverse=True)
    pair_class, pair_action = pair_key // width, pair_key % width
    sizes = np.diff(class_state)
    pair_reward = np.concatenate([[0], np.cumsum(sizes[pair_class])])
    if len(paid) != pair_reward[-1]:
        raise ProblemError("all states that one cannot tell apart must have the same actions; they do not")
    reward = np.zeros(pair_reward[-1])
    reward[pair_reward[pair_of] + paid_slot - class_state[slot_class[paid_slot]]] = paid

    row_slot, to_slot, chance = slot[entries.source], slot[entries.target], entries.chance
    action, outcome, outcomes = entries.action, entries.outcome, int(entries.outcome.max(initial=0)) + 1
    del entries  # there may be tens of millions: what is no longer needed goes before the next is made
    if apart:
        row_slot = np.concatenate([row_slot, copied])
        both = (np.concatenate([column] * 2) for column in (action, outcome, to_slot, chance))
        action, outcome, to_slot, chance = both
    kept = (row_slot >= 0) & ~none_left[slot_class[row_slot]]
    if not kept.all():
        row_slot, action, outcome = row_slot[kept], action[kept], outcome[kept]
        to_slot, chance = to_slot[kept], chance[kept]
    key = np.searchsorted(pair_key, slot_class[row_slot] * width + action) * outcomes + outcome
    del action, outcome, kept
    order = sorted_by(key * len(state) + row_slot, to_slot, len(state))
    row_slot, to_slot, chance, key = row_slot[order], to_slot[order], chance[order], key[order]
    del order
    opens = np.diff(key, prepend=-1) != 0
    opening = np.flatnonzero(opens)
    branch_key, branch_of = key[opening], np.cumsum(opens) - 1
    del key
    branch_pair, branch_outcome = branch_key // outcomes, branch_key % outcomes
    branch_target = slot_class[to_slot[opening]]
    branch_class = pair_class[branch_pair]
    branch_row = np.concatenate([[0], np.cumsum(sizes[branch_class] + 1)])
    counts = np.bincount(
        branch_row[branch_of] + 1 + row_slot - class_state[slot_class[row_slot]], minlength=int(branch_row[-1])
    )
    model = Model(
        class_state=class_state.astype(np.int64),
        class_pair=np.searchsorted(pair_class, np.arange(classes + 1)).astype(np.int64),
        pair_class=pair_class.astype(np.int64),
        pair_reward=pair_reward.astype(np.int64),
        pair_branch=np.searchsorted(branch_pair, np.arange(len(pair_key) + 1)).astype(np.int64),
        branch_target=branch_target.astype(np.int64),
        branch_row=branch_row.astype(np.int64),
        row=np.cumsum(counts).astype(np.int64),
        column=(to_slot - class_state[branch_target[branch_of]]).astype(np.int64),
        chance=chance,
        reward=reward,
        symbol=np.unique(symbols[state], return_inverse=True)[1].astype(np.int64),
    )
    begin = 0 if apart else int(label[start_states[0]])
    belief = start[state[class_state[begin] : class_state[begin + 1]]]
    return Compiled(
        model=model,
        state=state,
        actions=names,
        pair_action=pair_action,
        branch_outcome=branch_outcome,
        start_class=begin,
        start=belief / belief.sum(),
        symbols=int(model.symbol.max(initial=0)) + 1,
    )


def sorted_by(key: Ids, column: Ids, size: int) -> Ids | slice:
    """The order by key, then by column (below `size`), equals as they stand: by one number where it fits, which is far
    faster, and not at all where they stand so already."""
    if (int(key.max(initial=0)) + 1) * size < 2**62:
        both = key * size + column
        return slice(None) if (both[1:] >= both[:-1]).all() else np.argsort(both, kind="stable")
    return np.lexsort((column, key))


def _silent(entries: Entries, still: Flags) -> Ids:
    """A number (S,) above 0 for each state of `still`, the same where all outcomes are equally likely; else 0."""
    found: dict[bytes, int] = {}
    numbers = np.zeros(len(still), dtype=np.int64)
    for state in np.flatnonzero(still):
        mine = entries.source == state
        key = b"".join(column[mine].tobytes() for column in (entries.action, entries.outcome, entries.chance))
        numbers[state] = found.setdefault(key, len(found) + 1)
    return numbers
