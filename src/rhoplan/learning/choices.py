"""What is chosen while learning: how the model is made, and how the policy looks ahead; and what there is to try."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rhoplan.agents.agent import BoundAgent


@dataclass(frozen=True)
class Choice:
    """outcomes: at most, of a column of numbers. subtypes: of each diagnosis. shrinkage: see `fit`. tempering: power of
    the likelihood ratios. horizon, weight (per nat): of the policy. about: what information is priced, that about the
    diagnosis or about the state, subtypes told apart; the same where there are none."""

    outcomes: int = 5
    subtypes: int = 1
    shrinkage: float = 1.0
    tempering: float = 1.0
    horizon: int = 1
    weight: float = 0.0
    about: str = "diagnosis"

    @property
    def agent(self) -> BoundAgent:
        """The agent that follows the policy."""
        return BoundAgent("learned", self.horizon, self.weight)

    @property
    def fitting(self) -> tuple[object, ...]:
        """What likelihoods depend on, before they are tempered."""
        return self.outcomes, self.subtypes, self.shrinkage

    @property
    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Grid:
    """What is tried of each setting; what is first is where to begin. weights: per nat, in units of what not testing
    costs over the doubt there is; one begins without."""

    outcomes: tuple[int, ...] = (5, 3, 8)
    shrinkages: tuple[float, ...] = (0.5, 0.0, 1.5)
    subtypes: tuple[int, ...] = (2, 1, 3, 5)
    weights: tuple[float, ...] = (0.1, 1.0)
    horizons: tuple[int, ...] = (2, 1)
    temperings: tuple[float, ...] = (1.0, 0.9, 1.1, 0.8, 1.2, 0.65)
