"""Diagnoses and their subtypes: how states are named that people sum up under one diagnosis.

The hidden state of a model may be finer than what is decided about: a disease that comes in a typical and a silent form
is one diagnosis with two subtypes, whose tests differ. A subtype's state is called `disease (silent)`; a diagnosis
without subtypes is a state by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from rhoplan.model.problem import Array, Factor, Ids


@dataclass(frozen=True, eq=False)
class Grouped:
    """Diagnoses in their order, and the subtypes of those that have some."""

    diagnoses: tuple[str, ...]
    subtypes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @staticmethod
    def of(factor: Factor) -> Grouped:
        """How the states of `factor` are grouped."""
        found: dict[str, tuple[str, ...]] = {}
        for state, diagnosis in zip(factor.states, factor.diagnosis_of, strict=bool(factor.diagnosis_of)):
            if name := subtype(state, diagnosis):
                found[diagnosis] = (*found.get(diagnosis, ()), name)
        return Grouped(factor.diagnoses, found)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The hidden states, those of one diagnosis side by side."""
        return tuple(
            f"{diagnosis} ({name})" if name else diagnosis
            for diagnosis in self.diagnoses
            for name in self.subtypes.get(diagnosis, ("",))
        )

    @property
    def diagnosis_of(self) -> tuple[str, ...]:
        """The diagnosis of each state; empty where there are no subtypes."""
        return tuple(self.diagnoses[group] for group in self.groups) if self.subtypes else ()

    @cached_property
    def groups(self) -> Ids:
        """The place (S,) of each state's diagnosis."""
        counts = [len(self.subtypes.get(diagnosis, ("",))) for diagnosis in self.diagnoses]
        return np.repeat(np.arange(len(counts)), counts)

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where the states of each diagnosis stand."""
        ends = np.cumsum(np.bincount(self.groups, minlength=len(self.diagnoses))).tolist()
        return {name: slice(*ends) for name, ends in zip(self.diagnoses, pairwise([0, *ends]), strict=True)}

    def unfold(self, rows: Array) -> Array:
        """Rows (S, ...) by state, given one (D, ...) for each diagnosis that holds for all of its subtypes."""
        unfolded: Array = rows[self.groups]
        return unfolded


def subtype(state: str, diagnosis: str) -> str:
    """The name of the subtype that `state` is of `diagnosis`; empty where it is none."""
    inside = state.removeprefix(f"{diagnosis} (")
    return inside[:-1] if inside != state and inside.endswith(")") else ""
