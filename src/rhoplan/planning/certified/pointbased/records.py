"""A `POMDP` of records as arrays for the point-based solver: every visible state times all hidden factors at once.

The joint state of the factors is a number in mixed radix, the first factor counting most. An action touches one factor:
its numbers are worked out on that factor, then laid over all states of the others. Information is about the joint
hidden state, as everywhere in rhoplan: what is visible is no news. The end is one more visible state, where nothing can
be done and the hidden state still is what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np

from rhoplan.belief_math.transitions import entries, has_observation_axis
from rhoplan.errors import LimitError
from rhoplan.model.pomdp import END, POMDP, Action, Array, Ids, Observable
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased.compiled import (
    BYTES_PER_ENTRY,
    Compiled,
    Entries,
    assemble,
    check_memory,
)
from rhoplan.planning.certified.pointbased.kinds import Together, put_together

SECONDS_PER_ENTRY = 1.5e-6
"""Time that one probability P(s', o | s) takes until there are first bounds: 0.8 to put the arrays together and 0.4 for
the bounds, measured with ten million of them on one core, and some more."""

SHARE = 0.1
"""Of the time left, at most, for finding states that nothing tells apart."""

MOST_VISIBLE = 1_000_000
"""Visible states after which the search for more is given up."""


def compile_problem(
    problem: POMDP,
    *,
    weight: float | None = None,
    kinds: Ids | None = None,
    memory: float = 4e9,
    deadline: float = inf,
) -> Compiled:
    """`problem` ready for `solve_general`. State v * K + k is visible state v with joint hidden states of kind k of K.

    weight: the price on information; where it is given, states that nothing tells apart are put together, as far as
    there is time. kinds (J,): which were, by an earlier call. With neither every state is of a kind of its own.
    TimeoutError where it will not be ready, with first bounds, before `deadline`.
    """
    sizes = [len(factor.states) for factor in problem.factors]
    joint = prod(sizes)
    check_memory(float(joint) * 2 * BYTES_PER_ENTRY, memory)
    observables = reachable(problem, deadline=deadline)
    number = {observable: place for place, observable in enumerate(observables)}
    number[END] = len(observables)
    menus = [problem.menu(observable) for observable in observables]
    numbers = sum(joint // len(a.reward) * entry_count(a) for menu in menus for a in menu)
    check_memory(float(numbers) * BYTES_PER_ENTRY, memory)
    clock.check(deadline - numbers * SECONDS_PER_ENTRY)

    names: dict[str, int] = {}
    strides = [prod(sizes[place + 1 :]) for place in range(len(sizes))]
    digits = [np.arange(joint) // stride % size for stride, size in zip(strides, sizes, strict=True)]
    entries = Entries(*(np.empty(numbers, dtype=kind) for kind in (int, int, int, int, float)))
    rewards = joint * sum(len(menu) for menu in menus)
    pay = np.empty(rewards, dtype=int), np.empty(rewards, dtype=int), np.empty(rewards)
    filled = paid = 0
    for here, menu in enumerate(menus):
        clock.check(deadline)
        for action in menu:
            label = names.setdefault(action.name, len(names))
            digit, stride = digits[action.factor], strides[action.factor]
            _fill(pay, paid, here * joint + np.arange(joint), label, action.reward[digit])
            paid += joint
            rows, outcomes, columns, chances = factor_entries(action)
            targets = np.array([number[observable] for observable in action.leads_to])
            if joint == len(action.reward):
                source, target = rows, columns
            else:  # laid over all states of the other factors
                order = np.argsort(rows, kind="stable")
                begins = np.searchsorted(rows[order], np.arange(len(action.reward) + 1))
                count = np.diff(begins)[digit]
                source = np.repeat(np.arange(joint), count)
                place = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count) + begins[digit[source]]
                place = order[place]
                target = source + (columns[place] - digit[source]) * stride
                outcomes, chances = outcomes[place], chances[place]
            target = target + targets[outcomes] * joint
            _fill(entries, filled, here * joint + source, label, outcomes, target, chances)
            filled += len(source)
    entries = entries.ordered(slice(filled))
    start = np.zeros((len(observables) + 1) * joint)
    start[:joint] = joint_prior(problem)
    if weight is None:
        own = np.arange(joint) if kinds is None else kinds
        together = Together.by(own, entries, pay, start)
    else:
        soon = clock.now() + SHARE * (deadline - clock.now())
        together = put_together(entries, pay, start, joint, informs=weight > 0, deadline=soon)
    *alone, kinds, pay, start = together
    del entries, together
    every, hidden = len(start), int(kinds.max()) + 1
    over = np.zeros(every, dtype=bool)
    over[len(observables) * hidden :] = True
    ready = assemble(
        alone.pop(),  # there may be no room to have them twice
        pay=pay,
        start=start,
        names=tuple(names),
        still=np.zeros(every, dtype=np.int64),
        over=over,
        symbols=np.arange(every) % hidden,
    )
    names_of = Names(
        tuple(factor.states for factor in problem.factors), tuple(digits), kinds, hidden, tuple(observables)
    )
    return replace(ready, told=names_of, kinds=kinds)


@dataclass(frozen=True, eq=False)
class Names:
    """What original states are called: by the names of their factors' states, and by the place where one is."""

    factors: tuple[tuple[str, ...], ...]
    digits: tuple[Ids, ...]
    kinds: Ids
    hidden: int
    observables: tuple[Observable, ...]

    def __call__(self, state: int) -> str:
        first = int(np.argmax(self.kinds == state % self.hidden))
        names = (states[digit[first]] for states, digit in zip(self.factors, self.digits, strict=True))
        place = f" at {self.observables[state // self.hidden]}" if len(self.observables) > 1 else ""
        return f"'{', '.join(names)}'{place}"


def _fill(arrays: Sequence[Array | Ids], at: int, first: Ids, *rest: Ids | Array | int) -> None:
    """Write columns as long as `first`, or one number for all of it, from `at` on."""
    for array, column in zip(arrays, (first, *rest), strict=True):
        array[at : at + len(first)] = column


def joint_prior(problem: POMDP) -> Array:
    """The prior of all factors at once."""
    result: Array = np.ones(1)
    for factor in problem.factors:
        result = np.multiply.outer(result, factor.prior).ravel()
    return result


def reachable(problem: POMDP, *, deadline: float = inf) -> list[Observable]:
    """The visible states that one can come to, the start first; TimeoutError where `deadline` comes before the last."""
    found: list[Observable] = [problem.start]
    seen = {problem.start}
    for observable in found:
        clock.check(deadline)
        for action in problem.menu(observable):
            for target in action.leads_to:
                if target is not END and target not in seen:
                    seen.add(target)
                    found.append(target)
        if len(found) > MOST_VISIBLE:
            raise LimitError(
                f"'{problem.name}' must have at most {MOST_VISIBLE:,} visible states to be solved; it has more: "
                "make it smaller"
            )
    return found


def entry_count(action: Action) -> int:
    """At most how many numbers `factor_entries` gives; cheap."""
    possible = action.likelihood > 0
    if action.transition is None:
        return int(np.count_nonzero(possible))
    if has_observation_axis(action.transition):
        outcome, before, *_ = entries(action.transition, len(action.outcomes))
        return int(possible[before, outcome].sum())
    return int(possible.sum(axis=1)[entries(action.transition, 1)[1]].sum())


def factor_entries(action: Action) -> tuple[Ids, Ids, Ids, Array]:
    """State, outcome, next state and P(s', o | s) on the action's factor; no zeros."""
    if action.transition is None:
        rows, seen = np.nonzero(action.likelihood > 0)
        return rows, seen, rows, action.likelihood[rows, seen]
    if has_observation_axis(action.transition):
        seen, rows, after, chance = entries(action.transition, len(action.outcomes))
    else:  # each step with all outcomes that its state can give
        states, shown = np.nonzero(action.likelihood > 0)
        begins = np.searchsorted(states, np.arange(len(action.likelihood) + 1))
        _, before, target, share = entries(action.transition, 1)
        count = np.diff(begins)[before]
        step = np.repeat(np.arange(len(count)), count)
        rows, after, chance = before[step], target[step], share[step]
        seen = shown[np.arange(len(step)) - np.repeat(np.cumsum(count) - count, count) + begins[rows]]
    chance = chance * action.likelihood[rows, seen]
    if (there := chance > 0).all():
        return rows, seen, after, chance
    return rows[there], seen[there], after[there], chance[there]
