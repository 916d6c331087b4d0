"""The cheapest pathway that keeps targets: as a mixture of plans, and as one plan without chance.

What has a target has no price, and what has no target keeps the model's: the cost is what tests cost (unless spend has
a target) and what wrong decisions lose in states without one. `minimise="spend"` counts tests alone. Where all have a
target, the model's own prices choose among the plans that keep them. Losses by wrong decisions are counted against the
best decision for the state: what even that loses nobody can avoid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from rhoplan.advice.compare import deepest
from rhoplan.advice.words import counted, money, percent, stated
from rhoplan.budget import Budget
from rhoplan.errors import LimitError, ProblemError
from rhoplan.io.constraints import AT_LEAST, Target
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning.constrained import (
    ColumnGeneration,
    ConstrainedProblem,
    Constraint,
    Infeasible,
    Mixture,
    TabularPolicy,
)
from rhoplan.planning.deterministic import cheapest_deterministic

HAIR = 1e-13
"""Share of all that a target is about by which it may be missed: rounding, nothing that anybody means."""

MOST_NODES, MEMORY = 300_000, 200_000_000
"""Nodes and bytes of the graph of all plans: some tenths of a second for each plan on it."""

TIGHTER = (0.97, 0.9, 0.75, 0.5)
"""Parts of the targets for which mixtures are made to find plans without chance to begin with."""


class UnreachableTarget(ProblemError):
    """A target that no plan keeps. nearest: the least (or most) of it that one can."""

    code = "unreachable-target"
    nearest: float = math.nan


@dataclass(frozen=True)
class Numbers:
    """What a plan comes to, on average over all cases.

    first: its first action. spend: what tests cost. loss: by wrong decisions, in the model's own prices. wrong: share
    of cases that end so; missed: the same for each diagnosis that is there, as a share of all cases; reached: what it
    makes of each target. cost: what is minimised.
    """

    first: str
    spend: float
    loss: float
    wrong: float
    missed: dict[str, float]
    reached: tuple[float, ...]
    cost: float


@dataclass(frozen=True)
class Share:
    """A plan of a mixture, and the share of cases that follow it."""

    share: float
    numbers: Numbers
    course: TabularPolicy = field(repr=False, compare=False)


@dataclass(frozen=True)
class Price:
    """What keeping a target acts as if: each error (each unit spent, for spend) counted as `price`; 0 where it does not
    bind. own: what the model counts it as, least and most."""

    target: Target
    price: float
    own: tuple[float, float]


@dataclass(frozen=True)
class Answer:
    """The cheapest way to keep `targets`.

    limits: of each target as a share of all cases, or an amount. depth: tests that plans may have; whole: whether none
    could have more. counts: what the cost is, in words. mixture: of all plans, what they come to together, and how far
    below that any other can be (gap). certain: the cheapest plan without chance that was found, None where none was; no
    such plan costs less than `certain_least`, and `proven` says that it is the cheapest, or that there is none. plain:
    what the plan comes to that follows the model's own prices.
    """

    ground: ConstrainedProblem = field(repr=False, compare=False)
    targets: tuple[Target, ...]
    limits: tuple[float, ...]
    whole: bool
    counts: str
    mixture: tuple[Share, ...]
    together: Numbers
    gap: float
    prices: tuple[Price, ...]
    certain: Share | None
    certain_least: float
    proven: bool
    plain: Share

    @property
    def problem(self) -> POMDP:
        """The problem that the plans are plans of: the one asked about, with a cap on the number of tests."""
        return self.ground.problem

    @property
    def depth(self) -> int:
        return self.ground.depth


def meet(problem: POMDP, targets: Sequence[Target], *, horizon: int | None = None, minimise: str = "cost") -> Answer:
    """The cheapest pathway of `problem` that keeps `targets`; UnreachableTarget where none does.

    horizon: tests that it may have at most; as many as there can be, or as fit into one graph, where nobody says.
    Not covered: problems without lists of tests and commits; plans that do not fit say how many tests they may have.
    """
    if not targets:
        raise ProblemError("there must be a target, such as a miss rate or a spend; none came", field=("targets",))
    ground, whole = constrained(problem, horizon)
    sums = Sums(ground, targets, minimise)
    mixer = ColumnGeneration(ground)
    try:
        mix = mixer.cheapest(sums.cost, sums.bounds, sums.everything)
    except Infeasible as error:
        raise _refusal(sums, error) from None
    certain = cheapest_deterministic(ground, sums.cost, sums.bounds, mixture=mix, known=_candidates(sums, mixer))
    parts = tuple(
        Share(share, sums.numbers(course), course) for share, course in zip(mix.shares, mix.policies, strict=True)
    )
    return Answer(
        ground=ground,
        targets=tuple(targets),
        limits=tuple(bound.limit for bound in sums.bounds),
        whole=whole,
        counts=sums.words,
        mixture=tuple(sorted(parts, key=lambda part: -part.share)),
        together=sums.together(mix),
        gap=mix.gap,
        prices=tuple(Price(target, price, sums.own(target)) for target, price in zip(targets, mix.prices, strict=True)),
        certain=None if certain.policy is None else Share(1.0, sums.numbers(certain.policy), certain.policy),
        certain_least=certain.lower,
        proven=certain.is_proven,
        plain=plain_share(sums),
    )


def plain_share(sums: Sums) -> Share:
    """The plan that follows the model's own prices, on the same ground."""
    course = sums.ground.best(sums.everything)
    return Share(1.0, sums.numbers(course), course)


def constrained(problem: POMDP, horizon: int | None = None) -> tuple[ConstrainedProblem, bool]:
    """Policies with as many tests as are asked for, can be, or fit; and whether no policy has more."""
    most = deepest(problem)
    wanted = min(one for one in (horizon, most, None if horizon or most else problem.horizon) if one is not None)
    try:
        found = ConstrainedProblem(problem, wanted, budget=Budget(nodes=MOST_NODES, memory=MEMORY))
    except LimitError:
        raise LimitError(
            f"targets need all situations at once, and '{problem.name}' has too many even after one test"
        ) from None
    return found, found.depth == most


class Sums:
    """What targets and costs count on a ground."""

    def __init__(self, ground: ConstrainedProblem, targets: Sequence[Target], minimise: str = "cost") -> None:
        self.ground, self.targets, self.problem = ground, tuple(targets), ground.problem
        factor = self.problem.factors[0]
        self.named = factor.diagnosis_of or self.problem.states
        self.everywhere = tuple(range(len(self.named)))
        self.everything = ground.spend + ground.regret(self.everywhere)
        self.bounds = [self._bound(target) for target in targets]
        self.cost, self.words = self._cost(minimise)

    def states(self, target: Target) -> list[int]:
        """The states in which a wrong decision counts for `target`."""
        if target.kind in ("miss", "sensitive"):
            return [place for place in self.everywhere if self.named[place] == target.state]
        if target.kind in ("false-alarm", "specific"):
            return [place for place in self.everywhere if self.named[place] != target.state]
        return list(self.everywhere) if target.kind == "wrong" else []

    def mass(self, target: Target) -> float:
        """The share of cases that `target` is about: those that sensitivity or specificity are told of, else all."""
        return float(self.problem.prior[self.states(target)].sum()) if target.kind in AT_LEAST else 1.0

    def reached(self, target: Target, amount: float) -> float:
        """What `amount` of a target's criterion is in its own terms."""
        if target.kind not in AT_LEAST:
            return amount
        mass = self.mass(target)
        return 1.0 - amount / mass if mass else 1.0

    def own(self, target: Target) -> tuple[float, float]:
        """What the model counts an error as, least and most; of spend, itself."""
        states = self.states(target)
        if not states:
            return 1.0, 1.0
        ends = self.ground.regret(states)[self.ground.wrong(states) > 0]
        return (float(ends.min()), float(ends.max())) if ends.size else (0.0, 0.0)

    def numbers(self, course: TabularPolicy) -> Numbers:
        return self._told(course.total, course.action(self.ground.graph.root).name)

    def together(self, mix: Mixture) -> Numbers:
        return self._told(mix.total, "")

    def _told(self, count: Callable[[Array], float], first: str) -> Numbers:
        ground = self.ground
        names = self.problem.diagnoses
        missed = {name: count(ground.wrong([k for k in self.everywhere if self.named[k] == name])) for name in names}
        return Numbers(
            first=first,
            spend=count(ground.spend),
            loss=count(ground.regret(self.everywhere)),
            wrong=count(ground.wrong(self.everywhere)),
            missed=missed,
            reached=tuple(
                self.reached(target, count(bound.criterion))
                for target, bound in zip(self.targets, self.bounds, strict=True)
            ),
            cost=count(self.cost),
        )

    def _bound(self, target: Target) -> Constraint:
        if target.kind == "spend":
            return Constraint(self.ground.spend, target.value, HAIR * target.value)
        states = self.states(target)
        mass = self.mass(target)
        most = (1.0 - target.value) * mass if target.kind in AT_LEAST else target.value
        return Constraint(self.ground.wrong(states), most, HAIR * float(self.problem.prior[states].sum()))

    def _cost(self, minimise: str) -> tuple[Array, str]:
        """What is minimised, and that in words."""
        spends = any(target.kind == "spend" for target in self.targets)
        covered = {place for target in self.targets for place in self.states(target)}
        left = [place for place in self.everywhere if place not in covered]
        if minimise == "spend" and covered:
            return self.ground.spend, "what tests cost"
        if not left and spends:
            return self.everything, "what tests cost and wrong decisions lose"
        names = list(dict.fromkeys(self.named[place] for place in left))
        where = "" if not covered else f" in {', '.join(names)}"
        lost = f"what wrong decisions lose{where}"
        if spends:
            return self.ground.regret(left), lost
        if not left:
            return self.ground.spend, "what tests cost"
        return self.ground.spend + self.ground.regret(left), f"what tests cost and {lost}"


def _candidates(sums: Sums, mixer: ColumnGeneration) -> list[TabularPolicy]:
    """Plans that may keep the targets by themselves: those of mixtures that keep more than is asked for."""
    for part in TIGHTER:
        with suppress(Infeasible):
            mixer.cheapest(sums.cost, [Constraint(one.criterion, part * one.limit, one.slack) for one in sums.bounds])
    return mixer.pool


def _refusal(sums: Sums, error: Infeasible) -> UnreachableTarget:
    """That a target cannot be kept, with the nearest that can, and what that costs."""
    target, bound = sums.targets[error.index], sums.bounds[error.index]
    least, before = error.mixture.value, sums.bounds[: error.index]
    nearest = Constraint(bound.criterion, least, bound.slack + 1e-12 * least)
    mix = ColumnGeneration(sums.ground).cheapest(sums.cost, [*before, nearest])
    reached = sums.reached(target, least)
    unit = sums.problem.unit
    kept = " and ".join(f"'{target_words(one, unit)}'" for one in sums.targets[: error.index])
    spent = money(mix.total(sums.ground.spend), unit)
    within = f" with at most {counted(sums.ground.depth, 'test')}" if sums.ground.depth else ""
    told = f"{f'keeping {kept}, ' if kept else ''}{_nearest_words(target, reached, unit)}"
    at = "" if target.kind == "spend" else f", at {spent} spent on tests per case"
    found = UnreachableTarget(f"no plan{within} keeps '{target_words(target, unit)}': {told}{at}", field=(target.kind,))
    found.nearest = reached
    return found


def _nearest_words(target: Target, reached: float, unit: str) -> str:
    match target.kind:
        case "spend":
            return f"the least that can be spent is {money(reached, unit)}"
        case "sensitive" | "specific":
            what = "sensitivity" if target.kind == "sensitive" else "specificity"
            return f"{what} for {target.state} can be at most {percent(reached)}"
        case "miss":
            return f"the lowest reachable share of cases with {target.state} missed is {rate(reached)}"
        case "false-alarm":
            return f"the lowest reachable share of false alarms for {target.state} is {rate(reached)}"
    return f"the lowest reachable share of wrong decisions is {rate(reached)}"


def rate(share: float) -> str:
    """A share of cases as a percentage, and as `1 in n` where that is how people say it."""
    if not 0 < share < 0.1:
        return stated(share)
    number = 1 / share
    whole = round(number)
    return f"{stated(share)} ({'' if abs(number - whole) < 1e-6 * number else 'about '}1 in {whole:,})"


def target_words(target: Target, unit: str) -> str:
    """A target in words: `miss ill in at most 0.1% (1 in 1,000) of cases`."""
    match target.kind:
        case "spend":
            return f"spend at most {money(target.value, unit)} on average"
        case "sensitive" | "specific":
            return f"at least {stated(target.value)} {target.kind} for {target.state}"
        case "miss":
            return f"miss {target.state} in at most {rate(target.value)} of cases"
        case "false-alarm":
            return f"false alarms for {target.state} in at most {rate(target.value)} of cases"
    return f"wrong decisions in at most {rate(target.value)} of cases"
