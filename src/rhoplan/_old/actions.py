"""The actions that go on, of all menus a graph has met, as numbers that whole layers of nodes are looked up in.

Actions with the same reward, likelihood and transition share a *kernel*: what they do to a belief is computed once for
all of them, whatever they are called, whichever factor they concern and wherever they lead.

Kept for advice; their rebuild deletes it.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from rhoplan._old.merging import grown
from rhoplan.belief_math.transitions import key
from rhoplan.model.pomdp import Action, Ids


class ActionTable:
    """Actions by id, in order of appearance (A of them), and a first action of each kernel.

    kernel, factor (A,): id of the kernel, and of the factor concerned. tests (A,): whether it is a test. depends (A,):
    whether what it pays depends on the hidden state, or on chance. Arrays have room to grow: their length says nothing.
    """

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.kernels: list[Action] = []
        self.kernel: Ids = np.empty(0, dtype=np.int64)
        self.factor: Ids = np.empty(0, dtype=np.int64)
        self.tests: NDArray[np.bool_] = np.empty(0, dtype=bool)
        self.depends: NDArray[np.bool_] = np.empty(0, dtype=bool)
        self._kernel_ids: dict[Hashable, int] = {}

    def add(self, actions: tuple[Action, ...]) -> range:
        """Ids of `actions`, which are new and go on."""
        ids = range(len(self.actions), len(self.actions) + len(actions))
        self.actions += actions
        self.kernel = grown(self.kernel, ids.stop, 0)
        self.factor = grown(self.factor, ids.stop, 0)
        self.tests = grown(self.tests, ids.stop, False)
        self.depends = grown(self.depends, ids.stop, False)
        for number, action in zip(ids, actions, strict=True):
            kernel = self._kernel_id(action)
            self.kernel[number] = kernel
            self.factor[number] = action.factor
            self.tests[number] = len(action.outcomes) > 1
            self.depends[number] = self.kernels[kernel].same_reward is None or action.pays is not None
        return ids

    def _kernel_id(self, action: Action) -> int:
        change, pays = action.transition, action.pays
        numbers = (
            action.likelihood.shape,
            action.likelihood.tobytes(),
            action.reward.tobytes(),
            None if change is None else key(change),
            None if pays is None else key(pays),
        )
        number = self._kernel_ids.setdefault(numbers, len(self.kernels))
        if number == len(self.kernels):
            self.kernels.append(action)
        return number
