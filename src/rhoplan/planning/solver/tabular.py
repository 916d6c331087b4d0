"""A finite POMDP as flat arrays, split into observability classes.

An observability class is a set of states that no reachable belief straddles: whoever follows the observations always
knows the class. So beliefs and vectors are over the states of one class. A class without actions is the end of the
episode.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids

CLASS = np.dtype([("first_state", "i8"), ("first_action", "i8")])
ACTION = np.dtype([("class_", "i8"), ("first_reward", "i8"), ("first_branch", "i8")])
BRANCH = np.dtype([("target", "i8"), ("first_row", "i8")])


class Tabular(NamedTuple):
    """What the kernels read of a problem. Each table has one more row at its end, so that row i + 1 says where i ends.

    classes, actions, branches: an action belongs to one class (an action of two classes is listed twice), a branch is
    an observation after an action and leads to one class. reward: of each action, one number per state of its class.
    row: for each branch, one number more than the class has states: where the entries of each state begin in `column`
    (a state of the target class) and `probability`, P(s', o | s, a). label: the hidden state of each state, which
    information is about.
    """

    classes: NDArray[np.void]
    actions: NDArray[np.void]
    branches: NDArray[np.void]
    reward: Array
    row: Ids
    column: NDArray[np.int32]
    probability: Array
    label: Ids
