"""Simulated episodes as columns of arrays, one row per episode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.policy import frame, html_table

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

MOST_SHOWN = 20
"""Episodes that a table for a notebook shows."""


@dataclass(frozen=True, repr=False)
class Episodes:
    """One row per episode, in order of seed and number; each array (n,).

    discounted is the reward as the world discounts it, and information, in nats, what the agent's beliefs expected of
    its actions when it took them, discounted alike.
    tests counts actions with outcomes, steps all actions, the one that ends included. success: in a flat problem
    whether the commit was a best one for the true state, elsewhere what the problem tallies as success, if anything.
    log_score: log of the probability that the final belief gave the true diagnosis (NaN with more factors or places).
    worst_paid: the least that one action paid. worst_possible: the least that one of the actions taken could have paid,
    by what the agent believed then; worst_chance: how often it was to be expected (see NEGLIGIBLE).
    """

    reward: Array
    discounted: Array
    information: Array
    tests: Ids
    steps: Ids
    success: Array
    truncated: NDArray[np.bool_]
    log_score: Array
    worst_paid: Array
    worst_possible: Array
    worst_chance: Array
    tallies: dict[str, Array] = field(default_factory=dict)

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with one row per episode and a column per quantity and tally."""
        columns = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "tallies"} | self.tallies
        rows = np.column_stack([np.asarray(column, dtype=object) for column in columns.values()]).tolist()
        return frame([[number, *row] for number, row in enumerate(rows)], ("episode", *columns), "episode")

    def __len__(self) -> int:
        return len(self.reward)

    def __repr__(self) -> str:
        mean, steps = float(self.reward.mean()), float(self.steps.mean())
        return f"Episodes({len(self):,} episodes, mean reward {mean:.6g}, mean steps {steps:.6g})"

    def _repr_html_(self) -> str:
        names = ("reward", "discounted", "information", "tests", "steps", "success", "log_score")
        columns = [getattr(self, name)[:MOST_SHOWN].tolist() for name in names]
        rows = [
            [str(number), *(f"{cell:.6g}" for cell in row)] for number, row in enumerate(zip(*columns, strict=True))
        ]
        return html_table(("episode", *names), rows)
