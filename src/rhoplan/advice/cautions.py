"""skeleton"""

from __future__ import annotations

from dataclasses import dataclass

from rhoplan.agent import Agent
from rhoplan.problem import Problem


@dataclass(frozen=True)
class Caution:
    """kind: `inert weight`, `dominant weight`, `short horizon`, `idle test`, `state-changing test`, `cost-only better`."""

    kind: str
    text: str
    about: str = ""


def cautions(problem: Problem, agent: Agent, *, seconds: float = 5.0) -> tuple[Caution, ...]:
    raise NotImplementedError
