"""Diagnoses with subtypes in a model file, and numbers that are given for a diagnosis or for each of its subtypes.

    subtypes: {disease: {typical: 70%, silent: 30%}}    their shares of the diagnosis
    subtypes: {disease: [typical, silent]}              equal shares, unless the prior gives a number for each

Wherever a number or a row is about a diagnosis with subtypes, one holds for all of them, and a map of subtypes says
what holds for each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rhoplan.io.fields import Fields
from rhoplan.io.tree import Tree
from rhoplan.model.diagnostic import partitioned
from rhoplan.model.pomdp import ROW_SUM_TOLERANCE, Array
from rhoplan.model.records import Factor


class Subtypes(NamedTuple):
    """How states are grouped, the share (S,) of each in its diagnosis, and the diagnoses whose shares are given."""

    grouped: Factor
    shares: Array
    given: frozenset[str]

    def unfolded(self, chances: Array) -> Array:
        """Chances (S,) of states from those of diagnoses, each shared among its subtypes."""
        return self.grouped.unfold(chances) * self.shares


def read_subtypes(fields: Fields, tree: Tree | None, states: tuple[str, ...]) -> Subtypes:
    """The subtypes of `states`, none where there is no `tree`."""
    found: dict[str, tuple[str, ...]] = {}
    shares, given = list[float](), set[str]()
    trees = fields.named_maps(tree) if tree is not None else {}
    known_states = set(states)
    for name in (name for name in trees if name not in known_states):
        known = ", ".join(states[:8])
        raise fields.fault(
            f"subtypes names the state '{name}', which is not one of {known}", trees[name], code="unknown-state"
        )
    for state in states:
        if state not in trees:
            shares.append(1.0)
            continue
        one = trees[state]
        if one.kind == "map" and one.items:
            found[state] = tuple(fields.named_maps(one))
            shares += fields.distribution(one, found[state]).tolist()
            given.add(state)
        else:
            found[state] = fields.names(one)
            shares += [1 / len(found[state])] * len(found[state])
    return Subtypes(partitioned(states, found), np.array(shares), frozenset(given))


def read_prior(fields: Fields, tree: Tree, subtypes: Subtypes) -> Array:
    """The prior (S,) from chances of diagnoses; of those whose shares are not given, also from chances of subtypes."""
    hidden, shares, given = subtypes
    if tree.kind != "map" or all(value.kind != "map" for value in tree.items.values()):
        return subtypes.unfolded(fields.distribution(tree, hidden.diagnoses))
    fields.check_names(tree, hidden.diagnoses, "state", "a probability")
    prior = np.empty(len(hidden.states))
    for name in hidden.diagnoses:
        value, places = tree.items[name], hidden.places[name]
        if value.kind == "map" and name in given:
            raise fields.fault(
                f"{value.label} must be one probability: the shares of its subtypes stand under subtypes",
                value,
                code="number-expected",
            )
        prior[places] = per_subtype(fields, value, hidden, name) * (1.0 if value.kind == "map" else shares[places])
    if abs(math.fsum(prior) - 1) > ROW_SUM_TOLERANCE:
        raise fields.fault(f"{tree.label} must sum to 1; it sums to {math.fsum(prior):.10g}", tree, code="prior-sum")
    return prior


def per_subtype(fields: Fields, tree: Tree, hidden: Factor, diagnosis: str) -> Array:
    """A probability for each subtype of `diagnosis`: one for all, or a map; one where it has none."""
    names = hidden.subtypes.get(diagnosis, ())
    if names and tree.kind == "map":
        return fields.per_name(tree, names, "a probability", "subtype")
    return np.full(max(len(names), 1), fields.probability(tree))


def read_rows(fields: Fields, tree: Tree, hidden: Factor, outcomes: tuple[str, ...]) -> Array:
    """A likelihood (S, O): of each diagnosis one row, or one for each of its subtypes."""
    fields.check_names(tree, hidden.diagnoses, "state")
    rows = []
    for diagnosis in hidden.diagnoses:
        one, names = tree.items[diagnosis], hidden.subtypes.get(diagnosis, ())
        nested = one.kind == "map" and any(value.kind in ("map", "list") for value in one.items.values())
        if names and nested:
            fields.check_names(one, names, "subtype")
            rows += [fields.row(one.items[name], outcomes) for name in names]
        else:
            rows += [fields.row(one, outcomes)] * max(len(names), 1)
    return np.array(rows)
