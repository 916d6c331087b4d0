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
    policy is estimated by simulation and not evaluated exactly. plans: whether it looks ahead for the objective, so
    that its weight can be varied. is_exact: whether it is exact look-ahead with the problem's own leaf value.
    is_bounded: whether its plans come with bounds in diagnostic problems.
    """

    name: ClassVar[str] = ""
    samples: ClassVar[bool] = False
    plans: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False
    is_bounded: ClassVar[bool] = False

    def supports(self, problem: POMDP) -> bool:
        """Whether it can act in `problem`; an agent of another distribution is offered only where it can."""
        return True

    @abstractmethod
    def solve(self, problem: POMDP, objective: Objective | None = None) -> Policy:
        """A policy for `problem` that maximises `objective`, by default the expected reward."""

    @property
    def is_timed(self) -> bool:
        """Whether a limit of time may change the actions of its policies."""
        return False

    @property
    def label(self) -> str:
        """Short label for table titles, e.g. "planner mcts (1,000 simulations per decision)"; may be empty."""
        simulations, seconds = getattr(self, "simulations", None), getattr(self, "seconds", None)
        limits = [f"{simulations:,} simulations"] if simulations else []
        limits += [f"{seconds:g} s"] if seconds else []
        return f"planner {self.name}" + (f" ({' or '.join(limits)} per decision)" if limits else "")
