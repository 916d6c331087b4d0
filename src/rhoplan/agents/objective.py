"""What an agent wants: reward, and a weight times a utility of beliefs, now and discounted later."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from rhoplan.agents.settings import SETTINGS, UNITS
from rhoplan.belief.information import per_nat
from rhoplan.errors import AgentError
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.planning.utility import Information, Utility

INFORMATION = Information()


@dataclass(frozen=True)
class Objective:
    """What to plan for.

    weight is in reward units per `unit`; it is the utility's weight, whatever weight the utility came with. precision
    is beta in Q(a) proportional to exp(beta * value); infinity is the deterministic limit. commits_count: whether the
    reward of ending actions counts.
    """

    weight: float = 0.0
    unit: str = "nats"
    discount: float = 1.0
    precision: float = math.inf
    commits_count: bool = True
    utility: Utility = INFORMATION

    def __post_init__(self) -> None:
        if not abs(self.weight) <= LARGEST_REWARD:
            raise AgentError(
                f"weight must be a number of at most {LARGEST_REWARD:g}; it is {self.weight:g}",
                field=("weight",),
                code="setting-range",
            )
        if self.unit not in UNITS:
            raise AgentError(
                f"unit of information must be {' or '.join(UNITS)}, not '{self.unit}'",
                field=("unit",),
                code="unknown-unit",
            )
        SETTINGS["discount"].check(self.discount)
        SETTINGS["precision"].check(self.precision)

    @cached_property
    def rho(self) -> Utility:
        """The utility at its weight."""
        return self.utility.at(per_nat(self.weight, self.unit))

    @property
    def is_information(self) -> bool:
        """Whether the utility is information: what the paper's propositions and most bounds are about."""
        return isinstance(self.utility, Information)

    @property
    def weight_per_nat(self) -> float:
        """What a nat of information is worth: 0 where the utility is another."""
        return per_nat(self.weight, self.unit) if self.is_information else 0.0

    @property
    def target(self) -> tuple[float, ...] | None:
        """The belief that the utility aims at, if it does."""
        found = getattr(self.utility, "target", None)
        return None if found is None else tuple(map(float, found))
