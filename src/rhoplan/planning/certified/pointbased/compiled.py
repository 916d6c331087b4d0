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
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rhoplan.errors import LimitError, ProblemError
from rhoplan.model.problem import Array, Ids
from rhoplan.planning.certified.pointbased.machine import compiled

BYTES_PER_ENTRY = 90
"""Memory that one probability P(s', o | s) takes while the arrays are put together."""


Flags: TypeAlias = NDArray[np.bool_]


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


@dataclass(frozen=True, eq=False)
class Compiled:
    """A problem ready to be solved.

    state (N,): the original state of each slot. pair_action, branch_outcome: numbers into `actions`, and of outcomes as
    they came. start_class, start: the class of the first belief, and the belief over its states. symbols: how many
    different symbols there are. told: how an original state is called.
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
    entries = Entries(*(np.concatenate(column) for column in zip(*parts, strict=True)))
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
    order = np.argsort(entries.action * (int(entries.outcome.max(initial=0)) + 1) + entries.outcome, kind="stable")
    entries = Entries(
        entries.source[order],
        entries.action[order],
        entries.outcome[order],
        entries.target[order],
        entries.chance[order],
    )
    label, start_states = find_classes(entries, start)
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

    sources = [slot[entries.source]] + ([copy[entries.source]] if apart else [])
    row_slot = np.concatenate(sources)
    action, outcome, target, chance = (
        np.concatenate([column] * len(sources))
        for column in (entries.action, entries.outcome, entries.target, entries.chance)
    )
    kept = (row_slot >= 0) & ~none_left[slot_class[row_slot]]
    row_slot, action, outcome, chance = row_slot[kept], action[kept], outcome[kept], chance[kept]
    to_slot = slot[target[kept]]
    pair = np.searchsorted(pair_key, slot_class[row_slot] * width + action)
    outcomes = int(outcome.max(initial=0)) + 1
    key = pair * outcomes + outcome
    order = sorted_by(key * len(state) + row_slot, to_slot, len(state))
    row_slot, to_slot, chance, key = row_slot[order], to_slot[order], chance[order], key[order]
    opening = np.flatnonzero(np.diff(key, prepend=-1))
    branch_key, branch_of = key[opening], np.cumsum(np.diff(key, prepend=-1) != 0) - 1
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


def sorted_by(key: Ids, column: Ids, size: int) -> Ids:
    """The order by key, then by column (below `size`): by one number where it fits, which is far faster."""
    if (int(key.max(initial=0)) + 1) * size < 2**62:
        return np.argsort(key * size + column)
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


def find_classes(entries: Entries, start: Array) -> tuple[Ids, Ids]:
    """The class (S,) of each state that can be reached in one step or more, else -1; and the states of the start.

    `entries` must be sorted by action and outcome.
    """
    states = len(start)
    group = np.zeros(len(entries.source), dtype=np.int64)
    group[1:] = np.cumsum((np.diff(entries.action) != 0) | (np.diff(entries.outcome) != 0))
    parent = np.arange(states)
    reached = np.zeros(states, dtype=np.bool_)
    scratch = np.full((2, states), -1)
    start_states = np.flatnonzero(start > 0)
    unite(entries.source, group, entries.target, start > 0, parent, reached, scratch)
    roots = np.array([root(parent, s) for s in range(states)])
    label = np.full(states, -1)
    label[reached] = np.unique(roots[reached], return_inverse=True)[1]
    return label, start_states


@compiled
def root(parent: Ids, state: int) -> int:
    """The state that stands for all that are united with `state`."""
    while parent[state] != state:
        parent[state] = parent[parent[state]]
        state = parent[state]
    return state


@compiled
def unite(source: Ids, group: Ids, target: Ids, start: Flags, parent: Ids, reached: Flags, scratch: Ids) -> None:
    """Join states until all successors of one class by one group (action and outcome) are in one class."""
    seen, example = scratch[0], scratch[1]
    last, entry = -1, -1
    for place in range(len(source)):
        if start[source[place]]:
            to = target[place]
            if group[place] != last:
                last, entry = group[place], to
            reached[to] = True
            parent[root(parent, entry)] = root(parent, to)
    stamp, changed = 0, True
    groups = group[len(group) - 1] + 1 if len(group) else 0
    while changed:
        changed = False
        for place in range(len(source)):
            if not reached[source[place]]:
                continue
            home, to = root(parent, source[place]), target[place]
            if not reached[to]:
                reached[to], changed = True, True
            if seen[home] != stamp + group[place]:
                seen[home], example[home] = stamp + group[place], to
            else:
                one, other = root(parent, example[home]), root(parent, to)
                if one != other:
                    parent[one], changed = other, True
        stamp += groups
