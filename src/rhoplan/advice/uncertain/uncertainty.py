"""What uncertain numbers mean for a plan, all in one record: is the first action right, what is at stake, what is worth
knowing better. Everything says whether it is exact or estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rhoplan.advice.compare import deepest
from rhoplan.advice.first import Evidence
from rhoplan.advice.uncertain.curve import Curve, decision_curve
from rhoplan.advice.uncertain.knowing import Kind, Worth, estimated, sampled, value_of, value_of_one
from rhoplan.advice.uncertain.numbers import Unsure, spread_all, unsure
from rhoplan.advice.uncertain.views import ENDS, Map, Swing, find, swings, two_way
from rhoplan.advice.uncertain.weighing import Weighed, Weigher
from rhoplan.advice.words import counted, stated
from rhoplan.agents.agent import BoundAgent
from rhoplan.errors import RhoplanError
from rhoplan.model.pomdp import POMDP, Array

SAMPLES, MOST_SAMPLES = 2000, 100_000
"""Versions that are drawn when nobody says how many, and at most."""

QUICK = 1000
"""Versions behind the one line that every case begins with."""

FEWER, FEWEST = 5, 100
"""Of what is estimated for each group of numbers, one version in so many is drawn, but not fewer than so many."""


@dataclass(frozen=True)
class Share:
    """The share of versions in which an action is the right one to begin with."""

    action: str
    share: float
    se: float

    @staticmethod
    def of(action: str, is_right: NDArray[np.bool_], chances: Array) -> Share:
        """By the chance (K,) of what was seen in each version; as many draws as tell as much are counted (Kish, 1965).

        The standard error is that of a share nearer to one half by one draw each way: 0 of 100 proves no 0.
        """
        total = float(chances.sum())
        share, count = float(chances[is_right].sum()) / total, total**2 / float(chances @ chances)
        near = (share * count + 1) / (count + 2)
        return Share(action, share, math.sqrt(near * (1 - near) / count))


@dataclass(frozen=True)
class Knowing:
    """What knowing a number, or all that a study would tell of, is worth per case. ids: of the numbers."""

    name: str
    ids: tuple[str, ...]
    worth: Worth


@dataclass(frozen=True)
class Uncertainty:
    """What uncertain numbers mean for the plan made for the stated ones, from where the case stands.

    given: what was seen. unavailable: tests that cannot be had.
    assumed: the share to within which every number is taken to be known, where that is an assumption. right: first
    actions, the likeliest first; the plan's own is `first`. worth: of the plan on average, low and high: its 95%
    interval, as a reward. everything: of knowing all numbers; numbers and studies: of some, most valuable first. A
    study of a test tells all its chances. words: what to bear in mind, in sentences.
    """

    first: str
    horizon: int
    samples: int
    seed: int
    assumed: float | None
    right: tuple[Share, ...]
    worth: float
    worth_kind: Kind
    worth_se: float
    low: float
    high: float
    everything: Worth
    numbers: tuple[Knowing, ...]
    studies: tuple[Knowing, ...]
    tornado: tuple[Swing, ...]
    map: Map | None
    curve: Curve | None
    words: tuple[str, ...] = ()
    given: Evidence = ()
    unavailable: tuple[str, ...] = ()

    @property
    def chance_right(self) -> Share:
        """The share of versions in which the plan begins with the right action."""
        return next(
            (one for one in self.right if one.action == self.first),
            Share.of(self.first, np.zeros(self.samples, dtype=bool), np.ones(self.samples)),
        )


def uncertain_items(problem: POMDP, spread: float | None) -> tuple[Unsure, ...]:
    """The uncertain numbers that the model states, or all as if known to within `spread`."""
    if spread is not None:
        return spread_all(problem, spread)
    items = unsure(problem) if problem.listed is not None else ()
    if not items:
        raise RhoplanError(
            f"'{problem.name}' states no uncertain number: write intervals such as 0.83 [0.76, 0.89] in the file, or "
            "assume a spread (--spread 10%) of all its numbers",
            field=("spread",),
        )
    return items


@dataclass(frozen=True)
class Sure(Share):
    """How sure the next action is, given the numbers' own uncertainty, in a line.

    worth: of the plan from here on, on average; low, high: its 95% interval, as a reward. samples: versions drawn.
    """

    worth: float
    worth_kind: Kind
    low: float
    high: float
    samples: int


def how_sure(
    problem: POMDP,
    agent: BoundAgent,
    given: Evidence = (),
    unavailable: Collection[str] = (),
    *,
    samples: int = QUICK,
    seed: int = 0,
) -> Sure | None:
    """In which share of versions the plan for the stated numbers goes on rightly once `given` was seen, and what is
    expected; None where no number is uncertain."""
    items = unsure(problem) if problem.listed is not None else ()
    if not items:
        return None
    weigher = Weigher(problem, agent, given, unavailable)
    drawn = sampled(weigher, items, samples, seed)
    share = Share.of(weigher.first, drawn.first == weigher.names.index(weigher.first), drawn.chance)
    worth = _worth(weigher, items, drawn)
    return Sure(share.action, share.share, share.se, worth.value, worth.kind, *_interval(drawn), samples)


def _worth(weigher: Weigher, items: Sequence[Unsure], drawn: Weighed) -> Worth:
    """What the plan is worth on average: known where every number enters once."""
    return Worth(weigher.paid, "exact") if weigher.is_linear(items) else estimated(drawn.paid, drawn.chance)


def _interval(drawn: Weighed) -> tuple[float, float]:
    """Between which worths of the plan 95% of versions lie, by the chance of what was seen in each."""
    possible = drawn.chance > 0
    values, chances = drawn.paid[possible] / drawn.chance[possible], drawn.chance[possible]
    order = np.argsort(values, kind="stable")
    values, chances = values[order], chances[order]
    if len(values) == 1:
        return float(values[0]), float(values[0])
    places = (np.cumsum(chances) - chances) / (chances.sum() - chances[-1])
    low, high = np.interp(ENDS, places, values).tolist()
    return low, high


def uncertainty(
    problem: POMDP,
    agent: BoundAgent,
    *,
    spread: float | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    axes: tuple[str, str] | None = None,
    given: Evidence = (),
    unavailable: Collection[str] = (),
    progress: Callable[[str], None] = lambda what: None,
) -> Uncertainty:
    """What the uncertain numbers of `problem` mean for the plan of `agent`.

    spread: take all numbers as known to within this share of themselves, whatever the file says. axes: ids of the two
    numbers of the map; without it the two most worth knowing, first among those that change the first action alone.
    given, unavailable: what was seen in the case, and what cannot be had; everything is told from there on.
    Not covered: see `Weigher`.
    """
    progress("the plan")
    weigher = Weigher(problem, agent, given, unavailable)
    items = uncertain_items(problem, spread)
    chosen = tuple(find(items, name) for name in axes) if axes else ()
    progress(f"{samples:,} versions")
    drawn = sampled(weigher, items, samples, seed)
    exact = weigher.is_linear(items)
    mass = np.bincount(drawn.first, weights=drawn.chance, minlength=len(weigher.names))
    right = [
        Share.of(weigher.names[place], drawn.first == place, drawn.chance)
        for place in np.argsort(-mass, kind="stable").tolist()
        if mass[place]
    ]
    low, high = _interval(drawn)
    worth = _worth(weigher, items, drawn)
    fewer = max(samples // FEWER, min(samples, FEWEST))
    progress("what is worth knowing")
    numbers = [
        Knowing(item.main_name, (item.id,), value_of_one(weigher, item, fewer, seed + 1, linear=exact))
        for item in items
    ]
    studies = _studies(weigher, items, numbers, fewer, seed + 2, linear=exact)
    ranked = _ranked(numbers)
    progress("what single numbers change")
    tornado = swings(weigher, items)
    if not chosen and len(items) > 1:
        turns = {one.id for one in tornado if {one.low.first, one.high.first} != {weigher.first}}
        by_id = {item.id: item for item in items}
        chosen = tuple(by_id[one.ids[0]] for one in sorted(ranked, key=lambda one: one.ids[0] not in turns)[:2])
    return Uncertainty(
        first=weigher.first,
        horizon=agent.horizon,
        samples=samples,
        seed=seed,
        assumed=spread,
        right=tuple(right),
        worth=worth.value,
        worth_kind=worth.kind,
        worth_se=worth.se,
        low=low,
        high=high,
        everything=estimated(drawn.gain, drawn.chance),
        numbers=ranked,
        studies=studies,
        tornado=tornado,
        map=two_way(weigher, *chosen) if len(chosen) == 2 else None,
        curve=decision_curve(weigher),
        words=tuple(_words(weigher, items, spread)),
        given=weigher.given,
        unavailable=tuple(unavailable),
    )


def _words(weigher: Weigher, items: Sequence[Unsure], spread: float | None) -> Iterator[str]:
    if weigher.given:
        yield (
            f"After {', '.join(f'{test} {outcome}' for test, outcome in weigher.given)}: all of this is about what is "
            "still to come. Versions of the numbers count as much as they explain these results."
        )
    if spread is not None:
        yield (
            f"Assumption: every number is taken as known to within {stated(spread)} of itself, 95 times in 100 (a "
            "chance above one half: of what is left to 100%). The model file does not say so."
        )
    most = deepest(weigher.problem)
    if most is None or most > weigher.agent.horizon:
        yield f"Plans of at most {counted(weigher.agent.horizon, 'test')} are counted: as far as the look-ahead goes."
    if weigher.agent.weight_per_nat:
        yield (
            "Information has a price here, which is not straight in any number: what knowing is worth is estimated, "
            "the other numbers as stated."
        )
    elif not weigher.is_linear(items):
        yield (
            "A test that may be repeated has uncertain results, which enter more than once: the loss is a mean over "
            "versions, and what knowing is worth is estimated with the other numbers as stated."
        )
    if weigher.problem.flat.budget is not None and any(item.kind in ("cost", "first-price") for item in items):
        yield "The cap on spending counts the prices that the model states."


def _studies(
    weigher: Weigher, items: Sequence[Unsure], numbers: Sequence[Knowing], samples: int, seed: int, *, linear: bool
) -> tuple[Knowing, ...]:
    """What studies are worth: of each test, of how frequent diagnoses are, and of each amount."""
    groups: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        groups.setdefault(f"a study of {item.test}" if item.test is not None else item.name, []).append(place)
    found = []
    for name, places in groups.items():
        worth = numbers[places[0]].worth
        if len(places) > 1 or not items[places[0]].is_single:
            worth = value_of(weigher, [items[place] for place in places], samples, seed, linear=linear)
        found.append(Knowing(name, tuple(items[place].id for place in places), worth))
    return _ranked(found)


def _ranked(found: Sequence[Knowing]) -> tuple[Knowing, ...]:
    return tuple(sorted(found, key=lambda one: -one.worth.value))
