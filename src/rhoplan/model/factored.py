"""Problems with several dependent hidden factors, compiled to actions that concern one factor each.

An action consists of local models on one hidden factor or several: what it pays, which observation it yields, how it
changes them. Local models are independent given the hidden state, so rewards add up and observations combine. Factors
that depend on each other become one *block*, a `Factor` whose states are the combinations of theirs: factors with a
joint prior, in the scope of one local model, or that one action or its passive changes concern. An action pays and is
observed by the state before it; then its local models change the state, then the passive changes do.

Shapes: S states of the scope of a local model, the last factor varying fastest; O observations; B states of a block;
E ways in which the state can change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from rhoplan.belief_math.transitions import (
    Transition,
    entries_of_rows,
    from_entries,
    given_observation,
    has_observation_axis,
    is_identity,
    paid,
    payments,
    shapes,
)
from rhoplan.errors import Field, require
from rhoplan.model.pomdp import POMDP
from rhoplan.model.records import END, Action, Array, Factor, Ids, Observable, convert
from rhoplan.model.validate import check_problem, check_rows

MOST_STATES = 20_000
"""Combinations that one block may have."""

MOST_NUMBERS = 20_000_000
"""Numbers that the likelihood of one action may hold."""

DONE = "done"
"""The observation of an action that yields none."""

Changes: TypeAlias = tuple[Ids, Ids, Array]
"""State before, state after and probability (E,) of each way in which a block can change."""


@dataclass(frozen=True, eq=False)
class LocalModel:
    """What an action does with the hidden `factors` (names), together. Arrays may be given as nested lists.

    reward: what it pays by state (S,), by state and observation (S, O), or by observation, state and next state
        (O, S, S).
    likelihood: (S, O) probability of each of `outcomes` given the state before; None without observation.
    change: (S, S), or (O, S, S) if it depends on the observation; None if the state stays as it is.
    """

    factors: tuple[str, ...]
    reward: Transition | None = None
    outcomes: tuple[str, ...] = ()
    likelihood: Array | None = None
    change: Transition | None = None

    def __post_init__(self) -> None:
        place = ("parts", ", ".join(self.factors))
        convert(self, place, tuples=("factors", "outcomes"), arrays=("reward", "likelihood", "change"))

    @property
    def reward_axes(self) -> int:
        """On how many of state, observation and next state the reward depends; 0 without a reward."""
        if self.reward is None:
            return 0
        return self.reward.ndim if isinstance(self.reward, np.ndarray) else 3

    @property
    def change_by_outcome(self) -> bool:
        """Whether the change depends on the observation."""
        return self.change is not None and has_observation_axis(self.change)


@dataclass(frozen=True, eq=False)
class FactoredAction:
    """An action that consists of local models. reward: what it always pays (a cost is negative).

    leads_to: one observable state, or one for each of `outcomes`; END ends the episode.
    """

    name: str
    leads_to: tuple[Observable, ...]
    parts: tuple[LocalModel, ...] = ()
    reward: float = 0.0

    def __post_init__(self) -> None:
        convert(self, ("actions", self.name), tuples=("leads_to", "parts"))

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The combined observations of its local models: `fine, loud`; those of the last vary fastest."""
        shown = [part.outcomes for part in self.parts if part.outcomes]
        return combined(shown) if shown else (DONE,)

    @property
    def ends_episode(self) -> bool:
        return all(observable is END for observable in self.leads_to)


@dataclass(frozen=True, eq=False)
class JointPrior:
    """The probability (S,) of every combination of states of some factors; it replaces their own priors."""

    factors: tuple[str, ...]
    table: Array

    def __post_init__(self) -> None:
        convert(self, ("joint", ", ".join(self.factors)), tuples=("factors",), arrays=("table",))


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
    """The problem with these hidden factors, and in each observable state the actions of `menus`.

    passive: changes that happen after every action. settings: other fields of POMDP.
    """
    changing = tuple(part for part in passive if part.change is not None and not is_identity(part.change))
    actions = [action for menu in menus.values() for action in menu]
    check_parts(factors, joint, changing, actions)
    compiler = _Compiler(factors, joint, changing, actions)
    found = {observable: tuple(compiler.action(action) for action in menu) for observable, menu in menus.items()}
    problem = POMDP(name, tuple(block.factor for block in compiler.blocks), start, found.__getitem__, **settings)
    check_problem(problem)
    return problem


def combined(states: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The names of all combinations of states: `good, worn`."""
    return tuple(", ".join(names) for names in product(*states))


def tied(names: Sequence[str], ties: Iterable[Collection[str]]) -> list[tuple[str, ...]]:
    """`names` in groups: those in one tie, directly or through other ties, in the order of `names`."""
    groups: list[set[str]] = [{name} for name in names]
    for tie in ties:
        touched = [group for group in groups if not group.isdisjoint(tie)]
        groups = [group for group in groups if group.isdisjoint(tie)] + [set[str]().union(*touched)]
    order = {name: place for place, name in enumerate(names)}
    return sorted((tuple(sorted(group, key=order.__getitem__)) for group in groups if group), key=lambda g: order[g[0]])


class _Block:
    """Factors that depend on each other, and the factor that joins them."""

    def __init__(self, number: int, factors: tuple[Factor, ...], joint: Sequence[JointPrior]) -> None:
        self.number = number
        self.names = [factor.name for factor in factors]
        self.shape = tuple(len(factor.states) for factor in factors)
        self.states = prod(self.shape)
        message = (
            f"factors {', '.join(self.names)} belong together and have {self.states:,} combinations of states; "
            f"{MOST_STATES:,} is the most: take actions, joint priors or passive changes apart"
        )
        require(self.states <= MOST_STATES, message, ("factors",), code="too-many-states")
        self._coordinates = np.unravel_index(np.arange(self.states), self.shape)
        self._places: dict[tuple[str, ...], tuple[Ids, Ids]] = {}
        self.factor = self._joined(factors, joint)

    def place(self, scope: tuple[str, ...]) -> tuple[Ids, Ids]:
        """The state (B,) of `scope` in each state of the block, and what (S,) each adds to the block's number."""
        if scope not in self._places:
            axes = [self.names.index(name) for name in scope]
            shape = tuple(self.shape[axis] for axis in axes)
            inside: Ids = np.array(np.ravel_multi_index([self._coordinates[axis] for axis in axes], shape))
            local = np.zeros((len(self.shape), prod(shape)), dtype=np.int64)
            local[axes] = np.unravel_index(np.arange(prod(shape)), shape)
            self._places[scope] = inside, np.array(np.ravel_multi_index(tuple(local), self.shape))
        return self._places[scope]

    def _joined(self, factors: tuple[Factor, ...], joint: Sequence[JointPrior]) -> Factor:
        together = {name for table in joint for name in table.factors}
        tables = [(table.factors, table.table) for table in joint]
        tables += [((one.name,), one.prior) for one in factors if one.name not in together]
        if len(factors) == 1:
            return replace(factors[0], prior=tables[0][1]) if joint else factors[0]
        names = ", ".join(self.names)
        message = f"information may be about the diagnosis only with one hidden factor; {names} belong together"
        about = any(one.about_diagnosis for one in factors)
        require(not about, message, ("factors",), code="information-about-diagnosis")
        prior = np.ones(self.states)
        for scope, table in tables:
            prior = prior * table[self.place(scope)[0]]
        prior = prior / prior.sum() if len(tables) > 1 else prior
        axes = range(len(factors))
        shares = [prior.reshape(self.shape).sum(axis=tuple({*axes} - {axis})) for axis in axes]
        members = tuple(replace(one, prior=share) for one, share in zip(factors, shares, strict=True))
        return Factor(names, combined(factor.states for factor in factors), prior, joins=members)


class _Compiler:
    """Compiles factors to blocks, and factored actions to actions on one block."""

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
        for names in tied(list(by_name), ties):
            tables = [table for table in joint if table.factors[0] in names]
            self.blocks.append(_Block(len(self.blocks), tuple(by_name[name] for name in names), tables))
            self._home.update(dict.fromkeys(names, self.blocks[-1]))
        self._known: dict[tuple[Any, ...], Action] = {}

    def action(self, action: FactoredAction) -> Action:
        """`action` on its block. Numbers are computed once for actions with the same parts."""
        key = (*map(id, action.parts), action.reward, action.ends_episode)
        if key not in self._known:
            self._known[key] = self._compiled(action)
        leads_to = action.leads_to * (len(action.outcomes) if len(action.leads_to) == 1 else 1)
        return replace(self._known[key], name=action.name, leads_to=leads_to)

    def _changes_after(self, action: FactoredAction) -> tuple[LocalModel, ...]:
        return () if action.ends_episode else self.passive

    def _scope(self, action: FactoredAction) -> list[str]:
        return [name for part in (*action.parts, *self._changes_after(action)) for name in part.factors]

    def _compiled(self, action: FactoredAction) -> Action:
        """The action, without the observable states to which it leads."""
        scope, parts, outcomes = self._scope(action), action.parts, action.outcomes
        block = self._home[scope[0]] if scope else self.blocks[0]
        message = (
            f"'{action.name}' has {len(outcomes):,} combined outcomes for {block.states:,} states; together they may "
            f"have {MOST_NUMBERS:,} numbers: take it apart"
        )
        fits = block.states * len(outcomes) <= MOST_NUMBERS
        require(fits, message, ("actions", action.name), code="too-many-numbers")
        picks = list(product(*(range(max(len(part.outcomes), 1)) for part in parts)))
        changing = [place for place, part in enumerate(parts) if part.change is not None]
        by_outcome = any(part.change_by_outcome for part in parts)
        passive = [(part, 0) for part in self._changes_after(action)]
        transition, changes = None, list[Changes]()
        if changing or passive:
            rows = picks if by_outcome else picks[:1]
            changes = [_changes(block, [*((parts[place], row[place]) for place in changing), *passive]) for row in rows]
            transition = _table(block.states, changes, by_outcome=by_outcome)
        likelihood = _likelihood(block, parts)
        reward = np.full(block.states, float(action.reward))
        pays = None
        if any(part.reward_axes > 1 for part in parts):
            pays = _pays(block, action, picks, changes if by_outcome else changes * len(picks))
            reward = payments(likelihood, transition, pays).mean
        else:
            for part in parts:
                reward += _payment(block, part, 0, slice(None), slice(None))
        return Action(action.name, reward, likelihood, outcomes, (), block.number, transition, pays)


def _likelihood(block: _Block, parts: tuple[LocalModel, ...]) -> Array:
    """The probability (B, O) of each combined observation."""
    result = np.ones((block.states, 1))
    shown = [(part.factors, part.likelihood) for part in parts if part.likelihood is not None]
    for scope, likelihood in shown:
        own = likelihood[block.place(scope)[0]]
        result = (result[:, :, None] * own[:, None, :]).reshape(block.states, -1)
    # Deviations of the row sums from 1, within the tolerance, would add up over several parts.
    return result / result.sum(axis=1, keepdims=True) if len(shown) > 1 else result


def _changes(block: _Block, parts: list[tuple[LocalModel, int]]) -> Changes:
    """How the block changes if parts, in this order, have these observations."""
    before = after = np.arange(block.states)
    chance = np.ones(block.states)
    for part, outcome in parts:
        assert part.change is not None
        inside, offset = block.place(part.factors)
        way, column, value = entries_of_rows(given_observation(part.change, outcome), inside[after])
        before, chance = before[way], chance[way] * value
        after = after[way] + offset[column] - offset[inside[after[way]]]
    if len(parts) > 1:  # as for likelihoods
        chance = chance / np.bincount(before, weights=chance, minlength=block.states)[before]
    return before, after, chance


def _table(states: int, changes: list[Changes], *, by_outcome: bool) -> Transition:
    """Values by state before and after, for each observation or for all."""
    shape = (len(changes), states, states) if by_outcome else (states, states)
    rows = np.concatenate([number * states + before for number, (before, _, _) in enumerate(changes)])
    after, values = (np.concatenate([one[axis] for one in changes]) for axis in (1, 2))
    return from_entries(shape, rows, after, values)


def _payment(block: _Block, part: LocalModel, outcome: int, before: Any, after: Any) -> Array | float:
    """What `part` pays for an observation and for states (k,) of the block before and after."""
    if part.reward is None:
        return 0.0
    inside = block.place(part.factors)[0]
    here, there = inside[before], inside[after]
    if part.reward_axes == 1:
        reward: Array = np.asarray(part.reward)[here]
        return reward
    return paid(part.reward, np.full(len(here), outcome), here, there)


def _pays(block: _Block, action: FactoredAction, picks: list[tuple[int, ...]], changes: list[Changes]) -> Transition:
    """What is paid by state and observation (B, O), or by observation, state and next state (O, B, B)."""

    def total(row: tuple[int, ...], before: Ids, after: Ids) -> Array:
        sums = np.full(len(before), float(action.reward))
        for part, outcome in zip(action.parts, row, strict=True):
            sums += _payment(block, part, outcome, before, after)
        return sums

    if not any(part.reward_axes == 3 for part in action.parts):
        every = np.arange(block.states)
        return np.stack([total(row, every, every) for row in picks], axis=1)
    moves = [np.unique(np.stack(one[:2]), axis=1) for one in changes]
    tables = [(left, right, total(row, left, right)) for row, (left, right) in zip(picks, moves, strict=True)]
    return _table(block.states, tables, by_outcome=True)


def check_parts(
    factors: Sequence[Factor],
    joint: Sequence[JointPrior],
    passive: Sequence[LocalModel],
    actions: Iterable[FactoredAction],
) -> None:
    """Raise ProblemError unless all names are factors, tables have their shapes, and nothing is given twice."""
    sizes = {factor.name: len(factor.states) for factor in factors}
    message = "a problem must have hidden factors, all with different names"
    require(sizes and len(sizes) == len(factors), message, ("factors",), code="no-factors")
    _check_once("joint priors", [table.factors for table in joint], sizes, ("joint",))
    for table in joint:
        name = ", ".join(table.factors)
        shape = (_count(table.factors, sizes),)
        _check_table(f"joint prior of {name}", table.table, [shape], ("joint", name), sum_code="prior-sum")
    _check_once("passive changes", [part.factors for part in passive], sizes, ("passive",))
    for part in passive:
        _check_part("passive change", part, sizes, ("passive", ", ".join(part.factors)))
        silent = not part.outcomes and part.reward is None and not part.change_by_outcome
        require(silent, "a passive change must pay and show nothing", ("passive",), code="passive-change")
    moving = {name for part in passive for name in part.factors}
    seen: set[int] = set()
    for action in actions:
        field = ("actions", action.name)
        for part in (part for part in action.parts if id(part) not in seen):
            seen.add(id(part))
            scope = ", ".join(part.factors)
            _check_part(f"'{action.name}'", part, sizes, (*field, "parts", scope))
            sound = part.reward_axes < 3 or (part.change is not None and moving.isdisjoint(part.factors))
            message = f"'{action.name}' may pay by the state after it only if it alone changes {scope}"
            require(sound, message, (*field, "reward"), code="reward-shape")
        changed = [part.factors for part in action.parts if part.change is not None]
        _check_once(f"changes of '{action.name}'", changed, sizes, field)
        count, found = len(action.outcomes), len(action.leads_to)
        rule = f"'{action.name}' must lead to one observable state, or to one for each of its {count} outcomes"
        message = f"{rule}; it leads to {found}"
        require(found in (1, count), message, (*field, "leads_to"), code="next-states-count")


def _check_part(label: str, part: LocalModel, sizes: Mapping[str, int], field: Field) -> None:
    _check_once(f"factors of {label}", [(name,) for name in part.factors], sizes, field)
    states, outcomes = _count(part.factors, sizes), max(len(part.outcomes), 1)
    whose = f"{label} on {', '.join(part.factors)}"
    message = f"{whose} must name factors, and have both outcomes and likelihood or neither"
    sound = part.factors and bool(part.outcomes) == (part.likelihood is not None)
    require(sound, message, field, code="observation-without-likelihood")
    likelihood = np.ones((states, 1))
    if part.likelihood is not None:
        likelihood, place = part.likelihood, (*field, "likelihood")
        _check_table(f"likelihood of {whose}", likelihood, [(states, outcomes)], place, sum_code="likelihood-row-sum")
    if part.change is not None:
        what, place, either = f"change of {whose}", (*field, "change"), shapes(part.change, states, outcomes)
        _check_table(what, part.change, either, place, sum_code="transition-row-sum", likelihood=likelihood)
    if part.reward is not None:
        allowed = ((states,), (states, outcomes), shapes(part.reward, states, outcomes)[1])
        message = f"reward of {whose} must have one of the shapes {allowed}"
        require(part.reward.shape in allowed, message, (*field, "reward"), code="reward-shape")


def _check_table(
    what: str,
    table: Transition,
    allowed: Sequence[tuple[int, ...]],
    field: Field,
    *,
    sum_code: str,
    likelihood: Array | None = None,
) -> None:
    wanted = " or ".join(map(str, allowed))
    message = f"{what} must have the shape {wanted}; it has {table.shape}"
    require(table.shape in allowed, message, field, code="wrong-shape")
    check_rows(what, table, field, sum_code=sum_code, likelihood=likelihood)


def _check_once(what: str, scopes: Sequence[tuple[str, ...]], sizes: Mapping[str, int], field: Field) -> None:
    """No factor is in two of `scopes`, and all are factors."""
    seen: set[str] = set()
    for name in (name for scope in scopes for name in scope):
        message = f"{what} must be about factors; '{name}' is not one of {', '.join(sizes)}"
        require(name in sizes, message, field, code="unknown-factor")
        message = f"{what} must have every factor once; '{name}' stands there twice"
        require(name not in seen, message, field, code="duplicate-name")
        seen.add(name)


def _count(scope: tuple[str, ...], sizes: Mapping[str, int]) -> int:
    return prod(sizes[name] for name in scope)
