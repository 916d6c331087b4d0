"""Parts of actions in a general model file: what they show, how they change hidden factors, what they pay.

A part is about one factor, or about several that its name lists (`pump, motor`); then its states are the combinations
of theirs, named alike (`good, worn`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import TypeVar

import numpy as np

from rhoplan.belief_math.transitions import Transition, from_entries
from rhoplan.io.fields import described, listed
from rhoplan.io.reader import ModelReader
from rhoplan.io.shorthands import INCONCLUSIVE, SHORTHANDS, has_shorthand, short_test
from rhoplan.io.tree import Tree, shown
from rhoplan.model.diagnostic import partitioned
from rhoplan.model.factored import DONE, MOST_STATES, LocalModel, combined
from rhoplan.model.pomdp import ROW_SUM_TOLERANCE, Array, Factor

PART_FIELDS = ("outcomes", "likelihood", *SHORTHANDS, INCONCLUSIVE, "change", "change_on")

Scope = tuple[str, ...]
Value = TypeVar("Value")


class PartReader(ModelReader):
    """Reads parts. factors: those of the file, by name; positives: the state of each that shorthands are about."""

    takes_ranges = False

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.factors: dict[str, Factor] = {}
        self.positives: dict[str, str | None] = {}

    def scopes(self, tree: Tree) -> dict[Scope, Tree]:
        """A map from factors, alone or several with commas between, to whatever is said of them."""
        found: dict[Scope, Tree] = {}
        for name, value in self.named_maps(tree).items():
            names = (name,) if name in self.factors else tuple(part.strip() for part in name.split(","))
            for one in names:
                if one not in self.factors:
                    known = listed(self.factors)
                    raise self.fault(
                        f"{tree.label} names the factor '{shown(one)}', which is not one of {known}",
                        value,
                        code="unknown-factor",
                    )
            if len(set(names)) < len(names) or names in found:
                raise self.fault(f"{value.label} must name every factor once", value, code="duplicate-name")
            found[names] = value
        return found

    def states_of(self, scope: Scope, tree: Tree) -> tuple[str, ...]:
        """The states of a factor, or the combinations of several."""
        count = prod(len(self.factors[name].states) for name in scope)
        if count > MOST_STATES:
            raise self.fault(
                f"{tree.label} is about {count:,} combinations of states; {MOST_STATES:,} is the most",
                tree,
                code="too-many-states",
            )
        states = combined(self.factors[name].states for name in scope)
        if len(set(states)) < len(states):
            raise self.fault(
                f"{tree.label}: combinations of states must have different names; rename some states",
                tree,
                code="duplicate-name",
            )
        return states

    def parts(self, tree: Tree) -> dict[Scope, LocalModel]:
        """The parts of one action."""
        return {scope: self.part(scope, one) for scope, one in self.scopes(tree).items()}

    def part(self, scope: Scope, tree: Tree) -> LocalModel:
        """What an action shows of `scope`, and how it changes it."""
        self.check_fields(tree, PART_FIELDS)
        items, states = tree.items, self.states_of(scope, tree)
        if not items:
            raise self.fault(
                f"{tree.label} must have a field of {listed(PART_FIELDS, 20)}; it is empty", tree, code="missing-field"
            )
        outcomes: tuple[str, ...] = ()
        likelihood: Array | None = None
        if has_shorthand(tree):
            positive = self.positives[scope[0]] if len(scope) == 1 else None
            outcomes, likelihood = short_test(self, tree, hidden=partitioned(states), positive=positive)
        elif {"outcomes", "likelihood", INCONCLUSIVE} & items.keys():
            outcomes, likelihood = self.likelihood(tree, partitioned(states))
        if "change" in items and "change_on" in items:
            raise self.fault(
                f"{tree.label} must give either change or change_on (by outcome), not both",
                items["change_on"],
                code="conflicting-fields",
            )
        change: Transition | None = None
        if "change" in items:
            change = self.change([items["change"]], states, deep=False)
        elif "change_on" in items:
            change = self.change_on(items["change_on"], outcomes, states)
        return LocalModel(scope, None, outcomes, likelihood, change)

    def change_on(self, tree: Tree, outcomes: tuple[str, ...], states: tuple[str, ...]) -> Transition:
        """How states change after each outcome; outcomes that are left out change nothing."""
        if not outcomes:
            raise self.fault(
                f"{tree.label} needs outcomes; where there are none, write change", tree, code="missing-field"
            )
        given = self.some_names(tree, dict.fromkeys(outcomes), "outcome", lambda row: row)
        return self.change([given.get(outcome) for outcome in outcomes], states, deep=True)

    def change(self, tables: list[Tree | None], states: tuple[str, ...], *, deep: bool) -> Transition:
        """Changes of state (S, S), or (O, S, S) if `deep`, one table each: rows left out stay as they are."""
        place = {state: number for number, state in enumerate(states)}
        rows, columns, values = [], [], []
        for number, table in enumerate(tables):
            given = (
                {}
                if table is None
                else self.some_names(table, place, "state", lambda row: self.states_after(row, place))
            )
            for state, here in place.items():
                for target, share in given.get(state, {here: 1.0}).items():
                    rows.append(number * len(states) + here)
                    columns.append(target)
                    values.append(share)
        shape = (len(tables), len(states), len(states)) if deep else (len(states), len(states))
        return from_entries(shape, np.array(rows), np.array(columns), np.array(values))

    def states_after(self, tree: Tree, place: dict[str, int]) -> dict[int, float]:
        """The states after a change with their probabilities: a state, a list in their order, or a map of some."""
        if tree.kind not in ("map", "list"):
            return {place[self.one_of(tree, place, "state")]: 1.0}
        if tree.kind == "list":
            shares = dict(enumerate(self.per_name(tree, place, "a probability", "state").tolist()))
        else:
            shares = {place[name]: p for name, p in self.some_names(tree, place, "state", self.probability).items()}
        total = sum(shares.values())
        if abs(total - 1) > ROW_SUM_TOLERANCE:
            raise self.fault(f"{tree.label} must sum to 1; it sums to {total:.10g}", tree, code="transition-row-sum")
        return shares

    def some_names(
        self, tree: Tree, names: Mapping[str, object], of: str, read: Callable[[Tree], Value]
    ) -> dict[str, Value]:
        """What stands beside some of `names`, a map because it is looked into often."""
        for name, value in self.named_maps(tree).items():
            if name not in names:
                raise self.fault(
                    f"{tree.label} names the {of} '{shown(name)}', which is not one of {listed(names)}",
                    value,
                    code="unknown-name",
                )
        return {name: read(value) for name, value in tree.items.items()}

    def paying(self, tree: Tree, parts: dict[Scope, LocalModel]) -> tuple[float, tuple[LocalModel, ...]]:
        """What an action pays whatever is hidden, and its parts with what they pay."""
        own = 0.0
        found = dict(parts)
        for field, sign in (("reward", 1.0), ("cost", -1.0)):
            given = tree.items.get(field)
            if given is None:
                continue
            read = self.number if field == "reward" else self.amount
            if given.kind != "map":
                own += sign * read(given)
                continue
            for scope, value in self.scopes(given).items():
                part = found.get(scope, LocalModel(scope))
                table = sign * self.payments(value, part, read)
                found[scope] = replace(part, reward=_sum(part.reward, table, max(len(part.outcomes), 1)))
        return own, tuple(found.values())

    def payments(self, tree: Tree, part: LocalModel, read: Callable[[Tree], float]) -> Array:
        """What is paid by state (S,), by state and outcome (S, O), or also by the state after (O, S, S)."""
        states, outcomes = self.states_of(part.factors, tree), part.outcomes or (DONE,)
        by_state = self.each(tree, states, "state")
        depths = [self.depth(value) for value in by_state]
        if max(depths) == 0:
            return np.array([read(value) for value in by_state])
        shape: tuple[int, ...] = (len(states), len(outcomes))
        if max(depths) == 2:
            if part.change is None:
                raise self.fault(
                    f"{tree.label} pays by the state after it; the action does not change it", tree, code="reward-shape"
                )
            shape = (*shape, len(states))
        found = np.zeros(shape)
        for place, (value, depth) in enumerate(zip(by_state, depths, strict=True)):
            if depth == 0:
                found[place] = read(value)
                continue
            for number, then in enumerate(self.each(value, outcomes, "outcome")):
                if then.kind in ("map", "list"):
                    found[place, number] = [read(one) for one in self.each(then, states, "state")]
                else:
                    found[place, number] = read(then)
        return np.swapaxes(found, 0, 1) if found.ndim == 3 else found

    def each(self, tree: Tree, names: tuple[str, ...], of: str) -> list[Tree]:
        """What stands beside each of `names`, in a list in their order or a map."""
        if tree.kind == "list":
            if len(tree.list) != len(names):
                raise self.fault(
                    f"{tree.label} must have a number for each of {len(names)} {of}s; it has {len(tree.list)}",
                    tree,
                    code="wrong-length",
                )
            return list(tree.list)
        self.check_names(tree, names, of, "a number")
        return [tree.items[name] for name in names]

    def depth(self, tree: Tree) -> int:
        """How deep a payment is nested: 0 a number, 1 by outcome, 2 by outcome and state after."""
        inside = [*tree.list, *tree.items.values()] if tree.kind in ("map", "list") else []
        if tree.kind in ("map", "list") and not inside:
            raise self.fault(
                f"{tree.label} must be a number, or numbers by outcome; it is {described(tree)}",
                tree,
                code="number-expected",
            )
        return 1 + min(max(map(self.depth, inside)), 1) if inside else 0


def _sum(first: Transition | None, second: Array, outcomes: int) -> Array:
    """Both payments together, each by state, by outcome, or by change."""
    if first is None:
        return second
    assert isinstance(first, np.ndarray)
    small, large = sorted([first, second], key=lambda table: table.ndim)
    while small.ndim < large.ndim:
        small = np.repeat(small[:, None], outcomes, axis=1) if small.ndim == 1 else small.T[:, :, None]
        if small.ndim == 3:
            small = np.broadcast_to(small, large.shape)
    result: Array = small + large
    return result
