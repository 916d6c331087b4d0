"""skeleton"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rhoplan.agent import Agent
from rhoplan.problem import Problem


@dataclass(frozen=True)
class Edge:
    """How far a parameter can move one way. status: `flips`, `does not flip` up to `limit`, or `not examined`.

    value: where the first action changes. then: the first action beyond. before, beyond: values on both sides, next to
    it, at which the two first actions were computed.
    """

    status: Literal["flips", "does not flip", "not examined"]
    limit: float
    value: float | None = None
    then: str | None = None
    before: float | None = None
    beyond: float | None = None


@dataclass(frozen=True)
class Flip:
    """One parameter: what it is, and how far it can move down and up before the first action changes.

    kind: prior, cost, first price, reward, weight or likelihood. quantity: `probability`, `money` or `weight`.
    """

    parameter: str
    kind: str
    quantity: Literal["probability", "money", "weight"]
    value: float
    now: str
    down: Edge
    up: Edge

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def flips(
    problem: Problem,
    agent: Agent,
    given: Sequence[tuple[str, str]] = (),
    *,
    unavailable: Iterable[str] = (),
    only: Iterable[str] | None = None,
    budget: float = 10.0,
) -> tuple[Flip, ...]:
    raise NotImplementedError
