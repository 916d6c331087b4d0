"""The planner protocol: settings in the constructor, and one method that turns a problem into a policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from rhoplan.model.pomdp import POMDP
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import Policy


class Planner(ABC):
    """How to plan. Make it a frozen dataclass whose fields are the settings, and define `solve`.

    name: how options, records and logs refer to it. samples: whether actions depend on random numbers, so that the
    policy is estimated by simulation and not evaluated exactly.
    """

    name: ClassVar[str] = ""
    samples: ClassVar[bool] = False

    def supports(self, problem: POMDP) -> bool:
        """Whether it can act in `problem`; an agent of another distribution is offered only where it can."""
        return True

    @abstractmethod
    def solve(self, problem: POMDP, objective: Objective | None = None) -> Policy:
        """A policy for `problem` that maximises `objective`, by default the expected reward."""
