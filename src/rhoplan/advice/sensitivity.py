"""How far each number of a model can move before the first action changes, with both sides of the change verified.

A parameter moves away from its value until the first action is another one, or until the end of its range; then the
change is closed in on, with both first actions computed right before and right beyond it. That no nearer change hides
between the points looked at follows from convexity: what an action is worth is a maximum over plans, each linear in a
prior, a cost, a reward, the weight, or a likelihood of a test that runs once. So between two points it lies below the
chord, and above the lines through neighbouring points. Where that does not rule a change out, the gap is halved, as
long as it is worth it; `is_nearest` says whether all gaps were closed. (Information is not convex in a belief; there
the weighted entropy is added to the chord.)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from rhoplan.advice.brackets import Answer, Ruler, closed_in
from rhoplan.advice.case import follow, without
from rhoplan.advice.pathway import check_fixed
from rhoplan.advice.variations import Parameter, parameters, renewed
from rhoplan.agent import Agent
from rhoplan.errors import RhoplanError
from rhoplan.planning.graph import Graph
from rhoplan.policy import Policy
from rhoplan.problem import Problem

CLOSE = 1e-6
"""Distance between the two sides of a flip, as a share of its value."""

FIRST_STEP, GROWTH = 0.02, 2.0
"""A search begins 2% away (a probability: 2% of its odds), and each step is so many times longer than the last."""

MOST_HALVINGS, MOST_FOR_PRIORS = 30, 120
"""Points added at most to rule out nearer changes, per parameter and direction; people ask about priors most."""

SURE = 1e-9
"""How close to 0 and 1 a probability is moved: there all is certain and evidence may become impossible."""


@dataclass(frozen=True)
class Edge:
    """How far a parameter can move one way. status: `flips`, `does not flip` up to `limit`, or `not examined`.

    value: where the first action changes. then: the first action beyond. before, beyond: values on both sides, next to
    it, at which the two first actions were computed. is_nearest: whether it is certain that the first action does not
    change (and change back) on the way.
    """

    status: Literal["flips", "does not flip", "not examined"]
    limit: float
    value: float | None = None
    then: str | None = None
    before: float | None = None
    beyond: float | None = None
    is_nearest: bool = False


@dataclass(frozen=True)
class Flip:
    """One parameter: what it is, and how far it can move down and up before the first action changes.

    kind: prior, cost, first price, reward or loss, weight, likelihood. quantity: `probability`, `money` or `weight`.
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
        ends = [edge.value for edge in (self.down, self.up) if edge.value is not None]
        return min((_distance(self, value) for value in ends), default=math.inf)

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

    only: kinds of parameter to look at (prior, weight, cost, first price, reward, loss, likelihood). budget: seconds;
    what was not reached in that time is `not examined`.
    Not covered: agents whose choices are not fixed (see `pathway`).
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

    def __init__(self, problem: Problem, model: Problem, agent: Agent, given: Sequence[tuple[str, str]]) -> None:
        self.agent, self.given = agent, given
        self.graph = Graph(model)
        self.node = self.graph.node(follow(problem, given)[0])
        self.now = ""
        # The choice needs all of the graph down to the horizon: what it holds now serves every change of money.
        self.now = self._answer(self.graph, agent, self.node, 0.0, False).action

    def ask(self, parameter: Parameter, value: float) -> Answer:
        """The first action with `value` for the parameter.

        Raises RhoplanError where the evidence would be impossible, or beyond a cap.
        """
        problem, agent = parameter.change(value)
        if parameter.keeps_beliefs:
            graph, node = self.graph if parameter.kind == "weight" else renewed(self.graph, problem), self.node
        else:
            situation = follow(problem, self.given)[0]
            graph = Graph(problem)
            node = graph.node(situation)
        return self._answer(graph, agent, node, value, parameter.quantity == "probability")

    def _answer(self, graph: Graph, agent: Agent, node: int, value: float, of_belief: bool) -> Answer:
        policy, nodes = Policy(graph, agent), np.array([node])
        policy.settle(nodes)
        menu = graph.menus[graph.visible[node]]
        slot, ending = int(policy.choice[node]), int(policy.ending[node])
        name = (menu.going[slot] if slot >= 0 else menu.ending[ending]).name
        if not agent.commits_count or agent.rule or agent.utility:
            return Answer(value, name, name == self.now, {}, {})
        worth = _worth(policy, node)
        plain = _worth(Policy(graph, replace(agent, weight=0.0)), node) if of_belief and agent.weight else worth
        return Answer(value, name, name == self.now, worth, plain)

    def _slack(self, parameter: Parameter) -> float:
        """What may be missing above the chord of `plain` values; infinite where values are not convex."""
        menu, agent = self.graph.problem.flat, self.agent
        if agent.discount != 1 or (parameter.kind in ("cost", "first price") and menu.budget is not None):
            return math.inf
        if parameter.kind == "likelihood" and any(test.repeatable for test in menu.tests):
            return math.inf
        return agent.weight_per_nat * math.log(len(self.graph.problem.states)) if parameter.of_belief else 0.0

    def edge(self, parameter: Parameter, direction: int, end: float) -> Edge:
        """What happens when the parameter moves down (-1) or up (1)."""

        def ask(value: float) -> Answer:
            if time.monotonic() > end:
                raise _OutOfTime
            return self.ask(parameter, value)

        try:
            return _search(parameter, direction, Ruler(self.now, self._slack(parameter)), ask)
        except _OutOfTime:
            return Edge("not examined", parameter.low if direction < 0 else parameter.high)


def _worth(policy: Policy, node: int) -> dict[str, float]:
    """What every action is worth at `node`."""
    graph, nodes = policy.graph, np.array([node])
    menu = graph.menus[graph.visible[node]]
    going = policy.plan.action_values(nodes, policy.agent.horizon)[1][0]
    commits = graph.ending_rewards(nodes, int(graph.visible[node]))[0]
    values = dict(zip([action.name for action in menu.ending], commits.tolist(), strict=True))
    return values | {action.name: float(going[k]) for k, action in enumerate(menu.going)}


def _search(parameter: Parameter, direction: int, ruler: Ruler, ask: Callable[[float], Answer]) -> Edge:
    points, outside = [ask(parameter.value)], None
    limit = parameter.low if direction < 0 else parameter.high
    step, last = _first_step(parameter), _end(parameter, direction)
    try:
        while outside is None and points[-1].value != last:
            answer = ask(_next(parameter, points[-1].value, direction, step))
            step *= GROWTH
            if answer.same:
                points.append(answer)
            else:
                outside = answer
    except RhoplanError:  # so far from the model what has been seen could not have happened
        limit = points[-1].value
    own, sure = abs(parameter.value), False
    left = MOST_FOR_PRIORS if parameter.kind == "prior" else MOST_HALVINGS
    while True:
        if outside is not None:
            inside, outside = closed_in(points[-1], outside, CLOSE, own, ask)
            points.append(inside)
        try:
            nearer, sure, left = ruler.nearer(points, outside, left, ask)
        except _OutOfTime:
            break  # what was found stands; whether it is the nearest is open
        if nearer is None:
            break
        outside = nearer
    if outside is None:
        return Edge("does not flip", limit, is_nearest=sure)
    before, beyond = points[-1].value, outside.value
    return Edge("flips", limit, (before + beyond) / 2, outside.action, before, beyond, sure)


def _first_step(parameter: Parameter) -> float:
    if parameter.quantity == "probability":
        return FIRST_STEP
    return FIRST_STEP * (abs(parameter.value) or 1e-3 * parameter.high)


def _end(parameter: Parameter, direction: int) -> float:
    """The last value to try."""
    if parameter.quantity != "probability":
        return parameter.low if direction < 0 else parameter.high
    return SURE if direction < 0 else 1 - SURE


def _next(parameter: Parameter, value: float, direction: int, step: float) -> float:
    """The value a step further, for a probability on the scale of log odds; never beyond the end."""
    end = _end(parameter, direction)
    if parameter.quantity == "probability":
        place = math.log(value / (1 - value)) + direction * step
        further = 1 / (1 + math.exp(-min(max(place, -30.0), 30.0)))
    else:
        further = value + direction * step
    return end if (further - end) * direction >= 0 else further


def _distance(flip: Flip, value: float) -> float:
    if flip.quantity == "probability":
        return abs(math.log(value / (1 - value)) - math.log(flip.value / (1 - flip.value)))
    return abs(value - flip.value) / abs(flip.value) if flip.value else math.inf
