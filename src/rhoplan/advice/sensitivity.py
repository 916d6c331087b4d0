"""How far each number of a model can move before the first action changes, with both sides of the change verified.

A parameter moves away from its value in growing steps until the first action is another one, or until the end of its
range. The change is then closed in on by bisection, and the first actions right before and right beyond it are
computed once more. A change that is undone between two steps of the search can be missed: then the flip reported lies
further away than the nearest one, and is a flip all the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rhoplan.advice.case import follow, without
from rhoplan.advice.pathway import check_fixed
from rhoplan.advice.variations import Parameter, parameters, renewed
from rhoplan.agent import Agent
from rhoplan.errors import RhoplanError
from rhoplan.planning.graph import Graph
from rhoplan.policy import Policy
from rhoplan.problem import Problem

import numpy as np

CLOSE = 1e-6
"""Distance between the two sides of a flip, as a share of its value."""

FIRST_STEP, GROWTH = 0.02, 1.6
"""A search begins 2% away (a probability: 2% of its odds), and each step is so many times longer than the last."""

SURE = 1e-9
"""How close to 0 and 1 a probability is moved: there all is certain and evidence may become impossible."""


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

    @property
    def is_examined(self) -> bool:
        return "not examined" not in (self.down.status, self.up.status)

    @property
    def nearest(self) -> float:
        """Relative distance to the nearer flip (of odds for a probability); infinite where there is none."""
        return min((_distance(self, edge.value) for edge in (self.down, self.up) if edge.value is not None), default=math.inf)

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
    """For each parameter, how far it can move down and up before the first action after `given` changes.

    only: kinds of parameter to look at (prior, weight, cost, first price, reward, likelihood). budget: seconds; what
    was not reached in that time is `not examined`. Not covered: agents whose choices are not fixed (see `pathway`).
    """
    check_fixed(agent)
    model, end = without(problem, unavailable), time.monotonic() + budget
    kinds = None if only is None else set(only)
    asker = _Asker(problem, model, agent, given)
    found = []
    for parameter in parameters(model, agent):
        if kinds is None or parameter.kind in kinds:
            edges = [asker.edge(parameter, direction, end) for direction in (-1, 1)]
            found.append(
                Flip(parameter.name, parameter.kind, parameter.quantity, parameter.value, asker.now, edges[0], edges[1])
            )
    return tuple(found)


class _OutOfTime(Exception):
    pass


class _Asker:
    """Finds the first action for a changed model, with as little work as the change allows."""

    def __init__(
        self, problem: Problem, model: Problem, agent: Agent, given: Sequence[tuple[str, str]]
    ) -> None:
        self.problem, self.given = problem, given
        self.graph = Graph(model)
        self.node = self.graph.node(follow(problem, given)[0])
        self.now = self._choice(self.graph, agent, self.node)
        # The choice needs all of the graph down to the horizon: what it holds now serves every change of money.
        Policy(self.graph, agent).plan.action_values(np.array([self.node]), agent.horizon)

    def first(self, parameter: Parameter, value: float) -> str | None:
        """The first action with `value` for the parameter; None where the evidence would be impossible."""
        problem, agent = parameter.change(value)
        if parameter.keeps_beliefs:
            graph = self.graph if parameter.kind == "weight" else renewed(self.graph, problem)
            return self._choice(graph, agent, self.node)
        try:
            situation = follow(problem, self.given)[0]
        except RhoplanError:
            return None
        graph = Graph(problem)
        return self._choice(graph, agent, graph.node(situation))

    def _choice(self, graph: Graph, agent: Agent, node: int) -> str:
        policy = Policy(graph, agent)
        policy.settle(np.array([node]))
        menu = graph.menus[graph.visible[node]]
        slot, ending = int(policy.choice[node]), int(policy.ending[node])
        return (menu.going[slot] if slot >= 0 else menu.ending[ending]).name

    def edge(self, parameter: Parameter, direction: int, end: float) -> Edge:
        """What happens when the parameter moves down (-1) or up (1)."""
        limit = parameter.low if direction < 0 else parameter.high

        def differs(value: float) -> str | None:
            if time.monotonic() > end:
                raise _OutOfTime
            action = self.first(parameter, value)
            return None if action == self.now else action

        try:
            return _search(parameter, direction, limit, differs)
        except _OutOfTime:
            return Edge("not examined", limit)


def _search(
    parameter: Parameter, direction: int, limit: float, differs: Callable[[float], str | None]
) -> Edge:
    inside, outside, then = parameter.value, None, None
    for value in _outward(parameter, direction):
        then = differs(value)
        if then is not None:
            outside = value
            break
        inside = value
    if outside is None or then is None:
        return Edge("does not flip", inside if parameter.quantity == "probability" else limit)
    while abs(outside - inside) > CLOSE * max(abs(inside), abs(outside)) * 0.5:
        middle = (inside + outside) / 2
        if middle in (inside, outside):
            break
        other = differs(middle)
        if other is None:
            inside = middle
        else:
            outside, then = middle, other
    return Edge("flips", limit, (inside + outside) / 2, then, inside, outside)


def _outward(parameter: Parameter, direction: int) -> Iterator[float]:
    """Values ever further from the parameter's own, up to the end of its range."""
    value, low, high = parameter.value, parameter.low, parameter.high
    if parameter.quantity == "probability":
        odds, step, most = math.log(value / (1 - value)), FIRST_STEP, math.log((1 - SURE) / SURE)
        place = odds
        while abs(place) < most or place * direction < 0:
            place += direction * step
            step *= GROWTH
            yield 1 / (1 + math.exp(-max(-most, min(most, place))))
        return
    end = low if direction < 0 else high
    if value == end:
        return
    scale = high * FIRST_STEP * 1e-4 if value == 0 else abs(value) * FIRST_STEP
    distance, step = 0.0, scale
    while True:
        distance += step
        step *= GROWTH
        place = value + direction * distance
        if (place - end) * direction >= 0:
            yield end
            return
        yield place


def _distance(flip: Flip, value: float) -> float:
    if flip.quantity == "probability":
        return abs(math.log(value / (1 - value)) - math.log(flip.value / (1 - flip.value)))
    return abs(value - flip.value) / abs(flip.value) if flip.value else math.inf
