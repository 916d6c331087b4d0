"""How far each number of a model can move before the first action changes, with both sides of the change verified.

The searches of all parameters run side by side (`brackets` says which values each wants to know), and what they ask for
in one round is planned at once, as copies of the model on one graph (`planning.copies`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from rhoplan.advice.brackets import Answer, Line
from rhoplan.advice.case import check_fixed, without
from rhoplan.advice.variations import FAR, Kind, Parameter, Quantity, parameters
from rhoplan.advice.words import parameter_name
from rhoplan.agents.agent import Agent
from rhoplan.agents.policy import Policy
from rhoplan.belief.situation import observe_all
from rhoplan.errors import LimitError, RhoplanError
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import Array, Ids, Problem
from rhoplan.planning.versions import Copies, Layout

FIRST_STEP = 0.02
"""A search begins 2% away (a probability: 2% of its odds)."""

GROWTH, LEAP = 2.0, 4.0
"""Each step is so many times longer than the last; where convexity finds what lies between, it may be a leap."""

SURE = 1e-9
"""How close to 0 and 1 a probability is moved: there all is certain and evidence may become impossible."""

SIDE_BY_SIDE = 24
"""Parameters searched at the same time. Those that usually matter most come first, should time run out."""

Evidence = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Edge:
    """How far a parameter can move one way. status: `flips`, `does not flip` up to `limit`, or `not examined`.

    value: where the first action changes. then: the first action beyond. before, beyond: values on both sides, next to
    it, at which the two first actions were computed. is_nearest: whether it is certain that no other action becomes
    better (and worse again) on the way, but for stretches narrower than a millionth of the value. distance: how far
    away `value` is, relative to the parameter's own; of a probability in log odds, of money that is 0 in terms of the
    largest reward; infinite where nothing flips.
    """

    status: Literal["flips", "does not flip", "not examined"]
    limit: float
    value: float | None = None
    then: str | None = None
    before: float | None = None
    beyond: float | None = None
    is_nearest: bool = False
    distance: float = math.inf


@dataclass(frozen=True)
class Flip:
    """One parameter: what it is, and how far it can move down and up before the first action changes.

    id, kind, names, quantity, value: of the parameter (see `variations.Parameter`). now: the first action.
    """

    id: str
    kind: Kind
    names: tuple[str, ...]
    quantity: Quantity
    value: float
    now: str
    down: Edge
    up: Edge

    @property
    def parameter(self) -> str:
        """What people call the parameter."""
        return parameter_name(self.kind, self.names)

    @property
    def is_examined(self) -> bool:
        return "not examined" not in (self.down.status, self.up.status)

    @property
    def nearest(self) -> float:
        """Distance to the nearer flip; infinite where there is none."""
        return min(self.down.distance, self.up.distance)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "parameter": self.parameter, "nearest": self.nearest}


def flips(
    problem: Problem,
    agent: Agent,
    given: Evidence = (),
    *,
    unavailable: Iterable[str] = (),
    only: Iterable[str] | None = None,
    budget: float = 10.0,
    now: str | None = None,
    layout: Layout | None = None,
) -> tuple[Flip, ...]:
    """For each parameter, how far it can move down and up before the first action after `given` changes.

    only: kinds of parameter to look at, of `variations.KINDS`. budget: seconds; what was not reached in that time is
    `not examined`. now: today's first action, and layout: of `problem` after `given` with all that is available, where
    they are known.
    Not covered: agents whose choices are not fixed (see `pathway`).
    """
    check_fixed(agent)
    end = time.monotonic() + budget
    gone = set(unavailable)
    model = without(problem, gone - {test for test, _ in given})  # what a test said counts, though it is gone now
    asker = _Asker(model, agent, given, gone & {test.name for test in model.flat.tests}, now)
    if layout is not None and not gone:
        asker.layouts[False] = layout
    kinds = None if only is None else set(only)
    chosen = [p for p in parameters(model, agent) if kinds is None or p.kind in kinds]
    found: list[Flip] = []
    for start in range(0, len(chosen), SIDE_BY_SIDE):
        group = chosen[start : start + SIDE_BY_SIDE]
        for p, line in zip(group, asker.lines(group, end), strict=True):
            down, up = (_edge(p, line, side) for side in (-1, 1))
            found.append(Flip(p.id, p.kind, p.names, p.quantity, p.value, asker.now, down, up))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class First:
    """What to do first in each of K versions of a model: place (K,) among `names`; and what actions are worth (K, A).

    Ending actions come first among the names; there are `endings` of them.
    """

    copies: Copies
    names: list[str]
    endings: int
    choice: Ids
    worth: Array


def first_actions(layout: Layout, problems: Sequence[Problem], agent: Agent) -> First:
    """What `agent` does first in each of `problems`, versions of the layout, planned at once."""
    copies = layout.copies(problems)
    plan = layout.plan(copies, agent.rho, discount=agent.discount, commits_count=agent.commits_count)
    ending, going, _ = plan.action_values(copies.start, agent.horizon)
    slots = plan.chosen(copies.start, agent.horizon, ending, going)
    menu = layout.graph.menus[layout.graph.visible[layout.node]]
    names = [action.name for action in (*menu.ending, *menu.going)]
    choice = np.where(slots >= 0, len(menu.ending) + slots, copies.graph.stop_action[copies.start])
    worth = np.concatenate([copies.commits, going[:, : len(menu.going)]], axis=1)
    return First(copies, names, len(menu.ending), choice, worth)


def plans_versions(problem: Problem, agent: Agent) -> bool:
    """Whether versions of `problem` that differ in numbers only can be planned at once for `agent`."""
    same = agent.planner.is_exact and agent.objective.is_information
    return same and problem.listed is not None and problem.leaf is None


class _Asker:
    """Finds first actions for changed models, many at once where only numbers change."""

    def __init__(
        self, problem: Problem, agent: Agent, given: Evidence, unavailable: Collection[str], now: str | None
    ) -> None:
        self.problem, self.agent, self.given, self.unavailable = problem, agent, given, unavailable
        self.now = now or ""
        self.now = now or self._alone(problem, agent, 0.0).action
        self.layouts: dict[bool, Layout | None] = {}

    def layout(self, parameter: Parameter) -> Layout | None:
        """What copies are made of where the parameter changes; None where each change needs a graph of its own."""
        agent, problem = self.agent, self.problem
        if not plans_versions(problem, agent):
            return None
        prices = parameter.kind in ("cost", "first-price") and problem.flat.budget is not None
        if prices not in self.layouts:
            try:
                self.layouts[prices] = Layout(
                    problem, self.given, agent.horizon, left_out=self.unavailable, prices_vary=prices
                )
            except LimitError:
                self.layouts[prices] = None
        return self.layouts[prices]

    def lines(self, group: Sequence[Parameter], end: float) -> list[Line]:
        """What is known along the range of each parameter after its search, or when time is up."""
        convex = self.agent.commits_count and self.agent.objective.is_information  # other utilities need not be
        ranges = [[value for side in (-1, 1) for value in _steps(p, side)] for p in group]
        lines = [Line(p.value, r, is_convex=p.is_convex and convex) for p, r in zip(group, ranges, strict=True)]
        searches = [line.search() for line in lines]
        wanted = [next(search) for search in searches]
        while any(wanted):
            answers = self._answers(
                [(p, value) for p, values in zip(group, wanted, strict=True) for value in values], end
            )
            if answers is None:
                break
            for place, search in enumerate(searches):
                if wanted[place]:
                    told = {value: answers[group[place].id, value] for value in wanted[place]}
                    try:
                        wanted[place] = search.send(told)
                    except StopIteration:
                        wanted[place] = []
        return lines

    def _answers(
        self, questions: Sequence[tuple[Parameter, float]], end: float
    ) -> Mapping[tuple[str, float], Answer | None] | None:
        """The answer to each question; None as a whole where time ran out."""
        found: dict[tuple[str, float], Answer | None] = {}
        together: dict[tuple[Layout, float], list[tuple[Parameter, float, Problem]]] = {}
        for parameter, value in questions:
            problem, agent = parameter.change(value)
            layout = self.layout(parameter)
            if layout is not None:
                together.setdefault((layout, agent.weight), []).append((parameter, value, problem))
                continue
            if time.monotonic() > end:
                return None
            try:
                found[parameter.id, value] = self._alone(problem, agent, value)
            except RhoplanError:  # so far from the model what has been seen could not have happened
                found[parameter.id, value] = None
        for (layout, weight), versions in together.items():
            for start in range(0, len(versions), layout.at_once):
                if time.monotonic() > end:
                    return None
                part = versions[start : start + layout.at_once]
                answers = self._together(layout, part, self.agent.changed(weight=weight))
                found |= {(p.id, value): answer for (p, value, _), answer in zip(part, answers, strict=True)}
        return found

    def _together(
        self, layout: Layout, versions: Sequence[tuple[Parameter, float, Problem]], agent: Agent
    ) -> list[Answer | None]:
        first = first_actions(layout, [problem for _, _, problem in versions], agent)
        copies, names, worth = first.copies, first.names, first.worth
        unsure = copies.graph.tables[0].entropy[copies.graph.belief[copies.start, 0]]
        chance = np.where(copies.evidence > 0, copies.evidence, 1.0)
        worth = (worth - agent.weight_per_nat * unsure[:, None]) * chance[:, None]  # see Parameter.is_convex
        today = names.index(self.now)  # its worth comes first
        worth = np.concatenate([worth[:, today : today + 1], np.delete(worth, today, axis=1)], axis=1)
        taken = [names[place] for place in first.choice.tolist()]
        return [
            Answer(value, taken[k], taken[k] == self.now, worth[k], int(copies.allowed[k]))
            if copies.evidence[k]
            else None
            for k, (_, value, _) in enumerate(versions)
        ]

    def _alone(self, problem: Problem, agent: Agent, value: float) -> Answer:
        """The answer on a graph of its own; RhoplanError where the evidence would be impossible, or beyond a cap."""
        graph = Graph(without(problem, self.unavailable))
        node = graph.node(observe_all(problem, self.given))
        name = Policy(graph, agent).action(node).name
        return Answer(value, name, name == self.now, np.empty(0))


def _edge(parameter: Parameter, line: Line, side: int) -> Edge:
    limit = parameter.low if side < 0 else parameter.high
    inside, outside = line.inside(side), line.outside(side)
    if not line.is_closed_in:
        return Edge("not examined", limit)
    sure = line.is_nearest(side)
    if outside is not None:
        before, beyond = inside[-1].value, outside.value
        value = (before + beyond) / 2
        return Edge("flips", limit, value, outside.action, before, beyond, sure, _distance(parameter, value))
    tried = [value for value in line.values if (value - line.own) * side > 0]
    missing = len(tried) - sum(value in line.known for value in tried)
    return Edge("does not flip", inside[-1].value if missing else limit, is_nearest=sure)


def _steps(parameter: Parameter, side: int) -> list[float]:
    """Values to look at first, one way from the parameter's own to the end of its range."""
    is_probability = parameter.quantity == "probability"
    low, high = (SURE, 1 - SURE) if is_probability else (parameter.low, parameter.high)
    end = low if side < 0 else high
    step = FIRST_STEP * (1.0 if is_probability else abs(parameter.value) or 1e-3 * parameter.high)
    values, value = [], parameter.value
    while (end - value) * side > 0:
        value = _shifted(value, side * step) if is_probability else value + side * step
        value = end if (value - end) * side >= 0 else value
        values.append(value)
        step *= LEAP if parameter.is_convex else GROWTH
    return values


def _shifted(probability: float, step: float) -> float:
    """A probability whose log odds are `step` further."""
    place = math.log(probability / (1 - probability)) + step
    return 1 / (1 + math.exp(-min(max(place, -30.0), 30.0)))


def _distance(parameter: Parameter, value: float) -> float:
    """See `Edge.distance`."""
    if parameter.quantity == "probability":
        return abs(math.log(value / (1 - value)) - math.log(parameter.value / (1 - parameter.value)))
    return abs(value - parameter.value) / (abs(parameter.value) or parameter.high / FAR)
