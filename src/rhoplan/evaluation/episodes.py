"""Simulated episodes: one row each, filled while the episodes run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rhoplan.graph.belief_graph import Arcs
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.policy import frame, html_table

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

MOST_SHOWN = 20
"""Episodes that a table for a notebook shows."""


@dataclass(frozen=True)
class EpisodeStep:
    """One step: the belief before the action, the action, the observation and the reward."""

    number: int
    belief: Belief
    action: str
    observation: str
    reward: float

    def __str__(self) -> str:
        return f"{self.number}. {self.action} -> {self.observation} ({self.reward:+g}); belief {self.belief}"


@dataclass(frozen=True, repr=False)
class Episodes:
    """One row per episode, in order of seed and number; each array (n,).

    discounted: the reward with the world's discount. information: in nats, what the agent's beliefs expected of its
    actions, discounted alike. tests: actions with several observations that do not end the episode. steps: all actions.
    success: what the problem tallies as success; by default, with one hidden factor, whether the terminal action was a
    best one for the true state. log_score: log of the probability of the true diagnosis in the final belief (NaN unless
    the problem observes, then commits). worst_paid: the least reward of one action. worst_possible: the least that one
    of the actions taken could have paid, by what the agent believed; worst_chance: how often it was to be expected.
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

    @classmethod
    def blank(cls, count: int, tallies: Iterable[str]) -> Episodes:
        """Rows of `count` episodes that have not begun, to be filled while they run."""
        rows: dict[str, Any] = {name: np.zeros(count) for name in ("reward", "discounted", "information", "success")}
        rows |= {name: np.zeros(count, dtype=np.int64) for name in ("tests", "steps")}
        rows |= {name: np.full(count, np.inf) for name in ("worst_paid", "worst_possible")}
        rows |= {"truncated": np.zeros(count, dtype=bool), "log_score": np.full(count, np.nan)}
        return cls(**rows, worst_chance=np.zeros(count), tallies={name: np.zeros(count) for name in tallies})

    def add_step(self, episodes: Ids, reward: Array, arcs: Arcs, discount: Array) -> None:
        """Add a step of `episodes` (k,), given their rewards, the arcs that they took, and the discount of the step."""
        self.reward[episodes] += reward
        self.discounted[episodes] += discount * reward
        self.information[episodes] += discount * arcs.information
        self.tests[episodes] += arcs.width > 1
        self.steps[episodes] += 1
        self.worst_paid[episodes] = np.minimum(self.worst_paid[episodes], reward)

    def add_worst(self, episodes: Ids, least: Array, chance: Array) -> None:
        """Note the least (k,) that an action of `episodes` (k,) can pay, and its probability (k,)."""
        before = self.worst_possible[episodes]
        self.worst_chance[episodes] = chance * (least <= before) + self.worst_chance[episodes] * (before <= least)
        self.worst_possible[episodes] = np.minimum(before, least)

    def completed(self, *, has_success: bool) -> Episodes:
        """The rows, once all episodes have ended or were cut off."""
        tallies, success = dict(self.tallies), self.success if has_success else np.full(len(self), np.nan)
        if "success" in tallies:
            success = (tallies.pop("success") > 0).astype(float)
        worst = np.minimum(self.worst_possible, self.worst_paid)
        return replace(self, success=success, tallies=tallies, worst_possible=worst)

    @classmethod
    def joined(cls, parts: Sequence[Episodes]) -> Episodes:
        """All rows of several records."""
        columns = [column.name for column in fields(cls) if column.name != "tallies"]
        rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in columns}
        tallies = {name: np.concatenate([part.tallies[name] for part in parts]) for name in parts[0].tallies}
        return cls(**rows, tallies=tallies)

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
        columns = [range(len(self)), *(getattr(self, name) for name in names)]
        rows = [[f"{cell:.6g}" for cell in row] for row in islice(zip(*columns, strict=True), MOST_SHOWN)]
        return html_table(("episode", *names), rows)
