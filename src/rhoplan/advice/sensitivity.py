"""How far each number of a model can move before the first action changes, with both sides of the change verified.

Every number is moved further and further away from its own value (`brackets` says which values a search wants to know),
those first that have been moved least, so that the nearest flips are met first. What several searches want to know is
planned at once, for as long as the allowance lasts (`questions`). That no nearer flip hides between the values looked
at is proven last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rhoplan.advice.brackets import Answer, Line
from rhoplan.advice.case import Evidence, check_fixed, without
from rhoplan.advice.questions import Allowance, Asker
from rhoplan.advice.variations import FAR, Kind, Parameter, Quantity, parameters
from rhoplan.advice.words import parameter_name
from rhoplan.agents.agent import BoundAgent
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.batch import DecisionTree

FIRST_STEP = 0.02
"""A search begins 2% away (a probability: 2% of its odds)."""

GROWTH, LEAP = 2.0, 4.0
"""Each step is so many times longer than the last; where convexity finds what lies between, it may be a leap."""

SURE = 1e-9
"""How close to 0 and 1 a probability is moved: there all is certain and evidence may become impossible."""

SIDE_BY_SIDE = 16
"""Parameters searched at the same time, fewer where not so many versions are planned at once."""


SHARE_OF_BEGINNING = 0.3
"""Of the allowance, what may pass before searches are no longer begun but where those begun have ended."""

BEYOND = 4.0
"""How many times further away than what was looked at a flip is taken to be where nothing points to one."""


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
    problem: POMDP,
    agent: BoundAgent,
    given: Evidence = (),
    *,
    unavailable: Iterable[str] = (),
    only: Iterable[str] | None = None,
    budget: float | None = None,
    now: str | None = None,
    layout: DecisionTree | None = None,
) -> tuple[Flip, ...]:
    """For each parameter, how far it can move down and up before the first action after `given` changes.

    Nearest flips are met first. only: kinds of parameter to look at, of `variations.KINDS`. budget:
    seconds; without them a fixed amount of work is done, and the same comes out on every machine. What was not reached
    is `not examined`. now: today's first action, and layout: of `problem` after `given` with all that is available,
    where they are known.
    Not covered: agents whose choices are not fixed (see `pathway`).
    """
    check_fixed(agent)
    allowance, gone = Allowance(budget), set(unavailable)
    model = without(problem, gone - {test for test, _ in given})  # what a test said counts, though it is gone now
    asker = Asker(model, agent, given, gone & {test.name for test in model.flat.tests}, now)
    if layout is not None and not gone:
        asker.layouts[False] = layout
    kinds = None if only is None else set(only)
    convex = agent.commits_count and agent.objective.is_information  # other utilities need not be
    chosen = [_Search(p, convex) for p in parameters(model, agent) if kinds is None or p.kind in kinds]

    def urgency(one: _Search) -> tuple[bool, float]:
        is_late = allowance.used > SHARE_OF_BEGINNING and not one.line.known
        return (True, math.inf) if is_late else one.urgency

    while waiting := sorted((one for one in chosen if one.wanted), key=urgency):
        layout_of_first = asker.layout(waiting[0].parameter)
        count = 1 if layout_of_first is None else max(1, min(SIDE_BY_SIDE, layout_of_first.at_once // 2))
        group = waiting[:count]
        answers = asker.answers([(one.parameter, value) for one in group for value in one.wanted], allowance)
        if answers is None:
            break
        for one in group:
            one.tell({value: answers[one.parameter.id, value] for value in one.wanted})
    return tuple(one.flip(asker.now) for one in chosen)


class _Search:
    """The search for the flips of one parameter.

    wanted: values to be told about. urgency: whether only proofs are missing, and how far away what is open begins.
    """

    def __init__(self, parameter: Parameter, convex: bool) -> None:
        self.parameter = p = parameter
        self.line = Line(p.value, _steps(p, -1), _steps(p, 1), is_convex=p.is_convex and convex)
        self._asking = self.line.search()
        self.wanted = next(self._asking)
        self.urgency = (False, 0.0)

    def tell(self, answers: Mapping[float, Answer | None]) -> None:
        """Go on with the answers to what is wanted."""
        try:
            self.wanted = self._asking.send(answers)
        except StopIteration:
            self.wanted = []
            return
        open_ = [side for side in (-1, 1) if not self.line.is_closed(side)]
        self.urgency = (not open_, min(map(self._looks, open_ or (-1, 1))))

    def _looks(self, side: int) -> float:
        """How far away the flip looks on one side, if the lead of today's action goes on to shrink as it did last.

        Where it did not shrink: well beyond what was looked at.
        """
        inside, outside = self.line.inside(side), self.line.outside(side)
        far = [_distance(self.parameter, answer.value) for answer in inside]
        if outside is not None:
            return far[-1]
        if len(inside) > 1 and inside[-2].lead > inside[-1].lead:
            return far[-1] + (far[-1] - far[-2]) * max(inside[-1].lead, 0.0) / (inside[-2].lead - inside[-1].lead)
        return BEYOND * far[-1]

    def flip(self, now: str) -> Flip:
        p = self.parameter
        down, up = (_edge(p, self.line, side) for side in (-1, 1))
        return Flip(p.id, p.kind, p.names, p.quantity, p.value, now, down, up)


def _edge(parameter: Parameter, line: Line, side: int) -> Edge:
    limit = parameter.low if side < 0 else parameter.high
    inside, outside = line.inside(side), line.outside(side)
    if not line.is_closed(side):
        return Edge("not examined", limit)
    sure = line.is_nearest(side)
    if outside is not None:
        before, beyond = inside[-1].value, outside.value
        value = (before + beyond) / 2
        return Edge("flips", limit, value, outside.action, before, beyond, sure, _distance(parameter, value))
    missing = any(value not in line.known for value in line.steps[side])
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
