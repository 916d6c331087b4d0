"""Simulated episodes: one row each, and the log that fills the rows while the episodes run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rhoplan.evaluation.environment import Taken, WorldAction
from rhoplan.model.belief import Belief
from rhoplan.model.horizon import has_commits
from rhoplan.model.pomdp import POMDP, Array, Ids
from rhoplan.planning.policy import frame, html_table

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

MOST_SHOWN = 20
"""Episodes that a table for a notebook shows."""

NEGLIGIBLE = 1e-12
"""Probability below which a state does not count as possible when the worst that an action can pay is looked for."""


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
        columns = [getattr(self, name)[:MOST_SHOWN].tolist() for name in names]
        rows = [
            [str(number), *(f"{cell:.6g}" for cell in row)] for number, row in enumerate(zip(*columns, strict=True))
        ]
        return html_table(("episode", *names), rows)


class EpisodeLog:
    """The rows of `count` episodes in `world` that are running. Methods take the episodes (k,) that they are about."""

    def __init__(self, world: POMDP, count: int) -> None:
        self.world = world
        self.reward, self.discounted, self.information = np.zeros((3, count))
        self.tests, self.steps = np.zeros((2, count), dtype=np.int64)
        self.success, self.log_score = np.zeros(count), np.full(count, np.nan)
        self.truncated = np.zeros(count, dtype=bool)
        self.tallies = np.zeros((len(world.tallies), count))
        self.worst_paid, self.worst_possible = np.full((2, count), np.inf)
        self.worst_chance = np.zeros(count)

    def inform(self, episodes: Ids, information: Array) -> None:
        """Add the information (k,) that the next action is expected to bring."""
        self.information[episodes] += self._discount(episodes) * information

    def count(self, episodes: Ids, one: WorldAction, taken: Taken) -> None:
        """Add what is tallied of an action, and whether it is a success."""
        self.tallies[:, episodes] += one.counts[:, taken.before, taken.observation]
        if one.optimal is not None and len(self.world.factors) == 1:
            self.success[episodes] = one.optimal[taken.before]

    def pay(self, episodes: Ids, reward: Array, is_test: NDArray[np.bool_]) -> None:
        """Add one step and its reward (k,)."""
        self.reward[episodes] += reward
        self.discounted[episodes] += self._discount(episodes) * reward
        self.tests[episodes] += is_test
        self.steps[episodes] += 1
        self.worst_paid[episodes] = np.minimum(self.worst_paid[episodes], reward)

    def fear(self, episodes: Ids, reward: Array, chances: Array) -> None:
        """Note that an action may pay `reward` (S,) by the state, with `chances` (k, S)."""
        least = np.where(chances > NEGLIGIBLE, reward, np.inf).min(axis=1)
        chance = np.where(reward <= least[:, None], chances, 0.0).sum(axis=1)
        before = self.worst_possible[episodes]
        self.worst_chance[episodes] = chance * (least <= before) + self.worst_chance[episodes] * (before <= least)
        self.worst_possible[episodes] = np.minimum(before, least)

    def episodes(self) -> Episodes:
        """The rows, once all episodes have ended or were cut off."""
        tallies = dict(zip(self.world.tallies, self.tallies, strict=True))
        if "success" in tallies:
            self.success = (tallies.pop("success") > 0).astype(float)
        elif len(self.world.factors) > 1 or not has_commits(self.world):
            self.success = np.full(len(self.reward), np.nan)
        self.worst_possible = np.minimum(self.worst_possible, self.worst_paid)
        columns = {column.name: getattr(self, column.name) for column in fields(Episodes) if column.name != "tallies"}
        return Episodes(**columns, tallies=tallies)

    def _discount(self, episodes: Ids) -> Array:
        return np.power(float(self.world.discount), self.world.time_taken(self.steps[episodes]))
