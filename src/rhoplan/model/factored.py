"""Problems with several hidden factors, compiled to the records that the engine plans with.

Here an action consists of *parts* on one hidden factor or several: what it pays, what it shows, how it changes them.
Parts are independent given the hidden state, so their rewards add up and their outcomes combine. The engine knows one
factor per action. Therefore dependent factors become one *block*, a `Factor` whose states are the combinations of
theirs: factors with a joint prior, in the scope of one part, or that one action or its passive changes concern.
Independent factors stay small: K rocks are K blocks.

An action pays and shows by the state before it; then its parts change the state, then the passive changes do.

Shapes: S states of a factor, or combinations of those of several, the last varying fastest; O outcomes; B states of a
block; E ways in which the state can change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from rhoplan.belief_math.transitions import (
    Transition,
    canonical,
    entries,
    from_entries,
    given_observation,
    has_observation_axis,
    is_identity,
    mean_payment,
    numbers,
    paid,
    row_sums,
    shapes,
)
from rhoplan.errors import Field, ProblemError
from rhoplan.model.pomdp import END, POMDP, ROW_SUM_TOLERANCE, Action, Array, Factor, Ids, Observable
from rhoplan.model.validate import check_problem

MOST_STATES = 20_000
"""Combinations that one block may have."""

MOST_NUMBERS = 20_000_000
"""Numbers that the likelihood of one action may hold."""

DONE = "done"
"""The outcome of an action that shows nothing."""


@dataclass(frozen=True, eq=False)
class LocalModel:
    """What an action does with the hidden `factors` (names), together.

    reward: what it pays by state (S,), by state and outcome (S, O), or by outcome, state and state after it (O, S, S).
    likelihood: (S, O) probability of each of `outcomes` given the state before; None where it shows nothing.
    change: (S, S), or (O, S, S) where it depends on the outcome; None where the state stays as it is.
    """

    factors: tuple[str, ...]
    reward: Transition | None = None
    outcomes: tuple[str, ...] = ()
    likelihood: Array | None = None
    change: Transition | None = None

    def __post_init__(self) -> None:
        for name in ("reward", "change"):
            if (table := getattr(self, name)) is not None:
                object.__setattr__(self, name, canonical(table))

    @property
    def reward_axes(self) -> int:
        """On how many of state, outcome and next state the reward depends; 0 without a reward."""
        if self.reward is None:
            return 0
        return self.reward.ndim if isinstance(self.reward, np.ndarray) else 3


@dataclass(frozen=True, eq=False)
class FactoredAction:
    """An action with parts. reward: what it pays whatever is hidden (a cost is negative).

    leads_to: one visible state, or one for each of `outcomes`; END stops the episode.
    """

    name: str
    leads_to: tuple[Observable, ...]
    parts: tuple[LocalModel, ...] = ()
    reward: float = 0.0

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The outcomes of its parts, combined: `fine, loud`; the last part's vary fastest."""
        shown = [part.outcomes for part in self.parts if part.outcomes]
        return tuple(", ".join(names) for names in product(*shown)) if shown else (DONE,)

    @property
    def ends_episode(self) -> bool:
        return all(observable is END for observable in self.leads_to)


@dataclass(frozen=True, eq=False)
class JointPrior:
    """The probability (S,) of every combination of states of some factors; it stands for the priors of their own."""

    factors: tuple[str, ...]
    table: Array


@dataclass(frozen=True, eq=False)
class TableMenu:
    """A menu written out: the actions of every visible state."""

    actions: Mapping[Observable, tuple[Action, ...]]

    def __call__(self, observable: Observable) -> tuple[Action, ...]:
        return self.actions[observable]


def FactoredProblem(
    name: str,
    factors: Sequence[Factor],
    *,
    start: Observable,
    menus: Mapping[Observable, Sequence[FactoredAction]],
    joint: Sequence[JointPrior] = (),
    passive: Sequence[LocalModel] = (),
    **settings: Any,
) -> POMDP:
    """The problem with these hidden factors, and in each visible state the actions of `menus`.

    passive: changes that happen at every action. settings: the other fields of Problem.
    """
    changing = tuple(part for part in passive if part.change is not None and not is_identity(part.change))
    actions = [action for menu in menus.values() for action in menu]
    check_parts(factors, joint, changing, actions)
    compiler = _Compiler(factors, joint, changing, actions)
    found = {observable: tuple(compiler.action(action) for action in menu) for observable, menu in menus.items()}
    blocks = tuple(block.factor for block in compiler.blocks)
    problem = POMDP(name, blocks, start, TableMenu(found), **settings)
    check_problem(problem)
    return problem


def tied(names: Sequence[str], ties: Iterable[Collection[str]]) -> list[tuple[str, ...]]:
    """`names` in groups: those that a tie holds together, directly or through others, in the order of `names`."""
    parent = {name: name for name in names}

    def top(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for tie in ties:
        tops = [top(name) for name in tie]
        for other in tops[1:]:
            parent[top(other)] = top(tops[0])
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(top(name), []).append(name)
    return [tuple(group) for group in groups.values()]


class _Block:
    """Factors that belong together. strides (one per factor): how far apart its neighbouring states are."""

    def __init__(self, number: int, factors: tuple[Factor, ...], joint: Iterable[JointPrior]) -> None:
        self.number = number
        self.sizes = {factor.name: len(factor.states) for factor in factors}
        self.states = prod(self.sizes.values())
        if self.states > MOST_STATES:
            raise ProblemError(
                f"factors {', '.join(self.sizes)} belong together and have {self.states:,} combinations of states; "
                f"{MOST_STATES:,} is the most: take actions, joint priors or passive changes apart",
                field=("factors",),
                code="too-many-states",
            )
        left = self.states
        self.strides: dict[str, int] = {}
        for name, size in self.sizes.items():
            left //= size
            self.strides[name] = left
        self._places: dict[tuple[str, ...], tuple[Ids, Ids]] = {}
        self.factor = self._joined(factors, list(joint))

    def place(self, scope: tuple[str, ...]) -> tuple[Ids, Ids]:
        """The state (B,) of `scope` in every state of the block, and what (S,) each adds to the block's number."""
        if scope not in self._places:
            inside: Ids = np.zeros(self.states, dtype=np.int64)
            offset: Ids = np.zeros(1, dtype=np.int64)
            for name in scope:
                size, stride = self.sizes[name], self.strides[name]
                inside = inside * size + np.arange(self.states) // stride % size
                offset = (offset[:, None] + np.arange(size) * stride).ravel()
            self._places[scope] = inside, offset
        return self._places[scope]

    def _joined(self, factors: tuple[Factor, ...], joint: list[JointPrior]) -> Factor:
        tied_by = {name for table in joint for name in table.factors}
        alone = [factor for factor in factors if factor.name not in tied_by]
        if len(factors) == 1 and alone:
            return factors[0]
        prior = np.ones(self.states)
        for table in joint:
            prior = prior * table.table[self.place(table.factors)[0]]
        for factor in alone:
            prior = prior * factor.prior[self.place((factor.name,))[0]]
        prior = prior / prior.sum() if len(joint) + len(alone) > 1 else prior
        states = combined(factor.states for factor in factors)
        shares = [np.bincount(self.place((one.name,))[0], weights=prior, minlength=len(one.states)) for one in factors]
        members = tuple(replace(one, prior=share.astype(float)) for one, share in zip(factors, shares, strict=True))
        if len(members) == 1:
            return replace(members[0], prior=prior)
        if any(one.about_diagnosis for one in members):
            raise ProblemError(
                f"information may be about the diagnosis only where nothing else is hidden; {', '.join(self.sizes)} "
                "belong together",
                field=("factors",),
                code="information-about-diagnosis",
            )
        return Factor(", ".join(self.sizes), states, prior, joins=members)


class _Compiler:
    """Makes blocks of factors, and of actions with parts actions on one block."""

    def __init__(
        self,
        factors: Sequence[Factor],
        joint: Sequence[JointPrior],
        passive: tuple[LocalModel, ...],
        actions: Iterable[FactoredAction],
    ) -> None:
        self.passive = passive
        touched = {frozenset(self._scope(action)) for action in actions}
        ties = [*(table.factors for table in joint), *(part.factors for part in passive), *touched]
        by_name = {factor.name: factor for factor in factors}
        self.blocks: list[_Block] = []
        self._home: dict[str, _Block] = {}
        for names in tied(list(by_name), [tie for tie in ties if tie]):
            tables = [table for table in joint if table.factors[0] in names]
            block = _Block(len(self.blocks), tuple(by_name[name] for name in names), tables)
            self.blocks.append(block)
            self._home.update(dict.fromkeys(names, block))
        self._known: dict[tuple[Any, ...], Action] = {}

    def action(self, action: FactoredAction) -> Action:
        """`action` on its block. Numbers are computed once for actions with the same parts."""
        ends = action.ends_episode
        key = (*map(id, action.parts), action.reward, ends)
        if key not in self._known:
            self._known[key] = self._compiled(action, () if ends else self.passive)
        made, outcomes = self._known[key], action.outcomes
        leads_to = action.leads_to * len(outcomes) if len(action.leads_to) == 1 else action.leads_to
        return Action(
            action.name, made.reward, made.likelihood, outcomes, leads_to, made.factor, made.transition, made.pays
        )

    def _scope(self, action: FactoredAction) -> list[str]:
        parts = (*action.parts, *(() if action.ends_episode else self.passive))
        return [name for part in parts for name in part.factors]

    def _compiled(self, action: FactoredAction, passive: tuple[LocalModel, ...]) -> Action:
        scope = self._scope(action)
        block = self._home[scope[0]] if scope else self.blocks[0]
        parts, outcomes = action.parts, action.outcomes
        if block.states * len(outcomes) > MOST_NUMBERS:
            raise ProblemError(
                f"'{action.name}' has {len(outcomes):,} combined outcomes for {block.states:,} states; together they "
                f"may have {MOST_NUMBERS:,} numbers: take it apart",
                field=("actions", action.name),
                code="too-many-numbers",
            )
        choices = [range(len(part.outcomes)) if part.outcomes else range(1) for part in parts]
        which: Ids = np.array(list(product(*choices)), dtype=np.int64).reshape(len(outcomes), len(parts))
        likelihood = _likelihood(block, parts)
        reward = np.full(block.states, action.reward)
        for part in parts:
            if part.reward is not None:
                reward += _mean(part)[block.place(part.factors)[0]]
        changing = [(place, part) for place, part in enumerate(parts) if part.change is not None]
        by_outcome = any(part.change is not None and has_observation_axis(part.change) for part in parts)
        later = any(part.reward_axes == 3 for part in parts)
        ways = None
        if changing or passive:
            chosen = which if by_outcome or later else which[:1]
            ways = [_ways(block, [(part, row[place]) for place, part in changing], passive) for row in chosen]
        return Action(
            action.name, reward, likelihood, outcomes, (), block.number,
            None if ways is None else _table(block.states, ways if by_outcome else ways[:1], deep=by_outcome),
            _pays(block, action, which, ways),
        )  # fmt: skip


Ways = tuple[Ids, Ids, Array]
"""State before, state after and probability (E,) of every change."""


def _mean(part: LocalModel) -> Array:
    """What `part` pays on average, (S,), given the state before."""
    assert part.reward is not None
    if part.reward_axes == 1:
        assert isinstance(part.reward, np.ndarray)
        return part.reward
    states = part.reward.shape[0 if part.reward_axes == 2 else -1]
    likelihood = np.ones((states, 1)) if part.likelihood is None else part.likelihood
    return mean_payment(likelihood, part.change, part.reward)


def _likelihood(block: _Block, parts: tuple[LocalModel, ...]) -> Array:
    shown = [part for part in parts if part.likelihood is not None]
    result = np.ones((block.states, 1))
    for part in shown:
        assert part.likelihood is not None
        own = part.likelihood[block.place(part.factors)[0]]
        result = (result[:, :, None] * own[:, None, :]).reshape(block.states, -1)
    # What rows may miss of 1 would add up over several parts.
    return result / result.sum(axis=1, keepdims=True) if len(shown) > 1 else result


def _ways(block: _Block, changing: list[tuple[LocalModel, int]], passive: tuple[LocalModel, ...]) -> Ways:
    """How the block changes where parts have these outcomes; passive changes come last."""
    before = after = np.arange(block.states)
    chance = np.ones(block.states)
    for part, outcome in [*changing, *((part, 0) for part in passive)]:
        assert part.change is not None
        inside, offset = block.place(part.factors)
        _, rows, columns, values = entries(given_observation(part.change, outcome), 1)
        starts = np.searchsorted(rows, np.arange(len(offset) + 1))
        here = inside[after]
        counts = np.diff(starts)[here]
        way = np.repeat(np.arange(len(after)), counts)
        entry = np.arange(len(way)) - np.repeat(np.cumsum(counts) - counts, counts) + starts[here[way]]
        before, chance = before[way], chance[way] * values[entry]
        after = after[way] + offset[columns[entry]] - offset[rows[entry]]
    if len(changing) + len(passive) > 1:  # what rows may miss of 1 would add up
        chance = chance / np.bincount(before, weights=chance, minlength=block.states)[before]
    return before, after, chance


def _table(states: int, outcomes: list[tuple[Ids, Ids, Array]], *, deep: bool) -> Transition:
    """Values by state before and after, for each outcome if `deep`; dense where that is small."""
    shape = (len(outcomes), states, states) if deep else (states, states)
    rows = np.concatenate([number * states + before for number, (before, _, _) in enumerate(outcomes)])
    after, values = (np.concatenate([one[axis] for one in outcomes]) for axis in (1, 2))
    return from_entries(shape, rows, after, values)


def _pays(block: _Block, action: FactoredAction, which: Ids, ways: list[Ways] | None) -> Transition | None:
    """What is paid, where that depends on more than the state before."""
    paying = [(place, part) for place, part in enumerate(action.parts) if part.reward is not None]
    deepest = max([part.reward_axes for _, part in paying], default=1)
    if deepest == 1:
        return None
    before = np.arange(block.states)

    def total(row: Ids, before: Ids, after: Ids) -> Array:
        sums = np.full(len(before), action.reward)
        for place, part in paying:
            inside, own = block.place(part.factors)[0], part.reward
            assert own is not None
            if part.reward_axes == 1:
                assert isinstance(own, np.ndarray)
                sums += own[inside[before]]
            else:
                sums += paid(own, np.full(len(before), row[place]), inside[before], inside[after])
        return sums

    if deepest == 2 or ways is None:
        return np.stack([total(row, before, before) for row in which], axis=1)
    changes = [np.unique(np.stack(one[:2]), axis=1) for one in ways]
    tables = [(left, right, total(row, left, right)) for row, (left, right) in zip(which, changes, strict=True)]
    return _table(block.states, tables, deep=True)


def combined(states: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The names of all combinations of states: `good, worn`."""
    return tuple(", ".join(names) for names in product(*states))


def check_parts(
    factors: Sequence[Factor],
    joint: Sequence[JointPrior],
    passive: Sequence[LocalModel],
    actions: Iterable[FactoredAction],
) -> None:
    """Raise ProblemError unless every name is a factor's, every table has its shape, and nothing is said twice."""
    sizes = {factor.name: len(factor.states) for factor in factors}
    if len(sizes) < len(factors) or not sizes:
        raise ProblemError(
            "a problem must have hidden factors, all with different names", field=("factors",), code="no-factors"
        )
    _check_once("joint priors", [table.factors for table in joint], sizes, ("joint",))
    for table in joint:
        name = ", ".join(table.factors)
        _check_rows(
            f"joint prior of {name}",
            table.table,
            [(_count(table.factors, sizes),)],
            ("joint", name),
            sum_code="prior-sum",
        )
    _check_once("passive changes", [part.factors for part in passive], sizes, ("passive",))
    for part in passive:
        _check_part("passive change", part, sizes, ("passive", ", ".join(part.factors)))
        if part.outcomes or part.reward is not None or (part.change is not None and has_observation_axis(part.change)):
            raise ProblemError("a passive change must pay and show nothing", field=("passive",), code="passive-change")
    moving = {name for part in passive for name in part.factors}
    seen: set[int] = set()
    for action in actions:
        field = ("actions", action.name)
        for part in (part for part in action.parts if id(part) not in seen):
            seen.add(id(part))
            _check_part(f"'{action.name}'", part, sizes, (*field, "parts", ", ".join(part.factors)))
            by_change = part.reward_axes == 3
            if by_change and (part.change is None or moving.intersection(part.factors)):
                raise ProblemError(
                    f"'{action.name}' may pay by the state after it only where it changes {', '.join(part.factors)} "
                    "and no passive change does",
                    field=(*field, "reward"),
                    code="reward-shape",
                )
        changed = [part.factors for part in action.parts if part.change is not None]
        _check_once(f"changes of '{action.name}'", changed, sizes, field)
        if len(action.leads_to) not in (1, len(action.outcomes)):
            raise ProblemError(
                f"'{action.name}' must lead to one visible state, or to one for each of its {len(action.outcomes)} "
                f"outcomes; it leads to {len(action.leads_to)}",
                field=(*field, "leads_to"),
                code="next-states-count",
            )


def _check_part(label: str, part: LocalModel, sizes: Mapping[str, int], field: Field) -> None:
    _check_once(f"factors of {label}", [(name,) for name in part.factors], sizes, field)
    states, outcomes = _count(part.factors, sizes), max(len(part.outcomes), 1)
    whose = f"{label} on {', '.join(part.factors)}"
    if not part.factors or bool(part.outcomes) != (part.likelihood is not None):
        raise ProblemError(
            f"{whose} must name factors, and have both outcomes and likelihood or neither",
            field=field,
            code="observation-without-likelihood",
        )
    if part.likelihood is not None:
        _check_rows(
            f"likelihood of {whose}",
            part.likelihood,
            [(states, outcomes)],
            (*field, "likelihood"),
            sum_code="likelihood-row-sum",
        )
    if part.change is not None:
        likelihood = np.ones((states, 1)) if part.likelihood is None else part.likelihood
        allowed = list(shapes(part.change, states, outcomes))
        _check_rows(
            f"change of {whose}",
            part.change,
            allowed,
            (*field, "change"),
            likelihood.T == 0,
            sum_code="transition-row-sum",
        )
    allowed = [(states,), (states, outcomes), (outcomes, states, states)]
    if part.reward is not None and part.reward.shape not in (*allowed, shapes(part.reward, states, outcomes)[1]):
        raise ProblemError(
            f"reward of {whose} must have one of the shapes {allowed}", field=(*field, "reward"), code="reward-shape"
        )


def _check_rows(
    what: str,
    table: Transition,
    shapes: list[tuple[int, ...]],
    field: Field,
    may_be_empty: Array | None = None,
    *,
    sum_code: str,
) -> None:
    if table.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise ProblemError(
            f"{what} must have the shape {wanted}; it has {table.shape}", field=field, code="wrong-shape"
        )
    if not np.all(numbers(table) >= 0):
        raise ProblemError(f"{what} must hold probabilities; some are below 0", field=field, code="probability-range")
    sums = row_sums(table)
    sound = np.abs(sums - 1) <= ROW_SUM_TOLERANCE
    if may_be_empty is not None and has_observation_axis(table):
        sound |= (sums == 0) & may_be_empty
    if not np.all(sound):
        rule = "rows that sum to 1" if table.ndim > 1 else "numbers that sum to 1"
        raise ProblemError(
            f"{what} must have {rule}; one sums to {float(sums[~sound].flat[0]):.10g}", field=field, code=sum_code
        )


def _check_once(what: str, scopes: Sequence[tuple[str, ...]], sizes: Mapping[str, int], field: Field) -> None:
    """No factor is in two of `scopes`, and all are factors."""
    seen: set[str] = set()
    for name in (name for scope in scopes for name in scope):
        if name not in sizes:
            raise ProblemError(
                f"{what} must be about factors; '{name}' is not one of {', '.join(sizes)}",
                field=field,
                code="unknown-factor",
            )
        if name in seen:
            raise ProblemError(
                f"{what} must have every factor once; '{name}' stands there twice", field=field, code="duplicate-name"
            )
        seen.add(name)


def _count(scope: tuple[str, ...], sizes: Mapping[str, int]) -> int:
    return prod(sizes[name] for name in scope)
