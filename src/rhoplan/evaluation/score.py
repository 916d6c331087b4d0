"""One record for how good a policy is, exact or estimated; `kind` says which."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rhoplan.planning.policy import frame, html_table

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

QUANTITIES = ("reward", "discounted", "tests", "steps", "success", "truncated", "log_score", "information")
"""Means over episodes that a score has, in the order of its table."""

SHOWN = ("reward", "tests", "steps", "success", "truncated")
"""What `repr` shows of them; `steps` where there are no tests."""


@dataclass(frozen=True)
class UnseenLoss:
    """The worst that an action taken could have paid, where no episode met it.

    reward: that payment. worst_seen: the worst single payment of the episodes. chance: how often per episode it is to
    be expected, by what the agent believed when it acted.
    """

    reward: float
    worst_seen: float
    chance: float


@dataclass(frozen=True, repr=False)
class Score:
    """How good a policy is: means over episodes.

    kind: `exact`, or `estimated` from `episodes` episodes of `seeds`; `se` then has standard errors by quantity.
    reward, reward_sd: mean and standard deviation of the total reward of an episode. discounted: its mean with the
    problem's discount; discounted_tail: how far that can be from its value without the limit of steps, NaN if nothing
    bounds it. tests, steps: expected number of tests, and of actions. success: share of episodes that end with a best
    terminal action for the true state, or as the problem defines success. truncated: share cut off at the limit of
    steps. log_score: expected log probability, in nats, of the true state in the final belief. information: expected
    information gain of all actions, in nats, discounted. tests_distribution: probability of each number of tests from 0
    on. tallies: expected counts of events that the problem defines. A quantity that a problem does not have is NaN.
    se_from: `exact` where standard errors come from exact variances, else `sample`. unseen_loss: the largest loss that
    was possible and did not occur. nodes, dropped: size of the belief graph, and probability that was not followed.
    value: discounted reward and weighted information, what the bounds of a solution are about; value_tail: how far it
    can be from its value without the limit of steps. NaN except for solved policies.
    """

    kind: str
    reward: float
    reward_sd: float
    discounted: float
    tests: float
    steps: float
    success: float
    truncated: float
    log_score: float
    information: float
    discounted_tail: float
    tests_distribution: tuple[float, ...]
    tallies: dict[str, float] = field(default_factory=dict)
    se: dict[str, float] = field(default_factory=dict)
    episodes: int = 0
    seeds: tuple[int, ...] = ()
    se_from: str | None = None
    success_interval: tuple[float, float] | None = None
    unseen_loss: UnseenLoss | None = None
    nodes: int = 0
    dropped: float = 0.0
    value: float = math.nan
    value_tail: float = math.nan

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with one row per quantity: mean and standard error (0 where the score is exact)."""
        rows = [[name, mean, self.error(name)] for name, mean in self.quantities.items()]
        return frame(rows, ("quantity", "mean", "se"), "quantity")

    @property
    def quantities(self) -> dict[str, float]:
        """The means by name, with the tallies, without those that the problem does not have."""
        found = {name: float(getattr(self, name)) for name in QUANTITIES} | self.tallies
        return {name: mean for name, mean in found.items() if not math.isnan(mean)}

    def __repr__(self) -> str:
        found = self.quantities
        shown = [name for name in SHOWN if name in found and not (name == "steps" and found["tests"] > 0)]
        if not math.isclose(found["discounted"], found["reward"], rel_tol=1e-9, abs_tol=1e-12):
            shown = ["discounted", *shown]
        errors = {name: f" ± {self.se[name]:.2g}" for name in shown if name in self.se}
        parts = [f"{name} {found[name]:.6g}{errors.get(name, '')}" for name in shown]
        how = self.kind if not self.episodes else f"{self.kind} from {self.episodes:,} episodes"
        return f"Score({', '.join(parts)}; {how})"

    def _repr_html_(self) -> str:
        rows = [[name, f"{mean:.6g}", f"{self.error(name):.3g}"] for name, mean in self.quantities.items()]
        columns = 3 if self.se else 2
        return html_table(("quantity", "mean", "standard error")[:columns], [row[:columns] for row in rows])

    def error(self, name: str) -> float:
        """The standard error of a quantity: 0 where the score is exact."""
        return self.se.get(name, math.nan) if self.se else 0.0


@dataclass(frozen=True, repr=False)
class Scores(Mapping[str, Score]):
    """Scores of several policies by name."""

    scores: dict[str, Score]

    def __getitem__(self, name: str) -> Score:
        return self.scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with one row per policy and a column per quantity."""
        heads, rows = self._table()
        return frame(rows, heads, "policy")

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {score!r}" for name, score in self.scores.items()) or "Scores()"

    def _repr_html_(self) -> str:
        heads, rows = self._table()
        return html_table(heads, [[policy, kind, *(f"{mean:.6g}" for mean in means)] for policy, kind, *means in rows])

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        names = dict.fromkeys(name for score in self.scores.values() for name in score.quantities)
        rows = [
            [policy, score.kind, *(score.quantities.get(name, math.nan) for name in names)]
            for policy, score in self.scores.items()
        ]
        return ("policy", "kind", *names), rows
