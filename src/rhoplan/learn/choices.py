"""What is chosen while learning, in one record: how the model is made, and how the policy looks ahead."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rhoplan.agents.agent import Agent


@dataclass(frozen=True)
class Choice:
    """outcomes: at most, of a column of numbers. subtypes: of each diagnosis. shrinkage: see `fit`. tempering: power of
    the likelihood ratios. horizon, weight (per nat): of the policy."""

    outcomes: int = 5
    subtypes: int = 1
    shrinkage: float = 1.0
    tempering: float = 1.0
    horizon: int = 1
    weight: float = 0.0

    @property
    def agent(self) -> Agent:
        """The agent that follows the policy."""
        return Agent("learned", self.horizon, self.weight)

    @property
    def model(self) -> tuple[int, int, float, float]:
        """What the model depends on."""
        return self.outcomes, self.subtypes, self.shrinkage, self.tempering

    @property
    def record(self) -> dict[str, Any]:
        return asdict(self)
